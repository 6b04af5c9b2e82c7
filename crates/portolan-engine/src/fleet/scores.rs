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
    /// Places in `items` in the order of the names, if there are many: a member writes as many as fit into an object, and every
    /// placement that uses a score looks for one.
    by_name: Box<[u32]>,
    pub(crate) valid_until: Option<Timestamp>,
}

impl ScoreObject {
    pub(crate) fn from_object(object: &AddOnPlacementScore, pool: &mut Pool) -> ScoreObject {
        let status = object.status.as_ref();
        let items = status.map(|status| status.scores.as_slice()).unwrap_or_default();
        let items: Box<[(Arc<str>, i32)]> = items
            .iter()
            .map(|item| (pool.share(&item.name), item.value))
            .collect();
        ScoreObject {
            by_name: by_name(&items),
            items,
            valid_until: status
                .and_then(|status| status.valid_until.as_ref())
                .map(|time| time.0),
        }
    }

    pub(crate) fn value(&self, score_name: &str) -> Option<i32> {
        let is_it = |(name, _): &&(Arc<str>, i32)| **name == *score_name;
        let item = match self.by_name.is_empty() {
            true => self.items.iter().rev().find(is_it),
            false => {
                let name = |place: &u32| &*self.items[*place as usize].0;
                let behind = self.by_name.partition_point(|place| name(place) <= score_name);
                let last = self.by_name[..behind].last();
                last.map(|place| &self.items[*place as usize]).filter(is_it)
            }
        };
        item.map(|(_, value)| *value)
    }

    /// Strictly after: at `validUntil` itself the score still counts.
    pub(crate) fn expired(&self, now: Timestamp) -> bool {
        self.valid_until.is_some_and(|until| now > until)
    }
}

/// Scores that are found by a look at each of them.
const FEW: usize = 16;

fn by_name(items: &[(Arc<str>, i32)]) -> Box<[u32]> {
    if items.len() <= FEW {
        return Box::default();
    }
    let mut places: Vec<u32> = (0..items.len())
        .filter_map(|place| u32::try_from(place).ok())
        .collect();
    // Stable, so that the last of the same name stays the last.
    places.sort_by_key(|place| &*items[*place as usize].0);
    places.into()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_scores_with_the_same_name_the_last_one_counts() {
        for number in [FEW, 10 * FEW] {
            let items: Box<[(Arc<str>, i32)]> = (0..number)
                .map(|place| (format!("s{}", place % 7).into(), place as i32))
                .collect();
            let object = ScoreObject {
                by_name: by_name(&items),
                items,
                valid_until: None,
            };
            assert_eq!(object.by_name.is_empty(), number == FEW);
            for name in 0..7 {
                let last = (0..number).rev().find(|place| place % 7 == name).unwrap();
                assert_eq!(object.value(&format!("s{name}")), Some(last as i32));
            }
            assert_eq!(
                (object.value("r"), object.value("s3a"), object.value("t")),
                (None, None, None)
            );
        }
    }
}
