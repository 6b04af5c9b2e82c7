//! How many requests and watches of one user are served at a time, and how many bytes of answers are held.
//!
//! A request holds its body and its whole answer in memory until the client has read it, so a client that sends much and
//! reads nothing could use all of it. Requests count for the user that sent them, whoever that user acts as.

use super::limits::ClientLimits;
use super::quota::{Exceeded, Quota, Share};
use super::status::{Answer, Failure};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::access::{Identity, MASTERS};

#[derive(Debug)]
pub(crate) struct InFlight {
    requests: Quota<String>,
    watches: Quota<String>,
    answers: Quota<String>,
    large_writes: Semaphore,
}

/// Most large writes that are computed at once; others wait. Larger, and they take the processors from small requests;
/// smaller, and a slow admission webhook would be felt by all.
const LARGE_WRITES: usize = 16;

/// What one request takes. None for those that do not count.
pub(crate) type Counted = Option<Share<String>>;

impl InFlight {
    pub(crate) fn new(limits: ClientLimits) -> Self {
        Self {
            requests: Quota::new(u64::MAX, limits.requests_per_user),
            watches: Quota::new(u64::MAX, limits.watches_per_user),
            answers: Quota::new(limits.answer_bytes, limits.answer_bytes_per_user),
            large_writes: Semaphore::new(LARGE_WRITES),
        }
    }

    /// Waits for its turn to compute a large write. The semaphore is never closed.
    pub(crate) async fn large_write(&self) -> Option<SemaphorePermit<'_>> {
        self.large_writes.acquire().await.ok()
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
