//! How many placements have which conditions, kept up to date one placement at a time.

use std::collections::HashMap;

use portolan_engine::placement::PlacementKey;

use super::status::{self, Conditions};

/// The conditions of each placement, and how many placements have each of them.
#[derive(Debug)]
pub(super) struct ConditionCounts {
    of: HashMap<PlacementKey, Conditions>,
    /// For each type how many are true, and how many false.
    counts: Vec<[usize; 2]>,
}

impl Default for ConditionCounts {
    fn default() -> Self {
        ConditionCounts {
            of: HashMap::new(),
            counts: vec![[0; 2]; status::types().count()],
        }
    }
}

impl ConditionCounts {
    pub(super) fn insert(&mut self, key: PlacementKey, conditions: Conditions) {
        self.remove(&key);
        for (place, count) in self.counts.iter_mut().enumerate() {
            count[0] += usize::from(conditions.has(place, true));
            count[1] += usize::from(conditions.has(place, false));
        }
        self.of.insert(key, conditions);
    }

    pub(super) fn remove(&mut self, key: &PlacementKey) {
        let Some(conditions) = self.of.remove(key) else {
            return;
        };
        for (place, count) in self.counts.iter_mut().enumerate() {
            count[0] -= usize::from(conditions.has(place, true));
            count[1] -= usize::from(conditions.has(place, false));
        }
    }

    /// Each type with the number of placements of which it is true, and of which it is false.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&'static str, [usize; 2])> {
        status::types().zip(self.counts.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use portolan_api::cluster::PlacementStatus;
    use serde_json::json;

    use super::*;

    fn conditions(status: &str) -> Conditions {
        let status: PlacementStatus = serde_json::from_value(json!({"conditions": [{
            "type": "PlacementSatisfied", "status": status, "reason": "R", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]}))
        .unwrap();
        Conditions::of(Some(&status))
    }

    #[test]
    fn counts_follow_every_change_of_every_placement() {
        let mut counts = ConditionCounts::default();
        let of = |counts: &ConditionCounts| {
            let mut all = counts.counts();
            all.find(|(type_, _)| *type_ == "PlacementSatisfied").unwrap().1
        };
        let (a, b) = (PlacementKey::new("ns", "a"), PlacementKey::new("ns", "b"));
        counts.insert(a.clone(), conditions("True"));
        counts.insert(b.clone(), conditions("True"));
        assert_eq!(of(&counts), [2, 0]);
        counts.insert(a.clone(), conditions("False"));
        assert_eq!(of(&counts), [1, 1]);
        counts.remove(&b);
        counts.remove(&b);
        assert_eq!(of(&counts), [0, 1]);
    }
}
