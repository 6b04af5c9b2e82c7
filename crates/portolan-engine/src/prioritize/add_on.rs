//! AddOn: the score that an add-on published for the cluster.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Input, Prioritizer, Reads, Scored};
use crate::filter::taint_toleration::earliest;
use crate::status::Status;

/// Expired scores that a message names. With more, the event and the log line of a large fleet are a list of clusters whose end,
/// which says that the scores are expired, is cut off.
const NAMED: usize = 3;

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
            scored.warning = Some(Status::warning(&self.name(), expiry(expired)));
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

/// The words about scores that are expired, the first ones by name.
fn expiry(mut expired: Vec<String>) -> String {
    expired.sort_unstable();
    let more = match expired.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    expired.truncate(NAMED);
    format!("AddOnPlacementScores {}{more} expired", expired.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_three_expired_scores_and_the_number_of_the_others() {
        let scores = |number: usize| (0..number).rev().map(|n| format!("c{n}/gpu")).collect();
        let said = "AddOnPlacementScores c0/gpu c1/gpu c2/gpu";
        assert_eq!(expiry(scores(3)), format!("{said} expired"));
        assert_eq!(expiry(scores(4)), format!("{said} and 1 more expired"));
    }
}
