//! What a cluster has on its hub: its ManagedCluster, its namespace, and an account that may touch nothing else.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::labels::ocm;
use portolan_api::labels::portolan::{AGENT_NAMESPACE, AGENT_ROLE, WAIT_FOR_WORKS};
use serde_json::{Value, json};

/// The account of an agent that joined with an earlier version: it was in the namespace of its cluster.
pub(crate) const FORMER_ACCOUNT: &str = "portolan-agent";

const RBAC: &str = "rbac.authorization.k8s.io";
const CLUSTER: &str = "cluster.open-cluster-management.io";

/// Annotation of the members that `portolan up` has made, and of no other cluster: `portolan join` refuses their names.
pub(crate) const EMBEDDED_BY: (&str, &str) = ("portolan.dev/embedded-by", "portolan-up");

/// Whether `up` has made the cluster, whatever its name and labels say.
pub(crate) fn is_embedded(cluster: &ObjectMeta) -> bool {
    let (key, by_us) = EMBEDDED_BY;
    let mark = cluster.annotations.as_ref().and_then(|all| all.get(key));
    mark.is_some_and(|mark| mark == by_us)
}

/// A cluster that is to be part of the fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Newcomer {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    /// Its exclusive cluster set.
    pub(crate) set: Option<String>,
    /// How often its agent renews its Lease, in seconds; what the hub defaults to without it.
    pub(crate) lease_duration: Option<u16>,
}

impl Newcomer {
    /// Whether `portolan up` makes it.
    pub(crate) fn is_embedded(&self) -> bool {
        self.annotations.contains_key(EMBEDDED_BY.0)
    }

    /// The account that its agent uses.
    pub(crate) fn user(&self) -> String {
        format!("system:serviceaccount:{AGENT_NAMESPACE}:{}", self.name)
    }

    /// The groups of the account.
    pub(crate) fn groups(&self) -> [String; 2] {
        [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{AGENT_NAMESPACE}"),
        ]
    }

    /// Everything, in the order in which it is to be applied: the rights before the account that has them, so that an
    /// agent that finds its account finds its rights. Where the cluster joined with an earlier version, the account that
    /// it got then keeps its rights.
    pub(crate) fn objects(&self, has_former_account: bool) -> Vec<Value> {
        let (name, here) = (&self.name, self.name.as_str());
        let labels = json!({(ocm::CLUSTER_NAME): name});
        let subjects = self.subjects(has_former_account);
        vec![
            self.cluster(),
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}),
            json!({"apiVersion": format!("{RBAC}/v1"), "kind": "Role",
                "metadata": {"name": AGENT_ROLE, "namespace": here, "finalizers": [WAIT_FOR_WORKS]},
                "rules": in_namespace()}),
            json!({"apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding",
                "metadata": {"name": AGENT_ROLE, "namespace": here, "finalizers": [WAIT_FOR_WORKS]},
                "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": AGENT_ROLE}, "subjects": subjects}),
            json!({"apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole",
                "metadata": {"name": cluster_role(name), "labels": labels},
                "rules": of_cluster(name)}),
            json!({"apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRoleBinding",
                "metadata": {"name": cluster_role(name), "labels": labels},
                "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": cluster_role(name)},
                "subjects": subjects}),
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": AGENT_NAMESPACE}}),
            json!({"apiVersion": "v1", "kind": "ServiceAccount",
                "metadata": {"name": name, "namespace": AGENT_NAMESPACE, "labels": labels}}),
        ]
    }

    fn cluster(&self) -> Value {
        let mut labels = self.labels.clone();
        labels.extend(self.set.clone().map(|set| (ocm::CLUSTER_SET.to_owned(), set)));
        let mut cluster = json!({
            "apiVersion": format!("{CLUSTER}/v1"), "kind": "ManagedCluster", "metadata": {"name": self.name},
            "spec": {"hubAcceptsClient": true},
        });
        if !labels.is_empty() {
            cluster["metadata"]["labels"] = json!(labels);
        }
        if !self.annotations.is_empty() {
            cluster["metadata"]["annotations"] = json!(self.annotations);
        }
        if let Some(seconds) = self.lease_duration {
            cluster["spec"]["leaseDurationSeconds"] = json!(seconds);
        }
        cluster
    }

    fn subjects(&self, has_former_account: bool) -> Value {
        let mut subjects =
            vec![json!({"kind": "ServiceAccount", "name": self.name, "namespace": AGENT_NAMESPACE})];
        if has_former_account {
            subjects.push(json!({"kind": "ServiceAccount", "name": FORMER_ACCOUNT, "namespace": self.name}));
        }
        json!(subjects)
    }
}

/// The ClusterRole and ClusterRoleBinding of an agent.
pub(crate) fn cluster_role(cluster: &str) -> String {
    format!("portolan-agent:{cluster}")
}

