//! The mix of placements: by label, by claim, by CEL, the best few by resources, and all.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use portolan_api::cluster::{
    AddOnScore, ClusterCelSelector, ClusterClaimSelector, ClusterPredicate, ClusterSelector, DecisionGroup,
    DecisionStrategy, GroupClusterSelector, GroupStrategy, ManagedClusterSetBinding,
    ManagedClusterSetBindingSpec, Placement, PlacementSpec, PrioritizerConfig, PrioritizerPolicy,
    ScoreCoordinate, Toleration,
};
use portolan_api::labels::ocm;

use super::Generator;
use super::cluster::{EXCLUSIVE_SETS, SCORE_RESOURCE, site, team};
use super::random::Draws;

/// How a placement chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The clusters of a team, by label.
    Label,
    /// The clusters of a site, by claim.
    Claim,
    /// By expression.
    Cel,
    /// The best few by resources and scores.
    TopN,
    /// All clusters.
    All,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 5] = [Kind::Label, Kind::Claim, Kind::Cel, Kind::TopN, Kind::All];

    /// The name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Label => "label",
            Kind::Claim => "claim",
            Kind::Cel => "cel",
            Kind::TopN => "topn",
            Kind::All => "all",
        }
    }
}

/// Namespaces that see every cluster, and namespaces that see some sets.
const WIDE: [&str; 4] = ["platform", "observability", "security", "networking"];
const NARROW: [&str; 4] = ["shop", "payments", "search", "analytics"];

/// Different expressions in use. Teams copy them from one another, so there are few.
const EXPRESSIONS: usize = 8;

pub(super) fn bindings() -> Vec<ManagedClusterSetBinding> {
    let binding = |namespace: &str, set: &str| ManagedClusterSetBinding {
        metadata: metadata(namespace, set),
        spec: ManagedClusterSetBindingSpec {
            cluster_set: set.to_owned(),
        },
        status: None,
    };
    let wide = WIDE
        .iter()
        .map(|namespace| binding(namespace, ocm::GLOBAL_CLUSTER_SET));
    let narrow = NARROW
        .iter()
        .flat_map(|namespace| EXCLUSIVE_SETS[..3].iter().map(|set| binding(namespace, set)));
    wide.chain(narrow).collect()
}

fn metadata(namespace: &str, name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(namespace.to_owned()),
        ..ObjectMeta::default()
    }
}

/// Of twenty placements nine go by label, five by claim, two by CEL, three want the best few, one wants all.
pub(super) fn kind(index: usize) -> Kind {
    match index % 20 {
        0 => Kind::All,
        1 | 8 | 15 => Kind::TopN,
        2 | 12 => Kind::Cel,
        3 | 6 | 10 | 14 | 18 => Kind::Claim,
        _ => Kind::Label,
    }
}

pub(super) fn placement(fleet: &Generator, index: usize) -> Placement {
    let mut draws = Draws::of(fleet.seed, "placement", index);
    let kind = kind(index);
    let namespace = match kind {
        Kind::Label | Kind::Claim if draws.percent(50) => draws.pick(&NARROW),
        _ => draws.pick(&WIDE),
    };
    let mut spec = match kind {
        Kind::Label => by_label(fleet, &mut draws),
        Kind::Claim => by_claim(fleet, &mut draws),
        Kind::Cel => by_expression(fleet, index),
        Kind::TopN => best(&mut draws),
        Kind::All => PlacementSpec::default(),
    };
    if draws.percent(30) {
        spec.tolerations.push(Toleration {
            key: Some(ocm::TAINT_UNREACHABLE.to_owned()),
            operator: Some("Exists".to_owned()),
            toleration_seconds: draws.percent(50).then_some(300_000),
            ..Toleration::default()
        });
    }
    // Every second placement for all clusters has groups, and some of those by label and claim.
    if (kind == Kind::All && index.is_multiple_of(40))
        || (matches!(kind, Kind::Label | Kind::Claim) && draws.percent(10))
    {
        spec.decision_strategy = Some(groups(&mut draws));
    }
    Placement {
        metadata: metadata(namespace, &format!("{}-{index:05}", kind.name())),
        spec,
        status: None,
    }
}

fn predicate(required_cluster_selector: ClusterSelector) -> PlacementSpec {
    PlacementSpec {
        predicates: vec![ClusterPredicate {
            required_cluster_selector,
        }],
        ..PlacementSpec::default()
    }
}

