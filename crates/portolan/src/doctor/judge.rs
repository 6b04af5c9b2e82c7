//! The checks, in the order in which things depend on each other.

use jiff::{SignedDuration, Timestamp};
use portolan_api::cluster::Placement;
use portolan_api::count::counted;
use portolan_api::labels::conditions;
use portolan_engine::fleet::Inventory;
use portolan_engine::placement::{PlacementKey, is_ours};

use super::concern::Concern;
use super::read::{NoAnswer, Observed};
use super::{Check, fleet, names, subject};
use crate::set_names::SetNames;

/// A Placement that is younger than this may still be waiting for its first evaluation.
const FIRST_EVALUATION: SignedDuration = SignedDuration::from_secs(10);

/// What to do where no controller writes.
const START: &str =
    "start `portolan controller --kubeconfig FILE` (or `portolan up`), or read the log of the one that runs";

/// For a hub with ClusterProfiles and no ManagedCluster, where a controller that runs may look at the wrong kind.
const BY_PROFILES: &str = "there are ClusterProfiles and no ManagedCluster, and a controller looks at ManagedClusters unless it is \
     started with `--inventory=clusterprofiles`; start `portolan controller` or `portolan up` with that";

/// Everything that can be said. Without an answer of the hub there is one check.
pub(super) fn judge(observed: &Observed, wanted: Option<&PlacementKey>, now: Timestamp) -> Vec<Check> {
    let mut checks = match &observed.version {
        Ok(version) => vec![Check::ok("hub", format!("answers, version {version}"))],
        Err(NoAnswer::Unreachable(why)) => {
            // The error of a request ends with the next step where there is one.
            let next = "check --kubeconfig, --context and whether the hub runs; `portolan up` starts one";
            let (found, advice) = why.split_once("; ").unwrap_or((why, next));
            return vec![Check::problem("hub", found, advice)];
        }
        Err(NoAnswer::Refused { why, credentials }) => {
            let found = format!(
                "the hub cannot be used: it does not accept the credentials: {why}; they are {credentials}"
            );
            let advice = "get new credentials from the administrator of the hub, or choose others with --kubeconfig or \
                          --context; `portolan join NAME` writes new ones for an agent";
            return vec![Check::problem("credentials", found, advice)];
        }
    };
    checks.push(rights(observed));
    checks.extend(unread(observed));
    checks.push(definitions(observed));
    let manifests = observed.manifests.as_ref();
    let concern = manifests.map(|manifests| Concern::of(observed, manifests, wanted));
    let ours: Vec<&Placement> = match &observed.manifests {
        Some(manifests) => manifests
            .placements()
            .filter(|placement| is_ours(placement))
            .collect(),
        None => Vec::new(),
    };
    let is_concerned = |key: &PlacementKey| concern.as_ref().is_none_or(|concern| concern.has_placement(key));
    let own = ours.iter().copied();
    let own: Vec<&Placement> = own
        .filter(|placement| is_concerned(&PlacementKey::of(placement)))
        .collect();
    // Whether a controller runs concerns a work as well, which has no Placement.
    let has_none = own.is_empty();
    let placements = if has_none { ours } else { own };
    let stale = observed
        .stale
        .iter()
        .filter(|(key, _)| has_none || is_concerned(key));
    let stale: Vec<(&PlacementKey, &str)> = stale.map(|(key, why)| (key, why.as_str())).collect();
    checks.push(controller(observed, &placements, &stale, now));
    if let (Some(manifests), Some(concern)) = (manifests, &concern) {
        checks.extend(fleet::judge(observed, manifests, concern, now));
        let subject = subject::judge(observed, manifests, concern, now).into_iter();
        checks.extend(subject.map(|check| Check {
            is_of_subject: wanted.is_some(),
            ..check
        }));
        let sets = SetNames::of(manifests);
        for check in &mut checks {
            check.found = sets.proposed(std::mem::take(&mut check.found));
        }
    }
    checks
}

fn rights(observed: &Observed) -> Check {
    let user = match &observed.user {
        Some(name) => format!("user {name}"),
        None => "this user".to_owned(),
    };
    match observed.missing_rights.as_deref() {
        None => Check::unknown("rights", "the server does not answer a SelfSubjectAccessReview"),
        Some([]) => Check::ok(
            "rights",
            format!("{user} may list everything that the checks read"),
        ),
        Some(missing) => Check::problem(
            "rights",
            format!("{user} may not {}", missing.join(", ")),
            "ask an administrator of the hub for these rights; what cannot be read is not checked",
        )
        .or(format!("{user} may not {}", listed(missing))),
    }
}

