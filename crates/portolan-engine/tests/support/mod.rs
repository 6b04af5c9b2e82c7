//! Random fleets, random placements and random edits, small enough to collide and to shrink.
#![allow(dead_code, reason = "each test uses its own part")]

pub(crate) mod clusters;
pub(crate) mod edits;
pub(crate) mod placements;
pub(crate) mod world;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use proptest::prelude::*;

/// The moment every test starts at.
pub(crate) fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().expect("a valid time")
}

/// Seconds after the start.
pub(crate) fn at(seconds: i64) -> Timestamp {
    start() + SignedDuration::from_secs(seconds)
}

pub(crate) fn time(seconds: i64) -> Time {
    Time(at(seconds))
}

pub(crate) fn metadata(namespace: &str, name: &str) -> ObjectMeta {
    let namespace = Some(namespace)
        .filter(|namespace| !namespace.is_empty())
        .map(str::to_owned);
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace,
        ..ObjectMeta::default()
    }
}

pub(crate) const LABEL_KEYS: [&str; 3] = ["env", "region", "example.com/tier"];
pub(crate) const CLAIM_KEYS: [&str; 3] = ["platform", "cost", "zone"];
pub(crate) const VALUES: [&str; 3] = ["a", "b", "c"];
pub(crate) const NUMBERS: [&str; 5] = ["1", "2.5", "1500m", "4Gi", "many"];
pub(crate) const SET_NAMES: [&str; 4] = ["blue", "green", "picked", "odd"];
pub(crate) const NAMESPACES: [&str; 2] = ["one", "two"];
pub(crate) const RESOURCES: [&str; 2] = ["capacity", "latency"];
pub(crate) const SCORE_NAMES: [&str; 2] = ["s1", "s2"];
pub(crate) const TAINT_KEYS: [&str; 2] = ["gpu", "example.com/maintenance"];

/// One of a few words.
pub(crate) fn word(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(words).prop_map(str::to_owned)
}

/// Times around which the tests' clock moves.
pub(crate) fn seconds() -> impl Strategy<Value = i64> {
    -60i64..240
}
