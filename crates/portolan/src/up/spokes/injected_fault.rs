//! What is to happen to a member: an annotation of its ManagedCluster, written by `portolan demo`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::portolan::EMBEDDED_MEMBER;
use tokio::sync::watch;

/// The annotation, on a ManagedCluster of an embedded member or on a workload in one.
pub(crate) const ANNOTATION: &str = "portolan.dev/simulate";

/// What happens to a member or to a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum InjectedFault {
    /// Nothing.
    #[default]
    Well,
    /// Its workloads fail, and it says that it is ill.
    Failed,
    /// Its agent cannot reach the hub. What runs there goes on.
    Partitioned,
    /// Its deletion has begun: its works go, then its rights.
    Leaving,
    /// It is no cluster of the hub any more.
    Left,
}

impl InjectedFault {
    /// The value of the annotation, if it takes one.
    pub(crate) fn annotation(self) -> Option<&'static str> {
        match self {
            InjectedFault::Well | InjectedFault::Leaving | InjectedFault::Left => None,
            InjectedFault::Failed => Some("fail"),
            InjectedFault::Partitioned => Some("partition"),
        }
    }

    /// What annotations say. What is not understood is nothing.
    pub(crate) fn of(annotations: Option<&BTreeMap<String, String>>) -> InjectedFault {
        let value = annotations.and_then(|annotations| annotations.get(ANNOTATION));
        let is = |fate: &InjectedFault| value.is_some_and(|value| fate.annotation() == Some(value));
        [InjectedFault::Failed, InjectedFault::Partitioned]
            .into_iter()
            .find(is)
            .unwrap_or_default()
    }

    /// The fate of a cluster that is on the hub. What is simulated goes on while it leaves.
    fn of_cluster(metadata: &ObjectMeta) -> InjectedFault {
        match InjectedFault::of(metadata.annotations.as_ref()) {
            InjectedFault::Well if metadata.deletion_timestamp.is_some() => InjectedFault::Leaving,
            fate => fate,
        }
    }
}

/// What is wrong with the annotation of an object, which is ignored then. `accepted` are the fates that the object can have.
pub(super) fn mistake(
    annotations: Option<&BTreeMap<String, String>>,
    accepted: &[InjectedFault],
) -> Option<String> {
    let value = annotations?.get(ANNOTATION)?;
    let accepted: Vec<&str> = accepted.iter().filter_map(|fate| fate.annotation()).collect();
    let is_accepted = accepted.contains(&value.as_str());
    (!is_accepted).then(|| {
        format!(
            "annotation {ANNOTATION} is {value:?} and is ignored; accepted: {}",
            accepted.join(", ")
        )
    })
}

/// Where the fate of each member is heard of, by name.
pub(super) type Fates = Arc<HashMap<String, watch::Sender<InjectedFault>>>;

/// Passes on what is written on the hub, until it is dropped.
pub(super) async fn follow(hub: Client, fates: Fates) {
    let api: Api<ManagedCluster> = Api::all(hub);
    let config = watcher::Config::default().labels(&format!("{}=true", EMBEDDED_MEMBER));
    let mut events = watcher::watcher(api, config).default_backoff().boxed();
    let mut mistakes: HashMap<String, String> = HashMap::new();
    while let Some(event) = events.next().await {
        let (cluster, now) = match event {
            Ok(Event::Apply(cluster) | Event::InitApply(cluster)) => {
                let now = InjectedFault::of_cluster(&cluster.metadata);
                (cluster, now)
            }
            Ok(Event::Delete(cluster)) => (cluster, InjectedFault::Left),
            _ => continue,
        };
        let name = cluster.metadata.name.as_deref().unwrap_or_default();
        let accepted = [InjectedFault::Failed, InjectedFault::Partitioned];
        match mistake(cluster.metadata.annotations.as_ref(), &accepted) {
            // A cluster changes with each heartbeat; a mistake is told once.
            Some(mistake) if mistakes.get(name) != Some(&mistake) => {
                tracing::warn!(cluster = name, "{mistake}");
                mistakes.insert(name.to_owned(), mistake);
            }
            Some(_) => {}
            None => drop(mistakes.remove(name)),
        }
        let Some(fate) = fates.get(name) else { continue };
        let is_news = fate.send_if_modified(|before| std::mem::replace(before, now) != now);
        if is_news && now == InjectedFault::Partitioned {
            // The failures that follow are no news; that the hub answers again is, and the agent says it. With the path of this
            // module the line would be longer than 80 columns.
            tracing::warn!(target: "portolan::up", "{name} is cut off, as simulated");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_read_and_nothing_else_is_a_fate() {
        let of = |value: &str| {
            InjectedFault::of(Some(&BTreeMap::from([(ANNOTATION.to_owned(), value.to_owned())])))
        };
        for fate in [InjectedFault::Failed, InjectedFault::Partitioned] {
            assert_eq!(of(fate.annotation().unwrap()), fate);
        }
        for other in ["", "Fail", "failed", "well"] {
            assert_eq!(of(other), InjectedFault::Well, "{other}");
        }
        assert_eq!(InjectedFault::of(None), InjectedFault::Well);
    }

    #[test]
    fn a_well_member_leaves_when_its_deletion_has_begun_and_a_cut_one_stays_cut() {
        let mut member: ObjectMeta =
            serde_json::from_value(serde_json::json!({ "name": "member-1" })).unwrap();
        assert_eq!(InjectedFault::of_cluster(&member), InjectedFault::Well);
        member.deletion_timestamp = serde_json::from_value("2026-01-01T00:00:00Z".into()).unwrap();
        assert_eq!(InjectedFault::of_cluster(&member), InjectedFault::Leaving);
        member.annotations = Some(BTreeMap::from([(ANNOTATION.to_owned(), "partition".to_owned())]));
        assert_eq!(InjectedFault::of_cluster(&member), InjectedFault::Partitioned);
    }

    #[test]
    fn a_value_that_is_ignored_is_told_with_what_is_accepted() {
        let of = |value: &str| {
            let annotations = BTreeMap::from([(ANNOTATION.to_owned(), value.to_owned())]);
            mistake(Some(&annotations), &[InjectedFault::Failed])
        };
        assert_eq!(of("fail"), None);
        let said = "annotation portolan.dev/simulate is \"partition\" and is ignored; accepted: fail";
        assert_eq!(of("partition").as_deref(), Some(said));
        assert_eq!(mistake(None, &[InjectedFault::Failed]), None);
    }
}
