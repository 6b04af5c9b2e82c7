//! Works as an agent reads them from its hub. The first byte chooses the kind of work, the rest is the object as JSON; its
//! field `there` is what the member cluster has where the first manifest belongs.

use serde_json::Value;

use super::choose;

/// Each manifest of a work gets a verdict, each refusal words, and the status that says so can be read again.
pub fn work_manifests(data: &[u8]) {
    let [kind, work @ ..] = data else {
        return;
    };
    let Ok(work) = serde_json::from_slice::<Value>(work) else {
        return;
    };
    let kind = choose(&["ManifestWork", "Work"], *kind);
    if let Err(broken) = portolan_agent::try_out(kind, &work, jiff::Timestamp::UNIX_EPOCH) {
        panic!("{broken}: {work}");
    }
}
