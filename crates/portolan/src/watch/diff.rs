//! What has been shown of every decision, and what is new. No clock, no connection: objects in, changes out.

use std::collections::{BTreeMap, BTreeSet};

use portolan_engine::placement::PlacementKey;

use crate::decided::{Decided, Group, Said, union};

/// Which decision object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Object {
    // The OCM kind comes first: its scores are fields, and win over those in an annotation.
    /// Namespace and name of an OCM decision.
    Decision(String, String),
    /// Namespace and name of a KEP slice.
    Slice(String, String),
}

/// Where a cluster stands, as it was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) group: Option<Group>,
    pub(crate) score: Option<i64>,
}

/// What became of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Added(Shown),
    Removed,
    Moved { from: Group, to: Shown },
    Scored { from: i64, to: Shown },
}

/// The changes of one placement, by cluster, and how many clusters it has after them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) placement: PlacementKey,
    pub(crate) changes: Vec<(String, Change)>,
    /// None when its last decision object is gone.
    pub(crate) clusters: Option<usize>,
}

/// All decisions that are followed.
#[derive(Debug, Default)]
pub(crate) struct DecisionDiff {
    said: BTreeMap<PlacementKey, BTreeMap<Object, Said>>,
    owners: BTreeMap<Object, PlacementKey>,
    shown: BTreeMap<PlacementKey, BTreeMap<String, Shown>>,
    /// The placements whose slices are shown. Of the others it is the OCM decisions.
    by_slices: BTreeSet<PlacementKey>,
    due: BTreeSet<PlacementKey>,
    /// Placements whose first decision was empty, which has not been told.
    empty: BTreeSet<PlacementKey>,
}

impl DecisionDiff {
    /// An object is there and says this; nothing when it is no decision of ours.
    pub(crate) fn apply(&mut self, object: Object, said: Option<Said>) {
        let Some(said) = said else {
            return self.remove(&object);
        };
        if self
            .owners
            .get(&object)
            .is_some_and(|owner| *owner != said.placement)
        {
            self.remove(&object);
        }
        self.owners.insert(object.clone(), said.placement.clone());
        self.due.insert(said.placement.clone());
        self.said
            .entry(said.placement.clone())
            .or_default()
            .insert(object, said);
    }

    /// An object is gone.
    pub(crate) fn remove(&mut self, object: &Object) {
        if let Some(owner) = self.owners.remove(object) {
            if let Some(objects) = self.said.get_mut(&owner) {
                objects.remove(object);
            }
            self.due.insert(owner);
        }
    }

    /// Whether something may have changed since the last [`DecisionDiff::settle`].
    pub(crate) fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// What changed, placement by placement. A new decision without clusters is told `at_start`, and otherwise by
    /// [`DecisionDiff::still_empty`]: it may be one that is just being written.
    pub(crate) fn settle(&mut self, at_start: bool) -> Vec<Turn> {
        let due = std::mem::take(&mut self.due);
        let mut turns: Vec<Turn> = due
            .into_iter()
            .filter_map(|placement| self.turn(placement))
            .collect();
        if !at_start {
            let untold = turns.extract_if(.., |turn| turn.changes.is_empty() && turn.clusters.is_some());
            self.empty.extend(untold.map(|turn| turn.placement));
        }
        turns
    }

    /// Whether there are decisions for [`DecisionDiff::still_empty`].
    pub(crate) fn has_empty(&self) -> bool {
        !self.empty.is_empty()
    }

    /// The decisions that were empty when they were new, and still are.
    pub(crate) fn still_empty(&mut self) -> Vec<Turn> {
        let empty = std::mem::take(&mut self.empty).into_iter();
        let empty = empty.filter(|placement| self.shown.get(placement).is_some_and(BTreeMap::is_empty));
        empty
            .map(|placement| Turn {
                placement,
                changes: Vec::new(),
                clusters: Some(0),
            })
            .collect()
    }

    /// What one of the two kinds says. They are written one after the other, so that for a moment a cluster that comes is in
    /// one of them and a cluster that goes in the other: taken together they would be more than was ever decided. The kind
    /// that is shown stays the same until it lists nothing while the other one does.
    fn decided(&mut self, placement: &PlacementKey) -> Decided {
        let objects = self.said.get(placement);
        let of = |slices: bool| {
            let listed = objects.into_iter().flatten();
            union(
                listed
                    .filter(|(object, _)| matches!(object, Object::Slice(..)) == slices)
                    .map(|(_, said)| ("", said)),
            )
        };
        let (decisions, slices) = (of(false), of(true));
        let by_slices = match self.by_slices.contains(placement) {
            true => !slices.is_empty() || decisions.is_empty(),
            false => !slices.is_empty() && decisions.is_empty(),
        };
        if by_slices {
            self.by_slices.insert(placement.clone());
            slices
        } else {
            self.by_slices.remove(placement);
            decisions
        }
    }

