//! Discovery: which groups, versions and resources there are, health, version, OpenAPI.
//!
//! Everything is computed from the registry when it is asked for; the index of the OpenAPI documents alone is kept.

mod groups;
mod openapi;
mod openapi_v2;

use http::header::{ETAG, HeaderValue, IF_NONE_MATCH};
use http::{HeaderMap, Response, StatusCode};
use serde_json::{Value, json};

use crate::server::request::Query;
use crate::server::{Answer, Body, Core, Failure, Form, plain, value};

/// The Kubernetes version whose behaviour is followed.
const MAJOR: &str = "1";
const MINOR: &str = "36";
const VERSION: &str = "v1.36.0+portolan";

/// Answers a path that names no resource. `None` if nothing is served there.
pub(crate) fn answer(
    core: &Core,
    path: &str,
    query: &Query,
    headers: &HeaderMap,
) -> Option<Answer<Response<Body>>> {
    let registry = core.registry();
    let whole: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
    // A slash at the end makes no difference where the paths of clients are built of parts.
    let parts = match whole.as_slice() {
        ["api" | "apis" | "version", .., ""] => &whole[..whole.len() - 1],
        whole => whole,
    };
    let found = match parts {
        [""] => paths(),
        [probe @ ("healthz" | "livez" | "readyz")]
        | [probe @ ("healthz" | "livez" | "readyz"), "ping" | "log" | "etcd"] => {
            return Some(Ok(health(core, probe, query.has("verbose"))));
        }
        ["metrics"] => return Some(Ok(plain(StatusCode::OK, metrics(core, &registry)))),
        ["version"] => version(),
        ["api"] => match discovery_form(headers) {
            Some(version) => return Some(Ok(aggregated(groups::core_aggregated(&registry), version))),
            None => groups::core(),
        },
        ["apis"] => match discovery_form(headers) {
            Some(version) => return Some(Ok(aggregated(groups::aggregated(&registry), version))),
            None => groups::list(&registry),
        },
        ["apis", group] => groups::one(&registry, group)?,
        ["api", version] => groups::resources(&registry, "", version)?,
        ["apis", group, version] => groups::resources(&registry, group, version)?,
        ["openapi", "v2"] => return Some(Ok(openapi_v2::answer(headers))),
        ["openapi", "v3"] => return Some(Ok(value(StatusCode::OK, openapi::index(&registry)))),
        ["openapi", "v3", "api", version] => return openapi_document(&registry, "", version, headers),
        ["openapi", "v3", "apis", group, version] => {
            return openapi_document(&registry, group, version, headers);
        }
        _ => return None,
    };
    Some(Ok(value(StatusCode::OK, &found)))
}

/// Whether a path is one that everybody may ask for, with and without a credential.
pub(crate) fn is_probe(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next();
    matches!(first, Some("healthz" | "livez" | "readyz" | "version"))
}

/// Whether the answer is made of the schemas of all kinds, or all objects are counted for it.
pub(crate) fn is_long(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next();
    matches!(first, Some("openapi" | "metrics"))
}

/// A hub whose data file failed still reads, but refuses every write until it is started again. One of which a task died
/// collects no garbage, or ends no namespaces.
fn health(core: &Core, probe: &str, verbose: bool) -> Response<Body> {
    // The first three have the names that Kubernetes gives them; what etcd is there, the store is here.
    let checks = [
        ("ping", None),
        ("log", None),
        ("etcd", core.store.failure()),
        ("tasks", core.supervision.failure()),
    ];
    let failed = checks.iter().any(|(_, failure)| failure.is_some());
    if !failed && !verbose {
        return plain(StatusCode::OK, "ok");
    }
    let line = |(name, failure): &(&str, Option<String>)| match failure {
        Some(why) => format!("[-]{name} failed: {why}\n"),
        None => format!("[+]{name} ok\n"),
    };
    let lines: String = checks.iter().map(line).collect();
    match failed {
        true => plain(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("{lines}{probe} check failed\n"),
        ),
        false => plain(StatusCode::OK, format!("{lines}{probe} check passed\n")),
    }
}

