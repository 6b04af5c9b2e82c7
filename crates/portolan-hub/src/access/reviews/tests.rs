//! Reviews, asked and answered.

use serde_json::{Value, json};

use super::*;
use crate::access::rbac::bootstrap;

fn rbac() -> Rbac {
    let mut objects = bootstrap();
    objects.push(json!({
        "kind": "RoleBinding", "metadata": {"name": "viewers", "namespace": "team-a"},
        "roleRef": {"kind": "ClusterRole", "name": "view"}, "subjects": [{"kind": "Group", "name": "devs"}],
    }));
    objects.push(json!({
        "kind": "ClusterRoleBinding", "metadata": {"name": "broken"},
        "roleRef": {"kind": "ClusterRole", "name": "gone"}, "subjects": [{"kind": "User", "name": "bob"}],
    }));
    Rbac::of(&objects)
}

fn ann() -> Identity {
    Identity::authenticated("ann", ["devs"])
}

#[test]
fn a_self_review_says_what_the_user_may_do_and_why() {
    let allowed = "RBAC: allowed by RoleBinding \"viewers/team-a\" of ClusterRole \"view\" to Group \"devs\"";
    for (spec, status) in [
        (
            json!({"resourceAttributes": {"verb": "list", "resource": "configmaps", "namespace": "team-a"}}),
            json!({"allowed": true, "reason": allowed}),
        ),
        (
            json!({"resourceAttributes": {"verb": "list", "resource": "configmaps"}}),
            json!({"allowed": false}),
        ),
        (
            json!({"resourceAttributes": {"verb": "get", "resource": "secrets", "namespace": "team-a"}}),
            json!({"allowed": false}),
        ),
        (
            json!({"resourceAttributes": {"verb": "*", "resource": "*", "group": "*"}}),
            json!({"allowed": false}),
        ),
        (
            json!({"nonResourceAttributes": {"verb": "get", "path": "/version"}, "resourceAttributes": null}),
            json!({"allowed": true, "reason": "RBAC: allowed by ClusterRoleBinding \"system:discovery\" of ClusterRole \"system:discovery\" to Group \"system:authenticated\""}),
        ),
        (
            json!({"nonResourceAttributes": {"verb": "get", "path": "/metrics"}}),
            json!({"allowed": false}),
        ),
    ] {
        let review = json!({"metadata": {"creationTimestamp": null}, "spec": spec});
        let answer = self_subject_access_review(&rbac(), &ann(), &review).unwrap();
        assert_eq!(answer["status"], status, "{spec}");
        assert_eq!(
            (&answer["kind"], &answer["spec"]),
            (&json!("SelfSubjectAccessReview"), &spec)
        );
    }
}

#[test]
fn a_subject_review_asks_about_exactly_the_groups_it_names() {
    let attributes = json!({"verb": "get", "resource": "pods", "namespace": "team-a"});
    for (user, groups, allowed, reason) in [
        (
            "ann",
            json!(["devs"]),
            true,
            Some("RBAC: allowed by RoleBinding \"viewers/team-a\" of ClusterRole \"view\" to Group \"devs\""),
        ),
        ("ann", json!([]), false, None),
        (
            "",
            json!(["devs"]),
            true,
            Some("RBAC: allowed by RoleBinding \"viewers/team-a\" of ClusterRole \"view\" to Group \"devs\""),
        ),
        ("root", json!(["system:masters"]), true, None),
        (
            "bob",
            json!([]),
            false,
            Some("RBAC: clusterrole.rbac.authorization.k8s.io \"gone\" not found"),
        ),
    ] {
        let review = json!({"spec": {"user": user, "groups": groups, "resourceAttributes": attributes}});
        let mut expected = json!({"allowed": allowed});
        if let Some(reason) = reason {
            expected["reason"] = json!(reason);
        }
        assert_eq!(
            subject_access_review(&rbac(), &review).unwrap()["status"],
            expected,
            "{user} {groups}"
        );
        let mut local = review.clone();
        local["metadata"] = json!({"namespace": "team-a"});
        let local = local_subject_access_review(&rbac(), "team-a", &local).unwrap();
        assert_eq!(
            (&local["kind"], &local["status"]),
            (&json!("LocalSubjectAccessReview"), &expected)
        );
    }
}

