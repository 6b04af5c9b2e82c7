use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;

const HISTORY: History = History {
    events: 50,
    bytes: 1 << 20,
};

fn key(name: &str) -> Key {
    Key::new("", "configmaps", "default", name)
}

fn put(name: &str, expect: Expect, data: u32) -> Write {
    let value = json!({"metadata": {"name": name}, "data": data});
    Write {
        key: key(name),
        expect,
        change: Change::Put(value),
    }
}

fn delete(name: &str, revision: u64) -> Write {
    Write {
        key: key(name),
        expect: Expect::Revision(revision),
        change: Change::Delete(json!({"metadata": {"name": name}, "data": 0})),
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

#[test]
fn a_write_carries_its_revision() {
    let store = Store::in_memory(HISTORY);
    let object = run(store.write(put("a", Expect::Absent, 1))).unwrap();
    assert_eq!(object.revision(), 2);
    assert_eq!(object.value()["metadata"]["resourceVersion"], "2");
    assert_eq!(
        run(store.write(put("a", Expect::Absent, 1))).unwrap_err(),
        WriteError::Exists(key("a"))
    );
    assert_eq!(
        run(store.write(put("a", Expect::Revision(1), 2))).unwrap_err(),
        WriteError::Conflict {
            key: key("a"),
            expected: 1,
            current: 2
        }
    );
}

#[test]
fn what_was_answered_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), HISTORY).unwrap();
    let a = run(store.write(put("a", Expect::Absent, 1))).unwrap();
    run(store.write(put("b", Expect::Absent, 1))).unwrap();
    run(store.write(delete("a", a.revision()))).unwrap();
    drop(store);
    let store = reopen(folder.path());
    assert_eq!(store.revision(), 4, "the deletion's revision is not forgotten");
    assert!(store.get(&key("a")).is_none());
    assert_eq!(store.get(&key("b")).unwrap().value()["data"], 1);
}

/// The committing thread lets go of the file a moment after the last handle is dropped.
fn reopen(folder: &Path) -> Store {
    loop {
        match Store::open(folder, HISTORY) {
            Err(OpenError::Locked { .. }) => std::thread::yield_now(),
            other => return other.unwrap(),
        }
    }
}

#[test]
fn a_copy_of_the_file_taken_while_it_is_open_holds_every_answered_write() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), HISTORY).unwrap();
    for round in 0..20_u32 {
        run(store.write(put(&format!("o{round}"), Expect::Absent, round))).unwrap();
        let crashed = tempfile::tempdir().unwrap();
        std::fs::copy(folder.path().join("hub.redb"), crashed.path().join("hub.redb")).unwrap();
        let survivor = Store::open(crashed.path(), HISTORY).unwrap();
        assert_eq!(survivor.revision(), store.revision());
        assert_eq!(survivor.range("").objects.len(), round as usize + 1);
    }
}

#[test]
fn a_damaged_file_is_reported_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hub.redb");
    for text in [
        "",
        "not a database, but long enough to be read as one"
            .repeat(200)
            .as_str(),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = Store::open(folder.path(), HISTORY).unwrap_err();
        assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn pages_of_noise_are_reported_and_the_file_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), HISTORY).unwrap();
    for number in 0..200 {
        let name = format!("a{number}");
        let write = Write {
            key: key(&name),
            expect: Expect::Absent,
            change: Change::Put(json!({"metadata": {"name": name}, "data": "x".repeat(500)})),
        };
        run(store.write(write)).unwrap();
    }
    drop(store);
    drop(reopen(folder.path()));
    let whole = std::fs::read(folder.path().join("hub.redb")).unwrap();
    // Noise of one seed over four kilobytes, page by page.
    let mut state = 7_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    })
    .take(4096)
    .collect();
    let mut reported = 0;
    for start in (4096..whole.len()).step_by(8192) {
        let mut damaged = whole.clone();
        let end = (start + noise.len()).min(damaged.len());
        damaged[start..end].copy_from_slice(&noise[..end - start]);
        let other = tempfile::tempdir().unwrap();
        let path = other.path().join("hub.redb");
        std::fs::write(&path, &damaged).unwrap();
        // Pages that nothing refers to may hold anything.
        if let Err(error) = Store::open(other.path(), HISTORY) {
            assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
            assert_eq!(std::fs::read(&path).unwrap(), damaged, "it is left as it is");
            reported += 1;
        }
    }
    assert!(reported > 0);
}

