//! Judging objects while the history that was read is behind the store.

use serde_json::json;

use super::*;

fn config_map(name: &str, uid: &str, owner: Option<(&str, &str)>) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default", "uid": uid}});
    if let Some((name, uid)) = owner {
        object["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}]);
    }
    object
}

async fn put(core: &Core, object: Value) -> Key {
    let key = Key::new(
        "",
        "configmaps",
        "default",
        object["metadata"]["name"].as_str().unwrap(),
    );
    let expect = core
        .store
        .get(&key)
        .map_or(Expect::Absent, |live| Expect::Revision(live.revision()));
    let write = Write {
        key: key.clone(),
        expect,
        change: Change::Put(object),
    };
    core.store.write(write).await.unwrap();
    key
}

async fn core_with_a_namespace() -> Arc<Core> {
    let core = Core::in_memory();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}});
    core.ensure(vec![namespace]).await.unwrap();
    core
}

async fn remove(core: &Core, key: &Key) {
    let stored = core.store.get(key).unwrap();
    let write = Write {
        key: key.clone(),
        expect: Expect::Revision(stored.revision()),
        change: Change::Delete(stored.value()),
    };
    core.store.write(write).await.unwrap();
}

#[tokio::test]
async fn an_object_adopted_after_the_history_that_was_read_is_kept() {
    let core = core_with_a_namespace().await;
    let owner = put(&core, config_map("owner", "a", None)).await;
    let slice = put(&core, config_map("slice", "x", Some(("owner", "a")))).await;
    let mut janitor = Janitor::new(core.clone(), None).await;
    janitor.queue.clear();
    remove(&core, &owner).await;
    let (events, revision) = core.store.events("", janitor.revision, BATCH).unwrap();
    for event in events {
        janitor.index.remove(&event.object);
    }
    janitor.revision = revision;
    // The owner is made anew, and the slice is adopted, before the janitor comes to the slice.
    put(&core, config_map("owner", "b", None)).await;
    put(&core, config_map("slice", "x", Some(("owner", "b")))).await;
    assert_eq!(janitor.settle(&slice).await, Settled::AheadOfIndex);
    assert!(core.store.get(&slice).is_some(), "the slice has an owner");
    while janitor.step().await {}
    assert!(core.store.get(&slice).is_some(), "the slice has an owner");
}

#[tokio::test]
async fn a_change_after_many_that_concern_nobody_is_settled() {
    let core = core_with_a_namespace().await;
    let owner = put(&core, config_map("owner", "a", None)).await;
    let slice = put(&core, config_map("slice", "x", Some(("owner", "a")))).await;
    let mut janitor = Janitor::new(core.clone(), None).await;
    while janitor.step().await {}
    for count in 0..=BATCH {
        let mut noise = config_map("noise", "n", None);
        noise["data"] = json!({"count": count.to_string()});
        put(&core, noise).await;
    }
    remove(&core, &owner).await;
    while janitor.step().await {}
    assert!(core.store.get(&slice).is_none());
}

#[tokio::test]
async fn an_object_without_any_owner_left_is_deleted() {
    let core = core_with_a_namespace().await;
    let owner = put(&core, config_map("owner", "a", None)).await;
    let slice = put(&core, config_map("slice", "x", Some(("owner", "a")))).await;
    let mut janitor = Janitor::new(core.clone(), None).await;
    remove(&core, &owner).await;
    while janitor.step().await {}
    assert!(core.store.get(&slice).is_none());
}

#[tokio::test]
async fn each_change_is_a_turn_whatever_it_costs() {
    let core = core_with_a_namespace().await;
    let mut janitor = Janitor::new(core.clone(), None).await;
    while janitor.step().await {}
    let before = janitor.turns.count();
    for count in 0..100 {
        let mut object = config_map("busy", "n", None);
        object["data"] = json!({"count": count.to_string()});
        put(&core, object).await;
    }
    janitor.step().await;
    assert!(janitor.turns.count() - before >= 100, "{:?}", janitor.turns);
}

/// An object as a hub without the limit would have stored it.
#[tokio::test]
async fn owners_that_are_exchanged_by_the_ten_thousand_are_found_again() {
    let core = core_with_a_namespace().await;
    let owned = |from: usize| {
        let owner =
            |uid| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": format!("{uid}")});
        let mut object = config_map("owned", "x", None);
        object["metadata"]["ownerReferences"] = (from..from + 20_000).map(owner).collect();
        object
    };
    let key = put(&core, owned(0)).await;
    let before = core.store.get(&key).unwrap();
    put(&core, owned(10_000)).await;
    let mut index = Index::default();
    index.put(&before, None);
    index.put(&core.store.get(&key).unwrap(), Some(&before));
    let owners = |uid: usize| index.dependents_of(&uid.to_string()).count();
    assert_eq!([9_999, 10_000, 29_999, 30_000].map(owners), [0, 1, 1, 0]);
}