fn paths() -> Value {
    json!({"paths": ["/api", "/apis", "/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]})
}

/// There is nothing at a path. How that is said depends on how much of the path there is: a Status below a group that is
/// built in, and bare text elsewhere.
pub(crate) fn not_found(registry: &crate::kinds::Registry, path: &str) -> Answer<Response<Body>> {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match (parts.next(), parts.next()) {
        (Some("apis"), Some(group))
            if !registry
                .iter()
                .any(|resource| resource.group == group && !resource.traits.custom) =>
        {
            Ok(plain(StatusCode::NOT_FOUND, "404 page not found\n"))
        }
        (Some("api" | "apis"), _) => Err(Failure::no_such_path()),
        _ => Ok(plain(StatusCode::NOT_FOUND, "404 page not found\n")),
    }
}

fn discovery_form(headers: &HeaderMap) -> Option<&'static str> {
    match crate::server::form(headers) {
        Ok(Form::Discovery(version)) => Some(version),
        _ => None,
    }
}

fn aggregated(items: Vec<Value>, version: &'static str) -> Response<Body> {
    let list = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": format!("apidiscovery.k8s.io/{version}"), "metadata": {}, "items": items,
    });
    let mut response = value(StatusCode::OK, &list);
    let kind = format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList");
    if let Ok(kind) = HeaderValue::from_str(&kind) {
        response.headers_mut().insert(http::header::CONTENT_TYPE, kind);
    }
    response
}

fn openapi_document(
    registry: &crate::kinds::Registry,
    group: &str,
    version: &str,
    headers: &HeaderMap,
) -> Option<Answer<Response<Body>>> {
    let document = openapi::document(registry, group, version)?.to_string();
    let tag = format!("\"{}\"", openapi::hash(&document));
    if headers
        .get(IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == tag.as_bytes())
    {
        return Some(Ok(plain(StatusCode::NOT_MODIFIED, "")));
    }
    let mut response = crate::server::json_response(StatusCode::OK, document);
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(ETAG, tag);
    }
    Some(Ok(response))
}

/// The metrics a Kubernetes server has under these names, as far as they mean something here.
fn metrics(core: &Core, registry: &crate::kinds::Registry) -> String {
    let mut text = String::from(
        "# HELP apiserver_storage_objects Number of stored objects.\n# TYPE apiserver_storage_objects gauge\n",
    );
    for resource in registry.stored() {
        let prefix = crate::store::Key::prefix(&resource.storage_group, &resource.plural, None);
        let count = core.store.count(&prefix);
        text.push_str(&format!(
            "apiserver_storage_objects{{resource=\"{}\"}} {count}\n",
            resource.qualified()
        ));
    }
    text.push_str("# HELP apiserver_longrunning_requests Number of open watches.\n");
    text.push_str("# TYPE apiserver_longrunning_requests gauge\n");
    for (resource, count) in core.watches.counts() {
        text.push_str(&format!(
            "apiserver_longrunning_requests{{resource=\"{resource}\",verb=\"WATCH\"}} {count}\n"
        ));
    }
    text.push_str("# HELP hub_revision The newest resourceVersion.\n# TYPE hub_revision counter\n");
    text.push_str(&format!("hub_revision {}\n", core.store.revision()));
    text.push_str("# HELP hub_commits_total Syncs of the data file; concurrent writes share one.\n");
    text.push_str(&format!(
        "# TYPE hub_commits_total counter\nhub_commits_total {}\n",
        core.store.commits()
    ));
    text.push_str(&core.metrics.render());
    text
}

fn version() -> Value {
    json!({
        "major": MAJOR, "minor": MINOR, "gitVersion": VERSION, "gitCommit": "", "gitTreeState": "clean", "buildDate": "",
        "goVersion": "", "compiler": "rustc", "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
        "emulationMajor": MAJOR, "emulationMinor": MINOR,
    })
}
