//! Placements and replica sets: all of them, or the one that was asked about.

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use portolan_api::cluster::Placement;
use portolan_api::count::{all_are, counted};
use portolan_api::labels::{conditions, reasons};
use portolan_api::multicluster::Work;
use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet};
use portolan_controllers::overview::{Objects, Overview, OverviewState, overview};
use portolan_engine::conditions::ROLLING_UPDATE_RECOMMENDED;
use portolan_engine::placement::{PlacementKey, why_not_ours};

use super::complaint::{Complaint, concluded};
use super::concern::{Concern, decided, key_in, references, works_of};
use super::read::Observed;
use super::{Check, names, plain_works, works};
use crate::decided::{Said, has_no_condition};
use crate::input::Manifests;
use crate::object_name;
use crate::stray_bindings::StrayBindings;

/// The check of what does not exist.
pub(super) const MISSING: &str = "subject";

pub(super) fn judge(
    observed: &Observed,
    manifests: &Manifests,
    concern: &Concern<'_>,
    now: Timestamp,
) -> Vec<Check> {
    let wanted = concern.wanted;
    let replica_sets: Vec<&ManifestWorkReplicaSet> = concern.replica_sets(observed).collect();
    let plain_works: Vec<&Work> = observed
        .plain_works
        .iter()
        .flatten()
        .filter(|work| wanted.is_none_or(|wanted| key_in(&work.metadata) == *wanted))
        .collect();
    let own_works: Vec<&ManifestWork> = concern.works(observed).collect();
    let placements: Vec<&Placement> = manifests
        .placements()
        .filter(|placement| concern.has_placement(&PlacementKey::of(placement)))
        .collect();
    let broken = unreadable(manifests, concern);
    let is_nothing =
        placements.is_empty() && replica_sets.is_empty() && plain_works.is_empty() && own_works.is_empty();
    if wanted.is_some() && is_nothing && !broken.is_empty() {
        return broken;
    }
    if let Some(wanted) = wanted
        && is_nothing
    {
        return vec![Check::problem(
            MISSING,
            format!("there is no Placement, ManifestWorkReplicaSet, ManifestWork or Work {wanted}"),
            meant(observed, manifests, wanted)
                + "`portolan get placements`, `portolan rollout list` and `kubectl get manifestworks,works -A` list all",
        )];
    }
    let mut checks = broken;
    if wanted.is_some() {
        checks.extend(of_others(&placements));
    }
    if !placements.is_empty() {
        checks.extend(conditions_of(&placements, &StrayBindings::of(manifests)));
        checks.extend(decisions_of(manifests, &placements));
    }
    let overviews: Vec<(&ManifestWorkReplicaSet, Overview)> = replica_sets
        .iter()
        .map(|set| (*set, overview(objects(observed, manifests, set), now)))
        .collect();
    if !replica_sets.is_empty() {
        checks.extend(rollouts(&overviews));
    }
    // Works of nobody's replica set are made by hand, and stand still alike.
    let works: Vec<&ManifestWork> = match wanted {
        None => observed.works.iter().flatten().collect(),
        Some(_) => replica_sets
            .iter()
            .flat_map(|set| works_of(observed, set))
            .chain(own_works)
            .collect(),
    };
    let chosen: BTreeSet<String> = replica_sets
        .iter()
        .flat_map(|set| chosen(manifests, set))
        .collect();
    if !replica_sets.is_empty() || !works.is_empty() {
        let invalid = overviews
            .iter()
            .filter(|(_, overview)| overview.state == OverviewState::Invalid);
        let invalid: Vec<String> = invalid
            .map(|(set, _)| key_in(&set.metadata).to_string())
            .collect();
        checks.extend(works::judge(observed, manifests, &works, &chosen, &invalid));
    }
    if !plain_works.is_empty() {
        checks.extend(plain_works::judge(manifests, &plain_works));
    }
    checks
}

/// The question whether another subject is meant; empty where none is spelt alike.
fn meant(observed: &Observed, manifests: &Manifests, wanted: &PlacementKey) -> String {
    let placements = manifests.placements().map(PlacementKey::of);
    let sets = observed.replica_sets.iter().flatten();
    let works = observed.works.iter().flatten();
    let plain = observed.plain_works.iter().flatten();
    let there: Vec<PlacementKey> = placements
        .chain(sets.map(|set| key_in(&set.metadata)))
        .chain(works.map(|work| key_in(&work.metadata)))
        .chain(plain.map(|work| key_in(&work.metadata)))
        .collect();
    match object_name::meant(wanted, &there).as_slice() {
        [] => String::new(),
        meant => format!("did you mean {}? ", meant.join(" or ")),
    }
}

