//! `portolan rollout pause`, `resume` and `abort`: annotations that the controller reads.

use std::process::ExitCode;

use kube::Api;
use kube::api::{Patch, PatchParams};
use portolan_api::labels::portolan;
use portolan_api::work::ManifestWorkReplicaSet;
use portolan_controllers::overview::{Overview, overview};
use serde_json::{Value, json};

use super::hub::{self, Target};
use crate::{clock, live, output};

/// Pause a rollout: no further cluster gets the new version until it is resumed
///
/// Clusters that have the template keep it and are still watched; no other cluster gets it. Sets the annotation
/// portolan.dev/rollout-paused.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  portolan rollout pause shop/web")]
pub(super) struct PauseArgs {
    #[command(flatten)]
    target: Target,
}

/// Go on with a rollout after a pause or an abort
///
/// Takes the annotations portolan.dev/rollout-paused and portolan.dev/rollout-aborted away.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  portolan rollout resume shop/web")]
pub(super) struct ResumeArgs {
    #[command(flatten)]
    target: Target,
}

/// Stop this rollout until it is resumed or the template changes; clusters that have the new version keep it
///
/// No other cluster gets the new version, and nothing is taken back. The next change of the template is a new rollout. Sets the
/// annotation portolan.dev/rollout-aborted to a digest of the template that is aborted.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  portolan rollout abort shop/web")]
pub(super) struct AbortArgs {
    #[command(flatten)]
    target: Target,
}

pub(super) fn pause(args: &PauseArgs) -> anyhow::Result<ExitCode> {
    control(&args.target, |rollout, _| pausing(rollout))
}

pub(super) fn resume(args: &ResumeArgs) -> anyhow::Result<ExitCode> {
    control(&args.target, |rollout, _| resuming(rollout))
}

pub(super) fn abort(args: &AbortArgs) -> anyhow::Result<ExitCode> {
    control(&args.target, aborting)
}

/// What a command does to a replica set, and says.
#[derive(Debug, PartialEq)]
struct Step {
    /// Those to write, if any.
    annotations: Option<Value>,
    /// What is said about the replica set.
    said: &'static str,
}

impl Step {
    fn nothing(said: &'static str) -> Step {
        Step {
            annotations: None,
            said,
        }
    }
}

fn pausing(rollout: &Overview) -> Step {
    if rollout.paused {
        return Step::nothing("is paused already; nothing is changed");
    }
    Step {
        annotations: Some(json!({ portolan::ROLLOUT_PAUSED: "true" })),
        said: match rollout.is_complete() {
            true => {
                "paused; every cluster is done, and the next change of the template waits until it is resumed"
            }
            false if rollout.aborted => {
                "paused; the rollout was aborted before and stays so, and the next change of the template waits until it is \
                 resumed"
            }
            false => "paused",
        },
    }
}

fn resuming(rollout: &Overview) -> Step {
    match rollout.paused || rollout.aborted {
        true => Step {
            annotations: Some(json!({ portolan::ROLLOUT_PAUSED: null, portolan::ROLLOUT_ABORTED: null })),
            said: match rollout.aborted {
                true => "resumed; the rollout was aborted, and goes on",
                false => "resumed",
            },
        },
        false => Step::nothing("was neither paused nor aborted; nothing is changed"),
    }
}

fn aborting(rollout: &Overview, abortion: &str) -> Step {
    if rollout.is_complete() {
        return Step::nothing("is complete: every cluster is done, and there is nothing to abort");
    }
    if rollout.aborted {
        return Step::nothing("is aborted already; nothing is changed");
    }
    Step {
        annotations: Some(json!({ portolan::ROLLOUT_ABORTED: abortion })),
        said: match rollout.paused {
            true => {
                "aborted; it stays paused as well, so that the next change of the template waits until it is resumed"
            }
            false => "aborted",
        },
    }
}

/// Most times that a replica set is read anew because it changed in between. Its controller writes its status all the time
/// while it rolls out.
const MOST_TRIES: usize = 20;

/// `step` gets the rollout and what aborts its template.
fn control(target: &Target, step: impl Fn(&Overview, &str) -> Step) -> anyhow::Result<ExitCode> {
    let (key, said) = live::block_on(async {
        let (server, key) = target.connect().await?;
        let api: Api<ManifestWorkReplicaSet> = Api::namespaced(server.client.clone(), &key.namespace);
        let mut tries = 0;
        loop {
            tries += 1;
            let found = hub::read(&server, &key).await?;
            if tries == 1 {
                live::note(&found.left_out);
            }
            let metadata = &found.objects.set.metadata;
            let version = metadata.resource_version.clone();
            let abortion = portolan_controllers::abortion(&found.objects.set);
            let step = step(&overview(found.objects, clock::now()), &abortion);
            let Some(annotations) = step.annotations else {
                return Ok((key, step.said));
            };
            // With the version that was read, so that an abort means the template that there is.
            let patch = json!({"metadata": {"resourceVersion": version, "annotations": annotations}});
            let patched = api
                .patch(&key.name, &PatchParams::default(), &Patch::Merge(patch))
                .await;
            match patched {
                Ok(_) => return Ok((key, step.said)),
                Err(kube::Error::Api(status)) if status.is_conflict() && tries < MOST_TRIES => {}
                Err(error) => {
                    let what = "annotate the ManifestWorkReplicaSet";
                    return Err(live::explain(&error, what, &server.url));
                }
            }
        }
    })?;
    output::say(&format!("{key} {said}\n"))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use portolan_controllers::overview::OverviewState;

    use super::*;

    fn rollout(paused: bool, aborted: bool) -> Overview {
        Overview {
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            paused,
            aborted,
            state: OverviewState::Progressing,
            clusters: 2,
            done: 1,
            mistakes: Vec::new(),
            placements: Vec::new(),
        }
    }

    #[test]
    fn a_step_that_was_taken_already_says_so_and_writes_nothing() {
        for (step, said) in [
            (
                pausing(&rollout(true, false)),
                "is paused already; nothing is changed",
            ),
            (
                aborting(&rollout(false, true), "t"),
                "is aborted already; nothing is changed",
            ),
            (
                resuming(&rollout(false, false)),
                "was neither paused nor aborted; nothing is changed",
            ),
        ] {
            assert_eq!(step, Step::nothing(said));
        }
    }

    #[test]
    fn a_step_that_changes_something_is_written() {
        assert_eq!(
            aborting(&rollout(true, false), "t").annotations,
            Some(json!({ portolan::ROLLOUT_ABORTED: "t" }))
        );
        assert!(pausing(&rollout(false, true)).annotations.is_some());
        assert!(resuming(&rollout(false, true)).annotations.is_some());
    }

    #[test]
    fn a_pause_after_an_abort_and_an_abort_after_a_pause_say_what_each_of_them_holds() {
        let paused = pausing(&rollout(false, true)).said;
        assert!(
            paused.starts_with("paused; the rollout was aborted before and stays so"),
            "{paused}"
        );
        let aborted = aborting(&rollout(true, false), "t").said;
        assert!(
            aborted.starts_with("aborted; it stays paused as well"),
            "{aborted}"
        );
    }
}
