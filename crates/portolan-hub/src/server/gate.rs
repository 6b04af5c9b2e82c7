//! The gate: who asks, and whether they may. Every request passes it.
//!
//! Decisions are made from the index of roles ([`super::roles`]), which is up to date with every write that was answered.

use std::sync::{PoisonError, RwLock};

use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use serde_json::Value;

use super::Core;
use super::apart::apart_always;
use super::call::Call;
use super::roles::Roles;
use super::status::{Answer, Failure};
use super::turns::LONG_FROM;
use crate::access::account_tokens::{Account, AccountTokens};
use crate::access::rbac::{self, Decision, Kind, Request, Target};
use crate::access::tokens::Tokens;
use crate::access::{ANONYMOUS, Identity, MASTERS, authenticate, reviews};
use crate::sabotage;
use crate::store::{Key, Store};

/// What a connection says about who is at its other end.
#[derive(Debug, Clone)]
pub(crate) enum Peer {
    /// In process: whoever holds the service is this user.
    Known(Identity),
    /// On a socket: the user of the client certificate, if one was shown; headers may name another credential.
    Remote(Option<Identity>),
}

impl Peer {
    pub(crate) fn admin() -> Self {
        Peer::Known(Identity::authenticated("system:admin", [MASTERS]))
    }
}

/// What a binding counts for, in bytes: it is found by its name, and its role by another.
const BINDING: usize = 128;

/// Credentials and roles.
#[derive(Debug)]
pub(crate) struct Gate {
    tokens: RwLock<Tokens>,
    accounts: AccountTokens,
    pub(super) roles: Roles,
}

impl Gate {
    pub(crate) fn new(accounts: AccountTokens, store: &Store) -> Self {
        Self {
            tokens: RwLock::default(),
            accounts,
            roles: Roles::of(store),
        }
    }

    pub(crate) fn add_token(&self, token: &str, identity: Identity) {
        self.tokens
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .add(token, identity, None);
    }

    fn identify(&self, peer: &Peer, headers: &HeaderMap, store: &Store, now: Timestamp) -> Answer<Identity> {
        let certificate = match peer {
            Peer::Known(identity) => return Ok(identity.clone()),
            Peer::Remote(certificate) => certificate.clone(),
        };
        let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        self.credential(header, certificate, store, now)
    }

    /// The identity that a bearer token stands for.
    fn bearer(&self, token: &str, store: &Store, now: Timestamp) -> Answer<Identity> {
        self.credential(Some(&format!("Bearer {token}")), None, store, now)
    }

    fn credential(
        &self,
        header: Option<&str>,
        certificate: Option<Identity>,
        store: &Store,
        now: Timestamp,
    ) -> Answer<Identity> {
        let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        let identity = authenticate(header, certificate, &tokens, Some(&self.accounts), now)
            .map_err(|refused| Failure::from_status(&refused.status()))?;
        self.check_account(&identity, store)?;
        Ok(identity)
    }

    /// A token ends with its account. An account that is being deleted counts as deleted: otherwise a finalizer on the account would
    /// keep its tokens valid.
    pub(super) fn check_account(&self, identity: &Identity, store: &Store) -> Answer<()> {
        let Some((namespace, name)) = identity.account() else {
            return Ok(());
        };
        let key = Key::new("", "serviceaccounts", namespace, name);
        let lives = store
            .get(&key)
            .filter(|account| account.meta().deletion_timestamp.is_none())
            .is_some_and(|account| account.meta().uid == identity.uid);
        match lives || identity.uid.is_empty() {
            true => Ok(()),
            false => Err(Failure::new(
                StatusCode::UNAUTHORIZED,
                "Unauthorized",
                "Unauthorized",
            )),
        }
    }
}

impl Core {
    pub(crate) fn add_token(&self, token: &str, identity: Identity) {
        self.gate.add_token(token, identity);
    }

    /// The user whose credentials came with a request. It need not be the user that the request is made as.
    pub(crate) fn sender(&self, peer: &Peer, headers: &HeaderMap) -> Answer<Identity> {
        self.gate.identify(peer, headers, &self.store, self.clock.now())
    }

