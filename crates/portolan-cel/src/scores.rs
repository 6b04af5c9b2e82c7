//! Scores that a cluster has beside its object.

/// The scores an expression can ask for with `managedCluster.scores(name)`.
pub trait Scores {
    /// Names and values of the cluster's `AddOnPlacementScore` of that name, in its order; `None` when there is no
    /// such object, which is an evaluation error.
    fn scores(&self, resource_name: &str) -> Option<Vec<(String, i64)>>;
}

/// A cluster without any `AddOnPlacementScore`.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoScores;

impl Scores for NoScores {
    fn scores(&self, _resource_name: &str) -> Option<Vec<(String, i64)>> {
        None
    }
}
