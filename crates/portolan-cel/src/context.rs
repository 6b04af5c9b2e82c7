//! What the code of a function may read and pay with.

use crate::budget::Meter;
use crate::scores::Scores;
use crate::value::Val;

/// What one evaluation reads, and what it may still cost.
pub(crate) struct Context<'v, 'b> {
    /// The variables of the environment, in its order.
    pub(crate) variables: &'v [Option<&'v Val>],
    pub(crate) scores: &'v dyn Scores,
    pub(crate) meter: Meter<'b>,
}
