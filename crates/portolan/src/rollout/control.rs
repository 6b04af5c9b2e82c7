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

/// Start nothing new until it is resumed
///
/// Clusters that have the template keep it and are still watched; no other cluster gets it. Sets the annotation
/// portolan.dev/rollout-paused.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  portolan rollout pause shop/web")]
pub(super) struct PauseArgs {
    #[command(flatten)]
    target: Target,
}

/// Go on after a pause or an abort
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  portolan rollout resume shop/web")]
pub(super) struct ResumeArgs {
    #[command(flatten)]
    target: Target,
}

/// Stop this rollout for good; clusters that have the new version keep it
///
/// No other cluster gets the new version, and nothing is taken back. The next change of the template is a new rollout. Sets the
/// annotation portolan.dev/rollout-aborted to the generation that is aborted.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  portolan rollout abort shop/web")]
pub(super) struct AbortArgs {
    #[command(flatten)]
    target: Target,
}

pub(super) fn pause(args: &PauseArgs) -> anyhow::Result<ExitCode> {
    let annotations = json!({ portolan::ROLLOUT_PAUSED: "true" });
    control(&args.target, |rollout, _| Step {
        annotations: Some(annotations),
        said: match rollout.is_complete() {
            true => {
                "paused; every cluster is done, and the next change of the template waits until it is resumed"
            }
            false => "paused",
        },
    })
}

pub(super) fn resume(args: &ResumeArgs) -> anyhow::Result<ExitCode> {
    let annotations = json!({ portolan::ROLLOUT_PAUSED: null, portolan::ROLLOUT_ABORTED: null });
    control(&args.target, |rollout, _| Step {
        annotations: Some(annotations),
        said: match rollout.paused || rollout.aborted {
            true => "resumed",
            false => "was neither paused nor aborted; nothing is changed",
        },
    })
}

pub(super) fn abort(args: &AbortArgs) -> anyhow::Result<ExitCode> {
    control(&args.target, |rollout, generation| match rollout.is_complete() {
        true => Step {
            annotations: None,
            said: "is complete: every cluster is done, and there is nothing to abort",
        },
        false => Step {
            annotations: Some(json!({ portolan::ROLLOUT_ABORTED: generation.to_string() })),
            said: "aborted",
        },
    })
}

/// What a command does to a replica set, and says.
struct Step {
    /// Those to write, if any.
    annotations: Option<Value>,
    /// What is said about the replica set.
    said: &'static str,
}

/// `step` gets the rollout and the generation of the replica set.
fn control(target: &Target, step: impl FnOnce(&Overview, i64) -> Step) -> anyhow::Result<ExitCode> {
    let (namespace, name) = target.key()?;
    let said = live::block_on(async {
        let server = target.connect.connect().await?;
        let objects = hub::read(&server, namespace, name).await?;
        let version = objects.set.metadata.resource_version.clone();
        let generation = objects.set.metadata.generation.unwrap_or_default();
        let step = step(&overview(objects, clock::now()), generation);
        let Some(annotations) = step.annotations else {
            return Ok(step.said);
        };
        let api: Api<ManifestWorkReplicaSet> = Api::namespaced(server.client.clone(), namespace);
        // With the version that was read, so that an abort means the generation that there is.
        let patch = json!({"metadata": {"resourceVersion": version, "annotations": annotations}});
        let patched = api
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await;
        patched
            .map(|_| step.said)
            .map_err(|error| live::explain(&error, "annotate the ManifestWorkReplicaSet", &server.url))
    })?;
    output::say(&format!("{namespace}/{name} {said}\n"))?;
    Ok(ExitCode::SUCCESS)
}
