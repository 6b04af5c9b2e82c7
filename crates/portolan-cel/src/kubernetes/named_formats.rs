//! The rules behind the named formats. Each gives the list of what is wrong.

use super::url::Url;
use crate::library::time::Timestamp;

const DNS1123_LABEL: &str = "must consist of lower case alphanumeric characters or '-', and start and end with an alphanumeric character";
const DNS1123_SUBDOMAIN: &str = "must consist of lower case alphanumeric characters, '-' or '.', and each part must start and end with an alphanumeric character";
const DNS1035_LABEL: &str = "must consist of lower case alphanumeric characters or '-', start with a letter and end with an alphanumeric character";
const NAME_PART: &str = "must consist of alphanumeric characters, '-', '_' or '.', and start and end with an alphanumeric character";
const TOO_LONG_63: &str = "must be no more than 63 bytes";
const TOO_LONG_253: &str = "must be no more than 253 bytes";

const LABEL_LENGTH: usize = 63;
const SUBDOMAIN_LENGTH: usize = 253;

type Flaws = Vec<&'static str>;

pub(super) fn dns1123_label(text: &str) -> Flaws {
    collect([
        (text.len() > LABEL_LENGTH, TOO_LONG_63),
        (!is_dns1123_label(text), DNS1123_LABEL),
    ])
}

pub(super) fn dns1123_subdomain(text: &str) -> Flaws {
    let valid = text.split('.').all(is_dns1123_label);
    collect([
        (text.len() > SUBDOMAIN_LENGTH, TOO_LONG_253),
        (!valid, DNS1123_SUBDOMAIN),
    ])
}

pub(super) fn dns1035_label(text: &str) -> Flaws {
    let valid = is_dns1123_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase());
    collect([(text.len() > LABEL_LENGTH, TOO_LONG_63), (!valid, DNS1035_LABEL)])
}

/// A prefix made into a whole name: a dash at the end would be followed by something.
pub(super) fn completed(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(stem) if !stem.is_empty() => format!("{stem}a"),
        _ => prefix.to_owned(),
    }
}

/// `name` or `prefix.example.com/name`.
pub(super) fn qualified_name(text: &str) -> Flaws {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    let mut flaws = match prefix {
        Some("") => vec!["prefix part must be non-empty"],
        Some(prefix) => dns1123_subdomain(prefix),
        None => Vec::new(),
    };
    flaws.extend(collect([
        (name.is_empty(), "name part must be non-empty"),
        (name.len() > LABEL_LENGTH, TOO_LONG_63),
        (!is_name_part(name), NAME_PART),
    ]));
    flaws
}

pub(super) fn label_value(text: &str) -> Flaws {
    let valid = text.is_empty() || is_name_part(text);
    collect([(text.len() > LABEL_LENGTH, TOO_LONG_63), (!valid, NAME_PART)])
}

pub(super) fn uri(text: &str) -> Flaws {
    Url::parse(text).err().into_iter().collect()
}

/// Dashes are optional, as in the validator Kubernetes uses.
pub(super) fn uuid(text: &str) -> Flaws {
    let bytes = text.as_bytes();
    let dashed = bytes.len() == 36 && [8, 13, 18, 23].into_iter().all(|at| bytes[at] == b'-');
    let digits = text.bytes().filter(|byte| *byte != b'-');
    let valid = (dashed || (bytes.len() == 32 && !text.contains('-')))
        && digits.clone().count() == 32
        && digits.clone().all(|byte| byte.is_ascii_hexdigit());
    collect([(!valid, "does not match the UUID format")])
}

pub(super) fn base64(text: &str) -> Flaws {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    let valid = text.len().is_multiple_of(4)
        && padding <= 2
        && !text.is_empty()
        && body
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/');
    collect([(!valid, "invalid base64")])
}

pub(super) fn date(text: &str) -> Flaws {
    let valid = text.len() == 10 && Timestamp::parse(&format!("{text}T00:00:00Z")).is_some();
    collect([(!valid, "invalid date")])
}

pub(super) fn date_time(text: &str) -> Flaws {
    collect([(Timestamp::parse(text).is_none(), "invalid datetime")])
}

fn is_dns1123_label(text: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let inner = |byte: u8| byte == b'-' || byte.is_ascii_lowercase() || byte.is_ascii_digit();
    edge(text.bytes().next()) && edge(text.bytes().next_back()) && text.bytes().all(inner)
}

fn is_name_part(text: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    edge(text.bytes().next()) && edge(text.bytes().next_back()) && text.bytes().all(inner)
}

fn collect<const N: usize>(checks: [(bool, &'static str); N]) -> Flaws {
    checks
        .into_iter()
        .filter_map(|(failed, flaw)| failed.then_some(flaw))
        .collect()
}
