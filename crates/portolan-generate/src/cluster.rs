//! Clusters, their scores and the sets they are in.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, ObjectMeta, Time};
use portolan_api::cluster::{
    AddOnPlacementScore, AddOnPlacementScoreItem, AddOnPlacementScoreStatus, ClientConfig, ManagedCluster,
    ManagedClusterClaim, ManagedClusterSelector, ManagedClusterSet, ManagedClusterSetSpec,
    ManagedClusterSpec, ManagedClusterStatus, ManagedClusterVersion, Taint, TaintEffect,
};
use portolan_api::labels::{conditions, ocm};

use super::Generator;
use super::random::Draws;

/// Sets by the exclusive label. Each cluster is in one of them, and in the set of all.
pub(super) const EXCLUSIVE_SETS: [&str; 4] = ["production", "staging", "development", "edge"];
pub(super) const SCORE_RESOURCE: &str = "resource-usage-score";

const CLOUDS: [&str; 4] = ["Amazon", "Azure", "Google", "BareMetal"];
const REGIONS: [&str; 8] = [
    "eu-central-1",
    "eu-west-1",
    "us-east-1",
    "us-west-2",
    "ap-south-1",
    "ap-northeast-1",
    "sa-east-1",
    "af-south-1",
];
const VERSIONS: [&str; 5] = ["v1.30.8", "v1.31.4", "v1.32.1", "v1.33.0", "v1.33.2"];

fn name(index: usize) -> String {
    format!("cluster-{index:06}")
}

/// Name of a team by its number.
pub(super) fn team(number: usize) -> String {
    format!("team-{number:04}")
}

/// Name of a site by its number.
pub(super) fn site(number: usize) -> String {
    format!("site-{number:04}")
}

pub(super) fn cluster(fleet: &Generator, index: usize) -> ManagedCluster {
    let mut draws = Draws::of(fleet.seed, "cluster", index);
    let metadata = ObjectMeta {
        name: Some(name(index)),
        uid: Some(format!("{}-{}", draws.hex(), draws.hex())),
        resource_version: Some(draws.below(100_000_000).to_string()),
        labels: Some(labels(fleet, index, &mut draws)),
        ..ObjectMeta::default()
    };
    let spec = ManagedClusterSpec {
        hub_accepts_client: true,
        lease_duration_seconds: Some(60),
        managed_cluster_client_configs: vec![ClientConfig {
            url: format!("https://api.{}.example.com:6443", name(index)),
            ca_bundle: None,
        }],
        taints: taints(fleet, &mut draws),
    };
    let status = status(fleet, &mut draws, metadata.labels.as_ref());
    ManagedCluster {
        metadata,
        spec,
        status: Some(status),
    }
}

