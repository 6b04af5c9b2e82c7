//! The definitions that come with Portolan, and the rules they carry.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    definition: String,
    versions: Vec<String>,
    /// The message of the rule.
    rule: String,
    object: Value,
    accepted: Vec<Value>,
    refused: Value,
    field: String,
}

fn definitions() -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/crds");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let mut definitions: Vec<Value> = files
        .map(|file| serde_saphyr::from_str(&std::fs::read_to_string(file).unwrap()).unwrap())
        .collect();
    definitions.sort_by_key(|definition| definition["metadata"]["name"].to_string());
    definitions
}

/// The messages of all rules in a schema.
fn messages(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(map) => {
            for rule in map
                .get("x-kubernetes-validations")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                found.insert(rule["message"].as_str().unwrap().to_owned());
            }
            map.values().for_each(|value| messages(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| messages(item, found)),
        _ => {}
    }
}

#[tokio::test]
async fn each_rule_of_the_own_definitions_accepts_and_refuses() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    let definitions = definitions();
    let mut unproven = BTreeSet::new();
    for definition in &definitions {
        client.create(DEFINITIONS, definition).await.ok();
        let name = definition["metadata"]["name"].as_str().unwrap();
        for version in definition["spec"]["versions"].as_array().unwrap() {
            let mut found = BTreeSet::new();
            messages(version, &mut found);
            let version = version["name"].as_str().unwrap();
            unproven.extend(found.into_iter().map(|rule| format!("{name} {version}: {rule}")));
        }
    }
    assert!(!unproven.is_empty(), "the definitions carry rules");
    let scenarios: Vec<Scenario> = serde_saphyr::from_str(include_str!("own_rules.yaml")).unwrap();
    for scenario in &scenarios {
        let definition = definitions
            .iter()
            .find(|definition| definition["metadata"]["name"] == scenario.definition.as_str())
            .unwrap();
        for version in &scenario.versions {
            play(&client, definition, version, scenario).await;
            let proven = unproven.remove(&format!("{} {version}: {}", scenario.definition, scenario.rule));
            assert!(
                proven,
                "{} {version} has no rule {:?}",
                scenario.definition, scenario.rule
            );
        }
    }
    assert_eq!(unproven, BTreeSet::new(), "every rule has a scenario");
}

async fn play(client: &Client, definition: &Value, version: &str, scenario: &Scenario) {
    let spec = &definition["spec"];
    let text = |pointer: &str| spec.pointer(pointer).and_then(Value::as_str).unwrap();
    let (group, plural) = (text("/group"), text("/names/plural"));
    let path = format!("/apis/{group}/{version}/namespaces/default/{plural}");
    let mut object = scenario.object.clone();
    object["apiVersion"] = format!("{group}/{version}").into();
    object["kind"] = text("/names/kind").into();
    object["metadata"] = json!({"name": "it"});
    client.create(&path, &object).await.ok();
    let path = format!("{path}/it");
    let at = |patch: &Value| match patch.get("status") {
        Some(_) => format!("{path}/status"),
        None => path.clone(),
    };
    for patch in &scenario.accepted {
        client.merge(&at(patch), patch).await.ok();
    }
    let refused = client.merge(&at(&scenario.refused), &scenario.refused).await;
    let (code, reason, causes) = refused.refusal();
    assert_eq!((code, reason), (422, "Invalid"), "{}: {refused:?}", scenario.rule);
    let wanted = format!(": {}", scenario.rule);
    let by_rule =
        |cause: &&String| cause.contains(&format!(" {}: ", scenario.field)) && cause.ends_with(&wanted);
    assert!(
        causes.iter().find(by_rule).is_some(),
        "{}: {causes:?}",
        scenario.rule
    );
    client.delete(&path).await.ok();
}