#[test]
fn reviews_that_ask_nothing_are_refused() {
    let attributes = json!({"verb": "get", "resource": "pods"});
    let path = json!({"verb": "get", "path": "/"});
    let own = |review: Value| self_subject_access_review(&rbac(), &ann(), &review).unwrap_err();
    let other = |review: Value| subject_access_review(&rbac(), &review).unwrap_err();
    let local = |review: Value| local_subject_access_review(&rbac(), "team-a", &review).unwrap_err();
    for (error, says, code) in [
        (
            own(json!({})),
            "spec.resourceAttributes: Invalid value: \"null\": exactly one of",
            422,
        ),
        (
            own(json!({"spec": {"resourceAttributes": attributes, "nonResourceAttributes": path}})),
            "cannot be specified in combination",
            422,
        ),
        (
            own(json!({"metadata": {"name": "x"}, "spec": {"nonResourceAttributes": path}})),
            "must be empty",
            422,
        ),
        (
            other(json!({"spec": {"resourceAttributes": attributes}})),
            "spec.user: Invalid value: \"\": at least one of user or group",
            422,
        ),
        (
            local(json!({"spec": {"user": "a", "nonResourceAttributes": path}})),
            "disallowed on this kind of request",
            422,
        ),
        (
            local(json!({"spec": {"user": "a", "resourceAttributes": attributes}})),
            "must match metadata.namespace",
            422,
        ),
        (
            local(
                json!({"metadata": {"name": "x"}, "spec": {"user": "a", "resourceAttributes": attributes}}),
            ),
            "must be empty except for namespace",
            422,
        ),
        (
            self_subject_rules_review(&rbac(), &ann(), &json!({})).unwrap_err(),
            "no namespace on request",
            400,
        ),
    ] {
        assert!(error.to_string().contains(says), "{error}");
        let status = error.status();
        assert_eq!(status["code"], code);
        assert!(status["message"].as_str().unwrap().contains(says), "{status}");
    }
}

#[test]
fn a_rules_review_lists_rules_on_resources_and_on_paths() {
    let answer =
        self_subject_rules_review(&rbac(), &ann(), &json!({"spec": {"namespace": "team-a"}})).unwrap();
    let status = &answer["status"];
    assert_eq!(status["incomplete"], false);
    let resources = status["resourceRules"].as_array().unwrap();
    assert!(resources.contains(&json!({"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]})));
    assert!(resources.iter().any(|rule| {
        rule["resources"]
            .as_array()
            .unwrap()
            .contains(&json!("configmaps"))
    }));
    let paths = status["nonResourceRules"].as_array().unwrap();
    assert!(paths.contains(&json!({"verbs": ["get"], "nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"]})));
    let elsewhere =
        self_subject_rules_review(&rbac(), &ann(), &json!({"spec": {"namespace": "other"}})).unwrap();
    assert!(elsewhere["status"]["resourceRules"].as_array().unwrap().len() < resources.len());
}

#[test]
fn a_self_subject_review_says_who_the_user_is() {
    let expected = json!({"username": "system:serviceaccount:ns:robot", "groups": ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"]});
    assert_eq!(
        self_subject_review(&Identity::service_account("ns", "robot"))["status"]["userInfo"],
        expected
    );
    let mut known = Identity {
        user: "ann".to_owned(),
        uid: "7".to_owned(),
        ..Identity::default()
    };
    known.extra.insert("team".to_owned(), vec!["a".to_owned()]);
    let expected = json!({"username": "ann", "uid": "7", "extra": {"team": ["a"]}});
    assert_eq!(self_subject_review(&known)["status"]["userInfo"], expected);
}

#[test]
fn a_rules_review_lists_each_rule_once_and_not_more_than_fit() {
    let rule = |number: usize, verb: &str| json!({"verbs": [verb], "apiGroups": [""], "resources": [format!("r{number}")]});
    let role = |rules: Vec<Value>| json!({"kind": "Role", "metadata": {"name": "many", "namespace": "ns"}, "rules": rules});
    let binding = |number: usize| {
        json!({
            "kind": "RoleBinding",
            "metadata": {"name": format!("b{number}"), "namespace": "ns"},
            "roleRef": {"kind": "Role", "name": "many"},
            "subjects": [{"kind": "User", "name": "ann"}],
        })
    };
    let listed = |rules: Vec<Value>| {
        let objects: Vec<Value> = (0..20).map(binding).chain([role(rules)]).collect();
        let review = json!({"spec": {"namespace": "ns"}});
        let answer = self_subject_rules_review(&Rbac::of(&objects), &ann(), &review).unwrap();
        let status = answer["status"].clone();
        (status["resourceRules"].as_array().unwrap().len(), status)
    };
    let (count, status) = listed((0..10).map(|number| rule(number, "get")).collect());
    assert_eq!((count, &status["incomplete"]), (10, &json!(false)));
    assert!(status.get("evaluationError").is_none());

    let (count, status) = listed((0..6000).map(|number| rule(number, "get")).collect());
    assert_eq!((count, &status["incomplete"]), (5000, &json!(true)));
    let why = status["evaluationError"].as_str().unwrap();
    assert!(why.starts_with("5000 of 6000 rules are listed"), "{why}");

    let long = "v".repeat(1 << 20);
    let (count, status) = listed((0..3).map(|number| rule(number, &long)).collect());
    assert_eq!((count, &status["incomplete"]), (1, &json!(true)));
}
