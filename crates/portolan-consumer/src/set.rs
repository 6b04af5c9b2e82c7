//! A whole decision, put together from its objects.

use std::collections::{BTreeMap, BTreeSet};

use crate::choice::weighted;
use crate::{Chosen, Cluster, GroupKey, Problem, Revision};

/// A decision as a consumer acts on it: every cluster once, in the order that was decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionSet {
    /// The clusters. Empty means that the scheduler decided for none, which is not the same as no decision.
    pub chosen: Vec<Chosen>,
    /// The revision they are of, where the scheduler publishes revisions.
    pub revision: Option<Revision>,
    /// The scheduler, if it says who it is. Nothing depends on it.
    pub scheduler: Option<String>,
    /// The `placement-key`, if the decision is for a workload.
    pub placement_key: Option<String>,
    /// What could not be read in the slices.
    pub problems: Vec<Problem>,
}

impl DecisionSet {
    /// Whether the scheduler decided for no cluster.
    pub fn is_empty(&self) -> bool {
        self.chosen.is_empty()
    }

    /// How many clusters were decided for.
    pub fn len(&self) -> usize {
        self.chosen.len()
    }

    /// The clusters in order.
    pub fn clusters(&self) -> impl Iterator<Item = &Cluster> {
        self.chosen.iter().map(|chosen| &chosen.cluster)
    }

    /// What the decision says about a cluster.
    pub fn get(&self, cluster: &Cluster) -> Option<&Chosen> {
        self.chosen.iter().find(|chosen| chosen.cluster == *cluster)
    }

    /// The best `n`: by score where there are scores, ties and everything else in the decided order.
    pub fn top(&self, n: usize) -> Vec<&Chosen> {
        let mut best: Vec<&Chosen> = self.chosen.iter().collect();
        // Stable, and all are equal where no cluster has a score.
        best.sort_by_key(|chosen| std::cmp::Reverse(chosen.score.unwrap_or(0)));
        best.truncate(n);
        best
    }

    /// `n` clusters drawn at random, weighted by their scores, without putting any back. The same `draw` (the name of the
    /// workload, say) draws the same clusters; when a cluster comes or goes, the others drawn stay.
    ///
    /// Twice the score is twice as likely to be drawn first. A cluster with a score of 0 or less is drawn only when those
    /// above 0 are used up; where no cluster has a score, all are equally likely.
    pub fn draw(&self, n: usize, draw: &str) -> Vec<&Chosen> {
        weighted(&self.chosen, n, draw)
    }

    /// The clusters by decision group. Those in no group are one group, the first, if there are any.
    pub fn groups(&self) -> BTreeMap<Option<&GroupKey>, Vec<&Chosen>> {
        let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for chosen in &self.chosen {
            groups.entry(chosen.group.as_ref()).or_default().push(chosen);
        }
        groups
    }

    /// Looks every cluster up in an inventory. Those that are not in it are reported and keep nobody waiting.
    pub fn resolve<T>(&self, mut inventory: impl FnMut(&Cluster) -> Option<T>) -> Resolved<'_, T> {
        let mut resolved = Resolved {
            found: Vec::new(),
            missing: Vec::new(),
        };
        for chosen in &self.chosen {
            match inventory(&chosen.cluster) {
                Some(found) => resolved.found.push((chosen, found)),
                None => resolved.missing.push(&chosen.cluster),
            }
        }
        resolved
    }

    pub(crate) fn as_a_set(&self) -> BTreeSet<&Cluster> {
        self.clusters().collect()
    }
}

/// The clusters of a decision that an inventory has, and those that it does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved<'a, T> {
    /// Clusters with what the inventory has of them.
    pub found: Vec<(&'a Chosen, T)>,
    /// Clusters that the inventory does not have.
    pub missing: Vec<&'a Cluster>,
}
