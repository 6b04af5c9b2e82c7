//! How many requests and watches of one user are served at a time, and how many bytes of answers are held.
//!
//! A request holds its body and its whole answer in memory until the client has read it, so a client that sends much and
//! reads nothing could use all of it. Requests count for the user that sent them, whoever that user acts as.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use super::limits::ClientLimits;
use super::quota::{Exceeded, Quota, Share};
use super::status::{Answer, Failure};
use crate::access::{Identity, MASTERS};

#[derive(Debug)]
pub(crate) struct InFlight {
    requests: Quota<String>,
    watches: Quota<String>,
    answers: Quota<String>,
    large_writes: Semaphore,
    large_writes_of: Mutex<HashMap<String, Weak<Semaphore>>>,
}

/// Large writes that are computed at once, in parts of 64 KiB of body and stored object; others wait. A write takes some
/// hundred times its size in memory while it is computed. Larger, and writes take the processors and the memory from all
/// others; smaller, and a slow admission webhook would be felt by all.
const LARGE_WRITES: usize = 256;
/// The same of one user.
const LARGE_WRITES_PER_USER: usize = 64;
const PART: usize = 64 << 10;

/// The turn of a large write. It ends with the value.
pub(crate) struct Turn<'a> {
    _own: Option<OwnedSemaphorePermit>,
    _all: Option<SemaphorePermit<'a>>,
}

/// What one request takes. None for those that do not count.
pub(crate) type Counted = Option<Share<String>>;

impl InFlight {
    pub(crate) fn new(limits: ClientLimits) -> Self {
        Self {
            requests: Quota::new(u64::MAX, limits.requests_per_user),
            watches: Quota::new(u64::MAX, limits.watches_per_user),
            answers: Quota::new(limits.answer_bytes, limits.answer_bytes_per_user),
            large_writes: Semaphore::new(LARGE_WRITES),
            large_writes_of: Mutex::default(),
        }
    }

    /// Waits for the turn of a user to compute a write of so many bytes.
    pub(crate) async fn large_write(&self, user: &str, bytes: usize) -> Turn<'_> {
        let parts = bytes.div_ceil(PART).clamp(1, LARGE_WRITES_PER_USER);
        let parts = u32::try_from(parts).unwrap_or(1);
        // First the user's own: whoever waits for it keeps nobody else waiting. The semaphores are never closed.
        let own = self.large_writes_of(user).acquire_many_owned(parts).await.ok();
        let all = self.large_writes.acquire_many(parts).await.ok();
        Turn { _own: own, _all: all }
    }

    fn large_writes_of(&self, user: &str) -> Arc<Semaphore> {
        let mut users = self
            .large_writes_of
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = users.get(user).and_then(Weak::upgrade) {
            return known;
        }
        users.retain(|_, turns| turns.strong_count() > 0);
        let turns = Arc::new(Semaphore::new(LARGE_WRITES_PER_USER));
        users.insert(user.to_owned(), Arc::downgrade(&turns));
        turns
    }

    /// Counts a request of a user, or refuses it.
    pub(crate) fn request(&self, sender: &Identity) -> Answer<Counted> {
        count(&self.requests, sender, "requests in flight")
    }

    /// Counts a watch of a user, or refuses it.
    pub(crate) fn watch(&self, sender: &Identity) -> Answer<Counted> {
        count(&self.watches, sender, "open watches")
    }

    /// Refuses a write whose answer could not be held. The answer itself must not be refused once the write is done.
    pub(crate) fn check_answers(&self, sender: &Identity) -> Answer<()> {
        match is_counted(sender) {
            true => self
                .answers
                .check(&sender.user)
                .map_err(|exceeded| full(sender, exceeded)),
            false => Ok(()),
        }
    }

    /// Counts the bytes of an answer, or refuses it.
    pub(crate) fn answer(&self, sender: &Identity, bytes: u64) -> Answer<Counted> {
        if !is_counted(sender) {
            return Ok(None);
        }
        let share = self.answers.take(&sender.user, bytes);
        share.map(Some).map_err(|exceeded| full(sender, exceeded))
    }

    /// Counts the bytes of an answer that has to be given.
    pub(crate) fn answer_anyway(&self, sender: &Identity, bytes: u64) -> Counted {
        is_counted(sender).then(|| self.answers.take_anyway(&sender.user, bytes))
    }
}

/// Members of `system:masters` may stop the hub in other ways, too, and must be able to read its state when it is busy.
fn is_counted(sender: &Identity) -> bool {
    !sender.is_in(MASTERS)
}

fn count(quota: &Quota<String>, sender: &Identity, what: &str) -> Answer<Counted> {
    if !is_counted(sender) {
        return Ok(None);
    }
    quota.take_one(&sender.user).map(Some).map_err(|exceeded| {
        let (Exceeded::InAll { limit, .. } | Exceeded::Owner { limit, .. }) = exceeded;
        Failure::too_many_requests(format!(
            "the user {:?} has {limit} {what}, which is the limit; wait until some have ended and try again",
            sender.user
        ))
    })
}

fn full(sender: &Identity, exceeded: Exceeded) -> Failure {
    let (whose, taken, limit) = match exceeded {
        Exceeded::Owner { limit, taken } => (format!("the user {:?}", sender.user), taken, limit),
        Exceeded::InAll { limit, taken } => ("all users".to_owned(), taken, limit),
    };
    Failure::too_many_requests(format!(
        "answers to {whose} that were not read yet take {taken} bytes, and with this one there would be more than the limit of \
         {limit}; read them to their end and try again, or ask for less with the parameter \"limit\""
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str) -> Identity {
        Identity::authenticated(name, std::iter::empty::<String>())
    }

    #[tokio::test]
    async fn the_large_writes_of_one_user_keep_no_other_user_waiting() {
        let in_flight = InFlight::new(ClientLimits::default());
        let _first = in_flight.large_write("ann", 4 << 20).await;
        let second = in_flight.large_write("ann", 1 << 20);
        tokio::pin!(second);
        assert!(
            futures::poll!(second.as_mut()).is_pending(),
            "ann has no parts left"
        );
        let _other = in_flight.large_write("bob", 4 << 20).await;
        drop(_first);
        second.await;
        drop(_other);
        in_flight.large_write("eve", 100 << 20).await;
        assert_eq!(
            in_flight.large_writes_of.lock().unwrap().len(),
            1,
            "users without writes are forgotten"
        );
    }

    #[test]
    fn a_user_gets_no_further_than_the_limit_until_a_request_ends() {
        let in_flight = InFlight::new(ClientLimits {
            requests_per_user: 2,
            ..ClientLimits::default()
        });
        let first = in_flight.request(&user("ann")).unwrap();
        let _second = in_flight.request(&user("ann")).unwrap();
        let refused = in_flight.request(&user("ann")).unwrap_err();
        assert_eq!(refused.code().as_u16(), 429);
        assert!(
            in_flight.request(&user("bob")).is_ok(),
            "another user is not concerned"
        );
        drop(first);
        assert!(in_flight.request(&user("ann")).is_ok());
    }

    #[test]
    fn answers_to_the_masters_do_not_count() {
        let in_flight = InFlight::new(ClientLimits {
            answer_bytes: 1,
            ..ClientLimits::default()
        });
        let master = Identity::authenticated("root", [MASTERS]);
        assert!(in_flight.answer_anyway(&master, 10).is_none());
        assert!(in_flight.answer(&user("ann"), 1).is_ok());
    }
}
