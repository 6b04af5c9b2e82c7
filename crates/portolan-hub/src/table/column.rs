//! What a column is, and the columns a CustomResourceDefinition declares.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::cell;
use super::jsonpath::{Budget, ParseError, Path};

pub(super) const NAME: &str = "Name must be unique within a namespace.";
pub(super) const CREATED: &str =
    "CreationTimestamp is the server time when this object was created, in RFC 3339 form and UTC.";

/// Most columns that a version of a definition may declare. Larger, and a table would be mostly empty cells; smaller, and a
/// definition that people use could be refused: the largest of those have some twenty.
pub(crate) const MOST_DECLARED: usize = 100;

/// One column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    name: String,
    kind: String,
    format: String,
    description: String,
    priority: i64,
    source: Source,
}

/// Where the cells of a column come from.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// The first value an expression selects, shown by the column's type.
    Path(Path),
    /// A function of the object, for the columns of built-in kinds.
    Computed(Compute),
}

/// Computes one cell.
pub(super) type Compute = fn(&Value, Timestamp) -> Value;

/// Why columns of a CustomResourceDefinition are not usable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ColumnError {
    /// The declaration lacks something or has the wrong type.
    #[error("additionalPrinterColumns[{index}] needs the strings name, type and jsonPath")]
    Incomplete {
        /// Which column.
        index: usize,
    },
    /// The expression cannot be parsed.
    #[error("unrecognized column definition {path:?}")]
    Path {
        /// The expression.
        path: String,
        /// What is wrong with it.
        #[source]
        source: ParseError,
    },
}

impl Column {
    pub(super) fn computed(
        name: &str,
        kind: &str,
        priority: i64,
        description: &str,
        compute: Compute,
    ) -> Self {
        Self {
            name: name.to_owned(),
            kind: kind.to_owned(),
            format: String::new(),
            description: description.to_owned(),
            priority,
            source: Source::Computed(compute),
        }
    }

    pub(super) fn named(mut self, format: &str) -> Self {
        self.format = format.to_owned();
        self
    }

    pub(super) fn name() -> Self {
        Self::computed("Name", "string", 0, NAME, |object, _| {
            object["metadata"]["name"].clone()
        })
        .named("name")
    }

    fn at_path(name: &str, kind: &str, path: &str) -> Result<Self, ColumnError> {
        let parsed = Path::parse(path).map_err(|source| ColumnError::Path {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            name: name.to_owned(),
            kind: kind.to_owned(),
            format: String::new(),
            description: format!("Custom resource definition column (in JSONPath format): {path}"),
            priority: 0,
            source: Source::Path(parsed),
        })
    }

    /// The time of creation, which is the only column of a definition that declares none.
    pub(super) fn created() -> Result<Self, ColumnError> {
        Ok(Self {
            description: CREATED.to_owned(),
            ..Self::at_path("Age", "date", ".metadata.creationTimestamp")?
        })
    }

    pub(super) fn declared(index: usize, column: &Value) -> Result<Self, ColumnError> {
        let text = |key: &str| {
            column
                .get(key)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
        };
        let incomplete = ColumnError::Incomplete { index };
        let (Some(name), Some(kind), Some(path)) = (text("name"), text("type"), text("jsonPath")) else {
            return Err(incomplete);
        };
        let mut declared = Self::at_path(name, kind, path)?;
        declared.format = text("format").unwrap_or_default().to_owned();
        declared.priority = column.get("priority").and_then(Value::as_i64).unwrap_or_default();
        if let Some(description) = text("description") {
            declared.description = description.to_owned();
        }
        Ok(declared)
    }

    pub(super) fn definition(&self) -> Value {
        let definition: Map<String, Value> = [
            ("name", json!(self.name)),
            ("type", json!(self.kind)),
            ("format", json!(self.format)),
            ("description", json!(self.description)),
            ("priority", json!(self.priority)),
        ]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
        Value::Object(definition)
    }

    pub(super) fn cell(&self, object: &Value, now: Timestamp, budget: &mut Budget) -> Value {
        let path = match &self.source {
            // The columns of built-in kinds show parts of the object once. The name is there whatever else is not.
            Source::Computed(compute) => return cell::cut(compute(object, now)),
            Source::Path(path) => path,
        };
        let cell = match path.find(object, budget).as_deref() {
            // An expression that does not fit one object, or visits too much, leaves its cell empty, never the whole table.
            Ok([first, ..]) => cell::cut(cell::of(&self.kind, first, now)),
            _ => Value::Null,
        };
        match budget.pays_for(cell.as_str().map_or(0, str::len)) {
            true => cell,
            false => Value::Null,
        }
    }
}
