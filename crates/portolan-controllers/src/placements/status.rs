//! The status of a Placement: what was decided, with the times that only a writer knows.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use portolan_api::cluster::{Placement, PlacementStatus};
use portolan_api::conditions::{ConditionDraft, in_seconds};
use portolan_engine::conditions;
use portolan_engine::decide::Decision;

use crate::fields::{Field, MissingFields};

/// Condition: another writer keeps changing the decision, and we stopped.
pub(crate) const DECISION_CONTESTED: &str = "DecisionContested";

/// Condition: the decision is kept because what it depends on cannot be read.
pub(crate) const INPUT_UNREADABLE: &str = "InputUnreadable";

/// Condition: ClusterProfiles that the placement may choose stand for the same member cluster.
pub(crate) const DUPLICATE_MEMBER: &str = "DuplicateMember";

/// The condition types that are not the engine's.
const OWN_TYPES: [&str; 4] = [
    DECISION_CONTESTED,
    INPUT_UNREADABLE,
    conditions::ANNOTATION_REFUSED,
    DUPLICATE_MEMBER,
];

/// Every condition type that is written to placements.
pub(crate) fn types() -> impl Iterator<Item = &'static str> {
    conditions::TYPES.into_iter().chain(OWN_TYPES)
}

/// Which conditions of a placement are true and which are false, of [`types`] in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conditions {
    is_true: u16,
    is_false: u16,
}

impl Conditions {
    pub(crate) fn of(status: Option<&PlacementStatus>) -> Conditions {
        let mut conditions = Conditions::default();
        for condition in status.iter().flat_map(|status| &status.conditions) {
            let Some(place) = types().position(|type_| type_ == condition.type_) else {
                continue;
            };
            match condition.status.as_str() {
                "True" => conditions.is_true |= 1 << place,
                "False" => conditions.is_false |= 1 << place,
                _ => {}
            }
        }
        conditions
    }

    /// Whether the condition at a place of [`types`] has this status.
    pub(crate) fn has(self, place: usize, status: bool) -> bool {
        let bits = if status { self.is_true } else { self.is_false };
        bits & (1 << place) != 0
    }
}

/// The status to write for a decision. Conditions of other writers stay; ours that have nothing to say go.
pub(crate) fn of(
    placement: &Placement,
    decision: &Decision,
    more: &[conditions::Condition],
    writes_scores: bool,
    now: Timestamp,
) -> PlacementStatus {
    let observed = placement.status.as_ref();
    let said: Vec<&conditions::Condition> = decision.conditions.iter().chain(more).collect();
    let before = observed
        .map(|status| status.conditions.as_slice())
        .unwrap_or_default();
    PlacementStatus {
        conditions: merge(before, &said, placement.metadata.generation, now),
        last_score_update_time: match writes_scores {
            true => Some(in_seconds(now)),
            false => observed.and_then(|status| status.last_score_update_time.clone()),
        },
        ..decision.placement_status()
    }
}

/// The status without what the server would drop: it would be written again at every turn.
pub(crate) fn served(mut status: PlacementStatus, missing_fields: &MissingFields) -> PlacementStatus {
    if missing_fields.has(Field::DECISION_GROUPS) {
        status.decision_groups.clear();
    }
    if missing_fields.has(Field::LAST_SCORE_UPDATE) {
        status.last_score_update_time = None;
    }
    status
}

/// The status as it is, with one more condition.
pub(crate) fn with(placement: &Placement, said: conditions::Condition, now: Timestamp) -> PlacementStatus {
    let mut status = placement.status.clone().unwrap_or_default();
    let before = status
        .conditions
        .iter()
        .find(|condition| condition.type_ == said.type_);
    let condition = said_at(&said, before, placement.metadata.generation, now);
    status
        .conditions
        .retain(|condition| condition.type_ != said.type_);
    status.conditions.push(condition);
    status
}

fn merge(
    before: &[Condition],
    said: &[&conditions::Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let ours = |type_: &str| types().any(|ours| ours == type_);
    let find = |type_: &str| before.iter().find(|condition| condition.type_ == type_);
    let mut merged: Vec<Condition> = before
        .iter()
        .filter_map(|condition| {
            let said = said.iter().find(|said| said.type_ == condition.type_);
            match said {
                Some(said) => Some(said_at(said, Some(condition), generation, now)),
                None => (!ours(&condition.type_)).then(|| condition.clone()),
            }
        })
        .collect();
    merged.extend(
        said.iter()
            .filter(|said| find(&said.type_).is_none())
            .map(|said| said_at(said, None, generation, now)),
    );
    merged
}

fn said_at(
    said: &conditions::Condition,
    before: Option<&Condition>,
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let draft = ConditionDraft::new(&said.type_, &said.status, &said.reason, &said.message);
    draft.at(before, generation, now)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    fn condition(type_: &str, status: &str) -> Condition {
        Condition {
            type_: type_.into(),
            status: status.into(),
            reason: "R".into(),
            message: String::new(),
            observed_generation: Some(1),
            last_transition_time: Time(Timestamp::UNIX_EPOCH),
        }
    }

    fn said(type_: &str, status: bool) -> conditions::Condition {
        conditions::Condition::new(type_, status, "R", "")
    }

    #[test]
    fn times_change_with_the_status_only_and_conditions_of_others_stay() {
        let now = Timestamp::from_millisecond(9_500).unwrap();
        let before = [
            condition("PlacementSatisfied", "True"),
            condition("PlacementMisconfigured", "True"),
            condition("example.com/Reviewed", "True"),
            condition("DecisionKept", "True"),
        ];
        let said = [
            said("PlacementSatisfied", true),
            said("PlacementMisconfigured", false),
        ];
        let merged = merge(&before, &said.iter().collect::<Vec<_>>(), Some(2), now);
        let times: Vec<(&str, i64)> = merged
            .iter()
            .map(|condition| {
                (
                    condition.type_.as_str(),
                    condition.last_transition_time.0.as_second(),
                )
            })
            .collect();
        assert_eq!(
            times,
            [
                ("PlacementSatisfied", 0),
                ("PlacementMisconfigured", 9),
                ("example.com/Reviewed", 0)
            ]
        );
        assert_eq!(merged[0].observed_generation, Some(2));
        assert_eq!(merged[2].observed_generation, Some(1));
    }
}