/// What an agent may do in its cluster's namespace.
fn in_namespace() -> Value {
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    json!([
        rule(
            "work.open-cluster-management.io",
            &["manifestworks"],
            // Finalizers are in the object itself.
            &["get", "list", "watch", "patch"]
        ),
        rule(
            "work.open-cluster-management.io",
            &["manifestworks/status"],
            &["get", "patch"]
        ),
        rule(
            "multicluster.x-k8s.io",
            &["works"],
            &["get", "list", "watch", "patch"]
        ),
        rule("multicluster.x-k8s.io", &["works/status"], &["get", "patch"]),
        rule("coordination.k8s.io", &["leases"], &["get", "create", "patch"]),
        rule("", &["events"], &["create", "patch"]),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
        rule(
            CLUSTER,
            &["addonplacementscores"],
            &["get", "list", "watch", "create", "patch"]
        ),
        rule(CLUSTER, &["addonplacementscores/status"], &["get", "patch"]),
    ])
}

/// What an agent may do with its own ManagedCluster: see it, and say how the cluster is. Labels, taints and acceptance are
/// the hub's.
fn of_cluster(name: &str) -> Value {
    json!([
        {"apiGroups": [CLUSTER], "resources": ["managedclusters"], "resourceNames": [name],
            "verbs": ["get", "list", "watch"]},
        {"apiGroups": [CLUSTER], "resources": ["managedclusters/status"], "resourceNames": [name],
            "verbs": ["get", "patch"]},
    ])
}

/// Why a cluster cannot have this name, which is that of a namespace too.
pub(crate) fn refuse_name(name: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let ends = |c: Option<char>| c.is_some_and(|c| c != '-');
    let label =
        name.len() <= 63 && name.chars().all(plain) && ends(name.chars().next()) && ends(name.chars().last());
    if !label {
        return Some(
            "accepted: what names a namespace, at most 63 lowercase letters, digits and `-`, such as west-1"
                .to_owned(),
        );
    }
    let system =
        ["default", "open-cluster-management", AGENT_NAMESPACE].contains(&name) || name.starts_with("kube-");
    system.then(|| {
        format!(
            "the namespace {name} has another purpose, and the agent could read it; accepted: any other name"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn west() -> Newcomer {
        Newcomer {
            name: "west".to_owned(),
            labels: BTreeMap::from([("tier".to_owned(), "gold".to_owned())]),
            set: Some("prod".to_owned()),
            ..Newcomer::default()
        }
    }

    #[test]
    fn the_cluster_is_accepted_with_its_labels_and_set() {
        let objects = west().objects(false);
        assert_eq!(objects[0]["spec"], json!({"hubAcceptsClient": true}));
        assert_eq!(
            objects[0]["metadata"]["labels"],
            json!({"tier": "gold", "cluster.open-cluster-management.io/clusterset": "prod"})
        );
    }

    #[test]
    fn rights_beyond_the_namespace_are_on_the_own_cluster_by_name() {
        for object in west().objects(false) {
            if object["kind"] == "ClusterRole" {
                for rule in object["rules"].as_array().unwrap() {
                    assert_eq!(rule["resourceNames"], json!(["west"]), "{rule}");
                }
            }
            let wide = object["kind"].as_str().unwrap().starts_with("Cluster");
            let text = object.to_string();
            assert!(!text.contains('*'), "{text}");
            assert_eq!(
                wide || object["kind"] == "Namespace" || object["kind"] == "ManagedCluster",
                object.pointer("/metadata/namespace").is_none()
            );
        }
    }

    #[test]
    fn an_account_of_an_earlier_version_keeps_its_rights() {
        let bindings = |has_former_account| {
            let objects = west().objects(has_former_account).into_iter();
            objects.filter(|object| {
                object["kind"]
                    .as_str()
                    .is_some_and(|kind| kind.ends_with("Binding"))
            })
        };
        for (before, after) in bindings(false).zip(bindings(true)) {
            let (before, after) = (before["subjects"].clone(), after["subjects"].clone());
            assert_eq!(before[0], after[0]);
            assert_eq!(before.as_array().unwrap().len(), 1);
            assert_eq!(
                after[1],
                json!({"kind": "ServiceAccount", "name": "portolan-agent", "namespace": "west"})
            );
        }
    }

    #[test]
    fn a_name_is_one_that_a_namespace_can_have_and_no_other_has() {
        for name in ["west", "eu-central-1", "a", "0"] {
            assert_eq!(refuse_name(name), None, "{name}");
        }
        let long = "x".repeat(64);
        for name in ["", "-a", "a-", "A", "a.b", "a/b", long.as_str()] {
            assert!(refuse_name(name).unwrap().contains("63"), "{name}");
        }
        for name in [
            "default",
            "kube-system",
            "open-cluster-management",
            "portolan-agents",
        ] {
            assert!(refuse_name(name).unwrap().contains("another purpose"), "{name}");
        }
    }
}
