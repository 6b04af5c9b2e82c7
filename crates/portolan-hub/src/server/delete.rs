//! Deleting: preconditions, propagation policies, finalizers.
//!
//! An object that something holds is only marked; the last finalizer to go takes it away (see [`super::write`]).

use std::sync::Arc;

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::apart::{apart_always, serve_apart};
use super::call::Call;
use super::read::Listing;
use super::request::Query;
use super::status::{Answer, Failure};
use super::turns::LONG_FROM;
use super::write::{Done, Object, is_free};
use super::{Core, metadata};
use crate::kinds::{Resource, definition};
use crate::protobuf;
use crate::schema::FieldError;
use crate::store::{Change, Expect, Key, Stored, Write, WriteError};

pub(crate) const ORPHAN: &str = "orphan";
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// Namespaces a server cannot do without.
const KEPT_NAMESPACES: &[&str] = &["default", "kube-system", "kube-public"];

/// What becomes of the objects that an object owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) propagation: Option<Propagation>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) dry_run: bool,
}

/// The options as a client writes them. A value of another type is refused: a precondition that is dropped would let an object be
/// deleted that the client did not mean.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Body {
    kind: Option<String>,
    propagation_policy: Option<String>,
    orphan_dependents: Option<bool>,
    #[serde(deserialize_with = "null_is_empty")]
    dry_run: Vec<String>,
    preconditions: Option<Preconditions>,
    // Not used, and still no excuse for a body that says something else.
    #[serde(rename = "gracePeriodSeconds")]
    _grace_period_seconds: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Preconditions {
    uid: Option<String>,
    resource_version: Option<String>,
}

fn null_is_empty<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

impl Body {
    fn decode(body: &[u8]) -> Answer<Self> {
        let bad = |why: String| Failure::bad_request(format!("couldn't decode DeleteOptions: {why}"));
        let body: Value = if body.iter().all(u8::is_ascii_whitespace) {
            Value::Null
        } else if body.starts_with(b"k8s\0") {
            protobuf::decode(body).map_err(|error| bad(error.to_string()))?
        } else {
            serde_json::from_slice(body).map_err(|error| bad(error.to_string()))?
        };
        // serde takes a list for the fields of a struct in their order.
        if [&body, &body["preconditions"]].into_iter().any(Value::is_array) {
            return Err(bad("json: cannot unmarshal array into an object".to_owned()));
        }
        let body: Option<Body> = serde_json::from_value(body).map_err(|error| bad(error.to_string()))?;
        let body = body.unwrap_or_default();
        match &body.kind {
            Some(kind) if kind != "DeleteOptions" => Err(bad(format!("the kind of the body is {kind:?}"))),
            _ => Ok(body),
        }
    }

    /// The query has no say where the body has one.
    fn propagation(&self, query: &Query) -> Result<Option<Propagation>, FieldError> {
        let policy = self.propagation_policy.as_deref();
        if policy.is_some() && self.orphan_dependents.is_some() {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            return Err(FieldError::invalid("propagationPolicy", &policy.into(), detail));
        }
        Ok(match policy.or_else(|| query.get("propagationPolicy")) {
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                let accepted = ["Foreground", "Background", "Orphan", "nil"].map(Value::from);
                let error = FieldError::not_supported("propagationPolicy", &other.into(), &accepted);
                return Err(error);
            }
            None => self.orphan_dependents.map(|orphan| match orphan {
                true => Propagation::Orphan,
                false => Propagation::Background,
            }),
        })
    }

    /// A trial that is taken for a deletion would destroy what was only asked about.
    fn is_dry_run(&self, query: &Query) -> Result<bool, FieldError> {
        let asked = self.dry_run.iter().map(String::as_str).chain(query.get("dryRun"));
        let asked: Vec<&str> = asked.collect();
        match asked.iter().find(|value| **value != "All") {
            Some(other) => Err(FieldError::not_supported(
                "dryRun",
                &(*other).into(),
                &["All".into()],
            )),
            None => Ok(!asked.is_empty()),
        }
    }
}

impl DeleteOptions {
    /// From the body and the query.
    pub(crate) fn parse(body: &[u8], query: &Query) -> Answer<Self> {
        let body = Body::decode(body)?;
        let refused = |error: FieldError| Failure::invalid_options("DeleteOptions", &error);
        let propagation = body.propagation(query).map_err(refused)?;
        let dry_run = body.is_dry_run(query).map_err(refused)?;
        let preconditions = body.preconditions.unwrap_or_default();
        Ok(Self {
            propagation,
            uid: preconditions.uid,
            resource_version: preconditions.resource_version,
            dry_run,
        })
    }

    fn check(&self, resource: &Resource, object: &Stored) -> Answer<()> {
        let compare = |what: &str, wanted: &Option<String>, found: &str| match wanted {
            Some(wanted) if wanted != found => {
                let why = format!("{what} in precondition: {wanted}, {what} in object meta: {found}");
                let why = format!("Precondition failed: {why}");
                Err(Failure::conflict(resource, object.key().name(), &why))
            }
            _ => Ok(()),
        };
        compare("UID", &self.uid, &object.meta().uid)?;
        compare(
            "ResourceVersion",
            &self.resource_version,
            &object.revision().to_string(),
        )
    }
}

/// What a deletion did.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// The object is gone; this was its last state.
    Gone(Arc<Stored>),
    /// The object is marked, and something holds it.
    Held(Object),
}

