//! Whose a placement is, and which decision objects are whose.

use portolan_api::cluster::{
    DecisionStrategy, GroupAssignment, GroupStrategy, Placement, PlacementDecision, SortBy, UpdateStrategy,
    UpdateStrategyType,
};
use portolan_api::labels::{SCHEDULER_NAME, multicluster as kep, ocm, portolan};
use portolan_api::{multicluster, shorten};

use super::PlacementKey;
use crate::layout::label;

/// Whether a placement is handed to Portolan by name. OCM's own controllers keep away from one that also has the
/// annotation that disables them.
pub fn is_handed_over(placement: &Placement) -> bool {
    annotation(placement, portolan::SCHEDULER).is_some_and(|value| value == SCHEDULER_NAME)
}

/// Whether Portolan schedules a placement: it is not being deleted, and not kept from every scheduler without being
/// handed to this one, nor handed to another.
pub fn is_ours(placement: &Placement) -> bool {
    let disabled = annotation(placement, ocm::SCHEDULING_DISABLE).is_some_and(|value| value == "true");
    let other = annotation(placement, portolan::SCHEDULER).is_some_and(|value| value != SCHEDULER_NAME);
    !other && (!disabled || is_handed_over(placement)) && placement.metadata.deletion_timestamp.is_none()
}

/// Whether an OCM decision is the placement's: by namespace, which is given, and label.
pub fn owns_decision(key: &PlacementKey, decision: &PlacementDecision) -> bool {
    label(&decision.metadata, ocm::PLACEMENT) == Some(&*shorten::label_value(&key.name))
}

/// Whether a slice is the placement's: by key and scheduler.
pub fn owns_slice(key: &PlacementKey, slice: &multicluster::PlacementDecision) -> bool {
    has_key(key, slice) && slice.scheduler_name.as_deref() == Some(SCHEDULER_NAME)
}

/// Whether a slice stands under the placement's decision key, whoever wrote it.
pub fn has_key(key: &PlacementKey, slice: &multicluster::PlacementDecision) -> bool {
    label(&slice.metadata, kep::DECISION_KEY) == Some(&*shorten::label_value(&key.name))
}

/// The placement with the settings that it carries as annotations, for a hub whose CRD lacks the fields and would drop
/// them silently. A field that is set wins over its annotation; a value that is not known is returned as a problem.
pub fn with_stand_ins(placement: &mut Placement) -> Vec<String> {
    let mut problems = Vec::new();
    let value = |placement: &Placement, key: &str| annotation(placement, key).map(str::to_owned);
    let spec = &placement.spec;
    let update = spec
        .decision_strategy
        .as_ref()
        .and_then(|strategy| strategy.update_strategy.as_ref());
    if update.and_then(|update| update.r#type).is_none()
        && let Some(text) = value(placement, portolan::UPDATE_STRATEGY)
        && let Some(known) = word(
            portolan::UPDATE_STRATEGY,
            &text,
            &[
                ("All", UpdateStrategyType::All),
                ("RollingUpdate", UpdateStrategyType::RollingUpdate),
            ],
            &mut problems,
        )
    {
        strategy(placement).update_strategy = Some(UpdateStrategy { r#type: Some(known) });
    }
    let group = |placement: &Placement| -> Option<GroupStrategy> {
        placement.spec.decision_strategy.as_ref()?.group_strategy.clone()
    };
    if let Some(group) = group(placement)
        && group.assignment.is_none()
        && let Some(text) = value(placement, portolan::GROUP_ASSIGNMENT)
        && let Some(known) = word(
            portolan::GROUP_ASSIGNMENT,
            &text,
            &[
                ("ByName", GroupAssignment::ByName),
                ("Sticky", GroupAssignment::Sticky),
            ],
            &mut problems,
        )
    {
        strategy(placement).group_strategy = Some(GroupStrategy {
            assignment: Some(known),
            ..group
        });
    }
    if placement.spec.sort_by.is_none()
        && let Some(text) = value(placement, portolan::SORT_BY)
    {
        let words = [
            ("ClusterName", SortBy::ClusterName),
            ("Name", SortBy::ClusterName),
            ("Score", SortBy::Score),
        ];
        placement.spec.sort_by = word(portolan::SORT_BY, &text, &words, &mut problems);
    }
    if placement.spec.score_rate_limit.is_none() {
        placement.spec.score_rate_limit = value(placement, portolan::SCORE_RATE_LIMIT);
    }
    problems
}

fn strategy(placement: &mut Placement) -> &mut DecisionStrategy {
    placement.spec.decision_strategy.get_or_insert_default()
}

fn word<T: Copy>(key: &str, text: &str, words: &[(&str, T)], problems: &mut Vec<String>) -> Option<T> {
    let found = words
        .iter()
        .find(|(word, _)| *word == text)
        .map(|(_, value)| *value);
    if found.is_none() {
        let accepted: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        problems.push(format!(
            "annotation {key} is {text:?}; accepted: {}",
            accepted.join(", ")
        ));
    }
    found
}

fn annotation<'a>(placement: &'a Placement, key: &str) -> Option<&'a str> {
    placement
        .metadata
        .annotations
        .as_ref()?
        .get(key)
        .map(String::as_str)
}
