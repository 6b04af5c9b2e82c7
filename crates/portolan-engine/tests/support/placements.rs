//! Placements with every feature, now and then wrong.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use portolan_api::cluster::{
    AddOnScore, ClusterCelSelector, ClusterClaimSelector, ClusterPredicate, ClusterSelector, DecisionGroup,
    DecisionStrategy, GroupAssignment, GroupClusterSelector, GroupStrategy, Placement, PlacementSpec,
    PrioritizerConfig, PrioritizerPolicy, ScoreCoordinate, SortBy, SpreadConstraintsTerm, SpreadPolicy,
    Toleration, TopologyKeyType, UnsatisfiableAction,
};
use portolan_engine::prioritize::built_in_names;
use proptest::prelude::*;

use super::clusters::effect;
use super::{
    CLAIM_KEYS, LABEL_KEYS, NAMESPACES, RESOURCES, SCORE_NAMES, SET_NAMES, TAINT_KEYS, VALUES, metadata, word,
};

/// Namespace and name of one of a few placements.
pub(crate) fn key() -> impl Strategy<Value = (String, String)> {
    (word(&NAMESPACES), word(&["p0", "p1", "p2"]))
}

fn requirement(keys: &'static [&'static str]) -> impl Strategy<Value = LabelSelectorRequirement> {
    let valued = (word(&["In", "NotIn"]), prop::collection::vec(word(&VALUES), 1..3));
    let bare = word(&["Exists", "DoesNotExist"]).prop_map(|operator| (operator, Vec::new()));
    let wrong = Just(("Exist".to_owned(), Vec::new()));
    (word(keys), prop_oneof![12 => valued, 6 => bare, 1 => wrong]).prop_map(|(key, (operator, values))| {
        LabelSelectorRequirement {
            key,
            operator,
            values: Some(values).filter(|values| !values.is_empty()),
        }
    })
}

pub(crate) fn label_selector() -> impl Strategy<Value = LabelSelector> {
    let labels = prop::collection::btree_map(word(&LABEL_KEYS), word(&VALUES), 0..2);
    (labels, prop::collection::vec(requirement(&LABEL_KEYS), 0..3)).prop_map(|(labels, expressions)| {
        LabelSelector {
            match_labels: Some(labels),
            match_expressions: Some(expressions),
        }
    })
}

fn claim_selector() -> impl Strategy<Value = ClusterClaimSelector> {
    prop::collection::vec(requirement(&CLAIM_KEYS), 0..3)
        .prop_map(|match_expressions| ClusterClaimSelector { match_expressions })
}

/// Expressions over labels, claims, names and scores; some fail at run time, some do not compile.
/// Costs some hundred units for clusters with one label, and next to nothing for others.
pub(crate) const COSTLY_FOR_SOME: &str = r#"!(managedCluster.metadata.labels["env"] == "a" && [1, 2, 3, 4, 5, 6, 7, 8].exists(i, [1, 2, 3, 4, 5, 6, 7, 8].exists(j, i + j > 99)))"#;

fn expression() -> impl Strategy<Value = String> {
    prop_oneof![
        12 => word(&[
            r#"managedCluster.metadata.labels["env"] == "a""#,
            r#"managedCluster.metadata.name.startsWith("c1")"#,
            r#"managedCluster.status.clusterClaims.exists(c, c.name == "platform" && c.value == "a")"#,
            r#"managedCluster.scores("capacity").exists(s, s.name == "s1" && s.value > 0)"#,
            r#"has(managedCluster.spec.taints)"#,
            COSTLY_FOR_SOME,
        ]),
        1 => word(&["managedCluster.", "managedCluster.metadata.name"]),
    ]
}

fn predicate() -> impl Strategy<Value = ClusterPredicate> {
    let cel = prop::collection::vec(expression(), 1..3)
        .prop_map(|cel_expressions| ClusterCelSelector { cel_expressions });
    let parts = (
        prop::option::of(label_selector()),
        prop::option::weighted(0.4, claim_selector()),
        prop::option::weighted(0.3, cel),
    );
    parts.prop_map(
        |(label_selector, claim_selector, cel_selector)| ClusterPredicate {
            required_cluster_selector: ClusterSelector {
                label_selector,
                claim_selector,
                cel_selector,
            },
        },
    )
}

fn toleration() -> impl Strategy<Value = Toleration> {
    let right = (
        word(&TAINT_KEYS),
        prop_oneof![
            (Just(None), prop::option::of(word(&VALUES))),
            (Just(Some("Exists".to_owned())), Just(None)),
        ],
    )
        .prop_map(|(key, (operator, value))| (Some(key), operator, value));
    let any = Just((None, Some("Exists".to_owned()), None));
    let wrong = prop_oneof![
        Just((None, None, Some("a".to_owned()))),
        Just((Some("k".to_owned()), Some("Like".to_owned()), None)),
    ];
    let head = prop_oneof![10 => right, 4 => any, 1 => wrong];
    (head, prop::option::of(effect()), prop::option::of(0i64..200)).prop_map(
        |((key, operator, value), effect, toleration_seconds)| Toleration {
            key,
            operator,
            value,
            effect,
            toleration_seconds,
        },
    )
}

