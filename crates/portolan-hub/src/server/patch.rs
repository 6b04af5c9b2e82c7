//! Patches of each type, and server-side apply.

use http::StatusCode;
use serde_json::{Value, json};

use super::Core;
use super::call::{Call, FieldValidation};
use super::checks::{check_names, undecodable};
use super::media_type::{APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH};
use super::status::{Answer, Failure, MOST_ERRORS};
use super::write::{Done, Tracking, patch_failure};
use crate::patch::{self, ApplyError};
use crate::schema::FieldError;

impl Core {
    pub(crate) async fn patch(&self, call: &Call) -> Answer<Done> {
        let custom = call.resource.traits.custom;
        if call.content_type() != APPLY_PATCH && call.query.get("force").is_some() {
            let error = FieldError::forbidden("force", "may not be specified for non-apply patch");
            return Err(Failure::invalid_options("PatchOptions", &error));
        }
        let done = match call.content_type() {
            JSON_PATCH => {
                let patch = body(call)?;
                let change = |live: &Value| patch::json_patch(live, &patch).map_err(patch_failure);
                self.modify(call, Tracking::Update, change).await
            }
            MERGE_PATCH => {
                let patch = body(call)?;
                let change = |live: &Value| patch::merge_patch(live, &patch).map_err(patch_failure);
                self.modify(call, Tracking::Update, change).await
            }
            STRATEGIC_MERGE_PATCH if !custom => {
                let patch = body(call)?;
                let rules = patch::builtin_kind(&call.resource.group, &call.resource.kind);
                let rules = rules.unwrap_or_else(patch::builtin_object);
                let change = |live: &Value| patch::strategic(live, &patch, rules).map_err(patch_failure);
                self.modify(call, Tracking::Update, change).await
            }
            APPLY_PATCH => self.apply(call).await,
            _ if custom => Err(Failure::unsupported_media_type(&[
                JSON_PATCH,
                MERGE_PATCH,
                APPLY_PATCH,
            ])),
            _ => Err(Failure::unsupported_media_type(&[
                JSON_PATCH,
                MERGE_PATCH,
                STRATEGIC_MERGE_PATCH,
                APPLY_PATCH,
            ])),
        };
        // The patch could be read, what it makes of the object could not.
        done.map_err(|failure| match undecodable(&failure) {
            Some(why) => unreadable(call, why),
            None => failure,
        })
    }

    async fn apply(&self, call: &Call) -> Answer<Done> {
        let mut config = call.yaml_body()?;
        if call.field_validation()? == FieldValidation::Strict
            && let Some(twice) = call.duplicates().first()
        {
            return Err(Failure::bad_request(format!(
                "error strict decoding YAML: {twice}"
            )));
        }
        if !config.is_object() {
            return Err(Failure::bad_request(
                "the applied configuration must be an object",
            ));
        }
        check_names(&call.resource, &config)?;
        if call.query.get("fieldManager").is_none() {
            let error = FieldError::required("fieldManager", "is required for apply patch");
            return Err(Failure::invalid_options("PatchOptions", &error));
        }
        let force = call.query.flag("force") && call.query.get("force").is_some();
        let name = super::metadata::of(&mut config);
        name.entry("name").or_insert_with(|| call.name().into());
        if !call.namespace().is_empty() {
            name.entry("namespace").or_insert_with(|| call.namespace().into());
        }
        patch::check_identity(&config, call.name(), call.place.namespace.as_deref())
            .map_err(patch_failure)?;
        let manager = call.manager(self.clock.now());
        let typed = call.resource.typed();
        // The merge rules of a built-in kind say nothing of the types of its fields.
        patch::check_types(&config, &manager, typed, &*call.resource)
            .map_err(|error| apply_failure(&error))?;
        let apply = |live: Option<&Value>| {
            patch::apply(live, &config, &manager, force, typed).map_err(|error| apply_failure(&error))
        };
        loop {
            if self.store.get(&call.key(call.name())).is_some() {
                let change = |live: &Value| apply(Some(live));
                match self.modify(call, Tracking::Done, change).await {
                    // It was deleted between the two looks; then this apply creates it.
                    Err(failure) if self.is_missing(call, &failure) => continue,
                    done => return done,
                }
            }
            if !call.subresource().is_empty() {
                return Err(Failure::not_found(&call.resource, call.name()));
            }
            if !super::metadata::text(&config, "resourceVersion").is_empty() {
                return Err(Failure::modified(&call.resource, call.name()));
            }
            self.authorize_place(call, "create")?;
            match self.create(call, apply(None)?, Tracking::Done).await {
                Err(failure) if self.is_taken(call, &failure) => {}
                done => return done,
            }
        }
    }
}

/// The most characters of a patch that a refusal repeats.
const SHOWN: usize = 200;

/// The refusal of a patch that makes an object which its kind cannot have.
fn unreadable(call: &Call, why: &str) -> Failure {
    let patch = String::from_utf8_lossy(&call.body);
    let mut shown: String = patch.chars().take(SHOWN).collect();
    if shown.len() < patch.len() {
        shown.push('…');
    }
    let error = FieldError::invalid("patch", &shown.into(), why);
    let kind = call.resource.qualified_kind();
    let message = format!("{kind} {:?} is invalid: {error}", call.name());
    Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
        .about(&call.resource, call.name())
        .with_cause(error.cause.reason(), &error.message, &error.field)
}

fn body(call: &Call) -> Answer<Value> {
    serde_json::from_slice(&call.body)
        .map_err(|error| Failure::bad_request(format!("error decoding patch: {error}")))
}

fn apply_failure(error: &ApplyError) -> Failure {
    let message = error.to_string();
    match error {
        ApplyError::Conflicts(conflicts) => {
            let causes = conflicts.iter().take(MOST_ERRORS).map(|conflict| {
                json!({"reason": "FieldManagerConflict", "message": conflict.message(), "field": conflict.field})
            });
            Failure::new(StatusCode::CONFLICT, "Conflict", message).with_causes(causes.collect())
        }
        ApplyError::BadRequest(_) => Failure::bad_request(message),
        ApplyError::Internal(_) => Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "", message),
    }
}
