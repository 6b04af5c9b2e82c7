//! Which kinds the member cluster serves, asked by `apiVersion`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kube::Client;
use tokio::time::Instant;

use super::Problem;
use crate::work::Resource;

/// How long an answer about an `apiVersion` is good enough to tell whose kinds are in doubt. A work whose own kinds are not
/// known asks again each time, since the definition of one may be among its manifests.
const GOOD_FOR: Duration = Duration::from_secs(5);
/// The one version of the group without a name that every server has.
const CORE: &str = "v1";

/// What a member cluster said about kinds.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// The kinds of each `apiVersion` that is served.
    pub(crate) kinds: Vec<(String, BTreeMap<String, Resource>)>,
    /// The `apiVersion`s that it does not serve.
    pub(crate) absent: BTreeSet<String>,
    /// Why it did not answer for one of them, if it did not.
    pub(crate) problem: Option<Problem>,
}

/// The `apiVersion`s that the member cluster has answered for lately.
#[derive(Debug, Default)]
pub(crate) struct Answered(BTreeMap<String, Instant>);

impl Answered {
    /// Keeps what was answered at this time, and nothing that is too old to count.
    pub(crate) fn note(&mut self, learned: &Learned, now: Instant) {
        self.0.retain(|_, at| now.duration_since(*at) < GOOD_FOR);
        let served = learned.kinds.iter().map(|(api_version, _)| api_version);
        let answered = served.chain(&learned.absent);
        self.0
            .extend(answered.map(|api_version| (api_version.clone(), now)));
    }

    /// Whether it makes no sense to ask for the `apiVersion` again yet.
    pub(crate) fn has(&self, api_version: &str, now: Instant) -> bool {
        let at = self.0.get(api_version);
        at.is_some_and(|at| now.duration_since(*at) < GOOD_FOR)
    }
}

/// Which kinds of these `apiVersion`s are served. One that gets no answer keeps nobody from the others: a server behind the
/// member cluster's may be down. However many are not served, they cost one question.
pub(crate) async fn learn(client: &Client, api_versions: BTreeSet<String>) -> Learned {
    let mut learned = Learned::default();
    let served = listed(client, api_versions, &mut learned).await;
    for api_version in served {
        let answer = match api_version.contains('/') {
            true => client.list_api_group_resources(&api_version).await,
            false => client.list_core_api_resources(&api_version).await,
        };
        match answer.map_err(|error| Problem::of(&error)) {
            Ok(list) => {
                let served: BTreeMap<String, Resource> = list
                    .resources
                    .into_iter()
                    // Subresources are listed too.
                    .filter(|resource| !resource.name.contains('/'))
                    .map(|resource| {
                        let place = Resource {
                            plural: resource.name,
                            namespaced: resource.namespaced,
                        };
                        (resource.kind, place)
                    })
                    .collect();
                learned.kinds.push((api_version, served));
            }
            Err(Problem::NotFound(_)) => drop(learned.absent.insert(api_version)),
            Err(problem) => learned.problem = Some(problem),
        }
    }
    learned
}

/// Those that the server may serve, by its own lists where these cost less than to ask for each.
async fn listed(client: &Client, api_versions: BTreeSet<String>, learned: &mut Learned) -> BTreeSet<String> {
    let (named, core): (BTreeSet<String>, BTreeSet<String>) = api_versions
        .into_iter()
        .partition(|version| version.contains('/'));
    let mut served = BTreeSet::new();
    if named.len() > 1 {
        let groups = client.list_api_groups().await.map(|list| {
            let versions = list.groups.into_iter().flat_map(|group| group.versions);
            versions.map(|version| version.group_version).collect()
        });
        served.extend(among(groups, named, learned));
    } else {
        served.extend(named);
    }
    if core.iter().any(|version| version != CORE) {
        let versions = client.list_core_api_versions().await;
        let versions = versions.map(|list| list.versions.into_iter().collect());
        served.extend(among(versions, core, learned));
    } else {
        served.extend(core);
    }
    served
}

