//! Where an object was read.

use std::fmt;
use std::sync::Arc;

/// Where an object was read: file, document, and position in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    source: Arc<str>,
    /// Which document of the source; an API server has none.
    document: Option<usize>,
    /// What stands in front of every field path: `items[3].` in a list.
    prefix: String,
}

impl Place {
    pub(super) fn document(source: &str, document: usize) -> Place {
        Place {
            source: source.into(),
            document: Some(document),
            prefix: String::new(),
        }
    }

    /// An object that an API server gave.
    pub(super) fn live(source: &str) -> Place {
        Place {
            source: source.into(),
            document: None,
            prefix: String::new(),
        }
    }

    /// Whether a server has accepted the object.
    pub(crate) fn is_live(&self) -> bool {
        self.document.is_none()
    }

    /// The file, or the server.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// Which document of the file it is, from 1.
    pub(super) fn number(&self) -> Option<usize> {
        self.document
    }

    /// The path of a field from the top of the document.
    pub(super) fn path(&self, field: &str) -> String {
        format!("{}{field}", self.prefix)
    }

    /// The document that the object is in.
    pub(super) fn of_document(&self) -> Place {
        Place {
            prefix: String::new(),
            ..self.clone()
        }
    }

    pub(super) fn item(&self, position: usize) -> Place {
        Place {
            prefix: format!("{}items[{position}].", self.prefix),
            ..self.clone()
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        if let Some(document) = self.document {
            write!(f, ": document {document}")?;
        }
        match self.prefix.strip_suffix('.') {
            Some(item) => write!(f, ", {item}"),
            None => Ok(()),
        }
    }
}
