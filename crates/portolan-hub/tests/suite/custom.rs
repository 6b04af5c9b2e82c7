use kube::ResourceExt as _;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

use super::*;

#[tokio::test]
async fn a_definition_is_established_and_its_objects_are_served() {
    let (server, _) = server().await;
    let api = with_widgets(&server).await;
    let created = api
        .create(&PostParams::default(), &widget(&server, "w", json!({"size": 1})))
        .await
        .unwrap();
    assert_eq!(created.data["spec"]["colour"], "red", "defaulted");
    assert_eq!(created.metadata.generation, Some(1));
    let other = widget_api(&server, "v1beta1").get("w").await.unwrap();
    assert_eq!(
        other.types.unwrap().api_version,
        format!("{}/v1beta1", server.group())
    );
}

#[tokio::test]
async fn what_the_schema_refuses_is_refused_with_causes() {
    let (server, _) = server().await;
    let api = with_widgets(&server).await;
    let object = widget(&server, "w", json!({"size": -1, "colour": "green"}));
    let status = refusal(api.create(&PostParams::default(), &object).await);
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
    assert!(
        status
            .message
            .starts_with(&format!("Widget.{} \"w\" is invalid: [", server.group())),
        "{}",
        status.message
    );
    let causes = status.details.unwrap().causes;
    let mut causes: Vec<_> = causes
        .iter()
        .map(|cause| format!("{} {}: {}", cause.reason, cause.field, cause.message))
        .collect();
    // Servers look at fields in any order.
    causes.sort();
    assert_eq!(
        causes,
        [
            "FieldValueInvalid .spec.size: Invalid value: -1: should be a non-negative integer",
            "FieldValueInvalid spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0",
            "FieldValueNotSupported spec.colour: Unsupported value: \"green\": supported values: \"red\", \"blue\"",
        ]
    );
}

