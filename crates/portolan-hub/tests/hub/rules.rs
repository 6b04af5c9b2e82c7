//! CEL rules on every way to write an object.

use super::*;

/// `size` may not shrink and must be even; `phase` may not go back to Pending.
fn definition() -> Value {
    let mut definition = widgets(json!({
        "type": "object", "required": ["size"],
        "properties": {
            "size": {"type": "integer", "x-kubernetes-validations": [
                {"rule": "self % 2 == 0", "message": "size must be even"},
                {"rule": "self >= oldSelf", "message": "size may not shrink", "reason": "FieldValueForbidden"},
            ]},
            "note": {"type": "string", "maxLength": 5},
        },
    }));
    let schema = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["properties"]["status"]["properties"]["phase"]["x-kubernetes-validations"] =
        json!([{"rule": "self != 'Pending' || oldSelf == 'Pending'", "message": "cannot go back"}]);
    schema["x-kubernetes-validations"] = json!([{"rule": "self.metadata.name.size() < 5", "message": "the name is too long", "fieldPath": ".spec"}]);
    definition
}

async fn start() -> (Hub, Client) {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    client.create(DEFINITIONS, &definition()).await.ok();
    (hub, client)
}

fn one(refused: &Answer) -> String {
    match refused.refusal() {
        (422, "Invalid", causes) if causes.len() == 1 => causes[0].clone(),
        other => panic!("expected one cause, got {other:?}"),
    }
}

const EVEN: &str = "FieldValueInvalid spec.size: Invalid value: \"integer\": size must be even";
const SHRINKS: &str = "FieldValueForbidden spec.size: Forbidden: size may not shrink";

#[tokio::test]
async fn every_way_to_write_is_held_to_the_rules() {
    let (_hub, client) = start().await;
    let path = format!("{WIDGETS}/w");
    assert_eq!(
        one(&client.create(WIDGETS, &widget(json!({"size": 1}))).await),
        EVEN
    );
    let mut live = client.create(WIDGETS, &widget(json!({"size": 4}))).await.ok();
    live["spec"]["size"] = json!(2);
    assert_eq!(one(&client.replace(&path, &live).await), SHRINKS);
    assert_eq!(
        one(&client.merge(&path, &json!({"spec": {"size": 2}})).await),
        SHRINKS
    );
    let operations = json!([{"op": "replace", "path": "/spec/size", "value": 5}]);
    let patched = client
        .send("PATCH", &path, "application/json-patch+json", &operations)
        .await;
    assert_eq!(one(&patched), EVEN);
    let apply = format!("{path}?fieldManager=me&force=true");
    let applied = client
        .send(
            "PATCH",
            &apply,
            "application/apply-patch+yaml",
            &widget(json!({"size": 2})),
        )
        .await;
    assert_eq!(one(&applied), SHRINKS);
    let applied = client
        .send(
            "PATCH",
            &apply,
            "application/apply-patch+yaml",
            &widget(json!({"size": 6})),
        )
        .await;
    assert_eq!(applied.ok()["spec"]["size"], 6);
    let dry = client
        .merge(&format!("{path}?dryRun=All"), &json!({"spec": {"size": 7}}))
        .await;
    assert_eq!(one(&dry), EVEN);
}

#[tokio::test]
async fn a_write_of_the_status_is_held_to_the_rules_of_the_whole_object() {
    let (_hub, client) = start().await;
    client.create(WIDGETS, &widget(json!({"size": 4}))).await.ok();
    let status = format!("{WIDGETS}/w/status");
    client
        .merge(&status, &json!({"status": {"phase": "Pending"}}))
        .await
        .ok();
    client
        .merge(&status, &json!({"status": {"phase": "Ready"}}))
        .await
        .ok();
    let refused = client
        .merge(&status, &json!({"status": {"phase": "Pending"}}))
        .await;
    assert_eq!(
        one(&refused),
        "FieldValueInvalid status.phase: Invalid value: \"string\": cannot go back"
    );
}

