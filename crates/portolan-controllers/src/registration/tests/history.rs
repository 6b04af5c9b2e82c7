//! Whatever happened in whatever order, in the end everything is as if it had been so from the start.

use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding};
use portolan_runtime::watch::Delta;
use proptest::prelude::*;
use serde_json::json;

use super::fixture::{Hub, binding, carry_out, labelled, set};
use crate::moment::tests::instant;
use crate::reconcile::fake::second;
use crate::reconcile::{Failure, Labels, Membership, Reconciler};
use crate::registration::message::Write;
use crate::registration::state::Input;

#[derive(Clone, Debug)]
enum Step {
    Cluster {
        name: u8,
        available: u8,
        set: u8,
        env: u8,
    },
    DropCluster(u8),
    Set {
        name: u8,
        selector: u8,
    },
    DropSet(u8),
    Binding {
        namespace: u8,
        set: u8,
    },
    DropBinding {
        namespace: u8,
        set: u8,
    },
    /// Some events arrive.
    Deliver(u8),
    /// What is due is carried out; the n-th request of it fails.
    Write {
        failing: u8,
    },
    Relist,
}

const SETS: [&str; 4] = ["default", "global", "prod", "dev"];

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..5u8, 0..4u8, 0..4u8, 0..3u8)
            .prop_map(|(name, available, set, env)| Step::Cluster { name, available, set, env }),
        1 => (0..5u8).prop_map(Step::DropCluster),
        2 => (0..4u8, 0..5u8).prop_map(|(name, selector)| Step::Set { name, selector }),
        1 => (0..4u8).prop_map(Step::DropSet),
        1 => (0..2u8, 0..4u8).prop_map(|(namespace, set)| Step::Binding { namespace, set }),
        1 => (0..2u8, 0..4u8).prop_map(|(namespace, set)| Step::DropBinding { namespace, set }),
        4 => (1..6u8).prop_map(Step::Deliver),
        3 => (0..6u8).prop_map(|failing| Step::Write { failing }),
        1 => Just(Step::Relist),
    ]
}

fn take(hub: &mut Hub, step: &Step, now: i64) {
    match step {
        Step::Cluster {
            name,
            available,
            set,
            env,
        } => {
            let available = ["", "True", "False", "Unknown"][*available as usize];
            let mut labels = json!({"env": (["prod", "dev", "test"][*env as usize])});
            if *set > 0 {
                labels["cluster.open-cluster-management.io/clusterset"] =
                    json!((["", "", "prod", "dev"][*set as usize]));
            }
            let mut cluster = labelled(&format!("c{name}"), available, labels);
            if let Some(before) = hub.server.get::<ManagedCluster>("", &format!("c{name}")) {
                cluster.spec = before.spec.clone();
            }
            hub.server.put(&cluster);
        }
        Step::DropCluster(name) => _ = hub.server.delete::<ManagedCluster>("", &format!("c{name}")),
        Step::Set { name, selector } => {
            let selector = match selector {
                0 => json!({}),
                1 => json!({"selectorType": "LabelSelector"}),
                2 => json!({"selectorType": "LabelSelector", "labelSelector": {}}),
                3 => {
                    json!({"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"env": "prod"}}})
                }
                _ => json!({"selectorType": "Unheard"}),
            };
            hub.server.put(&set(SETS[*name as usize], selector));
        }
        Step::DropSet(name) => _ = hub.server.delete::<ManagedClusterSet>("", SETS[*name as usize]),
        Step::Binding { namespace, set } => {
            hub.server
                .put(&binding(&format!("n{namespace}"), SETS[*set as usize]));
        }
        Step::DropBinding { namespace, set } => {
            hub.server
                .delete::<ManagedClusterSetBinding>(&format!("n{namespace}"), SETS[*set as usize]);
        }
        Step::Deliver(count) => (0..*count).for_each(|_| _ = hub.deliver_one()),
        Step::Write { failing } => {
            let writes = hub.state.due(second(now).into(), usize::MAX);
            for (index, write) in writes.iter().enumerate() {
                let result = match index == *failing as usize {
                    true => Err(Failure::Transient),
                    false => carry_out(&mut hub.server, write),
                };
                hub.state.handle(Input::Ended {
                    target: write.target(),
                    at: instant(second(now)),
                    result,
                });
            }
        }
        Step::Relist => {
            hub.state.handle(Input::Cluster(Delta::ListStarted));
            let writes = hub.write(second(now));
            assert!(!writes.iter().any(|write| matches!(write, Write::Cluster { .. })));
            hub.deliver();
            hub.state.handle(Input::Cluster(Delta::Synced));
        }
    }
}

/// What every object should look like, said without any state.
fn check(hub: &Hub) {
    let clusters = hub.server.list::<ManagedCluster>();
    let sets = hub.server.list::<ManagedClusterSet>();
    for name in ["default", "global"] {
        let set = sets
            .iter()
            .find(|set| set.metadata.name.as_deref() == Some(name))
            .unwrap();
        assert_eq!(
            Membership::of(set),
            Membership::of(&ManagedClusterSet::built_in(name).unwrap())
        );
    }
    for cluster in &clusters {
        let labels = cluster.metadata.labels.as_ref().unwrap();
        assert!(!labels["cluster.open-cluster-management.io/clusterset"].is_empty());
        let available = cluster
            .status
            .as_ref()
            .unwrap()
            .conditions
            .first()
            .map(|condition| condition.status.as_str());
        let expected: &[&str] = match available {
            Some("True") => &[],
            Some("False") => &["cluster.open-cluster-management.io/unavailable"],
            _ => &["cluster.open-cluster-management.io/unreachable"],
        };
        let keys: Vec<&str> = cluster
            .spec
            .taints
            .iter()
            .map(|taint| taint.key.as_str())
            .collect();
        assert_eq!(keys, expected);
    }
    for set in &sets {
        let membership = Membership::of(set);
        if membership.is_invalid() {
            continue;
        }
        let has = |cluster: &&ManagedCluster| membership.has(&Labels::new(cluster.metadata.labels.as_ref()));
        let message = match clusters.iter().filter(has).count() {
            0 => "No ManagedCluster selected".to_owned(),
            count => format!("{count} ManagedClusters selected"),
        };
        assert_eq!(
            set.status.as_ref().unwrap().conditions[0].message,
            message,
            "{set:?}"
        );
    }
    for binding in hub.server.list::<ManagedClusterSetBinding>() {
        let exists = sets.iter().any(|set| set.metadata.name == binding.metadata.name);
        let expected = if exists { "True" } else { "False" };
        assert_eq!(binding.status.as_ref().unwrap().conditions[0].status, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn after_any_history_all_is_right_and_a_restart_writes_nothing(steps in prop::collection::vec(step(), 0..40)) {
        let mut hub = Hub::new();
        for (index, step) in steps.iter().enumerate() {
            take(&mut hub, step, index as i64);
        }
        for round in 0..4 {
            hub.settle(second(1_000 + 100 * round));
        }
        check(&hub);
        prop_assert!(hub.state.due(second(5_000).into(), usize::MAX).is_empty());
        prop_assert!(hub.restarted().due(second(5_000).into(), usize::MAX).is_empty());
    }
}