/// What the hub did not let be read, although nothing says that the right is missing: without credentials, for example, it
/// does not even say which rights there are.
fn unread(observed: &Observed) -> Option<Check> {
    let first = observed.unread.first()?;
    let what: Vec<String> = observed.unread.iter().map(|unread| unread.what.clone()).collect();
    let found = |what: String| {
        let (why, credentials) = (&first.why, &observed.credentials);
        format!("cannot {what}: {why}; the credentials are {credentials}")
    };
    let advice = "get credentials that may read this from the administrator of the hub, or choose others with --kubeconfig or \
                  --context; what cannot be read is not checked";
    Some(Check::problem("reading", found(what.join(", ")), advice).or(found(listed(&what))))
}

/// The first rights by name; the rest is counted, since the advice is the same for all.
fn listed(rights: &[String]) -> String {
    const NAMED: usize = 4;
    match rights.len().checked_sub(NAMED) {
        Some(more @ 1..) => format!(
            "{} and {more} more (-o wide lists all)",
            rights[..NAMED].join(", ")
        ),
        _ => rights.join(", "),
    }
}

fn definitions(observed: &Observed) -> Check {
    let name = "definitions";
    match (
        observed.missing_definitions.as_deref(),
        observed.missing_fields.as_slice(),
    ) {
        (None, _) => Check::unknown(name, "CustomResourceDefinitions cannot be listed"),
        (Some([]), []) => Check::ok(
            name,
            "every CustomResourceDefinition is installed and lacks no field",
        ),
        (Some([]), fields) => Check::problem(
            name,
            fields.join("; "),
            "`portolan controller --install-crds=force` replaces the definitions by Portolan's",
        ),
        (Some(missing), _) => Check::problem(
            name,
            format!("not installed: {}", names(missing.iter().map(String::as_str))),
            "`portolan crds | kubectl apply -f -` installs them",
        ),
    }
}

/// How to get a controller that writes the decisions.
fn start(inventory: Inventory) -> &'static str {
    match inventory {
        Inventory::ClusterProfiles => BY_PROFILES,
        Inventory::ManagedClusters => START,
    }
}

/// Judged by what a controller writes. It cannot be told whether one runs at this moment when there is nothing to do.
fn controller(
    observed: &Observed,
    placements: &[&Placement],
    stale: &[(&PlacementKey, &str)],
    now: Timestamp,
) -> Check {
    let name = "controller";
    let Some(manifests) = &observed.manifests else {
        let found = "Placements cannot be read, and it is judged by their conditions";
        return Check::unknown(name, found);
    };
    let start = start(observed.inventory.resolve(manifests));
    // One that is evaluated already says as much as one that had the time.
    let old: Vec<&&Placement> = placements
        .iter()
        .filter(|placement| !is_young(placement, now) || !is_behind(placement))
        .collect();
    let behind: Vec<String> = old
        .iter()
        .filter(|placement| is_behind(placement))
        .map(|placement| PlacementKey::of(placement).to_string())
        .collect();
    let condition = conditions::PLACEMENT_SATISFIED;
    match (old.len(), behind.len()) {
        (0, _) => Check::unknown(
            name,
            "there is no Placement older than ten seconds, and it is judged by the conditions of Placements",
        ),
        (_, 0) if let Some((first, why)) = stale.first() => Check::problem(
            name,
            match stale.len() - 1 {
                0 => format!("no controller keeps the decision of {first} up to date: {why}"),
                more => format!(
                    "no controller keeps decisions up to date: {first}: {why}; also those of {}",
                    counted(more, "other Placement")
                ),
            },
            start,
        ),
        (all, 0) => Check::ok(
            name,
            format!(
                "a controller has evaluated {} as {} now (condition {condition}), and the decisions fit the clusters; \
                 whether one runs at this moment shows when something changes",
                counted(all, "Placement"),
                if all == 1 { "it is" } else { "they are" }
            ),
        ),
        (all, some) => Check::problem(
            name,
            format!(
                "{some} of {} without a condition {condition} for the current generation: {}",
                counted(all, "Placement"),
                names(behind.iter().map(String::as_str))
            ),
            start,
        ),
    }
}

/// Whether a Placement may still be waiting for its first evaluation.
fn is_young(placement: &Placement, now: Timestamp) -> bool {
    let created = placement.metadata.creation_timestamp.as_ref();
    created.is_some_and(|created| now.duration_since(created.0) < FIRST_EVALUATION)
}

/// Whether no controller has evaluated a Placement as it is now.
fn is_behind(placement: &Placement) -> bool {
    let status = placement.status.as_ref();
    let mut list = status.iter().flat_map(|status| &status.conditions);
    let satisfied = list.find(|condition| condition.type_ == conditions::PLACEMENT_SATISFIED);
    match (satisfied, placement.metadata.generation) {
        (None, _) => true,
        (Some(condition), Some(generation)) => condition
            .observed_generation
            .is_some_and(|seen| seen < generation),
        (Some(_), None) => false,
    }
}
