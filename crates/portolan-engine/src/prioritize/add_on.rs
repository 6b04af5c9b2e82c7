//! AddOn: the score that an add-on published for the cluster.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Input, Prioritizer, Reads, Scored};
use crate::filter::taint_toleration::earliest;
use crate::status::Status;

#[derive(Debug)]
pub(super) struct AddOn {
    resource: Arc<str>,
    score: Arc<str>,
}

impl AddOn {
    pub(super) fn of(resource: &str, score: &str) -> AddOn {
        AddOn {
            resource: resource.into(),
            score: score.into(),
        }
    }
}

impl Prioritizer for AddOn {
    fn name(&self) -> Cow<'_, str> {
        format!("AddOn/{}/{}", self.resource, self.score).into()
    }

    fn score(&self, input: &Input<'_>) -> Scored {
        let resource = &self.resource;
        let column = input.fleet.score_column(resource);
        let mut scored = Scored {
            scores: Vec::with_capacity(input.clusters.len()),
            ..Scored::default()
        };
        let mut expired = Vec::new();
        scored.is_unpublished = !input.clusters.is_empty();
        for &cluster in input.clusters {
            let object = column.get(cluster);
            let value = object.and_then(|object| object.value(&self.score));
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
            scored.warning = Some(Status::warning(&self.name(), message));
        }
        scored
    }

    fn reads(&self) -> Vec<Reads> {
        vec![Reads::Scores(self.resource.clone())]
    }

    /// OCM compares these coordinates by address, so that two equal ones both count.
    fn adds_up(&self) -> bool {
        true
    }
}
