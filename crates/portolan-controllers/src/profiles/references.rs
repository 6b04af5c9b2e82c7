//! Asks the server which ClusterProfiles the decision slices refer to. The answer is read when it matters instead of kept in
//! memory: a large hub has millions of references.

use std::collections::{BTreeMap, BTreeSet};

use kube::api::{ListParams, ObjectList};
use kube::core::Request;
use kube::{Client, Resource};
use portolan_api::multicluster::PlacementDecision;
use portolan_api::reading::{Received, Unreadable};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::reconcile::{Failure, RequestContext};

/// Slices in one page. A larger page costs more memory, a smaller one more requests.
const PAGE: u32 = 250;

/// The profiles of one namespace that are to be removed.
pub(super) struct Asked<'a> {
    pub(super) namespace: &'a str,
    pub(super) names: BTreeSet<&'a str>,
    /// Whether slices of all namespaces may refer to the profiles, instead of those of the same namespace.
    pub(super) from_everywhere: bool,
}

impl Asked<'_> {
    /// The names of the profiles that a slice refers to.
    pub(super) async fn referenced(
        &self,
        client: &Client,
        context: &RequestContext,
    ) -> Result<BTreeSet<Box<str>>, Failure> {
        let mut referenced = BTreeSet::new();
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let sent = self.page(client, &params);
            let page = context.request("list", "placementdecisions", self.namespace, sent);
            let listed = match page.await? {
                Page::Read(listed) => listed,
                Page::NotServed => return Ok(referenced),
            };
            for slice in &listed.items {
                self.add(slice, &mut referenced);
            }
            match listed.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params.continue_token = Some(token),
                None => return Ok(referenced),
            }
        }
    }

    async fn page(&self, client: &Client, params: &ListParams) -> kube::Result<Page> {
        let namespace = match self.from_everywhere {
            true => None,
            false => Some(self.namespace),
        };
        let request = Request::new(PlacementDecision::url_path(&(), namespace)).list(params);
        let request = request.map_err(kube::Error::BuildRequest)?;
        match client.request(request).await {
            Ok(listed) => Ok(Page::Read(listed)),
            // Without the kind there are no references.
            Err(kube::Error::Api(status)) if status.code == 404 && params.continue_token.is_none() => {
                Ok(Page::NotServed)
            }
            Err(error) => Err(error),
        }
    }

    fn add(&self, slice: &Slice, referenced: &mut BTreeSet<Box<str>>) {
        match slice {
            Slice::Readable(slice) => {
                let home = slice.metadata.namespace.as_deref().unwrap_or_default();
                let references = slice
                    .decisions
                    .iter()
                    .filter_map(|decision| decision.profile(home));
                referenced.extend(
                    references
                        .filter(|(space, name)| *space == self.namespace && self.names.contains(name))
                        .map(|(_, name)| Box::from(name)),
                );
            }
            Slice::Unreadable(unreadable, texts) => {
                let names = texts.iter().map(String::as_str);
                let kept: Vec<&str> = names.filter(|name| self.names.contains(name)).collect();
                if let Some(first) = kept.first() {
                    tracing::warn!(
                        slice = unreadable.place(),
                        namespace = self.namespace,
                        "cannot read the decision slice: {unreadable}; {} of the ClusterProfiles that it may refer to are \
                         kept, {first} among them",
                        kept.len()
                    );
                }
                referenced.extend(kept.into_iter().map(Box::from));
            }
        }
    }
}

/// The answer to the request for one page.
enum Page {
    Read(ObjectList<Slice>),
    NotServed,
}

/// A decision slice, or all texts in the decisions of a slice that cannot be read. A reference is a text, so a profile whose
/// name is not among the texts can be removed: otherwise one slice would keep the profiles of all namespaces.
#[derive(Clone)]
enum Slice {
    Readable(Box<PlacementDecision>),
    Unreadable(Box<Unreadable>, BTreeSet<String>),
}

impl<'de> Deserialize<'de> for Slice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Box::<RawValue>::deserialize(deserializer)?;
        Ok(match Received::read(json.get()).readable() {
            Ok(slice) => Slice::Readable(Box::new(slice)),
            Err(unreadable) => Slice::Unreadable(unreadable, texts(decisions(json.get()))),
        })
    }
}

/// The field `decisions`; the whole value where the value has no fields.
fn decisions(json: &str) -> &str {
    match serde_json::from_str::<BTreeMap<String, &RawValue>>(json) {
        Ok(fields) => fields
            .get("decisions")
            .map_or("", |decisions| RawValue::get(decisions)),
        Err(_) => json,
    }
}

