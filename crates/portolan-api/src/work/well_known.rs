//! What is built in for the workloads of Kubernetes.

use crate::labels::conditions::{COMPLETE, DEGRADED, PROGRESSING};

/// The conditions that a rule of type `WellKnownConditions` gives for an object of this kind; none where nothing is built in.
/// `WellKnownStatus` reads values of the same kinds.
pub fn well_known_conditions(group: &str, kind: &str) -> &'static [&'static str] {
    match (group, kind) {
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet") => &[PROGRESSING, DEGRADED],
        ("batch", "Job") | ("", "Pod") => &[COMPLETE, PROGRESSING, DEGRADED],
        _ => &[],
    }
}
