//! Get and list.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::accept::Form;
use super::call::Call;
use super::selector::Selector;
use super::status::{Answer, Failure};
use super::{Core, metadata};
use crate::kinds::Resource;
use crate::schema::FieldError;
use crate::store::{Range, Stored};
use crate::table::{Headers, IncludeObject, Version, render};

/// How long a read waits for a revision that is not there yet.
const PATIENCE: Duration = Duration::from_secs(3);

/// One page of a list.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) objects: Vec<Arc<Stored>>,
    pub(crate) revision: u64,
    go_on: Option<String>,
    remaining: Option<usize>,
}

/// Where a list goes on: in the state of one revision, or (below zero) in the current one.
#[derive(Debug, Serialize, Deserialize)]
struct Token {
    v: String,
    rv: i64,
    start: String,
}

impl Core {
    pub(crate) async fn get(&self, call: &Call) -> Answer<Arc<Stored>> {
        if let Some(revision) = call.query.number("resourceVersion")? {
            self.wait_for(revision).await?;
        }
        let stored = self.store.get(&call.key(call.name()));
        stored.ok_or_else(|| Failure::not_found(&call.resource, call.name()))
    }

    pub(crate) async fn list(&self, call: &Call) -> Answer<Listing> {
        let selector = self.selector(call)?;
        let limit = call
            .query
            .number("limit")?
            .and_then(|limit| usize::try_from(limit).ok())
            .filter(|limit| *limit > 0);
        let prefix = call.prefix();
        let (range, start) = match call.query.get("continue") {
            Some(token) => self.go_on(call, &prefix, token)?,
            None => (
                self.snapshot(call, &prefix, limit.is_some()).await?,
                String::new(),
            ),
        };
        let after = |object: &Arc<Stored>| object.key().as_str()[prefix.len()..] > *start;
        let mut objects: Vec<_> = range.objects.into_iter().filter(after).collect();
        if !selector.is_empty() {
            objects.retain(|object| selector.matches(object));
        }
        let mut listing = Listing {
            objects,
            revision: range.revision,
            go_on: None,
            remaining: None,
        };
        if let Some(limit) = limit.filter(|limit| listing.objects.len() > *limit) {
            let rest = listing.objects.split_off(limit);
            let last = listing
                .objects
                .last()
                .map(|object| &object.key().as_str()[prefix.len()..]);
            listing.go_on = Some(token(listing.revision, last.unwrap_or_default()));
            listing.remaining = selector.is_empty().then_some(rest.len());
        }
        Ok(listing)
    }

    pub(crate) fn selector(&self, call: &Call) -> Answer<Selector> {
        Selector::parse(
            &call.resource,
            call.query.get("labelSelector"),
            call.query.get("fieldSelector"),
        )
    }

