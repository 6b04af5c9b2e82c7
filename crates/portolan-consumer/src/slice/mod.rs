//! One slice of a decision, as far as a consumer is concerned with it.

mod read;

use std::fmt;

use crate::{Chosen, Problem};

/// Which object: namespace and name.
pub type SliceKey = (String, String);

/// What one `PlacementDecision` of `multicluster.x-k8s.io` says, of either revision of the KEP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// `decision-key`, which the slices of one decision share.
    pub decision_key: Option<String>,
    /// `placement-key`, which the workload carries too.
    pub placement_key: Option<String>,
    /// The first revision's label `placement`.
    pub placement: Option<String>,
    /// `schedulerName`, or the first revision's label `scheduler`.
    pub scheduler: Option<String>,
    /// `decision-index`.
    pub index: Option<u64>,
    /// `decision-revision`.
    pub revision: Option<Revision>,
    /// `decision-slice-count`.
    pub slice_count: Option<u64>,
    /// The clusters in the order of the slice.
    pub chosen: Vec<Chosen>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

impl Slice {
    /// Which object it was read from.
    pub fn key(&self) -> SliceKey {
        (self.namespace.clone(), self.name.clone())
    }

    /// Where the slice stands among those of its decision: by index as a number; without one behind all others, by the
    /// number at the end of the name and then by the name.
    pub(crate) fn place(&self) -> (u64, u64, &str) {
        let suffix = self.name.rsplit_once('-').and_then(|(_, end)| decimal(end));
        let suffix = if self.index.is_some() { None } else { suffix };
        (
            self.index.unwrap_or(u64::MAX),
            suffix.unwrap_or(u64::MAX),
            &self.name,
        )
    }
}

/// The value of `decision-revision`. The KEP asks only that it be common to the slices of one state; where it is a
/// number, a higher one is newer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// A decimal number without sign and leading zeros.
    Number(u64),
    /// Anything else: it can be compared for equality only.
    Opaque(String),
}

impl Revision {
    fn of(text: &str) -> Revision {
        match decimal(text) {
            Some(number) => Revision::Number(number),
            None => Revision::Opaque(text.to_owned()),
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Revision::Number(number) => write!(f, "{number}"),
            Revision::Opaque(text) => write!(f, "{text:?}"),
        }
    }
}

/// A decimal number as the draft writes them: no sign, no leading zeros.
pub(crate) fn decimal(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}
