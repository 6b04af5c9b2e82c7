//! Clusters that are being removed.

use jiff::{SignedDuration, Timestamp};
use portolan_api::cluster::ManagedCluster;
use portolan_api::count::counted;
use portolan_api::labels::portolan::LEAVE;

use super::Check;
use super::read::Observed;
use crate::output;

/// A removal that takes longer was interrupted, or waits for an agent that does not run: `portolan leave` gives up by then.
const LONGEST: SignedDuration = SignedDuration::from_mins(5);

/// What the removals of clusters wait for; nothing while no cluster is being removed.
pub(super) fn judge(observed: &Observed, clusters: &[&ManagedCluster], now: Timestamp) -> Option<Check> {
    let leaving: Vec<(&str, Timestamp, &ManagedCluster)> = clusters
        .iter()
        .filter_map(|cluster| {
            let since = cluster.metadata.deletion_timestamp.as_ref()?.0;
            Some((cluster.metadata.name.as_deref()?, since, *cluster))
        })
        .collect();
    let (first, ..) = leaving.first()?;
    let said: Vec<String> = leaving
        .iter()
        .map(|(name, since, cluster)| {
            let waits = waits_for(observed, name, cluster);
            format!("{name} for {}, waiting for {waits}", output::age(*since, now))
        })
        .collect();
    let found = format!("being removed: {}", said.join("; "));
    let is_long = |(_, since, _): &(&str, Timestamp, &ManagedCluster)| now.duration_since(*since) > LONGEST;
    Some(match leaving.iter().any(is_long) {
        false => Check::note("leaving", found),
        true => Check::problem(
            "leaving",
            found,
            format!(
                "`portolan leave {first}` goes on with the removal and says what it waits for; with --force it does not wait \
                 for an agent that is gone"
            ),
        ),
    })
}

fn waits_for(observed: &Observed, name: &str, cluster: &ManagedCluster) -> String {
    let works = observed.works.iter().flatten();
    let works = works.filter(|work| work.metadata.namespace.as_deref() == Some(name));
    match works.count() {
        0 => {}
        number => return format!("its agent to remove {}", counted(number, "ManifestWork")),
    }
    let finalizers = cluster.metadata.finalizers.iter().flatten();
    let others: Vec<&str> = finalizers
        .map(String::as_str)
        .filter(|finalizer| *finalizer != LEAVE)
        .collect();
    match others.is_empty() {
        true => format!("`portolan leave {name}` to finish"),
        false => format!("the finalizers {}", others.join(", ")),
    }
}
