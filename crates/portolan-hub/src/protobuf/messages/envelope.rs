//! The envelope around every body: `runtime.Unknown`. Its `raw` field is read apart, not as base64 text.

use crate::protobuf::schema::{Message, message, string};

/// The number of the field that holds the object.
pub(in crate::protobuf) const RAW: u32 = 2;

pub(in crate::protobuf) static UNKNOWN: Message = Message::new(
    "Unknown",
    &[
        message(1, "typeMeta", &TYPE_META),
        string(3, "contentEncoding"),
        string(4, "contentType"),
    ],
);

pub(in crate::protobuf) static TYPE_META: Message =
    Message::new("TypeMeta", &[string(1, "apiVersion"), string(2, "kind")]);
