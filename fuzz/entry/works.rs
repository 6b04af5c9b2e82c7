//! Works as an agent reads them from its hub. The first byte chooses the kind of work, the rest is the object as JSON; its
//! field `there` is what the member cluster has where the first manifest belongs.

use serde_json::{Value, json};

use super::choose;

/// Each manifest of a work gets a verdict, each refusal words, and the status that says so can be read again.
pub fn work_manifests(data: &[u8]) {
    let [kind, work @ ..] = data else {
        return;
    };
    let Ok(work) = serde_json::from_slice::<Value>(work) else {
        return;
    };
    let kind = choose(&["ManifestWork", "Work"], *kind);
    if let Err(broken) = portolan_agent::try_out(kind, &work, jiff::Timestamp::UNIX_EPOCH) {
        panic!("{broken}: {work}");
    }
}

/// The places that an expression of `ignoreFields` names in the object that a member has are left as they are there, or the
/// expression is refused in words. The first byte chooses the language, the first line is the expression and the rest the
/// `spec` of the object, as JSON.
pub fn ignored_fields(data: &[u8]) {
    let Some((language, text)) = data
        .split_first()
        .and_then(|(language, rest)| Some((language, std::str::from_utf8(rest).ok()?)))
    else {
        return;
    };
    let (expression, spec) = text.split_once('\n').unwrap_or((text, "{}"));
    let Ok(spec) = serde_json::from_str::<Value>(spec) else {
        return;
    };
    let list = choose(&["jqPathExpressions", "jsonPaths", "jsonPointers"], *language);
    let object = |spec: &Value| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": "web", "namespace": "shop", "uid": "1" }, "spec": spec,
        })
    };
    let work = json!({
        "metadata": { "name": "w", "generation": 3, "uid": "u", "resourceVersion": "5" },
        "spec": {
            "workload": { "manifests": [object(&json!({ "replicas": 2, "containers": [{ "name": "web" }] }))] },
            "manifestConfigs": [{
                "resourceIdentifier": {
                    "group": "apps", "resource": "deployments", "namespace": "shop", "name": "web",
                },
                "updateStrategy": {
                    "type": "ServerSideApply",
                    "serverSideApply": { "ignoreFields": [{ "condition": "OnSpokePresent", (*list): [expression] }] },
                },
            }],
        },
        "there": object(&spec),
    });
    if let Err(broken) = portolan_agent::try_out("ManifestWork", &work, jiff::Timestamp::UNIX_EPOCH) {
        panic!("{broken}: {work}");
    }
}
