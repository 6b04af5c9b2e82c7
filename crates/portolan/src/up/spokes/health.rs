//! Says on the hub whether a member is well, as a cluster's registration agent does: it asks the member's API server, and
//! writes the condition with the rights of the member's account, over the line that can be cut.

use std::time::Duration;

use http::Request;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::conditions;
use serde_json::json;
use tokio::sync::watch;

use super::fate::Fate;
use crate::{clock, live};

const MANAGER: &str = "portolan-embedded-member";

/// Reports until it is dropped: every `period`, and as soon as something happens to the member.
pub(super) async fn report(
    hub: Client,
    member: Client,
    name: String,
    period: Duration,
    mut fate: watch::Receiver<Fate>,
) {
    let clusters: Api<ManagedCluster> = Api::all(hub);
    loop {
        if let Err(error) = once(&clusters, &member, &name).await {
            // Cut off, most of the time; the hub notices by the Lease.
            tracing::debug!(
                cluster = name,
                error = live::describe(&error),
                "the health of a member could not be reported and is again"
            );
        }
        tokio::select! {
            () = tokio::time::sleep(period) => {}
            changed = fate.changed() => if changed.is_err() { return },
        }
    }
}

async fn once(clusters: &Api<ManagedCluster>, member: &Client, name: &str) -> kube::Result<()> {
    let request = Request::get("/livez")
        .body(Vec::new())
        .map_err(kube::Error::HttpError)?;
    let is_well = member.request_text(request).await.is_ok();
    let cluster = clusters.get(name).await?;
    let Some(conditions) = said(&cluster, is_well, clock::now()) else {
        return Ok(());
    };
    let patch = json!({
        "metadata": {"resourceVersion": cluster.metadata.resource_version}, "status": {"conditions": conditions},
    });
    let how = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    clusters
        .patch_status(name, &how, &Patch::Merge(patch))
        .await
        .map(drop)
}

/// The conditions with the one about health, in OCM's words; nothing when they say so already.
fn said(cluster: &ManagedCluster, is_well: bool, now: Timestamp) -> Option<Vec<Condition>> {
    let (status, reason, message) = match is_well {
        true => ("True", "ManagedClusterAvailable", "Managed cluster is available"),
        false => (
            "False",
            "ManagedClusterKubeAPIServerUnavailable",
            "The kube-apiserver is not ok",
        ),
    };
    let mut all = cluster.status.clone().unwrap_or_default().conditions;
    let is_health = |condition: &Condition| condition.type_ == conditions::AVAILABLE;
    if all
        .iter()
        .any(|condition| is_health(condition) && condition.status == status)
    {
        return None;
    }
    all.retain(|condition| !is_health(condition));
    all.push(Condition {
        type_: conditions::AVAILABLE.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition_time: Time(now),
        observed_generation: None,
    });
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_is_said_when_it_changes_and_what_others_said_stays() {
        let mut cluster = ManagedCluster::default();
        let other = Condition {
            type_: conditions::JOINED.to_owned(),
            status: "True".to_owned(),
            reason: "R".to_owned(),
            message: String::new(),
            last_transition_time: Time(Timestamp::UNIX_EPOCH),
            observed_generation: None,
        };
        cluster.status.get_or_insert_default().conditions = vec![other.clone()];
        for is_well in [true, false, true] {
            let conditions = said(&cluster, is_well, Timestamp::UNIX_EPOCH).unwrap();
            assert_eq!(conditions[0], other);
            assert_eq!(conditions[1].status == "True", is_well);
            cluster.status.get_or_insert_default().conditions = conditions;
            assert_eq!(said(&cluster, is_well, Timestamp::UNIX_EPOCH), None);
        }
    }
}
