//! How many requests and watches of one user are served at a time, and how many bytes of bodies and answers are held.
//!
//! A request holds its body and its whole answer in memory until the client has read it, so a client that sends much and
//! reads nothing could use all of it. Requests count for the user that sent them, whoever that user acts as. Those of service
//! accounts count for their namespace as well: whoever may make accounts there can make any number of them.

use std::time::Duration;

use super::limits::ClientLimits;
use super::quota::{Exceeded, Quota, Share};
use super::status::{Answer, Failure};
use super::turns::{Turn, TurnLimits, is_counted};
use crate::access::Identity;

#[derive(Debug)]
pub(crate) struct InFlight {
    requests: Limited,
    watches: Limited,
    bodies: Limited,
    answers: Limited,
    turns: TurnLimits,
}

/// A request waits no longer for other requests. As long as clients of Kubernetes wait.
const TURN_TIMEOUT: Duration = Duration::from_secs(60);

/// Requests and watches of all service accounts of a namespace, in users. The accounts of a fleet of agents are in one namespace:
/// fewer, and 10,000 agents could not watch; more, and a tenant could fill the memory with requests that wait.
const USERS_OF_A_NAMESPACE: u64 = 64;

/// Bytes of bodies in memory. Larger, and bodies could fill the memory of a small machine; smaller, and users that write large
/// objects at the same time would be told to wait.
const BODY_BYTES: u64 = 1 << 30;
/// The same for one user. Larger, and a few users could take all of it.
const BODY_BYTES_PER_USER: u64 = 128 << 20;

/// What one request takes. None for those that do not count.
pub(crate) type Counted = Option<Claim>;

/// What one sender has taken; it counts until this is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    own: Share<String>,
    /// The same of the namespace of a service account.
    namespace: Option<Share<String>>,
}

/// A limit for each user, for all accounts of a namespace, and for all.
#[derive(Debug, Clone)]
struct Limited {
    users: Quota<String>,
    namespaces: Quota<String>,
}

/// A limit that would be exceeded.
#[derive(Debug)]
struct Over {
    whose: String,
    limit: u64,
    taken: u64,
}

impl InFlight {
    pub(crate) fn new(limits: ClientLimits) -> Self {
        let counted = |per_user: u64| Limited {
            users: Quota::new(u64::MAX, per_user),
            namespaces: Quota::new(u64::MAX, per_user.saturating_mul(USERS_OF_A_NAMESPACE)),
        };
        let bytes = |in_all: u64, per_user: u64| Limited {
            users: Quota::new(in_all, per_user),
            // Half: a tenant with any number of accounts leaves room for others.
            namespaces: Quota::new(u64::MAX, (in_all / 2).max(per_user)),
        };
        Self {
            requests: counted(limits.requests_per_user),
            watches: counted(limits.watches_per_user),
            bodies: bytes(BODY_BYTES, BODY_BYTES_PER_USER),
            answers: bytes(limits.answer_bytes, limits.answer_bytes_per_user),
            turns: TurnLimits::new(),
        }
    }

    /// Waits for the turn of whoever sent a request to compute it. `weight` is in bytes.
    pub(crate) async fn turn(&self, sender: &Identity, weight: usize) -> Turn<'_> {
        self.turns.turn(sender, weight).await
    }

    /// The same, and refuses a request that has waited for too long: its client has most likely given up.
    pub(crate) async fn turn_in_time(&self, sender: &Identity, weight: usize) -> Answer<Turn<'_>> {
        let turn = tokio::time::timeout(TURN_TIMEOUT, self.turn(sender, weight)).await;
        turn.map_err(|_| {
            Failure::too_many_requests(format!(
                "the request has waited {} s for other requests of the user {:?}; try again when some have ended",
                TURN_TIMEOUT.as_secs(),
                sender.user
            ))
        })
    }

    /// Waits for the turn of a watch to write a few events.
    pub(crate) async fn watch_turn(&self, sender: &Identity) -> Turn<'_> {
        self.turns.watch_turn(sender).await
    }

    /// Counts a request of a user, or refuses it.
    pub(crate) fn request(&self, sender: &Identity) -> Answer<Counted> {
        self.requests.count(sender, "requests in flight")
    }

    /// Counts a watch of a user, or refuses it.
    pub(crate) fn watch(&self, sender: &Identity) -> Answer<Counted> {
        self.watches.count(sender, "open watches")
    }

    /// Counts the bytes of a body as they arrive. None for a sender whose bodies do not count.
    pub(crate) fn body(&self, sender: &Identity) -> Option<BodyBytes> {
        is_counted(sender).then(|| BodyBytes {
            held: self.bodies.take_anyway(sender, 0),
            bodies: self.bodies.clone(),
            sender: sender.clone(),
        })
    }

    /// Refuses a write whose answer could not be held. The answer itself must not be refused once the write is done.
    pub(crate) fn check_answers(&self, sender: &Identity) -> Answer<()> {
        match is_counted(sender) {
            true => self.answers.check(sender).map_err(|over| over.of_answers()),
            false => Ok(()),
        }
    }

    /// Counts the bytes of an answer, or refuses it.
    pub(crate) fn answer(&self, sender: &Identity, bytes: u64) -> Answer<Counted> {
        if !is_counted(sender) {
            return Ok(None);
        }
        let held = self.answers.take(sender, bytes);
        held.map(Some).map_err(|over| over.of_answers())
    }

    /// Counts the bytes of an answer that has to be given.
    pub(crate) fn answer_anyway(&self, sender: &Identity, bytes: u64) -> Counted {
        is_counted(sender).then(|| self.answers.take_anyway(sender, bytes))
    }
}

