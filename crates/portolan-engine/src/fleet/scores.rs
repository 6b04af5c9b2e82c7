//! AddOnPlacementScores as one column per resource name.

use std::sync::Arc;

use hashbrown::HashMap;
use jiff::Timestamp;
use portolan_api::cluster::AddOnPlacementScore;

use super::bits::ClusterId;
use super::pool::Pool;

/// The scores one AddOnPlacementScore holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScoreObject {
    /// In the object's order: on duplicates the last one counts.
    pub(crate) items: Box<[(Arc<str>, i32)]>,
    pub(crate) valid_until: Option<Timestamp>,
}

impl ScoreObject {
    pub(crate) fn from_object(object: &AddOnPlacementScore, pool: &mut Pool) -> ScoreObject {
        let status = object.status.as_ref();
        let items = status.map(|status| status.scores.as_slice()).unwrap_or_default();
        ScoreObject {
            items: items
                .iter()
                .map(|item| (pool.share(&item.name), item.value))
                .collect(),
            valid_until: status
                .and_then(|status| status.valid_until.as_ref())
                .map(|time| time.0),
        }
    }

    pub(crate) fn value(&self, score_name: &str) -> Option<i32> {
        self.items
            .iter()
            .rev()
            .find(|(name, _)| **name == *score_name)
            .map(|(_, value)| *value)
    }

    /// Strictly after: at `validUntil` itself the score still counts.
    pub(crate) fn expired(&self, now: Timestamp) -> bool {
        self.valid_until.is_some_and(|until| now > until)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Scores {
    resources: HashMap<Arc<str>, Vec<Option<Box<ScoreObject>>>>,
}

impl Scores {
    /// Puts the object in place and returns the one that was there.
    pub(crate) fn put(
        &mut self,
        resource: &Arc<str>,
        cluster: ClusterId,
        object: Option<ScoreObject>,
    ) -> Option<Box<ScoreObject>> {
        let column = self.resources.entry(resource.clone()).or_default();
        if column.len() <= cluster.index() {
            object.as_ref()?;
            column.resize(cluster.index() + 1, None);
        }
        std::mem::replace(&mut column[cluster.index()], object.map(Box::new))
    }

    pub(crate) fn get(&self, resource: &str, cluster: ClusterId) -> Option<&ScoreObject> {
        self.resources.get(resource)?.get(cluster.index())?.as_deref()
    }

    /// The column of one resource, for scans over many clusters.
    pub(crate) fn column(&self, resource: &str) -> &[Option<Box<ScoreObject>>] {
        self.resources
            .get(resource)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }
}
