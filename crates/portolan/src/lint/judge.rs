//! What lint knows beside the object that it judges.

use portolan_engine::fleet::Inventory;

use crate::input::Manifests;
use crate::simulate::report::PlacementReport;

/// What the objects are judged by besides themselves.
pub(super) struct Judge<'a> {
    pub(super) manifests: &'a Manifests,
    /// What was decided for each placement.
    pub(super) reports: &'a [PlacementReport],
    /// Which objects are the clusters.
    pub(super) inventory: Inventory,
    /// Whether everything on a hub is known, so that what is missing is not there.
    pub(super) knows_hub: bool,
}
