//! Selection: rank the survivors, apply spread constraints, keep `numberOfClusters`.

pub(crate) mod spread;

use jiff::Timestamp;

use crate::filter::taint_toleration::{self, Toleration, earliest};
use crate::fleet::{ClusterId, Clusters, Fleet};
use spread::{Constraint, Skipped};

/// Sort key of a cluster: fewest untolerated PreferNoSelect taints, then highest total, then name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    avoided: u32,
    /// Highest total first.
    total: std::cmp::Reverse<i64>,
    name: u32,
}

/// A cluster with its place in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ranked {
    pub(crate) rank: Rank,
    pub(crate) cluster: ClusterId,
}

impl Ranked {
    pub(crate) fn total(&self) -> i64 {
        self.rank.total.0
    }

    /// Position of the cluster in name order.
    pub(crate) fn name_rank(&self) -> u32 {
        self.rank.name
    }

    /// Number of PreferNoSelect taints that count against the cluster.
    pub(crate) fn avoided(&self) -> u32 {
        self.rank.avoided
    }
}

/// Ranks of the survivors in the order of `clusters`, and the first moment at which one changes by itself.
pub(crate) fn ranks(
    fleet: &Fleet,
    tolerations: &[Toleration],
    clusters: &[ClusterId],
    totals: &[i64],
    now: Timestamp,
) -> (Vec<Ranked>, Option<Timestamp>) {
    let mut next = None;
    let mut avoided = |cluster: ClusterId| -> u32 {
        if !fleet.avoided().contains(cluster) {
            return 0;
        }
        let taints = fleet
            .cluster(cluster)
            .map(|cluster| &*cluster.taints)
            .unwrap_or_default();
        let mut count = 0;
        for taint in taints {
            let (avoided, until) = taint_toleration::avoided(taint, tolerations, now);
            count += u32::from(avoided);
            next = earliest(next, until);
        }
        count
    };
    let ranked = clusters
        .iter()
        .zip(totals)
        .map(|(&cluster, &total)| Ranked {
            rank: Rank {
                avoided: avoided(cluster),
                total: std::cmp::Reverse(total),
                name: fleet.rank(cluster),
            },
            cluster,
        })
        .collect();
    (ranked, next)
}

/// What was selected, and why clusters that were good enough were left out.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    pub(crate) selected: Clusters,
    pub(crate) unscheduled: usize,
    /// Clusters that a spread constraint kept out, with the constraint.
    pub(crate) skipped: Vec<Skipped>,
}

pub(crate) fn select(
    fleet: &Fleet,
    ranked: &[Ranked],
    survivors: &Clusters,
    constraints: &[Constraint],
    number_of_clusters: Option<usize>,
) -> Selection {
    let wanted = number_of_clusters.unwrap_or(ranked.len());
    let mut selection = if constraints.is_empty() {
        Selection {
            selected: best(ranked, survivors, wanted),
            ..Selection::default()
        }
    } else {
        spread::select(fleet, ranked, constraints, wanted)
    };
    if let Some(number) = number_of_clusters {
        selection.unscheduled = number.saturating_sub(selection.selected.len());
    }
    selection
}

fn best(ranked: &[Ranked], survivors: &Clusters, wanted: usize) -> Clusters {
    if wanted >= ranked.len() {
        return survivors.clone();
    }
    if wanted == 0 {
        return Clusters::default();
    }
    // The order inside the chosen part is not needed here, so a partition does instead of a sort.
    let mut ranked = ranked.to_vec();
    let (before, last, _) = ranked.select_nth_unstable(wanted - 1);
    before
        .iter()
        .chain(std::iter::once(&*last))
        .map(|ranked| ranked.cluster)
        .collect()
}