#[tokio::test]
async fn the_root_is_ruled_too_and_reports_where_it_is_told_to() {
    let (_hub, client) = start().await;
    let mut object = widget(json!({"size": 2}));
    object["metadata"]["name"] = "long-name".into();
    let refused = client.create(WIDGETS, &object).await;
    assert_eq!(
        one(&refused),
        "FieldValueInvalid spec: Invalid value: \"object\": the name is too long"
    );
    assert_eq!(
        refused.body["message"],
        "Widget.example.com \"long-name\" is invalid: spec: Invalid value: \"object\": the name is too long"
    );
}

#[tokio::test]
async fn rules_are_not_asked_about_what_has_the_wrong_shape() {
    let (_hub, client) = start().await;
    let refused = client
        .create(WIDGETS, &widget(json!({"size": "x", "note": "short"})))
        .await;
    let (code, reason, causes) = refused.refusal();
    assert_eq!((code, reason), (422, "Invalid"));
    assert_eq!(
        causes,
        [
            "FieldValueTypeInvalid spec.size: Invalid value: \"string\": spec.size in body must be of type integer: \
             \"string\"",
            "FieldValueInvalid <nil>: Invalid value: null: some validation rules were not checked because the object was \
             invalid; correct the existing errors to complete validation",
        ]
    );
}

#[tokio::test]
async fn what_a_stricter_definition_finds_wrong_may_stay_but_not_change() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    let open =
        json!({"type": "object", "properties": {"size": {"type": "integer"}, "note": {"type": "string"}}});
    client.create(DEFINITIONS, &widgets(open)).await.ok();
    client
        .create(WIDGETS, &widget(json!({"size": 3, "note": "too long"})))
        .await
        .ok();
    let definition_path = format!("{DEFINITIONS}/widgets.example.com");
    let versions = definition()["spec"]["versions"].clone();
    client
        .merge(&definition_path, &json!({"spec": {"versions": versions}}))
        .await
        .ok();

    let path = format!("{WIDGETS}/w");
    let labelled = client
        .merge(&path, &json!({"metadata": {"labels": {"a": "b"}}}))
        .await;
    assert_eq!(
        labelled.warnings,
        ["299 - \"spec.size: Invalid value: \\\"integer\\\": size must be even\""]
    );
    labelled.ok();
    let refused = client
        .merge(&path, &json!({"spec": {"note": "longer yet"}}))
        .await;
    assert_eq!(
        refused.refusal().2[0],
        "FieldValueTooLong spec.note: Too long: may not be more than 5 bytes"
    );
    assert_eq!(
        one(&client.merge(&path, &json!({"spec": {"size": 5}})).await),
        EVEN
    );
    client.merge(&path, &json!({"spec": {"size": 6}})).await.ok();
}

#[tokio::test]
async fn a_definition_whose_rule_does_not_compile_is_refused() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    let broken =
        |rule: &str| widgets(json!({"type": "object", "x-kubernetes-validations": [{"rule": rule}]}));
    let refused = client.create(DEFINITIONS, &broken("self.nope == 1")).await;
    assert_eq!(
        one(&refused),
        "FieldValueInvalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid \
         value: \"self.nope == 1\": compilation failed: ERROR: <input>:1:6: undefined field 'nope'\n | self.nope == 1\n \
         | .....^"
    );
    client.create(DEFINITIONS, &broken("true")).await.ok();
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let versions = broken("self == ").pointer("/spec/versions").unwrap().clone();
    let refused = client
        .merge(&path, &json!({"spec": {"versions": versions}}))
        .await;
    assert_eq!(refused.code, 422);
}

#[tokio::test]
async fn schemas_that_differ_between_versions_are_named_by_their_version() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    let mut definition = widgets(json!({"type": "object"}));
    let mut second = definition["spec"]["versions"][0].clone();
    second["name"] = "v2".into();
    second["storage"] = false.into();
    second["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = json!([{"rule": "1"}]);
    definition["spec"]["versions"]
        .as_array_mut()
        .unwrap()
        .push(second);
    let refused = client.create(DEFINITIONS, &definition).await;
    assert_eq!(
        one(&refused),
        "FieldValueInvalid spec.versions[1].schema.openAPIV3Schema.x-kubernetes-validations[0].rule: Invalid value: \
         \"1\": cel expression must evaluate to a bool"
    );
}
