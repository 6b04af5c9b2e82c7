//! Times at the end of the year 9999, which Kubernetes stores and a [`Timestamp`] cannot hold.
//!
//! The agent of a member cluster writes times into the status of its ManagedCluster. One that cannot be read would make the
//! whole object unknown, and every decision that names the cluster would be kept as it is.

use jiff::Timestamp;

/// The fields of our kinds that hold a time. Times elsewhere, such as those in the manifests of a work, are left alone.
const FIELDS: [&str; 6] = [
    "lastTransitionTime",
    "lastUpdateTime",
    "timeAdded",
    "validUntil",
    "creationTimestamp",
    "deletionTimestamp",
];
/// How such a time begins.
const BEGINNING: &str = "\"9999-12-3";
/// The last second that a [`Timestamp`] can hold.
const LAST: &str = "\"9999-12-30T22:00:00Z\"";

/// The text of an object with times that are too late made the last ones there are; `None` if it has none.
pub(super) fn shortened(text: &str) -> Option<String> {
    let mut shortened = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(BEGINNING) {
        let (before, time) = rest.split_at(start);
        let end = time[1..].find('"').map_or(time.len(), |end| end + 2);
        let is_late = is_value_of_field(before) && is_too_late(time[..end].trim_matches('"'));
        shortened.push_str(before);
        shortened.push_str(if is_late { LAST } else { &time[..end] });
        rest = &time[end..];
    }
    shortened.push_str(rest);
    (shortened != text).then_some(shortened)
}

fn is_value_of_field(before: &str) -> bool {
    let name = before.trim_end().strip_suffix(':').map(str::trim_end);
    let name = name.and_then(|name| name.strip_suffix('"'));
    name.is_some_and(|name| {
        FIELDS
            .iter()
            .any(|field| name.strip_suffix(field).is_some_and(|rest| rest.ends_with('"')))
    })
}

/// Whether the text is a time, and only too late: it can be held with another year.
fn is_too_late(text: &str) -> bool {
    let earlier = text.replacen("9999", "9998", 1);
    text.parse::<Timestamp>().is_err() && earlier.parse::<Timestamp>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_are_too_late_become_the_last_one_and_nothing_else_changes() {
        let text = r#"{"lastTransitionTime": "9999-12-31T23:59:59Z", "validUntil":"2026-01-01T00:00:00Z"}"#;
        let expected =
            r#"{"lastTransitionTime": "9999-12-30T22:00:00Z", "validUntil":"2026-01-01T00:00:00Z"}"#;
        assert_eq!(shortened(text).as_deref(), Some(expected));
        assert!("9999-12-30T22:00:00Z".parse::<Timestamp>().is_ok());
        for same in [
            r#"{"data": "9999-12-31T23:59:59Z"}"#,
            r#"{"lastTransitionTime": "9999-12-30T21:00:00Z"}"#,
            r#"{"lastTransitionTime": "9999-12-39T21:00:00Z"}"#,
            r#"{"text": "\"lastTransitionTime\": \"9999-12-31T23:59:59Z\""}"#,
            r#"{"lastTransitionTime": "9999-12-31"#,
        ] {
            assert_eq!(shortened(same), None, "{same}");
        }
    }
}
