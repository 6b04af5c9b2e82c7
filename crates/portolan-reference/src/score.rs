//! Prioritizers: one score a cluster each, added up by weight.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use portolan_api::cluster::{ManagedCluster, PrioritizerPolicy, ScoreCoordinate};

use crate::{Hub, PlainOutcome, Usage, claim, name};
use portolan_engine::mistakes::{self, Mistake};
use portolan_engine::quantity;
use portolan_engine::status::Status;
use portolan_engine::warnings::Warning;

#[derive(PartialEq)]
pub(super) enum Kind {
    Balance,
    Steady,
    Allocatable(&'static str),
    AddOn(String, String),
    Property(String),
}

impl Kind {
    fn name(&self) -> String {
        match self {
            Kind::Balance => "Balance".to_owned(),
            Kind::Steady => "Steady".to_owned(),
            Kind::Allocatable("cpu") => "ResourceAllocatableCPU".to_owned(),
            Kind::Allocatable(_) => "ResourceAllocatableMemory".to_owned(),
            Kind::AddOn(resource, score) => format!("AddOn/{resource}/{score}"),
            Kind::Property(property) => format!("Property/{property}"),
        }
    }
}

/// What runs, its weight, and the configuration that it comes from.
pub(super) type Configured = (Kind, i64, Option<usize>);

/// What runs with which weight, in the order Balance, Steady, then as configured. A weight of 0 switches off.
pub(super) fn policy(policy: Option<&PrioritizerPolicy>) -> Result<Vec<Configured>, Status> {
    let wrong = |mistake: Mistake| mistake.status();
    let default = match policy
        .and_then(|policy| policy.mode.as_deref())
        .unwrap_or_default()
    {
        "" | "Additive" => 1,
        "Exact" => 0,
        other => {
            return Err(wrong(mistakes::mode(other)));
        }
    };
    let mut weights = vec![(Kind::Balance, default, None), (Kind::Steady, default, None)];
    for (index, configuration) in policy
        .iter()
        .flat_map(|policy| &policy.configurations)
        .enumerate()
    {
        let coordinate = configuration.score_coordinate.as_ref();
        let coordinate = coordinate.ok_or_else(|| wrong(mistakes::no_coordinate(index)))?;
        let kind = kind(coordinate, index).map_err(wrong)?;
        let weight = i64::from(configuration.weight.unwrap_or(1));
        // Two equal AddOn entries both count, of other equal entries the last.
        let same = weights
            .iter()
            .position(|(other, ..)| *other == kind && !matches!(kind, Kind::AddOn(..)));
        match same {
            Some(position) => weights[position].1 = weight,
            None => weights.push((kind, weight, Some(index))),
        }
    }
    weights.retain(|(_, weight, _)| *weight != 0);
    Ok(weights)
}

/// What a coordinate names, unless it is a mistake.
pub(super) fn named(coordinate: &ScoreCoordinate) -> Option<Kind> {
    kind(coordinate, 0).ok()
}

fn kind(coordinate: &ScoreCoordinate, index: usize) -> Result<Kind, Mistake> {
    match coordinate.r#type.as_deref().unwrap_or("BuiltIn") {
        "BuiltIn" => match coordinate.built_in.as_deref().unwrap_or_default() {
            "Balance" => Ok(Kind::Balance),
            "Steady" => Ok(Kind::Steady),
            "ResourceAllocatableCPU" => Ok(Kind::Allocatable("cpu")),
            "ResourceAllocatableMemory" => Ok(Kind::Allocatable("memory")),
            other => Err(mistakes::built_in(
                index,
                other,
                "Balance, Steady, ResourceAllocatableCPU or ResourceAllocatableMemory",
            )),
        },
        "Property" => match coordinate.property.as_deref().unwrap_or_default() {
            "" => Err(mistakes::no_property(index)),
            property => Ok(Kind::Property(property.to_owned())),
        },
        _ => match &coordinate.add_on {
            Some(add_on) => Ok(Kind::AddOn(
                add_on.resource_name.clone(),
                add_on.score_name.clone(),
            )),
            None => Err(mistakes::no_add_on(index)),
        },
    }
}

