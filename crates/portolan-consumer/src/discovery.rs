//! How decisions are found, and which slices belong together.
//!
//! The two are different questions. A placement-key or a name finds *some* slice of a decision; what belongs to that
//! decision is said by the key its slices share. So a slice that lacks the placement-key is not lost, and a name is
//! looked at only where a scheduler uses nothing else.

use std::fmt;

use portolan_api::labels::multicluster as labels;

use crate::Slice;
use crate::slice::decimal;

/// Which decisions a consumer follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discovery {
    /// All there are.
    All,
    /// Those for a workload: any of their slices has this `placement-key`.
    PlacementKey(String),
    /// The one with this `decision-key`.
    DecisionKey(String),
    /// Those of the placement with this name, by the label of the KEP's first revision.
    Placement(String),
    /// Those with a slice of this name, or of this name with `-` and a number behind it.
    Name(String),
}

impl Discovery {
    /// Whether the slice is one that is looked for.
    pub fn finds(&self, slice: &Slice) -> bool {
        match self {
            Discovery::All => true,
            Discovery::PlacementKey(key) => slice.placement_key.as_ref() == Some(key),
            Discovery::DecisionKey(key) => slice.decision_key.as_ref() == Some(key),
            Discovery::Placement(name) => slice.placement.as_ref() == Some(name),
            Discovery::Name(base) => slice.name == *base || base_of(&slice.name) == Some(base),
        }
    }

    /// The label selector that a watch may use without missing a slice of a decision that is found. Only labels that all
    /// slices of a decision must share qualify, and `placement-key` is none of them.
    pub fn label_selector(&self) -> Option<String> {
        match self {
            Discovery::DecisionKey(key) => Some(format!("{}={key}", labels::DECISION_KEY)),
            Discovery::Placement(name) => Some(format!("{}={name}", labels::PLACEMENT)),
            Discovery::All | Discovery::PlacementKey(_) | Discovery::Name(_) => None,
        }
    }

    /// The decision that a slice belongs to.
    pub(crate) fn decision_of(&self, slice: &Slice) -> DecisionId {
        let shared = if let Some(key) = &slice.decision_key {
            Shared::Key(key.clone())
        } else if let Some(placement) = &slice.placement {
            Shared::Placement {
                name: placement.clone(),
                scheduler: slice.scheduler.clone(),
            }
        } else {
            Shared::Name {
                name: self.unkeyed(slice).to_owned(),
                placement_key: slice.placement_key.clone(),
            }
        };
        DecisionId {
            namespace: slice.namespace.clone(),
            shared,
        }
    }

    /// What slices without a key share: the base of their names, where somebody vouches for that it means something. That
    /// is the consumer, if it looks for the base, or the scheduler, if it gave them a common placement-key. Otherwise
    /// `prod-1` and `prod-2` are two decisions.
    fn unkeyed<'a>(&self, slice: &'a Slice) -> &'a str {
        let vouched = match self {
            Discovery::Name(base) => base_of(&slice.name) == Some(base),
            _ => slice.placement_key.is_some(),
        };
        match base_of(&slice.name) {
            Some(base) if vouched => base,
            _ => &slice.name,
        }
    }
}

/// Which decision: what its slices share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DecisionId {
    /// Namespace of the slices.
    pub namespace: String,
    /// What they share.
    pub shared: Shared,
}

/// What the slices of one decision share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shared {
    /// The label `decision-key`.
    Key(String),
    /// The labels of the KEP's first revision.
    Placement {
        /// Name of the placement.
        name: String,
        /// Name of the scheduler: two of them may know a placement of the same name.
        scheduler: Option<String>,
    },
    /// Nothing but the name, or the part of it in front of a number.
    Name {
        /// The name.
        name: String,
        /// The placement-key that all of them have, or none of them.
        placement_key: Option<String>,
    },
}

impl DecisionId {
    /// The decision with this `decision-key`.
    pub fn keyed(namespace: impl Into<String>, key: impl Into<String>) -> DecisionId {
        DecisionId {
            namespace: namespace.into(),
            shared: Shared::Key(key.into()),
        }
    }
}

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match &self.shared {
            Shared::Key(name) | Shared::Placement { name, .. } | Shared::Name { name, .. } => name,
        };
        write!(f, "{}/{name}", self.namespace)
    }
}

/// The part of a name in front of `-<number>`.
fn base_of(name: &str) -> Option<&str> {
    let (base, number) = name.rsplit_once('-')?;
    decimal(number).map(|_| base)
}
