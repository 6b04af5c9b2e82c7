//! The index follows its objects; ClusterRoles gather others.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

#[test]
fn changes_take_effect_one_by_one() {
    let mut rbac = Rbac::default();
    let ann = user("ann");
    let allowed = |rbac: &Rbac, question: &str| rbac.decide(&ask(&ann, question)).is_allowed();

    rbac.apply(&binding("ns", "b", "Role/r", &["User:ann"]));
    assert!(!allowed(&rbac, "get pods ns/x"), "the role is not there yet");
    rbac.apply(&role("ns", "r", json!([rule("get", "", "pods")])));
    assert!(allowed(&rbac, "get pods ns/x"));
    rbac.apply(&role("ns", "r", json!([rule("list", "", "pods")])));
    assert!(!allowed(&rbac, "get pods ns/x") && allowed(&rbac, "list pods ns"));
    rbac.apply(&binding("ns", "b", "Role/r", &["User:bob"]));
    assert!(!allowed(&rbac, "list pods ns"), "the subject went");
    rbac.apply(&binding(
        "ns",
        "b",
        "Role/r",
        &["User:ann", "User:ann", "Group:system:authenticated"],
    ));
    assert!(allowed(&rbac, "list pods ns"));
    rbac.remove(Kind::RoleBinding, "ns", "b");
    assert!(!allowed(&rbac, "list pods ns"));

    rbac.apply(&role("", "c", json!([rule("get", "", "nodes")])));
    rbac.apply(&binding("", "b", "ClusterRole/c", &["User:ann"]));
    assert!(allowed(&rbac, "get nodes x"));
    rbac.remove(Kind::ClusterRole, "", "c");
    assert!(!allowed(&rbac, "get nodes x"));
    rbac.remove(Kind::ClusterRoleBinding, "", "b");
    rbac.remove(Kind::ClusterRoleBinding, "", "never-there");
    rbac.remove(Kind::Role, "ns", "r");
    assert_eq!(
        format!("{rbac:?}"),
        format!("{:?}", Rbac::default()),
        "nothing is left behind"
    );
}

#[test]
fn a_copy_of_the_index_stays_as_it_is_while_the_index_changes() {
    let mut rbac = Rbac::default();
    let (ann, bob) = (user("ann"), user("bob"));
    let allowed = |rbac: &Rbac, who| rbac.decide(&ask(who, "get pods ns/x")).is_allowed();
    rbac.apply(&role("ns", "r", json!([rule("get", "", "pods")])));
    rbac.apply(&binding("ns", "b", "Role/r", &["User:ann"]));
    let before = rbac.clone();
    rbac.apply(&binding("ns", "b", "Role/r", &["User:bob"]));
    assert!(allowed(&before, &ann) && !allowed(&before, &bob));
    assert!(!allowed(&rbac, &ann) && allowed(&rbac, &bob));
}

fn labelled(name: &str, label: &str, rules: Value) -> Value {
    let mut role = role("", name, rules);
    role["metadata"]["labels"] = json!({label: "true"});
    role
}

fn gathering(name: &str, label: &str, selector: Value) -> Value {
    let mut role = labelled(name, label, json!([rule("get", "", "stale")]));
    role["aggregationRule"] = json!({"clusterRoleSelectors": [selector]});
    role
}

#[test]
fn a_role_gathers_the_rules_of_the_roles_it_selects() {
    let mut rbac = Rbac::of(&[
        gathering("sum", "none", json!({"matchLabels": {"to-sum": "true"}})),
        labelled(
            "b",
            "to-sum",
            json!([rule("get", "", "b"), rule("get", "", "both")]),
        ),
        binding("", "sum", "ClusterRole/sum", &["User:ann"]),
    ]);
    let ann = user("ann");
    let allowed = |rbac: &Rbac, question: &str| rbac.decide(&ask(&ann, question)).is_allowed();
    assert!(allowed(&rbac, "get b") && !allowed(&rbac, "get a") && !allowed(&rbac, "get stale"));
    rbac.apply(&labelled(
        "a",
        "to-sum",
        json!([rule("get", "", "a"), rule("get", "", "both")]),
    ));
    assert!(allowed(&rbac, "get a"));
    let expected = [
        rule("get", "", "a"),
        rule("get", "", "both"),
        rule("get", "", "b"),
    ];
    assert_eq!(aggregated_rules(&rbac, "sum"), Some(expected.to_vec()));
    assert_eq!(aggregated_rules(&rbac, "a"), None);
    rbac.apply(&labelled("b", "elsewhere", json!([rule("get", "", "b")])));
    assert!(!allowed(&rbac, "get b"));
    rbac.remove(Kind::ClusterRole, "", "a");
    assert!(!allowed(&rbac, "get a"));
}

