//! Names of cluster sets that are misspelt. A condition proposes only sets that are bound, because it is written again when
//! these change; a command reads all sets at once and proposes the others as well.

use std::collections::BTreeMap;

use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::ocm;
use portolan_api::{FieldError, spelling};

use crate::input::{Finding, Manifests};

const MISSING: &str = "there is no ManagedClusterSet of this name";
const CREATE: &str = "create the set and a ManagedClusterSetBinding of this name";

/// The sets that Placements ask for and that do not exist, each with the set that may be meant.
#[derive(Debug)]
pub(crate) struct SetNames {
    meant: BTreeMap<String, String>,
}

impl SetNames {
    pub(crate) fn of(manifests: &Manifests) -> SetNames {
        let sets = manifests.cluster_sets();
        let sets: Vec<&str> = sets.filter_map(|set| set.metadata.name.as_deref()).collect();
        let asked = manifests
            .placements()
            .flat_map(|placement| &placement.spec.cluster_sets);
        let missing = asked.filter(|set| !sets.contains(&set.as_str()));
        let meant = missing.filter_map(|set| {
            let meant = spelling::did_you_mean(set, sets.iter().copied())?;
            Some((set.clone(), meant.to_owned()))
        });
        SetNames {
            meant: meant.collect(),
        }
    }

    /// A text with the set that may be meant behind each set that does not exist. The text of a condition proposes bound sets
    /// itself.
    pub(crate) fn proposed(&self, mut text: String) -> String {
        for (set, meant) in &self.meant {
            let missing = format!("{set:?}: {MISSING}");
            let mut parts = text.split(missing.as_str());
            let mut whole = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                whole.push_str(&missing);
                // A condition that proposes a bound set, or names a binding, has said what to do.
                let clause = part.split("spec.clusterSets[").next().unwrap_or_default();
                let clause = clause.split('\n').next().unwrap_or_default();
                let is_said =
                    clause.contains("did you mean") || clause.starts_with("; create the set, which");
                if !is_said {
                    whole.push_str(&format!("; {}", unbound(meant)));
                }
                let creates = part.strip_prefix("; correct the name, or ");
                let creates = creates.and_then(|part| part.strip_prefix(CREATE));
                whole.push_str(creates.filter(|_| !is_said).unwrap_or(part));
            }
            text = whole;
        }
        text
    }

    /// The same for a finding, whose field has the name of the set, and which says once which sets are accepted.
    pub(crate) fn correct(&self, finding: &mut Finding) {
        if !finding.field.starts_with("spec.clusterSets") {
            return;
        }
        finding.problem = self.proposed(std::mem::take(&mut finding.problem));
        let bound = "; spec.clusterSets can name [";
        if let Some((before, after)) = finding.problem.split_once(bound)
            && let Some((names, rest)) = after.split_once(']')
            && let Some((_, rest)) = rest.split_once(" bound")
        {
            finding.accepted = format!("a bound set [{names}]");
            finding.problem = format!("{before}{rest}");
        }
        let meant = self.meant.iter();
        let mut meant = meant.filter(|(set, _)| finding.value == format!("{set:?}"));
        if finding.problem == MISSING
            && !finding.accepted.contains("did you mean")
            && let Some((_, meant)) = meant.next()
        {
            let or_create = format!(", or {CREATE}");
            let accepted = finding.accepted.replace(&or_create, "");
            finding.accepted = format!("{accepted}; {}", unbound(meant));
        }
    }
}

/// A cluster that is put into a set that does not exist is in no set, and no placement finds it there. Every hub has the
/// default set.
pub(crate) fn missing_set(cluster: &ManagedCluster, sets: &[&str]) -> Option<FieldError> {
    let set = cluster.metadata.labels.as_ref()?.get(ocm::CLUSTER_SET)?;
    if set == ocm::DEFAULT_CLUSTER_SET || sets.contains(&set.as_str()) {
        return None;
    }
    let accepted = match spelling::did_you_mean(set, sets.iter().copied()) {
        Some(meant) => format!("the name of a ManagedClusterSet; did you mean {meant}?"),
        None => "the name of a ManagedClusterSet".to_owned(),
    };
    Some(FieldError::of_text(
        format!("metadata.labels[{}]", ocm::CLUSTER_SET),
        set,
        format!("{MISSING}, so that the label puts the cluster into no set"),
        accepted,
    ))
}

/// The question whether a set is meant that exists and is not bound to the namespace of the Placement.
fn unbound(set: &str) -> String {
    format!(
        "did you mean {set}? It is not bound to the namespace: correct the name and create a ManagedClusterSetBinding {set}"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::input::Severity;

    fn names() -> SetNames {
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": [
            { "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
              "metadata": { "name": "production" } },
            { "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
              "metadata": { "name": "ledger", "namespace": "bank" }, "spec": { "clusterSets": ["productoin"] } }] });
        SetNames::of(&crate::input::read_bytes("hub.json", list.to_string().into_bytes()).unwrap())
    }

    #[test]
    fn a_misspelt_set_is_answered_with_the_set_that_exists_and_is_not_bound() {
        let said = "is \"productoin\": there is no ManagedClusterSet of this name";
        let meant = "; did you mean production? It is not bound to the namespace: correct the name and create a \
                     ManagedClusterSetBinding production";
        assert_eq!(
            names().proposed(format!("{said}; correct the name, or {CREATE}")),
            format!("{said}{meant}")
        );
        assert_eq!(names().proposed(said.to_owned()), format!("{said}{meant}"));
        let bound = format!("{said}; did you mean \"products\"?");
        assert_eq!(names().proposed(bound.clone()), bound);
    }

    #[test]
    fn a_finding_about_a_set_says_once_which_sets_are_bound() {
        let mut finding = Finding::new(
            Severity::Warning,
            None,
            "Placement bank/ledger",
            "None of ManagedClusterSets [productoin] is bound to placement namespace; spec.clusterSets can name [other], which \
             is bound; spec.clusterSets[0] is \"productoin\": there is no ManagedClusterSet of this name",
        );
        finding.field = "spec.clusterSets".to_owned();
        finding.accepted = "sets that are bound to the namespace and have clusters".to_owned();
        names().correct(&mut finding);
        assert_eq!(finding.accepted, "a bound set [other]");
        assert!(!finding.problem.contains("can name"), "{}", finding.problem);
        assert!(
            finding.problem.contains("did you mean production?"),
            "{}",
            finding.problem
        );
    }
}
