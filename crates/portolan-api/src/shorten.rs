//! How names and label values that are too long are cut: a prefix, a dash and ten hexadecimal digits of the
//! SHA-256 of the whole, so that equal inputs stay equal and different ones stay different.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

/// Longest label value.
pub const MAX_LABEL_VALUE: usize = 63;

/// Longest object name.
pub const MAX_OBJECT_NAME: usize = 253;

/// Hexadecimal digits of the hash behind a cut.
const DIGITS: usize = 10;

/// The text as a label value: itself when it fits in 63 bytes, otherwise its first 52 bytes, `-` and ten digits.
///
/// Of a valid object name or label value the result is always a valid label value. A value that is short but has
/// characters a label does not allow is returned as it is; it is the caller's to refuse.
pub fn label_value(text: &str) -> Cow<'_, str> {
    cut(text, MAX_LABEL_VALUE, |_| false)
}

/// The text as an object name: itself when it fits in 253 bytes, otherwise its first 242 bytes, `-` and ten digits.
/// A `.` or `-` at the cut is dropped, because a name may not have `.-` in it.
pub fn object_name(text: &str) -> Cow<'_, str> {
    cut(text, MAX_OBJECT_NAME, |last| last == '.' || last == '-')
}

/// What [`object_name`] leaves of every text that begins with this one and ends in a number of up to ten digits.
pub fn object_name_prefix(text: &str) -> &str {
    let mut end = text.len().min(MAX_OBJECT_NAME - DIGITS - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    match end == text.len() {
        true => text,
        false => text[..end].trim_end_matches(['.', '-']),
    }
}

/// Whether [`object_name`] may have cut a longer text to this one.
pub fn may_be_cut(name: &str) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    name.rsplit_once('-')
        .is_some_and(|(_, end)| end.len() == DIGITS && end.as_bytes().iter().all(is_digit))
}

fn cut(text: &str, limit: usize, drop_at_cut: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    let mut end = limit - DIGITS - 1;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let prefix = text[..end].trim_end_matches(drop_at_cut);
    Cow::Owned(format!("{prefix}-{}", digest(text)))
}

/// What stands for a long text where the same text has to be known again: ten hexadecimal digits.
pub fn digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest
        .iter()
        .take(DIGITS / 2)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numbered_name_begins_with_the_prefix_however_long_it_is() {
        for length in [1, 200, 225, 231, 232, 233, 234, 240, 253] {
            for end in ["a", ".a", "-a"] {
                let text = format!("{}{end}-decision-", "n".repeat(length));
                for number in ["1", "10", "4294967295"] {
                    let name = format!("{text}{number}");
                    let prefix = object_name_prefix(&text);
                    assert!(object_name(&name).starts_with(prefix), "{length} {end} {number}");
                    assert!(prefix.len() > 200 || prefix == text);
                }
            }
        }
    }

    #[test]
    fn a_name_that_was_cut_may_have_been_and_one_without_a_hash_was_not() {
        for length in [254, 300] {
            for end in ["a", "-a", ".a"] {
                assert!(may_be_cut(&object_name(&format!("{}{end}", "n".repeat(length)))));
            }
        }
        for name in [
            "web",
            "web-1",
            "web-0123456789a",
            "web-012345678g",
            "0123456789",
            "",
        ] {
            assert!(!may_be_cut(name), "{name}");
        }
    }

    #[test]
    fn what_fits_is_left_alone() {
        let exactly = "a".repeat(63);
        assert_eq!(label_value(&exactly), exactly);
        assert_eq!(label_value(""), "");
        assert_eq!(object_name(&"b".repeat(253)).len(), 253);
    }

    #[test]
    fn a_long_label_value_is_52_bytes_a_dash_and_10_digits() {
        let long = "a".repeat(64);
        let short = label_value(&long);
        assert_eq!(short, format!("{}-ffe054fe7a", "a".repeat(52)));
        assert_eq!(short.len(), 63);
    }

    #[test]
    fn different_long_names_stay_different() {
        let (one, two) = (format!("{}1", "n".repeat(300)), format!("{}2", "n".repeat(300)));
        assert_ne!(object_name(&one), object_name(&two));
        assert_ne!(label_value(&one), label_value(&two));
        assert_eq!(object_name(&one), object_name(&one.clone()));
    }

    #[test]
    fn a_name_never_gets_a_dot_in_front_of_the_dash() {
        let dotted = format!("{}..-{}", "n".repeat(239), "m".repeat(60));
        let short = object_name(&dotted);
        assert!(
            short.starts_with(&"n".repeat(239)) && short.as_bytes()[239] == b'-',
            "{short}"
        );
        assert_ne!(short.as_bytes()[240], b'-');
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        let accents = "é".repeat(200);
        assert!(label_value(&accents).len() <= 63);
        let odd = format!("a{}", "é".repeat(200));
        assert!(label_value(&odd).len() <= 63 && object_name(&odd).len() <= 253);
    }
}