/// Placements that cannot be read.
fn unreadable(manifests: &Manifests, concern: &Concern<'_>) -> Vec<Check> {
    let is_checked = |name: &str| {
        let key = object_name::parse(name).map(|named| named.key(None, object_name::DEFAULT_NAMESPACE));
        matches!(&key, Ok(Ok(key)) if concern.has_placement(key))
    };
    manifests
        .unreadable("Placement")
        .filter(|(name, _)| is_checked(name))
        .map(|(name, why)| {
            Check::problem(
                "unreadable",
                format!("the Placement {name} cannot be read, so that its decision stays as it is: {why}"),
                "correct the field, or install the definitions with `portolan crds | kubectl apply -f -`",
            )
        })
        .collect()
}

/// Placements that Portolan leaves to other schedulers.
fn of_others(placements: &[&Placement]) -> Vec<Check> {
    placements
        .iter()
        .filter_map(|placement| {
            let why = why_not_ours(placement)?;
            let key = PlacementKey::of(placement);
            Some(Check::problem(
                "scheduler",
                format!("Portolan decides nothing for {key}: {why}"),
                "change or remove the annotation if Portolan is to decide",
            ))
        })
        .collect()
}

/// Whether a condition of a Placement says that something is wrong.
pub(super) fn is_wrong(condition: &Condition) -> bool {
    match condition.type_.as_str() {
        conditions::PLACEMENT_SATISFIED => condition.status == "False",
        // Advice, and nothing that keeps anything from happening.
        ROLLING_UPDATE_RECOMMENDED => false,
        _ => condition.status == "True",
    }
}

/// What is wrong with Placements, but for bindings without a set, which have a check of their own.
fn conditions_of(placements: &[&Placement], stray: &StrayBindings) -> Vec<Check> {
    let complaints: Vec<Complaint> = placements
        .iter()
        .filter_map(|placement| {
            let list = placement.status.iter().flat_map(|status| &status.conditions);
            let mut wrong: Vec<&Condition> = list.filter(|condition| is_wrong(condition)).collect();
            // What is misconfigured is unsatisfied for the same reason.
            let is_misconfigured =
                |condition: &&Condition| condition.type_ == conditions::PLACEMENT_MISCONFIGURED;
            if wrong.iter().any(is_misconfigured) {
                wrong.retain(|condition| condition.type_ != conditions::PLACEMENT_SATISFIED);
            }
            let said: Vec<String> = wrong
                .into_iter()
                .filter_map(|condition| {
                    let (message, bindings) = stray.split(&condition.message);
                    let is_said = message.is_empty() && !bindings.is_empty();
                    (!is_said).then(|| format!("{} {}: {message}", condition.type_, condition.status))
                })
                .collect();
            let object = PlacementKey::of(placement).to_string();
            (!said.is_empty()).then(|| Complaint {
                words: said.join("; "),
                advice: format!("`portolan explain {object}` says why each cluster is selected or not"),
                object,
            })
        })
        .collect();
    let (evaluated, others): (Vec<&Placement>, Vec<&Placement>) = placements.iter().partition(|placement| {
        let mut list = placement.status.iter().flat_map(|status| &status.conditions);
        list.any(|condition| condition.type_ == conditions::PLACEMENT_SATISFIED)
    });
    if evaluated.is_empty() {
        return vec![Check::unknown(
            "placements",
            "no Placement has conditions, so that nothing is decided",
        )];
    }
    let fine = format!(
        "{} of {} satisfied",
        evaluated.len(),
        counted(placements.len(), "Placement")
    );
    if complaints.is_empty() && !others.is_empty() {
        let others: Vec<String> = others
            .into_iter()
            .map(|placement| PlacementKey::of(placement).to_string())
            .collect();
        let others = names(others.iter().map(String::as_str));
        return vec![Check::note(
            "placements",
            format!("{fine}; nothing is decided for {others}"),
        )];
    }
    concluded("placements", fine, complaints)
}

fn decisions_of(manifests: &Manifests, placements: &[&Placement]) -> Vec<Check> {
    // The check of the controller says what is wrong where none of them is evaluated.
    if placements.iter().all(|placement| has_no_condition(placement)) {
        return Vec::new();
    }
    let clusters = decided(manifests);
    let complaints: Vec<Complaint> = placements
        .iter()
        .filter_map(|placement| {
            let status = placement
                .status
                .as_ref()
                .filter(|status| !status.conditions.is_empty())?;
            let key = PlacementKey::of(placement);
            let listed = clusters.get(&key).map_or(0, BTreeSet::len);
            let reported = usize::try_from(status.number_of_selected_clusters).unwrap_or_default();
            (listed != reported).then(|| Complaint {
                object: key.to_string(),
                words: format!(
                    "its status reports {}, its PlacementDecisions list {listed}",
                    counted(reported, "cluster")
                ),
                advice: "wait for the controller to finish; if it stays so, read the controller's log"
                    .to_owned(),
            })
        })
        .collect();
    let fine = "the PlacementDecisions list as many clusters as the Placements report".to_owned();
    concluded("decisions", fine, complaints)
}

