//! Which clusters a decision wins and loses by a plan. Only objects that the plan writes are compared, so that the cost
//! follows the change.

use std::collections::{BTreeMap, BTreeSet};

use portolan_api::cluster::PlacementDecisionStatus;
use portolan_api::multicluster;
use portolan_engine::plan::{Observed, Plan, Write};

use super::job::Change;

/// What a plan of one kind of decision objects changes.
pub(super) fn of(observed: &Observed, plan: &Plan) -> Change {
    let mut after: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for write in plan.writes() {
        // What a later phase writes is what stays.
        match write {
            Write::DecisionStatus { object, status } => drop(after.insert(&object.name, clusters(status))),
            Write::CreateSlice(slice) | Write::ReplaceSlice(slice) => {
                let name = slice.metadata.name.as_deref().unwrap_or_default();
                after.insert(name, profiles(slice));
            }
            Write::DeleteDecision(object) | Write::DeleteSlice(object) => {
                after.insert(&object.name, Vec::new());
            }
            Write::CreateDecision(_) | Write::DecisionMetadata(_) | Write::PlacementStatus(_) => {}
        }
    }
    let is_written = |name: &Option<String>| name.as_deref().is_some_and(|name| after.contains_key(name));
    let decisions = observed
        .decisions
        .iter()
        .filter(|object| is_written(&object.metadata.name));
    let slices = observed
        .slices
        .iter()
        .filter(|object| is_written(&object.metadata.name));
    let before: BTreeSet<&str> = match plan.writes().any(is_of_slices) {
        true => slices.flat_map(profiles).collect(),
        false => decisions
            .filter_map(|object| object.status.as_ref())
            .flat_map(clusters)
            .collect(),
    };
    let after: BTreeSet<&str> = after.into_values().flatten().collect();
    let names = |names: &mut dyn Iterator<Item = &&str>| names.map(|name| (*name).to_owned()).collect();
    Change {
        added: names(&mut after.difference(&before)),
        removed: names(&mut before.difference(&after)),
    }
}

fn is_of_slices(write: &Write) -> bool {
    matches!(
        write,
        Write::CreateSlice(_) | Write::ReplaceSlice(_) | Write::DeleteSlice(_)
    )
}

fn clusters(status: &PlacementDecisionStatus) -> Vec<&str> {
    let entries = status.decisions.iter();
    entries.map(|entry| entry.cluster_name.as_str()).collect()
}

fn profiles(slice: &multicluster::PlacementDecision) -> Vec<&str> {
    let entries = slice.decisions.iter();
    entries.filter_map(|entry| Some(entry.profile("")?.1)).collect()
}

#[cfg(test)]
mod tests {
    use portolan_api::cluster::{ClusterDecision, PlacementDecision};
    use portolan_engine::plan::{Phase, Reference};

    use super::*;

    fn status(names: &[&str]) -> PlacementDecisionStatus {
        let entry = |name: &&str| ClusterDecision {
            cluster_name: (*name).to_owned(),
            ..ClusterDecision::default()
        };
        PlacementDecisionStatus {
            decisions: names.iter().map(entry).collect(),
        }
    }

    fn observed(objects: &[(&str, &[&str])]) -> Observed {
        let decision = |(name, clusters): &(&str, &[&str])| {
            let mut object = PlacementDecision::default();
            object.metadata.name = Some((*name).to_owned());
            object.status = Some(status(clusters));
            object
        };
        Observed {
            decisions: objects.iter().map(decision).collect(),
            ..Observed::default()
        }
    }

    fn write(name: &str, clusters: &[&str]) -> Write {
        let object = Reference {
            name: name.to_owned(),
            ..Reference::default()
        };
        Write::DecisionStatus {
            object,
            status: status(clusters),
        }
    }

    #[test]
    fn a_cluster_that_only_changes_its_object_is_no_change() {
        let observed = observed(&[("d1", &["a", "b"]), ("d2", &["c"]), ("d3", &["z"])]);
        let surge = write("d2", &["b", "c", "d"]);
        let phases = vec![vec![surge], vec![write("d1", &["a"]), write("d2", &["b", "d"])]];
        let plan = Plan {
            phases: phases.into_iter().map(|writes| Phase { writes }).collect(),
        };
        let change = of(&observed, &plan);
        assert_eq!(change.added, ["d"]);
        assert_eq!(change.removed, ["c"]);
    }
}
