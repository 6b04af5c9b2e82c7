//! What the agent asks of the hub beside its watches: the finalizer and the status of a work are written, works are listed
//! before something is removed, and discovery says whether their kind lasts.

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use portolan_api::multicluster;
use portolan_api::reading::Received;
use portolan_api::work::ManifestWork;
use portolan_runtime::logging::Operation;
use portolan_runtime::watch::with_list_timeout;
use serde_json::{Value, json};

use crate::monitor::Monitor;
use crate::report::to_json;
use crate::spoke::{Pages, Problem};
use crate::work::{Distributed, Status, Untyped, Work, WorkKey, WorkKind, read, unreadable};

const MANAGER: &str = "portolan-agent";
/// As of a member cluster: webhooks may take thirty seconds at most.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(35);
/// Works in one answer of a list.
const PAGE: u32 = 100;
/// Bytes of the works of one cluster, all of which are in memory at once. Our hub stores no more than this in one namespace
/// unless told otherwise. Without it a hub whose pages never end would fill the memory.
const LIST_BYTES: u64 = 1 << 30;

/// The cluster's namespace on the hub.
pub(super) struct Hub {
    client: Client,
    namespace: String,
    monitor: Monitor,
}

enum Part {
    Object,
    Status,
}

impl Hub {
    pub(super) fn new(client: Client, namespace: &str, monitor: Monitor) -> Hub {
        Hub {
            client,
            monitor,
            namespace: namespace.to_owned(),
        }
    }

    /// Makes the work wait for us before it goes.
    pub(super) async fn hold(&self, work: &Work) -> Result<Work, Problem> {
        let mut finalizers = work.finalizers.clone();
        finalizers.push(work.key.kind.finalizer().to_owned());
        self.set_finalizers(work, &finalizers).await
    }

    /// All works of a kind, as the hub has them now.
    pub(super) async fn works(&self, kind: WorkKind) -> Result<Vec<Work>, Problem> {
        match kind {
            WorkKind::ManifestWork => self.list::<ManifestWork>().await,
            WorkKind::Work => self.list::<multicluster::Work>().await,
        }
    }

    async fn list<K: Distributed>(&self) -> Result<Vec<Work>, Problem> {
        let client = with_list_timeout(self.client.clone(), LIST_BYTES);
        let api: Api<Received<Untyped<K>>> = Api::namespaced(client, &self.namespace);
        let mut works = Vec::new();
        let mut pages = Pages::of(PAGE);
        loop {
            let list = match in_time(api.list(pages.params())).await {
                // A kind that the hub does not serve has no works. A kind that vanishes between two pages is another case.
                Err(Problem::NotFound(_)) if pages.is_first() => return Ok(works),
                list => list?,
            };
            works.extend(list.items.into_iter().map(received::<K>));
            if !pages.advance(list.metadata.continue_) {
                return Ok(works);
            }
        }
    }

    /// Whether the work is there, the very one, and nobody deletes it.
    pub(super) async fn is_wanted(&self, work: &Work) -> Result<bool, Problem> {
        let found = self.find(&work.key).await?;
        Ok(found.is_some_and(|found| found.uid == work.uid && !found.deleting))
    }

    /// The work as the hub has it now.
    pub(super) async fn find(&self, key: &WorkKey) -> Result<Option<Work>, Problem> {
        match key.kind {
            WorkKind::ManifestWork => self.get::<ManifestWork>(&key.name).await,
            WorkKind::Work => self.get::<multicluster::Work>(&key.name).await,
        }
    }

    async fn get<K: Distributed>(&self, name: &str) -> Result<Option<Work>, Problem> {
        let api: Api<Untyped<K>> = Api::namespaced(self.client.clone(), &self.namespace);
        let found = in_time(api.get_opt(name)).await?;
        Ok(found.map(|object| read(K::KIND, &object.metadata, &object.spec, &object.status)))
    }

    /// Lets the work go.
    pub(super) async fn release(&self, work: &Work) -> Result<Work, Problem> {
        let mut finalizers = work.finalizers.clone();
        finalizers.retain(|finalizer| finalizer != work.key.kind.finalizer());
        self.set_finalizers(work, &finalizers).await
    }

    async fn set_finalizers(&self, work: &Work, finalizers: &[String]) -> Result<Work, Problem> {
        let patch = json!({ "metadata": {
            "resourceVersion": work.version, "uid": work.uid, "finalizers": finalizers,
        } });
        self.patch(work, Part::Object, patch).await
    }

    /// Writes the status.
    pub(super) async fn report(&self, work: &Work, status: &Status) -> Result<Work, Problem> {
        let patch = json!({
            "metadata": { "resourceVersion": work.version, "uid": work.uid },
            "status": to_json(work.key.kind, status),
        });
        self.patch(work, Part::Status, patch).await
    }

    /// Whether works of the kind can be made: not while the hub ends the kind, and deletes all works of it.
    pub(super) async fn is_lasting(&self, kind: WorkKind) -> Result<bool, Problem> {
        match kind {
            WorkKind::ManifestWork => self.serves_new::<ManifestWork>().await,
            WorkKind::Work => self.serves_new::<multicluster::Work>().await,
        }
    }

