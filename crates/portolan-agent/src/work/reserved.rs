//! Objects of the member cluster that no work may have: the agent's own records, and the definitions of their kinds.
//!
//! A record says what a work has left on the member cluster, and the member cluster collects what names a record that is
//! gone. A work that could write, own or withdraw the record of another work could have that work's objects deleted, or its
//! own left behind.

use portolan_api::{multicluster, work};

use super::ObjectId;

const RECORDS: [(&str, &str, &str); 2] = [
    (work::GROUP, "appliedmanifestworks", "AppliedManifestWork"),
    (multicluster::GROUP, "appliedworks", "AppliedWork"),
];
const DEFINITIONS: (&str, &str) = ("apiextensions.k8s.io", "customresourcedefinitions");

/// Why no work may have this object; `None` where a work may.
pub(crate) fn reserved(id: &ObjectId) -> Option<String> {
    let is_definition = (id.group.as_str(), id.resource.as_str()) == DEFINITIONS;
    RECORDS.into_iter().find_map(|(group, resource, kind)| {
        let is_record = (id.group.as_str(), id.resource.as_str()) == (group, resource);
        let defines_records = is_definition && id.name == format!("{resource}.{group}");
        let what = match (is_record, defines_records) {
            (true, _) => format!("the manifest is an {kind} of {group}, in which the agent keeps what works have applied"),
            (_, true) => format!(
                "the manifest is the CustomResourceDefinition of {kind}, in which the agent keeps what works have applied"
            ),
            _ => return None,
        };
        Some(format!(
            "{what}; no work may read, change or delete it. Accepted: any other kind"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(group: &str, resource: &str, name: &str) -> ObjectId {
        ObjectId {
            group: group.to_owned(),
            resource: resource.to_owned(),
            name: name.to_owned(),
            ..ObjectId::default()
        }
    }

    #[test]
    fn records_and_their_definitions_are_reserved_and_nothing_else_is() {
        let (ocm, sig) = ("work.open-cluster-management.io", "multicluster.x-k8s.io");
        for reserved_id in [
            id(ocm, "appliedmanifestworks", "hub-web"),
            id(sig, "appliedworks", "hub-web"),
            id(
                DEFINITIONS.0,
                DEFINITIONS.1,
                "appliedmanifestworks.work.open-cluster-management.io",
            ),
            id(DEFINITIONS.0, DEFINITIONS.1, "appliedworks.multicluster.x-k8s.io"),
        ] {
            let why = reserved(&reserved_id).unwrap_or_default();
            assert!(
                why.contains("Applied") && why.contains("Accepted"),
                "{reserved_id}: {why}"
            );
        }
        for free in [
            // A member cluster may be a hub itself.
            id(ocm, "manifestworks", "hub-web"),
            id(sig, "works", "hub-web"),
            id("example.com", "appliedworks", "hub-web"),
            id(
                DEFINITIONS.0,
                DEFINITIONS.1,
                "manifestworks.work.open-cluster-management.io",
            ),
            id("", "configmaps", "appliedworks.multicluster.x-k8s.io"),
        ] {
            assert_eq!(reserved(&free), None, "{free}");
        }
    }
}