/// All texts of a JSON value, whatever its types and its depth are. Texts that are not Unicode are left out: names are ASCII.
fn texts(json: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = json;
    while let Some(begin) = rest.find('"') {
        let quoted = &rest[begin..];
        let mut is_escaped = false;
        let end = quoted.bytes().skip(1).position(|byte| {
            let is_end = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            is_end
        });
        // Both quotes.
        let Some((text, after)) = end.and_then(|end| quoted.split_at_checked(end + 2)) else {
            break;
        };
        found.extend(serde_json::from_str::<String>(text));
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use http::Response;
    use kube::client::Body;
    use portolan_runtime::watch::with_limits;
    use serde_json::{Value, json};

    use super::*;
    use crate::reconcile::fake::live::{clock, context};
    use crate::settings::Settings;

    /// A server with these slices, and the limits of the pages that it was asked for.
    fn server(slices: Vec<Value>) -> (Client, Arc<Mutex<Vec<usize>>>) {
        let limits = Arc::<Mutex<Vec<usize>>>::default();
        let asked = limits.clone();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            assert!(request.uri().path().ends_with("/v1alpha1/placementdecisions"));
            let query = request.uri().query().unwrap_or_default();
            let number = |name: &str| {
                let mut found = query.split('&').filter_map(|part| part.strip_prefix(name));
                found.next().map(|text| text.parse::<usize>().unwrap())
            };
            let (limit, from) = (number("limit=").unwrap(), number("continue=").unwrap_or(0));
            asked.lock().unwrap().push(limit);
            let end = (from + limit).min(slices.len());
            let rest = (end < slices.len()).then(|| end.to_string());
            let page = json!({
                "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "PlacementDecisionList",
                "metadata": { "resourceVersion": "9", "continue": rest }, "items": slices[from..end],
            });
            let answer = Response::new(Body::from(page.to_string().into_bytes()));
            std::future::ready(Ok::<_, tower::BoxError>(answer))
        });
        (Client::new(service, "default"), limits)
    }

    fn slice(name: &str, decisions: Value) -> Value {
        json!({
            "metadata": { "namespace": "tenant", "name": name }, "schedulerName": "x", "decisions": decisions,
        })
    }

    async fn referenced(client: &Client, names: &[&str]) -> Result<Vec<String>, Failure> {
        let asked = Asked {
            namespace: "profiles",
            names: names.iter().copied().collect(),
            from_everywhere: true,
        };
        let context = context(&Settings::new(clock()));
        let referenced = asked.referenced(client, &context).await?;
        Ok(referenced.into_iter().map(String::from).collect())
    }

    #[tokio::test]
    async fn an_unreadable_slice_keeps_the_profiles_in_its_text_and_no_others() {
        let to = |name: &str| json!({ "name": name, "namespace": "profiles" });
        let slices = vec![
            slice("a", json!([{ "clusterProfileRef": to("read") }])),
            slice("b", json!([{ "clusterProfileRef": to("odd"), "reason": 5 }])),
            slice(
                "free",
                json!({ "free-too": 3, "a": [[["deep\""]], { "b": "elsewhere" }] }),
            ),
            json!("text"),
            json!(3),
        ];
        let (client, _) = server(slices);
        let names = ["deep\"", "free", "odd", "read", "tenant", "text"];
        let kept = referenced(&client, &names).await.unwrap();
        assert_eq!(kept, ["deep\"", "odd", "read", "text"]);
    }

    #[tokio::test]
    async fn a_page_of_slices_that_is_too_large_is_read_in_smaller_pages() {
        let mut slices = vec![slice("a", json!([{ "reason": "x".repeat(1_000) }])); 100];
        slices.push(slice(
            "z",
            json!([{ "clusterProfileRef": { "name": "last", "namespace": "profiles" } }]),
        ));
        let (client, _) = server(slices);
        let client = with_limits(client, Duration::from_secs(60), 40_000);
        assert_eq!(referenced(&client, &["last", "free"]).await.unwrap(), ["last"]);
    }

    #[tokio::test]
    async fn a_slice_that_is_too_large_by_itself_is_a_failure() {
        let (client, limits) = server(vec![slice("a", json!([{ "reason": "x".repeat(1_000) }]))]);
        let client = with_limits(client, Duration::from_secs(60), 1_000);
        assert_eq!(referenced(&client, &["free"]).await, Err(Failure::Transient));
        assert_eq!(limits.lock().unwrap().last(), Some(&1));
    }
}
