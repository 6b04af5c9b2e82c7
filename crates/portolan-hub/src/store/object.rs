//! One stored version of an object: its JSON text, and where in it the few things are that are asked for again and again.
//!
//! The text is what is kept; it is sent to clients without being parsed. A parsed tree costs several times the text, so
//! it is built for the request that needs it and dropped.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::field;
use super::key::Key;

/// A version of an object that was committed. Never changes.
#[derive(Debug)]
pub(crate) struct Stored {
    key: Key,
    revision: u64,
    bytes: Bytes,
    marks: Marks,
    meta: OnceLock<Box<Meta>>,
}

/// Where things are in the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// `metadata.labels`.
    pub(super) labels: Span,
    /// `metadata.uid`, without its quotes.
    pub(super) uid: Span,
    /// It has owners or is being deleted.
    pub(super) concerns_others: bool,
}

/// A part of the text. Objects are far smaller than what 32 bits can address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    end: u32,
}

/// What garbage collection and deletion look at.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Meta {
    pub(crate) uid: String,
    pub(crate) owner_references: Vec<OwnerReference>,
    pub(crate) finalizers: Vec<String>,
    pub(crate) deletion_timestamp: Option<String>,
}

/// The part of an owner reference that garbage collection needs.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct OwnerReference {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) block_owner_deletion: bool,
}

#[derive(Deserialize)]
struct Partial {
    #[serde(default)]
    metadata: Meta,
}

impl Span {
    pub(super) fn new(start: usize, end: usize) -> Self {
        match (u32::try_from(start), u32::try_from(end)) {
            (Ok(start), Ok(end)) => Self { start, end },
            _ => Self::default(),
        }
    }

    fn shift(&mut self, gap: usize, by: usize) {
        if self.start as usize > gap {
            *self = Self::new(self.start as usize + by, self.end as usize + by);
        }
    }

    fn of_text<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        text.get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }
}

impl Marks {
    pub(super) const SIZE: usize = 20;

    /// Follows an insertion into the text.
    pub(super) fn shift(&mut self, gap: usize, by: usize) {
        self.labels.shift(gap, by);
        self.uid.shift(gap, by);
    }

    /// As a record has them.
    pub(super) fn to_bytes(self) -> [u8; Self::SIZE] {
        let numbers = [
            self.labels.start,
            self.labels.end,
            self.uid.start,
            self.uid.end,
            u32::from(self.concerns_others),
        ];
        let mut bytes = [0; Self::SIZE];
        for (place, number) in bytes.chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Reads them back; `None` if they are not of a text of this length.
    pub(super) fn from_bytes(bytes: &[u8; Self::SIZE], length: usize) -> Option<Self> {
        let number = |at: usize| {
            let word = bytes
                .get(at * 4..at * 4 + 4)
                .and_then(|word| word.try_into().ok());
            word.map_or(0, u32::from_le_bytes)
        };
        let span = |at| {
            let (start, end) = (number(at), number(at + 1));
            (start <= end && end as usize <= length).then_some(Span { start, end })
        };
        Some(Self {
            labels: span(0)?,
            uid: span(2)?,
            concerns_others: number(4) != 0,
        })
    }
}

impl Stored {
    pub(super) fn new(key: Key, revision: u64, bytes: Bytes, marks: Marks) -> Self {
        Self {
            key,
            revision,
            bytes,
            marks,
            meta: OnceLock::new(),
        }
    }

    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The object as JSON text, `metadata.resourceVersion` included.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Parses the object. The text was written by this crate or checked when the file was opened, so a failure would be
    /// a defect; it reads as null then.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_default()
    }

    /// The labels, parsed for whoever asks: as a tree they would take as much memory again as the rest.
    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        serde_json::from_slice(self.marks.labels.of_text(&self.bytes)).unwrap_or_default()
    }

    /// Bytes of the labels: what it takes to read them.
    pub(crate) fn labels_size(&self) -> usize {
        self.marks.labels.of_text(&self.bytes).len()
    }

    /// The value of a field, by its path. The rest of the object is skipped.
    pub(crate) fn field(&self, path: &str) -> Option<Value> {
        field::value_at(&self.bytes, path)
    }

    /// The uid, as it stands in the text. The server makes uids, and none has a character that would be escaped.
    pub(crate) fn uid(&self) -> &str {
        std::str::from_utf8(self.marks.uid.of_text(&self.bytes)).unwrap_or_default()
    }

    /// Whether it has owners or is being deleted, so that garbage collection must look at it.
    pub(crate) fn concerns_others(&self) -> bool {
        self.marks.concerns_others
    }

    pub(super) fn marks(&self) -> Marks {
        self.marks
    }

    /// The metadata fields, parsed once.
    pub(crate) fn meta(&self) -> &Meta {
        self.meta.get_or_init(|| {
            let partial = serde_json::from_slice::<Partial>(&self.bytes);
            Box::new(partial.map(|partial| partial.metadata).unwrap_or_default())
        })
    }
}
