//! Rule 8: the engine's numbers are those of the checker's reference formulas, on random inputs.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use portolan_api::cluster::{
    DecisionGroup, DecisionStrategy, GroupClusterSelector, GroupStrategy, ManagedCluster, ManagedClusterSet,
    ManagedClusterSetBinding, ManagedClusterSetBindingSpec, ManagedClusterStatus, Placement,
    PlacementDecision, PlacementSpec, PrioritizerConfig, PrioritizerPolicy, ScoreCoordinate,
};
use portolan_api::labels::ocm;
use portolan_check::numbers::{self, GroupSize, NamedGroup, Ranked, Resource};
use portolan_engine::engine::Engine;
use portolan_engine::fleet::Inventory;
use portolan_engine::placement::PlacementKey;
use portolan_engine::prioritize::built_in_names;
use portolan_reference::PlainOutcome;
use proptest::prelude::*;

use support::edits::decision;
use support::metadata;

/// One cluster: allocatable and capacity of CPU and memory, how many other placements use it, and whether this one does.
#[derive(Clone, Debug)]
struct Sample {
    cpu: (Option<String>, bool),
    memory: (Option<String>, bool),
    used: usize,
    own: bool,
    canary: bool,
}

fn quantity() -> impl Strategy<Value = String> {
    let suffix = prop::sample::select(vec!["", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "u", "n"]);
    let number = prop_oneof![
        (0u64..1_000_000).prop_map(|number| number.to_string()),
        (0u32..10_000, 0u32..1000).prop_map(|(whole, part)| format!("{whole}.{part:03}")),
    ];
    (number, suffix).prop_map(|(number, suffix)| format!("{number}{suffix}"))
}

fn sample() -> impl Strategy<Value = Sample> {
    let resource = || (prop::option::weighted(0.9, quantity()), prop::bool::weighted(0.9));
    (
        resource(),
        resource(),
        0usize..12,
        any::<bool>(),
        prop::bool::weighted(0.3),
    )
        .prop_map(|(cpu, memory, used, own, canary)| Sample {
            cpu,
            memory,
            used,
            own,
            canary,
        })
}

fn cluster(name: &str, sample: &Sample) -> ManagedCluster {
    let mut status = ManagedClusterStatus::default();
    for (resource, (allocatable, has_capacity)) in [("cpu", &sample.cpu), ("memory", &sample.memory)] {
        if let Some(amount) = allocatable {
            status
                .allocatable
                .insert(resource.to_owned(), Quantity(amount.clone()));
        }
        if *has_capacity {
            status
                .capacity
                .insert(resource.to_owned(), Quantity("1".to_owned()));
        }
    }
    let mut cluster = ManagedCluster::new(name, Default::default());
    let ring = if sample.canary { "canary" } else { "rest" };
    let labels = [
        (ocm::CLUSTER_SET.to_owned(), "all".to_owned()),
        ("ring".to_owned(), ring.to_owned()),
    ];
    cluster.metadata.labels = Some(labels.into());
    cluster.status = Some(status);
    cluster
}

/// An engine with the samples as its fleet and with decisions of others that use the clusters as often as they say.
fn engine(samples: &BTreeMap<String, Sample>, spec: PlacementSpec) -> (Engine, PlacementKey) {
    let mut engine = Engine::new(Inventory::ManagedClusters);
    engine.apply_set(&ManagedClusterSet::new("all", Default::default()));
    engine.apply_binding(&ManagedClusterSetBinding {
        metadata: metadata("ns", "all"),
        spec: ManagedClusterSetBindingSpec {
            cluster_set: "all".to_owned(),
        },
        status: None,
    });
    samples
        .iter()
        .for_each(|(name, sample)| engine.apply_cluster(&cluster(name, sample)));
    let placement = Placement {
        metadata: metadata("ns", "subject"),
        spec,
        status: None,
    };
    engine.apply_placement(&placement);
    let of = |placement: &str, chosen: &dyn Fn(&Sample) -> bool| -> Vec<PlacementDecision> {
        let clusters: Vec<String> = samples
            .iter()
            .filter(|(_, sample)| chosen(sample))
            .map(|(name, _)| name.clone())
            .collect();
        vec![decision("ns", placement, 0, 0, "", &clusters)]
    };
    engine.observe_decisions(
        &PlacementKey::of(&placement),
        &of("subject", &|sample| sample.own),
    );
    for other in 0..12 {
        let name = format!("other{other}");
        engine.observe_decisions(
            &PlacementKey::new("ns", &name),
            &of(&name, &|sample| sample.used > other),
        );
    }
    (engine, PlacementKey::of(&placement))
}

fn policy(weights: &[i32]) -> PrioritizerPolicy {
    let configuration = |(name, weight): (&str, &i32)| PrioritizerConfig {
        score_coordinate: Some(ScoreCoordinate {
            built_in: Some(name.to_owned()),
            ..Default::default()
        }),
        weight: Some(*weight),
    };
    PrioritizerPolicy {
        mode: Some("Exact".to_owned()),
        configurations: built_in_names().zip(weights).map(configuration).collect(),
    }
}

