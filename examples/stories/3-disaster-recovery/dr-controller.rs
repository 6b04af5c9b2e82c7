//! A disaster-recovery controller: `dr-controller NAMESPACE KEY PRIMARY STANDBY`.
//!
//! A producer of decisions that has nothing to do with Portolan's scheduler. It reads ClusterProfiles and keeps one standard
//! PlacementDecision: for the primary while that is healthy, for the standby once the primary is known to be ill, and for
//! the primary again when it has recovered. The decision moves by one write of its one slice, so it is at no moment
//! empty. A profile that is missing, a health that is unknown and a server that does not answer are no reason to move:
//! a database must not run in two places because somebody could not look.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail};
use futures::StreamExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use portolan_api::labels::{conditions::CONTROL_PLANE_HEALTHY, multicluster as labels};
use portolan_api::multicluster::{
    ClusterDecision, ClusterProfile, ClusterProfileReference, PlacementDecision,
};

const SCHEDULER: &str = "dr-controller";
/// How long until it looks again although nothing was heard.
const RESYNC: Duration = Duration::from_secs(30);
/// The same after it could not look or write.
const RETRY: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Health {
    Healthy,
    Ill,
    Unknown,
}

/// Where the workload is to run, and why. `None`: nothing is known that would be a reason to change the decision.
fn choose<'a>(primary: (&'a str, Health), standby: (&'a str, Health)) -> Option<(&'a str, &'static str)> {
    match (primary.1, standby.1) {
        (Health::Healthy, _) => Some((primary.0, "the primary is healthy")),
        (Health::Ill, Health::Healthy) => Some((standby.0, "the standby is promoted: the primary is ill")),
        _ => None,
    }
}

fn health(profile: Option<&ClusterProfile>) -> Health {
    let conditions = profile.and_then(|profile| profile.status.as_ref());
    let healthy = conditions.and_then(|status| {
        let mut all = status.conditions.iter();
        all.find(|condition| condition.type_ == CONTROL_PLANE_HEALTHY)
    });
    match healthy.map(|condition| condition.status.as_str()) {
        Some("True") => Health::Healthy,
        Some("False") => Health::Ill,
        _ => Health::Unknown,
    }
}

/// What the slice is to say; of one that is there, all that is not ours to say stays.
fn decided(before: Option<PlacementDecision>, key: &str, cluster: &str, reason: &str) -> PlacementDecision {
    let mut slice = before.unwrap_or_else(|| PlacementDecision {
        metadata: ObjectMeta {
            name: Some(format!("{key}-0")),
            ..ObjectMeta::default()
        },
        ..PlacementDecision::default()
    });
    slice.metadata.labels.get_or_insert_with(BTreeMap::new).extend([
        (labels::PLACEMENT_KEY.to_owned(), key.to_owned()),
        (labels::DECISION_KEY.to_owned(), key.to_owned()),
        (labels::DECISION_INDEX.to_owned(), "0".to_owned()),
    ]);
    slice.scheduler_name = Some(SCHEDULER.to_owned());
    slice.decisions = vec![ClusterDecision {
        cluster_profile_ref: Some(ClusterProfileReference {
            name: cluster.to_owned(),
            ..ClusterProfileReference::default()
        }),
        reason: Some(reason.to_owned()),
        ..ClusterDecision::default()
    }];
    slice
}

/// Why a decision is left to whoever made it.
fn foreign(decision: &str, scheduler: Option<&str>) -> String {
    let owner = scheduler.unwrap_or("nobody");
    format!(
        "the decision {decision} belongs to {owner}; accepted: one with the schedulerName {SCHEDULER}, or none"
    )
}

struct Controller {
    profiles: Api<ClusterProfile>,
    decisions: Api<PlacementDecision>,
    key: String,
    primary: String,
    standby: String,
}

impl Controller {
    /// Looks at everything anew and writes the decision if it is to be another one. An error leaves all as it is.
    async fn reconcile(&self) -> anyhow::Result<()> {
        let primary = self.profiles.get_opt(&self.primary).await?;
        let standby = self.profiles.get_opt(&self.standby).await?;
        let name = format!("{}-0", self.key);
        let before = self.decisions.get_opt(&name).await?;
        if let Some(theirs) = before
            .as_ref()
            .filter(|slice| slice.scheduler_name.as_deref() != Some(SCHEDULER))
        {
            bail!(foreign(&name, theirs.scheduler_name.as_deref()));
        }
        let primary = (self.primary.as_str(), health(primary.as_ref()));
        let standby = (self.standby.as_str(), health(standby.as_ref()));
        let Some((cluster, reason)) = choose(primary, standby) else {
            return Ok(());
        };
        let after = decided(before.clone(), &self.key, cluster, reason);
        // With the version that was read: if somebody wrote meanwhile, this is refused and looked at again.
        let how = PostParams::default();
        match &before {
            Some(before) if *before == after => return Ok(()),
            Some(_) => self.decisions.replace(&name, &how, &after).await?,
            None => self.decisions.create(&how, &after).await?,
        };
        println!("{} runs on {cluster}: {reason}", self.key);
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [namespace, key, primary, standby] = &args[..] else {
        bail!("usage: dr-controller NAMESPACE KEY PRIMARY STANDBY");
    };
    let client = Client::try_default()
        .await
        .context("connect to the hub that KUBECONFIG names")?;
    let controller = Controller {
        profiles: Api::namespaced(client.clone(), namespace),
        decisions: Api::namespaced(client, namespace),
        key: key.clone(),
        primary: primary.clone(),
        standby: standby.clone(),
    };
    // What the watch says is only when to look.
    let watch = watcher(controller.profiles.clone(), watcher::Config::default());
    let mut heard = watch.default_backoff().boxed();
    loop {
        let pause = match controller.reconcile().await {
            Ok(()) => RESYNC,
            Err(error) => {
                eprintln!("the decision stays as it is: {error:#}");
                RETRY
            }
        };
        tokio::select! {
            _ = heard.next() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_known_illness_of_the_primary_promotes_and_only_a_healthy_standby() {
        use Health::{Healthy, Ill, Unknown};
        let chosen = |primary, standby| choose(("p", primary), ("s", standby)).map(|(cluster, _)| cluster);
        for standby in [Healthy, Ill, Unknown] {
            assert_eq!(chosen(Healthy, standby), Some("p"));
            assert_eq!(chosen(Unknown, standby), None);
        }
        assert_eq!(chosen(Ill, Healthy), Some("s"));
        assert_eq!(chosen(Ill, Ill), None);
        assert_eq!(chosen(Ill, Unknown), None);
    }

    #[test]
    fn a_profile_that_is_missing_or_says_nothing_is_not_ill() {
        assert_eq!(health(None), Health::Unknown);
        assert_eq!(health(Some(&ClusterProfile::default())), Health::Unknown);
    }

    #[test]
    fn who_finds_the_decision_of_another_says_whose_it_is() {
        let accepted = "accepted: one with the schedulerName dr-controller, or none";
        let of =
            |decision: &str, owner: &str| format!("the decision {decision} belongs to {owner}; {accepted}");
        assert_eq!(foreign("db-0", Some("x")), of("db-0", "x"));
        assert_eq!(foreign("db-0", None), of("db-0", "nobody"));
    }

    #[test]
    fn deciding_the_same_again_changes_nothing() {
        let once = decided(None, "db", "east", "healthy");
        assert_eq!(decided(Some(once.clone()), "db", "east", "healthy"), once);
    }
}
