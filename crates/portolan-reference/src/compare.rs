//! An engine's outcome in the words of the plain evaluator, to compare the two.

use portolan_engine::fleet::{ClusterId, Clusters, Fleet};
use portolan_engine::outcome::Outcome;

use crate::PlainOutcome;

impl PlainOutcome {
    /// The same by name. Must be called before the fleet changes: ids are used again.
    pub fn of(outcome: &Outcome, fleet: &Fleet) -> PlainOutcome {
        let name = |cluster: ClusterId| fleet.name(cluster).to_string();
        let sorted = |clusters: &Clusters| {
            let mut names: Vec<String> = clusters.iter().map(name).collect();
            names.sort_unstable();
            names
        };
        let scored: Vec<ClusterId> = outcome.scored().map(|(cluster, _)| cluster).collect();
        let prioritizers = outcome.prioritizers.iter().map(|prioritizer| {
            let scores = scored
                .iter()
                .zip(&prioritizer.scores)
                .map(|(cluster, score)| (name(*cluster), *score));
            (prioritizer.name(), prioritizer.weight, scores.collect())
        });
        let groups = outcome.groups.iter();
        PlainOutcome {
            status: outcome.status.clone(),
            bound: outcome.eligibility.bound.clone(),
            eligible: outcome.eligibility.eligible.clone(),
            candidates: sorted(&outcome.candidates),
            matched: sorted(&outcome.matched),
            survivors: sorted(&outcome.survivors),
            prioritizers: prioritizers.collect(),
            totals: outcome
                .scored()
                .map(|(cluster, total)| (name(cluster), total))
                .collect(),
            selected: outcome.selected_by_rank().into_iter().map(name).collect(),
            unscheduled: outcome.unscheduled,
            groups: groups
                .map(|group| {
                    (
                        group.name.to_string(),
                        group.clusters.iter().copied().map(name).collect(),
                    )
                })
                .collect(),
            requeue_at: outcome.requeue_at,
            warnings: outcome.warnings.clone(),
        }
    }

    /// What users see of the outcome: the part that must stay true for a placement that is not evaluated again. The
    /// clusters that were considered and did not match are not part of it, but whether there was any is.
    pub fn visible(mut self) -> PlainOutcome {
        if self.status.keeps_last_decision() {
            self.matched.clear();
            self.survivors.clear();
        }
        let error = self.status.code == portolan_engine::status::Code::Error;
        self.candidates.truncate(usize::from(!error));
        self.candidates.iter_mut().for_each(String::clear);
        self.bound.truncate(1);
        self.bound.iter_mut().for_each(String::clear);
        self
    }
}
