//! Whose a placement is, and which decision objects are whose.

use portolan_api::cluster::{
    DecisionStrategy, GroupAssignment, GroupStrategy, Placement, PlacementDecision, SortBy, UpdateStrategy,
    UpdateStrategyType,
};
use portolan_api::labels::{SCHEDULER_NAME, multicluster as kep, ocm, portolan};
use portolan_api::{FieldError, duration, multicluster, shorten, spelling};

use super::PlacementKey;
use crate::layout::label;

/// What the CRD fills in.
const DEFAULT_SCORE_RATE_LIMIT: &str = "1m";

/// Whether a placement is handed to Portolan by name. OCM's own controllers keep away from one that also has the
/// annotation that disables them.
pub fn is_handed_over(placement: &Placement) -> bool {
    annotation(placement, portolan::SCHEDULER).is_some_and(|value| value == SCHEDULER_NAME)
}

/// Whether Portolan schedules a placement: it is not being deleted, and not kept from every scheduler without being
/// handed to this one, nor handed to another.
pub fn is_ours(placement: &Placement) -> bool {
    why_not_ours(placement).is_none()
}

/// Why nothing is decided for a placement, if it is not [`is_ours`].
pub fn why_not_ours(placement: &Placement) -> Option<String> {
    if placement.metadata.deletion_timestamp.is_some() {
        return Some("it is being deleted".to_owned());
    }
    let other = annotation(placement, portolan::SCHEDULER).filter(|value| *value != SCHEDULER_NAME);
    if let Some(other) = other {
        return Some(format!(
            "the annotation {} = {other:?} hands it to another scheduler; accepted for Portolan: {SCHEDULER_NAME}",
            portolan::SCHEDULER
        ));
    }
    let disabled = annotation(placement, ocm::SCHEDULING_DISABLE).is_some_and(|value| value == "true");
    (disabled && !is_handed_over(placement)).then(|| {
        format!(
            "the annotation {} hands it to another scheduler; {} = {SCHEDULER_NAME} hands it to Portolan",
            ocm::SCHEDULING_DISABLE,
            portolan::SCHEDULER
        )
    })
}

/// Whether an OCM decision is the placement's: by namespace, which is given, and label.
pub fn owns_decision(key: &PlacementKey, decision: &PlacementDecision) -> bool {
    label(&decision.metadata, ocm::PLACEMENT) == Some(&*shorten::label_value(&key.name))
}

