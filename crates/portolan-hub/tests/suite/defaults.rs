//! Definitions with defaults that their own schema would change or refuse. Each is answered as Kubernetes answers it.

use kube::api::PostParams;

use super::*;

/// A schema of `spec`, and the causes of the refusal as `reason field` below `spec`. Without causes it is accepted.
struct Case {
    spec: Value,
    refused: &'static [&'static str],
}

fn cases() -> Vec<Case> {
    let case = |spec: Value, refused: &'static [&'static str]| Case { spec, refused };
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    vec![
        case(object(json!({"a": {"type": "string", "default": "x"}})), &[]),
        case(
            object(json!({"a": {"type": "string", "default": 1}})),
            &["FieldValueTypeInvalid .properties[a].default"],
        ),
        case(
            object(json!({"a": {"type": "string", "enum": ["x"], "default": "y"}})),
            &["FieldValueNotSupported .properties[a].default"],
        ),
        case(
            object(json!({"a": {"type": "integer", "minimum": 2, "default": 1}})),
            &["FieldValueInvalid .properties[a].default"],
        ),
        case(
            object(json!({"a": {"type": "integer", "default": 1.5}})),
            &["FieldValueTypeInvalid .properties[a].default"],
        ),
        case(
            object(json!({"a": {"type": "string", "pattern": "^a", "default": "b"}})),
            &["FieldValueInvalid .properties[a].default"],
        ),
        // An unknown field would be there after the first write and gone after the second.
        case(
            object(
                json!({"a": {"type": "object", "properties": {"b": {"type": "string"}}, "default": {"c": "x"}}}),
            ),
            &["FieldValueInvalid .properties[a].default"],
        ),
        case(
            object(
                json!({"a": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "default": {"c": "x"}}}),
            ),
            &[],
        ),
        case(
            object(
                json!({"a": {"type": "object", "additionalProperties": {"type": "string"}, "default": {"c": "x"}}}),
            ),
            &[],
        ),
        case(
            object(
                json!({"a": {"type": "object", "additionalProperties": {"type": "string"}, "default": {"c": 1}}}),
            ),
            &["FieldValueTypeInvalid .properties[a].default.c"],
        ),
        case(
            object(json!({"a": {
                "type": "object", "required": ["b"], "properties": {"b": {"type": "string"}}, "default": {},
            }})),
            &["FieldValueRequired .properties[a].default.b"],
        ),
        // The default of a field inside does not help.
        case(
            object(json!({"a": {
                "type": "object", "required": ["b"], "properties": {"b": {"type": "string", "default": "x"}}, "default": {},
            }})),
            &["FieldValueRequired .properties[a].default.b"],
        ),
        case(
            object(json!({"a": {
                "type": "array", "default": [{}, {"b": 1}],
                "items": {"type": "object", "properties": {"b": {"type": "string"}}},
            }})),
            &["FieldValueTypeInvalid .properties[a].default[1].b"],
        ),
        case(
            object(json!({"a": {
                "type": "array", "items": {"type": "object", "properties": {"b": {"type": "string", "default": 1}}},
            }})),
            &["FieldValueTypeInvalid .properties[a].items.properties[b].default"],
        ),
        case(
            object(
                json!({"a": {"type": "array", "maxItems": 1, "items": {"type": "string"}, "default": ["x", "y"]}}),
            ),
            &["FieldValueTooMany .properties[a].default"],
        ),
        case(
            object(json!({"a": {"type": "string", "nullable": true, "default": null}})),
            &[],
        ),
    ]
}

/// Older servers had fewer reasons, and did not say which item of a list is meant.
fn expected(server: &TestServer, cause: &str) -> String {
    if server.version() >= (1, 25) {
        return cause.to_owned();
    }
    let cause = cause.replace("FieldValueTypeInvalid", "FieldValueInvalid");
    cause
        .replace("FieldValueTooMany", "FieldValueInvalid")
        .replace("default[1]", "default")
}

#[tokio::test]
async fn a_definition_whose_defaults_its_schema_would_not_keep_is_refused() {
    let (server, client) = server().await;
    let group = server.group();
    let mut wrong = Vec::new();
    for Case { spec, refused } in cases() {
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("gadgets.{group}")},
            "spec": {
                "group": group, "scope": "Namespaced", "names": {"plural": "gadgets", "kind": "Gadget"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
                }],
            },
        });
        let definition: DynamicObject = serde_json::from_value(definition).unwrap();
        let dry_run = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let answer = definitions(&client).create(&dry_run, &definition).await;
        let causes: Vec<String> = match answer {
            Ok(_) => Vec::new(),
            Err(kube::Error::Api(status)) if status.code == 422 => {
                let causes = status.details.map(|details| details.causes).unwrap_or_default();
                // Older servers name the schema of a definition with one version as if it were that of all versions.
                let place = |field: &str| match field.split_once("openAPIV3Schema.properties[spec]") {
                    // Kubernetes 1.36 writes a dot before the index of a list that is itself the default.
                    Some((_, below)) => below.replace("default.[", "default["),
                    None => field.to_owned(),
                };
                causes
                    .iter()
                    .map(|cause| format!("{} {}", cause.reason, place(&cause.field)))
                    .collect()
            }
            Err(error) => panic!("{error:?}"),
        };
        let refused: Vec<String> = refused.iter().map(|cause| expected(&server, cause)).collect();
        // Kubernetes checks a number that is no integer twice, and names the type first.
        let is_second = |cause: &String| {
            let typed = cause.replace("FieldValueInvalid", "FieldValueTypeInvalid");
            typed != *cause && causes.contains(&typed)
        };
        let causes: Vec<&String> = causes.iter().filter(|cause| !is_second(cause)).collect();
        if !causes.iter().copied().eq(&refused) {
            wrong.push(format!("{spec}\n    {causes:?}\n    {refused:?} were expected"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_default_that_comes_later_is_read_in_older_objects() {
    let (server, client) = server().await;
    let mut definition = widgets(&server);
    let at = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/colour";
    let colour = definition.pointer_mut(at).unwrap().as_object_mut().unwrap();
    let default = colour.remove("default");
    define(&server, definition).await;
    let api = widget_api(&server, "v1");
    eventually("a widget is made", async || {
        let made = widget(&server, "old", json!({"size": 1}));
        api.create(&PostParams::default(), &made).await.is_ok()
    })
    .await;
    assert_eq!(api.get("old").await.unwrap().data["spec"], json!({"size": 1}));

    let add: json_patch::Patch =
        serde_json::from_value(json!([{"op": "add", "path": format!("{at}/default"), "value": default}]))
            .unwrap();
    let name = format!("widgets.{}", server.group());
    let patch = kube::api::Patch::<()>::Json(add);
    definitions(&client)
        .patch(&name, &Default::default(), &patch)
        .await
        .unwrap();
    let expected = json!({"size": 1, "colour": "red"});
    eventually("the default is there", async || {
        api.get("old").await.unwrap().data["spec"] == expected
    })
    .await;
    let listed = api.list(&Default::default()).await.unwrap();
    assert_eq!(listed.items[0].data["spec"], expected);
}
