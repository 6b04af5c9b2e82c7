//! `portolan rollout pause`, `resume` and `abort`: annotations that the controller reads.

use std::process::ExitCode;

use kube::Api;
use kube::api::{Patch, PatchParams};
use portolan_api::labels::portolan;
use portolan_api::work::ManifestWorkReplicaSet;
use serde_json::{Value, json};

use super::hub::{self, Target};
use crate::{live, output};

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
    annotate(
        &args.target,
        "paused",
        |_| json!({ portolan::ROLLOUT_PAUSED: "true" }),
    )
}

pub(super) fn resume(args: &ResumeArgs) -> anyhow::Result<ExitCode> {
    annotate(
        &args.target,
        "resumed",
        |_| json!({ portolan::ROLLOUT_PAUSED: null, portolan::ROLLOUT_ABORTED: null }),
    )
}

pub(super) fn abort(args: &AbortArgs) -> anyhow::Result<ExitCode> {
    annotate(&args.target, "aborted", |set| {
        let generation = set.metadata.generation.unwrap_or_default();
        json!({ portolan::ROLLOUT_ABORTED: generation.to_string() })
    })
}

fn annotate(
    target: &Target,
    done: &str,
    annotations: impl Fn(&ManifestWorkReplicaSet) -> Value,
) -> anyhow::Result<ExitCode> {
    let (namespace, name) = target.key()?;
    live::block_on(async {
        let server = target.connect.connect().await?;
        let set = hub::get(&server, namespace, name).await?;
        let api: Api<ManifestWorkReplicaSet> = Api::namespaced(server.client.clone(), namespace);
        // With the version that was read, so that an abort means the generation that there is.
        let patch = json!({"metadata": {
            "resourceVersion": set.metadata.resource_version, "annotations": annotations(&set),
        }});
        let patched = api
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await;
        patched.map_err(|error| live::explain(&error, "annotate the ManifestWorkReplicaSet", &server.url))
    })?;
    output::print(&format!("{namespace}/{name} {done}\n"))?;
    Ok(ExitCode::SUCCESS)
}
