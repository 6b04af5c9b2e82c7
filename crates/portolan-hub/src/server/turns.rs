//! Turns: how many requests are computed at once, of one user, of the accounts of one namespace, and of all.
//!
//! A request that waits for a turn keeps only those requests waiting that share the limit. The limit of the user comes first, then
//! that of the namespace of a service account (a tenant can make any number of accounts), and then that of all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use crate::access::{Identity, MASTERS};

/// Requests whose computation is long that are computed at once, in parts of [`PART`]; others wait. A write takes some hundred times
/// its size in memory while it is computed. Larger, and a few users take the processors and the memory from all others; smaller,
/// and a slow admission webhook would be felt by all.
const LONG: usize = 256;
/// The same of all service accounts of one namespace, for all their requests. Larger, and a tenant with many accounts could take
/// all of [`LONG`]; smaller, and a fleet of agents, whose accounts are in one namespace, would wait for each other's writes.
const PER_NAMESPACE: usize = LONG / 2;
/// The same of one user, for all requests of the user. A user may send many requests at once, and as many as have a turn are before
/// the next request of every other user.
const PER_USER: usize = 64;
/// What is read, written and compared for a request, in bytes, that counts as one part.
const PART: usize = 64 << 10;
/// The least that a long computation counts: four of a user at once.
const LEAST_OF_LONG: usize = PER_USER / 4;
/// Watches of one user that write events at once, if these are short. Those of all service accounts of a namespace are twice as many.
const WATCHES_PER_USER: usize = 16;
/// What any other request counts: sixteen of a user at once.
const SHORT: usize = PER_USER / 16;

/// Bytes that a request reads, writes and compares, above which its computation is long: it is computed by a thread that serves
/// nothing else meanwhile. Larger, and a few requests could keep all threads of the runtime busy; smaller, and the usual request
/// would pay for a thread.
pub(crate) const LONG_FROM: usize = 32 << 10;

#[derive(Debug)]
pub(super) struct TurnLimits {
    long: Semaphore,
    users: ByName,
    /// By the namespace of service accounts.
    namespaces: ByName,
    /// The same for watches. They are apart: a watch must not wait for the long requests of its own user.
    watches: [ByName; 2],
}

/// The turn of a request. It ends with the value.
#[derive(Default)]
pub(crate) struct Turn<'a> {
    _own: Option<OwnedSemaphorePermit>,
    _namespace: Option<OwnedSemaphorePermit>,
    _all: Option<SemaphorePermit<'a>>,
}

/// Limits by name. Those that nobody uses are forgotten.
#[derive(Debug)]
struct ByName {
    parts: usize,
    by_name: Mutex<HashMap<String, Weak<Semaphore>>>,
}

impl TurnLimits {
    pub(super) fn new() -> Self {
        let shared = |parts| ByName {
            parts,
            by_name: Mutex::default(),
        };
        Self {
            long: Semaphore::new(LONG),
            users: shared(PER_USER),
            namespaces: shared(PER_NAMESPACE),
            watches: [shared(WATCHES_PER_USER), shared(2 * WATCHES_PER_USER)],
        }
    }

    /// Waits for the turn of a watch to write a few events. One change may be news for every watch of a user, and each of them is a
    /// task that others would wait behind.
    pub(super) async fn watch_turn(&self, sender: &Identity) -> Turn<'_> {
        if !is_counted(sender) {
            return Turn::default();
        }
        let [users, namespaces] = &self.watches;
        // The semaphores are never closed.
        let own = users.of(&sender.user).acquire_owned().await.ok();
        let namespace = match sender.account() {
            Some((namespace, _)) => namespaces.of(namespace).acquire_owned().await.ok(),
            None => None,
        };
        Turn {
            _own: own,
            _namespace: namespace,
            _all: None,
        }
    }

    /// Waits for the turn of whoever sent a request to compute it. `weight` is in bytes.
    pub(super) async fn turn(&self, sender: &Identity, weight: usize) -> Turn<'_> {
        let is_long = weight > LONG_FROM;
        if !is_long && !is_counted(sender) {
            return Turn::default();
        }
        let parts = match is_long {
            true => weight.div_ceil(PART).clamp(LEAST_OF_LONG, PER_USER),
            false => SHORT,
        };
        let parts = u32::try_from(parts).unwrap_or(1);
        // The semaphores are never closed.
        let own = self.users.of(&sender.user).acquire_many_owned(parts).await.ok();
        let namespace = match sender.account() {
            Some((namespace, _)) => self.namespaces.of(namespace).acquire_many_owned(parts).await.ok(),
            None => None,
        };
        let all = match is_long {
            true => self.long.acquire_many(parts).await.ok(),
            false => None,
        };
        Turn {
            _own: own,
            _namespace: namespace,
            _all: all,
        }
    }
}

