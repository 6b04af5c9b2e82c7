//! What the log says about a write that was carried out.

use super::call::Call;
use super::request::Verb;

/// A write of a client.
pub(super) struct Change {
    user: String,
    verb: &'static str,
    /// `placements.cluster.open-cluster-management.io shop/web`.
    what: String,
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
            is_everyday: everyday || !call.subresource().is_empty(),
        })
    }

    pub(super) fn log(&self) {
        let Change { user, verb, what, .. } = self;
        match self.is_everyday {
            true => tracing::debug!("{user}: {verb} {what}"),
            false => tracing::info!("{user}: {verb} {what}"),
        }
    }
}
