//! The result of evaluating one placement, with enough left in it to explain every cluster.

use std::sync::Arc;

use jiff::Timestamp;

use crate::filter::predicate::Coverage;
use crate::fleet::{ClusterId, Clusters, Eligibility, Fleet, Spending};
use crate::group::ClusterGroup;
use crate::model::{Chosen, Group};
use crate::prioritize::Prioritizer;
use crate::select::{Ranked, spread::Skipped};
use crate::status::Status;
use crate::warning::Warning;

/// What one placement decided, stage by stage. Sets hold ids: names are looked up when somebody reads them.
#[derive(Debug, Default)]
#[must_use = "an outcome that nobody reads decided nothing"]
pub struct Outcome {
    /// How the evaluation ended.
    pub status: Status,
    /// Sets the placement could choose from.
    pub eligibility: Eligibility,
    /// Clusters of those sets that are not being deleted.
    pub candidates: Clusters,
    /// Candidates that matched a predicate.
    pub matched: Clusters,
    /// Of those, the ones whose taints are tolerated: everything that was scored.
    pub survivors: Clusters,
    /// Scores by prioritizer.
    pub prioritizers: Vec<PrioritizerScores>,
    pub(crate) ranked: Vec<Ranked>,
    /// The clusters chosen.
    pub selected: Clusters,
    /// How many clusters are missing to `numberOfClusters`; 0 when that is unset.
    pub unscheduled: usize,
    pub(crate) skipped: Vec<Skipped>,
    /// The chosen clusters in decision groups: at least one group, which may be empty. None at all when the last
    /// decision is kept.
    pub groups: Vec<ClusterGroup>,
    /// When the outcome changes by itself: a toleration or a score runs out.
    pub requeue_at: Option<Timestamp>,
    /// What in the placement hardly does what it is meant to, in order.
    pub warnings: Vec<Warning>,
    /// How the expressions of each predicate that has some went.
    pub(crate) coverage: Vec<Coverage>,
    /// What the expressions cost over all clusters that they were evaluated for.
    pub(crate) spending: Spending,
}

/// The scores of one prioritizer, in the order of `Outcome::scored`.
#[derive(Debug)]
pub struct PrioritizerScores {
    pub(crate) prioritizer: Arc<dyn Prioritizer>,
    /// Weight, never 0.
    pub weight: i64,
    /// One score a survivor.
    pub scores: Vec<i64>,
    /// Survivors the prioritizer had no data about. They count as 0.
    pub(crate) missing: Clusters,
}

impl PrioritizerScores {
    /// The scores that were really given, by cluster of `outcome`.
    pub fn given<'a>(&'a self, outcome: &'a Outcome) -> impl Iterator<Item = (ClusterId, i64)> + 'a {
        let scored = outcome
            .scored()
            .map(|(cluster, _)| cluster)
            .zip(self.scores.iter().copied());
        scored.filter(|(cluster, _)| !self.missing.contains(*cluster))
    }

    /// Name of the prioritizer, such as `Balance` or `AddOn/<resource>/<score>`.
    pub fn name(&self) -> String {
        self.prioritizer.name().into_owned()
    }
}

impl Outcome {
    /// What the expressions cost as a part of what they may, in units of which the whole has so many.
    pub fn spent_of(&self, whole: u64) -> u64 {
        self.spending.share_of(whole)
    }

    /// How many scores were computed: one for each prioritizer and cluster that passed the filters.
    pub fn number_of_scores(&self) -> usize {
        self.prioritizers.len().saturating_mul(self.ranked.len())
    }

    /// Whether Steady will score a selected cluster higher once this decision is stored.
    pub(crate) fn makes_steady(&self) -> bool {
        let mut scored = self.prioritizers.iter();
        let steady = scored.find(|scored| scored.prioritizer.prefers_selected());
        steady.is_some_and(|steady| {
            let mut clusters = self.ranked.iter().zip(&steady.scores);
            clusters.any(|(ranked, score)| *score == 0 && self.selected.contains(ranked.cluster))
        })
    }

    /// The scored clusters with their totals, in the order of `PrioritizerScores::scores`.
    pub fn scored(&self) -> impl Iterator<Item = (ClusterId, i64)> + '_ {
        self.ranked.iter().map(|ranked| (ranked.cluster, ranked.total()))
    }

    /// Weighted total of a survivor.
    pub fn total(&self, cluster: ClusterId) -> Option<i64> {
        Some(self.ranked[self.position(cluster)?].total())
    }

    /// Place of a survivor in `scored`, which is in id order.
    pub(crate) fn position(&self, cluster: ClusterId) -> Option<usize> {
        self.ranked
            .binary_search_by_key(&cluster, |ranked| ranked.cluster)
            .ok()
    }

    /// Every survivor from best to worst.
    pub(crate) fn ranking(&self) -> Vec<Ranked> {
        let mut ranking = self.ranked.clone();
        ranking.sort_unstable();
        ranking
    }

    /// Every cluster that passed the filters, from best to worst: its place in this list is its rank.
    pub fn by_rank(&self) -> Vec<ClusterId> {
        self.ranking().into_iter().map(|ranked| ranked.cluster).collect()
    }

    /// The chosen clusters from best to worst.
    pub fn selected_by_rank(&self) -> Vec<ClusterId> {
        let mut selected: Vec<Ranked> = self
            .ranked
            .iter()
            .filter(|ranked| self.selected.contains(ranked.cluster))
            .copied()
            .collect();
        selected.sort_unstable();
        selected.into_iter().map(|ranked| ranked.cluster).collect()
    }

    /// The groups by name, as layout takes them.
    pub fn named_groups(&self, fleet: &Fleet) -> Vec<Group> {
        let chosen = |cluster: &ClusterId| Chosen {
            name: Arc::clone(fleet.name(*cluster)),
            score: self.total(*cluster).unwrap_or(0),
            avoided: self
                .position(*cluster)
                .map_or(0, |position| self.ranked[position].avoided()),
        };
        let group = |group: &ClusterGroup| Group {
            name: group.name.to_string(),
            clusters: group.clusters.iter().map(chosen).collect(),
        };
        self.groups.iter().map(group).collect()
    }
}