impl ByName {
    fn of(&self, name: &str) -> Arc<Semaphore> {
        let mut all = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(name).and_then(Weak::upgrade) {
            return known;
        }
        // Names without requests are forgotten, now and then: a walk for each request would cost more than the room.
        if all.len() == all.capacity() {
            all.retain(|_, turns| turns.strong_count() > 0);
        }
        let turns = Arc::new(Semaphore::new(self.parts));
        all.insert(name.to_owned(), Arc::downgrade(&turns));
        turns
    }
}

/// Members of `system:masters` may stop the hub in other ways, too, and must be able to read its state when it is busy.
pub(super) fn is_counted(sender: &Identity) -> bool {
    !sender.is_in(MASTERS)
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::*;

    fn user(name: &str) -> Identity {
        Identity::authenticated(name, std::iter::empty::<String>())
    }

    /// The turns that can be had at once.
    async fn taken<'a>(
        turns: &'a TurnLimits,
        senders: impl IntoIterator<Item = Identity>,
        weight: usize,
    ) -> Vec<Turn<'a>> {
        let mut taken = Vec::new();
        for sender in senders {
            while let Poll::Ready(turn) = futures::poll!(Box::pin(turns.turn(&sender, weight))) {
                taken.push(turn);
                // A task that takes much at once has to wait, whatever there is.
                tokio::task::yield_now().await;
            }
        }
        taken
    }

    #[tokio::test]
    async fn the_long_requests_of_one_user_keep_no_other_user_waiting() {
        let turns = TurnLimits::new();
        let (ann, bob) = (user("ann"), user("bob"));
        let first = turns.turn(&ann, 4 << 20).await;
        let second = turns.turn(&ann, 0);
        tokio::pin!(second);
        assert!(
            futures::poll!(second.as_mut()).is_pending(),
            "ann has no parts left"
        );
        let other = turns.turn(&bob, 4 << 20).await;
        drop(first);
        second.await;
        drop(other);
        turns.turn(&user("eve"), 100 << 20).await;
    }

    #[tokio::test]
    async fn the_accounts_of_one_namespace_keep_no_other_namespace_waiting() {
        let turns = TurnLimits::new();
        let accounts = (0..100).map(|number| Identity::service_account("evil", &number.to_string()));
        let long = taken(&turns, accounts.clone(), 4 << 20).await;
        assert_eq!(long.len(), PER_NAMESPACE / PER_USER);
        let good = Identity::service_account("good", "a");
        let other = turns.turn(&good, 4 << 20);
        assert!(futures::poll!(Box::pin(other)).is_ready());
        drop(long);
        let short = taken(&turns, accounts, 0).await;
        assert_eq!(short.len(), PER_NAMESPACE / SHORT);
    }

    #[tokio::test]
    async fn a_user_has_sixteen_turns_for_short_requests_and_four_for_long_ones() {
        let turns = TurnLimits::new();
        for (weight, most) in [(0, 16), (LONG_FROM, 16), (LONG_FROM + 1, 4)] {
            assert_eq!(taken(&turns, [user("ann")], weight).await.len(), most, "{weight}");
        }
        let master = Identity::authenticated("root", [MASTERS]);
        let mut all = Vec::new();
        for _ in 0..100 {
            all.push(turns.turn(&master, 0).await);
        }
    }

    #[tokio::test]
    async fn a_change_that_is_news_for_very_many_watches_keeps_nobody_else_waiting() {
        let turns = TurnLimits::new();
        let ann = user("ann");
        let long = turns.turn(&ann, usize::MAX).await;
        let mut writing = Vec::new();
        while let Poll::Ready(turn) = futures::poll!(Box::pin(turns.watch_turn(&ann))) {
            writing.push(turn);
        }
        assert_eq!(
            writing.len(),
            WATCHES_PER_USER,
            "although a long request of ann is computed"
        );
        assert!(futures::poll!(Box::pin(turns.watch_turn(&user("bob")))).is_ready());
        drop((long, writing));
        let mut writing = Vec::new();
        for number in 0..100 {
            let account = Identity::service_account("evil", &number.to_string());
            if let Poll::Ready(turn) = futures::poll!(Box::pin(turns.watch_turn(&account))) {
                writing.push(turn);
            }
            tokio::task::yield_now().await;
        }
        assert_eq!(writing.len(), 2 * WATCHES_PER_USER);
    }

    #[tokio::test]
    async fn users_without_requests_are_forgotten() {
        let turns = TurnLimits::new();
        for number in 0..10_000 {
            turns.turn(&user(&number.to_string()), 0).await;
        }
        assert!(turns.users.by_name.lock().unwrap().capacity() < 100);
    }
}