    fn turn(&mut self, placement: PlacementKey) -> Option<Turn> {
        let decided = self.decided(&placement);
        let first = !self.shown.contains_key(&placement);
        if self.said.get(&placement).is_some_and(BTreeMap::is_empty) {
            self.said.remove(&placement);
        }
        let shown = self.shown.entry(placement.clone()).or_default();
        let changes = difference(shown, &decided);
        let mut clusters = Some(shown.len());
        if !self.said.contains_key(&placement) {
            self.shown.remove(&placement);
            self.by_slices.remove(&placement);
            clusters = None;
        }
        let worth_telling = first || !changes.is_empty() || clusters.is_none();
        worth_telling.then_some(Turn {
            placement,
            changes,
            clusters,
        })
    }
}

/// Brings what was shown up to date, and says how.
fn difference(shown: &mut BTreeMap<String, Shown>, decided: &Decided) -> Vec<(String, Change)> {
    let mut changes = Vec::new();
    shown.retain(|cluster, _| {
        let stays = decided.contains_key(cluster);
        if !stays {
            changes.push((cluster.clone(), Change::Removed));
        }
        stays
    });
    for (cluster, standing) in decided {
        let now = Shown {
            group: standing.groups.first().cloned(),
            score: standing.score,
        };
        let Some(before) = shown.get_mut(cluster) else {
            shown.insert(cluster.clone(), now.clone());
            changes.push((cluster.clone(), Change::Added(now)));
            continue;
        };
        // On its way from group to group a cluster is listed in both; it has moved when it has left the first. An
        // object without a group says nothing about groups.
        let stays = standing.groups.is_empty()
            || before
                .group
                .as_ref()
                .is_some_and(|group| standing.groups.contains(group));
        let group = if stays {
            before.group.clone()
        } else {
            now.group.clone()
        };
        let to = Shown {
            group,
            // An object without scores says nothing about them.
            score: now.score.or(before.score),
        };
        let change = match (&before.group, before.score, to.score) {
            (Some(from), ..) if !stays => Some(Change::Moved {
                from: from.clone(),
                to: to.clone(),
            }),
            (_, Some(from), Some(score)) if from != score => Some(Change::Scored { from, to: to.clone() }),
            _ => None,
        };
        *before = to;
        changes.extend(change.map(|change| (cluster.clone(), change)));
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(group: u32, clusters: &[(&str, i64)]) -> Option<Said> {
        let listed: Vec<_> = clusters
            .iter()
            .map(|(name, score)| json!({ "clusterName": name, "score": score }))
            .collect();
        let object = json!({
            "metadata": { "namespace": "ns", "labels": {
                "cluster.open-cluster-management.io/placement": "p",
                "cluster.open-cluster-management.io/decision-group-index": group.to_string() } },
            "status": { "decisions": listed },
        });
        Said::by_decision(&serde_json::from_value(object).unwrap())
    }

    fn object(name: &str) -> Object {
        Object::Decision("ns".to_owned(), name.to_owned())
    }

    /// The changes as short words.
    fn changes(diff: &mut DecisionDiff) -> Vec<String> {
        let turns = diff.settle(false).into_iter().flat_map(|turn| turn.changes);
        let word = |(cluster, change): (String, Change)| match change {
            Change::Added(_) => format!("+{cluster}"),
            Change::Removed => format!("-{cluster}"),
            Change::Moved { to, .. } => format!("{cluster}>{}", to.group.map_or(0, |group| group.index)),
            Change::Scored { from, to } => format!("{cluster} {from}>{}", to.score.unwrap_or(0)),
        };
        turns.map(word).collect()
    }

    #[test]
    fn clusters_come_change_their_score_and_go() {
        let mut diff = DecisionDiff::default();
        diff.apply(object("d1"), said(0, &[("a", 1), ("b", 2)]));
        assert_eq!(changes(&mut diff), ["+a", "+b"]);
        diff.apply(object("d1"), said(0, &[("b", 3), ("c", 1)]));
        assert_eq!(changes(&mut diff), ["-a", "b 2>3", "+c"]);
        diff.apply(object("d1"), said(0, &[("b", 3), ("c", 1)]));
        assert_eq!(diff.settle(false), []);
        diff.remove(&object("d1"));
        assert_eq!(changes(&mut diff), ["-b", "-c"]);
        assert_eq!(diff.settle(false), []);
    }

    #[test]
    fn a_cluster_that_another_object_still_lists_has_not_gone() {
        let mut diff = DecisionDiff::default();
        diff.apply(object("d1"), said(0, &[("a", 1)]));
        changes(&mut diff);
        diff.apply(object("d2"), said(0, &[("a", 1)]));
        diff.apply(object("d1"), said(0, &[]));
        assert_eq!(diff.settle(false), []);
    }

    #[test]
    fn a_cluster_has_moved_when_it_has_left_its_group() {
        let mut diff = DecisionDiff::default();
        diff.apply(object("d1"), said(1, &[("a", 1)]));
        changes(&mut diff);
        diff.apply(object("d0"), said(0, &[("a", 1)]));
        assert_eq!(diff.settle(false), []);
        diff.remove(&object("d1"));
        assert_eq!(changes(&mut diff), ["a>0"]);
    }

    #[test]
    fn a_cluster_that_gets_its_first_group_has_not_moved() {
        let mut diff = DecisionDiff::default();
        let object_without = object("d0");
        let mut without = said(0, &[("a", 1)]).unwrap();
        without.group = None;
        diff.apply(object_without, Some(without));
        changes(&mut diff);
        diff.apply(object("d1"), said(0, &[("a", 1)]));
        assert_eq!(diff.settle(false), []);
    }

    /// The same clusters in a slice.
    fn slice(clusters: &[&str]) -> Option<Said> {
        let listed: Vec<_> = clusters
            .iter()
            .map(|name| json!({ "clusterProfileRef": { "name": name, "namespace": "ns" } }))
            .collect();
        let slice = json!({
            "metadata": { "namespace": "ns", "labels": { "multicluster.x-k8s.io/decision-key": "p" } },
            "schedulerName": "portolan", "decisions": listed,
        });
        Said::by_slice(&serde_json::from_value(slice).unwrap())
    }

    fn slice_object() -> Object {
        Object::Slice("ns".to_owned(), "p-decision-0".to_owned())
    }

    #[test]
    fn two_kinds_that_are_written_one_after_the_other_are_never_added_up() {
        for slices_first in [true, false] {
            let mut diff = DecisionDiff::default();
            diff.apply(object("d1"), said(0, &[("a", 0), ("b", 0)]));
            diff.apply(slice_object(), slice(&["a", "b"]));
            assert_eq!(diff.settle(true)[0].clusters, Some(2));
            let mut numbers = Vec::new();
            for of_slices in [slices_first, !slices_first] {
                match of_slices {
                    true => diff.apply(slice_object(), slice(&["a", "c"])),
                    false => diff.apply(object("d1"), said(0, &[("a", 0), ("c", 0)])),
                }
                numbers.extend(diff.settle(false).iter().filter_map(|turn| turn.clusters));
            }
            assert_eq!(numbers, [2], "{slices_first}");
        }
    }

    #[test]
    fn an_empty_decision_that_is_just_being_made_does_not_hide_the_slices() {
        let mut diff = DecisionDiff::default();
        diff.apply(slice_object(), slice(&["a", "b"]));
        assert_eq!(changes(&mut diff), ["+a", "+b"]);
        for listed in [&[][..], &[("a", 0)], &[("a", 0), ("b", 0)]] {
            diff.apply(object("d1"), said(0, listed));
            assert_eq!(diff.settle(false), []);
        }
        diff.remove(&slice_object());
        assert_eq!(diff.settle(false), []);
        diff.remove(&object("d1"));
        assert_eq!(changes(&mut diff), ["-a", "-b"]);
    }

    #[test]
    fn a_decision_that_is_empty_from_the_start_is_told_once() {
        let mut diff = DecisionDiff::default();
        diff.apply(object("d1"), said(0, &[]));
        let turns = diff.settle(true);
        assert_eq!((turns.len(), turns[0].clusters), (1, Some(0)));
        diff.apply(object("d1"), said(0, &[]));
        assert_eq!(diff.settle(true), []);
    }

    #[test]
    fn a_new_decision_that_stays_empty_is_told_and_one_that_is_filled_is_not() {
        let mut diff = DecisionDiff::default();
        diff.apply(object("d1"), said(0, &[]));
        assert_eq!((diff.settle(false), diff.has_empty()), (Vec::new(), true));
        let turns = diff.still_empty();
        assert_eq!((turns.len(), turns[0].clusters), (1, Some(0)));
        assert!(!diff.has_empty());
        diff.remove(&object("d1"));
        let gone = diff.settle(false);
        assert_eq!((gone.len(), gone[0].clusters), (1, None));

        diff.apply(object("d1"), said(0, &[]));
        diff.settle(false);
        diff.apply(object("d1"), said(0, &[("a", 1)]));
        assert_eq!(changes(&mut diff), ["+a"]);
        assert_eq!(diff.still_empty(), []);
    }
}