    async fn serves_new<K: Distributed>(&self) -> Result<bool, Problem> {
        let (api_version, plural) = (K::api_version(&()), K::plural(&()));
        let asked = self.client.list_api_group_resources(&api_version);
        let served = in_time(asked).await?.resources;
        match served.iter().find(|resource| resource.name == plural) {
            Some(resource) => Ok(resource.verbs.iter().any(|verb| verb == "create")),
            // A server that is just starting may know less than it will, so that this says nothing about the kind.
            None => Err(Problem::NotFound(format!(
                "the hub does not serve {plural} of {api_version}"
            ))),
        }
    }

    async fn patch(&self, work: &Work, part: Part, patch: Value) -> Result<Work, Problem> {
        match work.key.kind {
            WorkKind::ManifestWork => self.send::<ManifestWork>(work, part, patch).await,
            WorkKind::Work => self.send::<multicluster::Work>(work, part, patch).await,
        }
    }

    async fn send<K: Distributed>(&self, work: &Work, part: Part, patch: Value) -> Result<Work, Problem> {
        let api: Api<Received<Untyped<K>>> = Api::namespaced(self.client.clone(), &self.namespace);
        let how = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let (name, patch) = (&work.key.name, Patch::Merge(patch));
        let sent = async {
            match part {
                Part::Object => api.patch(name, &how, &patch).await,
                Part::Status => api.patch_status(name, &how, &patch).await,
            }
        };
        let answer = in_time(sent).await;
        self.monitor.asked_hub(&answer);
        if answer.is_ok() {
            self.monitor.hub.succeeded(Operation {
                verb: "patch",
                resource: work.key.kind.resource(),
                object: name,
            });
        }
        answer.map(received::<K>)
    }
}

fn received<K: Distributed>(object: Received<Untyped<K>>) -> Work {
    match object {
        Received::Readable(object) => read(K::KIND, &object.metadata, &object.spec, &object.status),
        Received::Unreadable(object) => unreadable(K::KIND, &object.metadata, object.to_string()),
    }
}

/// The answer of the hub, or that there was none.
async fn in_time<T>(sent: impl Future<Output = kube::Result<T>>) -> Result<T, Problem> {
    match tokio::time::timeout(ANSWER_TIMEOUT, sent).await {
        Ok(answer) => answer.map_err(|error| Problem::of(&error)),
        Err(_) => Err(Problem::Unanswered(format!(
            "the hub did not answer within {ANSWER_TIMEOUT:?}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::client::Body;
    use portolan_runtime::watch::with_limits;

    use super::*;

    #[tokio::test]
    async fn works_whose_pages_never_end_are_no_answer() {
        let service = tower::service_fn(|_: Request<Body>| {
            let page = r#"{"kind":"ManifestWorkList","apiVersion":"work.open-cluster-management.io/v1","items":[],"metadata":{"continue":"more"}}"#;
            std::future::ready(Ok::<_, tower::BoxError>(Response::new(Body::from(
                page.as_bytes().to_vec(),
            ))))
        });
        let hub = Hub::new(Client::new(service, "default"), "east", Monitor::of("east"));
        let Err(Problem::TooLarge(said)) = hub.works(WorkKind::ManifestWork).await else {
            panic!("the list has an end");
        };
        assert!(
            said.contains("more than 1073741824 bytes in the pages of"),
            "{said}"
        );
    }

    #[tokio::test]
    async fn a_page_of_works_that_is_too_large_is_read_in_smaller_pages() {
        let service = tower::service_fn(|request: Request<Body>| {
            let query = request.uri().query().unwrap_or_default();
            let number = |name: &str| {
                let mut found = query.split('&').filter_map(|part| part.strip_prefix(name));
                found.next().map(|text| text.parse::<usize>().unwrap())
            };
            let from = number("continue=").unwrap_or(0);
            let end = (from + number("limit=").unwrap()).min(60);
            let work = |index: usize| {
                let metadata = json!({ "name": format!("w{index}"), "namespace": "east", "uid": "u", "resourceVersion": "1" });
                let manifest = json!({ "a": "x".repeat(1_000) });
                json!({ "metadata": metadata, "spec": { "workload": { "manifests": [manifest] } } })
            };
            let page = json!({
                "kind": "ManifestWorkList", "apiVersion": "work.open-cluster-management.io/v1",
                "metadata": { "continue": (end < 60).then(|| end.to_string()) },
                "items": (from..end).map(work).collect::<Vec<_>>(),
            });
            let answer = Response::new(Body::from(page.to_string().into_bytes()));
            std::future::ready(Ok::<_, tower::BoxError>(answer))
        });
        let client = with_limits(Client::new(service, "default"), ANSWER_TIMEOUT, 40_000);
        let hub = Hub::new(client, "east", Monitor::of("east"));
        assert_eq!(hub.works(WorkKind::ManifestWork).await.unwrap().len(), 60);
    }
}