fn labels(fleet: &Generator, index: usize, draws: &mut Draws) -> BTreeMap<String, String> {
    let region = draws.pick(&REGIONS);
    let zone = draws.pick(&["a", "b", "c"]);
    let mut labels = BTreeMap::from([
        (ocm::CLUSTER_SET, draws.pick(&EXCLUSIVE_SETS).to_owned()),
        ("cluster-id", draws.hex()),
        ("serial", format!("{}{index}", draws.hex())),
        ("team", team(draws.below(fleet.values()))),
        ("site", site(draws.below(fleet.values()))),
        ("cloud", draws.pick(&CLOUDS).to_owned()),
        (
            "vendor",
            draws.pick(&["OpenShift", "EKS", "AKS", "GKE", "k3s"]).to_owned(),
        ),
        ("topology.kubernetes.io/region", region.to_owned()),
        ("topology.kubernetes.io/zone", format!("{region}{zone}")),
        ("tier", draws.pick(&["gold", "silver", "bronze"]).to_owned()),
        ("ring", draws.below(10).to_string()),
        (
            "feature.open-cluster-management.io/addon-work-manager",
            "available".to_owned(),
        ),
    ]);
    if draws.percent(15) {
        labels.insert("gpu", draws.pick(&["a100", "h100", "l4"]).to_owned());
    }
    if draws.percent(10) {
        labels.insert("compliance", draws.pick(&["pci", "hipaa"]).to_owned());
    }
    labels
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// Most clusters have none; some are down, some are being worked on, some are to be avoided.
fn taints(fleet: &Generator, draws: &mut Draws) -> Vec<Taint> {
    let taint = |key: &str, effect, age: usize| Taint {
        key: key.to_owned(),
        value: None,
        effect,
        time_added: Some(Time(fleet.now() - SignedDuration::from_secs(age as i64))),
    };
    let age = draws.below(100_000);
    match draws.below(100) {
        0..2 => vec![taint(ocm::TAINT_UNREACHABLE, TaintEffect::NoSelect, age)],
        2..4 => vec![taint("example.com/maintenance", TaintEffect::NoSelectIfNew, age)],
        4..7 => vec![taint("example.com/draining", TaintEffect::PreferNoSelect, age)],
        _ => Vec::new(),
    }
}

fn status(
    fleet: &Generator,
    draws: &mut Draws,
    labels: Option<&BTreeMap<String, String>>,
) -> ManagedClusterStatus {
    let label = |key: &str| {
        labels
            .and_then(|labels| labels.get(key))
            .cloned()
            .unwrap_or_default()
    };
    let version = draws.pick(&VERSIONS);
    let claim = |name: &str, value: String| ManagedClusterClaim {
        name: name.to_owned(),
        value,
    };
    let nodes = 3 + draws.below(97);
    let (cpu, memory) = (nodes * 16, nodes * 64);
    let free = |draws: &mut Draws, total: usize| total * (20 + draws.below(75)) / 100;
    let free_cpu = format!("{}m", free(draws, cpu) * 1000 + draws.below(1000));
    let free_memory = format!("{}Mi", free(draws, memory) * 1024 + draws.below(1024));
    let quantities = |cpu: String, memory: String| {
        BTreeMap::from([
            ("cpu".to_owned(), Quantity(cpu)),
            ("memory".to_owned(), Quantity(memory)),
        ])
    };
    let condition = |type_: &str, reason: &str, message: &str| Condition {
        type_: type_.to_owned(),
        status: "True".to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition_time: Time(fleet.now()),
        observed_generation: None,
    };
    ManagedClusterStatus {
        conditions: vec![
            condition(
                conditions::HUB_ACCEPTED,
                "HubClusterAdminAccepted",
                "Accepted by hub cluster admin",
            ),
            condition(
                conditions::JOINED,
                "ManagedClusterJoined",
                "Managed cluster joined",
            ),
            condition(
                conditions::AVAILABLE,
                "ManagedClusterAvailable",
                "Managed cluster is available",
            ),
        ],
        capacity: quantities(cpu.to_string(), format!("{memory}Gi")),
        allocatable: quantities(free_cpu, free_memory),
        version: Some(ManagedClusterVersion {
            kubernetes: Some(version.to_owned()),
        }),
        cluster_claims: vec![
            claim("id.k8s.io", label("cluster-id")),
            claim("kubeversion.open-cluster-management.io", version.to_owned()),
            claim("platform.open-cluster-management.io", label("cloud")),
            claim("product.open-cluster-management.io", label("vendor")),
            claim(
                "region.open-cluster-management.io",
                label("topology.kubernetes.io/region"),
            ),
            claim("site.example.com", site(draws.below(fleet.values()))),
            claim("nodes.example.com", nodes.to_string()),
            claim(
                "cost.example.com",
                format!("{}.{:02}", 1 + draws.below(9), draws.below(100)),
            ),
        ],
        managed_namespaces: Vec::new(),
    }
}

pub(super) fn score(fleet: &Generator, index: usize) -> AddOnPlacementScore {
    let mut draws = Draws::of(fleet.seed, "score", index);
    let mut item = |name: &str| AddOnPlacementScoreItem {
        name: name.to_owned(),
        value: i32::try_from(draws.below(201)).unwrap_or(100) - 100,
    };
    let scores = vec![item("cpuAvailable"), item("memAvailable")];
    let valid = fleet.now() + SignedDuration::from_secs(600 + draws.below(3600) as i64);
    AddOnPlacementScore {
        metadata: ObjectMeta {
            name: Some(SCORE_RESOURCE.to_owned()),
            namespace: Some(name(index)),
            ..ObjectMeta::default()
        },
        status: Some(AddOnPlacementScoreStatus {
            scores,
            valid_until: Some(Time(valid)),
            ..Default::default()
        }),
    }
}

pub(super) fn sets() -> Vec<ManagedClusterSet> {
    let all = ManagedClusterSelector {
        selector_type: Some("LabelSelector".to_owned()),
        label_selector: Some(LabelSelector::default()),
    };
    let global = ManagedClusterSetSpec {
        cluster_selector: all,
        ..Default::default()
    };
    let exclusive = EXCLUSIVE_SETS
        .iter()
        .map(|name| ManagedClusterSet::new(name, Default::default()));
    exclusive
        .chain([ManagedClusterSet::new(ocm::GLOBAL_CLUSTER_SET, global)])
        .collect()
}

pub(super) fn moved(fleet: &Generator, change: usize) -> ManagedCluster {
    let mut draws = Draws::of(fleet.seed, "move", change);
    let active: Vec<String> = (0..fleet.active_teams()).map(team).collect();
    // Most draws hit an active team in a small fleet and one in ten in a large one; the bound is for a fleet whose
    // active teams happen to have no cluster.
    let mut chosen = cluster(fleet, draws.below(fleet.clusters));
    for _ in 0..1000 {
        if team_of(&chosen).is_some_and(|team| active.contains(team)) {
            break;
        }
        chosen = cluster(fleet, draws.below(fleet.clusters));
    }
    let number = draws.below(active.len());
    let to = if team_of(&chosen) == Some(&active[number]) {
        (number + 1) % active.len()
    } else {
        number
    };
    chosen
        .metadata
        .labels
        .get_or_insert_default()
        .insert("team".to_owned(), team(to));
    chosen
}

fn team_of(cluster: &ManagedCluster) -> Option<&String> {
    cluster.metadata.labels.as_ref()?.get("team")
}
