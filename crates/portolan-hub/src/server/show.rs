//! Objects and lists in the form that a client asks for.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::Bytes;
use http::StatusCode;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::accept::{Encoding, Form};
use super::apart::apart;
use super::call::Call;
use super::read::Listing;
use super::status::{Answer, Failure};
use super::{Core, metadata};
use crate::kinds::{NoRoom, Resource};
use crate::protobuf;
use crate::store::Stored;
use crate::table::{Headers, IncludeObject, Version, render};

/// Most bytes of defaults that the objects of one list get while it is written: those that a definition has brought since the
/// objects were stored. Larger, and a definition could make many small objects an answer that fills the memory; smaller, and a list
/// of a large fleet would fail after a field with a default was added.
const MOST_DEFAULTS: usize = 64 << 20;

impl Core {
    /// A list in the form the client asked for.
    pub(crate) fn show_list(&self, call: &Call, listing: &Listing, form: Form) -> Answer<Bytes> {
        apart(listing.objects.len(), || self.written_list(call, listing, form))
    }

    fn written_list(&self, call: &Call, listing: &Listing, form: Form) -> Answer<Bytes> {
        let resource = &call.resource;
        let meta = listing.metadata();
        let mut room = MOST_DEFAULTS;
        match form {
            Form::Table(version) => {
                let mut shown = Ok(());
                let objects = listing.objects.iter().map_while(|object| {
                    let object = resource.shown_in_list(object, &mut room);
                    object.map_err(|full| shown = Err(full)).ok()
                });
                let include = include_object(call)?;
                let now = self.clock.now();
                let table = render(
                    &resource.columns,
                    version,
                    meta,
                    objects,
                    include,
                    Headers::Show,
                    now,
                );
                shown.map_err(|full| no_room(resource, full))?;
                Ok(table.to_string().into())
            }
            Form::Metadata => {
                let items: Vec<Value> = in_part(resource, listing).collect();
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
                    let shown = match kept_bytes(resource, object) {
                        Some(bytes) => bytes,
                        None => {
                            let object = resource.shown_in_list(object, &mut room);
                            let object = object.map_err(|full| no_room(resource, full))?;
                            object.to_string().into()
                        }
                    };
                    match resource.traits.custom {
                        true => text.extend_from_slice(&shown),
                        false => text.extend_from_slice(&without_type(&shown)),
                    }
                }
                text.extend_from_slice(b"]}\n");
                Ok(text.into())
            }
        }
    }

    /// The same as protobuf.
    pub(crate) fn encode_list(&self, call: &Call, listing: &Listing, form: Form) -> Answer<Bytes> {
        apart(listing.objects.len(), || self.encoded_list(call, listing, form))
    }

    fn encoded_list(&self, call: &Call, listing: &Listing, form: Form) -> Answer<Bytes> {
        let resource = &call.resource;
        let (api_version, kind, items): (_, _, Vec<Value>) = match form {
            Form::Metadata => (
                "meta.k8s.io/v1".to_owned(),
                "PartialObjectMetadataList",
                in_part(resource, listing).collect(),
            ),
            _ => {
                let mut room = MOST_DEFAULTS;
                let objects = listing.objects.iter();
                let items: Result<_, _> = objects
                    .map(|object| resource.shown_in_list(object, &mut room))
                    .collect();
                let items = items.map_err(|full| no_room(resource, full))?;
                (resource.api_version(), resource.list_kind.as_str(), items)
            }
        };
        let list = protobuf::encode_list(&api_version, kind, &listing.metadata(), &items);
        list.map(Bytes::from).map_err(|_| Failure::not_acceptable())
    }

    /// An object in the form the client asked for.
    pub(crate) fn show(
        &self,
        call: &Call,
        object: &Stored,
        form: Form,
        encoding: Encoding,
        headers: Headers,
    ) -> Answer<Bytes> {
        match (form, encoding) {
            (Form::Object | Form::Discovery(_), Encoding::Json) => Ok(show_bytes(&call.resource, object)),
            (form, encoding) => {
                let value = match form {
                    Form::Metadata => call.resource.served(object.value()),
                    _ => call.resource.shown(object),
                };
                encoded(&self.show_value(call, value, form, headers)?, encoding)
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

/// The text of an object as it is served.
fn show_bytes(resource: &Resource, object: &Stored) -> Bytes {
    let kept = kept_bytes(resource, object);
    kept.unwrap_or_else(|| resource.shown(object).to_string().into())
}

/// The text as it is kept, unless it is served in another version or with more defaults.
fn kept_bytes(resource: &Resource, object: &Stored) -> Option<Bytes> {
    let is_kept_so = resource.renames.is_empty() && has_version(object.bytes(), &resource.api_version());
    (is_kept_so && !resource.lacks_defaults(object)).then(|| object.bytes().clone())
}

/// The metadata of all objects of a list. No definition has defaults for it.
fn in_part(resource: &Resource, listing: &Listing) -> impl Iterator<Item = Value> {
    let objects = listing.objects.iter();
    objects.map(|object| partial(&resource.served(object.value())))
}

fn no_room(resource: &Resource, NoRoom: NoRoom) -> Failure {
    Failure::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "RequestEntityTooLarge",
        format!(
            "the defaults that the definition of {} has brought add more than {MOST_DEFAULTS} bytes to the objects of this list; \
             ask for fewer objects at a time with the query parameter limit, or write the objects again",
            resource.qualified()
        ),
    )
}

/// The text of an object without `apiVersion` and `kind`. Items of lists of built-in kinds have neither: the list says it.
fn without_type(text: &[u8]) -> Vec<u8> {
    // Only the outermost fields are told apart; what they hold is copied as it is.
    let Ok(mut fields) = serde_json::from_slice::<BTreeMap<Cow<'_, str>, &RawValue>>(text) else {
        return text.to_vec();
    };
    fields.remove("apiVersion");
    fields.remove("kind");
    serde_json::to_vec(&fields).unwrap_or_else(|_| text.to_vec())
}

/// Kept objects start with their version, since fields are in alphabetical order; one that does not is parsed.
fn has_version(text: &[u8], version: &str) -> bool {
    text.strip_prefix(br#"{"apiVersion":""#)
        .and_then(|rest| rest.strip_prefix(version.as_bytes()))
        .is_some_and(|rest| rest.starts_with(b"\""))
}

/// An object as bytes. An object that cannot be written as protobuf is not acceptable to a client that takes nothing else.
pub(super) fn encoded(object: &Value, encoding: Encoding) -> Answer<Bytes> {
    match encoding {
        Encoding::Json => Ok(object.to_string().into()),
        Encoding::Protobuf => protobuf::encode(object)
            .map(Bytes::from)
            .map_err(|_| Failure::not_acceptable()),
    }
}

pub(super) fn partial(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
}

pub(super) fn include_object(call: &Call) -> Answer<IncludeObject> {
    let text = call.query.get("includeObject").unwrap_or_default();
    text.parse()
        .map_err(|error: crate::table::UnknownIncludeObject| Failure::bad_request(error.to_string()))
}
