//! How an apply fails.

use super::managers::Id;
use super::path::{PathElement, display};
use super::set::FieldSet;

/// One field that the applier would change and another manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The other manager as messages name it, such as `"kubectl" using apps/v1`.
    pub(crate) manager: String,
    /// The field, such as `.spec.replicas`.
    pub(crate) field: String,
    pub(super) path: Vec<PathElement>,
}

impl Conflict {
    pub(super) fn each(id: &Id, fields: &FieldSet) -> Vec<Self> {
        let conflict = |path: Vec<PathElement>| Self {
            manager: id.describe(),
            field: display(&path),
            path,
        };
        fields.paths().into_iter().map(conflict).collect()
    }

    /// The message of the cause in `Status.details.causes`, whose reason is `FieldManagerConflict`.
    pub(crate) fn message(&self) -> String {
        format!("conflict with {}", self.manager)
    }
}

/// An apply that was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ApplyError {
    /// 409 Conflict: other managers own fields the configuration changes, and `force` was not given.
    #[error("{}", describe(.0))]
    Conflicts(Vec<Conflict>),
    /// 400 BadRequest: not a configuration that may be applied.
    #[error("{0}")]
    BadRequest(String),
    /// 500 InternalError: the configuration does not fit the type. Kubernetes reports it as its own failure.
    #[error("{0}")]
    Internal(String),
}

/// Most conflicts that a message names. Larger, and a small request could have an answer of many megabytes.
const MOST_NAMED: usize = 100;

fn describe(conflicts: &[Conflict]) -> String {
    if let [one] = conflicts {
        return format!("Apply failed with 1 conflict: {}: {}", one.message(), one.field);
    }
    let mut lines = Vec::new();
    let mut current = None;
    // Conflicts come grouped by manager, since they are collected manager by manager.
    for conflict in conflicts.iter().take(MOST_NAMED) {
        if current != Some(&conflict.manager) {
            lines.push(format!("conflicts with {}:", conflict.manager));
            current = Some(&conflict.manager);
        }
        lines.push(format!("- {}", conflict.field));
    }
    if conflicts.len() > MOST_NAMED {
        lines.push(format!("and {} more", conflicts.len() - MOST_NAMED));
    }
    format!(
        "Apply failed with {} conflicts: {}",
        conflicts.len(),
        lines.join("\n")
    )
}
