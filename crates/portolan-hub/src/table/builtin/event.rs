//! Events of both groups: the same columns over differently named fields.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::age::UNKNOWN;
use super::super::column::{Column, NAME};
use super::super::fields::{age_of, at, number, text};
use super::{column, wide};

pub(super) fn core() -> Vec<Column> {
    columns([
        |object, now| json!(last_seen(object, now, &CORE)),
        |object, _| json!(target(at(object, &["involvedObject"]))),
        |object, _| json!(text(object, &["involvedObject", "fieldPath"])),
        |object, _| json!(source(object, &CORE)),
        |object, _| json!(text(object, &["message"]).trim()),
        |object, now| json!(first_seen(object, now, &CORE)),
        |object, _| json!(occurrences(object, &CORE)),
    ])
}

pub(super) fn events() -> Vec<Column> {
    columns([
        |object, now| json!(last_seen(object, now, &EVENTS)),
        |object, _| json!(target(at(object, &["regarding"]))),
        |object, _| json!(text(object, &["regarding", "fieldPath"])),
        |object, _| json!(source(object, &EVENTS)),
        |object, _| json!(text(object, &["note"]).trim()),
        |object, now| json!(first_seen(object, now, &EVENTS)),
        |object, _| json!(occurrences(object, &EVENTS)),
    ])
}

/// What the two groups name differently.
struct Names {
    first: &'static str,
    last: &'static str,
    count: &'static str,
    source: &'static str,
    controller: &'static str,
    instance: &'static str,
}

const CORE: Names = Names {
    first: "firstTimestamp",
    last: "lastTimestamp",
    count: "count",
    source: "source",
    controller: "reportingComponent",
    instance: "reportingInstance",
};

const EVENTS: Names = Names {
    first: "deprecatedFirstTimestamp",
    last: "deprecatedLastTimestamp",
    count: "deprecatedCount",
    source: "deprecatedSource",
    controller: "reportingController",
    instance: "reportingInstance",
};

fn columns(cells: [fn(&Value, Timestamp) -> Value; 7]) -> Vec<Column> {
    let [last, target, field, source, message, first, count] = cells;
    vec![
        column("Last Seen", "string", "When the event was last seen", last),
        column("Type", "string", "Normal or Warning", |object, _| {
            json!(text(object, &["type"]))
        }),
        column("Reason", "string", "Why the event was written", |object, _| {
            json!(text(object, &["reason"]))
        }),
        column("Object", "string", "The object the event is about", target),
        wide("Subobject", "string", "The part of the object", field),
        wide("Source", "string", "Who wrote the event", source),
        column("Message", "string", "What happened", message),
        wide("First Seen", "string", "When the event was first seen", first),
        wide("Count", "string", "How often it was seen", count),
        wide("Name", "string", NAME, |object, _| {
            json!(text(object, &["metadata", "name"]))
        })
        .named("name"),
    ]
}

fn first_seen(object: &Value, now: Timestamp, names: &Names) -> String {
    match age_of(object, &[names.first], now) {
        unknown if unknown == UNKNOWN => age_of(object, &["eventTime"], now),
        age => age,
    }
}

fn last_seen(object: &Value, now: Timestamp, names: &Names) -> String {
    if !at(object, &["series"]).is_null() {
        return age_of(object, &["series", "lastObservedTime"], now);
    }
    match age_of(object, &[names.last], now) {
        unknown if unknown == UNKNOWN => first_seen(object, now, names),
        age => age,
    }
}

/// A series counts from its second occurrence; a single event counts itself or nothing.
fn occurrences(object: &Value, names: &Names) -> i64 {
    match at(object, &["series"]) {
        Value::Null => number(object, &[names.count]).max(1),
        series => number(series, &["count"]) + 1,
    }
}

fn target(reference: &Value) -> String {
    let kind = text(reference, &["kind"]).to_lowercase();
    match text(reference, &["name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn source(object: &Value, names: &Names) -> String {
    let first = |a: &str, b: &str| if a.is_empty() { b.to_owned() } else { a.to_owned() };
    let component = first(
        text(object, &[names.source, "component"]),
        text(object, &[names.controller]),
    );
    let host = first(
        text(object, &[names.source, "host"]),
        text(object, &[names.instance]),
    );
    match host.is_empty() {
        true => component,
        false => format!("{component}, {host}"),
    }
}
