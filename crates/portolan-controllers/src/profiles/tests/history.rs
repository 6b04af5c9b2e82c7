//! Whatever happened in whatever order, in the end everything is as if it had been so from the start.

use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement};
use portolan_api::multicluster::ClusterProfile;
use portolan_runtime::watch::Delta;
use proptest::prelude::*;
use serde_json::json;

use super::fixture::{Hub, binding, cluster, foreign, placement, set, synced};
use crate::moment::tests::instant;
use crate::profiles::content::{Content, Observed, Owner};
use crate::profiles::message::{Input, Outcome, Write};
use crate::reconcile::fake::{object, second};
use crate::reconcile::{Failure, Labels, Membership, Reconciler};

#[derive(Clone, Debug)]
enum Step {
    Cluster {
        name: u8,
        set: u8,
        claim: u8,
        deleting: bool,
    },
    DropCluster(u8),
    Set {
        name: u8,
        selector: u8,
    },
    DropSet(u8),
    Bind {
        namespace: u8,
        set: u8,
    },
    Unbind {
        namespace: u8,
        set: u8,
    },
    Place(u8),
    Unplace(u8),
    Foreign {
        namespace: u8,
        name: u8,
    },
    Edit {
        namespace: u8,
        name: u8,
    },
    DropProfile {
        namespace: u8,
        name: u8,
    },
    /// Some events arrive.
    Deliver(u8),
    /// What is due is carried out; the n-th write of it fails.
    Write {
        failing: u8,
        failure: u8,
    },
    Relist,
}

const SETS: [&str; 3] = ["prod", "dev", "all"];
const NAMESPACES: [&str; 3] = ["n0", "n1", "inventory"];

fn step() -> impl Strategy<Value = Step> {
    let pair = || (0..3u8, 0..4u8);
    prop_oneof![
        4 => (0..4u8, 0..3u8, 0..3u8, prop::bool::weighted(0.1))
            .prop_map(|(name, set, claim, deleting)| Step::Cluster { name, set, claim, deleting }),
        1 => (0..4u8).prop_map(Step::DropCluster),
        2 => (0..3u8, 0..4u8).prop_map(|(name, selector)| Step::Set { name, selector }),
        1 => (0..3u8).prop_map(Step::DropSet),
        3 => (0..2u8, 0..3u8).prop_map(|(namespace, set)| Step::Bind { namespace, set }),
        1 => (0..2u8, 0..3u8).prop_map(|(namespace, set)| Step::Unbind { namespace, set }),
        2 => (0..2u8).prop_map(Step::Place),
        1 => (0..2u8).prop_map(Step::Unplace),
        1 => pair().prop_map(|(namespace, name)| Step::Foreign { namespace, name }),
        1 => pair().prop_map(|(namespace, name)| Step::Edit { namespace, name }),
        1 => pair().prop_map(|(namespace, name)| Step::DropProfile { namespace, name }),
        4 => (1..6u8).prop_map(Step::Deliver),
        3 => (0..6u8, 0..5u8).prop_map(|(failing, failure)| Step::Write { failing, failure }),
        1 => Just(Step::Relist),
    ]
}

