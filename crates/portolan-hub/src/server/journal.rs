//! What the log says about a write that was carried out.

use std::sync::Arc;

use super::call::Call;
use super::request::Verb;
use crate::store::Stored;

/// The object that a write has left, with the answer to it.
#[derive(Clone)]
pub(super) struct Written(pub(super) Arc<Stored>);

impl Written {
    fn name(&self) -> &str {
        self.0.key().name()
    }
}

/// A write of a client.
pub(super) struct Change {
    user: String,
    verb: &'static str,
    /// `placements.cluster.open-cluster-management.io shop/web`.
    what: String,
    /// Whether the request names no object, as one that makes an object does not.
    is_nameless: bool,
    has_namespace: bool,
    /// Heartbeats, events and status come all the time.
    is_everyday: bool,
}

impl Change {
    /// A request that changes something, if the log wants to know. Made before the request is carried out and consumed.
    pub(super) fn of(verb: Verb, call: &Call) -> Option<Change> {
        if !tracing::enabled!(tracing::Level::INFO) || call.resource.traits.review {
            return None;
        }
        if matches!(verb, Verb::Get | Verb::List | Verb::Watch) || call.query.get("dryRun").is_some() {
            return None;
        }
        let (resource, place) = (&call.resource, &call.place);
        let mut what = resource.plural.clone();
        if !resource.group.is_empty() {
            what = format!("{what}.{}", resource.group);
        }
        if !call.subresource().is_empty() {
            what = format!("{what}/{}", call.subresource());
        }
        let mut names = [place.namespace.as_deref(), place.name.as_deref()]
            .into_iter()
            .flatten();
        if let Some(first) = names.next() {
            what = format!("{what} {first}");
        }
        if let Some(second) = names.next() {
            what = format!("{what}/{second}");
        }
        let everyday = ["leases", "events"].contains(&resource.plural.as_str());
        Some(Change {
            user: call.identity.user.clone(),
            verb: verb.name(),
            what,
            is_nameless: place.name.is_none(),
            has_namespace: place.namespace.is_some(),
            is_everyday: everyday || !call.subresource().is_empty(),
        })
    }

    /// Says what was done. The name of a new object may be one that the server gave it.
    pub(super) fn log(&self, written: Option<&Written>) {
        let Change { user, verb, what, .. } = self;
        let created = written.filter(|_| self.is_nameless).map(Written::name);
        let what = match created {
            Some(name) if self.has_namespace => format!("{what}/{name}"),
            Some(name) => format!("{what} {name}"),
            None => what.clone(),
        };
        match self.is_everyday {
            true => tracing::debug!("{user}: {verb} {what}"),
            false => tracing::info!("{user}: {verb} {what}"),
        }
    }
}
