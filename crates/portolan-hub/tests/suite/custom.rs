use kube::ResourceExt as _;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

use super::*;

#[tokio::test]
async fn a_definition_is_established_and_its_objects_are_served() {
    let (_hub, client) = hub().await;
    let api = with_widgets(&client).await;
    let created = api
        .create(&PostParams::default(), &widget("w", json!({"size": 1})))
        .await
        .unwrap();
    assert_eq!(created.data["spec"]["colour"], "red", "defaulted");
    assert_eq!(created.metadata.generation, Some(1));
    let other = widget_api(&client, "v1beta1").get("w").await.unwrap();
    assert_eq!(other.types.unwrap().api_version, "example.com/v1beta1");
}

#[tokio::test]
async fn what_the_schema_refuses_is_refused_with_causes() {
    let (_hub, client) = hub().await;
    let api = with_widgets(&client).await;
    let object = widget("w", json!({"size": -1, "colour": "green"}));
    let status = refusal(api.create(&PostParams::default(), &object).await);
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
    assert_eq!(
        status.message,
        "Widget.example.com \"w\" is invalid: [spec.colour: Unsupported value: \"green\": supported values: \"red\", \
         \"blue\", spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0]"
    );
}

#[tokio::test]
async fn unknown_fields_are_pruned_or_refused() {
    let (_hub, client) = hub().await;
    let api = with_widgets(&client).await;
    let created = api
        .create(
            &PostParams::default(),
            &widget("w", json!({"size": 1, "nope": 2})),
        )
        .await
        .unwrap();
    assert!(created.data["spec"].get("nope").is_none());
    let strict = PatchParams {
        field_validation: Some(kube::api::ValidationDirective::Strict),
        ..Default::default()
    };
    let status = refusal(
        api.patch("w", &strict, &Patch::Merge(json!({"spec": {"nope": 1}})))
            .await,
    );
    assert_eq!(
        (status.code, status.message.as_str()),
        (
            400,
            "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: unknown field \"spec.nope\""
        )
    );
}

#[tokio::test]
async fn status_and_spec_are_written_apart() {
    let (_hub, client) = hub().await;
    let api = with_widgets(&client).await;
    let mut object = widget("w", json!({"size": 1}));
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
    let (_hub, client) = hub().await;
    let api = with_widgets(&client).await;
    api.create(&PostParams::default(), &widget("a", json!({"size": 1})))
        .await
        .unwrap();
    api.create(
        &PostParams::default(),
        &widget("b", json!({"size": 1, "colour": "blue"})),
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
    let blue = api
        .list(&ListParams::default().fields("spec.colour=blue"))
        .await
        .unwrap();
    assert_eq!(blue.items.iter().map(|w| w.name_any()).collect::<Vec<_>>(), ["b"]);
    assert_eq!(
        refusal(api.list(&ListParams::default().fields("spec.size=1")).await).code,
        400
    );
}

#[tokio::test]
async fn applied_lists_merge_by_their_keys() {
    let (_hub, client) = hub().await;
    let api = with_widgets(&client).await;
    let apply = |part: &str| {
        Patch::Apply(json!({
            "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"},
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
    let (_hub, client) = hub().await;
    let api = with_widgets(&client).await;
    api.create(&PostParams::default(), &widget("w", json!({"size": 1})))
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
