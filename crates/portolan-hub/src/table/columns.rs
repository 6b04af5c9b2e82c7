//! The columns of one kind: those that its definition declares, or those of a built-in kind.

use jiff::Timestamp;
use serde_json::Value;

use super::builtin;
use super::column::{Column, ColumnError, MOST_DECLARED};
use super::jsonpath::Budget;

/// The columns of one kind, ready to be filled.
#[derive(Debug, Clone)]
pub(crate) struct Columns {
    columns: Vec<Column>,
}

impl Columns {
    /// The columns of one version of a CustomResourceDefinition: the name, then what `additionalPrinterColumns`
    /// declares, or the age where it declares nothing.
    pub(crate) fn of_crd_version(version: &Value) -> Result<Self, ColumnError> {
        let mut columns = vec![Column::name()];
        match version.get("additionalPrinterColumns").and_then(Value::as_array) {
            Some(declared) if !declared.is_empty() => {
                // One that was stored before there was a limit keeps the first ones.
                for (index, column) in declared.iter().enumerate().take(MOST_DECLARED) {
                    columns.push(Column::declared(index, column)?);
                }
            }
            _ => columns.push(Column::created()?),
        }
        Ok(Self { columns })
    }

    /// The columns of a built-in kind; name and creation time for kinds that have no own ones.
    pub(crate) fn of_builtin(group: &str, kind: &str) -> Self {
        Self {
            columns: builtin::columns(group, kind),
        }
    }

    /// `columnDefinitions` of a table.
    pub(crate) fn definitions(&self) -> Value {
        Value::Array(self.columns.iter().map(Column::definition).collect())
    }

    /// The cells of one object of a table.
    pub(crate) fn cells(&self, object: &Value, now: Timestamp, budget: &mut Budget) -> Vec<Value> {
        budget.next_object();
        self.columns
            .iter()
            .map(|column| column.cell(object, now, budget))
            .collect()
    }
}