/// Runs every prioritizer and adds up the totals. The last warning stays.
pub(super) fn score(
    hub: &Hub<'_>,
    clusters: &[&ManagedCluster],
    policy: &[Configured],
    usage: &Usage,
    in_decision: &BTreeSet<&str>,
    now: Timestamp,
    outcome: &mut PlainOutcome,
) {
    let mut totals: BTreeMap<String, i64> = clusters
        .iter()
        .map(|cluster| (name(cluster).to_owned(), 0))
        .collect();
    for (kind, weight, configuration) in policy {
        let is_published = match kind {
            Kind::AddOn(resource, score) => clusters
                .iter()
                .any(|cluster| publishes(hub, name(cluster), resource, score)),
            Kind::Property(property) => clusters.iter().any(|cluster| number(cluster, property).is_some()),
            _ => true,
        };
        if let Some(configuration) = configuration.filter(|_| !is_published && !clusters.is_empty()) {
            outcome
                .warnings
                .push(Warning::ScoreNotPublished { configuration });
        }
        let scores = match kind {
            Kind::Balance => balance(clusters, usage),
            Kind::Steady => each(clusters, |cluster| {
                if in_decision.contains(name(cluster)) {
                    100
                } else {
                    0
                }
            }),
            Kind::Allocatable(resource) => scaled(clusters, |cluster| allocatable(cluster, resource)),
            Kind::AddOn(resource, score) => add_on(hub, clusters, resource, score, now, outcome),
            Kind::Property(property) => scaled(clusters, |cluster| number(cluster, property)),
        };
        for (cluster, score) in &scores {
            if let Some(total) = totals.get_mut(cluster) {
                *total += score * weight;
            }
        }
        outcome.prioritizers.push((kind.name(), *weight, scores));
    }
    outcome.totals = totals;
}

/// The number that a cluster reports under a name.
fn number(cluster: &ManagedCluster, property: &str) -> Option<f64> {
    quantity::as_float(claim(cluster, property)?.trim()).filter(|value| value.is_finite())
}

/// Whether there is such a score of the cluster, expired or not.
fn publishes(hub: &Hub<'_>, cluster: &str, resource: &str, score: &str) -> bool {
    let object = hub.scores.get(&(cluster, resource));
    let status = object.and_then(|object| object.status.as_ref());
    status.is_some_and(|status| status.scores.iter().any(|item| item.name == score))
}

fn each(clusters: &[&ManagedCluster], score: impl Fn(&ManagedCluster) -> i64) -> BTreeMap<String, i64> {
    clusters
        .iter()
        .map(|cluster| (name(cluster).to_owned(), score(cluster)))
        .collect()
}

fn balance(clusters: &[&ManagedCluster], usage: &Usage) -> BTreeMap<String, i64> {
    let max = usage.values().copied().max().unwrap_or(0);
    each(clusters, |cluster| match usage.get(name(cluster)) {
        None | Some(0) => 100,
        Some(&count) => 2 * (100.0 * (0.5 - count as f64 / max as f64)) as i64,
    })
}

/// Smallest value -100, largest 100; a cluster without a value gets 0 and does not move the scale.
fn scaled(
    clusters: &[&ManagedCluster],
    value: impl Fn(&ManagedCluster) -> Option<f64>,
) -> BTreeMap<String, i64> {
    let values = || clusters.iter().filter_map(|cluster| value(cluster));
    let min = values().fold(f64::INFINITY, f64::min);
    let max = values().fold(f64::NEG_INFINITY, f64::max);
    each(clusters, |cluster| match value(cluster) {
        None => 0,
        Some(_) if max == min => 100,
        Some(value) => (((value - min) / (max - min) - 0.5) * 2.0 * 100.0) as i64,
    })
}

/// Only of clusters that report the capacity too.
fn allocatable(cluster: &ManagedCluster, resource: &str) -> Option<f64> {
    let status = cluster.status.as_ref()?;
    status.capacity.get(resource)?;
    quantity::as_float(&status.allocatable.get(resource)?.0)
}

fn add_on(
    hub: &Hub<'_>,
    clusters: &[&ManagedCluster],
    resource: &str,
    score: &str,
    now: Timestamp,
    outcome: &mut PlainOutcome,
) -> BTreeMap<String, i64> {
    let mut scores = BTreeMap::new();
    let mut expired = Vec::new();
    for cluster in clusters {
        let object = hub
            .scores
            .get(&(name(cluster), resource))
            .and_then(|object| object.status.as_ref());
        let until = object
            .and_then(|status| status.valid_until.as_ref())
            .map(|time| time.0);
        let item = object.and_then(|status| status.scores.iter().rev().find(|item| item.name == score));
        let value = if until.is_some_and(|until| now > until) {
            expired.push(format!("{}/{resource}", name(cluster)));
            0
        } else {
            outcome.requeue_at = outcome.requeue_at.into_iter().chain(until).min();
            item.map_or(0, |item| i64::from(item.value))
        };
        scores.insert(name(cluster).to_owned(), value);
    }
    if !expired.is_empty() {
        expired.sort_unstable();
        let named = expired[..expired.len().min(3)].join(" ");
        let message = match expired.len() {
            ..=3 => format!("AddOnPlacementScores {named} expired"),
            all => format!("AddOnPlacementScores {named} and {} more expired", all - 3),
        };
        outcome.status = Status::warning(&format!("AddOn/{resource}/{score}"), message);
    }
    scores
}