#[test]
fn a_flipped_byte_in_a_record_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), HISTORY).unwrap();
    let write = Write {
        key: key("a"),
        expect: Expect::Absent,
        change: Change::Put(json!({"metadata": {"name": "a"}, "data": "treasure"})),
    };
    run(store.write(write)).unwrap();
    drop(store);
    drop(reopen(folder.path()));
    let path = folder.path().join("hub.redb");
    let mut bytes = loop {
        // Wait for the file to be closed: a clean close rewrites its header.
        let bytes = std::fs::read(&path).unwrap();
        if Store::open(folder.path(), HISTORY).is_ok() {
            break bytes;
        }
    };
    let places: Vec<_> = bytes
        .windows(8)
        .enumerate()
        .filter(|(_, w)| w == b"treasure")
        .map(|(i, _)| i)
        .collect();
    for place in places {
        bytes[place] = b'T';
    }
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("hub.redb"), &bytes).unwrap();
    let error = Store::open(other.path(), HISTORY).unwrap_err();
    assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
}

#[test]
fn concurrent_writers_share_commits_and_each_gets_its_own_answer() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), HISTORY).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    let wins = runtime.block_on(async {
        let writers = (0..200_u32).map(|n| {
            let store = store.clone();
            // Every name is written by two: exactly one may win.
            tokio::spawn(async move {
                store
                    .write(put(&format!("o{}", n / 2), Expect::Absent, n))
                    .await
                    .is_ok()
            })
        });
        let mut wins = 0;
        for writer in writers.collect::<Vec<_>>() {
            wins += usize::from(writer.await.unwrap());
        }
        wins
    });
    assert_eq!(wins, 100);
    assert_eq!(store.revision(), 101);
    assert!(
        store.commits() < 200,
        "{} commits for 200 writes",
        store.commits()
    );
}

#[derive(Debug, Clone)]
enum Step {
    Put(u8, u32),
    Delete(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..6_u8, any::<u32>()).prop_map(|(name, data)| Step::Put(name, data)),
        1 => (0..6_u8).prop_map(Step::Delete),
    ];
    proptest::collection::vec(step, 1..120)
}

proptest! {
    /// Against a model that remembers every state there ever was.
    #[test]
    fn reads_at_a_revision_and_events_agree_with_a_naive_model(steps in steps()) {
        let store = Store::in_memory(HISTORY);
        let mut model: BTreeMap<String, (u64, u32)> = BTreeMap::new();
        let mut past = BTreeMap::from([(1_u64, model.clone())]);
        for step in steps {
            let (name, change) = match step {
                Step::Put(name, data) => (format!("o{name}"), Some(data)),
                Step::Delete(name) => (format!("o{name}"), None),
            };
            let known = model.get(&name).map(|(revision, _)| *revision);
            let write = match (change, known) {
                (Some(data), None) => put(&name, Expect::Absent, data),
                (Some(data), Some(revision)) => put(&name, Expect::Revision(revision), data),
                (None, Some(revision)) => delete(&name, revision),
                (None, None) => {
                    prop_assert!(run(store.write(delete(&name, 1))).is_err());
                    continue;
                }
            };
            let object = run(store.write(write)).unwrap();
            match change {
                Some(data) => model.insert(name, (object.revision(), data)),
                None => model.remove(&name),
            };
            past.insert(object.revision(), model.clone());
        }
        let now = store.revision();
        let mut replayed: Option<BTreeMap<String, (u64, u32)>> = None;
        for (revision, expected) in &past {
            let Ok(range) = store.range_at("", *revision) else {
                prop_assert!(now - revision >= HISTORY.events as u64, "compacted too early");
                prop_assert!(store.events("", *revision, 10).is_err());
                continue;
            };
            prop_assert_eq!(&read(&range.objects), expected);
            // From the oldest state that is remembered, the events lead to the newest.
            replayed.get_or_insert_with(|| {
                let mut state = expected.clone();
                for event in store.events("", *revision, usize::MAX).unwrap().0 {
                    let name = event.object.key().name().to_owned();
                    if event.deleted { state.remove(&name); } else { state.extend(read(std::slice::from_ref(&event.object))); }
                }
                state
            });
        }
        prop_assert_eq!(replayed.unwrap(), model);
    }
}

fn read(objects: &[Arc<Stored>]) -> BTreeMap<String, (u64, u32)> {
    let data = |object: &Stored| object.value()["data"].as_u64().unwrap() as u32;
    objects
        .iter()
        .map(|o| (o.key().name().to_owned(), (o.revision(), data(o))))
        .collect()
}

