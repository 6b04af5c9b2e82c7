//! How many requests and watches of one client are served at a time.
//!
//! A request holds its body and its whole answer in memory until the client has read it, so a client that sends much and
//! reads nothing could use all of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::status::{Answer, Failure};
use crate::access::{Identity, MASTERS};

/// Larger, and the requests of one client could hold more than 400 MB; smaller, and controllers that write side by side would
/// be told to wait.
pub(crate) const REQUESTS_PER_CLIENT: usize = 128;

/// Larger, and one client could use up the file descriptors or a gigabyte of connections' buffers; smaller, and a client that
/// watches each kind in each of some hundred namespaces would be told to wait.
pub(crate) const WATCHES_PER_CLIENT: usize = 1024;

/// Requests, or watches, of each user.
#[derive(Debug)]
pub(crate) struct InFlight {
    what: &'static str,
    limit: usize,
    users: Arc<Mutex<HashMap<String, usize>>>,
}

/// One request; it counts until this is dropped.
#[derive(Debug)]
pub(crate) struct Counted {
    user: String,
    users: Arc<Mutex<HashMap<String, usize>>>,
}

impl InFlight {
    pub(crate) fn requests(limit: usize) -> Self {
        Self::of("requests in flight", limit)
    }

    pub(crate) fn watches(limit: usize) -> Self {
        Self::of("open watches", limit)
    }

    fn of(what: &'static str, limit: usize) -> Self {
        Self {
            what,
            limit,
            users: Arc::default(),
        }
    }

    /// Counts a request of a user, or refuses it.
    pub(crate) fn count(&self, identity: &Identity) -> Answer<Option<Counted>> {
        // They may stop the hub in other ways, too, and must be able to look at it when it is busy.
        if identity.is_in(MASTERS) {
            return Ok(None);
        }
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        let requests = users.entry(identity.user.clone()).or_default();
        if *requests >= self.limit {
            return Err(Failure::too_many_requests(format!(
                "the user {:?} has {} {}, which is the limit; wait until some have ended and try again",
                identity.user, self.limit, self.what
            )));
        }
        *requests += 1;
        Ok(Some(Counted {
            user: identity.user.clone(),
            users: self.users.clone(),
        }))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(requests) = users.get_mut(&self.user) {
            *requests -= 1;
            if *requests == 0 {
                users.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_gets_no_further_than_the_limit_until_a_request_ends() {
        let in_flight = InFlight::requests(2);
        let user = |name: &str| Identity::authenticated(name, std::iter::empty::<String>());
        let first = in_flight.count(&user("ann")).unwrap();
        let _second = in_flight.count(&user("ann")).unwrap();
        let refused = in_flight.count(&user("ann")).unwrap_err();
        assert_eq!(refused.code().as_u16(), 429);
        assert!(
            in_flight.count(&user("bob")).is_ok(),
            "another user is not concerned"
        );
        drop(first);
        assert!(in_flight.count(&user("ann")).is_ok());
    }
}