#[test]
fn roles_that_gather_each_other_in_a_circle_end_up_with_the_same() {
    let rbac = Rbac::of(&[
        gathering("one", "to-two", json!({"matchLabels": {"to-one": "true"}})),
        gathering("two", "to-one", json!({"matchLabels": {"to-two": "true"}})),
        labelled("leaf", "to-two", json!([rule("get", "", "leaf")])),
    ]);
    let expected = Some(vec![rule("get", "", "leaf")]);
    assert_eq!(
        (aggregated_rules(&rbac, "one"), aggregated_rules(&rbac, "two")),
        (expected.clone(), expected)
    );
}

#[test]
fn selectors_can_use_expressions() {
    let labels = json!({"tier": "gold", "team": "a"});
    for (expression, matches) in [
        (
            json!({"key": "tier", "operator": "In", "values": ["gold", "silver"]}),
            true,
        ),
        (
            json!({"key": "tier", "operator": "In", "values": ["silver"]}),
            false,
        ),
        (
            json!({"key": "tier", "operator": "NotIn", "values": ["silver"]}),
            true,
        ),
        (
            json!({"key": "other", "operator": "NotIn", "values": ["silver"]}),
            true,
        ),
        (json!({"key": "tier", "operator": "Exists"}), true),
        (json!({"key": "other", "operator": "Exists"}), false),
        (json!({"key": "other", "operator": "DoesNotExist"}), true),
        (json!({"key": "tier", "operator": "DoesNotExist"}), false),
    ] {
        let mut leaf = role("", "leaf", json!([rule("get", "", "leaf")]));
        leaf["metadata"]["labels"] = labels.clone();
        let rbac = Rbac::of(&[
            leaf,
            gathering("sum", "none", json!({"matchExpressions": [expression]})),
        ]);
        let gathered = aggregated_rules(&rbac, "sum").unwrap();
        assert_eq!(!gathered.is_empty(), matches, "{expression}");
    }
}

/// One change: which object, and whether it is written or removed.
fn change() -> impl Strategy<Value = (bool, Value)> {
    let name = || prop::sample::select(vec!["a", "b"]);
    let subject = prop::sample::select(vec!["User:ann", "Group:ops", "ServiceAccount:robot"]);
    let place = || prop::sample::select(vec!["", "ns", "other"]);
    let verb = prop::sample::select(vec!["get", "list", "*"]);
    prop_oneof![
        (any::<bool>(), place(), name(), verb)
            .prop_map(|(keep, place, name, verb)| (keep, role(place, name, json!([rule(verb, "", "pods")])))),
        (any::<bool>(), place(), name(), name(), subject).prop_map(|(keep, place, name, to, subject)| {
            let kind = if place.is_empty() { "ClusterRole" } else { "Role" };
            (keep, binding(place, name, &format!("{kind}/{to}"), &[subject]))
        }),
    ]
}

proptest! {
    #[test]
    fn an_index_that_followed_every_change_equals_one_built_at_once(changes in prop::collection::vec(change(), 0..30)) {
        let mut followed = Rbac::default();
        let mut state = std::collections::BTreeMap::new();
        for (keep, object) in changes {
            let kind = object["kind"].as_str().unwrap().to_owned();
            let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            if keep {
                followed.apply(&object);
                state.insert((kind, namespace, name), object);
            } else {
                followed.remove(Kind::from_name(&kind).unwrap(), &namespace, &name);
                state.remove(&(kind, namespace, name));
            }
        }
        let built = Rbac::of(state.values());
        for identity in [user("ann"), Identity::authenticated("bob", ["ops"]), Identity::service_account("ns", "robot")] {
            for question in ["get pods ns/x", "list pods other", "list pods", "delete pods ns/x"] {
                let request = ask(&identity, question);
                prop_assert_eq!(format!("{:?}", followed.decide(&request)), format!("{:?}", built.decide(&request)));
            }
        }
    }
}

/// A search for each rule among those before it takes minutes here.
#[test]
fn many_rules_are_gathered_without_a_search_for_each() {
    let rules: Vec<Value> = (0..20_000).map(|i| rule("get", "", &format!("r{i}"))).collect();
    let objects = [
        gathering("sum", "none", json!({"matchLabels": {"gather": "true"}})),
        labelled("first", "gather", json!(rules)),
        labelled("second", "gather", json!(rules)),
    ];
    let gathered = aggregated_rules(&Rbac::of(&objects), "sum").unwrap();
    assert_eq!(gathered, rules, "each once, in their order");
}
