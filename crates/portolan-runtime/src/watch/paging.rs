//! Asks for a page of a list in parts when the page is too large to be read.
//!
//! A server limits how many objects a page has, not how many bytes. A page of large objects would fail each time that it
//! is asked for, and the list with it: nobody would know what there is, because of objects that are fine one by one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use http::request::Parts;
use http::{Method, Request, Uri};
use kube::client::Body;

/// How many objects a client asks for at once. It remembers what a server could answer, so that not every page of a list
/// of large objects is tried at its full length first.
#[derive(Clone, Debug)]
pub(super) struct PageSize(Arc<AtomicU32>);

impl Default for PageSize {
    fn default() -> PageSize {
        PageSize(Arc::new(AtomicU32::new(u32::MAX)))
    }
}

impl PageSize {
    /// A page was too large, and is tried with so many objects.
    pub(super) fn too_large(&self, objects: u32) {
        self.0.store(objects, Ordering::Relaxed);
    }

    /// A page of so many objects was read. If the caller asked for more, the next page may be twice as large.
    pub(super) fn fitted(&self, asked: u32, objects: u32) {
        if objects < asked {
            self.0.store(objects.saturating_mul(2), Ordering::Relaxed);
        }
    }

    fn at_most(&self, asked: u32) -> u32 {
        asked.min(self.0.load(Ordering::Relaxed)).max(1)
    }
}

/// A request for a page of a list, which can be repeated for fewer objects.
pub(super) struct PageRequest {
    head: Parts,
    objects: u32,
}

impl PageRequest {
    /// A request that asks for so many objects ([`limit`]).
    pub(super) fn of(request: Request<Body>, asked: u32, size: &PageSize) -> PageRequest {
        PageRequest {
            objects: size.at_most(asked),
            head: request.into_parts().0,
        }
    }

    pub(super) fn objects(&self) -> u32 {
        self.objects
    }

    /// The request. A list has no body.
    pub(super) fn request(&self) -> Request<Body> {
        let mut head = self.head.clone();
        if let Some(uri) = with_limit(&head.uri, self.objects) {
            head.uri = uri;
        }
        Request::from_parts(head, Body::empty())
    }

    /// The same for half of the objects, unless it is for one alone. The token for the rest comes with the answer.
    pub(super) fn halved(self) -> Option<PageRequest> {
        (self.objects > 1).then(|| PageRequest {
            objects: self.objects / 2,
            ..self
        })
    }
}

const LIMIT: &str = "limit=";

/// How many objects a request asks for, if it is for a page of a list.
pub(super) fn limit(method: &Method, uri: &Uri) -> Option<u32> {
    let parts = uri.query()?.split('&').collect::<Vec<_>>();
    if method != Method::GET || parts.iter().any(|part| part.starts_with("watch=")) {
        return None;
    }
    let limit = parts.iter().find_map(|part| part.strip_prefix(LIMIT))?;
    limit.parse().ok().filter(|objects| *objects > 0)
}

fn with_limit(uri: &Uri, objects: u32) -> Option<Uri> {
    let parts = uri.query()?.split('&').map(|part| match part.starts_with(LIMIT) {
        true => format!("{LIMIT}{objects}"),
        false => part.to_owned(),
    });
    let query = parts.collect::<Vec<_>>().join("&");
    let mut changed = uri.clone().into_parts();
    changed.path_and_query = format!("{}?{query}", uri.path()).parse().ok();
    Uri::from_parts(changed).ok()
}

#[cfg(test)]
#[path = "paging_tests.rs"]
mod tests;
