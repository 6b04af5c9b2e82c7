//! Bodies of server-side apply: YAML, or JSON, which is YAML too.

use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{DeserializeError, Options};

/// Reads a body. Of a key that is given twice the last value counts.
pub(super) fn read(body: &[u8]) -> Result<Value, String> {
    // Most clients send JSON here too, and reading that is much cheaper.
    serde_json::from_slice(body)
        .or_else(|_| {
            serde_saphyr::from_slice_with_options(body, options(DuplicateKeyPolicy::LastWins, body.len()))
        })
        .map_err(|error| error.without_snippet().to_string())
}

/// The first key that a body gives twice, in the words of Kubernetes. None for a body that cannot be read.
pub(super) fn duplicate(body: &[u8]) -> Option<String> {
    // Nearly no body has any.
    if serde_json::from_slice::<Value>(body).is_ok() && super::duplicates::duplicates(body).is_empty() {
        return None;
    }
    let strict =
        serde_saphyr::from_slice_with_options::<Value>(body, options(DuplicateKeyPolicy::Error, body.len()));
    let error = strict.err()?;
    let DeserializeError::DuplicateMappingKey { key, location } = error.without_snippet() else {
        return None;
    };
    let (key, line) = (key.as_deref().unwrap_or_default(), location.line());
    Some(format!(
        "error converting YAML to JSON: yaml: unmarshal errors: line {line}: key {key:?} already set in map"
    ))
}

/// What aliases and merge keys repeat may not be more than the body: some hundred bytes of them could otherwise stand for a
/// document that takes a second to read.
fn options(duplicate_keys: DuplicateKeyPolicy, bytes: usize) -> Options {
    serde_saphyr::options! {
        duplicate_keys: duplicate_keys,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: bytes },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_repeat_no_more_than_the_body_has() {
        let few = b"a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\n";
        let value = serde_json::json!({ "a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2} });
        assert_eq!(read(few).unwrap(), value);
        let mut many = "a0: &a0 [0, 0, 0, 0, 0, 0, 0, 0, 0]\n".to_owned();
        for level in 1..6 {
            let below = vec![format!("*a{}", level - 1); 9].join(", ");
            many.push_str(&format!("a{level}: &a{level} [{below}]\n"));
        }
        assert!(many.len() < 1000);
        let refused = read(many.as_bytes()).unwrap_err();
        assert!(refused.contains("alias"), "{refused}");
        let merged = format!(
            "b: &b {{x: 1, y: 2, z: 3}}\nc:\n{}",
            "- {<<: *b, name: something}\n".repeat(50)
        );
        assert!(
            read(merged.as_bytes()).is_ok(),
            "a manifest may well use merge keys"
        );
    }

    #[test]
    fn the_line_of_a_key_that_is_given_twice_is_told() {
        let told =
            "error converting YAML to JSON: yaml: unmarshal errors: line 4: key \"foo\" already set in map";
        let body = b"a: 1\nspec:\n  foo: 1\n  foo: 2\n  bar: 1\n  bar: 2\n";
        assert_eq!(duplicate(body).as_deref(), Some(told));
        assert_eq!(
            read(body).unwrap(),
            serde_json::json!({ "a": 1, "spec": { "foo": 2, "bar": 2 } })
        );
        let json = b"{\"a\": 1,\n \"spec\": {\n\"foo\": 1,\n\"foo\": 2}}";
        assert_eq!(duplicate(json).as_deref(), Some(told));
        assert_eq!(duplicate(br#"{"a": {"b": 1}}"#), None);
        assert_eq!(duplicate(b"a:\n  b: 1\nb: 1\n"), None);
        assert_eq!(duplicate(b"{"), None);
    }
}
