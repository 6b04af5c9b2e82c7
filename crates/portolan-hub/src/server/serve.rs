//! What is done for each verb, and how the answer looks.

use std::sync::Arc;

use http::header::HeaderName;
use http::{Response, StatusCode};

use super::accept::{self, Encoding, weighed};
use super::apart::serve_apart;
use super::call::Call;
use super::journal::Written;
use super::request::Verb;
use super::status::{Answer, Failure};
use super::turns::LONG_FROM;
use super::write::{Done, Object, Tracking};
use super::{Body, Core, body, media_type, warnings};
use crate::access::rbac;
use crate::table::Headers;

const WARNING: HeaderName = http::header::WARNING;

/// What the bytes of a write count for: its fields are compared with those of the stored object and with what each manager owns.
const WRITTEN: usize = 4;
/// The same of server-side apply, which compares more.
const APPLIED: usize = 8;
/// What a JSON patch counts that copies: each copy can double what was copied before.
const COPYING: usize = 4 << 20;

impl Core {
    pub(super) async fn serve(self: &Arc<Self>, verb: Verb, call: Call) -> Answer<Response<Body>> {
        check_scope(verb, &call)?;
        // How much a list is, is known when it was read; a watch waits most of the time. They see to it themselves.
        if matches!(verb, Verb::List | Verb::Watch | Verb::DeleteCollection) {
            return self.serve_here(verb, call).await;
        }
        // Nothing is waited for in a turn that others wait for.
        if verb == Verb::Get
            && let Some(revision) = call.query.number("resourceVersion")?
        {
            self.wait_for(revision).await?;
        }
        let (weight, sender) = (self.weight(verb, &call), call.sender.clone());
        let _turn = self.in_flight.turn_in_time(&sender, weight).await?;
        self.confirm(&call)?;
        match weight > LONG_FROM {
            true => serve_apart(self.serve_here(verb, call)).await,
            false => self.serve_here(verb, call).await,
        }
    }

    /// What a request is computed from, in bytes: its body and the stored object.
    fn weight(&self, verb: Verb, call: &Call) -> usize {
        if !matches!(verb, Verb::Get | Verb::Update | Verb::Patch | Verb::Delete) {
            return weight(verb, call, 0);
        }
        let name = call.place.name.as_ref();
        let stored = name.and_then(|name| self.store.get(&call.key(name)));
        weight(verb, call, stored.map_or(0, |stored| stored.bytes().len()))
    }

    async fn serve_here(self: &Arc<Self>, verb: Verb, call: Call) -> Answer<Response<Body>> {
        if !call.subresource().is_empty() {
            return self.serve_subresource(verb, call).await;
        }
        match verb {
            Verb::Get | Verb::List | Verb::Watch => self.serve_read(verb, call).await,
            _ => self.serve_write(verb, call).await,
        }
    }

    async fn serve_write(self: &Arc<Self>, verb: Verb, call: Call) -> Answer<Response<Body>> {
        // What cannot be answered is not done.
        let form = match call.resource.traits.review {
            true => accept::form_without_rows(&call.headers)?,
            false => accept::form(&call.headers)?,
        };
        match verb {
            Verb::Get | Verb::List | Verb::Watch => Err(Failure::method_not_allowed()),
            Verb::Create if call.resource.traits.review => Ok(body::value(
                StatusCode::CREATED,
                &self.review(&call, &call.object()?)?,
            )),
            Verb::Create => {
                let done = self.create(&call, call.object()?, Tracking::Update).await?;
                self.show_done(&call, done)
            }
            Verb::Update => self.show_done(&call, self.replace(&call).await?),
            Verb::Patch => self.show_done(&call, self.patch(&call).await?),
            Verb::Delete => self.show_done(&call, self.delete_one(&call).await?),
            Verb::DeleteCollection => {
                let mut listing = self.delete_collection(&call).await?;
                let text = match self.show_in_turn(&call, &mut listing, form, Encoding::Json).await {
                    Ok(text) => text,
                    Err(_) => {
                        // They are deleted, whether there is room for them in the answer or not.
                        listing.objects.clear();
                        self.show_list(&call, &listing, form)?
                    }
                };
                Ok(body::json(StatusCode::OK, text))
            }
        }
    }

