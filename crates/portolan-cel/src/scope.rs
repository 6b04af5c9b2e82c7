//! Where expressions are written.

/// Where expressions are written, which decides what they may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Selectors of clusters, with the libraries OCM offers.
    Selectors,
    /// Validation rules, with the libraries Kubernetes offers.
    Rules,
    /// Condition rules of works, with those libraries and what OCM adds to them.
    Conditions,
}

impl Scope {
    /// Whether expressions are checked as Kubernetes checks those of validation rules.
    pub(crate) fn is_strict(self) -> bool {
        matches!(self, Scope::Rules | Scope::Conditions)
    }
}
