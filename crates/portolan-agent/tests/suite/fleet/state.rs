//! Everything that agents and controllers leave behind, without what differs from one run to the next.

use std::collections::{BTreeMap, BTreeSet};

use kube::api::{DynamicObject, ListParams};
use portolan_api::labels::portolan;
use serde_json::{Value, json};

use super::script::Script;
use super::{Api, Fleet, api};

/// Objects by kind, place and name.
pub(super) type State = BTreeMap<String, Value>;

/// What there is.
pub(super) async fn state(fleet: &Fleet) -> kube::Result<State> {
    let mut state = State::new();
    let mut add = |at: &str, object: &Value| {
        // A real server gives each run another namespace.
        let text = object.to_string().replace(&fleet.namespace, "shop");
        let object: Value = serde_json::from_str(&text).unwrap();
        state.insert(format!("{at} {}", object["metadata"]["name"]), object);
    };
    for kind in ["Placement", "PlacementDecision", "ManifestWorkReplicaSet"] {
        for object in objects(&fleet.api(kind, &fleet.namespace)).await? {
            add(kind, &object);
        }
    }
    for (number, member) in fleet.members.iter().enumerate() {
        for kind in ["ManifestWork", "Work"] {
            for object in objects(&fleet.api(kind, &member.name)).await? {
                add(&format!("{kind} m{number}"), &object);
            }
        }
        for kind in ["AppliedManifestWork", "AppliedWork"] {
            for mut object in objects(&api(member.client(), kind, "")).await? {
                // Its name has the cluster's in it, in figures.
                let spec = object["spec"].as_object_mut().unwrap();
                spec.remove("hubHash");
                // The same hash, unless an agent has an id of its own.
                spec.remove("agentID");
                let work = spec.get("manifestWorkName").or(spec.get("workName")).cloned();
                object["metadata"]["name"] = work.unwrap_or_default();
                add(&format!("{kind} m{number}"), &object);
            }
        }
        let values: BTreeMap<String, String> = member.values().await.into_iter().collect();
        add(
            &format!("objects m{number}"),
            &json!({ "metadata": {}, "values": values }),
        );
    }
    Ok(state)
}

async fn objects(api: &Api) -> kube::Result<Vec<Value>> {
    let list = api.list(&ListParams::default()).await?;
    Ok(list.into_iter().map(|object| comparable(&object)).collect())
}

/// Without identities, versions and times. Generations count changes that another run may have skipped, so that what is
/// compared is whether others are about the present one.
fn comparable(object: &DynamicObject) -> Value {
    let mut value = serde_json::to_value(object).unwrap();
    let generation = object.metadata.generation;
    strip(&mut value, generation);
    if let Some(annotations) = value
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    {
        // The content of a decision is a hash with the names of clusters in it, which differ on a real server.
        for own in [
            portolan::WORK_UID,
            portolan::WORK_GENERATION,
            portolan::ROLLOUT_SINCE,
            portolan::CONTENT,
        ] {
            annotations.remove(own);
        }
    }
    value
}

fn strip(value: &mut Value, generation: Option<i64>) {
    match value {
        Value::Object(fields) => {
            for field in [
                "uid",
                "resourceVersion",
                "creationTimestamp",
                "managedFields",
                "lastTransitionTime",
                "generation",
                // How long a cluster has been chosen counts in a score, and scores are refreshed at times.
                "score",
                "lastScoreUpdateTime",
            ] {
                fields.remove(field);
            }
            if let Some(observed) = fields.get_mut("observedGeneration") {
                *observed = (observed.as_i64() == generation).into();
            }
            fields.values_mut().for_each(|value| strip(value, generation));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| strip(value, generation)),
        _ => {}
    }
}

/// What is not as the script wants it yet.
pub(super) async fn unsettled(fleet: &Fleet, script: &Script) -> kube::Result<Option<String>> {
    for (number, member) in fleet.members.iter().enumerate() {
        let values: BTreeMap<String, String> = member.values().await.into_iter().collect();
        let wanted = script.wanted(number);
        if values != wanted {
            let details = details(fleet, member, &values, &wanted).await?;
            return Ok(Some(format!(
                "m{number} has {values:?}, wanted are {wanted:?}; {details}"
            )));
        }
        let mut names = BTreeSet::new();
        for kind in ["ManifestWork", "Work"] {
            let works = fleet.api(kind, &member.name).list(&ListParams::default()).await?;
            for work in works {
                let name = work.metadata.name.clone().unwrap_or_default();
                if !is_applied(&work) {
                    return Ok(Some(format!("{name} of m{number}: {}", work.data["status"])));
                }
                names.insert(name);
            }
        }
        let wanted = script.works(number);
        if names != wanted {
            return Ok(Some(format!(
                "m{number} has the works {names:?}, wanted are {wanted:?}"
            )));
        }
    }
    let set = fleet
        .api("ManifestWorkReplicaSet", &fleet.namespace)
        .get("app")
        .await?;
    Ok((!has(&set, "PlacementRolledOut")).then(|| format!("app: {}", set.data["status"])))
}

/// What is there of the objects that are not as they are wanted, and what the records of the agent say.
async fn details(
    fleet: &Fleet,
    member: &super::Member,
    values: &BTreeMap<String, String>,
    wanted: &BTreeMap<String, String>,
) -> kube::Result<String> {
    let mut lines = Vec::new();
    let maps = api(member.client(), "ConfigMap", super::OBJECTS);
    for name in values.keys().chain(wanted.keys()) {
        if values.get(name) != wanted.get(name) {
            let found = maps.get_opt(name).await?;
            lines.push(format!("{name}: {:?}", found.map(|found| found.metadata)));
        }
    }
    for kind in ["AppliedManifestWork", "AppliedWork"] {
        for record in api(member.client(), kind, "")
            .list(&ListParams::default())
            .await?
        {
            let resources = record.data.pointer("/status/appliedResources");
            let names = resources.and_then(Value::as_array).into_iter().flatten();
            let names: Vec<String> = names
                .map(|resource| format!("{} {}", resource["name"], resource["uid"]))
                .collect();
            let (spec, annotations) = (&record.data["spec"], &record.metadata.annotations);
            lines.push(format!("{kind} {spec} {annotations:?}: {names:?}"));
        }
    }
    for (kind, namespace) in [
        ("ManifestWork", &member.name),
        ("Placement", &fleet.namespace),
        ("PlacementDecision", &fleet.namespace),
        ("ManifestWorkReplicaSet", &fleet.namespace),
    ] {
        for object in fleet.api(kind, namespace).list(&ListParams::default()).await? {
            let metadata = &object.metadata;
            let (uid, leaving) = (&metadata.uid, metadata.deletion_timestamp.is_some());
            lines.push(format!(
                "{kind} {:?} {uid:?} generation {:?} leaving {leaving} {:?} {:?}: {}",
                metadata.name,
                metadata.generation,
                metadata.finalizers,
                metadata.annotations,
                object.data["status"]
            ));
        }
    }
    Ok(lines.join("\n"))
}

fn is_applied(work: &DynamicObject) -> bool {
    work.metadata.deletion_timestamp.is_none() && has(work, "Applied") && has(work, "Available")
}

/// Whether a condition is true of the present generation.
pub(super) fn has(object: &DynamicObject, condition: &str) -> bool {
    let conditions = object
        .data
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    conditions.into_iter().flatten().any(|found| {
        found["type"] == condition
            && found["status"] == "True"
            && found["observedGeneration"].as_i64() == object.metadata.generation
    })
}
