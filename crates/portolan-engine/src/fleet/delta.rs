//! What a change to one cluster touched.

use std::sync::Arc;

use super::bits::ClusterId;
use super::cluster::Pairs;
use crate::selector::Requirement;

/// A label or claim of a cluster that came, went or got another value.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) key: Arc<str>,
    pub(crate) before: Option<Arc<str>>,
    pub(crate) after: Option<Arc<str>>,
}

impl Change {
    /// Whether the requirement is met before and not after, or the other way round.
    pub(crate) fn flips(&self, requirement: &Requirement) -> bool {
        self.key == requirement.key
            && requirement.matches(self.before.as_deref()) != requirement.matches(self.after.as_deref())
    }
}

/// What a change to one cluster touched, so that only placements that look at it are evaluated again.
#[derive(Debug, Default)]
pub(crate) struct ClusterDelta {
    pub(crate) cluster: Option<ClusterId>,
    /// The cluster came, went, or started being deleted.
    pub(crate) presence: bool,
    pub(crate) any: bool,
    pub(crate) labels: Vec<Change>,
    pub(crate) claims: Vec<Change>,
    pub(crate) taints: bool,
    /// A profile that shares its member cluster with others came, went or changed: theirs may count now.
    pub(crate) duplicate_members: bool,
    /// The cluster joined or left a set.
    pub(crate) membership: bool,
    pub(crate) cpu: bool,
    pub(crate) memory: bool,
}

impl ClusterDelta {
    /// The change of a label.
    pub(crate) fn label(&self, key: &str) -> Option<&Change> {
        change_of(&self.labels, key)
    }

    /// The change of a claim.
    pub(crate) fn claim(&self, key: &str) -> Option<&Change> {
        change_of(&self.claims, key)
    }
}

/// Each placement looks up the few keys that it reads: a cluster may change tens of thousands at once.
fn change_of<'c>(changes: &'c [Change], key: &str) -> Option<&'c Change> {
    let found = changes.binary_search_by(|change| (*change.key).cmp(key));
    changes.get(found.ok()?)
}

/// The keys whose value differs, in key order.
pub(super) fn changes(old: &Pairs, new: &Pairs) -> Vec<Change> {
    let (mut changes, mut a, mut b) = (Vec::new(), old.iter().peekable(), new.iter().peekable());
    loop {
        let (old, new) = match (a.peek(), b.peek()) {
            (Some(x), Some(y)) if x.0 == y.0 => (a.next(), b.next()),
            (Some(x), other) if other.is_none_or(|y| x.0 < y.0) => (a.next(), None),
            (_, Some(_)) => (None, b.next()),
            _ => return changes,
        };
        let value = |pair: Option<&(Arc<str>, Arc<str>)>| pair.map(|(_, value)| value.clone());
        let (before, after) = (value(old), value(new));
        if before != after
            && let Some((key, _)) = old.or(new)
        {
            changes.push(Change {
                key: key.clone(),
                before,
                after,
            });
        }
    }
}

impl ClusterDelta {
    /// Whether something changed that the fleet's index or its sets go by.
    pub(crate) fn touches_index(&self) -> bool {
        let pairs = !self.labels.is_empty() || !self.claims.is_empty();
        self.presence || pairs || self.taints || self.cpu || self.memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_found_by_its_key_among_many() {
        let change = |number: usize| Change {
            key: format!("{number:05}").into(),
            before: None,
            after: Some("x".into()),
        };
        let delta = ClusterDelta {
            claims: (0..1_000).map(|number| change(2 * number)).collect(),
            ..ClusterDelta::default()
        };
        assert!(delta.claim("00000").is_some() && delta.claim("01998").is_some());
        assert!(
            delta.claim("00001").is_none() && delta.claim("").is_none() && delta.label("00000").is_none()
        );
    }
}
