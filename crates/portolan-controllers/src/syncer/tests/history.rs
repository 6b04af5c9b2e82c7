//! Random histories: decisions, templates and profiles change, events lag behind, the syncer restarts. In the end the
//! works are where they should be, and on the way none goes that stays wanted.

use std::collections::BTreeSet;

use portolan_api::multicluster::{PlacementDecision, Work};
use proptest::prelude::*;
use serde_json::json;

use super::fixture::*;
use crate::syncer::message::Write;

#[derive(Clone, Debug)]
enum Step {
    /// The scheduler decides: each cluster is in the first slice, in the second, or in none.
    Decide(Vec<Option<bool>>),
    Delete,
    Template(u8),
    /// Some events arrive.
    Deliver(u8),
    /// Some writes are carried out.
    Write,
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop::collection::vec(prop::option::weighted(0.7, any::<bool>()), 3).prop_map(Step::Decide),
        1 => Just(Step::Delete),
        1 => (0..3_u8).prop_map(Step::Template),
        6 => (0..4_u8).prop_map(Step::Deliver),
        4 => Just(Step::Write),
        1 => Just(Step::Restart),
    ]
}

const NAMES: [&str; 3] = ["a", "b", "c"];

fn chosen(layout: &[Option<bool>], second: bool) -> Vec<&'static str> {
    let in_slice = NAMES
        .iter()
        .zip(layout)
        .filter(|(_, place)| **place == Some(second));
    in_slice.map(|(name, _)| *name).collect()
}

proptest! {
    #[test]
    fn works_end_where_they_should_and_none_goes_that_was_never_given_up(
        steps in prop::collection::vec(step(), 1..40)
    ) {
        let mut hub = Hub::with_template();
        let mut decided: Option<Vec<Option<bool>>> = None;
        let mut revision = 0;
        let mut version = 0;
        // Clusters that some decision since the last complete look did without.
        let mut given_up: BTreeSet<&str> = NAMES.into();
        let check = |writes: &[Write], given_up: &BTreeSet<&str>| {
            for write in writes {
                if let Write::Delete { target, .. } = write {
                    prop_assert!(given_up.contains(target.cluster.as_str()), "{write:?}");
                }
            }
            Ok(())
        };
        for step in steps {
            match step {
                Step::Decide(layout) => {
                    for (name, place) in NAMES.iter().zip(&layout) {
                        if place.is_none() {
                            given_up.insert(name);
                        }
                    }
                    for second in [false, true] {
                        let slice = part(usize::from(second), Some((revision, 2)), &chosen(&layout, second));
                        hub.decide(&slice);
                    }
                    revision += 1;
                    decided = Some(layout);
                }
                Step::Delete => {
                    given_up = NAMES.into();
                    decided = None;
                    for index in 0..2 {
                        hub.server.delete::<PlacementDecision>(HOME, &format!("web-{index}"));
                    }
                }
                Step::Template(new) => {
                    version = new;
                    hub.server.put(&template("web", json!([manifest(&format!("v{new}"))])));
                }
                Step::Deliver(events) => {
                    for _ in 0..events {
                        hub.deliver_one();
                    }
                }
                Step::Write => check(&hub.write(), &given_up)?,
                Step::Restart => hub.restart(),
            }
        }
        hub.settle();
        hub.wait(60);
        let wanted: Vec<&str> = match &decided {
            Some(layout) => NAMES.iter().zip(layout).filter(|(_, place)| place.is_some()).map(|(name, _)| *name).collect(),
            None => Vec::new(),
        };
        prop_assert_eq!(hub.made(), wanted.clone());
        let template = hub.server.get::<Work>(HOME, "web").unwrap();
        for name in wanted {
            let work = hub.server.get::<Work>(name, "shop.web").unwrap();
            let (made, from) = (&work.spec.workload.manifests[0], &template.spec.workload.manifests[0]);
            prop_assert_eq!(&made["metadata"]["name"], &from["metadata"]["name"], "{}", version);
        }
        prop_assert_eq!(hub.wait(60), 0);
    }
}