/// How many steps it takes until nothing is left to do, when no step may change more than two portions, or change something
/// without a turn.
async fn steps(core: &Core, janitor: &mut Janitor) -> usize {
    for steps in 1.. {
        let (revision, turns) = (core.store.revision(), janitor.turns.count());
        if !janitor.step().await {
            return steps;
        }
        let changes = core.store.revision() - revision;
        let turns = janitor.turns.count() - turns;
        assert!(changes <= 2 * PORTION as u64, "{changes} changes in a step");
        assert!(turns >= changes, "{changes} changes in {turns} turns");
    }
    unreachable!("there is an end to it")
}

const MANY: usize = 3 * PORTION;

#[tokio::test]
async fn very_many_dependents_go_in_portions() {
    let core = core_with_a_namespace().await;
    let owner = put(&core, config_map("owner", "a", None)).await;
    for i in 0..MANY {
        put(
            &core,
            config_map(&format!("d{i}"), &format!("u{i}"), Some(("owner", "a"))),
        )
        .await;
    }
    let mut janitor = Janitor::new(core.clone(), None).await;
    while janitor.step().await {}
    remove(&core, &owner).await;
    assert!(steps(&core, &mut janitor).await >= 3);
    assert!(core.store.range("/configmaps/").objects.is_empty());
}

#[tokio::test]
async fn an_owner_with_very_many_dependents_lets_them_go_in_portions() {
    for propagation in [Propagation::Foreground, Propagation::Orphan] {
        let core = core_with_a_namespace().await;
        let owner = put(&core, config_map("owner", "a", None)).await;
        for i in 0..MANY {
            let mut object = config_map(&format!("d{i}"), &format!("u{i}"), Some(("owner", "a")));
            object["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = true.into();
            put(&core, object).await;
        }
        let mut janitor = Janitor::new(core.clone(), None).await;
        while janitor.step().await {}
        let object = core.store.get(&owner).unwrap();
        janitor.delete(&object, Some(propagation), Unchanged::Uid).await;
        assert!(core.store.get(&owner).is_some());
        assert!(steps(&core, &mut janitor).await >= 3);
        assert!(core.store.get(&owner).is_none());
        let left = core.store.range("/configmaps/").objects;
        let kept = if propagation == Propagation::Orphan {
            MANY
        } else {
            0
        };
        assert_eq!(left.len(), kept);
        assert!(
            left.iter()
                .all(|object| object.meta().owner_references.is_empty())
        );
    }
}

#[tokio::test]
async fn a_namespace_with_very_many_objects_is_emptied_in_portions() {
    let core = core_with_a_namespace().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "large"}});
    core.ensure(vec![namespace]).await.unwrap();
    for i in 0..MANY {
        let key = Key::new("", "configmaps", "large", &format!("c{i}"));
        let metadata = json!({"name": key.name(), "namespace": "large", "uid": format!("u{i}")});
        let write = Write {
            key,
            expect: Expect::Absent,
            change: Change::Put(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})),
        };
        core.store.write(write).await.unwrap();
    }
    let mut janitor = Janitor::new(core.clone(), None).await;
    while janitor.step().await {}
    let key = Key::new("", "namespaces", "", "large");
    let object = core.store.get(&key).unwrap();
    janitor.delete(&object, None, Unchanged::Uid).await;
    assert!(core.store.get(&key).is_some(), "something is in it");
    assert!(steps(&core, &mut janitor).await >= 3);
    assert!(core.store.get(&key).is_none());
    assert!(core.store.range("/configmaps/").objects.is_empty());
}

thread_local! {
    static PANICS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Where the janitor turns: it panics if the running test asked for that.
pub(super) async fn fault() {
    assert!(!PANICS.with(std::cell::Cell::get), "as the test asked");
}

#[tokio::test]
async fn a_janitor_that_died_fails_the_probes_and_the_hub() {
    PANICS.with(|panics| panics.set(true));
    let hub = crate::Hub::builder().start().await.unwrap();
    let failure = hub.failed().await;
    assert_eq!(failure, "the task janitor of the hub panicked: as the test asked");
    for path in ["/healthz", "/livez", "/readyz"] {
        let request = http::Request::get(path)
            .body(http_body_util::Empty::<bytes::Bytes>::new())
            .unwrap();
        let answer = tower::ServiceExt::oneshot(hub.service(), request).await.unwrap();
        assert_eq!(answer.status(), http::StatusCode::INTERNAL_SERVER_ERROR, "{path}");
        let body = http_body_util::BodyExt::collect(answer.into_body())
            .await
            .unwrap()
            .to_bytes();
        let text = String::from_utf8(body.to_vec()).unwrap();
        assert!(text.contains(&failure), "{text}");
    }
    hub.stop().await;
}