fn coordinate() -> impl Strategy<Value = Option<ScoreCoordinate>> {
    let built_in = |names: Vec<&'static str>| {
        prop::sample::select(names).prop_map(|name| ScoreCoordinate {
            built_in: Some(name.to_owned()),
            ..Default::default()
        })
    };
    let add_on =
        (word(&RESOURCES), word(&SCORE_NAMES)).prop_map(|(resource_name, score_name)| ScoreCoordinate {
            r#type: Some("AddOn".to_owned()),
            add_on: Some(AddOnScore {
                resource_name,
                score_name,
            }),
            ..Default::default()
        });
    let property = word(&CLAIM_KEYS).prop_map(|property| ScoreCoordinate {
        r#type: Some("Property".to_owned()),
        property: Some(property),
        ..Default::default()
    });
    prop_oneof![
        8 => built_in(built_in_names().collect()).prop_map(Some),
        8 => add_on.prop_map(Some),
        4 => property.prop_map(Some),
        1 => built_in(vec!["Spread"]).prop_map(Some),
        1 => Just(None),
    ]
}

fn policy() -> impl Strategy<Value = PrioritizerPolicy> {
    let configuration =
        (coordinate(), prop::option::of(-10i32..=10)).prop_map(|(score_coordinate, weight)| {
            PrioritizerConfig {
                score_coordinate,
                weight,
            }
        });
    let mode = prop_oneof![8 => word(&["Additive", "Exact", ""]).prop_map(Some), 4 => Just(None), 1 => word(&["Some"]).prop_map(Some)];
    (mode, prop::collection::vec(configuration, 0..4))
        .prop_map(|(mode, configurations)| PrioritizerPolicy { mode, configurations })
}

fn constraint() -> impl Strategy<Value = SpreadConstraintsTerm> {
    let key = prop_oneof![
        word(&LABEL_KEYS).prop_map(|key| (key, TopologyKeyType::Label)),
        word(&CLAIM_KEYS).prop_map(|key| (key, TopologyKeyType::Claim)),
    ];
    let action = prop::option::of(prop::sample::select(vec![
        UnsatisfiableAction::DoNotSchedule,
        UnsatisfiableAction::ScheduleAnyway,
    ]));
    (key, prop::option::of(1i32..4), action).prop_map(
        |((topology_key, topology_key_type), max_skew, when_unsatisfiable)| SpreadConstraintsTerm {
            topology_key,
            topology_key_type,
            max_skew,
            when_unsatisfiable,
        },
    )
}

fn group_strategy() -> impl Strategy<Value = GroupStrategy> {
    let selector = (
        prop::option::of(label_selector()),
        prop::option::weighted(0.3, claim_selector()),
    )
        .prop_map(|(label_selector, claim_selector)| GroupClusterSelector {
            label_selector,
            claim_selector,
        });
    let group = (word(&["canary", "early"]), selector).prop_map(|(group_name, group_cluster_selector)| {
        DecisionGroup {
            group_name,
            group_cluster_selector,
        }
    });
    let size = prop_oneof![
        8 => (0i32..6).prop_map(IntOrString::Int),
        8 => word(&["7%", "25%", "50%", "100%", "3"]).prop_map(IntOrString::String),
        1 => word(&["few"]).prop_map(IntOrString::String),
    ];
    let assignment = prop::option::of(prop::sample::select(vec![
        GroupAssignment::ByName,
        GroupAssignment::Sticky,
    ]));
    (
        prop::collection::vec(group, 0..3),
        prop::option::of(size),
        assignment,
    )
        .prop_map(
            |(decision_groups, clusters_per_decision_group, assignment)| GroupStrategy {
                decision_groups,
                clusters_per_decision_group,
                assignment,
            },
        )
}

pub(crate) fn spec() -> impl Strategy<Value = PlacementSpec> {
    let sets = prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(word(&SET_NAMES), 1..3)];
    let number = prop_oneof![10 => Just(None), 20 => (0i32..9).prop_map(Some), 1 => Just(Some(-1))];
    let sort_by = prop::option::of(prop::sample::select(vec![SortBy::ClusterName, SortBy::Score]));
    let spread = prop::option::weighted(0.25, prop::collection::vec(constraint(), 1..3));
    let groups = prop::option::of(group_strategy());
    let predicates = prop::collection::vec(predicate(), 0..3);
    let tolerations = prop::collection::vec(toleration(), 0..3);
    let policy = prop::option::weighted(0.4, policy());
    (
        sets,
        number,
        predicates,
        policy,
        spread,
        tolerations,
        groups,
        sort_by,
    )
        .prop_map(
            |(
                cluster_sets,
                number_of_clusters,
                predicates,
                prioritizer_policy,
                spread,
                tolerations,
                groups,
                sort_by,
            )| {
                PlacementSpec {
                    cluster_sets,
                    number_of_clusters,
                    predicates,
                    prioritizer_policy,
                    spread_policy: spread.map(|spread_constraints| SpreadPolicy { spread_constraints }),
                    tolerations,
                    decision_strategy: groups.map(|groups| DecisionStrategy {
                        group_strategy: Some(groups),
                        update_strategy: None,
                    }),
                    sort_by,
                    score_rate_limit: None,
                }
            },
        )
}

pub(crate) fn placement() -> impl Strategy<Value = Placement> {
    (key(), spec()).prop_map(|((namespace, name), spec)| Placement {
        metadata: metadata(&namespace, &name),
        spec,
        status: None,
    })
}