/// The scores that the reference gives, by prioritizer and cluster.
fn reference(samples: &BTreeMap<String, Sample>) -> BTreeMap<&'static str, BTreeMap<String, i64>> {
    let max = samples
        .values()
        .map(|sample| sample.used as u64)
        .max()
        .unwrap_or(0);
    let each = |score: &dyn Fn(&Sample) -> i64| -> BTreeMap<String, i64> {
        samples
            .iter()
            .map(|(name, sample)| (name.clone(), score(sample)))
            .collect()
    };
    let resources = |of: &dyn Fn(&Sample) -> (Option<String>, bool)| {
        let candidates: Vec<Resource> = samples
            .iter()
            .map(|(name, sample)| {
                let (allocatable, has_capacity) = of(sample);
                let allocatable = allocatable.and_then(|amount| numbers::quantity(&amount));
                Resource {
                    cluster: name.clone(),
                    allocatable,
                    has_capacity,
                }
            })
            .collect();
        numbers::resources(&candidates)
    };
    BTreeMap::from([
        (
            "Balance",
            each(&|sample| numbers::balance(sample.used as u64, max)),
        ),
        ("Steady", each(&|sample| numbers::steady(sample.own))),
        ("ResourceAllocatableCPU", resources(&|sample| sample.cpu.clone())),
        (
            "ResourceAllocatableMemory",
            resources(&|sample| sample.memory.clone()),
        ),
    ])
}

fn fleet() -> impl Strategy<Value = BTreeMap<String, Sample>> {
    prop::collection::vec(sample(), 1..24).prop_map(|samples| {
        samples
            .into_iter()
            .enumerate()
            .map(|(index, one)| (format!("c{index}"), one))
            .collect()
    })
}

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn scores_totals_and_ranks_are_the_references(
        samples in fleet(),
        weights in prop::collection::vec(-10i32..=10, built_in_names().count()),
        number in prop::option::of(0i32..30),
    ) {
        let spec = PlacementSpec {
            number_of_clusters: number,
            prioritizer_policy: Some(policy(&weights)),
            ..PlacementSpec::default()
        };
        let (mut engine, key) = engine(&samples, spec);
        let outcome = engine.evaluate(&key, support::start()).expect("the engine holds the placement");
        let given = PlainOutcome::of(&outcome, engine.fleet());
        let reference = reference(&samples);
        for (name, weight, scores) in &given.prioritizers {
            prop_assert!(*weight != 0);
            let report = numbers::agree(name, scores, &reference[name.as_str()]);
            prop_assert!(report.findings.is_empty(), "{report:?}");
        }
        let weights: BTreeMap<String, i64> =
            built_in_names().zip(&weights).map(|(name, weight)| (name.to_owned(), i64::from(*weight))).collect();
        let candidates: Vec<Ranked> = samples
            .keys()
            .map(|cluster| {
                let scores = reference.iter().map(|(name, scores)| (*name, scores[cluster]));
                Ranked { cluster: cluster.clone(), total: numbers::total(scores, &weights), avoided: 0 }
            })
            .collect();
        let limit = number.map(|number| number as usize);
        let ranked: Vec<String> = numbers::rank(candidates, limit).into_iter().map(|ranked| ranked.cluster).collect();
        prop_assert_eq!(&given.selected, &ranked);
    }

    #[test]
    fn groups_are_cut_where_the_reference_cuts_them(
        samples in fleet(),
        size in prop_oneof![
            (-2i32..30).prop_map(IntOrString::Int),
            (1u32..=100).prop_map(|percent| IntOrString::String(format!("{percent}%"))),
            (1u32..30).prop_map(|number| IntOrString::String(number.to_string())),
        ],
    ) {
        let selector = k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector {
            match_labels: Some([("ring".to_owned(), "canary".to_owned())].into()),
            match_expressions: None,
        };
        let canary = DecisionGroup {
            group_name: "canary".to_owned(),
            group_cluster_selector: GroupClusterSelector { label_selector: Some(selector), claim_selector: None },
        };
        let strategy = GroupStrategy {
            decision_groups: vec![canary],
            clusters_per_decision_group: Some(size.clone()),
            assignment: None,
        };
        let strategy = DecisionStrategy { group_strategy: Some(strategy), update_strategy: None };
        let spec = PlacementSpec { decision_strategy: Some(strategy), ..PlacementSpec::default() };
        let (mut engine, key) = engine(&samples, spec);
        let outcome = engine.evaluate(&key, support::start()).expect("the engine holds the placement");
        let given = PlainOutcome::of(&outcome, engine.fleet());

        let all: BTreeSet<String> = samples.keys().cloned().collect();
        let matches = samples.iter().filter(|(_, sample)| sample.canary).map(|(name, _)| name.clone()).collect();
        let named = [NamedGroup { name: "canary".to_owned(), matches }];
        let size = match &size {
            IntOrString::Int(number) => GroupSize::Number(i64::from(*number)),
            IntOrString::String(text) => GroupSize::Text(text),
        };
        let size = numbers::group_size(size, all.len()).expect("a size that can be read");
        prop_assert_eq!(given.groups, numbers::group_cuts(&all, &named, size));
    }
}