fn take(hub: &mut Hub, step: &Step, now: i64) {
    match step {
        Step::Cluster {
            name,
            set,
            claim,
            deleting,
        } => {
            let mut cluster = cluster(&format!("c{name}"), ["prod", "dev", "none"][*set as usize]);
            cluster.status.as_mut().unwrap().cluster_claims[0].value = claim.to_string();
            cluster.metadata.deletion_timestamp = deleting.then(|| object(json!("2026-01-01T00:00:00Z")));
            hub.server.put(&cluster);
        }
        Step::DropCluster(name) => _ = hub.server.delete::<ManagedCluster>("", &format!("c{name}")),
        Step::Set { name, selector } => {
            let selector = match selector {
                0 => json!({}),
                1 => json!({"selectorType": "LabelSelector", "labelSelector": {}}),
                2 => json!({"selectorType": "LabelSelector"}),
                _ => json!({"selectorType": "Unheard"}),
            };
            hub.server.put(&set(SETS[*name as usize], selector));
        }
        Step::DropSet(name) => _ = hub.server.delete::<ManagedClusterSet>("", SETS[*name as usize]),
        Step::Bind { namespace, set } => {
            hub.server
                .put(&binding(NAMESPACES[*namespace as usize], SETS[*set as usize]));
        }
        Step::Unbind { namespace, set } => {
            let (namespace, set) = (NAMESPACES[*namespace as usize], SETS[*set as usize]);
            hub.server.delete::<ManagedClusterSetBinding>(namespace, set);
        }
        Step::Place(namespace) => hub.server.put(&placement(NAMESPACES[*namespace as usize], "web")),
        Step::Unplace(namespace) => {
            _ = hub
                .server
                .delete::<Placement>(NAMESPACES[*namespace as usize], "web")
        }
        Step::Foreign { namespace, name } => {
            let (namespace, name) = (NAMESPACES[*namespace as usize], format!("c{name}"));
            if hub.server.get::<ClusterProfile>(namespace, &name).is_none() {
                hub.server.put(&foreign(namespace, &name));
            }
        }
        Step::Edit { namespace, name } => {
            let (namespace, name) = (NAMESPACES[*namespace as usize], format!("c{name}"));
            if let Some(profile) = hub.server.get::<ClusterProfile>(namespace, &name) {
                let mut profile = profile.as_ref().clone();
                profile.spec.display_name = Some("edited".into());
                profile.status = None;
                hub.server.put(&profile);
            }
        }
        Step::DropProfile { namespace, name } => {
            hub.server
                .delete::<ClusterProfile>(NAMESPACES[*namespace as usize], &format!("c{name}"));
        }
        Step::Deliver(count) => (0..*count).for_each(|_| _ = hub.deliver_one()),
        Step::Write { failing, failure } => {
            let failures = [
                Failure::Conflict,
                Failure::Missing,
                Failure::Forbidden,
                Failure::Invalid,
                Failure::Transient,
            ];
            let writes = hub.state.due(second(now).into(), usize::MAX);
            for (index, write) in writes.iter().enumerate() {
                let endings = match (index == *failing as usize, write) {
                    (
                        true,
                        Write::Create { key, .. } | Write::Metadata { key, .. } | Write::Status { key, .. },
                    ) => {
                        vec![(key.clone(), Outcome::Failed(failures[*failure as usize]))]
                    }
                    _ => hub.carry_out(write),
                };
                hub.state.handle(Input::Ended {
                    at: instant(second(now)),
                    endings,
                });
            }
        }
        Step::Relist => {
            hub.state.handle(Input::Cluster(Delta::ListStarted));
            hub.state.handle(Input::Profile(Delta::ListStarted));
            assert!(hub.state.due(second(now).into(), usize::MAX).is_empty());
            hub.deliver();
            synced(&mut hub.state);
        }
    }
}

/// Which profiles should be there, and what they should say, said without any state.
fn check(hub: &Hub) {
    let (sets, bindings) = (
        hub.server.list::<ManagedClusterSet>(),
        hub.server.list::<ManagedClusterSetBinding>(),
    );
    let placements = hub.server.list::<Placement>();
    let bound_in = |namespace: &str| {
        let bound = bindings.iter().filter(|binding| {
            let home = &binding.metadata.namespace;
            let placed = placements
                .iter()
                .any(|placement| placement.metadata.namespace == *home);
            placed
                && (hub.shared == Some(namespace)
                    || hub.shared.is_none() && home.as_deref() == Some(namespace))
        });
        let set = |binding: &ManagedClusterSetBinding| {
            sets.iter().find(|set| set.metadata.name == binding.metadata.name)
        };
        bound.filter_map(set).map(Membership::of).collect::<Vec<_>>()
    };
    for namespace in NAMESPACES {
        let bound = bound_in(namespace);
        let doubtful = bound.iter().any(Membership::is_invalid);
        for index in 0..4 {
            let name = format!("c{index}");
            let cluster = hub.server.get::<ManagedCluster>("", &name);
            let wanted = cluster.filter(|cluster| {
                let labels = Labels::new(cluster.metadata.labels.as_ref());
                cluster.metadata.deletion_timestamp.is_none() && bound.iter().any(|set| set.has(&labels))
            });
            let observed = hub
                .server
                .get::<ClusterProfile>(namespace, &name)
                .map(|profile| Observed::of(&profile));
            match (wanted, observed) {
                (_, Some(observed)) if observed.owner == Owner::SomebodyElse => {}
                (Some(cluster), Some(observed)) => {
                    let content = Content::of(&cluster);
                    assert_eq!(
                        (observed.metadata, observed.status),
                        (content.metadata, content.status)
                    );
                }
                (Some(_), None) => panic!("{namespace}/{name} is missing"),
                (None, Some(_)) => assert!(doubtful, "{namespace}/{name} is too much"),
                (None, None) => {}
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn after_any_history_all_is_right_and_a_restart_writes_nothing(
        steps in prop::collection::vec(step(), 0..60),
        shared in any::<bool>(),
    ) {
        let mut hub = Hub::with(shared.then_some("inventory"));
        for (index, step) in steps.iter().enumerate() {
            take(&mut hub, step, index as i64);
        }
        for round in 0..6 {
            hub.settle(second(1_000 + 100 * round));
        }
        check(&hub);
        prop_assert!(hub.state.due(second(5_000).into(), usize::MAX).is_empty());
        let mut restarted = hub.restarted();
        prop_assert!(restarted.due(second(5_000).into(), usize::MAX).is_empty());
        prop_assert!(restarted.due(second(6_000).into(), usize::MAX).is_empty());
    }
}
