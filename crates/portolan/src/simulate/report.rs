//! The answer of `simulate`. Field names and order are a contract: `docs/simulate.md` describes them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use portolan_api::cluster::{DecisionGroupStatus, PlacementDecision};
use portolan_api::labels::conditions::{DECISION_KEY_CONFLICT, PLACEMENT_MISCONFIGURED, PLACEMENT_SATISFIED};
use portolan_api::{FieldError, multicluster};
use portolan_engine::conditions::{Condition, TOO_MANY_SLICES};
use portolan_engine::status::Code;
use serde::Serialize;

use crate::input::Severity;
use crate::output::table::Tone;

/// Every placement, by namespace and name.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) placements: Vec<PlacementReport>,
}

/// One placement. Every list is there even when it is empty.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlacementReport {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) status: Code,
    /// Empty on `Success`.
    pub(crate) plugin: String,
    /// Empty on `Success`.
    pub(crate) message: String,
    /// By name.
    pub(crate) candidates: Vec<String>,
    /// `Predicate`, then `TaintToleration`.
    pub(crate) filters: [Filter; 2],
    /// Balance, Steady, then as configured; none with weight 0.
    pub(crate) prioritizers: Vec<Prioritizer>,
    /// Weighted total of every cluster that passed the filters.
    pub(crate) scores: BTreeMap<String, i64>,
    /// Place of every cluster that passed the filters among these, from 1; for people.
    #[serde(skip)]
    pub(crate) ranks: BTreeMap<String, usize>,
    /// In rank order.
    pub(crate) selected: Vec<String>,
    /// 0 when `numberOfClusters` is unset.
    pub(crate) unscheduled: usize,
    /// RFC 3339 in UTC.
    pub(crate) requeue_at: Option<String>,
    pub(crate) decision_groups: Vec<DecisionGroupStatus>,
    pub(crate) conditions: Vec<Condition>,
    /// In index order.
    pub(crate) placement_decisions: Vec<PlacementDecision>,
    /// In index order.
    pub(crate) slices: Vec<multicluster::PlacementDecision>,
    /// Mistakes and warnings, field by field. The conditions say the same in words.
    pub(crate) findings: Vec<Found>,
}

/// How an evaluation ended, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Fewer clusters than the placement asks for.
    Unsatisfied,
    Of(Code),
}

impl Verdict {
    pub(crate) fn tone(self) -> Tone {
        match self {
            Verdict::Of(Code::Success) => Tone::Good,
            Verdict::Of(Code::Warning) => Tone::Doubtful,
            Verdict::Unsatisfied | Verdict::Of(Code::Misconfigured | Code::Error) => Tone::Bad,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Unsatisfied => f.write_str("Unsatisfied"),
            Verdict::Of(code) => write!(f, "{code:?}"),
        }
    }
}

/// One thing that is wrong, or hardly meant. What is not known is empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Found {
    pub(crate) severity: Severity,
    /// Kind, namespace and name of the object that has the field.
    pub(crate) object: String,
    pub(crate) field: String,
    pub(crate) value: String,
    pub(crate) problem: String,
    /// What to use instead.
    pub(crate) accepted: String,
}

impl Found {
    pub(crate) fn new(severity: Severity, object: String, error: FieldError) -> Found {
        Found {
            severity,
            object,
            field: error.path,
            value: error.value,
            problem: error.problem,
            accepted: error.accepted,
        }
    }
}

/// The clusters that passed a filter, by name.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Filter {
    pub(crate) name: &'static str,
    pub(crate) clusters: Vec<String>,
}

/// The scores that one prioritizer gave.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Prioritizer {
    pub(crate) name: String,
    pub(crate) weight: i64,
    pub(crate) scores: BTreeMap<String, i64>,
}

impl Report {
    /// Whether every placement got what it asked for.
    pub(crate) fn is_satisfied(&self) -> bool {
        self.placements.iter().all(PlacementReport::is_satisfied)
    }

    /// Namespace and name of the placements that got what they asked for.
    pub(crate) fn satisfied(&self) -> BTreeSet<(&str, &str)> {
        let satisfied = self
            .placements
            .iter()
            .filter(|placement| placement.is_satisfied());
        satisfied.map(PlacementReport::key).collect()
    }
}

impl PlacementReport {
    /// Namespace and name.
    pub(crate) fn key(&self) -> (&str, &str) {
        (&self.namespace, &self.name)
    }

    pub(crate) fn is_satisfied(&self) -> bool {
        let evaluated = matches!(self.status, Code::Success | Code::Warning);
        evaluated
            && !self.is_refused()
            && self
                .satisfied()
                .is_some_and(|condition| condition.status == "True")
    }

    /// The status in the words of `explain`: an evaluation that went well and gave too few clusters is no success.
    pub(crate) fn verdict(&self) -> Verdict {
        let is_short = self
            .satisfied()
            .is_some_and(|condition| condition.status == "False");
        match self.status {
            Code::Success | Code::Warning if is_short => Verdict::Unsatisfied,
            code => Verdict::Of(code),
        }
    }

    /// Why the placement did not get what it asked for, if it did not.
    pub(crate) fn complaint(&self) -> Option<String> {
        match self.satisfied() {
            _ if !self.message.is_empty() => Some(match self.plugin.as_str() {
                "" => self.message.clone(),
                plugin => format!("{plugin}: {}", self.message),
            }),
            Some(condition) if condition.status != "True" => Some(condition.message.clone()),
            _ => None,
        }
    }

    /// How many clusters are selected, and of how many that are asked for where they are fewer.
    pub(crate) fn selected_of(&self) -> String {
        let selected = self.selected.len();
        match self.unscheduled {
            0 => selected.to_string(),
            missing => format!("{selected} of {}", selected + missing),
        }
    }

    /// Whether the standard slices are not written.
    fn is_refused(&self) -> bool {
        self.conditions
            .iter()
            .any(|condition| [DECISION_KEY_CONFLICT, TOO_MANY_SLICES].contains(&condition.type_.as_str()))
    }

    /// Conditions that are there only when there is something to say.
    pub(crate) fn remarks(&self) -> impl Iterator<Item = &Condition> {
        let always = [PLACEMENT_SATISFIED, PLACEMENT_MISCONFIGURED];
        self.conditions
            .iter()
            .filter(move |condition| !always.contains(&condition.type_.as_str()))
    }

    /// The condition that says so.
    pub(crate) fn satisfied(&self) -> Option<&Condition> {
        self.conditions
            .iter()
            .find(|condition| condition.type_ == PLACEMENT_SATISFIED)
    }
}
