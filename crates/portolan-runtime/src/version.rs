//! Compares the `resourceVersion` of two states of one object.

use std::cmp::Ordering;

/// Which of two versions is the later one, as numbers of any length. Nothing where one of them is no decimal number, which
/// no server in use has; each caller says what that means.
pub fn compare(first: &str, second: &str) -> Option<Ordering> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(first) || !digits(second) {
        return None;
    }
    let (first, second) = (first.trim_start_matches('0'), second.trim_start_matches('0'));
    Some(first.len().cmp(&second.len()).then_with(|| first.cmp(second)))
}

/// Whether `candidate` is a later version than `held`. Where that is not known, a different version is taken for a later one.
pub fn is_newer(candidate: &str, held: &str) -> bool {
    match compare(candidate, held) {
        Some(order) => order == Ordering::Greater,
        None => candidate != held,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers_of_any_length_and_not_as_text() {
        assert_eq!(compare("10", "9"), Some(Ordering::Greater));
        assert_eq!(compare("9", "010"), Some(Ordering::Less));
        assert_eq!(compare("0", "00"), Some(Ordering::Equal));
        // Both are above 64 bits.
        let (large, larger) = ("99999999999999999999999998", "99999999999999999999999999");
        assert_eq!(compare(large, larger), Some(Ordering::Less));
        assert_eq!(compare("a", "1"), None);
        assert_eq!(compare("", "1"), None);
        assert!(is_newer(larger, large) && !is_newer(large, larger) && !is_newer(large, large));
    }

    #[test]
    fn a_version_that_is_no_number_is_newer_if_it_is_another() {
        assert!(is_newer("b", "a") && is_newer("a", "b") && !is_newer("a", "a"));
    }
}
