//! Whether a work is complete as it is now, and not only as it was when its status was written.

use std::collections::HashMap;

use super::options::ManifestPlace;
use crate::labels::conditions::COMPLETE;
use crate::work::{ManifestCondition, ManifestConfigOption, ManifestWork, well_known_conditions};

/// Whether the work has a manifest that can be complete, and the status says of every such manifest that it is. A manifest
/// that came into the work after the status was written is not complete.
pub fn is_complete(work: &ManifestWork) -> bool {
    let status = work
        .status
        .as_ref()
        .and_then(|status| status.resource_status.as_ref());
    let said = Entries::of(status.map_or(&[][..], |status| &status.manifests));
    let mut manifests = work.spec.workload.manifests.iter().map(ManifestPlace::of);
    let mut has_one = false;
    let all = manifests.all(|place| {
        let entry = said.about(&place);
        if !can_complete(&place, entry, &work.spec.manifest_configs) {
            return true;
        }
        has_one = true;
        entry.is_some_and(says_complete)
    });
    has_one && all
}

/// The entries of a status by group, kind, namespace and name. A search through the status for each manifest would take the
/// product of two lengths, and a member chooses both.
struct Entries<'s> {
    entries: &'s [ManifestCondition],
    first: HashMap<[&'s str; 4], usize>,
}

