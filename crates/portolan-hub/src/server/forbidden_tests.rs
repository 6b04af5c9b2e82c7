//! Random requests around those of the table, by a user without any rights: none succeeds, and none changes the store.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Request};
use http_body_util::Full;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use tower::ServiceExt as _;

use super::authorization_tests::hub_for;
use super::{Core, Peer, Service};
use crate::access::Identity;
use crate::sabotage::{Rule, break_rule};

const USER: &str = "bob";

/// How a request of the table is changed.
#[derive(Debug, Clone)]
enum Change {
    Method(&'static str),
    /// Puts a text at a place of the path.
    Insert(Index, &'static str),
    /// Escapes, doubles or drops the character at a place of the path.
    Escape(Index),
    Double(Index),
    Drop(Index),
    UpperCase(Index),
    Query(&'static str),
    Header(&'static str, &'static str),
    Content(&'static str),
}

fn change() -> impl Strategy<Value = Change> {
    let methods = vec![
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW", "get",
    ];
    let parts = vec![
        "/",
        "//",
        ".",
        "..",
        "/../",
        "/./",
        "%2F",
        "%2f",
        "%2e%2e",
        "%00",
        "%",
        "%25",
        "%3F",
        "%23",
        ";",
        ":",
        "@",
        "\\",
        "+",
        " ",
        "/watch",
        "/proxy",
        "/namespaces",
        "/namespaces/test",
        "/status",
        "/scale",
        "/finalize",
        "/token",
        "/api/v1",
        "/apis",
        "/api",
        "/healthz",
        "/version",
        "/openapi/v2",
        "/configmaps",
        "/secrets",
        "*",
        "é",
        "%c3%a9",
        "%ff",
    ];
    let queries = vec![
        "watch=true",
        "watch=0",
        "watch",
        "dryRun=All",
        "dryRun=",
        "fieldManager=bob",
        "force=true",
        "limit=1",
        "continue=x",
        "fieldSelector=metadata.name%3Dthere",
        "fieldSelector=metadata.namespace%3Dtest",
        "labelSelector=a",
        "fieldSelector=%zz",
        "resourceVersion=0",
        "as=admin",
        "user=system:admin",
        "impersonate-user=admin",
        "access_token=x",
        "pretty=1",
        "&&&",
        "=",
        "timeoutSeconds=1",
        "propagationPolicy=Orphan",
        "resourceVersionMatch=Exact",
        "sendInitialEvents=true",
    ];
    let headers = vec![
        ("impersonate-user", "bob"),
        ("impersonate-user", "system:admin"),
        ("impersonate-user", ""),
        ("impersonate-user", "system:serviceaccount:test:there"),
        ("impersonate-group", "system:masters"),
        ("impersonate-group", ""),
        ("impersonate-uid", "1"),
        ("impersonate-extra-scopes", "all"),
        ("x-remote-user", "system:admin"),
        ("x-remote-group", "system:masters"),
        ("x-forwarded-user", "admin"),
        ("x-http-method-override", "GET"),
        ("x-original-url", "/healthz"),
        ("x-rewrite-url", "/version"),
        ("authorization", "Bearer x"),
        ("authorization", "Basic eDp5"),
        ("authorization", "bearer"),
        ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io"),
        ("accept", "*/*"),
        (
            "accept",
            "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io",
        ),
        ("host", "localhost"),
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("expect", "100-continue"),
        ("content-length", "0"),
    ];
    let contents = vec![
        "application/json",
        "application/yaml",
        "application/merge-patch+json",
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/vnd.kubernetes.protobuf",
        "text/plain",
        "",
    ];
    prop_oneof![
        2 => select(methods).prop_map(Change::Method),
        4 => (any::<Index>(), select(parts)).prop_map(|(at, part)| Change::Insert(at, part)),
        2 => any::<Index>().prop_map(Change::Escape),
        1 => any::<Index>().prop_map(Change::Double),
        1 => any::<Index>().prop_map(Change::Drop),
        1 => any::<Index>().prop_map(Change::UpperCase),
        4 => select(queries).prop_map(Change::Query),
        4 => select(headers).prop_map(|(name, value)| Change::Header(name, value)),
        1 => select(contents).prop_map(Change::Content),
    ]
}

/// A request as it is built, before anybody looks whether it can be sent.
#[derive(Debug, Clone)]
struct Draft {
    method: String,
    path: Vec<char>,
    query: Vec<String>,
    headers: Vec<(String, String)>,
    body: String,
}

impl Draft {
    fn change(&mut self, change: &Change) {
        let at = |index: &Index, length: usize| index.index(length.max(1));
        match change {
            Change::Method(method) => self.method = (*method).to_owned(),
            Change::Insert(index, part) => {
                let at = at(index, self.path.len() + 1);
                self.path.splice(at..at, part.chars());
            }
            Change::Escape(index) => {
                let at = at(index, self.path.len());
                if let Some(c) = self.path.get(at).filter(|c| c.is_ascii()) {
                    let escaped = format!("%{:02x}", u32::from(*c));
                    self.path.splice(at..=at, escaped.chars());
                }
            }
            Change::Double(index) => {
                let at = at(index, self.path.len());
                if let Some(c) = self.path.get(at).copied() {
                    self.path.insert(at, c);
                }
            }
            Change::Drop(index) if !self.path.is_empty() => {
                self.path.remove(at(index, self.path.len()));
            }
            Change::Drop(_) => {}
            Change::UpperCase(index) => {
                let at = at(index, self.path.len());
                if let Some(c) = self.path.get_mut(at) {
                    c.make_ascii_uppercase();
                }
            }
            Change::Query(part) => self.query.insert(0, (*part).to_owned()),
            Change::Header(name, value) => self.headers.push(((*name).to_owned(), (*value).to_owned())),
            Change::Content(content) => {
                self.headers.retain(|(name, _)| name != "content-type");
                self.headers
                    .push(("content-type".to_owned(), (*content).to_owned()));
            }
        }
    }

    fn path(&self) -> String {
        self.path.iter().collect()
    }

    /// `None` for what no client can send.
    fn request(&self) -> Option<Request<Full<Bytes>>> {
        let path = self.path();
        let uri = match self.query.is_empty() {
            true => path,
            false => format!("{path}?{}", self.query.join("&")),
        };
        let mut request = Request::builder().method(self.method.as_str()).uri(uri);
        for (name, value) in &self.headers {
            request = request.header(name, HeaderValue::from_bytes(value.as_bytes()).ok()?);
        }
        request.body(Full::new(Bytes::from(self.body.clone()))).ok()
    }

    /// Whether the path is one of those that everybody may read, or a question about oneself. Read in the simplest way: a path
    /// that merely looks like one is not checked, but still changes nothing.
    fn is_open(&self) -> bool {
        let path = self.path().to_ascii_lowercase();
        let (mut decoded, mut rest) = (String::new(), path.as_str());
        while let Some(c) = rest.chars().next() {
            let escape = rest.get(1..3).filter(|_| c == '%');
            match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                Some(byte) => {
                    decoded.push(char::from(byte).to_ascii_lowercase());
                    rest = &rest[3..];
                }
                None => {
                    decoded.push(c);
                    rest = &rest[c.len_utf8()..];
                }
            }
        }
        let parts: Vec<&str> = decoded.trim_matches('/').split('/').collect();
        match parts[0] {
            "healthz" | "livez" | "readyz" | "version" | "openapi" => true,
            "api" => parts.len() < 3,
            "apis" => parts.len() < 4 || decoded.contains("selfsubject"),
            _ => false,
        }
    }
}

/// Everything stored, with its versions. Rules that are gathered are written by the hub in its own time.
fn stored(core: &Core) -> Vec<(String, u64)> {
    let objects = core.store.range("").objects;
    let counted = objects
        .iter()
        .filter(|object| !object.key().as_str().starts_with("rbac."));
    counted
        .map(|object| (object.key().as_str().to_owned(), object.revision()))
        .collect()
}

/// Sends random requests; the error is the smallest one that should not have been answered as it was.
fn find_hole(cases: u32, rule: Option<Rule>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (hub, table, _) = runtime.block_on(hub_for("nobody"));
    let core: Arc<Core> = hub.service().core().clone();
    let bob = Identity::authenticated(USER, std::iter::empty::<String>());
    let service = Service::new(core.clone(), Peer::Remote(Some(bob)));
    let sent: Vec<_> = table.requests.iter().flat_map(|asked| &asked.requests).collect();
    let drafts: Vec<Draft> = sent
        .iter()
        .map(|sent| {
            let (method, target) = sent.send.split_once(' ').unwrap();
            let (path, query) = target.split_once('?').unwrap_or((target, ""));
            let query = query.split('&').filter(|part| !matches!(*part, "" | "DRY"));
            let content = format!("application/{}", sent.content);
            Draft {
                method: method.to_owned(),
                path: path.chars().collect(),
                query: query.map(str::to_owned).collect(),
                headers: vec![("content-type".to_owned(), content)],
                body: sent.body.clone(),
            }
        })
        .collect();
    let before = stored(&core);
    let refused = std::cell::Cell::new(0_u32);
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let strategy = (any::<Index>(), proptest::collection::vec(change(), 0..6));
    break_rule(rule);
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let found = TestRunner::new_with_rng(config, random).run(&strategy, |(base, changes)| {
        let mut draft = base.get(&drafts).clone();
        changes.iter().for_each(|change| draft.change(change));
        let Some(request) = draft.request() else {
            return Ok(());
        };
        let response = runtime.block_on(service.clone().oneshot(request)).unwrap();
        let code = response.status();
        refused.set(refused.get() + u32::from(code == http::StatusCode::FORBIDDEN));
        if code.is_success() && !draft.is_open() {
            return Err(TestCaseError::fail(format!(
                "{} {} {:?}: {code}",
                draft.method,
                draft.path(),
                draft.query
            )));
        }
        match stored(&core) == before {
            true => Ok(()),
            false => Err(TestCaseError::fail(format!(
                "{} {} changed the store",
                draft.method,
                draft.path()
            ))),
        }
    });
    break_rule(None);
    runtime.block_on(hub.stop());
    found.map_err(|error| error.to_string())?;
    match refused.get() > cases / 2 {
        true => Ok(()),
        false => Err(format!(
            "only {} of {cases} requests were forbidden",
            refused.get()
        )),
    }
}

#[test]
fn no_path_query_or_header_gets_a_user_what_no_role_allows() {
    assert_eq!(find_hole(4_000, None), Ok(()));
}

#[test]
fn random_requests_find_a_hub_that_does_not_ask_its_roles() {
    let hole = find_hole(200, Some(Rule::RolesAreAsked)).unwrap_err();
    assert!(
        hole.contains(": 20") || hole.contains("changed the store"),
        "{hole}"
    );
}
