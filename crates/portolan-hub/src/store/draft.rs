//! An object as text before its revision is known.
//!
//! Writing text takes longer than anything else the committing thread would do, and every write waits for that thread.
//! So the text is made where the write is asked for, with a gap where the revision goes.

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use super::key::Key;
use super::object::{Marks, Span, Stored};

/// The text of an object with a gap.
#[derive(Debug)]
pub(super) struct Draft {
    text: Vec<u8>,
    /// Where the revision goes. An object without metadata has none.
    gap: Option<usize>,
    marks: Marks,
}

impl Draft {
    pub(super) fn of(mut value: Value) -> Self {
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion".into(), "".into());
        }
        let mut draft = Self {
            text: Vec::with_capacity(4096),
            gap: None,
            marks: Marks::default(),
        };
        match &value {
            Value::Object(fields) => draft.object(fields, |draft, field, value| match value {
                Value::Object(metadata) if field == "metadata" => draft.object(metadata, Self::metadata),
                value => draft.put(value),
            }),
            other => draft.put(other),
        }
        draft
    }

    /// The length of the text, but for the digits of its revision.
    pub(super) fn bytes(&self) -> i64 {
        i64::try_from(self.text.len()).unwrap_or(i64::MAX)
    }

    /// The object with its revision.
    pub(super) fn seal(self, key: Key, revision: u64) -> Stored {
        let mut marks = self.marks;
        let text = match self.gap {
            None => self.text,
            Some(gap) => {
                let digits = revision.to_string();
                marks.shift(gap, digits.len());
                let (before, after) = self.text.split_at(gap);
                // Of exactly this size: it is kept for as long as the object.
                let mut text = Vec::with_capacity(self.text.len() + digits.len());
                text.extend_from_slice(before);
                text.extend_from_slice(digits.as_bytes());
                text.extend_from_slice(after);
                text
            }
        };
        Stored::new(key, revision, Bytes::from(text.into_boxed_slice()), marks)
    }

    fn metadata(&mut self, field: &str, value: &Value) {
        let start = self.text.len();
        self.put(value);
        let span = Span::new(start, self.text.len());
        match (field, value) {
            ("resourceVersion", _) => self.gap = Some(start + 1),
            ("labels", Value::Object(_)) => self.marks.labels = span,
            // Without its quotes.
            ("uid", Value::String(_)) => self.marks.uid = Span::new(start + 1, self.text.len() - 1),
            ("ownerReferences" | "deletionTimestamp", _) => self.marks.concerns_others = true,
            _ => {}
        }
    }

    fn object(&mut self, fields: &Map<String, Value>, mut each: impl FnMut(&mut Self, &str, &Value)) {
        self.text.push(b'{');
        for (at, (field, value)) in fields.iter().enumerate() {
            if at > 0 {
                self.text.push(b',');
            }
            self.put(field);
            self.text.push(b':');
            each(self, field, value);
        }
        self.text.push(b'}');
    }

    fn put(&mut self, value: &impl Serialize) {
        serde_json::to_writer(&mut self.text, value)
            .expect("JSON values have text keys, and memory takes all that is written");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sealed(value: Value, revision: u64) -> Stored {
        Draft::of(value).seal(Key::new("", "things", "", "a"), revision)
    }

    #[test]
    fn the_text_is_the_object_with_its_revision() {
        let object = json!({"kind": "Thing", "metadata": {"name": "a\n", "uid": "u-1", "resourceVersion": "7"}, "z": [1, {}]});
        let stored = sealed(object.clone(), 1234);
        let mut expected = object;
        expected["metadata"]["resourceVersion"] = "1234".into();
        assert_eq!(stored.value(), expected);
        assert_eq!(&stored.bytes()[..], expected.to_string().as_bytes());
        assert_eq!(stored.uid(), "u-1");
    }

    #[test]
    fn what_garbage_collection_must_look_at_is_marked() {
        let concerns_others = |metadata: Value| sealed(json!({"metadata": metadata}), 99).concerns_others();
        assert!(concerns_others(json!({"ownerReferences": [{"uid": "o"}]})));
        assert!(concerns_others(
            json!({"deletionTimestamp": "2026-01-31T08:00:00Z"})
        ));
        assert!(!concerns_others(json!({"labels": {"ownerReferences": "no"}})));
        assert!(!concerns_others(json!({})));
    }

    #[test]
    fn marks_read_back_from_a_record_and_fit_its_text() {
        let stored = sealed(json!({"metadata": {"labels": {"a": "b"}, "uid": "u"}}), 99);
        let (marks, length) = (stored.marks(), stored.bytes().len());
        assert_eq!(Marks::from_bytes(&marks.to_bytes(), length), Some(marks));
        assert_eq!(Marks::from_bytes(&marks.to_bytes(), 3), None);
    }

    #[test]
    fn labels_read_back() {
        let stored = sealed(
            json!({"labels": {"not": "these"}, "metadata": {"labels": {"a": "b \" c", "z": "ü"}}}),
            5,
        );
        let labels = stored.labels();
        assert_eq!(labels["a"], "b \" c");
        assert_eq!(labels["z"], "ü");
        assert!(sealed(json!({"metadata": {}}), 5).labels().is_empty());
    }

    #[test]
    fn what_has_no_metadata_is_kept_as_it_is() {
        assert_eq!(sealed(json!({"a": 1}), 5).value(), json!({"a": 1}));
        assert_eq!(sealed(Value::Null, 5).value(), Value::Null);
    }
}
