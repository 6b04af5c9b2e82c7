//! Every check: what it states, who must meet it, how firmly the documents put it, and where they do.
//!
//! A statement that several documents make is one check with one id; the other numbers are in [`Check::also`] and
//! [`find`] accepts them too. Statements that need a server call, a driver or metrics (C1, C2, C4, C11, C20, C22, C23,
//! C29, C30, C43 to C48) or that only allow something (C58) cannot be decided from objects and are not here.

mod table;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

pub use table::{CHECKS, CheckId};

/// One statement of the documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The id that findings carry.
    pub id: CheckId,
    /// Other numbers under which the documents make the same statement.
    pub also: &'static [&'static str],
    /// A few words for a table.
    pub title: &'static str,
    /// The statement in one sentence.
    pub statement: &'static str,
    /// Whether a conforming implementation can do without it.
    pub level: Level,
    /// How the documents put it.
    pub wording: Wording,
    /// The component that must meet the statement.
    pub actor: Actor,
    /// The conformance profiles that contain it.
    pub profiles: &'static [Profile],
    /// What it is decided from.
    pub scope: Scope,
    /// The text that says so.
    pub source: &'static str,
}

/// Whether a conforming implementation can do without a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A `must`, a fact of the schema, or a rule of the design.
    Required,
    /// Everything else.
    Optional,
}

/// How the documents put a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Wording {
    /// A rule of the design.
    Rule,
    /// "must".
    Must,
    /// "should".
    Should,
    /// "may".
    May,
    /// A fact of the schema.
    Fact,
    /// A goal.
    Goal,
    /// Follows from the text without being written there.
    Derived,
    /// Only in the revisioned draft.
    Draft,
}

/// The component that must meet a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Actor {
    /// The scheduler that writes decisions.
    #[serde(rename = "P")]
    Producer,
    /// A reader of decisions.
    #[serde(rename = "C")]
    Consumer,
    /// The API server with schema and admission.
    #[serde(rename = "A")]
    Api,
}

/// A conformance profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// What every scheduler meets.
    Core,
    /// Schedulers whose order matters.
    Ordered,
    /// Nothing disappears, nothing is written for nothing.
    Stable,
    /// Whole sets by revision.
    Revisioned,
    /// References match the inventory.
    Inventory,
    /// The first revision of the KEP.
    R1,
    /// Readers.
    Consumer,
    /// Large fleets.
    Scale,
    /// What only Portolan promises.
    Portolan,
}

/// What a check is decided from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// One state, at any moment.
    Instant,
    /// One state with no update under way.
    Rest,
    /// Two states.
    Pair,
    /// A recorded watch.
    Stream,
    /// A recorded watch and what a consumer did.
    Deeds,
    /// Plain values.
    Values,
}

/// The check with this id or number (`rule-1`, `C35`, `D7`).
pub fn find(number: &str) -> Option<&'static Check> {
    CHECKS
        .iter()
        .find(|check| check.id.as_str() == number || check.also.contains(&number))
}

/// The checks of a profile.
pub fn of_profile(profile: Profile) -> impl Iterator<Item = &'static Check> {
    CHECKS
        .iter()
        .filter(move |check| check.profiles.contains(&profile))
}

impl fmt::Display for CheckId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for CheckId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for CheckId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = String::deserialize(deserializer)?;
        find(&number)
            .map(|check| check.id)
            .ok_or_else(|| D::Error::custom(format!("no check {number:?}")))
    }
}