impl<'s> Entries<'s> {
    fn of(entries: &'s [ManifestCondition]) -> Entries<'s> {
        let mut first = HashMap::with_capacity(entries.len());
        for (position, entry) in entries.iter().enumerate() {
            let meta = &entry.resource_meta;
            let key = [&*meta.group, &*meta.kind, &*meta.namespace, &*meta.name];
            first.entry(key).or_insert(position);
        }
        Entries { entries, first }
    }

    /// The first entry about a manifest. A kind without namespaces has none in the status, whatever its manifest says.
    fn about(&self, place: &ManifestPlace<'_>) -> Option<&'s ManifestCondition> {
        let at = |namespace| self.first.get(&[place.group, place.kind, namespace, place.name]);
        let position = [at(place.namespace), at("")].into_iter().flatten().min()?;
        self.entries.get(*position)
    }
}

/// Whether a rule of the work can say that the manifest is complete. Of all options that name an object, the first one
/// with rules counts. The status knows the resource of the object for certain.
fn can_complete(
    place: &ManifestPlace<'_>,
    entry: Option<&ManifestCondition>,
    options: &[ManifestConfigOption],
) -> bool {
    let is_named = |option: &&ManifestConfigOption| {
        let identifier = &option.resource_identifier;
        match entry.map(|entry| &entry.resource_meta) {
            Some(meta) if !meta.resource.is_empty() => {
                identifier.names(&meta.group, &meta.resource, &meta.namespace, &meta.name)
            }
            _ => place.is_meant_by(identifier),
        }
    };
    let mut with_rules = options.iter().filter(|option| !option.condition_rules.is_empty());
    let usual = || well_known_conditions(place.group, place.kind).contains(&COMPLETE);
    with_rules.find(is_named).is_some_and(|option| {
        let mut rules = option.condition_rules.iter();
        rules.any(|rule| rule.can_give(COMPLETE, usual))
    })
}

fn says_complete(entry: &ManifestCondition) -> bool {
    let mut all = entry.conditions.iter();
    all.any(|condition| condition.type_ == COMPLETE && condition.status == "True")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn job(name: &str) -> Value {
        json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": name, "namespace": "shop" } })
    }

    fn option(group: &str, resource: &str, name: &str, rule: Value) -> Value {
        json!({
            "resourceIdentifier": { "group": group, "resource": resource, "namespace": "shop", "name": name },
            "conditionRules": [rule],
        })
    }

    fn usual() -> Value {
        json!({ "type": "WellKnownConditions" })
    }

    fn cel() -> Value {
        json!({ "type": "CEL", "condition": "Complete", "celExpressions": ["true"] })
    }

    /// What the agent says of an object in the namespace `shop`.
    fn said(group: &str, kind: &str, resource: &str, name: &str, complete: &str) -> Value {
        json!({
            "resourceMeta": {
                "group": group, "version": "v1", "kind": kind, "resource": resource, "namespace": "shop", "name": name,
            },
            "conditions": [{
                "type": "Complete", "status": complete, "reason": "r", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }],
        })
    }

    fn done(name: &str) -> Value {
        said("batch", "Job", "jobs", name, "True")
    }

    fn complete(manifests: &[Value], options: &[Value], said: &[Value]) -> bool {
        let work = json!({
            "metadata": { "namespace": "east", "name": "job" },
            "spec": { "workload": { "manifests": manifests }, "manifestConfigs": options },
            "status": { "resourceStatus": { "manifests": said } },
        });
        is_complete(&serde_json::from_value(work).unwrap())
    }

    /// A search through the status for each manifest takes minutes here; an index takes a moment.
    #[test]
    fn a_long_status_is_read_without_a_search_for_each_manifest() {
        let manifests: Vec<Value> = (0..20_000)
            .map(|number| json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "namespace": "shop", "name": number.to_string() } }))
            .collect();
        let options = [json!({
            "resourceIdentifier": { "group": "batch", "resource": "jobs", "namespace": "shop", "name": "*" },
            "conditionRules": [cel()],
        })];
        let mut said: Vec<Value> = (0..20_000)
            .rev()
            .map(|number| done(&number.to_string()))
            .collect();
        assert!(complete(&manifests, &options, &said));
        said.pop();
        assert!(!complete(&manifests, &options, &said));
    }

    #[test]
    fn a_work_is_complete_once_every_manifest_is_that_can_be() {
        let all = [option("batch", "jobs", "*", usual())];
        assert!(complete(&[job("a")], &all, &[done("a")]));
        assert!(complete(&[job("a"), job("b")], &all, &[done("a"), done("b")]));
        let open = said("batch", "Job", "jobs", "b", "False");
        assert!(!complete(&[job("a"), job("b")], &all, &[done("a"), open]));
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "c", "namespace": "shop" } });
        assert!(complete(&[job("a"), map.clone()], &all, &[done("a")]));
        assert!(!complete(&[map], &all, &[]));
    }

    #[test]
    fn a_manifest_that_took_the_place_of_a_complete_one_is_not_complete() {
        let all = [option("batch", "jobs", "*", usual())];
        assert!(!complete(&[job("b")], &all, &[done("a")]));
        assert!(!complete(&[job("a"), job("b")], &all, &[done("a")]));
        assert!(complete(&[job("a")], &all, &[done("a"), done("b")]));
    }

    #[test]
    fn only_a_rule_that_can_give_the_condition_makes_a_work_complete() {
        let other = json!({ "type": "WellKnownConditions", "condition": "Degraded" });
        assert!(!complete(&[job("a")], &[], &[done("a")]));
        assert!(!complete(
            &[job("a")],
            &[option("batch", "jobs", "a", other.clone())],
            &[done("a")]
        ));
        assert!(!complete(
            &[job("a")],
            &[option("batch", "jobs", "z", usual())],
            &[done("a")]
        ));
        // The first option with rules counts.
        let both = [
            option("batch", "jobs", "a", other),
            option("batch", "jobs", "*", cel()),
        ];
        assert!(!complete(&[job("a")], &both, &[done("a")]));
    }

    #[test]
    fn the_status_says_which_resource_a_manifest_of_an_unknown_group_has() {
        let manifest = |kind: &str| json!({ "apiVersion": "example.com/v1", "kind": kind, "metadata": { "name": "a", "namespace": "shop" } });
        let options = [option("example.com", "backups", "*", cel())];
        let backup = said("example.com", "Backup", "backups", "a", "True");
        let store = said("example.com", "Store", "stores", "a", "False");
        let both = [manifest("Backup"), manifest("Store")];
        assert!(complete(&both, &options, &[backup.clone(), store]));
        // What nothing is known of may be meant.
        assert!(!complete(&both, &options, &[backup]));
    }
}
