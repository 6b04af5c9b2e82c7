use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::{await_condition, conditions::is_deleted};
use serde_json::json;

use super::*;

#[tokio::test]
async fn a_finalizer_holds_an_object_until_it_is_taken_off() {
    let (_server, client) = server().await;
    let api = config_maps(&client);
    let mut object = config_map("a", "1");
    object.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    api.create(&PostParams::default(), &object).await.unwrap();
    let marked = api
        .delete("a", &DeleteParams::default())
        .await
        .unwrap()
        .left()
        .unwrap();
    assert!(marked.metadata.deletion_timestamp.is_some());
    let more = Patch::Merge(json!({"metadata": {"finalizers": ["example.com/hold", "example.com/new"]}}));
    assert_eq!(
        refusal(api.patch("a", &PatchParams::default(), &more).await).code,
        422
    );
    let none = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("a", &PatchParams::default(), &none).await.unwrap();
    assert!(api.get_opt("a").await.unwrap().is_none());
}

async fn owned(api: &Api<ConfigMap>, name: &str, owner: &ConfigMap) {
    let mut object = config_map(name, "1");
    let reference = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": owner.name_any(), "uid": owner.uid().unwrap(), "blockOwnerDeletion": true,
    }]);
    object.metadata.owner_references = serde_json::from_value(reference).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

#[tokio::test]
async fn dependents_go_with_their_owner_in_the_background() {
    let (server, client) = server().await;
    if server.lacks(Feature::GarbageCollection) {
        return;
    }
    let api = config_maps(&client);
    let owner = api
        .create(&PostParams::default(), &config_map("owner", "1"))
        .await
        .unwrap();
    owned(&api, "child", &owner).await;
    let child = api.get("child").await.unwrap();
    owned(&api, "grandchild", &child).await;
    let uid = api.get("grandchild").await.unwrap().uid().unwrap();
    api.delete("owner", &DeleteParams::background()).await.unwrap();
    await_condition(api.clone(), "grandchild", is_deleted(&uid))
        .await
        .unwrap();
    assert!(api.list(&ListParams::default()).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn an_owner_waits_for_its_dependents_in_the_foreground() {
    let (server, client) = server().await;
    if server.lacks(Feature::GarbageCollection) {
        return;
    }
    let api = config_maps(&client);
    let owner = api
        .create(&PostParams::default(), &config_map("owner", "1"))
        .await
        .unwrap();
    owned(&api, "child", &owner).await;
    let hold = Patch::Merge(json!({"metadata": {"finalizers": ["example.com/hold"]}}));
    api.patch("child", &PatchParams::default(), &hold).await.unwrap();
    api.delete("owner", &DeleteParams::foreground()).await.unwrap();
    let marked = await_condition(api.clone(), "child", |child: Option<&ConfigMap>| {
        child.is_some_and(|child| child.metadata.deletion_timestamp.is_some())
    });
    marked.await.unwrap();
    assert!(api.get_opt("owner").await.unwrap().is_some(), "held by its child");
    let none = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("child", &PatchParams::default(), &none).await.unwrap();
    await_condition(api.clone(), "owner", is_deleted(&owner.uid().unwrap()))
        .await
        .unwrap();
}

#[tokio::test]
async fn orphans_stay() {
    let (server, client) = server().await;
    if server.lacks(Feature::GarbageCollection) {
        return;
    }
    let api = config_maps(&client);
    let owner = api
        .create(&PostParams::default(), &config_map("owner", "1"))
        .await
        .unwrap();
    owned(&api, "child", &owner).await;
    api.delete("owner", &DeleteParams::orphan()).await.unwrap();
    await_condition(api.clone(), "owner", is_deleted(&owner.uid().unwrap()))
        .await
        .unwrap();
    assert!(api.get("child").await.unwrap().owner_references().is_empty());
}

#[tokio::test]
async fn a_namespace_takes_everything_in_it_along() {
    let (server, client) = server().await;
    if server.lacks(Feature::NamespaceDeletion) {
        return;
    }
    with_widgets(&server).await;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let name = format!("{}-n", server.namespace());
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    let uid = namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap()
        .uid()
        .unwrap();
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), &name);
    let mut held = config_map("held", "1");
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    api.create(&PostParams::default(), &held).await.unwrap();
    api.create(&PostParams::default(), &config_map("free", "1"))
        .await
        .unwrap();
    let marked = namespaces
        .delete(&name, &DeleteParams::default())
        .await
        .unwrap()
        .left()
        .unwrap();
    assert_eq!(marked.status.unwrap().phase.as_deref(), Some("Terminating"));
    let status = refusal(api.create(&PostParams::default(), &config_map("late", "1")).await);
    assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"));
    let conditions = async || {
        let namespace = namespaces.get(&name).await.unwrap();
        let conditions = namespace.status.and_then(|status| status.conditions);
        let text = |condition: k8s_openapi::api::core::v1::NamespaceCondition| {
            let [reason, message] = [condition.reason, condition.message].map(Option::unwrap_or_default);
            format!("{}={} {reason}: {message}", condition.type_, condition.status)
        };
        conditions
            .unwrap_or_default()
            .into_iter()
            .map(text)
            .collect::<Vec<_>>()
    };
    let expected = [
        "NamespaceDeletionDiscoveryFailure=False ResourcesDiscovered: All resources successfully discovered",
        "NamespaceDeletionGroupVersionParsingFailure=False ParsedGroupVersions: \
         All legacy kube types successfully parsed",
        "NamespaceDeletionContentFailure=False ContentDeleted: \
         All content successfully deleted, may be waiting on finalization",
        "NamespaceContentRemaining=True SomeResourcesRemain: \
         Some resources are remaining: configmaps. has 1 resource instances",
        "NamespaceFinalizersRemaining=True SomeFinalizersRemain: \
         Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
    ];
    eventually("the namespace says what is left in it", async || {
        conditions().await == expected
    })
    .await;
    let none = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("held", &PatchParams::default(), &none).await.unwrap();
    await_condition(namespaces.clone(), &name, is_deleted(&uid))
        .await
        .unwrap();
    assert!(api.list(&ListParams::default()).await.unwrap().items.is_empty());
    assert_eq!(
        refusal(namespaces.delete("default", &DeleteParams::default()).await).code,
        403
    );
}

