//! How deep an object may be nested, and how long the way to a value may be.
//!
//! Parsers of JSON refuse more than 127 levels, and an object is parsed again inside lists and watch events, which add
//! levels of their own, as `metadata.managedFields` does. An object that is stored must be readable in each of these.

use serde_json::Value;

/// With more, an object could be stored that no client can read in a list: 127 levels less what lists and managed fields
/// add. With fewer, schemas in CustomResourceDefinitions would be refused that people write.
pub(crate) const MAX_DEPTH: usize = 100;

/// The levels of arrays and objects in a value; 0 for a value that is neither. Without recursion, so that the depth can be
/// measured before anything else touches the value.
pub(crate) fn of(value: &Value) -> usize {
    measure(value).0
}

/// The same, and how many values were walked for it.
pub(crate) fn measure(value: &Value) -> (usize, usize) {
    let (mut deepest, mut walked) = (0, 0);
    let mut open = vec![(value, 0)];
    while let Some((value, above)) = open.pop() {
        walked += 1;
        let level = above + 1;
        match value {
            Value::Array(items) => {
                deepest = deepest.max(level);
                open.extend(items.iter().map(|item| (item, level)));
            }
            Value::Object(fields) => {
                deepest = deepest.max(level);
                open.extend(fields.values().map(|field| (field, level)));
            }
            _ => {}
        }
    }
    (deepest, walked)
}

/// The bytes of the names on the way to a value. With more, an error for each of many values would repeat a long text; with
/// fewer, schemas in CustomResourceDefinitions would be refused that people write.
pub(crate) const MAX_PATH: usize = 4 << 10;

/// The bytes of the field names on the longest way to a value.
pub(crate) fn longest_path(value: &Value) -> usize {
    let mut longest = 0;
    let mut open = vec![(value, 0)];
    while let Some((value, above)) = open.pop() {
        longest = longest.max(above);
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, above))),
            Value::Object(fields) => {
                open.extend(fields.iter().map(|(name, field)| (field, above + name.len())));
            }
            _ => {}
        }
    }
    longest
}

/// The beginning of a text that a client chose, for an error message.
pub(crate) fn preview(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_depth_counts_arrays_and_objects() {
        assert_eq!(of(&json!(1)), 0);
        assert_eq!(of(&json!({})), 1);
        assert_eq!(measure(&json!({"a": [1, {"b": {}}]})), (4, 5));
    }

    #[test]
    fn the_longest_path_counts_the_names_on_the_way_to_a_value() {
        assert_eq!(longest_path(&json!([1, "a long text is no name"])), 0);
        assert_eq!(longest_path(&json!({"ab": [{"cde": 1}, {"f": 2}], "ghij": 3})), 5);
    }
}
