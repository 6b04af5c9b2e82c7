//! Creating and changing objects: every write of an object's content goes through here.
//!
//! The order is that of Kubernetes: decode and prune, let admission change it, default, complete, validate, record the
//! manager, let admission refuse it, commit.

use std::sync::Arc;

use http::StatusCode;
use serde_json::Value;

use super::call::Call;
use super::checks::{check_versions, decode, validate};
use super::status::{Answer, Failure};
use super::{Core, metadata};
use crate::admission::Operation;
use crate::kinds::{Resource, definition, prepare};
use crate::patch::{PatchError, check_identity, keep_times_if_unchanged, track_update};
use crate::schema::{self, FieldError};
use crate::store::{Change, Expect, Key, LARGEST_OBJECT, Stored, Write, WriteError};

/// How often a generated name is tried again.
const NAME_ATTEMPTS: usize = 8;

/// The answer to a write.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: StatusCode,
    pub(crate) object: Object,
    pub(crate) warnings: Vec<String>,
}

/// An object to be answered with.
#[derive(Debug)]
pub(crate) enum Object {
    /// As it is kept.
    Stored(Arc<Stored>),
    /// As it is served, but not kept: a dry run, or a subresource.
    Value(Value),
}

/// How the managed fields of a change are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tracking {
    /// The change is recorded as an update.
    Update,
    /// Server-side apply has done it.
    Done,
}

