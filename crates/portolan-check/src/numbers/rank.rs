//! Totals and order.

use std::collections::BTreeMap;

/// Sum of score × weight over the prioritizers in use. A weight of 0 switches one off.
pub fn total<'a>(scores: impl IntoIterator<Item = (&'a str, i64)>, weights: &BTreeMap<String, i64>) -> i64 {
    scores
        .into_iter()
        .map(|(name, score)| score * weights.get(name).copied().unwrap_or(0))
        .sum()
}

/// A candidate to be ranked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// The cluster.
    pub cluster: String,
    /// Its [`total`].
    pub total: i64,
    /// How many of its PreferNoSelect taints are not tolerated. OCM ignores them; Portolan ranks by them first.
    pub avoided: usize,
}

/// Candidates in rank order: fewest avoided taints, then highest total, then name in byte order. `limit` keeps the
/// first so many.
pub fn rank(mut candidates: Vec<Ranked>, limit: Option<usize>) -> Vec<Ranked> {
    candidates.sort_by(|a, b| {
        let by_taints = a.avoided.cmp(&b.avoided);
        by_taints
            .then(b.total.cmp(&a.total))
            .then_with(|| a.cluster.as_bytes().cmp(b.cluster.as_bytes()))
    });
    candidates.truncate(limit.unwrap_or(usize::MAX));
    candidates
}
