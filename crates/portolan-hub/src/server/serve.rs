//! What is done for each verb, and how the answer looks.

use std::sync::Arc;

use http::header::HeaderName;
use http::{Response, StatusCode};

use super::accept::{self, Encoding};
use super::apart::serve_apart;
use super::call::Call;
use super::journal::Written;
use super::request::Verb;
use super::status::{Answer, Failure};
use super::write::{Done, Object, Tracking};
use super::{Body, Core, body, warnings};
use crate::table::Headers;

const WARNING: HeaderName = http::header::WARNING;

/// A write of more bytes, body and stored object together, is computed by a thread that serves nothing else meanwhile. Larger,
/// and a few writes at once could keep all threads of the runtime busy; smaller, and the usual write would pay for a thread.
const LARGE_WRITE: usize = 32 << 10;

impl Core {
    pub(super) async fn serve(self: &Arc<Self>, verb: Verb, call: Call) -> Answer<Response<Body>> {
        check_scope(verb, &call)?;
        let bytes = self.bytes(verb, &call);
        if bytes <= LARGE_WRITE {
            return self.serve_here(verb, call).await;
        }
        let user = call.identity.user.clone();
        let _turn = self.in_flight.large_write(&user, bytes).await;
        serve_apart(self.serve_here(verb, call)).await
    }

    /// What a write is computed from: its body and the stored object.
    fn bytes(&self, verb: Verb, call: &Call) -> usize {
        let stored = || {
            let stored = call
                .place
                .name
                .as_ref()
                .and_then(|name| self.store.get(&call.key(name)));
            stored.map_or(0, |stored| stored.bytes().len())
        };
        match verb {
            Verb::Create => call.body.len(),
            Verb::Update | Verb::Patch => call.body.len() + stored(),
            _ => 0,
        }
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
                let text = self.show_list(&call, &listing, form).or_else(|_| {
                    // They are deleted, whether there is room for them in the answer or not.
                    listing.objects.clear();
                    self.show_list(&call, &listing, form)
                });
                Ok(body::json(StatusCode::OK, text?))
            }
        }
    }

    async fn serve_subresource(self: &Arc<Self>, verb: Verb, call: Call) -> Answer<Response<Body>> {
        let form = accept::form(&call.headers)?;
        match (call.subresource(), verb) {
            ("status", _) if !call.resource.status => Err(Failure::no_such_path()),
            ("status", Verb::Get) => {
                let object = self.get(&call).await?;
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