impl Core {
    pub(crate) async fn create(&self, call: &Call, mut object: Value, tracking: Tracking) -> Answer<Done> {
        let resource = &call.resource;
        if resource.traits.terminating {
            let message = "create not allowed while custom resource definition is terminating";
            let failure = Failure::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message);
            return Err(failure.about(resource, ""));
        }
        let mut warnings = decode(call, &mut object, None)?;
        self.mutate(call, Operation::Create, None, &mut object, &mut warnings)
            .await?;
        if call.dry_run()? {
            let object = self.prepare_new(call, object, tracking, &mut warnings)?;
            self.admit(call, Operation::Create, None, &object, &mut warnings)
                .await?;
            if self
                .store
                .get(&call.key(metadata::text(&object, "name")))
                .is_some()
            {
                return Err(Failure::already_exists(resource, metadata::text(&object, "name")));
            }
            return Ok(Done {
                code: StatusCode::CREATED,
                object: Object::Value(object),
                warnings,
            });
        }
        for attempt in 1.. {
            let mut warnings = warnings.clone();
            let object = self.prepare_new(call, object.clone(), tracking, &mut warnings)?;
            self.admit(call, Operation::Create, None, &object, &mut warnings)
                .await?;
            let name = metadata::text(&object, "name").to_owned();
            let generated = !metadata::text(&object, "generateName").is_empty();
            let write = Write {
                key: call.key(&name),
                expect: Expect::Absent,
                change: Change::Put(resource.stored(object)),
            };
            match self.commit(write).await {
                Ok(stored) => {
                    let stored = self.after_write(resource, stored).await;
                    return Ok(Done {
                        code: StatusCode::CREATED,
                        object: Object::Stored(stored),
                        warnings,
                    });
                }
                Err(WriteError::Exists(_)) if generated && attempt < NAME_ATTEMPTS => {}
                Err(error) => return Err(Failure::write(resource, &name, &error)),
            }
        }
        Err(Failure::internal("no free name was found"))
    }

    fn prepare_new(
        &self,
        call: &Call,
        mut object: Value,
        tracking: Tracking,
        warnings: &mut Vec<String>,
    ) -> Answer<Value> {
        let resource = &call.resource;
        let namespace = call.namespace();
        let own = metadata::text(&object, "namespace");
        if !own.is_empty() && own != namespace {
            return Err(Failure::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        if !metadata::text(&object, "resourceVersion").is_empty() {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "", message));
        }
        if metadata::text(&object, "name").is_empty() {
            let base = metadata::text(&object, "generateName").to_owned();
            if base.is_empty() {
                let error = FieldError::required("metadata.name", "name or generateName is required");
                return Err(Failure::invalid(resource, "", &[error]));
            }
            metadata::of(&mut object).insert("name".into(), metadata::generate_name(&base).into());
        }
        self.check_namespace(call, metadata::text(&object, "name"))?;
        metadata::stamp_new(resource, &mut object, namespace, &self.clock.stamp());
        if resource.status {
            remove(&mut object, "status");
        }
        add_defaults(resource, &mut object)?;
        prepare::complete(resource, &mut object, None);
        warnings.extend(validate(resource, &object, None)?);
        self.check_escalation(call, &object, None)?;
        if tracking == Tracking::Update {
            track_update(
                None,
                &mut object,
                &call.manager(self.clock.now()),
                resource.typed(),
            );
        }
        Ok(object)
    }

    /// Objects are only created in namespaces that are there and stay.
    fn check_namespace(&self, call: &Call, name: &str) -> Answer<()> {
        let namespace = call.namespace();
        if !call.resource.namespaced {
            return Ok(());
        }
        let registry = self.registry();
        let Some(namespaces) = registry.find("", "v1", "namespaces") else {
            return Ok(());
        };
        let Some(found) = self.store.get(&Key::new("", "namespaces", "", namespace)) else {
            return Err(Failure::not_found(namespaces, namespace));
        };
        if found.meta().deletion_timestamp.is_some() {
            let why = format!(
                "unable to create new content in namespace {namespace} because it is being terminated"
            );
            let cause = format!("namespace {namespace} is being terminated");
            return Err(Failure::forbidden(&call.resource, name, &why).with_cause(
                "NamespaceTerminating",
                &cause,
                "metadata.namespace",
            ));
        }
        Ok(())
    }

    /// Replaces an object, or creates it where the kind allows that.
    pub(crate) async fn replace(&self, call: &Call) -> Answer<Done> {
        let object = call.object()?;
        loop {
            let done = self.modify(call, Tracking::Update, |_| Ok(object.clone())).await;
            match done {
                Err(failure) if self.is_missing(call, &failure) && call.resource.traits.create_on_update => {}
                done => return done,
            }
            self.authorize_place(call, "create")?;
            let mut object = object.clone();
            check_identity(&object, call.name(), call.place.namespace.as_deref()).map_err(patch_failure)?;
            let metadata = metadata::of(&mut object);
            metadata.insert("name".into(), call.name().into());
            // The one it was read from is gone.
            metadata.remove("resourceVersion");
            match self.create(call, object, Tracking::Update).await {
                Err(failure) if self.is_taken(call, &failure) => {}
                done => return done,
            }
        }
    }

    /// Whether a change failed because the object is not there; admission may say the same and mean something else.
    pub(super) fn is_missing(&self, call: &Call, failure: &Failure) -> bool {
        failure.code() == StatusCode::NOT_FOUND && self.store.get(&call.key(call.name())).is_none()
    }

    /// Whether a creation failed because another one came first.
    pub(super) fn is_taken(&self, call: &Call, failure: &Failure) -> bool {
        failure.reason() == "AlreadyExists" && self.store.get(&call.key(call.name())).is_some()
    }

    /// Changes an object: `change` gets the live object as it is served and returns what it should be. Without a
    /// resourceVersion of the client's own the change is made again on the newer object when another write came first.
    pub(crate) async fn modify(
        &self,
        call: &Call,
        tracking: Tracking,
        change: impl Fn(&Value) -> Answer<Value>,
    ) -> Answer<Done> {
        let resource = &call.resource;
        let name = call.name();
        let dry_run = call.dry_run()?;
        loop {
            let stored = self
                .store
                .get(&call.key(name))
                .ok_or_else(|| Failure::not_found(resource, name))?;
            let live = resource.served(stored.value());
            let mut object = change(&live)?;
            let mut warnings = decode(call, &mut object, Some(&live))?;
            self.mutate(call, Operation::Update, Some(&live), &mut object, &mut warnings)
                .await?;
            warnings.extend(self.prepare_changed(call, &live, &mut object, tracking)?);
            self.admit(call, Operation::Update, Some(&live), &object, &mut warnings)
                .await?;
            if object == live {
                return Ok(Done {
                    code: StatusCode::OK,
                    object: Object::Stored(stored),
                    warnings,
                });
            }
            if dry_run {
                return Ok(Done {
                    code: StatusCode::OK,
                    object: Object::Value(object),
                    warnings,
                });
            }
            let gone = !metadata::text(&live, "deletionTimestamp").is_empty() && is_free(resource, &object);
            let object = resource.stored(object);
            let change = if gone {
                Change::Delete(object)
            } else {
                Change::Put(object)
            };
            let write = Write {
                key: call.key(name),
                expect: Expect::Revision(stored.revision()),
                change,
            };
            match self.commit(write).await {
                Ok(stored) => {
                    let stored = self.after_write(resource, stored).await;
                    return Ok(Done {
                        code: StatusCode::OK,
                        object: Object::Stored(stored),
                        warnings,
                    });
                }
                // The loop reads again; a client that named a resourceVersion then gets its conflict.
                Err(WriteError::Conflict { .. }) => {}
                Err(error) => return Err(Failure::write(resource, name, &error)),
            }
        }
    }

    fn prepare_changed(
        &self,
        call: &Call,
        live: &Value,
        object: &mut Value,
        tracking: Tracking,
    ) -> Answer<Vec<String>> {
        let resource = &call.resource;
        let name = call.name();
        check_identity(object, name, call.place.namespace.as_deref()).map_err(patch_failure)?;
        check_versions(call, live, object)?;
        if !call.namespace().is_empty() {
            metadata::of(object).insert("namespace".into(), call.namespace().into());
        }
        metadata::keep(live, object);
        let mut own = match call.subresource() {
            "status" => only_status(live, object),
            _ => std::mem::take(object),
        };
        if call.subresource().is_empty() && resource.status {
            match live.get("status") {
                Some(status) => own["status"] = status.clone(),
                None => remove(&mut own, "status"),
            }
        }
        add_defaults(resource, &mut own)?;
        if call.subresource().is_empty() {
            prepare::complete(resource, &mut own, Some(live));
        }
        if resource.traits.generation && content_differs(resource, live, &own) {
            let generation = live["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
            metadata::of(&mut own).insert("generation".into(), generation.into());
        }
        let warnings = validate(resource, &own, Some(live))?;
        self.check_escalation(call, &own, Some(live))?;
        if tracking == Tracking::Update {
            track_update(
                Some(live),
                &mut own,
                &call.manager(self.clock.now()),
                resource.typed(),
            );
        }
        keep_times_if_unchanged(live, &mut own);
        *object = own;
        Ok(warnings)
    }

    /// What follows from a write at once: a definition is served when its write is answered.
    pub(super) async fn after_write(&self, resource: &Resource, stored: Arc<Stored>) -> Arc<Stored> {
        if resource.group == definition::GROUP && resource.plural == definition::PLURAL {
            self.establish(stored.key()).await;
        }
        stored
    }
}