    /// Refuses what a user may not do. In a turn of the sender, if the user has very many bindings: a tenant can make any number of them.
    pub(super) async fn authorize_in_turn(
        &self,
        sender: &Identity,
        identity: &Identity,
        verb: &str,
        target: Target<'_>,
    ) -> Answer<()> {
        let request = Request {
            identity,
            verb,
            target,
        };
        let weight = BINDING * self.gate.roles.current().bindings_for(&request);
        if weight <= LONG_FROM {
            return self.authorize(identity, verb, request.target);
        }
        let _turn = self.in_flight.turn(sender, weight).await;
        apart_always(|| self.authorize(identity, verb, request.target))
    }

    pub(crate) fn authorize(&self, identity: &Identity, verb: &str, mut target: Target<'_>) -> Answer<()> {
        if identity.is_in(MASTERS) || sabotage::sabotaged(sabotage::Rule::RolesAreAsked) {
            return Ok(());
        }
        if let Target::Resource { subresource, .. } = &mut target
            && sabotage::sabotaged(sabotage::Rule::SubresourcesApart)
        {
            *subresource = "";
        }
        let request = Request {
            identity,
            verb,
            target,
        };
        let roles = self.gate.roles.current();
        match roles.decide(&request) {
            Decision::Allowed(_) => Ok(()),
            Decision::Denied(denial) => Err(Failure::from_status(&denial.status(&request))),
        }
    }

    /// The ClusterRoles that gather rules of others, and what they gather now.
    pub(crate) fn aggregated_roles(&self) -> Vec<(String, Value)> {
        let roles = self.gate.roles.current();
        let aggregated = roles.aggregated();
        aggregated
            .map(|(name, rules)| (name.to_owned(), rules.into()))
            .collect()
    }

    /// A user grants only rights that the user has.
    pub(crate) fn check_escalation(&self, call: &Call, object: &Value, old: Option<&Value>) -> Answer<()> {
        let resource = &call.resource;
        let Some(kind) = Kind::from_name(&resource.kind).filter(|_| resource.group == rbac::GROUP) else {
            return Ok(());
        };
        let roles = self.gate.roles.current();
        let checked = match kind {
            Kind::Role | Kind::ClusterRole => roles.check_role(&call.identity, kind, old, object),
            Kind::RoleBinding | Kind::ClusterRoleBinding => {
                roles.check_binding(&call.identity, kind, old, object)
            }
        };
        let name = object
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        checked.map_err(|escalation| Failure::from_status(&escalation.status(&resource.plural, name)))
    }

    /// Answers a review: a question that is asked by creating an object.
    pub(crate) fn review(&self, call: &Call, review: &Value) -> Answer<Value> {
        let kind = call.resource.kind.as_str();
        if kind == "TokenReview" {
            let bearer = |token: &str| {
                let identity = self.gate.bearer(token, &self.store, self.clock.now()).ok();
                identity.filter(|identity| identity.user != ANONYMOUS)
            };
            return Ok(reviews::token_review(review, bearer));
        }
        let index = &*self.gate.roles.current();
        let everybody = Identity::authenticated("", [MASTERS]);
        let identity = match sabotage::sabotaged(sabotage::Rule::ReviewsSayTheSame) {
            true => &everybody,
            false => &call.identity,
        };
        let answer = match kind {
            "SelfSubjectAccessReview" => reviews::self_subject_access_review(index, identity, review),
            "SelfSubjectRulesReview" => reviews::self_subject_rules_review(index, identity, review),
            "SubjectAccessReview" => reviews::subject_access_review(index, review),
            "LocalSubjectAccessReview" => {
                reviews::local_subject_access_review(index, call.namespace(), review)
            }
            _ => Ok(reviews::self_subject_review(identity)),
        };
        answer.map_err(|error| Failure::from_status(&error.status()))
    }

    /// A token for a service account.
    pub(crate) fn account_token(&self, call: &Call) -> Answer<Value> {
        let stored = self.store.get(&call.key(call.name()));
        let stored = stored.ok_or_else(|| Failure::not_found(&call.resource, call.name()))?;
        if stored.meta().deletion_timestamp.is_some() {
            let why = "the service account is being deleted, and no token of it would be accepted";
            return Err(Failure::conflict(&call.resource, call.name(), why));
        }
        let account = Account {
            namespace: call.namespace().to_owned(),
            name: call.name().to_owned(),
            uid: stored.meta().uid.clone(),
        };
        let request = call.object()?;
        self.gate
            .accounts
            .answer(&account, &request, self.clock.now())
            .map_err(|error| {
                let message = format!("TokenRequest.authentication.k8s.io \"\" is invalid: {error}");
                Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
            })
    }
}
