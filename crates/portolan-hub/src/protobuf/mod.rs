//! Protobuf request bodies, turned into the JSON the same client would have sent, and answers for clients that ask for
//! protobuf.
//!
//! kubectl 1.32 and newer write built-in kinds as `application/vnd.kubernetes.protobuf` and do not try again in JSON, and Go
//! programs write definitions so. The hub has to read them. It answers in JSON wherever a client takes JSON, but for
//! metadata alone: there Go's clients compare what they got in protobuf with what they got in protobuf.
//!
//! Kinds are data (see [`messages`]); one decoder and one encoder serve all of them. Nothing here panics on any input, and
//! memory is bounded by the size of the body.

mod decode;
mod encode;
mod kinds;
mod messages;
mod schema;
mod wire;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use decode::Decoder;
use encode::Bytes;
pub(crate) use encode::Unwritable;
use messages::{meta, status};
use schema::Message;

/// The content type of these bodies.
pub(crate) const CONTENT_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What every body starts with.
const MAGIC: &[u8] = b"k8s\0";

/// Why a body is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// The magic bytes are missing.
    #[error(
        "the body is not in the protobuf format of Kubernetes (it does not start with the bytes \"k8s\\0\")"
    )]
    NotKubernetes,
    /// The bytes are no protobuf message of that name.
    #[error("the body is not a valid protobuf message: {message} cannot be decoded")]
    Malformed {
        /// The message that could not be read.
        message: &'static str,
    },
    /// The envelope says that its content is packed or not protobuf.
    #[error("the protobuf envelope has the content encoding or type {0:?}, which is not supported")]
    Encoding(String),
    /// The kind is served, if at all, only as JSON.
    #[error(
        "{api_version} {kind} is not accepted as protobuf, send application/json; accepted are {}",
        kinds::accepted()
    )]
    UnknownKind {
        /// The API version of the envelope.
        api_version: String,
        /// The kind of the envelope.
        kind: String,
    },
    /// A field carries a value that cannot be shown as JSON here.
    #[error("field {number} of {message} is not supported as protobuf, send application/json")]
    UnknownField {
        /// The message with the field.
        message: &'static str,
        /// Its number.
        number: u32,
    },
    /// The body nests messages deeper than any object does.
    #[error("the protobuf body nests messages deeper than {0} levels")]
    TooDeep(usize),
    /// The body holds more values than any object has.
    #[error("the protobuf body holds too many values")]
    TooManyValues,
}

impl Error {
    /// The HTTP status: 415 where JSON would be taken, 400 where the bytes are wrong, 413 where they are too many.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Error::NotKubernetes | Error::Malformed { .. } | Error::TooDeep(_) => 400,
            Error::Encoding(_) | Error::UnknownKind { .. } | Error::UnknownField { .. } => 415,
            Error::TooManyValues => 413,
        }
    }
}

/// Decodes one body to the object it stands for, with `apiVersion` and `kind`.
pub(crate) fn decode(body: &[u8]) -> Result<Value, Error> {
    let envelope = body.strip_prefix(MAGIC).ok_or(Error::NotKubernetes)?;
    let mut decoder = Decoder::default();
    let mut unknown = Map::new();
    let raw = decoder.envelope(envelope, &mut unknown)?;
    let text = |pointer: &str| {
        let value = unknown.get("typeMeta").and_then(|meta| meta.get(pointer));
        value.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    for packing in ["contentEncoding", "contentType"] {
        match unknown.get(packing).and_then(Value::as_str) {
            None | Some(CONTENT_TYPE) => {}
            Some(other) => return Err(Error::Encoding(other.to_owned())),
        }
    }
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let Some(message) = kinds::message_for(&api_version, &kind) else {
        return Err(Error::UnknownKind { api_version, kind });
    };
    let mut object = Map::new();
    object.insert("apiVersion".to_owned(), Value::String(api_version));
    object.insert("kind".to_owned(), Value::String(kind));
    decoder.fill(message, raw, &mut object)?;
    Ok(Value::Object(object))
}

/// Whether objects of a kind are written.
pub(crate) fn is_written(api_version: &str, kind: &str) -> bool {
    answered(api_version, kind).is_ok()
}

/// An object with `apiVersion` and `kind` as clients read it.
pub(crate) fn encode(object: &Value) -> Result<Vec<u8>, Unwritable> {
    let mut bytes = Bytes::default();
    let (api_version, kind, fields) = parts(object)?;
    bytes.object(answered(api_version, kind)?, &fields);
    Ok(bytes.in_envelope(api_version, kind))
}

/// A list of objects of one kind. `kind` is the kind of the list.
pub(crate) fn encode_list(
    api_version: &str,
    kind: &str,
    metadata: &Value,
    items: &[Value],
) -> Result<Vec<u8>, Unwritable> {
    let (mut list, mut head) = (Bytes::default(), Bytes::default());
    head.object(&meta::LIST_META, metadata.as_object().ok_or(Unwritable)?);
    list.bytes(1, &head.0);
    for item in items {
        let (mut bytes, (api_version, kind, fields)) = (Bytes::default(), parts(item)?);
        bytes.object(answered(api_version, kind)?, &fields);
        list.bytes(2, &bytes.0);
    }
    Ok(list.in_envelope(api_version, kind))
}

/// One event of a watch: its length and the event.
pub(crate) fn encode_event(kind: &str, object: &[u8]) -> Vec<u8> {
    let (mut raw, mut event) = (Bytes::default(), Bytes::default());
    raw.bytes(1, object);
    event.bytes(1, kind.as_bytes());
    event.bytes(2, &raw.0);
    // Objects are far smaller than what 32 bits can count.
    let length = u32::try_from(event.0.len()).unwrap_or(u32::MAX);
    let mut frame = length.to_be_bytes().to_vec();
    frame.extend_from_slice(&event.0);
    frame
}

fn parts(object: &Value) -> Result<(&str, &str, Map<String, Value>), Unwritable> {
    let mut fields = object.as_object().ok_or(Unwritable)?.clone();
    fields.remove("apiVersion");
    fields.remove("kind");
    let text = |name: &str| object.get(name).and_then(Value::as_str).ok_or(Unwritable);
    Ok((text("apiVersion")?, text("kind")?, fields))
}

fn answered(api_version: &str, kind: &str) -> Result<&'static Message, Unwritable> {
    match (api_version, kind) {
        ("meta.k8s.io/v1", "PartialObjectMetadata") => Ok(&meta::PARTIAL_OBJECT_METADATA),
        ("v1", "Status") => Ok(&status::STATUS),
        // The schemas in it are read and not written.
        (_, "CustomResourceDefinition") => Err(Unwritable),
        _ => kinds::message_for(api_version, kind).ok_or(Unwritable),
    }
}