/// Completes an object, and refuses one that becomes too large before it is built.
fn add_defaults(resource: &Resource, object: &mut Value) -> Answer<()> {
    let limit = usize::try_from(LARGEST_OBJECT).unwrap_or(usize::MAX);
    let added = schema::default(&resource.schema, object, limit);
    added.map(|_| ()).map_err(|schema::TooLarge(size)| {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let limit = LARGEST_OBJECT;
        Failure::write(
            resource,
            metadata::text(object, "name"),
            &WriteError::TooLarge { size, limit },
        )
    })
}

/// The live object with the status (and the managed fields) of `object`.
fn only_status(live: &Value, object: &Value) -> Value {
    let mut result = live.clone();
    match object.get("status") {
        Some(status) => result["status"] = status.clone(),
        None => remove(&mut result, "status"),
    }
    match object["metadata"].get("managedFields") {
        Some(fields) => result["metadata"]["managedFields"] = fields.clone(),
        None => {
            metadata::of(&mut result).remove("managedFields");
        }
    }
    result
}

/// Whether anything changed that `metadata.generation` counts.
fn content_differs(resource: &Resource, live: &Value, object: &Value) -> bool {
    let counts = |field: &str| field != "metadata" && !(resource.status && field == "status");
    let (Some(live), Some(object)) = (live.as_object(), object.as_object()) else {
        return live != object;
    };
    let of_live = live.iter().filter(|(field, _)| counts(field));
    of_live.ne(object.iter().filter(|(field, _)| counts(field)))
}

/// Whether nothing holds an object that is being deleted.
pub(crate) fn is_free(resource: &Resource, object: &Value) -> bool {
    let held = resource.group.is_empty()
        && resource.kind == "Namespace"
        && object
            .pointer("/spec/finalizers")
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty());
    metadata::finalizers(object).is_empty() && !held
}

fn remove(object: &mut Value, field: &str) {
    if let Some(map) = object.as_object_mut() {
        map.remove(field);
    }
}

pub(super) fn patch_failure(error: PatchError) -> Failure {
    let message = error.to_string();
    match error {
        PatchError::BadRequest(_) => Failure::bad_request(message),
        PatchError::TooLarge(_) => {
            Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
        }
        PatchError::Unprocessable(_) => Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message),
        PatchError::Internal(_) => Failure::internal(message),
    }
}
