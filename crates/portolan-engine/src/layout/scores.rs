//! When scores are published, and when a refresh of nothing but scores has to wait.
//!
//! The limit only ever delays. A cluster that joins, leaves or changes groups is never held back.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::{
    cluster::{self, Placement, content_hash},
    labels::{ocm, portolan},
    multicluster,
};

use super::{
    identity::label,
    observed::{ObservedSlices, cluster_name},
    ocm::group_labels,
    slices::same_labels,
};

/// What `scoreRateLimit` is when the placement does not say, as in the CRD.
const DEFAULT_LIMIT: SignedDuration = SignedDuration::from_mins(1);

/// When decisions carry scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PublishScores {
    /// Always.
    #[default]
    Always,
    /// Only for placements that sort by score.
    Sorted,
    /// Never.
    Never,
}

/// How scores are published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScorePolicy {
    /// When decisions carry scores.
    pub publish: PublishScores,
    /// Whether the server has a field for them in OCM decisions.
    pub in_decisions: bool,
    /// The time of the evaluation.
    pub now: Timestamp,
}

impl ScorePolicy {
    pub(super) fn publishes(&self, ordered: bool) -> bool {
        match self.publish {
            PublishScores::Always => true,
            PublishScores::Sorted => ordered,
            PublishScores::Never => false,
        }
    }

    /// When scores that are written now may be written again. A limit beyond the calendar never ends.
    pub(crate) fn next_refresh(&self, placement: &Placement) -> Timestamp {
        let limit = limit_of(placement).unwrap_or_default();
        self.now.checked_add(limit).unwrap_or(Timestamp::MAX)
    }

    /// When the rate limit of `placement` ends, if it holds now.
    pub(super) fn limited_until(&self, placement: &Placement) -> Option<Timestamp> {
        let last = placement.status.as_ref()?.last_score_update_time.as_ref()?.0;
        let limit = limit_of(placement)?;
        // The clock was set back since. A limit that counted from a time to come would hold for longer than it says.
        if last > self.now {
            return None;
        }
        // A limit beyond the calendar holds for good.
        let end = last.checked_add(limit).unwrap_or(Timestamp::MAX);
        (self.now <= end).then_some(end)
    }
}

fn limit_of(placement: &Placement) -> Option<SignedDuration> {
    match placement.spec.score_rate_limit.as_deref() {
        None => Some(DEFAULT_LIMIT),
        // Explicitly empty is how OCM spells "no limit".
        Some("") => None,
        // Validation reports a value of another form; until it is mended the default holds.
        Some(text) => Some(parse_limit(text).unwrap_or(DEFAULT_LIMIT)),
    }
}

/// `^[0-9]+[hms]$`.
fn parse_limit(text: &str) -> Option<SignedDuration> {
    let unit = match text.bytes().last()? {
        b'h' => 3600,
        b'm' => 60,
        b's' => 1,
        _ => return None,
    };
    let digits = &text[..text.len() - 1];
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // More digits than fit are a very long time, not a mistake.
    Some(SignedDuration::from_secs(
        digits.parse::<i64>().unwrap_or(i64::MAX).saturating_mul(unit),
    ))
}

/// Whether OCM objects differ in nothing but scores and the order of clusters inside a group.
pub(super) fn only_scores_differ_in_decisions(
    observed: &BTreeMap<&str, &cluster::PlacementDecision>,
    decisions: &[cluster::PlacementDecision],
) -> bool {
    let same_objects = observed.len() == decisions.len()
        && decisions.iter().all(|object| {
            let name = object.metadata.name.as_deref().unwrap_or_default();
            observed.get(name).is_some_and(|observed| is_settled(observed))
        });
    let members = |object: &cluster::PlacementDecision| {
        let (group, name) = group_labels(&object.metadata);
        let group = (group.to_owned(), name.to_owned());
        let entries = object.status.iter().flat_map(|status| &status.decisions);
        let entry = |entry: &cluster::ClusterDecision| {
            (group.clone(), entry.cluster_name.clone(), entry.reason.clone())
        };
        entries.map(entry).collect::<Vec<_>>()
    };
    same_objects
        && multiset(observed.values().copied().flat_map(members))
            == multiset(decisions.iter().flat_map(members))
}

/// `object` with the entries that are there already: labels, owner and annotations are mended without waiting.
pub(super) fn hold(
    object: &cluster::PlacementDecision,
    observed: Option<&cluster::PlacementDecision>,
) -> cluster::PlacementDecision {
    let Some(observed) = observed else {
        return object.clone();
    };
    let mut held = cluster::PlacementDecision {
        metadata: object.metadata.clone(),
        status: observed.status.clone(),
    };
    let hash = hash_of(&held.metadata, observed);
    let annotations = held.metadata.annotations.get_or_insert_default();
    annotations.insert(portolan::CONTENT.to_owned(), hash);
    held
}

fn hash_of(metadata: &ObjectMeta, object: &cluster::PlacementDecision) -> String {
    let (index, _) = group_labels(metadata);
    let entries = object.status.iter().flat_map(|status| &status.decisions);
    content_hash(index, entries.map(|entry| entry.cluster_name.as_str()))
}

/// Whether labels and status of an OCM object belong together. Another writer's object does not say, and is taken as
/// it is.
fn is_settled(object: &cluster::PlacementDecision) -> bool {
    let annotations = object.metadata.annotations.as_ref();
    let stamped = annotations.and_then(|all| all.get(portolan::CONTENT));
    stamped.is_none_or(|hash| *hash == hash_of(&object.metadata, object))
}

/// Whether slices differ in nothing but scores and the order of clusters inside a group.
pub(super) fn only_scores_differ_in_slices(
    prior: &ObservedSlices<'_>,
    slices: &[multicluster::PlacementDecision],
) -> bool {
    let same_objects = prior.is_at_rest()
        && prior.slices.len() == slices.len()
        && prior.slices.values().zip(slices).all(|(observed, slice)| {
            same_labels(observed.object, slice)
                && observed.object.metadata.owner_references == slice.metadata.owner_references
        });
    let members = |slice: &multicluster::PlacementDecision| {
        let group = label(&slice.metadata, ocm::DECISION_GROUP_INDEX).map(str::to_owned);
        let namespace = |entry: &multicluster::ClusterDecision| {
            entry
                .cluster_profile_ref
                .as_ref()
                .and_then(|profile| profile.namespace.clone())
        };
        let entries = slice.decisions.iter().map(|entry| {
            (
                group.clone(),
                namespace(entry),
                cluster_name(entry).map(str::to_owned),
                entry.reason.clone(),
            )
        });
        entries.collect::<Vec<_>>()
    };
    same_objects
        && multiset(prior.slices.values().flat_map(|slice| members(slice.object)))
            == multiset(slices.iter().flat_map(members))
}

fn multiset<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort();
    items
}
