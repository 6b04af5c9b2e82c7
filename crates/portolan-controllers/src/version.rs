//! Which of two versions of one object is the newer one.

/// Whether `candidate` is a later version than `held`. Versions are numbers on every server in use; where one is not,
/// a different version is taken for a later one.
pub(crate) fn is_newer(candidate: &str, held: &str) -> bool {
    match (candidate.parse::<u64>(), held.parse::<u64>()) {
        (Ok(candidate), Ok(held)) => candidate > held,
        _ => candidate != held,
    }
}

#[cfg(test)]
mod tests {
    use super::is_newer;

    #[test]
    fn versions_compare_as_numbers_and_not_as_text() {
        assert!(is_newer("10", "9"));
        assert!(!is_newer("9", "10"));
        assert!(!is_newer("9", "9"));
        assert!(is_newer("b", "a") && !is_newer("a", "a"));
    }
}