    async fn serve_subresource(self: &Arc<Self>, verb: Verb, call: Call) -> Answer<Response<Body>> {
        let form = accept::form(&call.headers)?;
        match (call.subresource(), verb) {
            ("status", _) if !call.resource.status => Err(Failure::no_such_path()),
            ("status", Verb::Get) => {
                let object = self.get(&call)?;
                Ok(body::json(
                    StatusCode::OK,
                    self.show(&call, &object, form, Encoding::Json, Headers::Show)?,
                ))
            }
            ("status", Verb::Update) => {
                let object = call.object()?;
                let done = self
                    .modify(&call, Tracking::Update, |_| Ok(object.clone()))
                    .await?;
                self.show_done(&call, done)
            }
            ("status", Verb::Patch) => self.show_done(&call, self.patch(&call).await?),
            ("token", Verb::Create) if call.resource.kind == "ServiceAccount" => {
                Ok(body::value(StatusCode::CREATED, &self.account_token(&call)?))
            }
            ("scale", Verb::Get) => Ok(body::value(StatusCode::OK, &self.get_scale(&call)?)),
            ("scale", Verb::Update) => self.show_done(&call, self.set_scale(&call, false).await?),
            ("scale", Verb::Patch) => self.show_done(&call, self.set_scale(&call, true).await?),
            ("finalize", Verb::Update) if call.resource.kind == "Namespace" => {
                let object = call.object()?;
                let done = self
                    .modify(&call, Tracking::Update, |_| Ok(object.clone()))
                    .await?;
                self.show_done(&call, done)
            }
            ("status" | "scale", _) => Err(Failure::method_not_allowed()),
            _ => Err(Failure::no_such_path()),
        }
    }

    fn show_done(&self, call: &Call, done: Done) -> Answer<Response<Body>> {
        let form = accept::form(&call.headers)?;
        let mut written = None;
        let text = match done.object {
            Object::Stored(object) => {
                written = Some(Written(object.clone()));
                self.show(call, &object, form, Encoding::Json, Headers::Show)?
            }
            Object::Value(value) => self
                .show_value(call, value, form, Headers::Show)?
                .to_string()
                .into(),
        };
        let mut response = body::json(done.code, text);
        for warning in warnings::headers(&done.warnings) {
            response.headers_mut().append(WARNING, warning);
        }
        if let Some(written) = written {
            response.extensions_mut().insert(written);
        }
        Ok(response)
    }
}

fn weight(verb: Verb, call: &Call, stored: usize) -> usize {
    let bytes = call.body.len() + stored;
    let least = match is_about_rights(verb, call) {
        true => LONG_FROM + 1,
        false => 0,
    };
    let weight = match (verb, call.content_type()) {
        (Verb::Patch, media_type::JSON_PATCH) if may_copy(&call.body) => COPYING,
        (Verb::Patch, media_type::APPLY_PATCH) => APPLIED * bytes,
        (Verb::Create | Verb::Update | Verb::Patch, _) => WRITTEN * bytes,
        // One number is shown of it, and all of it is read.
        (Verb::Get, _) if call.subresource() == "scale" => stored,
        (Verb::Get, _) => {
            let form = accept::read_form(&call.headers);
            form.map_or(0, |(form, encoding)| weighed(form, encoding, stored))
        }
        _ => bytes,
    };
    weight.max(least)
}

/// Whether a request is compared with all rights that a user has, or lists them: a short body may name a role of 100,000
/// permissions, or a thousand groups.
fn is_about_rights(verb: Verb, call: &Call) -> bool {
    let is_written = matches!(verb, Verb::Create | Verb::Update | Verb::Patch);
    let resource = &call.resource;
    is_written && (resource.group == rbac::GROUP || resource.traits.review)
}

/// Whether a JSON patch has a `copy` in it, or letters that are written as numbers and may spell one.
fn may_copy(patch: &[u8]) -> bool {
    let has = |word: &[u8]| patch.windows(word.len()).any(|part| part == word);
    has(b"copy") || has(br"\u")
}

/// Some combinations of path and verb exist for no kind.
fn check_scope(verb: Verb, call: &Call) -> Answer<()> {
    let across = call.resource.namespaced && call.place.namespace.is_none();
    if call.resource.traits.review && verb != Verb::Create {
        return Err(Failure::method_not_allowed());
    }
    match verb {
        Verb::Create | Verb::DeleteCollection if across && !call.resource.traits.review => {
            Err(Failure::method_not_allowed())
        }
        Verb::Get | Verb::Update | Verb::Patch | Verb::Delete if across => Err(Failure::no_such_path()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_that_copies_is_noticed_however_it_is_written() {
        assert!(may_copy(br#"[{"op":"copy","from":"/a","path":"/b"}]"#));
        assert!(may_copy(br#"[{"op":"c\u006fpy","from":"/a","path":"/b"}]"#));
        assert!(!may_copy(br#"[{"op":"add","path":"/b","value":1}]"#));
    }

    #[test]
    fn what_is_read_to_be_shown_in_another_form_counts_more_than_what_is_copied() {
        let table = accept::Form::Table(crate::table::Version::V1);
        let large = LONG_FROM + 1;
        assert!(weighed(table, Encoding::Json, large) > LONG_FROM);
        assert!(weighed(accept::Form::Object, Encoding::Protobuf, large) > LONG_FROM);
        assert!(weighed(accept::Form::Object, Encoding::Json, large) <= LONG_FROM);
        assert!(weighed(accept::Form::Object, Encoding::Json, 8 * large) > LONG_FROM);
    }
}