    async fn snapshot(&self, call: &Call, prefix: &str, limited: bool) -> Answer<Range> {
        let revision = listed_version(call)?;
        let how = call.query.get("resourceVersionMatch");
        match (how, revision) {
            (Some(_), None) => Err(list_options(FieldError::forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ))),
            (Some("Exact"), Some(0)) => Err(list_options(FieldError::forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\"",
            ))),
            (None, Some(revision)) if limited && revision > 0 => self.exactly(prefix, revision).await,
            (Some("Exact"), Some(revision)) => self.exactly(prefix, revision).await,
            (None | Some("NotOlderThan"), revision) => {
                self.wait_for(revision.unwrap_or(0)).await?;
                Ok(self.store.range(prefix))
            }
            (Some(other), _) => Err(list_options(FieldError::not_supported(
                "resourceVersionMatch",
                &other.into(),
                &["Exact".into(), "NotOlderThan".into()],
            ))),
        }
    }

    async fn exactly(&self, prefix: &str, revision: u64) -> Answer<Range> {
        self.wait_for(revision).await?;
        self.store.range_at(prefix, revision).map_err(|compacted| {
            Failure::expired(format!(
                "The resourceVersion for the provided list is too old. ({compacted})"
            ))
        })
    }

    fn go_on(&self, call: &Call, prefix: &str, text: &str) -> Answer<(Range, String)> {
        if listed_version(call)?.is_some_and(|revision| revision > 0) {
            return Err(Failure::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let bad = |why: String| Failure::bad_request(format!("continue key is not valid: {why}"));
        let bytes = URL_SAFE_NO_PAD
            .decode(text.trim_end_matches('='))
            .map_err(|error| bad(error.to_string()))?;
        let token: Token = serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
        let Ok(revision) = u64::try_from(token.rv) else {
            return Ok((self.store.range(prefix), token.start));
        };
        if revision > self.store.revision() {
            return Err(bad(format!("revision {revision} has not been reached")));
        }
        match self.store.range_at(prefix, revision) {
            Ok(range) => Ok((range, token.start)),
            Err(_) => Err(Failure::expired_continue(encode(-1, &token.start))),
        }
    }

    /// Waits until a revision is there, for a moment.
    pub(crate) async fn wait_for(&self, revision: u64) -> Answer<()> {
        let mut changes = self.store.subscribe();
        let reached = changes.wait_for(|current| *current >= revision);
        match tokio::time::timeout(PATIENCE, reached).await {
            Ok(_) => Ok(()),
            Err(_) => Err(Failure::too_new(revision, self.store.revision())),
        }
    }

    /// A list in the form the client asked for.
    pub(crate) fn show_list(&self, call: &Call, listing: &Listing, form: Form) -> Answer<Bytes> {
        let resource = &call.resource;
        let mut meta = json!({"resourceVersion": listing.revision.to_string()});
        if let Some(token) = &listing.go_on {
            meta["continue"] = token.as_str().into();
        }
        if let Some(remaining) = listing.remaining {
            meta["remainingItemCount"] = remaining.into();
        }
        let values = || {
            listing
                .objects
                .iter()
                .map(|object| resource.served(object.value()))
        };
        match form {
            Form::Table(version) => {
                let objects: Vec<Value> = values().collect();
                let include = include_object(call)?;
                let now = self.clock.now();
                let table = render(
                    &resource.columns,
                    version,
                    meta,
                    &objects,
                    include,
                    Headers::Show,
                    now,
                );
                Ok(table.to_string().into())
            }
            Form::Metadata => {
                let items: Vec<Value> = values().map(|object| partial(&object)).collect();
                let list = json!({
                    "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": meta, "items": items,
                });
                Ok(list.to_string().into())
            }
            Form::Object | Form::Discovery(_) => {
                let size: usize = listing
                    .objects
                    .iter()
                    .map(|object| object.bytes().len() + 1)
                    .sum();
                let mut text = Vec::with_capacity(size + 256);
                let head = format!(
                    r#"{{"kind":"{}","apiVersion":"{}","metadata":{meta},"items":["#,
                    resource.list_kind,
                    resource.api_version()
                );
                text.extend_from_slice(head.as_bytes());
                for (i, object) in listing.objects.iter().enumerate() {
                    if i > 0 {
                        text.push(b',');
                    }
                    text.extend_from_slice(&show_bytes(resource, object));
                }
                text.extend_from_slice(b"]}\n");
                Ok(text.into())
            }
        }
    }

    /// An object in the form the client asked for.
    pub(crate) fn show(&self, call: &Call, object: &Stored, form: Form, headers: Headers) -> Answer<Bytes> {
        match form {
            Form::Object | Form::Discovery(_) => Ok(show_bytes(&call.resource, object)),
            form => {
                let value = call.resource.served(object.value());
                Ok(self.show_value(call, value, form, headers)?.to_string().into())
            }
        }
    }

    /// The same for an object that is not kept as it is.
    pub(crate) fn show_value(
        &self,
        call: &Call,
        object: Value,
        form: Form,
        headers: Headers,
    ) -> Answer<Value> {
        Ok(match form {
            Form::Table(version) if object["kind"] == call.resource.kind.as_str() => {
                self.show_row(call, &object, version, headers)?
            }
            Form::Metadata => partial(&object),
            _ => object,
        })
    }

    fn show_row(&self, call: &Call, object: &Value, version: Version, headers: Headers) -> Answer<Value> {
        let meta = json!({"resourceVersion": metadata::text(object, "resourceVersion")});
        let (columns, include) = (&call.resource.columns, include_object(call)?);
        Ok(render(
            columns,
            version,
            meta,
            [object],
            include,
            headers,
            self.clock.now(),
        ))
    }
}

/// The text as it is kept, unless it is served in another version.
fn show_bytes(resource: &Resource, object: &Stored) -> Bytes {
    if resource.renames.is_empty() && has_version(object.bytes(), &resource.api_version()) {
        return object.bytes().clone();
    }
    resource.served(object.value()).to_string().into()
}

/// Kept objects start with their version, since fields are in alphabetical order; one that does not is parsed.
fn has_version(text: &[u8], version: &str) -> bool {
    text.strip_prefix(br#"{"apiVersion":""#)
        .and_then(|rest| rest.strip_prefix(version.as_bytes()))
        .is_some_and(|rest| rest.starts_with(b"\""))
}

pub(super) fn partial(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
}

fn include_object(call: &Call) -> Answer<IncludeObject> {
    let text = call.query.get("includeObject").unwrap_or_default();
    text.parse()
        .map_err(|error: crate::table::UnknownIncludeObject| Failure::bad_request(error.to_string()))
}

/// A list notices a version that is no number early, a watch late.
fn listed_version(call: &Call) -> Answer<Option<u64>> {
    resource_version(call)
        .map_err(|failure| Failure::bad_request(format!("invalid resource version: {}", failure.message())))
}

pub(crate) fn resource_version(call: &Call) -> Answer<Option<u64>> {
    let Some(text) = call.query.get("resourceVersion") else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|_| {
        let why = format!(
            "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
        );
        Failure::late(why)
    })
}

fn list_options(error: FieldError) -> Failure {
    Failure::invalid_options("ListOptions", &error)
}

fn token(revision: u64, last: &str) -> String {
    encode(i64::try_from(revision).unwrap_or(-1), last)
}

fn encode(rv: i64, start: &str) -> String {
    let token = json!(Token {
        v: "meta.k8s.io/v1".into(),
        rv,
        start: start.into()
    });
    URL_SAFE_NO_PAD.encode(token.to_string())
}
