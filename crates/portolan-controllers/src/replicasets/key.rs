//! What names a replica set, and a work that is made for it.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::labels::ocm;

/// A replica set: namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SetKey {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl SetKey {
    pub(crate) fn new(namespace: &str, name: &str) -> SetKey {
        SetKey {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// The owner label of its works. Namespaces have no dots, so the first one ends the namespace.
    pub(crate) fn label(&self) -> String {
        format!("{}.{}", self.namespace, self.name)
    }

    /// The replica set that an owner label names.
    pub(crate) fn of_label(label: &str) -> Option<SetKey> {
        let (namespace, name) = label.split_once('.')?;
        (!namespace.is_empty() && !name.is_empty()).then(|| SetKey::new(namespace, name))
    }
}

/// Characters that Kubernetes puts behind a `generateName`, and how many.
const GENERATED: (&str, usize) = ("bcdfghjklmnpqrstvwxz2456789", 5);
/// What Kubernetes leaves of a longer `generateName`.
const LONGEST_BASE: usize = 58;

impl SetKey {
    /// The replica set that a work was made for: its label names it, and its name is one that this controller or OCM's gives.
    /// The label alone proves nothing: an agent may write the labels of its own works, and a work that it holds would hold
    /// up the deletion of any replica set.
    pub(crate) fn of_work(metadata: &ObjectMeta) -> Option<SetKey> {
        let label = metadata.labels.as_ref()?.get(ocm::REPLICA_SET)?;
        let owner = SetKey::of_label(label)?;
        let name = metadata.name.as_deref().unwrap_or_default();
        (name == label || is_generated(name, &owner.name)).then_some(owner)
    }
}

/// Whether Kubernetes can have made the name from a `generateName`.
fn is_generated(name: &str, base: &str) -> bool {
    let (characters, length) = GENERATED;
    let Some((head, tail)) = name
        .len()
        .checked_sub(length)
        .and_then(|at| name.split_at_checked(at))
    else {
        return false;
    };
    let is_base = head == base || (head.len() == LONGEST_BASE && base.starts_with(head));
    is_base && tail.chars().all(|character| characters.contains(character))
}

impl fmt::Display for SetKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// A work: the cluster's namespace and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WorkKey {
    pub(crate) cluster: String,
    pub(crate) name: String,
}

impl WorkKey {
    /// The key of the work with this metadata.
    pub(super) fn of(metadata: &ObjectMeta) -> WorkKey {
        WorkKey {
            cluster: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
        }
    }
}

impl fmt::Display for WorkKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.cluster, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(label: &str, name: &str) -> Option<String> {
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some([(ocm::REPLICA_SET.to_owned(), label.to_owned())].into()),
            ..ObjectMeta::default()
        };
        SetKey::of_work(&metadata).map(|key| key.to_string())
    }

    #[test]
    fn a_work_belongs_to_the_set_that_its_label_and_its_name_say() {
        let shop = Some("vic/shop".to_owned());
        assert_eq!(owner("vic.shop", "vic.shop"), shop, "our name");
        assert_eq!(owner("vic.shop", "shopx7k2p"), shop, "OCM's name");
        let long = "s".repeat(70);
        let generated = format!("{}bcdfg", "s".repeat(58));
        assert_eq!(
            owner(&format!("vic.{long}"), &generated),
            Some(format!("vic/{long}"))
        );
        for name in [
            "att.other",
            "shop",
            "shopAAAAA",
            "shop-x7k2p",
            "othersx7k2p",
            "",
            "ä",
        ] {
            assert_eq!(owner("vic.shop", name), None, "{name}");
        }
    }
}