/// Those of the list. A server that shows none can still be asked for each.
fn among(
    list: kube::Result<BTreeSet<String>>,
    asked: BTreeSet<String>,
    learned: &mut Learned,
) -> BTreeSet<String> {
    match list.map_err(|error| Problem::of(&error)) {
        Ok(list) => {
            let (served, absent) = asked.into_iter().partition(|version| list.contains(version));
            learned.absent.append(&mut { absent });
            served
        }
        Err(Problem::NotFound(_) | Problem::Refused(_)) => asked,
        Err(problem) => {
            learned.problem = Some(problem);
            BTreeSet::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    use http::{Response, StatusCode};
    use kube::client::Body;
    use serde_json::json;

    use super::*;

    /// A server with ConfigMaps and Widgets that notes what it is asked, and whether it shows lists.
    fn server(asked: Arc<Mutex<Vec<String>>>, shows_lists: bool) -> Client {
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let path = request.uri().path().to_owned();
            asked.lock().unwrap().push(path.clone());
            let resource = |kind: &str, name: &str| json!({ "kind": kind, "name": name, "namespaced": true, "singularName": "", "verbs": [] });
            let answer = match path.as_str() {
                "/apis" if shows_lists => Some(json!({ "groups": [{
                    "name": "example.com", "versions": [{ "groupVersion": "example.com/v1", "version": "v1" }],
                }] })),
                "/api" if shows_lists => {
                    Some(json!({ "versions": ["v1"], "serverAddressByClientCIDRs": [] }))
                }
                "/api/v1" => {
                    Some(json!({ "groupVersion": "v1", "resources": [resource("ConfigMap", "configmaps")] }))
                }
                "/apis/example.com/v1" => Some(
                    json!({ "groupVersion": "example.com/v1", "resources": [resource("Widget", "widgets")] }),
                ),
                _ => None,
            };
            let mut response = Response::new(Body::from(
                answer.clone().unwrap_or_default().to_string().into_bytes(),
            ));
            if answer.is_none() {
                *response.status_mut() = StatusCode::NOT_FOUND;
            }
            async move { Ok::<_, Infallible>(response) }
        });
        Client::new(service, "default")
    }

    async fn learned(api_versions: &[String], shows_lists: bool) -> (Learned, usize) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let client = server(asked.clone(), shows_lists);
        let learned = learn(&client, api_versions.iter().cloned().collect()).await;
        let asked = asked.lock().unwrap().len();
        (learned, asked)
    }

    #[tokio::test]
    async fn kinds_that_are_not_served_cost_one_question_however_many_they_are() {
        let mut wanted = vec!["v1".to_owned(), "example.com/v1".to_owned()];
        wanted.extend(
            (0..100).flat_map(|number| [format!("v{}", number + 2), format!("g{number}.example/v1")]),
        );
        let (found, questions) = learned(&wanted, true).await;
        assert_eq!(questions, 4, "two lists, and the two that are served");
        let served: Vec<&str> = found.kinds.iter().map(|(version, _)| version.as_str()).collect();
        assert_eq!(served, ["example.com/v1", "v1"]);
        assert_eq!((found.absent.len(), found.problem), (200, None));
        let (found, questions) = learned(&wanted, false).await;
        assert_eq!(questions, 2 + 202, "there are no lists");
        assert_eq!((found.kinds.len(), found.absent.len()), (2, 200));
    }

    #[tokio::test]
    async fn one_kind_is_asked_for_by_itself() {
        for (version, served) in [("v1", 1), ("example.com/v1", 1), ("g.example/v1", 0)] {
            let (found, questions) = learned(&[version.to_owned()], true).await;
            assert_eq!((questions, found.kinds.len()), (1, served), "{version}");
        }
    }

    #[test]
    fn an_answer_counts_for_some_seconds() {
        let (mut answered, start) = (Answered::default(), Instant::now());
        let learned = Learned {
            kinds: vec![("v1".to_owned(), BTreeMap::new())],
            absent: BTreeSet::from(["g/v1".to_owned()]),
            problem: None,
        };
        answered.note(&learned, start);
        let late = start + GOOD_FOR;
        let soon = late - Duration::from_millis(1);
        assert!(answered.has("v1", soon) && answered.has("g/v1", soon));
        assert!(!answered.has("g/v1", late) && !answered.has("h/v1", start));
        answered.note(&Learned::default(), late);
        assert!(answered.0.is_empty(), "what is too old is not kept");
    }
}