fn rollouts(sets: &[(&ManifestWorkReplicaSet, Overview)]) -> Vec<Check> {
    let (mut complaints, mut held) = (Vec::new(), Vec::new());
    for (set, overview) in sets {
        let object = key_in(&set.metadata).to_string();
        if let Some(words) = complaint(overview).or_else(|| refused(set)) {
            let advice = remedy(&object, overview.state);
            complaints.push(Complaint {
                object,
                words,
                advice,
            });
        } else if matches!(overview.state, OverviewState::Paused | OverviewState::Aborted) {
            held.push(object);
        }
    }
    // What was asked for is no problem.
    if complaints.is_empty() && !held.is_empty() {
        let held = names(held.iter().map(String::as_str));
        let words = format!("paused or aborted: {held}; `portolan rollout resume NS/NAME` lets one go on");
        return vec![Check::note("rollouts", words)];
    }
    let fine = format!(
        "{} complete or going on",
        all_are(sets.len(), "ManifestWorkReplicaSet")
    );
    concluded("rollouts", fine, complaints)
}

/// What lets a rollout go on.
fn remedy(set: &str, state: OverviewState) -> String {
    match state {
        OverviewState::PlacementUnknown => format!(
            "make the Placement, or name another one in spec.placementRefs; `portolan rollout status {set}` says which works \
             stay until then"
        ),
        OverviewState::Invalid => {
            format!(
                "correct the field; `portolan lint` checks the ManifestWorkReplicaSet {set} before it is applied"
            )
        }
        OverviewState::NoClusters => {
            format!(
                "`portolan rollout status {set}` names the Placements, `portolan explain` says why they select none"
            )
        }
        _ => format!("`portolan rollout status {set}` shows the groups and the clusters that failed"),
    }
}

/// What the conditions of a replica set say beside how far its rollout is, which [`complaint`] knows better.
fn refused(set: &ManifestWorkReplicaSet) -> Option<String> {
    let has_works = set.status.as_ref().is_some_and(|status| status.summary.total > 0);
    let mut all = set.status.iter().flat_map(|status| &status.conditions);
    let wrong = all.find(|condition| match condition.type_.as_str() {
        conditions::WORKS_REFUSED => condition.status == "True",
        conditions::PLACEMENT_VERIFIED => condition.status == "False",
        // Before the first work is written this is the usual state.
        conditions::MANIFESTWORK_APPLIED => {
            condition.status == "False" && condition.reason == reasons::NOT_AS_EXPECTED && has_works
        }
        _ => false,
    })?;
    Some(format!(
        "{} {}, {}: {}",
        wrong.type_, wrong.status, wrong.reason, wrong.message
    ))
}

fn complaint(overview: &Overview) -> Option<String> {
    match overview.state {
        OverviewState::Invalid => Some(overview.mistakes.join("; ")),
        OverviewState::PlacementUnknown => {
            let mut problems = overview.placements.iter().filter_map(|placement| {
                let problem = placement.problem.as_ref()?;
                Some(format!("Placement {}: {problem}", placement.name))
            });
            problems.next()
        }
        OverviewState::NoClusters => Some("its placements select no cluster".to_owned()),
        OverviewState::MaxFailuresExceeded => Some(
            "it is stopped: more clusters failed than maxFailures or a mandatory group allows".to_owned(),
        ),
        OverviewState::Paused
        | OverviewState::Aborted
        | OverviewState::Complete
        | OverviewState::Progressing => None,
    }
}

fn objects(observed: &Observed, manifests: &Manifests, set: &ManifestWorkReplicaSet) -> Objects {
    let namespace = set.metadata.namespace.as_deref();
    Objects {
        works: works_of(observed, set).cloned().collect(),
        placements: manifests
            .placements()
            .filter(|object| object.metadata.namespace.as_deref() == namespace)
            .cloned()
            .collect(),
        decisions: manifests
            .decisions()
            .filter(|object| object.metadata.namespace.as_deref() == namespace)
            .cloned()
            .collect(),
        clusters: manifests.clusters().cloned().collect(),
        set: set.clone(),
    }
}

/// The clusters in the decisions of a replica set's placements.
fn chosen(manifests: &Manifests, set: &ManifestWorkReplicaSet) -> Vec<String> {
    let placements = references(set);
    manifests
        .decisions()
        .filter_map(Said::by_decision)
        .filter(|said| placements.contains(&said.placement))
        .flat_map(|said| said.clusters().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}
