//! Clusters, sets, bindings, scores.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use portolan_api::cluster::{
    AddOnPlacementScore, AddOnPlacementScoreItem, AddOnPlacementScoreStatus, ManagedCluster,
    ManagedClusterClaim, ManagedClusterSelector, ManagedClusterSet, ManagedClusterSetBinding,
    ManagedClusterSetBindingSpec, ManagedClusterSetSpec, ManagedClusterSpec, ManagedClusterStatus, Taint,
    TaintEffect,
};
use portolan_api::labels::ocm;
use proptest::prelude::*;

use super::placements::label_selector;
use super::{
    CLAIM_KEYS, LABEL_KEYS, NAMESPACES, NUMBERS, RESOURCES, SCORE_NAMES, SET_NAMES, TAINT_KEYS, VALUES,
    metadata, seconds, time, word,
};

/// Mostly the same few clusters, so that edits meet. Names are not padded: `c10` sorts before `c2`.
pub(crate) fn cluster_name() -> impl Strategy<Value = String> {
    prop_oneof![3 => 0usize..10, 1 => 0usize..40].prop_map(|index| format!("c{index}"))
}

pub(crate) fn labels() -> impl Strategy<Value = BTreeMap<String, String>> {
    let plain = prop::collection::btree_map(word(&LABEL_KEYS), word(&VALUES), 0..4);
    let set = prop::option::weighted(0.8, word(&SET_NAMES));
    (plain, set).prop_map(|(mut labels, set)| {
        labels.extend(set.map(|set| (ocm::CLUSTER_SET.to_owned(), set)));
        labels
    })
}

pub(crate) fn claims() -> impl Strategy<Value = Vec<ManagedClusterClaim>> {
    let value = prop_oneof![word(&VALUES), word(&NUMBERS)];
    let claim = (word(&CLAIM_KEYS), value).prop_map(|(name, value)| ManagedClusterClaim { name, value });
    prop::collection::vec(claim, 0..4)
}

pub(crate) fn effect() -> impl Strategy<Value = TaintEffect> {
    prop::sample::select(vec![
        TaintEffect::NoSelect,
        TaintEffect::NoSelectIfNew,
        TaintEffect::PreferNoSelect,
    ])
}

pub(crate) fn taints() -> impl Strategy<Value = Vec<Taint>> {
    let taint = (
        word(&TAINT_KEYS),
        prop::option::of(word(&VALUES)),
        effect(),
        prop::option::weighted(0.8, seconds()),
    );
    let taint = taint.prop_map(|(key, value, effect, added)| Taint {
        key,
        value,
        effect,
        time_added: added.map(time),
    });
    prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(taint, 1..3)]
}

/// Allocatable and capacity; either may be missing.
pub(crate) fn resources() -> impl Strategy<Value = (BTreeMap<String, Quantity>, BTreeMap<String, Quantity>)> {
    let map = || {
        let amount = word(&[
            "1",
            "2",
            "2.5",
            "3500m",
            "8",
            "16Gi",
            "17179869184",
            "64Gi",
            "oops",
        ])
        .prop_map(Quantity);
        prop::collection::btree_map(word(&["cpu", "memory"]), amount, 0..3)
    };
    (map(), map())
}

pub(crate) fn cluster() -> impl Strategy<Value = ManagedCluster> {
    let parts = (
        cluster_name(),
        labels(),
        claims(),
        taints(),
        resources(),
        prop::bool::weighted(0.1),
    );
    parts.prop_map(
        |(name, labels, claims, taints, (allocatable, capacity), deleting)| {
            let mut cluster = ManagedCluster::new(
                &name,
                ManagedClusterSpec {
                    taints,
                    ..Default::default()
                },
            );
            cluster.metadata.labels = Some(labels);
            cluster.metadata.deletion_timestamp = deleting.then(|| time(0));
            cluster.status = Some(ManagedClusterStatus {
                cluster_claims: claims,
                allocatable,
                capacity,
                ..Default::default()
            });
            cluster
        },
    )
}

pub(crate) fn set() -> impl Strategy<Value = ManagedClusterSet> {
    let exclusive = prop_oneof![Just(None), Just(Some("ExclusiveClusterSetLabel".to_owned()))].prop_map(
        |selector_type| ManagedClusterSelector {
            selector_type,
            label_selector: None,
        },
    );
    let selector = |label_selector| ManagedClusterSelector {
        selector_type: Some("LabelSelector".to_owned()),
        label_selector,
    };
    let chosen = label_selector().prop_map(move |labels| selector(Some(labels)));
    let odd = ManagedClusterSelector {
        selector_type: Some("Magic".to_owned()),
        label_selector: None,
    };
    let selector = prop_oneof![
        6 => exclusive,
        3 => chosen,
        2 => Just(selector(Some(LabelSelector::default()))),
        1 => Just(selector(None)),
        1 => Just(odd),
    ];
    (word(&SET_NAMES), selector).prop_map(|(name, cluster_selector)| {
        ManagedClusterSet::new(
            &name,
            ManagedClusterSetSpec {
                cluster_selector,
                ..Default::default()
            },
        )
    })
}

pub(crate) fn binding() -> impl Strategy<Value = ManagedClusterSetBinding> {
    (word(&NAMESPACES), word(&SET_NAMES)).prop_map(|(namespace, name)| ManagedClusterSetBinding {
        metadata: metadata(&namespace, &name),
        spec: ManagedClusterSetBindingSpec { cluster_set: name },
        status: None,
    })
}

pub(crate) fn score() -> impl Strategy<Value = AddOnPlacementScore> {
    let item =
        (word(&SCORE_NAMES), -100i32..=100).prop_map(|(name, value)| AddOnPlacementScoreItem { name, value });
    let status =
        (prop::collection::vec(item, 0..3), prop::option::of(seconds())).prop_map(|(scores, until)| {
            AddOnPlacementScoreStatus {
                scores,
                valid_until: until.map(time),
                ..Default::default()
            }
        });
    (cluster_name(), word(&RESOURCES), status).prop_map(|(cluster, resource, status)| AddOnPlacementScore {
        metadata: metadata(&cluster, &resource),
        status: Some(status),
    })
}
