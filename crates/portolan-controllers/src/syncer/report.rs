//! How it stands with a template, in its condition and in Events: on the template, and on the Placements behind its
//! decisions, which is the channel that the standard leaves to consumers.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use portolan_api::labels::conditions;

use super::key::{Target, TemplateKey};
use super::message::Write;
use super::template::Template;
use crate::events::EventDraft;
use crate::reconcile::{Failure, WantedCondition, with_condition};

/// Longest message that an Event accepts, with some room.
const LONGEST: usize = 1000;
/// How many clusters a message names before it only counts.
const NAMED: usize = 5;

/// How it stands with a template.
#[derive(Debug)]
pub(super) enum Outlook {
    /// Each chosen cluster has its work.
    Synced,
    /// No work can be made of the template.
    Invalid(String),
    /// Nothing is decided for the workload with this key.
    NoDecision(String),
    /// The decision is not in a state to act on.
    Waiting(String),
    /// Some clusters have no work, or an old one.
    Refused(Vec<String>),
}

impl Outlook {
    fn condition(&self, (_, name): &TemplateKey) -> WantedCondition {
        let (status, reason, message) = match self {
            Outlook::Synced => (
                "True",
                "Synced",
                format!("every chosen cluster has the work of {name}"),
            ),
            Outlook::Invalid(mistakes) => ("False", "InvalidTemplate", mistakes.clone()),
            Outlook::NoDecision(key) => (
                "False",
                "NoDecision",
                format!("no PlacementDecision in this namespace has the placement-key {key:?}"),
            ),
            Outlook::Waiting(why) => (
                "False",
                "DecisionIncomplete",
                format!("works stay as they are: {why}"),
            ),
            Outlook::Refused(clusters) => ("False", "ClustersRefused", listed(clusters)),
        };
        WantedCondition {
            type_: conditions::SYNCED,
            status,
            reason,
            message: message.chars().take(LONGEST).collect(),
        }
    }
}

/// What is to be written into the template and told, if it does not say so already.
pub(super) fn status(
    key: &TemplateKey,
    template: &Template,
    outlook: &Outlook,
    placements: &[&ObjectReference],
    now: Timestamp,
) -> Option<Write> {
    let wanted = outlook.condition(key);
    let conditions = with_condition(&template.conditions, &wanted, now)?;
    let note = EventDraft {
        warning: wanted.status != "True",
        reason: match outlook {
            Outlook::Synced => "WorkSynced",
            Outlook::NoDecision(_) | Outlook::Waiting(_) => "WorkWaiting",
            Outlook::Invalid(_) | Outlook::Refused(_) => "WorkRefused",
        },
        action: "SyncWork",
        message: format!("Work {}/{}: {}", key.0, key.1, wanted.message)
            .chars()
            .take(LONGEST)
            .collect(),
        object: None,
    };
    let regarding = std::iter::once(&template.reference).chain(placements.iter().copied());
    Some(Write::Status {
        template: key.clone(),
        version: template.version.clone(),
        conditions,
        notes: regarding.map(|object| (object.clone(), note.clone())).collect(),
    })
}

/// What people are told about a failure that does not pass by itself.
pub(super) fn failure(target: &Target, failure: Failure) -> Option<String> {
    let cluster = &target.cluster;
    match failure {
        Failure::Missing => Some(format!(
            "there is no namespace {cluster:?} for the works of the cluster; create it, or let the cluster join"
        )),
        Failure::Conflict => Some(format!(
            "in namespace {cluster:?} a Work that is not Portolan's has the name of this one"
        )),
        Failure::Forbidden => Some(format!(
            "the server does not allow works in namespace {cluster:?}"
        )),
        Failure::Invalid => Some(format!("the server refuses the work in namespace {cluster:?}")),
        Failure::Transient => None,
    }
}

fn listed(clusters: &[String]) -> String {
    let named = clusters
        .iter()
        .take(NAMED)
        .cloned()
        .collect::<Vec<_>>()
        .join("; ");
    match clusters.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}
