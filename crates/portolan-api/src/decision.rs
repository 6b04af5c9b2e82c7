//! How the objects of a decision are read: the group of an object, the clusters that an OCM object lists, and whether
//! the labels and the clusters of an OCM object belong together.
//!
//! Every reader of decisions asks here, so that two readers never disagree about the same object.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::cluster::{ClusterDecision, PlacementDecision, content_hash};
use crate::labels::{multicluster, ocm, portolan};

/// Which decision group. Groups are ordered by index, then by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKey {
    /// Its index.
    pub index: u32,
    /// Its name, empty for groups without.
    pub name: String,
}

impl fmt::Display for GroupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.as_str() {
            "" => write!(f, "group {}", self.index),
            name => write!(f, "group {} ({name})", self.index),
        }
    }
}

/// The index of a group that is no number. The object may belong to any group, so a reader waits until the index is
/// corrected: group 0 is rolled out first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "metadata.labels[{label}] is {value:?}, which is no index of a group; accepted: {}",
    UnreadableIndex::ACCEPTED
)]
pub struct UnreadableIndex {
    /// The label that has the index.
    pub label: &'static str,
    /// Its value.
    pub value: String,
}

impl UnreadableIndex {
    /// What an index is.
    pub const ACCEPTED: &'static str = "a decimal number from 0";
}

/// The group that the labels and annotations of an object name. `None` without an index, as in objects from before OCM
/// had groups: all objects without an index are group 0.
pub fn group(metadata: &ObjectMeta) -> Result<Option<GroupKey>, UnreadableIndex> {
    let value = |key: &str| metadata.labels.as_ref()?.get(key).map(String::as_str);
    let found = [ocm::DECISION_GROUP_INDEX, multicluster::DECISION_GROUP_INDEX]
        .into_iter()
        .find_map(|key| Some((key, value(key).filter(|text| !text.is_empty())?)));
    let Some((label, text)) = found else {
        return Ok(None);
    };
    let index = index(text).ok_or_else(|| UnreadableIndex {
        label,
        value: text.to_owned(),
    })?;
    // The annotation has a name that was too long for the label.
    let annotations = metadata.annotations.as_ref();
    let name = annotations
        .and_then(|all| all.get(portolan::DECISION_GROUP_NAME).map(String::as_str))
        .or_else(|| value(ocm::DECISION_GROUP_NAME))
        .or_else(|| value(multicluster::DECISION_GROUP_NAME));
    Ok(Some(GroupKey {
        index,
        name: name.unwrap_or_default().to_owned(),
    }))
}

/// Digits without a sign; the API's indexes are of 32 bits with a sign.
fn index(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let index = text.parse().ok().filter(|_| is_plain);
    index.filter(|index| i32::try_from(*index).is_ok())
}

/// The clusters that an object lists. An entry without a name is a slot that was not filled, and stands for no cluster.
pub fn clusters(decision: &PlacementDecision) -> impl Iterator<Item = &ClusterDecision> {
    let entries = decision.status.iter().flat_map(|status| &status.decisions);
    entries.filter(|entry| !entry.cluster_name.is_empty())
}

/// Whether the labels and the clusters of an object do not belong together: both cannot change in one write. Objects of
/// other schedulers do not say, and are taken as they are.
pub fn is_torn(decision: &PlacementDecision) -> bool {
    let annotations = decision.metadata.annotations.as_ref();
    let Some(stamp) = annotations.and_then(|all| all.get(portolan::CONTENT)) else {
        return false;
    };
    let labels = decision.metadata.labels.as_ref();
    let index = labels.and_then(|all| all.get(ocm::DECISION_GROUP_INDEX));
    let names = clusters(decision).map(|entry| entry.cluster_name.as_str());
    *stamp != content_hash(index.map_or("", String::as_str), names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labelled(index: &str) -> ObjectMeta {
        let labels = [
            (ocm::DECISION_GROUP_INDEX, index),
            (ocm::DECISION_GROUP_NAME, "canary"),
        ];
        ObjectMeta {
            labels: Some(
                labels
                    .map(|(key, value)| (key.to_owned(), value.to_owned()))
                    .into(),
            ),
            ..ObjectMeta::default()
        }
    }

    #[test]
    fn an_index_is_digits_without_a_sign() {
        for (text, expected) in [("0", Ok(0)), ("007", Ok(7)), ("2147483647", Ok(2_147_483_647))] {
            let found = group(&labelled(text)).map(|group| group.unwrap_or_default().index);
            assert_eq!(found, expected, "{text}");
        }
        for text in ["+1", "-1", "one", "1.0", "2147483648", " 1", "٣"] {
            let error = group(&labelled(text)).unwrap_err();
            assert_eq!(error.value, text);
            assert!(
                error.to_string().contains("accepted: a decimal number from 0"),
                "{error}"
            );
        }
    }

    #[test]
    fn an_object_without_an_index_names_no_group() {
        assert_eq!(group(&ObjectMeta::default()), Ok(None));
        assert_eq!(group(&labelled("")), Ok(None));
    }

    #[test]
    fn the_annotation_has_the_name_that_was_too_long_for_the_label() {
        let mut metadata = labelled("1");
        let long = "c".repeat(80);
        metadata.annotations = Some([(portolan::DECISION_GROUP_NAME.to_owned(), long.clone())].into());
        let found = group(&metadata).map(|group| group.unwrap_or_default());
        assert_eq!(found, Ok(GroupKey { index: 1, name: long }));
    }

    #[test]
    fn an_entry_without_a_name_is_no_cluster_and_not_in_the_hash() {
        let mut decision: PlacementDecision = serde_json::from_value(serde_json::json!({
            "metadata": { "annotations": { portolan::CONTENT: content_hash("0", ["a"]) } },
            "status": { "decisions": [{ "clusterName": "" }, { "clusterName": "a" }] },
        }))
        .unwrap();
        decision.metadata.labels = labelled("0").labels;
        let names: Vec<&str> = clusters(&decision)
            .map(|entry| entry.cluster_name.as_str())
            .collect();
        assert_eq!(names, ["a"]);
        assert!(!is_torn(&decision));
        decision.metadata.labels = labelled("1").labels;
        assert!(is_torn(&decision));
    }
}
