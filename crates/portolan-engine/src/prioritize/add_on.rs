//! AddOn: the score that an add-on published for the cluster.

use super::{Input, Scored};
use crate::filter::taint_toleration::earliest;
use crate::status::Status;

pub(crate) fn score(input: &Input<'_>, resource: &str, score_name: &str, plugin: &str) -> Scored {
    let column = input.fleet.score_column(resource);
    let mut scored = Scored {
        scores: Vec::with_capacity(input.clusters.len()),
        ..Scored::default()
    };
    let mut expired = Vec::new();
    scored.is_unpublished = !input.clusters.is_empty();
    for &cluster in input.clusters {
        let object = column.get(cluster);
        let value = object.and_then(|object| object.value(score_name));
        scored.is_unpublished &= value.is_none();
        scored.scores.push(match object {
            Some(object) if object.expired(input.now) => {
                expired.push(format!("{}/{resource}", input.fleet.name(cluster)));
                0
            }
            Some(object) => {
                scored.valid_until = earliest(scored.valid_until, object.valid_until);
                value.map_or(0, i64::from)
            }
            None => 0,
        });
    }
    if !expired.is_empty() {
        expired.sort_unstable();
        let message = format!("AddOnPlacementScores {} expired", expired.join(" "));
        scored.warning = Some(Status::warning(plugin, message));
    }
    scored
}
