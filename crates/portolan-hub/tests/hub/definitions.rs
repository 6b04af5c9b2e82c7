//! The life of a definition: names, conditions, and its end.

use super::*;

fn condition(definition: &Value, kind: &str) -> String {
    let conditions = definition["status"]["conditions"].as_array().unwrap();
    let found = conditions.iter().find(|condition| condition["type"] == kind);
    found.map_or_else(String::new, |found| {
        format!(
            "{} {}",
            found["status"].as_str().unwrap(),
            found["reason"].as_str().unwrap()
        )
    })
}

fn gadgets() -> Value {
    let mut definition = widgets(json!({"type": "object"}));
    definition["metadata"]["name"] = "gadgets.example.com".into();
    definition["spec"]["names"] = json!({"plural": "gadgets", "kind": "Widget"});
    definition
}

#[tokio::test]
async fn a_definition_waits_for_a_name_that_another_has() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    client
        .create(DEFINITIONS, &widgets(json!({"type": "object"})))
        .await
        .ok();
    client.create(DEFINITIONS, &gadgets()).await.ok();
    let path = format!("{DEFINITIONS}/gadgets.example.com");
    let waiting = client.get(&path).await.ok();
    assert_eq!(condition(&waiting, "NamesAccepted"), "False ListKindConflict");
    assert_eq!(condition(&waiting, "Established"), "False NotAccepted");
    let collection = "/apis/example.com/v1/namespaces/default/gadgets";
    assert_eq!(client.get(collection).await.code, 404);

    client
        .delete(&format!("{DEFINITIONS}/widgets.example.com"))
        .await
        .ok();
    eventually("the name is free", || async {
        condition(&client.get(&path).await.ok(), "Established") == "True InitialNamesAccepted"
    })
    .await;
    client.get(collection).await.ok();
}

#[tokio::test]
async fn a_definition_that_is_deleted_says_so_until_its_objects_are_gone() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    client
        .create(DEFINITIONS, &widgets(json!({"type": "object"})))
        .await
        .ok();
    let mut held = widget(json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    client.create(WIDGETS, &held).await.ok();
    let path = format!("{DEFINITIONS}/widgets.example.com");
    client.delete(&path).await.ok();
    let deleted = client.get(&path).await.ok();
    assert_eq!(
        condition(&deleted, "Terminating"),
        "True InstanceDeletionInProgress"
    );

    let refused = client.create(WIDGETS, &widget(json!({}))).await;
    assert_eq!(refused.refusal(), (405, "MethodNotAllowed", Vec::new()));
    assert_eq!(
        refused.body["message"],
        "create not allowed while custom resource definition is terminating"
    );
    client
        .merge(
            &format!("{WIDGETS}/w"),
            &json!({"metadata": {"finalizers": null}}),
        )
        .await
        .ok();
    eventually("the definition is gone", || async {
        client.get(&path).await.code == 404
    })
    .await;
    assert_eq!(client.get(WIDGETS).await.code, 404);
}

#[tokio::test]
async fn a_definition_that_somebody_else_holds_is_emptied_once() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    let mut definition = widgets(json!({"type": "object"}));
    definition["metadata"]["finalizers"] = json!(["example.com/hold"]);
    client.create(DEFINITIONS, &definition).await.ok();
    client.create(WIDGETS, &widget(json!({}))).await.ok();
    let path = format!("{DEFINITIONS}/widgets.example.com");
    client.delete(&path).await.ok();
    eventually("its objects are gone", || async {
        condition(&client.get(&path).await.ok(), "Terminating") == "False InstanceDeletionCompleted"
    })
    .await;
    client
        .merge(&path, &json!({"metadata": {"finalizers": null}}))
        .await
        .ok();
    eventually("the definition is gone", || async {
        client.get(&path).await.code == 404
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_that_ask_for_a_name_at_once_one_gets_it() {
    let hub = Hub::builder().start().await.unwrap();
    let (left, right) = (Client::of(&hub), Client::of(&hub));
    let (widgets, gadgets) = (widgets(json!({"type": "object"})), gadgets());
    let (first, second) = tokio::join!(
        left.create(DEFINITIONS, &widgets),
        right.create(DEFINITIONS, &gadgets)
    );
    let names = [first.ok(), second.ok()].map(|definition| definition["metadata"]["name"].clone());
    let mut established = 0;
    for name in names {
        let path = format!("{DEFINITIONS}/{}", name.as_str().unwrap());
        let definition = left.get(&path).await.ok();
        established += usize::from(condition(&definition, "Established").starts_with("True"));
    }
    assert_eq!(established, 1);
}

#[tokio::test]
async fn a_definition_in_a_group_of_built_in_kinds_is_refused() {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::of(&hub);
    for (group, plural) in [
        ("coordination.k8s.io", "leases"),
        ("rbac.authorization.k8s.io", "clusterrolebindings"),
    ] {
        let mut definition = widgets(json!({"type": "object"}));
        definition["metadata"]["name"] = format!("{plural}.{group}").into();
        definition["spec"]["group"] = group.into();
        definition["spec"]["names"] = json!({"plural": plural, "kind": "Widget"});
        let refused = client.create(DEFINITIONS, &definition).await;
        assert_eq!(refused.code, 422);
        assert!(
            refused.body["message"]
                .as_str()
                .unwrap()
                .contains("built-in kinds"),
            "{:?}",
            refused.body
        );
    }
}
