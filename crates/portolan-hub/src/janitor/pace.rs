//! How much is done at a time, so that a deletion of very many objects neither stands still nor keeps others waiting.

use std::sync::Arc;

use futures::future::join_all;

use super::Janitor;
use crate::server::{LONG_FROM, MOST_AT_ONCE, apart_always, serve_apart};
use crate::store::Stored;

/// How many objects are dealt with side by side. Their writes share syncs of the disk; more of them would hold up clients'
/// writes.
const AT_A_TIME: usize = 32;
/// How many objects are dealt with before the janitor reads what happened meanwhile. More, and the history could be over
/// before it is read.
pub(super) const PORTION: usize = 1_024;

/// Computes something about an object. If the object is large, no client waits for the thread meanwhile.
pub(super) fn about<T>(object: &Stored, compute: impl FnOnce() -> T) -> T {
    match is_large(object) {
        true => apart_always(compute),
        false => compute(),
    }
}

/// The same about many objects.
pub(super) fn about_all<T>(objects: &[Arc<Stored>], compute: impl FnOnce() -> T) -> T {
    match objects.len() > MOST_AT_ONCE || objects.iter().any(|object| is_large(object)) {
        true => apart_always(compute),
        false => compute(),
    }
}

/// Does something with an object. If the object is large, no client waits for the thread meanwhile.
pub(super) async fn with<T>(object: &Stored, work: impl Future<Output = T>) -> T {
    match is_large(object) {
        true => serve_apart(work).await,
        false => work.await,
    }
}

fn is_large(object: &Stored) -> bool {
    object.bytes().len() > LONG_FROM
}

impl Janitor {
    /// Does something for each of many objects, some at a time. Each is a turn.
    pub(super) async fn each<T, W: Future>(
        &self,
        items: impl IntoIterator<Item = T>,
        work: impl Fn(T) -> W,
    ) -> Vec<W::Output> {
        let mut items = items.into_iter();
        let mut results = Vec::new();
        loop {
            let some: Vec<_> = items
                .by_ref()
                .take(AT_A_TIME)
                .map(|item| self.as_a_turn(work(item)))
                .collect();
            let is_last = some.len() < AT_A_TIME;
            results.extend(join_all(some).await);
            if is_last {
                return results;
            }
            // In memory nothing of this has waited for anything.
            tokio::task::yield_now().await;
        }
    }

    async fn as_a_turn<W: Future>(&self, work: W) -> W::Output {
        let result = work.await;
        self.turns.turn();
        result
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::store::{Change, Expect, Key, Write};

    #[test]
    fn clients_are_served_while_a_large_object_is_dealt_with() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        runtime.block_on(async {
            let core = crate::server::Core::in_memory();
            let object = json!({"metadata": {"name": "large"}, "data": {"text": "x".repeat(LONG_FROM)}});
            let write = Write {
                key: Key::new("", "configmaps", "default", "large"),
                expect: Expect::Absent,
                change: Change::Put(object),
            };
            let large = core.store.write(write).await.unwrap();
            for is_many in [false, true] {
                let (answer, answered) = mpsc::channel();
                let object = large.clone();
                let dealt_with = tokio::spawn(async move {
                    let wait = || answered.recv_timeout(Duration::from_secs(30)).unwrap();
                    match is_many {
                        true => about_all(&[object], wait),
                        false => about(&object, wait),
                    }
                });
                // The runtime has one thread, and this needs it.
                tokio::spawn(async move { answer.send(7).unwrap() })
                    .await
                    .unwrap();
                assert_eq!(dealt_with.await.unwrap(), 7);
            }
        });
    }
}
