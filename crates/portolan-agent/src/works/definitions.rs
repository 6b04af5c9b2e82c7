//! Whether the member cluster has a place for records: without one no work can be applied.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::work_reconciler::WorkReconciler;
use crate::work::WorkKind;

/// The first wait before the server is asked again for a definition that it does not serve.
const SHORTEST: Duration = Duration::from_secs(1);
/// A longer one would keep an agent waiting whose definitions were just installed; a shorter one asks in vain more often.
const LONGEST: Duration = Duration::from_secs(10);

/// Asks the member cluster for the definitions of records until it serves all of them, or until it is told to stop. One that
/// goes later is noticed by the works that need it.
pub(super) async fn look_for(
    reconciler: Arc<WorkReconciler>,
    cluster: String,
    mut stop: watch::Receiver<bool>,
) {
    let mut missing = BTreeSet::from([WorkKind::ManifestWork, WorkKind::Work]);
    let mut said = BTreeSet::new();
    let mut wait = SHORTEST;
    while !missing.is_empty() {
        for kind in missing.clone() {
            // A member cluster that does not answer is in the log of the heartbeat.
            let Ok(is_served) = reconciler.records.is_lasting(kind).await else {
                continue;
            };
            reconciler.monitor.keeps_records(kind, is_served);
            if is_served {
                missing.remove(&kind);
            } else if said.insert(kind) {
                tracing::warn!("{}", kind.missing_definition());
            }
        }
        // The loop of works may have nothing else to do.
        super::say_ready(&reconciler, &cluster);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            changed = stop.changed() => match changed {
                Ok(()) if !*stop.borrow() => {}
                _ => return,
            },
        }
        wait = (wait * 2).min(LONGEST);
    }
}
