//! The syntax of names, labels and times in Kubernetes.

use crate::shorten::{MAX_LABEL_VALUE, MAX_OBJECT_NAME};

/// Longest type of a condition.
const MAX_CONDITION_TYPE: usize = 316;
/// Longest DNS label, which is the longest namespace name.
const MAX_DNS_LABEL: usize = 63;

/// What a DNS subdomain is, for errors.
pub(crate) const DNS_SUBDOMAIN: &str =
    "at most 253 lower case letters, digits, '-' and '.', with a letter or digit at both ends of every part";
/// What a DNS label is, for errors.
pub(crate) const DNS_LABEL: &str =
    "at most 63 lower case letters, digits and '-', with a letter or digit at both ends";
/// What a label value is, for errors.
pub(crate) const LABEL_VALUE: &str =
    "empty, or at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends";
/// What a qualified name is, for errors.
pub(crate) const QUALIFIED_NAME: &str = "an optional DNS subdomain and '/', then at most 63 letters, digits, '-', '_' \
                                         and '.' with a letter or digit at both ends";
/// What the type of a condition is, for errors.
pub const CONDITION_TYPE: &str = "at most 316 characters: an optional DNS subdomain and '/', then letters, digits, '-', '_' \
                                  and '.' with a letter or digit at both ends";
/// What a time is, for errors.
pub(crate) const TIME: &str = "an RFC 3339 time such as 2026-01-31T08:00:00Z";

/// Whether the text can be the name of a custom resource.
pub fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= MAX_OBJECT_NAME && text.split('.').all(is_dns_part)
}

/// Whether the text can be the name of a namespace.
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= MAX_DNS_LABEL && is_dns_part(text)
}

/// Whether the text can be the value of a label.
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name_part(text)
}

/// Whether the text can be the key of a label, an annotation or a taint.
pub fn is_qualified_name(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_name_part(name),
        None => is_name_part(text),
    }
}

/// Whether the text can be the type of a condition. A status with any other type is refused as a whole.
pub fn is_condition_type(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    text.len() <= MAX_CONDITION_TYPE
        && prefix.is_none_or(|prefix| prefix.split('.').all(is_dns_part))
        && is_name(name)
}

/// Whether the text is an RFC 3339 time.
pub(crate) fn is_time(text: &str) -> bool {
    // The parser takes more than RFC 3339: a space for the T, a zone in brackets, no seconds.
    let strict = text.len() <= 64
        && text.len() >= 20
        && text.as_bytes()[10] == b'T'
        && text.as_bytes()[0].is_ascii_digit()
        && text.as_bytes()[4] == b'-'
        && !text.ends_with('z')
        && text.as_bytes()[16] == b':'
        && !text.contains('[');
    strict && text.parse::<jiff::Timestamp>().is_ok()
}

/// Whether the text is what a server accepts for the format `byte`: padded base64 in one line, and not empty.
pub(crate) fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.bytes().all(is_digit)
}

fn is_dns_part(part: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    has_shape(part, inner, |byte| byte == b'-')
}

fn is_name_part(part: &str) -> bool {
    part.len() <= MAX_LABEL_VALUE && is_name(part)
}

fn is_name(text: &str) -> bool {
    has_shape(
        text,
        |byte| byte.is_ascii_alphanumeric(),
        |byte| matches!(byte, b'-' | b'_' | b'.'),
    )
}

/// Not empty, `edge` characters at both ends, `edge` or `middle` characters between them.
fn has_shape(text: &str, edge: impl Fn(u8) -> bool, middle: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    let ends =
        bytes.first().is_some_and(|first| edge(*first)) && bytes.last().is_some_and(|last| edge(*last));
    ends && bytes.iter().all(|byte| edge(*byte) || middle(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_dns_rules() {
        for good in ["a", "cluster-1", "cluster.example.com", "0"] {
            assert!(is_dns_subdomain(good), "{good}");
        }
        for bad in ["", "Upper", "-a", "a-", "a..b", "a_b", ".a", "é"] {
            assert!(!is_dns_subdomain(bad), "{bad}");
        }
        assert!(is_dns_label("fleet-system") && !is_dns_label("dotted.ns") && !is_dns_label(&"a".repeat(64)));
    }

    #[test]
    fn keys_and_label_values_follow_the_label_rules() {
        for good in ["a", "A_b.c-d", "example.com/key"] {
            assert!(is_qualified_name(good), "{good}");
        }
        for bad in ["", "/a", "a/", "UP/a", "a/b/c", "-a", "a b"] {
            assert!(!is_qualified_name(bad), "{bad}");
        }
        assert!(is_label_value("") && is_label_value("V1.2") && !is_label_value("a/b"));
        assert!(is_label_value(&"v".repeat(63)) && !is_label_value(&"v".repeat(64)));
    }

    #[test]
    fn types_of_conditions_are_those_that_a_status_takes() {
        let pattern = regex::Regex::new(crate::schema::QUALIFIED_NAME).unwrap();
        let long = ["a".repeat(316), format!("{}/B", "a".repeat(314))];
        for good in ["A", "Available", "a.b/C_d.e-f", "0"]
            .into_iter()
            .chain(long.iter().map(String::as_str))
        {
            assert!(is_condition_type(good) && pattern.is_match(good), "{good}");
        }
        for bad in ["", "not a type!", "/a", "a/", "UP/a", "a/b/c", "-a", "a\n", "é"] {
            assert!(!is_condition_type(bad) && !pattern.is_match(bad), "{bad}");
        }
        assert!(!is_condition_type(&"a".repeat(317)));
    }

    #[test]
    fn times_are_rfc_3339_and_nothing_else() {
        for good in [
            "2023-02-16T18:32:05Z",
            "2023-02-16T18:32:05.123456Z",
            "2023-02-16T18:32:05+01:00",
        ] {
            assert!(is_time(good), "{good}");
        }
        for bad in [
            "",
            "yesterday",
            "2023-02-16",
            "2023-02-16 18:32:05Z",
            "2023-02-30T00:00:00Z",
            "2023-02-16T18:32Z",
        ] {
            assert!(!is_time(bad), "{bad}");
        }
    }

    #[test]
    fn base64_is_padded_and_in_one_line() {
        for good in ["QQ==", "QUI=", "QUJD"] {
            assert!(is_base64(good), "{good}");
        }
        for bad in [
            "",
            "QUJD\nQUJD",
            "Q",
            "QQ=",
            "QQ===",
            "Q=Q=",
            "Q*==",
            "====",
            "ü==",
        ] {
            assert!(!is_base64(bad), "{bad}");
        }
    }
}
