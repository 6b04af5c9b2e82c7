//! Which representation a client asks for.

use http::HeaderMap;
use http::header::ACCEPT;

use super::status::{Answer, Failure};
use crate::protobuf;
use crate::table::Version;

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Object,
    Table(Version),
    /// PartialObjectMetadata, or a list of them.
    Metadata,
    /// Aggregated discovery.
    Discovery(&'static str),
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Protobuf,
}

impl Encoding {
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Encoding::Json => "application/json",
            Encoding::Protobuf => protobuf::CONTENT_TYPE,
        }
    }

    /// The same for a stream of events.
    pub(crate) fn stream_type(self) -> &'static str {
        match self {
            Encoding::Json => "application/json",
            Encoding::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        }
    }
}

/// What the bytes of stored objects count for in an answer: they are copied as they are, or read to be written in another form.
pub(crate) fn weighed(form: Form, encoding: Encoding, bytes: usize) -> usize {
    match (form, encoding) {
        (Form::Object | Form::Discovery(_), Encoding::Json) => bytes / 8,
        _ => bytes,
    }
}

/// The form of what is read. Objects are written as protobuf only for clients that take nothing else, and metadata for
/// clients that prefer it.
pub(crate) fn read_form(headers: &HeaderMap) -> Answer<(Form, Encoding)> {
    let json = form(headers);
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let mut ranges = accept.unwrap_or_default().split(',');
    let is_protobuf = |range: &str| range.trim().starts_with(protobuf::CONTENT_TYPE);
    let first = ranges.clone().next().filter(|range| is_protobuf(range));
    if first.and_then(parameters) == Some(Form::Metadata) {
        return Ok((Form::Metadata, Encoding::Protobuf));
    }
    match json {
        Err(_) if ranges.any(|range| is_protobuf(range) && parameters(range) == Some(Form::Object)) => {
            Ok((Form::Object, Encoding::Protobuf))
        }
        json => json.map(|form| (form, Encoding::Json)),
    }
}

/// The first form of the Accept header that is served as JSON.
pub(crate) fn form(headers: &HeaderMap) -> Answer<Form> {
    first(headers, |_| true)
}

/// The same for answers that have no rows: reviews are not stored, so that there is nothing to list.
pub(crate) fn form_without_rows(headers: &HeaderMap) -> Answer<Form> {
    first(headers, |form| !matches!(form, Form::Table(_)))
}

fn first(headers: &HeaderMap, is_served: impl Fn(&Form) -> bool) -> Answer<Form> {
    let Some(accept) = headers.get(ACCEPT) else {
        return Ok(Form::Object);
    };
    let accept = accept.to_str().unwrap_or_default();
    if accept.trim().is_empty() {
        return Ok(Form::Object);
    }
    accept
        .split(',')
        .filter_map(media)
        .find(is_served)
        .ok_or_else(Failure::not_acceptable)
}

fn media(range: &str) -> Option<Form> {
    let kind = range.split(';').next()?.trim();
    if !matches!(kind, "application/json" | "application/*" | "*/*") {
        return None;
    }
    parameters(range)
}

/// The form that the parameters of a media range name.
fn parameters(range: &str) -> Option<Form> {
    let parts = range.split(';').skip(1).map(str::trim);
    let (mut kind, mut group, mut version) = ("", "", "");
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        match name {
            "as" => kind = value,
            "g" => group = value,
            "v" => version = value,
            _ => {}
        }
    }
    match (kind, group, version) {
        ("", ..) => Some(Form::Object),
        ("Table", "meta.k8s.io", "v1") => Some(Form::Table(Version::V1)),
        ("Table", "meta.k8s.io", "v1beta1") => Some(Form::Table(Version::V1Beta1)),
        ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1") => Some(Form::Metadata),
        ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") => Some(Form::Discovery("v2")),
        ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2beta1") => Some(Form::Discovery("v2beta1")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_served_form_is_taken() {
        let form = |accept: &str| form(&HeaderMap::from_iter([(ACCEPT, accept.parse().unwrap())]));
        assert_eq!(
            form("application/json;as=Table;v=v1;g=meta.k8s.io,application/json"),
            Ok(Form::Table(Version::V1))
        );
        assert_eq!(
            form("application/vnd.kubernetes.protobuf,application/json"),
            Ok(Form::Object)
        );
        assert_eq!(form("*/*"), Ok(Form::Object));
        assert_eq!(
            form("application/vnd.kubernetes.protobuf").unwrap_err().code(),
            406
        );
        assert_eq!(form("text/html").unwrap_err().code(), 406);
    }

    #[test]
    fn protobuf_is_served_to_who_prefers_it_for_metadata_or_takes_nothing_else() {
        let form = |accept: &str| read_form(&HeaderMap::from_iter([(ACCEPT, accept.parse().unwrap())]));
        let partial = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        let (protobuf, json) = ("application/vnd.kubernetes.protobuf", "application/json");
        for (accept, expected) in [
            (protobuf.to_owned(), (Form::Object, Encoding::Protobuf)),
            (
                format!("{protobuf};stream=watch"),
                (Form::Object, Encoding::Protobuf),
            ),
            (format!("{protobuf},{json}"), (Form::Object, Encoding::Json)),
            (
                format!("{protobuf};{partial},{json};{partial},{json}"),
                (Form::Metadata, Encoding::Protobuf),
            ),
            (
                format!("{json};{partial},{protobuf};{partial}"),
                (Form::Metadata, Encoding::Json),
            ),
        ] {
            assert_eq!(form(&accept), Ok(expected), "{accept}");
        }
        assert_eq!(form("text/html").unwrap_err().code(), 406);
        assert_eq!(
            form(&format!("{protobuf};as=Table;g=meta.k8s.io;v=v1"))
                .unwrap_err()
                .code(),
            406
        );
    }
}
