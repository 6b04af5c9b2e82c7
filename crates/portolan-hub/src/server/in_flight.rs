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
    long: Semaphore,
    turns_of: Mutex<HashMap<String, Weak<Semaphore>>>,
}

/// Requests whose computation is long that are computed at once, in parts of [`PART`]; others wait. A write takes some hundred times
/// its size in memory while it is computed. Larger, and a few users take the processors and the memory from all others; smaller,
/// and a slow admission webhook would be felt by all.
const LONG: usize = 256;
/// The same of one user, for all requests of the user. A user may send many requests at once, and as many as have a turn are before
/// the next request of every other user.
const PER_USER: usize = 64;
/// What is read, written and compared for a request, in bytes, that counts as one part.
const PART: usize = 64 << 10;
/// The least that a long computation counts: four of a user at once.
const LEAST_OF_LONG: usize = PER_USER / 4;
/// What any other request counts: sixteen of a user at once.
const SHORT: usize = PER_USER / 16;

/// Bytes that a request reads, writes and compares, above which its computation is long: it is computed by a thread that serves
/// nothing else meanwhile. Larger, and a few requests could keep all threads of the runtime busy; smaller, and the usual request
/// would pay for a thread.
pub(crate) const LONG_FROM: usize = 32 << 10;

/// The turn of a request. It ends with the value.
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
            long: Semaphore::new(LONG),
            turns_of: Mutex::default(),
        }
    }

    /// Waits for the turn of whoever sent a request to compute it. `weight` is in bytes.
    pub(crate) async fn turn(&self, sender: &Identity, weight: usize) -> Turn<'_> {
        let is_long = weight > LONG_FROM;
        if !is_long && !is_counted(sender) {
            return Turn {
                _own: None,
                _all: None,
            };
        }
        let parts = match is_long {
            true => weight.div_ceil(PART).clamp(LEAST_OF_LONG, PER_USER),
            false => SHORT,
        };
        let parts = u32::try_from(parts).unwrap_or(1);
        // First the user's own: whoever waits for it keeps nobody else waiting. The semaphores are never closed.
        let own = self.turns_of(&sender.user).acquire_many_owned(parts).await.ok();
        let all = match is_long {
            true => self.long.acquire_many(parts).await.ok(),
            false => None,
        };
        Turn { _own: own, _all: all }
    }

    fn turns_of(&self, user: &str) -> Arc<Semaphore> {
        let mut users = self.turns_of.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = users.get(user).and_then(Weak::upgrade) {
            return known;
        }
        // Users without requests are forgotten, now and then: a walk for each request would cost more than the room.
        if users.len() == users.capacity() {
            users.retain(|_, turns| turns.strong_count() > 0);
        }
        let turns = Arc::new(Semaphore::new(PER_USER));
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
    async fn the_long_requests_of_one_user_keep_no_other_user_waiting() {
        let in_flight = InFlight::new(ClientLimits::default());
        let (ann, bob) = (user("ann"), user("bob"));
        let first = in_flight.turn(&ann, 4 << 20).await;
        let second = in_flight.turn(&ann, 0);
        tokio::pin!(second);
        assert!(
            futures::poll!(second.as_mut()).is_pending(),
            "ann has no parts left"
        );
        let other = in_flight.turn(&bob, 4 << 20).await;
        drop(first);
        second.await;
        drop(other);
        in_flight.turn(&user("eve"), 100 << 20).await;
    }

    #[tokio::test]
    async fn a_user_has_sixteen_turns_for_short_requests_and_four_for_long_ones() {
        let in_flight = InFlight::new(ClientLimits::default());
        for (weight, most) in [(0, 16), (LONG_FROM, 16), (LONG_FROM + 1, 4)] {
            let mut turns = Vec::new();
            while let std::task::Poll::Ready(turn) =
                futures::poll!(Box::pin(in_flight.turn(&user("ann"), weight)))
            {
                turns.push(turn);
            }
            assert_eq!(turns.len(), most, "{weight}");
        }
        let master = Identity::authenticated("root", [MASTERS]);
        let mut turns = Vec::new();
        for _ in 0..100 {
            turns.push(in_flight.turn(&master, 0).await);
        }
    }

    #[tokio::test]
    async fn users_without_requests_are_forgotten() {
        let in_flight = InFlight::new(ClientLimits::default());
        for number in 0..10_000 {
            in_flight.turn(&user(&number.to_string()), 0).await;
        }
        assert!(in_flight.turns_of.lock().unwrap().capacity() < 100);
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
