//! The figures, for programs and for people.

use serde::Serialize;

use super::Args;
use super::change::Changes;
use super::cold::ColdStart;
use super::decoding::Decoding;
use super::heartbeat::Heartbeats;
use super::quiet::Quiet;

/// Everything that was measured. Field names are a contract.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    clusters: u32,
    placements: u32,
    seed: u64,
    /// What the server says that it is.
    server: String,
    /// Whether it is the hub, in the same process as the controllers: time and memory are then of both.
    embedded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cold_start: Option<ColdStart>,
    /// With ClusterProfiles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cold_start_profiles: Option<ColdStart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) decoding: Option<Decoding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) restart: Option<Restart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) heartbeat: Option<Heartbeats>,
    /// Changes that concern one decision of at most three slices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) change: Option<Changes>,
    /// Changes that concern several decisions, of which those of at most three slices count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) change_many: Option<Changes>,
    /// A decision over the whole fleet: 20 slices at 2,000 clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) change20: Option<Changes>,
    /// Resident set of the controllers' process after the changes, and the most it ever had.
    pub(super) rss_mb: f64,
    pub(super) rss_peak_mb: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) quiet: Option<Quiet>,
}

/// Starting again with nothing changed.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Restart {
    pub(super) writes: u64,
    pub(super) evaluations: u64,
    /// Until every placement was evaluated.
    pub(super) seconds: f64,
}

impl Report {
    pub(super) fn new(args: &Args, server: String) -> Report {
        Report {
            clusters: args.clusters,
            placements: args.placements,
            seed: args.seed,
            server,
            embedded: args.embedded,
            ..Report::default()
        }
    }
}
