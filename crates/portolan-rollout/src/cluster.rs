//! How far one cluster is with the workload.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::groups::GroupKey;

/// How far a cluster is with the workload that is rolled out now. What an older workload did there does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Status {
    /// It is to get the workload, or has got it and not taken it up yet.
    ToApply,
    /// On its way.
    Progressing,
    /// Done.
    Succeeded,
    /// In bad health; may still recover.
    Failed,
    /// Did not succeed in time.
    TimeOut,
    /// Left alone on purpose.
    Skip,
    /// The reporter does not know: treated as on its way.
    Unknown,
}

impl Status {
    /// Every name that is accepted.
    pub const NAMES: [&'static str; 7] = [
        "ToApply",
        "Progressing",
        "Succeeded",
        "Failed",
        "TimeOut",
        "Skip",
        "Unknown",
    ];

    /// Counts against the failure budget.
    pub fn is_failure(self) -> bool {
        matches!(self, Status::Failed | Status::TimeOut)
    }
}

/// A cluster that has the workload already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Existing {
    /// Its name.
    pub cluster_name: String,
    /// The group it was in when it got the workload, where that is known.
    pub group_key: Option<GroupKey>,
    /// How far it is.
    pub status: Status,
    /// Since when.
    pub last_transition_time: Option<Timestamp>,
    /// Since when it reports on the workload, whatever it has reported since then. A cluster that goes to and fro between
    /// states has no more time than one that does not; nothing limits it where this is not known.
    pub first_report_time: Option<Timestamp>,
}

/// One cluster in an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cluster {
    /// Its name.
    pub cluster_name: String,
    /// The group it is in now; for a removed cluster the one it was in.
    pub group_key: GroupKey,
    /// How far it is.
    pub status: Status,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Timestamp>,
    /// Since when it reports on the workload.
    #[serde(skip)]
    pub(crate) first_report_time: Option<Timestamp>,
    /// When its deadline or its soak time ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recheck_time: Option<Timestamp>,
}

impl Cluster {
    /// A cluster that is to get the workload.
    pub(crate) fn new(name: &str, group: &GroupKey) -> Cluster {
        Cluster {
            cluster_name: name.to_owned(),
            group_key: group.clone(),
            status: Status::ToApply,
            last_transition_time: None,
            first_report_time: None,
            recheck_time: None,
        }
    }

    /// Whether it was started. One that is only to get the workload has no time from which anything could be counted.
    pub(crate) fn is_started(&self) -> bool {
        self.status != Status::ToApply || self.last_transition_time.is_some()
    }
}
