//! A user grants only rights that the user has.

use serde_json::{Value, json};

use super::*;
use crate::access::rbac::escalation::Escalation;

fn rbac() -> Rbac {
    let mut objects = bootstrap();
    objects.extend([
        role("", "pods", json!([rule("get list", "", "pods"), rule("get", "", "*/scale")])),
        role("", "one-config", json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["one"]}])),
        role("", "debug", json!([{"verbs": ["get"], "nonResourceURLs": ["/debug/*"]}])),
        role("", "escalators", json!([rule("escalate", GROUP, "roles clusterroles")])),
        role("", "binders", json!([{"verbs": ["bind"], "apiGroups": [GROUP], "resources": ["clusterroles"], "resourceNames": ["view"]}])),
        role("ns", "local", json!([rule("delete", "", "pods")])),
        binding("", "pods", "ClusterRole/pods", &["User:ann"]),
        binding("", "one-config", "ClusterRole/one-config", &["User:ann"]),
        binding("", "debug", "ClusterRole/debug", &["User:ann"]),
        binding("ns", "local", "Role/local", &["User:ann"]),
        binding("", "escalators", "ClusterRole/escalators", &["User:esc"]),
        binding("ns", "binders", "ClusterRole/binders", &["User:bin"]),
        binding("", "root", "ClusterRole/cluster-admin", &["User:all"]),
    ]);
    Rbac::of(&objects)
}

fn named(verbs: &str, resources: &str, names: &[&str]) -> Value {
    let mut rule = rule(verbs, "", resources);
    rule["resourceNames"] = json!(names);
    rule
}

fn path(verb: &str, path: &str) -> Value {
    json!({"verbs": [verb], "nonResourceURLs": [path]})
}

#[test]
fn a_role_may_grant_only_what_its_writer_has() {
    let rbac = rbac();
    for (who, namespace, rules, allowed) in [
        ("ann", "", json!([]), true),
        ("ann", "", json!([rule("get", "", "pods")]), true),
        ("ann", "", json!([rule("get list", "", "pods")]), true),
        ("ann", "ns", json!([rule("get list", "", "pods")]), true),
        ("ann", "", json!([named("get", "pods", &["x"])]), true),
        ("ann", "", json!([rule("delete", "", "pods")]), false),
        ("ann", "ns", json!([rule("delete", "", "pods")]), true),
        ("ann", "other", json!([rule("delete", "", "pods")]), false),
        ("ann", "", json!([rule("*", "", "pods")]), false),
        ("ann", "", json!([rule("get", "", "*")]), false),
        ("ann", "", json!([rule("get", "*", "pods")]), false),
        ("ann", "", json!([rule("get", "", "deployments/scale")]), true),
        ("ann", "", json!([rule("get", "", "pods/log")]), false),
        ("ann", "", json!([named("get", "configmaps", &["one"])]), true),
        (
            "ann",
            "",
            json!([named("get", "configmaps", &["one", "two"])]),
            false,
        ),
        ("ann", "", json!([rule("get", "", "configmaps")]), false),
        ("ann", "", json!([path("get", "/debug/pprof")]), true),
        ("ann", "", json!([path("get", "/debug/*")]), true),
        ("ann", "", json!([path("get", "/*")]), false),
        ("ann", "", json!([path("post", "/debug/pprof")]), false),
        ("esc", "", json!([rule("*", "*", "*")]), true),
        ("esc", "ns", json!([rule("*", "*", "*")]), true),
        ("all", "", json!([rule("*", "*", "*"), path("*", "*")]), true),
        ("nobody", "", json!([rule("get", "", "pods")]), false),
    ] {
        let kind = if namespace.is_empty() {
            Kind::ClusterRole
        } else {
            Kind::Role
        };
        let result = rbac.check_role(&user(who), kind, None, &role(namespace, "new", rules.clone()));
        assert_eq!(result.is_ok(), allowed, "{who} {namespace} {rules}: {result:?}");
    }
    let root = Identity::authenticated("root", ["system:masters"]);
    assert_eq!(
        rbac.check_role(
            &root,
            Kind::ClusterRole,
            None,
            &role("", "r", json!([rule("*", "*", "*")]))
        ),
        Ok(())
    );
}

