//! Decisions over one set of roles.

use serde_json::{Value, json};

use super::*;

fn rbac() -> Rbac {
    let mut objects = bootstrap();
    objects.extend([
        role("team-a", "reader", json!([rule("get list", "", "configmaps pods")])),
        role("", "scaler", json!([rule("update patch", "*", "*/scale"), rule("get", "apps", "deployments")])),
        role("", "logs", json!([rule("get", "", "pods/log"), rule("get", "", "secrets/*")])),
        role("", "named", json!([{"verbs": ["get", "update"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["one", "two"]}])),
        role("", "everything-in-batch", json!([rule("*", "batch", "*")])),
        role("", "any-group", json!([rule("list", "*", "widgets")])),
        role("", "paths", json!([{"verbs": ["get"], "nonResourceURLs": ["/metrics", "/debug/*"]}, {"verbs": ["*"], "nonResourceURLs": ["/own*"]}])),
        role("", "broken", json!([{"verbs": "get", "apiGroups": [""], "resources": ["pods"]}, 7, null])),
        binding("team-a", "readers", "Role/reader", &["User:ann", "ServiceAccount:robot"]),
        binding("team-b", "readers", "Role/reader", &["User:ann"]),
        binding("", "scalers", "ClusterRole/scaler", &["Group:ops"]),
        binding("", "loggers", "ClusterRole/logs", &["User:log"]),
        binding("team-a", "named", "ClusterRole/named", &["User:nia"]),
        binding("", "batch", "ClusterRole/everything-in-batch", &["ServiceAccount:ci/builder"]),
        binding("", "widgets", "ClusterRole/any-group", &["User:wim"]),
        binding("", "paths", "ClusterRole/paths", &["User:pat"]),
        binding("", "broken", "ClusterRole/broken", &["User:bro"]),
        binding("", "role-everywhere", "Role/reader", &["User:eve"]),
        binding("team-a", "admins", "ClusterRole/admin", &["User:ada"]),
        binding("team-a", "editors", "ClusterRole/edit", &["User:edi"]),
        binding("team-a", "viewers", "ClusterRole/view", &["User:vic"]),
    ]);
    Rbac::of(&objects)
}

fn identity(name: &str) -> Identity {
    match name {
        "anonymous" => Identity::anonymous(),
        "root" => Identity::authenticated("root", ["system:masters"]),
        "oli" => Identity::authenticated("oli", ["ops"]),
        _ => match name.split_once('/') {
            Some((namespace, account)) => Identity::service_account(namespace, account),
            None => user(name),
        },
    }
}

#[test]
fn requests_are_decided_as_kubernetes_decides_them() {
    let rbac = rbac();
    for (who, question, allowed) in [
        // a Role in its namespace and nowhere else
        ("ann", "get configmaps team-a/x", true),
        ("ann", "list pods team-a", true),
        ("ann", "watch pods team-a", false),
        ("ann", "get secrets team-a/x", false),
        ("ann", "get configmaps.apps team-a/x", false),
        ("ann", "get configmaps team-b/x", false),
        ("ann", "list configmaps", false),
        ("ann", "get pods/log team-a/x", false),
        ("ann", "delete configmaps team-a/x", false),
        // a ClusterRoleBinding cannot refer to a Role
        ("eve", "get configmaps team-a/x", false),
        ("eve", "get configmaps", false),
        // groups and subresources
        ("oli", "update deployments.apps/scale team-a/web", true),
        ("oli", "patch widgets.example.com/scale team-a/web", true),
        ("oli", "update deployments.apps team-a/web", false),
        ("oli", "update deployments.apps/status team-a/web", false),
        ("oli", "get deployments.apps team-a/web", true),
        ("oli", "get deployments.apps", true),
        ("ann", "update deployments.apps/scale team-a/web", false),
        ("log", "get pods/log team-a/web", true),
        ("log", "get pods team-a/web", false),
        ("log", "get pods/exec team-a/web", false),
        ("log", "get secrets/anything team-a/web", false), // `secrets/*` is no wildcard in Kubernetes
        // names
        ("nia", "get configmaps team-a/one", true),
        ("nia", "update configmaps team-a/two", true),
        ("nia", "get configmaps team-a/three", false),
        ("nia", "get configmaps team-a", false),
        ("nia", "list configmaps team-a", false),
        ("nia", "get configmaps team-b/one", false),
        // service accounts, also by the namespace of the binding
        ("team-a/robot", "get configmaps team-a/x", true),
        ("team-b/robot", "get configmaps team-a/x", false),
        ("ci/builder", "delete jobs.batch prod/x", true),
        ("ci/builder", "invent cronjobs.batch/status prod/x", true),
        ("ci/builder", "get jobs.extensions prod/x", false),
        ("ci/other", "get jobs.batch prod/x", false),
        // wildcards of groups
        ("wim", "list widgets", true),
        ("wim", "list widgets.example.com team-a", true),
        ("wim", "list gadgets.example.com", false),
        ("wim", "list widgets/status", false),
        // paths
        ("pat", "get /metrics", true),
        ("pat", "get /metrics/deeper", false),
        ("pat", "get /debug/pprof", true),
        ("pat", "get /debug", false),
        ("pat", "post /metrics", false),
        ("pat", "delete /own/thing", true),
        ("ann", "get /metrics", false),
        // rules that are none grant nothing
        ("bro", "get pods team-a/x", false),
        // everybody, with and without credential
        ("anonymous", "get /healthz", true),
        ("anonymous", "get /livez", true),
        ("anonymous", "get /readyz", true),
        ("anonymous", "get /version", true),
        ("anonymous", "get /version/", true),
        ("anonymous", "get /healthz/etcd", false),
        ("anonymous", "post /version", false),
        ("anonymous", "get /", false),
        ("anonymous", "get /api", false),
        ("anonymous", "get /apis/apps/v1", false),
        ("anonymous", "get /openapi/v3", false),
        ("anonymous", "get /metrics", false),
        ("anonymous", "list namespaces", false),
        (
            "anonymous",
            "create selfsubjectaccessreviews.authorization.k8s.io",
            false,
        ),
        ("somebody", "get /api", true),
        ("somebody", "get /apis/apps/v1", true),
        ("somebody", "get /openapi/v3/apis/apps/v1", true),
        (
            "somebody",
            "create selfsubjectaccessreviews.authorization.k8s.io",
            true,
        ),
        (
            "somebody",
            "create selfsubjectrulesreviews.authorization.k8s.io",
            true,
        ),
        (
            "somebody",
            "create selfsubjectreviews.authentication.k8s.io",
            true,
        ),
        (
            "somebody",
            "create subjectaccessreviews.authorization.k8s.io",
            false,
        ),
        ("somebody", "list namespaces", false),
        // masters
        ("root", "delete namespaces x/x", true),
        ("root", "patch /anything", true),
        // admin, edit and view in a namespace
        ("vic", "list deployments.apps team-a", true),
        ("vic", "get configmaps team-a/x", true),
        ("vic", "get secrets team-a/x", false),
        ("vic", "create configmaps team-a", false),
        ("vic", "get roles.rbac.authorization.k8s.io team-a/x", false),
        ("vic", "list deployments.apps", false),
        ("edi", "list deployments.apps team-a", true),
        ("edi", "get secrets team-a/x", true),
        ("edi", "create configmaps team-a", true),
        ("edi", "create serviceaccounts/token team-a/robot", true),
        (
            "edi",
            "create rolebindings.rbac.authorization.k8s.io team-a",
            false,
        ),
        (
            "ada",
            "create rolebindings.rbac.authorization.k8s.io team-a",
            true,
        ),
        ("ada", "delete deployments.apps team-a/web", true),
        ("ada", "watch configmaps team-a", true),
        (
            "ada",
            "create localsubjectaccessreviews.authorization.k8s.io team-a",
            true,
        ),
        ("ada", "create configmaps team-b", false),
        ("ada", "update namespaces team-a/team-a", false),
    ] {
        let identity = identity(who);
        let decision = rbac.decide(&ask(&identity, question));
        assert_eq!(decision.is_allowed(), allowed, "{who}: {question}");
    }
}

#[test]
fn an_allowed_request_names_its_binding() {
    let rbac = rbac();
    for (who, question, expected) in [
        ("root", "get pods", ""),
        (
            "ann",
            "get pods team-a/x",
            "RBAC: allowed by RoleBinding \"readers/team-a\" of Role \"reader\" to User \"ann\"",
        ),
        (
            "team-a/robot",
            "get pods team-a/x",
            "RBAC: allowed by RoleBinding \"readers/team-a\" of Role \"reader\" to ServiceAccount \"robot/team-a\"",
        ),
        (
            "oli",
            "update a/scale",
            "RBAC: allowed by ClusterRoleBinding \"scalers\" of ClusterRole \"scaler\" to Group \"ops\"",
        ),
    ] {
        let identity = identity(who);
        let Decision::Allowed(reason) = rbac.decide(&ask(&identity, question)) else {
            panic!("{who}: {question}")
        };
        assert_eq!(reason.to_string(), expected);
    }
}

#[test]
fn a_denied_request_is_refused_in_kubernetes_words() {
    let rbac = rbac();
    for (who, question, expected) in [
        (
            "x",
            "list configmaps default",
            "configmaps is forbidden: User \"x\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"default\"",
        ),
        (
            "x",
            "get deployments.apps/scale default/web",
            "deployments.apps \"web\" is forbidden: User \"x\" cannot get resource \"deployments/scale\" in API group \"apps\" in the namespace \"default\"",
        ),
        (
            "x",
            "list namespaces",
            "namespaces is forbidden: User \"x\" cannot list resource \"namespaces\" in API group \"\" at the cluster scope",
        ),
        (
            "anonymous",
            "get /metrics",
            "forbidden: User \"system:anonymous\" cannot get path \"/metrics\"",
        ),
        (
            "x",
            "get /<script>&",
            "forbidden: User \"x\" cannot get path \"/&lt;script&gt;&amp;\"",
        ),
        (
            "eve",
            "list pods",
            "pods is forbidden: User \"eve\" cannot list resource \"pods\" in API group \"\" at the cluster scope: RBAC: role.rbac.authorization.k8s.io \"reader\" not found",
        ),
    ] {
        let identity = identity(who);
        let request = ask(&identity, question);
        let Decision::Denied(denial) = rbac.decide(&request) else {
            panic!("{who}: {question}")
        };
        let status = denial.status(&request);
        assert_eq!(
            (&status["message"], &status["reason"], &status["code"]),
            (&json!(expected), &json!("Forbidden"), &json!(403))
        );
    }
    let identity = identity("x");
    let request = ask(&identity, "get deployments.apps default/web");
    let Decision::Denied(denial) = rbac.decide(&request) else {
        panic!()
    };
    assert_eq!(
        denial.status(&request)["details"],
        json!({"name": "web", "group": "apps", "kind": "deployments"})
    );
}

/// The bound is generous for debug builds and shared machines; release builds take a fraction of a microsecond.
#[test]
fn a_decision_among_thousands_of_bindings_looks_at_those_of_its_user() {
    let mut objects = bootstrap();
    for index in 0..2000 {
        let namespace = format!("team-{index}");
        objects.push(binding(
            &namespace,
            "editors",
            "ClusterRole/edit",
            &[&format!("User:user-{index}"), "Group:ops"],
        ));
        objects.push(binding(
            "",
            &format!("readers-{index}"),
            "ClusterRole/view",
            &[&format!("Group:group-{index}")],
        ));
    }
    let rbac = Rbac::of(&objects);
    let identity = Identity::authenticated("user-7", ["ops", "group-1", "group-2", "group-3"]);
    let questions = [
        "get configmaps team-7/x",
        "update deployments.apps/scale team-8/web",
        "delete namespaces x/x",
        "get /metrics",
    ];
    for question in questions {
        let looked_at = rbac.bindings_for(&ask(&identity, question));
        assert!((1..10).contains(&looked_at), "{question}: {looked_at}");
    }
}

#[test]
fn objects_of_other_kinds_and_shapes_are_passed_over() {
    let odd = [
        json!({"kind": "Pod", "metadata": {"name": "x"}}),
        json!(null),
        json!({"kind": "ClusterRole"}),
        json!({"kind": "RoleBinding", "subjects": [{"kind": "Robot", "name": "r"}, 7], "roleRef": 3}),
        json!({"kind": "ClusterRole", "metadata": {"name": "a"}, "aggregationRule": {"clusterRoleSelectors": [{"matchExpressions": [{"key": "x", "operator": "Near"}]}]}}),
    ];
    let rbac = Rbac::of(odd.iter());
    assert!(!rbac.decide(&ask(&user("ann"), "get pods")).is_allowed());
    assert_eq!(aggregated_rules(&rbac, "a"), Some(Vec::<Value>::new()));
}
