//! A consumer on portolan-consumer that does what it is told by a recording, for the checks of consumers to judge.

use std::time::Duration;

use portolan_check::consumer::{Act, Deed};
use portolan_check::{Cluster, DecisionId, Event, Object, Recording};
use portolan_consumer::{Change, Decisions, Discovery, Options, Shared, Slice};

/// What the consumer does with all decisions of a recording. It has no time to wait: what Portolan writes has revisions.
pub(crate) fn acts(recording: &Recording) -> Vec<Act> {
    let options = Options {
        settle: Duration::ZERO,
        ..Options::new(Discovery::All)
    };
    let mut decisions = Decisions::new(options);
    decisions.list_began();
    for slice in recording.initial.slices.values() {
        decisions.apply(Slice::of(slice));
    }
    decisions.list_ended();
    let mut acts = done(&mut decisions, 0);
    for (place, event) in recording.events.iter().enumerate() {
        match event {
            Event::Added(Object::Slice(slice)) | Event::Modified(Object::Slice(slice)) => {
                decisions.apply(Slice::of(slice));
            }
            Event::Deleted(Object::Slice(slice)) => decisions.delete(&Slice::of(slice).key()),
            _ => continue,
        }
        acts.extend(done(&mut decisions, place + 1));
    }
    acts
}

fn done(decisions: &mut Decisions, after: usize) -> Vec<Act> {
    let mut acts = Vec::new();
    for update in decisions.updates(Duration::ZERO) {
        let (Shared::Key(key) | Shared::Placement { name: key, .. } | Shared::Name { name: key, .. }) =
            &update.decision.shared;
        let decision = DecisionId::kep(update.decision.namespace.clone(), key.clone());
        let cluster = |cluster: &portolan_consumer::Cluster| {
            Cluster::profile(cluster.namespace.clone(), cluster.name.clone())
        };
        let deeds = update.changes.iter().filter_map(|change| match change {
            Change::Added(chosen) => Some(Deed::Deployed(cluster(&chosen.cluster))),
            Change::Removed(gone) => Some(Deed::Removed(cluster(gone))),
            Change::Emptied => Some(Deed::Emptied),
            Change::Gone => Some(Deed::Gone),
            Change::Reordered(_) => None,
        });
        acts.extend(deeds.map(|deed| Act {
            after,
            decision: decision.clone(),
            deed,
        }));
    }
    acts
}
