use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;

use super::*;

#[tokio::test]
async fn an_object_is_created_read_replaced_and_patched() {
    let (server, client) = server().await;
    let api = config_maps(&client);
    let created = api
        .create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();
    assert!(created.uid().is_some() && created.creation_timestamp().is_some());
    assert_eq!(created.namespace().as_deref(), Some(server.namespace()));

    let mut object = api.get("a").await.unwrap();
    assert_eq!(object, created);
    object.data.as_mut().unwrap().insert("key".into(), "2".into());
    let replaced = api.replace("a", &PostParams::default(), &object).await.unwrap();
    assert_ne!(replaced.resource_version(), created.resource_version());
    assert_eq!(replaced.uid(), created.uid());

    let patch =
        Patch::Merge(json!({"metadata": {"labels": {"app": "web"}}, "data": {"key": null, "other": "3"}}));
    let patched = api.patch("a", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(patched.labels()["app"], "web");
    assert_eq!(
        patched.data.unwrap().into_iter().collect::<Vec<_>>(),
        [("other".to_owned(), "3".to_owned())]
    );

    let strategic = Patch::Strategic(json!({"metadata": {"finalizers": ["example.com/a"]}}));
    let patched = api.patch("a", &PatchParams::default(), &strategic).await.unwrap();
    assert_eq!(patched.finalizers(), ["example.com/a"]);
}

#[tokio::test]
async fn a_write_that_changes_nothing_is_not_written() {
    let (_server, client) = server().await;
    let api = config_maps(&client);
    let created = api
        .create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();
    let patch = Patch::Merge(json!({"data": {"key": "1"}}));
    let patched = api.patch("a", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(patched.resource_version(), created.resource_version());
}

#[tokio::test]
async fn lists_are_selected_and_paged_from_one_state() {
    let (_server, client) = server().await;
    let api = config_maps(&client);
    for i in 0..7 {
        let mut object = config_map(&format!("o{i}"), "x");
        object.labels_mut().insert("odd".into(), (i % 2 == 1).to_string());
        api.create(&PostParams::default(), &object).await.unwrap();
    }
    let odd = api.list(&ListParams::default().labels("odd=true")).await.unwrap();
    assert_eq!(names(&odd.items), ["o1", "o3", "o5"]);
    let one = api
        .list(&ListParams::default().fields("metadata.name=o3"))
        .await
        .unwrap();
    assert_eq!(names(&one.items), ["o3"]);

    let first = api.list(&ListParams::default().limit(3)).await.unwrap();
    assert_eq!(
        (names(&first.items).len(), first.metadata.remaining_item_count),
        (3, Some(4))
    );
    // What is deleted after the first page is still on the later pages.
    api.delete("o6", &Default::default()).await.unwrap();
    let token = first.metadata.continue_.unwrap();
    let rest = api
        .list(&ListParams::default().continue_token(&token))
        .await
        .unwrap();
    assert_eq!(names(&rest.items), ["o3", "o4", "o5", "o6"]);
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 6);
}

#[tokio::test]
async fn names_are_generated() {
    let (_server, client) = server().await;
    let object: ConfigMap = serde_json::from_value(json!({"metadata": {"generateName": "gen-"}})).unwrap();
    let a = config_maps(&client)
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
    let b = config_maps(&client)
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
    assert!(a.name_any().starts_with("gen-") && a.name_any().len() == 9);
    assert_ne!(a.name_any(), b.name_any());
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let (_server, client) = server().await;
    let api = config_maps(&client);
    let dry = PostParams {
        dry_run: true,
        ..Default::default()
    };
    assert_eq!(
        api.create(&dry, &config_map("a", "1")).await.unwrap().name_any(),
        "a"
    );
    assert!(api.get_opt("a").await.unwrap().is_none());
    api.create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();
    let patch = Patch::Merge(json!({"data": {"key": "2"}}));
    let answer = api
        .patch("a", &PatchParams::default().dry_run(), &patch)
        .await
        .unwrap();
    assert_eq!(answer.data.unwrap()["key"], "2");
    assert_eq!(api.get("a").await.unwrap().data.unwrap()["key"], "1");
}

#[tokio::test]
async fn built_in_kinds_complete_their_objects() {
    let (_server, client) = server().await;
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let secret: Secret =
        serde_json::from_value(json!({"metadata": {"name": "s"}, "stringData": {"a": "b"}})).unwrap();
    let secret = secrets.create(&PostParams::default(), &secret).await.unwrap();
    assert_eq!(
        (secret.type_.as_deref(), &secret.data.unwrap()["a"].0[..]),
        (Some("Opaque"), &b"b"[..])
    );
    let namespaces: Api<Namespace> = Api::all(client);
    let namespace = namespaces.get("default").await.unwrap();
    assert_eq!(namespace.status.unwrap().phase.as_deref(), Some("Active"));
}

#[tokio::test]
async fn events_are_served_under_both_groups() {
    let (server, client) = server().await;
    let core: Api<k8s_openapi::api::core::v1::Event> = Api::default_namespaced(client.clone());
    let newer: Api<k8s_openapi::api::events::v1::Event> = Api::default_namespaced(client.clone());
    let event = json!({
        "metadata": {"name": "e"}, "involvedObject": {"kind": "ConfigMap", "name": "a", "namespace": server.namespace()}, "message": "hello", "reason": "Because",
    });
    core.create(&PostParams::default(), &serde_json::from_value(event).unwrap())
        .await
        .unwrap();
    let seen = newer.get("e").await.unwrap();
    assert_eq!(
        (seen.note.as_deref(), seen.regarding.unwrap().name.as_deref()),
        (Some("hello"), Some("a"))
    );
    let selected = core
        .list(&ListParams::default().fields("involvedObject.name=a"))
        .await
        .unwrap();
    assert_eq!(selected.items.len(), 1);
}

#[tokio::test]
async fn server_side_apply_creates_owns_and_conflicts() {
    let (_server, client) = server().await;
    let api = config_maps(&client);
    let config = |value: &str| {
        Patch::Apply(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"key": value}}),
        )
    };
    api.patch("a", &PatchParams::apply("one"), &config("1"))
        .await
        .unwrap();
    let again = api
        .patch("a", &PatchParams::apply("one"), &config("1"))
        .await
        .unwrap();
    let managers = again.managed_fields();
    assert_eq!((managers.len(), managers[0].manager.as_deref()), (1, Some("one")));
    let status = refusal(api.patch("a", &PatchParams::apply("two"), &config("2")).await);
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    let forced = api
        .patch("a", &PatchParams::apply("two").force(), &config("2"))
        .await
        .unwrap();
    assert_eq!(forced.data.unwrap()["key"], "2");
}

fn names(items: &[ConfigMap]) -> Vec<String> {
    items.iter().map(|item| item.name_any()).collect()
}
