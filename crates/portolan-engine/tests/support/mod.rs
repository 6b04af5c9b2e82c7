//! Random fleets, random placements and random edits, small enough to collide and to shrink.
#![allow(dead_code, reason = "each test uses its own part")]

pub mod clusters;
pub mod edits;
pub mod placements;
pub mod world;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use proptest::prelude::*;

/// The moment every test starts at.
pub fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().expect("a valid time")
}

/// Seconds after the start.
pub fn at(seconds: i64) -> Timestamp {
    start() + SignedDuration::from_secs(seconds)
}

pub fn time(seconds: i64) -> Time {
    Time(at(seconds))
}

pub fn metadata(namespace: &str, name: &str) -> ObjectMeta {
    let namespace = Some(namespace)
        .filter(|namespace| !namespace.is_empty())
        .map(str::to_owned);
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace,
        ..ObjectMeta::default()
    }
}

pub const LABEL_KEYS: [&str; 3] = ["env", "region", "example.com/tier"];
pub const CLAIM_KEYS: [&str; 3] = ["platform", "cost", "zone"];
pub const VALUES: [&str; 3] = ["a", "b", "c"];
pub const NUMBERS: [&str; 5] = ["1", "2.5", "1500m", "4Gi", "many"];
pub const SET_NAMES: [&str; 4] = ["blue", "green", "picked", "odd"];
pub const NAMESPACES: [&str; 2] = ["one", "two"];
pub const RESOURCES: [&str; 2] = ["capacity", "latency"];
pub const SCORE_NAMES: [&str; 2] = ["s1", "s2"];
pub const TAINT_KEYS: [&str; 2] = ["gpu", "example.com/maintenance"];

/// One of a few words.
pub fn word(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(words).prop_map(str::to_owned)
}

/// Times around which the tests' clock moves.
pub fn seconds() -> impl Strategy<Value = i64> {
    -60i64..240
}