/// The bytes of one body, as far as it has arrived.
#[derive(Debug)]
pub(crate) struct BodyBytes {
    held: Claim,
    bodies: Limited,
    sender: Identity,
}

impl BodyBytes {
    /// Counts bytes that have arrived, or refuses the body.
    pub(crate) fn add(&mut self, bytes: u64) -> Answer<()> {
        let more = self.bodies.take(&self.sender, bytes).map_err(|over| {
            Failure::too_many_requests(format!(
                "requests of {} that are not answered yet have bodies of {} bytes, and with this one there would be more than the \
                 limit of {}; wait until some are answered and try again",
                over.whose, over.taken, over.limit
            ))
        })?;
        self.held.merge(more);
        Ok(())
    }
}

impl Claim {
    /// Both as one.
    fn merge(&mut self, more: Claim) {
        self.own.merge(more.own);
        if let (Some(namespace), Some(more)) = (&mut self.namespace, more.namespace) {
            namespace.merge(more);
        }
    }
}

impl Limited {
    fn count(&self, sender: &Identity, what: &str) -> Answer<Counted> {
        if !is_counted(sender) {
            return Ok(None);
        }
        let taken = self.each(sender, |quota, owner| quota.take_one(owner));
        taken.map(Some).map_err(|over| {
            Failure::too_many_requests(format!(
                "{} has {} {what}, which is the limit; wait until some have ended and try again",
                over.whose, over.limit
            ))
        })
    }

    fn take(&self, sender: &Identity, amount: u64) -> Result<Claim, Over> {
        self.each(sender, |quota, owner| quota.take(owner, amount))
    }

    fn take_anyway(&self, sender: &Identity, amount: u64) -> Claim {
        let namespace = sender.account().map(|(namespace, _)| namespace.to_owned());
        Claim {
            own: self.users.take_anyway(&sender.user, amount),
            namespace: namespace.map(|namespace| self.namespaces.take_anyway(&namespace, amount)),
        }
    }

    fn check(&self, sender: &Identity) -> Result<(), Over> {
        self.each(sender, |quota, owner| {
            quota.check(owner).map(|()| quota.take_anyway(owner, 0))
        })
        .map(drop)
    }

    fn each(
        &self,
        sender: &Identity,
        take: impl Fn(&Quota<String>, &String) -> Result<Share<String>, Exceeded>,
    ) -> Result<Claim, Over> {
        let own = take(&self.users, &sender.user)
            .map_err(|exceeded| Over::of(exceeded, || format!("the user {:?}", sender.user)))?;
        let namespace = match sender.account() {
            Some((namespace, _)) => {
                let all = || format!("the group \"system:serviceaccounts:{namespace}\"");
                let taken = take(&self.namespaces, &namespace.to_owned());
                Some(taken.map_err(|exceeded| Over::of(exceeded, all))?)
            }
            None => None,
        };
        Ok(Claim { own, namespace })
    }
}

impl Over {
    fn of(exceeded: Exceeded, owner: impl FnOnce() -> String) -> Self {
        match exceeded {
            Exceeded::Owner { limit, taken } => Self {
                whose: owner(),
                limit,
                taken,
            },
            Exceeded::InAll { limit, taken } => Self {
                whose: "all users".to_owned(),
                limit,
                taken,
            },
        }
    }

    fn of_answers(&self) -> Failure {
        let Self { whose, limit, taken } = self;
        Failure::too_many_requests(format!(
            "answers to {whose} that were not read yet take {taken} bytes, and with this one there would be more than the limit of \
             {limit}; read them to their end and try again, or ask for less with the parameter \"limit\""
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::MASTERS;

    fn user(name: &str) -> Identity {
        Identity::authenticated(name, std::iter::empty::<String>())
    }

    #[test]
    fn the_accounts_of_one_namespace_leave_room_for_others() {
        let in_flight = InFlight::new(ClientLimits {
            requests_per_user: 2,
            answer_bytes: 100,
            answer_bytes_per_user: 40,
            ..ClientLimits::default()
        });
        let account = |number: u64| Identity::service_account("evil", &number.to_string());
        let taken = (0..1_000).map_while(|number| in_flight.request(&account(number)).ok());
        assert_eq!(taken.collect::<Vec<_>>().len(), 2 * 64);
        let unread: Vec<_> = (0..1_000)
            .map_while(|number| in_flight.answer(&account(number), 10).ok())
            .collect();
        assert_eq!(unread.len(), 5);
        let refused = in_flight.answer(&account(9), 10).unwrap_err();
        assert!(
            refused.message().contains("system:serviceaccounts:evil"),
            "{refused:?}"
        );
        assert!(
            in_flight
                .answer(&Identity::service_account("good", "a"), 40)
                .is_ok()
        );
    }

    #[test]
    fn bodies_of_one_user_are_refused_when_they_take_too_much() {
        let in_flight = InFlight::new(ClientLimits::default());
        let mut bodies: Vec<BodyBytes> = Vec::new();
        let refused = loop {
            let mut body = in_flight.body(&user("ann")).unwrap();
            match body.add(2 << 20).and_then(|()| body.add(1 << 20)) {
                Ok(()) => bodies.push(body),
                Err(refused) => break refused,
            }
        };
        assert_eq!(bodies.len() as u64, BODY_BYTES_PER_USER / (3 << 20));
        assert_eq!(refused.code().as_u16(), 429);
        assert!(in_flight.body(&user("bob")).unwrap().add(3 << 20).is_ok());
        drop(bodies);
        assert!(in_flight.body(&user("ann")).unwrap().add(3 << 20).is_ok());
        let master = Identity::authenticated("root", [MASTERS]);
        assert!(in_flight.body(&master).is_none());
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