#[test]
fn the_refusal_lists_what_is_missing() {
    let ann = Identity::authenticated("ann", ["devs"]);
    let rules = json!([
        rule("get delete", "", "pods secrets"),
        named("get", "configmaps", &["two"]),
        path("get", "/x")
    ]);
    let error = rbac()
        .check_role(&ann, Kind::ClusterRole, None, &role("", "new", rules))
        .unwrap_err();
    let expected = "clusterroles.rbac.authorization.k8s.io \"new\" is forbidden: user \"ann\" (groups=[\"devs\" \"system:authenticated\"]) \
        is attempting to grant RBAC permissions not currently held:\n\
        {APIGroups:[\"\"], Resources:[\"configmaps\"], ResourceNames:[\"two\"], Verbs:[\"get\"]}\n\
        {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}\n\
        {APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"delete\"]}\n\
        {NonResourceURLs:[\"/x\"], Verbs:[\"get\"]}";
    let status = error.status("clusterroles", "new");
    assert_eq!(
        (&status["message"], &status["code"]),
        (&json!(expected), &json!(403))
    );
}

#[test]
fn roles_that_are_missing_are_named_as_a_possible_cause() {
    let mut rbac = rbac();
    let new = role("", "new", json!([rule("delete", "", "pods")]));
    let mut expected = String::from(
        "user \"ann\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n\
        {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}",
    );
    let gone = [
        "clusterroles.rbac.authorization.k8s.io \"gone\" not found",
        "clusterroles.rbac.authorization.k8s.io \"lost\" not found",
    ];
    for (role, suffix) in [
        ("ClusterRole/gone", format!("; resolution errors: [{}]", gone[0])),
        (
            "ClusterRole/lost",
            format!("; resolution errors: [[{}, {}]]", gone[0], gone[1]),
        ),
    ] {
        let error = rbac
            .check_role(&user("ann"), Kind::ClusterRole, None, &new)
            .unwrap_err();
        assert_eq!(error.to_string(), expected);
        rbac.apply(&binding(
            "",
            role.rsplit('/').next().unwrap(),
            role,
            &["User:ann"],
        ));
        expected.truncate(expected.find(';').unwrap_or(expected.len()));
        expected += &suffix;
    }
    let error = rbac
        .check_role(&user("ann"), Kind::ClusterRole, None, &new)
        .unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn an_aggregation_rule_needs_everything() {
    let rbac = rbac();
    let mut gathering = role("", "sum", json!([]));
    gathering["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]});
    let plain = role("", "sum", json!([]));
    for (who, old, new, expected) in [
        ("ann", None, &gathering, Err(Escalation::Aggregation)),
        ("ann", Some(&gathering), &plain, Err(Escalation::Aggregation)),
        ("ann", Some(&plain), &gathering, Err(Escalation::Aggregation)),
        ("all", None, &gathering, Ok(())),
        ("esc", None, &gathering, Ok(())),
    ] {
        assert_eq!(
            rbac.check_role(&user(who), Kind::ClusterRole, old, new),
            expected,
            "{who}"
        );
    }
}

#[test]
fn garbage_collection_may_touch_roles_of_any_strength() {
    let rbac = rbac();
    let old = role("", "strong", json!([rule("*", "*", "*")]));
    let mut new = old.clone();
    new["metadata"]["finalizers"] = json!([]);
    new["metadata"]["ownerReferences"] = json!([{"name": "x"}]);
    assert_eq!(
        rbac.check_role(&user("ann"), Kind::ClusterRole, Some(&old), &new),
        Ok(())
    );
    new["metadata"]["labels"] = json!({"a": "b"});
    assert!(
        rbac.check_role(&user("ann"), Kind::ClusterRole, Some(&old), &new)
            .is_err()
    );
}

#[test]
fn a_binding_may_give_only_what_its_writer_has_or_may_bind() {
    let rbac = rbac();
    for (who, namespace, to, allowed) in [
        ("ann", "", "ClusterRole/pods", true),
        ("ann", "ns", "ClusterRole/pods", true),
        ("ann", "ns", "Role/local", true),
        ("ann", "", "ClusterRole/view", false),
        ("ann", "ns", "ClusterRole/cluster-admin", false),
        ("bin", "ns", "ClusterRole/view", true),
        ("bin", "", "ClusterRole/view", false),
        ("bin", "other", "ClusterRole/view", false),
        ("bin", "ns", "ClusterRole/edit", false),
        ("esc", "ns", "ClusterRole/edit", false),
        ("all", "", "ClusterRole/cluster-admin", true),
        ("ann", "ns", "ClusterRole/gone", false),
        ("bin", "ns", "Role/gone", false),
    ] {
        let kind = if namespace.is_empty() {
            Kind::ClusterRoleBinding
        } else {
            Kind::RoleBinding
        };
        let result = rbac.check_binding(
            &user(who),
            kind,
            None,
            &binding(namespace, "new", to, &["User:x"]),
        );
        assert_eq!(result.is_ok(), allowed, "{who} {namespace} {to}: {result:?}");
    }
    let missing = binding("ns", "new", "ClusterRole/gone", &["User:x"]);
    let error = rbac
        .check_binding(&user("ann"), Kind::RoleBinding, None, &missing)
        .unwrap_err();
    let status = error.status("rolebindings", "new");
    assert_eq!(
        status["message"],
        "clusterroles.rbac.authorization.k8s.io \"gone\" not found"
    );
    assert_eq!(status["code"], 404);
}

#[test]
fn a_role_with_too_many_permissions_is_refused_before_they_are_compared() {
    let rbac = rbac();
    let names: Vec<String> = (0..20_000).map(|i| format!("n{i}")).collect();
    let rule = json!({"apiGroups": names, "resources": names, "verbs": names, "resourceNames": names});
    let huge = role("ns", "huge", json!([rule]));
    let error = rbac
        .check_role(&user("ann"), Kind::Role, None, &huge)
        .unwrap_err();
    assert!(
        error.to_string().contains("at most 100000 are compared"),
        "{error}"
    );
    assert_eq!(error.status("roles", "huge")["code"], 403);
}

#[test]
fn a_comparison_with_too_many_rules_is_refused_after_a_bounded_number_of_steps() {
    let mut rbac = rbac();
    let rules: Vec<Value> = (0..20_000).map(|i| rule("get", "", &format!("r{i}"))).collect();
    rbac.apply(&role("ns", "many", json!(rules)));
    for i in 0..20 {
        rbac.apply(&binding("ns", &format!("many-{i}"), "Role/many", &["User:ann"]));
    }
    let words = |letter: &str| (0..200).map(|i| format!("{letter}{i}")).collect::<Vec<_>>();
    let wide =
        json!({"apiGroups": [""], "resources": words("x"), "verbs": ["get"], "resourceNames": words("n")});
    let error = rbac
        .check_role(&user("ann"), Kind::Role, None, &role("ns", "wide", json!([wide])))
        .unwrap_err();
    assert!(error.to_string().contains("in 10000000 steps"), "{error}");
    assert_eq!(error.status("roles", "wide")["code"], 403);

    let own = json!([rule("get", "", "r19999 r1")]);
    let few = rbac.check_role(&user("ann"), Kind::Role, None, &role("ns", "few", own));
    assert_eq!(
        few,
        Ok(()),
        "a role of a few permissions is compared with all rules"
    );
    let all = role("", "all", json!([rule("get", "", &words("x").join(" "))]));
    assert_eq!(
        rbac.check_role(&user("all"), Kind::ClusterRole, None, &all),
        Ok(())
    );
}

#[test]
fn rules_that_several_bindings_give_are_held_once() {
    let mut rbac = rbac();
    let before = rbac.rules_for(&user("ann"), "ns").len();
    rbac.apply(&role(
        "ns",
        "same",
        json!([rule("delete", "", "pods"), rule("get", "", "nodes")]),
    ));
    for i in 0..20 {
        rbac.apply(&binding("ns", &format!("same-{i}"), "Role/same", &["User:ann"]));
    }
    assert_eq!(rbac.rules_for(&user("ann"), "ns").len(), before + 1);
}
