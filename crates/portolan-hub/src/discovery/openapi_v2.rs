//! OpenAPI v2, without schemas: kubectl downloads it when version 3 does not have a kind, finds the kind in neither, and
//! then says itself that there is no such kind. Without the document kubectl says that the download failed.

use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, Response, StatusCode};
use serde_json::json;

use crate::server::{Body, plain, value};

/// Clients ask for this form alone; newer ones write `.v1.0`, older ones `@v1.0`.
const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2";
const PROTOBUF_ANSWER: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const SWAGGER: &str = "2.0";
const TITLE: &str = "Kubernetes";

/// The document in the form that the client asks for.
pub(super) fn answer(headers: &HeaderMap) -> Response<Body> {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let wants_protobuf =
        accept.is_some_and(|accept| accept.split(',').any(|range| range.trim().starts_with(PROTOBUF)));
    if !wants_protobuf {
        return value(
            StatusCode::OK,
            &json!({
                "swagger": SWAGGER, "info": {"title": TITLE, "version": super::VERSION}, "paths": {}, "definitions": {},
            }),
        );
    }
    let mut response = plain(StatusCode::OK, protobuf());
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(PROTOBUF_ANSWER));
    response
}

/// `openapi.v2.Document` with `swagger` (1), `info` (2) of `title` (1) and `version` (2), and empty `paths` (8).
fn protobuf() -> Vec<u8> {
    let info = [field(1, TITLE.as_bytes()), field(2, super::VERSION.as_bytes())].concat();
    [field(1, SWAGGER.as_bytes()), field(2, &info), field(8, &[])].concat()
}

/// A length-delimited field. Field numbers below 16 and content below 128 bytes take one byte each, and these constants
/// are: a table of messages to encode them by would be longer than they are.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap_or_default();
    debug_assert!(length < 0x80 && number < 16);
    [&[number << 3 | 2, length], content].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protobuf_form_is_a_document_with_a_version_a_title_and_no_paths() {
        let version = super::super::VERSION.as_bytes();
        let info_length = 2 + TITLE.len() + 2 + version.len();
        let expected = [
            b"\x0a\x032.0\x12".as_slice(),
            &[u8::try_from(info_length).unwrap()],
            b"\x0a\x0aKubernetes\x12",
            &[u8::try_from(version.len()).unwrap()],
            version,
            b"\x42\x00",
        ];
        assert_eq!(protobuf(), expected.concat());
    }

    #[test]
    fn clients_that_do_not_ask_for_protobuf_get_json() {
        let kind = |accept: &'static str| {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
            answer(&headers).headers()[CONTENT_TYPE]
                .to_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(kind("application/json"), "application/json");
        assert_eq!(
            kind("application/com.github.proto-openapi.spec.v2@v1.0+protobuf"),
            PROTOBUF_ANSWER
        );
    }
}