/// Each format with values that it accepts and values that it refuses.
fn formats() -> [(&'static str, Vec<Value>, Vec<Value>); 8] {
    let id = "123e4567-e89b-12d3-a456-426614174000";
    [
        (
            "byte",
            vec![json!("aGVsbG8="), json!("aGVsbG9=")],
            vec![json!("hello!"), json!("aGVsbG8"), json!("aGVs\nbG8="), json!("")],
        ),
        (
            "date",
            vec![json!("2026-11-17")],
            vec![json!("17.11.2026"), json!("2026-11-17T00:00:00Z")],
        ),
        (
            "date-time",
            vec![json!("2026-11-17T10:00:00Z")],
            vec![json!("2026-11-17")],
        ),
        ("uuid", vec![json!(id)], vec![json!("123")]),
        (
            "ipv4",
            vec![json!("192.0.2.1")],
            vec![json!("2001:db8::1"), json!("192.0.2")],
        ),
        ("ipv6", vec![json!("2001:db8::1")], vec![json!("192.0.2.1")]),
        (
            "int32",
            vec![json!(2_147_483_647)],
            vec![json!(2_147_483_648_i64)],
        ),
        ("int64", vec![json!(i64::MAX)], vec![json!(1e30)]),
    ]
}

#[tokio::test]
async fn values_are_held_to_the_format_of_their_field() {
    let (server, _) = server().await;
    let mut definition = widgets(&server);
    for (format, good, _) in formats() {
        let kind = if good[0].is_string() { "string" } else { "integer" };
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
            [format] = json!({"type": kind, "format": format});
    }
    define(&server, definition).await;
    let api = widget_api(&server, "v1");
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    for (format, good, bad) in formats() {
        let is_number = good[0].is_number();
        for value in good {
            let object = widget(&server, "w", json!({"size": 1, format: value}));
            let answer = api.create(&dry, &object).await;
            assert!(answer.is_ok(), "{format} {value}: {answer:?}");
        }
        if is_number && server.lacks(Feature::NumberFormats) {
            continue;
        }
        for value in bad {
            let object = widget(&server, "w", json!({"size": 1, format: value}));
            let answer = api.create(&dry, &object).await;
            assert!(answer.is_err(), "{format} {value}");
        }
    }
}

#[tokio::test]
async fn unknown_fields_are_pruned_or_refused() {
    let (server, _) = server().await;
    let api = with_widgets(&server).await;
    let created = api
        .create(
            &PostParams::default(),
            &widget(&server, "w", json!({"size": 1, "nope": 2})),
        )
        .await
        .unwrap();
    assert!(created.data["spec"].get("nope").is_none());
    if server.lacks(Feature::FieldValidation) {
        return;
    }
    let strict = PatchParams {
        field_validation: Some(kube::api::ValidationDirective::Strict),
        ..Default::default()
    };
    let status = refusal(
        api.patch("w", &strict, &Patch::Merge(json!({"spec": {"nope": 1}})))
            .await,
    );
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
    let says = [
        "is invalid: patch: Invalid value",
        "strict decoding error: unknown field \"spec.nope\"",
    ];
    assert!(
        says.iter().all(|part| status.message.contains(part)),
        "{}",
        status.message
    );
    let object = widget(&server, "other", json!({"size": 1, "nope": 2}));
    let path = format!(
        "/apis/{}/v1/namespaces/{}/widgets?fieldValidation=Strict",
        server.group(),
        server.namespace()
    );
    let request = http::Request::post(path).header("content-type", "application/json");
    let request = request.body(serde_json::to_vec(&object).unwrap()).unwrap();
    let status = refusal(server.client().request_text(request).await);
    assert_eq!(
        (status.code, status.message.as_str()),
        (
            400,
            "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: unknown field \"spec.nope\""
        )
    );
}

#[tokio::test]
async fn a_key_that_an_applied_configuration_gives_twice_is_refused_by_its_line() {
    let (server, _) = server().await;
    with_widgets(&server).await;
    if server.lacks(Feature::FieldValidation) {
        return;
    }
    let body = format!(
        "apiVersion: {}/v1\nkind: Widget\nmetadata:\n  name: twice\nspec:\n  size: 1\n  size: 2\n",
        server.group()
    );
    let send = async |validation: &str| {
        let path = format!(
            "/apis/{}/v1/namespaces/{}/widgets/twice?fieldManager=me&fieldValidation={validation}",
            server.group(),
            server.namespace()
        );
        let request = http::Request::patch(path).header("content-type", "application/apply-patch+yaml");
        let request = request.body(body.clone().into_bytes()).unwrap();
        server.client().request::<DynamicObject>(request).await
    };
    let status = refusal(send("Strict").await);
    assert_eq!(status.code, 400);
    let says = [
        "error strict decoding YAML: ",
        "line 7: key \"size\" already set in map",
    ];
    assert!(
        says.iter().all(|part| status.message.contains(part)),
        "{}",
        status.message
    );
    let applied = send("Ignore").await.unwrap();
    assert_eq!(applied.data["spec"]["size"], 2);
}

#[tokio::test]
async fn a_rule_that_could_cost_too_much_is_refused_with_its_definition() {
    let (server, client) = server().await;
    if server.lacks(Feature::CelRules) {
        return;
    }
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let mut definition = widgets(&server);
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    for (rule, accepted) in [
        ("self.all(s, s == 'string constant')", false),
        ("size(self) < 10", true),
    ] {
        definition.pointer_mut(spec).unwrap()["rows"] = json!({"type": "array", "items": {
            "type": "array", "items": {"type": "string"}, "x-kubernetes-validations": [{"rule": rule}],
        }});
        let definition: DynamicObject = serde_json::from_value(definition.clone()).unwrap();
        let answer = definitions(&client).create(&dry_run, &definition).await;
        if accepted {
            answer.unwrap();
            continue;
        }
        let status = refusal(answer);
        let says =
            "x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of";
        assert!(status.message.contains(says), "{}", status.message);
    }
}

#[tokio::test]
async fn status_and_spec_are_written_apart() {
    let (server, _) = server().await;
    let api = with_widgets(&server).await;
    let mut object = widget(&server, "w", json!({"size": 1}));
    object.data["status"] = json!({"size": 9});
    let created = api.create(&PostParams::default(), &object).await.unwrap();
    assert!(created.data.get("status").is_none());

    let both = Patch::Merge(json!({"spec": {"size": 5}, "status": {"size": 3}}));
    let patched = api
        .patch_status("w", &PatchParams::default(), &both)
        .await
        .unwrap();
    assert_eq!(
        (&patched.data["spec"]["size"], &patched.data["status"]["size"]),
        (&json!(1), &json!(3))
    );
    assert_eq!(patched.metadata.generation, Some(1));
    let patched = api.patch("w", &PatchParams::default(), &both).await.unwrap();
    assert_eq!(
        (&patched.data["spec"]["size"], patched.metadata.generation),
        (&json!(5), Some(2))
    );
    let labelled = Patch::Merge(json!({"metadata": {"labels": {"a": "b"}}}));
    assert_eq!(
        api.patch("w", &PatchParams::default(), &labelled)
            .await
            .unwrap()
            .metadata
            .generation,
        Some(2)
    );
}

#[tokio::test]
async fn a_custom_resource_is_scaled_and_selected_by_its_fields() {
    let (server, _) = server().await;
    let api = with_widgets(&server).await;
    api.create(&PostParams::default(), &widget(&server, "a", json!({"size": 1})))
        .await
        .unwrap();
    api.create(
        &PostParams::default(),
        &widget(&server, "b", json!({"size": 1, "colour": "blue"})),
    )
    .await
    .unwrap();
    let scale = Patch::Merge(json!({"spec": {"replicas": 4}}));
    let scaled = api
        .patch_scale("a", &PatchParams::default(), &scale)
        .await
        .unwrap();
    assert_eq!(scaled.spec.unwrap().replicas, Some(4));
    assert_eq!(api.get("a").await.unwrap().data["spec"]["size"], 4);
    assert_eq!(
        refusal(api.list(&ListParams::default().fields("spec.size=1")).await).code,
        400
    );
    if server.lacks(Feature::SelectableFields) {
        return;
    }
    let blue = api
        .list(&ListParams::default().fields("spec.colour=blue"))
        .await
        .unwrap();
    assert_eq!(blue.items.iter().map(|w| w.name_any()).collect::<Vec<_>>(), ["b"]);
}

#[tokio::test]
async fn applied_lists_merge_by_their_keys() {
    let (server, _) = server().await;
    let api = with_widgets(&server).await;
    let apply = |part: &str| {
        Patch::Apply(json!({
            "apiVersion": format!("{}/v1", server.group()), "kind": "Widget", "metadata": {"name": "w"},
            "spec": {"size": 1, "parts": [{"name": part, "count": 1}]},
        }))
    };
    api.patch("w", &PatchParams::apply("one"), &apply("a"))
        .await
        .unwrap();
    let merged = api
        .patch("w", &PatchParams::apply("two"), &apply("b"))
        .await
        .unwrap();
    assert_eq!(merged.data["spec"]["parts"].as_array().unwrap().len(), 2);
    let dropped = api
        .patch("w", &PatchParams::apply("two"), &apply("c"))
        .await
        .unwrap();
    assert_eq!(
        dropped.data["spec"]["parts"],
        json!([{"name": "a", "count": 1}, {"name": "c", "count": 1}])
    );
}

#[tokio::test]
async fn a_strategic_patch_of_a_custom_resource_is_refused() {
    let (server, _) = server().await;
    let api = with_widgets(&server).await;
    api.create(&PostParams::default(), &widget(&server, "w", json!({"size": 1})))
        .await
        .unwrap();
    let status = refusal(
        api.patch("w", &PatchParams::default(), &Patch::Strategic(json!({})))
            .await,
    );
    assert_eq!(
        (status.code, status.reason.as_str()),
        (415, "UnsupportedMediaType")
    );
}
