//! The agent of a member cluster: it applies the works that its hub has for the cluster, removes what was withdrawn, and
//! reports what came of it, together with a heartbeat and what the cluster has to offer.
//!
//! It touches the hub in one namespace, that of its cluster, and its own ManagedCluster; nothing else. It never removes
//! an object on doubt: not because the hub is unreachable, a list failed, a work cannot be read, a work vanished without
//! having been deleted, works go with the definition of their kind, or the hub came back from an older copy. It never removes what another work owns as well. It
//! never reads a clock (a clock is handed in) and knows both servers through [`kube::Client`] alone.
//!
//! `portolan agent` starts one for a member cluster, `portolan up --spokes` one for each embedded member, tests as many
//! as they like.
//!
//! ```text
//! work/     (pure) works of both kinds in one shape, their manifests, and the places of these on the member cluster
//! plan/     (pure) what is to be done about each object: apply, leave, remove, and when not to
//! report/   (pure) conditions, status feedback, condition rules
//! cost      (pure) what the paths and expressions of one work may cost together
//! record/   what was applied, kept on the member cluster
//! spoke/    reading and writing objects of the member cluster
//! heartbeat/  Lease, resources, version and claims of the cluster
//! monitor   whether it does its work, and what it counted
//! works/    the loop: which work is due, and one look at it from beginning to end
//! ```

mod agent;
mod cost;
mod heartbeat;
mod monitor;
mod plan;
mod record;
mod report;
mod sabotage;
mod settings;
mod spoke;
#[cfg(test)]
mod tests;
mod work;
mod works;

pub use agent::Agent;
pub use monitor::Monitor;
pub use portolan_runtime::Clock;
pub use report::option_mistakes;
pub use settings::Settings;
#[doc(hidden)]
pub use works::try_out;

/// The CustomResourceDefinitions that a member cluster needs: those in which the agent keeps what it has applied.
pub fn definitions() -> Vec<serde_json::Value> {
    let applied = ["AppliedManifestWork", "AppliedWork"];
    portolan_api::crd_values()
        .into_iter()
        .filter(|definition| {
            let kind = definition
                .pointer("/spec/names/kind")
                .and_then(serde_json::Value::as_str);
            kind.is_some_and(|kind| applied.contains(&kind))
        })
        .collect()
}
