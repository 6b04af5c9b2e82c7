//! Objects and lists in the form that a client asks for.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::accept::{Encoding, Form};
use super::call::Call;
use super::read::Listing;
use super::status::{Answer, Failure};
use super::{Core, metadata};
use crate::kinds::Resource;
use crate::protobuf;
use crate::store::Stored;
use crate::table::{Headers, IncludeObject, Version, render};

impl Core {
    /// A list in the form the client asked for.
    pub(crate) fn show_list(&self, call: &Call, listing: &Listing, form: Form) -> Answer<Bytes> {
        let resource = &call.resource;
        let meta = listing.metadata();
        let values = || listing.objects.iter().map(|object| resource.shown(object));
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
                    let shown = show_bytes(resource, object);
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
        let resource = &call.resource;
        let shown = listing.objects.iter().map(|object| resource.shown(object));
        let (api_version, kind, items): (_, _, Vec<Value>) = match form {
            Form::Metadata => (
                "meta.k8s.io/v1".to_owned(),
                "PartialObjectMetadataList",
                shown.map(|object| partial(&object)).collect(),
            ),
            _ => (
                resource.api_version(),
                resource.list_kind.as_str(),
                shown.collect(),
            ),
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
                let value = call.resource.shown(object);
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

/// The text as it is kept, unless it is served in another version.
fn show_bytes(resource: &Resource, object: &Stored) -> Bytes {
    let is_kept_so = resource.renames.is_empty() && has_version(object.bytes(), &resource.api_version());
    if is_kept_so && !resource.lacks_defaults(object) {
        return object.bytes().clone();
    }
    resource.shown(object).to_string().into()
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
