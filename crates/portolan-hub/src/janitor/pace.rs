//! How much is done at a time, so that a deletion of very many objects neither stands still nor keeps others waiting.

use futures::future::join_all;

use super::Janitor;

/// How many objects are dealt with side by side. Their writes share syncs of the disk; more of them would hold up clients'
/// writes.
const AT_A_TIME: usize = 32;
/// How many objects are dealt with before the janitor reads what happened meanwhile. More, and the history could be over
/// before it is read.
pub(super) const PORTION: usize = 1_024;

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