fn requirement(key: &str, operator: &str, values: &[&str]) -> LabelSelectorRequirement {
    let values = values.iter().map(|value| (*value).to_owned()).collect();
    LabelSelectorRequirement {
        key: key.to_owned(),
        operator: operator.to_owned(),
        values: Some(values),
    }
}

fn by_label(fleet: &Generator, draws: &mut Draws) -> PlacementSpec {
    let (key, value) = match draws.percent(67) {
        true => ("team", team(draws.below(fleet.active_teams()))),
        false => ("site", site(draws.below(fleet.values()))),
    };
    let mut selector = LabelSelector {
        match_labels: Some([(key.to_owned(), value)].into()),
        match_expressions: None,
    };
    if draws.percent(30) {
        selector.match_expressions = Some(vec![requirement("tier", "NotIn", &["bronze"])]);
    }
    predicate(ClusterSelector {
        label_selector: Some(selector),
        ..ClusterSelector::default()
    })
}

fn by_claim(fleet: &Generator, draws: &mut Draws) -> PlacementSpec {
    let site = site(draws.below(fleet.values()));
    let mut expressions = vec![requirement("site.example.com", "In", &[&site])];
    if draws.percent(30) {
        expressions.push(requirement(
            "platform.open-cluster-management.io",
            "In",
            &["Amazon", "Azure", "Google"],
        ));
    }
    let claim_selector = Some(ClusterClaimSelector {
        match_expressions: expressions,
    });
    predicate(ClusterSelector {
        claim_selector,
        ..ClusterSelector::default()
    })
}

/// One expression over a label or a claim, one that reads the scores, one that reads the version.
fn by_expression(fleet: &Generator, index: usize) -> PlacementSpec {
    let mut draws = Draws::of(fleet.seed, "expression", (index / 10) % EXPRESSIONS);
    let number = draws.below(fleet.values());
    let first = match draws.below(3) {
        0 => format!(r#"managedCluster.metadata.labels["team"] == "{}""#, team(number)),
        1 => format!(
            r#"managedCluster.status.clusterClaims.exists(c, c.name == "site.example.com" && c.value == "{}")"#,
            site(number)
        ),
        _ => format!(
            r#""gpu" in managedCluster.metadata.labels && managedCluster.scores("{SCORE_RESOURCE}").filter(s, s.name == "cpuAvailable").all(s, s.value > 60)"#
        ),
    };
    let second = r#"managedCluster.status.version.kubernetes.startsWith("v1.3")"#.to_owned();
    let cel_selector = Some(ClusterCelSelector {
        cel_expressions: vec![first, second],
    });
    predicate(ClusterSelector {
        cel_selector,
        ..ClusterSelector::default()
    })
}

fn best(draws: &mut Draws) -> PlacementSpec {
    let built_in = |name: &str, weight| PrioritizerConfig {
        score_coordinate: Some(ScoreCoordinate {
            built_in: Some(name.to_owned()),
            ..ScoreCoordinate::default()
        }),
        weight: Some(weight),
    };
    let mut configurations = vec![
        built_in("ResourceAllocatableCPU", 2),
        built_in("ResourceAllocatableMemory", 1),
    ];
    if draws.percent(50) {
        let coordinate = ScoreCoordinate {
            r#type: Some("AddOn".to_owned()),
            add_on: Some(AddOnScore {
                resource_name: SCORE_RESOURCE.to_owned(),
                score_name: "cpuAvailable".to_owned(),
            }),
            ..ScoreCoordinate::default()
        };
        configurations.push(PrioritizerConfig {
            score_coordinate: Some(coordinate),
            weight: Some(1),
        });
    }
    PlacementSpec {
        number_of_clusters: Some(5 + draws.below(46) as i32),
        prioritizer_policy: Some(PrioritizerPolicy {
            mode: None,
            configurations,
        }),
        ..PlacementSpec::default()
    }
}

/// A canary group by label, then parts of a tenth.
fn groups(draws: &mut Draws) -> DecisionStrategy {
    let ring = draws.pick(&["0", "1"]).to_owned();
    let selector = LabelSelector {
        match_labels: Some([("ring".to_owned(), ring)].into()),
        match_expressions: None,
    };
    let canary = DecisionGroup {
        group_name: "canary".to_owned(),
        group_cluster_selector: GroupClusterSelector {
            label_selector: Some(selector),
            claim_selector: None,
        },
    };
    let strategy = GroupStrategy {
        decision_groups: vec![canary],
        clusters_per_decision_group: Some(IntOrString::String("10%".to_owned())),
        assignment: None,
    };
    DecisionStrategy {
        group_strategy: Some(strategy),
        update_strategy: None,
    }
}