impl Core {
    pub(crate) async fn delete_one(&self, call: &Call) -> Answer<Done> {
        let options = DeleteOptions::parse(&call.body, &call.query)?;
        let mut warnings = Vec::new();
        if !self.admission.is_empty()
            && let Some(live) = self.store.get(&call.key(call.name()))
        {
            let old = call.resource.served(live.value());
            self.admit_deletion(call, &old, options.dry_run, &mut warnings)
                .await?;
        }
        let deleted = self
            .delete(&call.resource, &call.key(call.name()), &options)
            .await?;
        let object = match deleted {
            Deleted::Held(object) => object,
            Deleted::Gone(object) => {
                let mut details =
                    json!({"name": call.name(), "kind": call.resource.plural, "uid": object.meta().uid});
                if !call.resource.group.is_empty() {
                    details["group"] = call.resource.group.as_str().into();
                }
                Object::Value(json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
                }))
            }
        };
        Ok(Done {
            code: StatusCode::OK,
            object,
            warnings,
        })
    }

    /// Deletes what a list with the same parameters shows, and answers with that list.
    pub(crate) async fn delete_collection(&self, call: &Call) -> Answer<Listing> {
        let options = {
            let weight = call.body.len();
            let _turn = self.in_flight.turn(&call.sender, weight).await;
            let parse = || DeleteOptions::parse(&call.body, &call.query);
            match weight > LONG_FROM {
                true => apart_always(parse)?,
                false => parse()?,
            }
        };
        let listing = self.list(call).await?;
        self.confirm(call)?;
        for object in &listing.objects {
            let weight = object.bytes().len();
            let _turn = self.in_flight.turn_in_time(&call.sender, weight).await?;
            self.confirm(call)?;
            let deletion = self.delete_listed(call, object, &options);
            match weight > LONG_FROM {
                true => serve_apart(deletion).await?,
                false => deletion.await?,
            }
        }
        Ok(listing)
    }

    /// Deletes an object of a collection, unless it is gone.
    async fn delete_listed(&self, call: &Call, object: &Stored, options: &DeleteOptions) -> Answer<()> {
        if !self.admission.is_empty() {
            // The answer to the deletion of many objects has no warnings.
            let old = call.resource.served(object.value());
            self.admit_deletion(call, &old, options.dry_run, &mut Vec::new())
                .await?;
        }
        match self.delete(&call.resource, object.key(), options).await {
            Err(failure) if failure.code() == StatusCode::NOT_FOUND => Ok(()),
            other => other.map(drop),
        }
    }

    /// Deletes one object, or marks it.
    pub(crate) async fn delete(
        &self,
        resource: &Resource,
        key: &Key,
        options: &DeleteOptions,
    ) -> Answer<Deleted> {
        let name = key.name();
        if resource.plural == "namespaces" && resource.group.is_empty() && KEPT_NAMESPACES.contains(&name) {
            return Err(Failure::forbidden(
                resource,
                name,
                "this namespace may not be deleted",
            ));
        }
        loop {
            let live = self
                .store
                .get(key)
                .ok_or_else(|| Failure::not_found(resource, name))?;
            options.check(resource, &live)?;
            let mut object = live.value();
            self.mark(resource, &mut object, options.propagation);
            let free = is_free(resource, &object);
            if options.dry_run {
                return Ok(if free {
                    Deleted::Gone(live)
                } else {
                    Deleted::Held(Object::Stored(live))
                });
            }
            if !free && object == live.value() {
                return Ok(Deleted::Held(Object::Stored(live)));
            }
            let change = if free {
                Change::Delete(live.value())
            } else {
                Change::Put(object)
            };
            let write = Write {
                key: key.clone(),
                expect: Expect::Revision(live.revision()),
                change,
            };
            match self.commit(write).await {
                Ok(stored) => {
                    let stored = self.after_write(resource, stored).await;
                    return Ok(if free {
                        Deleted::Gone(stored)
                    } else {
                        Deleted::Held(Object::Stored(stored))
                    });
                }
                Err(WriteError::Conflict { .. }) => {}
                Err(error) => return Err(Failure::write(resource, name, &error)),
            }
        }
    }

    /// Sets the deletion's time and finalizers, as if it could not be carried out at once.
    fn mark(&self, resource: &Resource, object: &mut Value, propagation: Option<Propagation>) {
        let mut finalizers = metadata::finalizers(object);
        if let Some(policy) = propagation {
            finalizers.retain(|finalizer| finalizer != ORPHAN && finalizer != FOREGROUND);
            match policy {
                Propagation::Background => {}
                Propagation::Foreground => finalizers.push(FOREGROUND.into()),
                Propagation::Orphan => finalizers.push(ORPHAN.into()),
            }
        }
        if resource.group == definition::GROUP
            && resource.plural == definition::PLURAL
            && metadata::text(object, "deletionTimestamp").is_empty()
            && !finalizers
                .iter()
                .any(|finalizer| finalizer == definition::FINALIZER)
        {
            finalizers.push(definition::FINALIZER.into());
        }
        metadata::set_finalizers(object, finalizers);
        if !metadata::text(object, "deletionTimestamp").is_empty() || is_free(resource, object) {
            return;
        }
        let now = self.clock.stamp();
        let generation = object["metadata"]["generation"].as_i64();
        let metadata = metadata::of(object);
        metadata.insert("deletionTimestamp".into(), now.into());
        metadata.insert("deletionGracePeriodSeconds".into(), 0.into());
        if let Some(generation) = generation {
            metadata.insert("generation".into(), (generation + 1).into());
        }
        if resource.group.is_empty() && resource.kind == "Namespace" {
            object["status"]["phase"] = "Terminating".into();
        }
    }
}