#[tokio::test]
async fn a_definition_takes_its_objects_along() {
    let (server, client) = server().await;
    let api = with_widgets(&server).await;
    api.create(&PostParams::default(), &widget(&server, "w", json!({"size": 1})))
        .await
        .unwrap();
    let definitions = definitions(&client);
    let name = format!("widgets.{}", server.group());
    let uid = definitions.get(&name).await.unwrap().uid().unwrap();
    definitions.delete(&name, &DeleteParams::default()).await.unwrap();
    await_condition(definitions, &name, is_deleted(&uid))
        .await
        .unwrap();
    assert_eq!(refusal(api.get("w").await).code, 404);
}

#[tokio::test]
async fn discovery_says_of_a_definition_that_is_going_what_is_not_allowed_any_more() {
    let (server, client) = server().await;
    let api = with_widgets(&server).await;
    let mut held = widget(&server, "w", json!({"size": 1}));
    held.finalizers_mut().push("example.com/hold".to_owned());
    api.create(&PostParams::default(), &held).await.unwrap();
    let group_version = format!("{}/v1", server.group());
    let verbs = async || {
        let served = client.list_api_group_resources(&group_version).await.unwrap();
        let mut widgets = served
            .resources
            .into_iter()
            .filter(|resource| resource.name == "widgets");
        let mut verbs = widgets.next().unwrap().verbs;
        verbs.sort();
        verbs
    };
    let all = [
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    ];
    assert_eq!(verbs().await, all);

    let definitions = definitions(&client);
    let name = format!("widgets.{}", server.group());
    let uid = definitions.get(&name).await.unwrap().uid().unwrap();
    definitions.delete(&name, &DeleteParams::default()).await.unwrap();
    eventually("discovery says so", async || {
        verbs().await == ["delete", "deletecollection", "get", "list", "watch"]
    })
    .await;
    // Whoever holds an object can still let it go.
    let released = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("w", &PatchParams::default(), &released).await.unwrap();
    await_condition(definitions, &name, is_deleted(&uid))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_collection_is_deleted_by_its_labels() {
    let (_server, client) = server().await;
    let api = config_maps(&client);
    for name in ["a", "b", "c"] {
        let mut object = config_map(name, "1");
        object
            .labels_mut()
            .insert("keep".into(), (name == "b").to_string());
        api.create(&PostParams::default(), &object).await.unwrap();
    }
    api.delete_collection(
        &DeleteParams::default(),
        &ListParams::default().labels("keep=false"),
    )
    .await
    .unwrap();
    let left = api.list(&ListParams::default()).await.unwrap();
    assert_eq!(
        left.items.iter().map(|item| item.name_any()).collect::<Vec<_>>(),
        ["b"]
    );
}
