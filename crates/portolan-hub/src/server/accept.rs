//! Which representation a client asks for.

use http::HeaderMap;
use http::header::ACCEPT;

use super::status::{Answer, Failure};
use crate::table::Version;

/// The form of an answer. It is always JSON: every client takes that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Object,
    Table(Version),
    /// PartialObjectMetadata, or a list of them.
    Metadata,
    /// Aggregated discovery.
    Discovery(&'static str),
}

/// The first form of the Accept header that is served.
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
    let mut parts = range.split(';').map(str::trim);
    if !matches!(parts.next()?, "application/json" | "application/*" | "*/*") {
        return None;
    }
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
        assert_eq!(form("text/html").unwrap_err().code(), 406);
    }
}