fn large(name: &str, namespace: &str, expect: Expect, bytes: usize) -> Write {
    Write {
        key: Key::new("", "configmaps", namespace, name),
        expect,
        change: Change::Put(json!({"metadata": {"name": name}, "data": "x".repeat(bytes)})),
    }
}

#[test]
fn what_is_stored_is_bounded_in_a_namespace_and_in_all() {
    let store = Store::in_memory(HISTORY);
    store.limit(Limits {
        total: 6_500,
        namespace: 4_000,
    });
    let write = |write| run(store.write(write));
    let full = |outcome: Outcome| match outcome {
        Err(WriteError::Full { place, .. }) => place,
        other => panic!("expected a full store, got {other:?}"),
    };
    let first = write(large("a", "one", Expect::Absent, 2_000)).unwrap();
    assert_eq!(
        full(write(large("b", "one", Expect::Absent, 2_000))),
        "the namespace one"
    );
    write(large("b", "two", Expect::Absent, 2_000)).unwrap();
    assert_eq!(full(write(large("c", "three", Expect::Absent, 2_000))), "the hub");
    // A refused write leaves nothing behind, a smaller object takes less, and a deletion makes room.
    assert_eq!(store.revision(), 3);
    let smaller = write(large("a", "one", Expect::Revision(first.revision()), 1_000)).unwrap();
    write(large("c", "three", Expect::Absent, 500)).unwrap();
    let gone = Write {
        key: Key::new("", "configmaps", "one", "a"),
        expect: Expect::Revision(smaller.revision()),
        change: Change::Delete(smaller.value()),
    };
    write(gone).unwrap();
    write(large("d", "one", Expect::Absent, 1_500)).unwrap();
}

#[test]
fn objects_with_hardly_any_text_fill_the_store_too() {
    let store = Store::in_memory(HISTORY);
    store.limit(Limits {
        total: 10_000,
        namespace: 10_000,
    });
    let write = |number: usize| run(store.write(large(&number.to_string(), "one", Expect::Absent, 0)));
    let stored = (0..100).take_while(|number| write(*number).is_ok()).count();
    assert!((10..20).contains(&stored), "{stored}");
}

#[test]
fn roles_of_a_namespace_have_a_limit_of_their_own() {
    let store = Store::in_memory(HISTORY);
    let role = |namespace: &str, number: usize| {
        let mut write = large("", "", Expect::Absent, 1 << 20);
        write.key = Key::new(
            "rbac.authorization.k8s.io",
            "roles",
            namespace,
            &number.to_string(),
        );
        run(store.write(write))
    };
    let stored = (0..100).take_while(|number| role("one", *number).is_ok()).count();
    assert_eq!(stored, 7);
    role("two", 0).unwrap();
    run(store.write(large("a", "one", Expect::Absent, 2 << 20))).unwrap();
}

#[test]
fn an_object_can_be_marked_as_deleted_in_a_full_store() {
    let store = Store::in_memory(HISTORY);
    let held = run(store.write(large("a", "one", Expect::Absent, 2_000))).unwrap();
    store.limit(Limits {
        total: 1,
        namespace: 1,
    });
    let mut value = held.value();
    value["metadata"]["deletionTimestamp"] = "2026-01-31T08:00:00Z".into();
    let marked = Write {
        key: Key::new("", "configmaps", "one", "a"),
        expect: Expect::Revision(held.revision()),
        change: Change::Put(value),
    };
    run(store.write(marked)).unwrap();
}

#[test]
fn the_bytes_of_a_reopened_store_count() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits {
        total: 3_000,
        namespace: 3_000,
    };
    let store = Store::open(folder.path(), HISTORY).unwrap();
    run(store.write(large("a", "one", Expect::Absent, 2_000))).unwrap();
    run(store.close());
    let store = Store::open(folder.path(), HISTORY).unwrap();
    store.limit(limits);
    assert!(run(store.write(large("b", "one", Expect::Absent, 2_000))).is_err());
}

#[test]
fn a_number_reads_back_as_it_was_written() {
    // A reader that is one step off would change the object, and its generation, with every write of the same content.
    for text in [
        "0.5000000000000000777771e+300",
        "1.7976931348623157e308",
        "5e-324",
        "0.1",
    ] {
        let read: serde_json::Value = serde_json::from_str(text).unwrap();
        let again: serde_json::Value = serde_json::from_str(&read.to_string()).unwrap();
        assert_eq!(read, again, "{text}");
    }
}
