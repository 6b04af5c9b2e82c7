//! What people are told in Events. The words and reasons are OCM's where it has them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use portolan_api::cluster::{Placement, PlacementStatus};
use portolan_api::labels::conditions as types;
use portolan_engine::conditions::DECISION_KEPT;
use portolan_engine::decide::Decision;
use portolan_engine::placement::PlacementKey;
use portolan_engine::plan::{Plan, Write};
use portolan_engine::status::Code;

use super::status::{DECISION_CONTESTED, DUPLICATE_MEMBER};
use crate::events::{EventDraft, EventRegarding};

/// Longest note that the API accepts.
const LONGEST: usize = 1000;

/// The notes of one step. Where OCM decisions are written they are what is spoken of, else the slices.
pub(super) fn of(
    key: &PlacementKey,
    placement: &Placement,
    decision: &Decision,
    status: Option<&PlacementStatus>,
    decisions: &Plan,
    slices: &Plan,
) -> Vec<EventDraft> {
    let spoken = if decisions.is_empty() { slices } else { decisions };
    let mut notes: Vec<EventDraft> = Vec::new();
    for write in spoken.writes() {
        let note = match write {
            Write::CreateDecision(object) => created(key, EventRegarding::Decision(name(&object.metadata))),
            Write::CreateSlice(slice) => created(key, EventRegarding::Slice(name(&slice.metadata))),
            Write::DecisionStatus { object, .. } => {
                updated(key, decision, EventRegarding::Decision(object.name.clone()))
            }
            Write::ReplaceSlice(slice) => {
                updated(key, decision, EventRegarding::Slice(name(&slice.metadata)))
            }
            Write::DeleteDecision(object) => deleted(key, EventRegarding::Decision(object.name.clone())),
            Write::DeleteSlice(object) => deleted(key, EventRegarding::Slice(object.name.clone())),
            Write::DecisionMetadata(_) | Write::PlacementStatus(_) => continue,
        };
        // An object that is created, filled and grown is spoken of once.
        if !notes.iter().any(|known| known.object == note.object) {
            notes.push(note);
        }
    }
    notes.extend(
        status
            .into_iter()
            .flat_map(|status| transitions(placement, status)),
    );
    notes
}

fn name(metadata: &ObjectMeta) -> String {
    metadata.name.clone().unwrap_or_default()
}

fn created(key: &PlacementKey, object: EventRegarding) -> EventDraft {
    note(key, "DecisionCreate", "DecisionCreated", object)
}

fn deleted(key: &PlacementKey, object: EventRegarding) -> EventDraft {
    note(key, "DecisionDelete", "DecisionDeleted", object)
}

fn note(
    key: &PlacementKey,
    reason: &'static str,
    action: &'static str,
    object: EventRegarding,
) -> EventDraft {
    let (EventRegarding::Decision(name) | EventRegarding::Slice(name)) = &object;
    let verb = action.trim_start_matches("Decision").to_lowercase();
    EventDraft {
        warning: false,
        reason,
        action,
        message: format!(
            "Decision {name} is {verb} with placement {} in namespace {}",
            key.name, key.namespace
        ),
        object: Some(object),
    }
}

fn updated(key: &PlacementKey, decision: &Decision, object: EventRegarding) -> EventDraft {
    let mut note = note(key, "DecisionUpdate", "DecisionUpdated", object);
    let status = &decision.outcome.status;
    if status.code == Code::Warning {
        note.warning = true;
        note.message = format!("{}: {} in plugin {}", note.message, status.message, status.plugin);
        note.message = note.message.chars().take(LONGEST).collect();
    }
    note
}

/// Conditions that became true and that someone has to do something about.
pub(super) fn transitions(placement: &Placement, status: &PlacementStatus) -> Vec<EventDraft> {
    let told = [
        (types::PLACEMENT_MISCONFIGURED, "PlacementMisconfigured"),
        (types::PLACEMENT_WARNING, "PlacementWarning"),
        (types::DECISION_KEY_CONFLICT, "DecisionKeyConflict"),
        (DECISION_KEPT, "DecisionHeldBack"),
        (DECISION_CONTESTED, "DecisionContested"),
        (DUPLICATE_MEMBER, "DuplicateMember"),
    ];
    let is_true = |conditions: &[Condition], type_: &str| {
        let mut conditions = conditions.iter();
        conditions.any(|condition| condition.type_ == type_ && condition.status == "True")
    };
    let before = placement
        .status
        .as_ref()
        .map(|status| status.conditions.as_slice());
    let before = before.unwrap_or_default();
    let news = told
        .iter()
        .filter(|(type_, _)| is_true(&status.conditions, type_) && !is_true(before, type_));
    news.filter_map(|(type_, reason)| {
        let condition = status
            .conditions
            .iter()
            .find(|condition| condition.type_ == *type_)?;
        Some(EventDraft {
            warning: true,
            reason,
            action: "Evaluated",
            message: condition.message.chars().take(LONGEST).collect(),
            object: None,
        })
    })
    .collect()
}