/// What the names of all objects of a placement's decision begin with. Objects of others that begin with it stand on
/// names that the placement may need.
pub fn decision_name_prefix(key: &PlacementKey) -> String {
    let prefix = format!("{}-decision-", key.name);
    shorten::object_name_prefix(&prefix).to_owned()
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
/// them silently. A field that says something else than its default wins over its annotation. One that has its default
/// does not: a server with the field fills it in, and a placement must not change its mind because the hub got a newer
/// CRD. A value that is not known is returned as a problem, and the field stays as it is.
pub fn with_stand_ins(placement: &mut Placement) -> Vec<FieldError> {
    let mut problems = Vec::new();
    let value = |placement: &Placement, key: &str| annotation(placement, key).map(str::to_owned);
    let spec = &placement.spec;
    let update = spec
        .decision_strategy
        .as_ref()
        .and_then(|strategy| strategy.update_strategy.as_ref());
    if is_default(update.and_then(|update| update.r#type))
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
    let groups = group(placement);
    if is_default(groups.as_ref().and_then(|group| group.assignment))
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
        // Without a strategy there is one group, and nothing to assign.
        && let Some(group) = groups
    {
        strategy(placement).group_strategy = Some(GroupStrategy {
            assignment: Some(known),
            ..group
        });
    }
    if is_default(placement.spec.sort_by)
        && let Some(text) = value(placement, portolan::SORT_BY)
    {
        let words = [
            ("ClusterName", SortBy::ClusterName),
            ("Name", SortBy::ClusterName),
            ("Score", SortBy::Score),
        ];
        let known = word(portolan::SORT_BY, &text, &words, &mut problems);
        placement.spec.sort_by = known.or(placement.spec.sort_by);
    }
    let limit = placement.spec.score_rate_limit.as_deref();
    if limit.is_none_or(|limit| limit == DEFAULT_SCORE_RATE_LIMIT)
        && let Some(text) = value(placement, portolan::SCORE_RATE_LIMIT)
    {
        // Explicitly empty is no limit.
        match duration::parse_simple(&text) {
            _ if text.is_empty() => placement.spec.score_rate_limit = Some(text),
            Ok(_) => placement.spec.score_rate_limit = Some(text),
            Err(error) => problems.push(FieldError::of_text(
                annotation_path(portolan::SCORE_RATE_LIMIT),
                &text,
                error.to_string(),
                spelling::accepted_duration(&text, duration::SIMPLE_DURATION),
            )),
        }
    }
    problems
}

fn annotation_path(key: &str) -> String {
    format!("metadata.annotations[{key}]")
}

fn is_default<T: Default + PartialEq>(field: Option<T>) -> bool {
    field.is_none_or(|field| field == T::default())
}

fn strategy(placement: &mut Placement) -> &mut DecisionStrategy {
    placement.spec.decision_strategy.get_or_insert_default()
}

fn word<T: Copy>(key: &str, text: &str, words: &[(&str, T)], problems: &mut Vec<FieldError>) -> Option<T> {
    let found = words
        .iter()
        .find(|(word, _)| *word == text)
        .map(|(_, value)| *value);
    if found.is_none() {
        let accepted: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let accepted = match accepted.split_last() {
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => String::new(),
        };
        problems.push(FieldError::of_text(annotation_path(key), text, "", accepted));
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stood_in(spec: serde_json::Value, annotations: serde_json::Value) -> (Placement, Vec<FieldError>) {
        let mut placement: Placement = serde_json::from_value(json!({
            "metadata": {"name": "p", "namespace": "n", "annotations": annotations}, "spec": spec,
        }))
        .unwrap();
        let problems = with_stand_ins(&mut placement);
        (placement, problems)
    }

    #[test]
    fn an_annotation_counts_unless_the_field_was_set_by_its_author() {
        let annotations = json!({
            portolan::SORT_BY: "Score", portolan::UPDATE_STRATEGY: "RollingUpdate", portolan::SCORE_RATE_LIMIT: "5m",
            portolan::GROUP_ASSIGNMENT: "Sticky",
        });
        let (missing, _) = stood_in(
            json!({"decisionStrategy": {"groupStrategy": {}}}),
            annotations.clone(),
        );
        let defaults = json!({
            "sortBy": "ClusterName", "scoreRateLimit": "1m",
            "decisionStrategy": {"updateStrategy": {"type": "All"}, "groupStrategy": {"assignment": "ByName"}},
        });
        let (filled_in, problems) = stood_in(defaults, annotations);
        assert!(problems.is_empty());
        assert_eq!(missing.spec, filled_in.spec);
        assert_eq!(filled_in.spec.sort_by, Some(SortBy::Score));
        assert_eq!(filled_in.spec.score_rate_limit.as_deref(), Some("5m"));
        let annotations = json!({portolan::SORT_BY: "ClusterName", portolan::SCORE_RATE_LIMIT: "5m"});
        let (set, _) = stood_in(json!({"sortBy": "Score", "scoreRateLimit": "2h"}), annotations);
        assert_eq!(set.spec.sort_by, Some(SortBy::Score));
        assert_eq!(set.spec.score_rate_limit.as_deref(), Some("2h"));
    }

    #[test]
    fn a_word_that_is_not_known_is_a_problem_and_the_field_stays() {
        let (placement, problems) = stood_in(
            json!({"sortBy": "ClusterName"}),
            json!({portolan::SORT_BY: "Size"}),
        );
        assert_eq!(placement.spec.sort_by, Some(SortBy::ClusterName));
        assert_eq!(
            problems[0].statement(),
            "metadata.annotations[portolan.dev/sort-by] is \"Size\"; use ClusterName, Name or Score"
        );
    }

    #[test]
    fn every_annotation_is_checked_also_where_it_would_have_no_effect() {
        let annotations = json!({
            portolan::SORT_BY: "score", portolan::UPDATE_STRATEGY: "rolling", portolan::SCORE_RATE_LIMIT: "5 min",
            portolan::GROUP_ASSIGNMENT: "sticky",
        });
        let (placement, problems) = stood_in(json!({}), annotations);
        let told: Vec<(&str, &str)> = problems
            .iter()
            .map(|problem| (problem.path.as_str(), problem.value.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                (
                    "metadata.annotations[portolan.dev/update-strategy]",
                    "\"rolling\""
                ),
                (
                    "metadata.annotations[portolan.dev/group-assignment]",
                    "\"sticky\""
                ),
                ("metadata.annotations[portolan.dev/sort-by]", "\"score\""),
                ("metadata.annotations[portolan.dev/score-rate-limit]", "\"5 min\""),
            ]
        );
        assert!(problems.iter().all(|problem| !problem.accepted.is_empty()));
        assert_eq!(placement.spec.score_rate_limit, None);
    }
}
