//! The roles and bindings every hub starts with, as data. They follow Kubernetes; `admin`, `edit` and `view` gather what
//! carries their label, so that a CustomResourceDefinition can bring its own part.

use serde_json::{Value, json};

use super::GROUP;

const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["create", "delete", "deletecollection", "patch", "update"];
const ALL: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

/// `(verbs, API group, resources)`.
type Rule = (&'static [&'static str], &'static str, &'static [&'static str]);

const AUTHORIZATION: &str = "authorization.k8s.io";

const VIEW: &[Rule] = &[
    (
        READ,
        "",
        &[
            "bindings",
            "configmaps",
            "endpoints",
            "events",
            "limitranges",
            "namespaces",
            "namespaces/status",
            "persistentvolumeclaims",
            "persistentvolumeclaims/status",
            "pods",
            "pods/log",
            "pods/status",
            "replicationcontrollers",
            "replicationcontrollers/scale",
            "replicationcontrollers/status",
            "resourcequotas",
            "resourcequotas/status",
            "serviceaccounts",
            "services",
            "services/status",
        ],
    ),
    (READ, "discovery.k8s.io", &["endpointslices"]),
    (READ, "events.k8s.io", &["events"]),
    (
        READ,
        "apps",
        &[
            "controllerrevisions",
            "daemonsets",
            "daemonsets/status",
            "deployments",
            "deployments/scale",
            "deployments/status",
            "replicasets",
            "replicasets/scale",
            "replicasets/status",
            "statefulsets",
            "statefulsets/scale",
            "statefulsets/status",
        ],
    ),
    (
        READ,
        "autoscaling",
        &["horizontalpodautoscalers", "horizontalpodautoscalers/status"],
    ),
    (
        READ,
        "batch",
        &["cronjobs", "cronjobs/status", "jobs", "jobs/status"],
    ),
    (
        READ,
        "policy",
        &["poddisruptionbudgets", "poddisruptionbudgets/status"],
    ),
    (
        READ,
        "networking.k8s.io",
        &["ingresses", "ingresses/status", "networkpolicies"],
    ),
];

const EDIT: &[Rule] = &[
    (
        READ,
        "",
        &[
            "pods/attach",
            "pods/exec",
            "pods/portforward",
            "pods/proxy",
            "secrets",
            "services/proxy",
        ],
    ),
    (&["impersonate"], "", &["serviceaccounts"]),
    (
        WRITE,
        "",
        &[
            "configmaps",
            "endpoints",
            "events",
            "persistentvolumeclaims",
            "pods",
            "pods/attach",
            "pods/exec",
            "pods/portforward",
            "pods/proxy",
            "replicationcontrollers",
            "replicationcontrollers/scale",
            "secrets",
            "serviceaccounts",
            "services",
            "services/proxy",
        ],
    ),
    (&["create"], "", &["pods/eviction", "serviceaccounts/token"]),
    (WRITE, "events.k8s.io", &["events"]),
    (
        WRITE,
        "apps",
        &[
            "daemonsets",
            "deployments",
            "deployments/rollback",
            "deployments/scale",
            "replicasets",
            "replicasets/scale",
            "statefulsets",
            "statefulsets/scale",
        ],
    ),
    (WRITE, "autoscaling", &["horizontalpodautoscalers"]),
    (WRITE, "batch", &["cronjobs", "jobs"]),
    (WRITE, "policy", &["poddisruptionbudgets"]),
    (WRITE, "networking.k8s.io", &["ingresses", "networkpolicies"]),
    (ALL, "coordination.k8s.io", &["leases"]),
];

const ADMIN: &[Rule] = &[
    (&["create"], AUTHORIZATION, &["localsubjectaccessreviews"]),
    (ALL, GROUP, &["rolebindings", "roles"]),
];

const BASIC_USER: &[Rule] = &[
    (
        &["create"],
        AUTHORIZATION,
        &["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    ),
    (&["create"], "authentication.k8s.io", &["selfsubjectreviews"]),
];

const CLUSTER_ADMIN: &[Rule] = &[(&["*"], "*", &["*"])];

/// What everybody may see without a credential.
const PUBLIC: &[&str] = &["/healthz", "/livez", "/readyz", "/version", "/version/"];

const DISCOVERY: &[&str] = &[
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
    "/version/",
];

const MONITORING: &[&str] = &[
    "/healthz",
    "/healthz/*",
    "/livez",
    "/livez/*",
    "/metrics",
    "/metrics/slis",
    "/readyz",
    "/readyz/*",
];

/// `(role, groups)` of the bindings; each has the name of its role.
const BINDINGS: &[(&str, &[&str])] = &[
    ("cluster-admin", &["system:masters"]),
    ("system:basic-user", &["system:authenticated"]),
    ("system:discovery", &["system:authenticated"]),
    ("system:monitoring", &["system:monitoring"]),
    (
        "system:public-info-viewer",
        &["system:authenticated", "system:unauthenticated"],
    ),
];

/// The ClusterRoles and ClusterRoleBindings to create in an empty hub.
pub(crate) fn bootstrap() -> Vec<Value> {
    let mut objects = vec![
        role(
            "cluster-admin",
            &[],
            [rules(CLUSTER_ADMIN), paths(&["*"], &["*"])].concat(),
        ),
        role("system:aggregate-to-admin", &["admin"], rules(ADMIN)),
        role("system:aggregate-to-edit", &["edit"], rules(EDIT)),
        role("system:aggregate-to-view", &["view"], rules(VIEW)),
        role("system:basic-user", &[], rules(BASIC_USER)),
        role("system:discovery", &[], paths(&["get"], DISCOVERY)),
        role("system:monitoring", &[], paths(&["get"], MONITORING)),
        role("system:public-info-viewer", &[], paths(&["get"], PUBLIC)),
        // Each of these also carries the label of the next stronger one.
        gathering("admin", &[]),
        gathering("edit", &["admin"]),
        gathering("view", &["edit"]),
    ];
    objects.extend(BINDINGS.iter().map(|(role, groups)| binding(role, groups)));
    objects
}

fn role(name: &str, gathered_by: &[&str], rules: Vec<Value>) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": metadata(name, gathered_by),
        "rules": rules,
    })
}

fn gathering(name: &str, gathered_by: &[&str]) -> Value {
    let mut role = role(name, gathered_by, Vec::new());
    role["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {label(name): "true"}}]});
    role
}

fn binding(role: &str, groups: &[&str]) -> Value {
    let subjects: Vec<Value> = groups
        .iter()
        .map(|group| json!({"apiGroup": GROUP, "kind": "Group", "name": group}))
        .collect();
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": metadata(role, &[]),
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": subjects,
    })
}

fn metadata(name: &str, gathered_by: &[&str]) -> Value {
    let mut labels = json!({"kubernetes.io/bootstrapping": "rbac-defaults"});
    for gatherer in gathered_by {
        labels[label(gatherer)] = json!("true");
    }
    json!({
        "name": name,
        "labels": labels,
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    })
}

fn label(role: &str) -> String {
    format!("rbac.authorization.k8s.io/aggregate-to-{role}")
}

fn rules(rules: &[Rule]) -> Vec<Value> {
    rules
        .iter()
        .map(
            |(verbs, group, resources)| json!({"verbs": verbs, "apiGroups": [group], "resources": resources}),
        )
        .collect()
}

fn paths(verbs: &[&str], paths: &[&str]) -> Vec<Value> {
    vec![json!({"verbs": verbs, "nonResourceURLs": paths})]
}
