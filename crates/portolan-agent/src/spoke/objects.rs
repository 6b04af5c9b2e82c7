//! Requests to the member cluster for objects of any kind, each in the name of the agent or of an executor.

use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use kube::Client;
use kube::api::{DeleteParams, GetParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy};
use kube::core::Request;
use portolan_runtime::watch::with_list_timeout;
use serde_json::{Value, json};

use super::Problem;
use super::pages::{Pages, read_page};
use crate::plan::Right;
use crate::work::{Account, FIELD_MANAGER, ObjectId, Target};

/// How long a server may take for one answer; webhooks may take thirty seconds at most.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(35);

/// Objects in one answer of a list.
const PAGE: u32 = 100;
/// Bytes of all pages of one list. A smaller number could refuse the records of a large member, without which nothing is
/// removed there; with a larger one, a server whose pages never end would be read for longer and fill more memory.
const LIST_BYTES: u64 = 1 << 30;

pub(crate) const IMPERSONATE: HeaderName = HeaderName::from_static("impersonate-user");

/// Where an object is found.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) id: ObjectId,
    pub(crate) version: String,
}

impl Place {
    /// Where the object of a manifest is found.
    pub(crate) fn of(target: &Target) -> Place {
        Place {
            id: target.id.clone(),
            version: target.version.clone(),
        }
    }

    /// The `apiVersion` that it is found by.
    pub(crate) fn api_version(&self) -> String {
        match self.id.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The path of the collection that the object is in.
    fn collection(&self) -> String {
        let ObjectId {
            group,
            resource,
            namespace,
            ..
        } = &self.id;
        let root = match group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        match namespace.as_str() {
            "" => format!("{root}/{resource}"),
            namespace => format!("{root}/namespaces/{namespace}/{resource}"),
        }
    }
}

/// Which part of an object is written: a server keeps the status apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Object,
    Status,
}

/// Objects of any kind on the member cluster. Requests are made by hand since each may be made in another's name, which a
/// client of kube has for all of its requests or none.
#[derive(Clone)]
pub(crate) struct Objects {
    client: Client,
}

impl Objects {
    pub(crate) fn new(client: Client) -> Objects {
        Objects { client }
    }

    /// The object, if it is there.
    pub(crate) async fn get(&self, place: &Place, user: Option<&str>) -> Result<Option<Value>, Problem> {
        if_there(self.read(place, user).await)
    }

    /// The object, or why it is not there.
    pub(crate) async fn read(&self, place: &Place, user: Option<&str>) -> Result<Value, Problem> {
        let request = Request::new(place.collection()).get(&place.id.name, &GetParams::default());
        self.send(request, user).await
    }

    /// The metadata of the object, if it is there: nothing of what it is about.
    pub(crate) async fn look(&self, place: &Place) -> Result<Option<Value>, Problem> {
        let request = Request::new(place.collection()).get_metadata(&place.id.name, &GetParams::default());
        if_there(self.send(request, None).await)
    }

    /// The verbs that the member cluster serves for a resource; none if it does not serve it.
    pub(crate) async fn verbs(&self, api_version: &str, plural: &str) -> Result<Vec<String>, Problem> {
        let asked = self.client.list_api_group_resources(api_version).await;
        let served = match asked.map_err(|error| Problem::of(&error)) {
            Err(Problem::NotFound(_)) => return Ok(Vec::new()),
            served => served?.resources,
        };
        let found = served.into_iter().find(|resource| resource.name == plural);
        Ok(found.map(|resource| resource.verbs).unwrap_or_default())
    }

    /// Whether a service account has a right.
    pub(crate) async fn may(&self, account: &Account, right: &Right) -> Result<bool, Problem> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {
                "user": account.user(),
                "groups": account.groups(),
                "resourceAttributes": {
                    "verb": right.verb, "group": right.group, "resource": right.resource,
                    "namespace": right.namespace, "name": right.name.as_deref().unwrap_or_default(),
                },
            },
        });
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let request = Request::new(path).create(&PostParams::default(), review.to_string().into_bytes());
        let answer = self.send(request, None).await?;
        let status = |field: &str| answer.pointer(field).and_then(Value::as_bool) == Some(true);
        Ok(status("/status/allowed") && !status("/status/denied"))
    }

    /// Makes the object.
    pub(crate) async fn create(
        &self,
        place: &Place,
        body: &Value,
        user: Option<&str>,
    ) -> Result<Value, Problem> {
        let how = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let request = Request::new(place.collection()).create(&how, body.to_string().into_bytes());
        self.send(request, user).await
    }

    /// Applies the object as `manager`.
    pub(crate) async fn apply(
        &self,
        place: &Place,
        body: &Value,
        manager: &str,
        force: bool,
        user: Option<&str>,
    ) -> Result<Value, Problem> {
        let mut how = PatchParams::apply(manager);
        how.force = force;
        let request = Request::new(place.collection()).patch(&place.id.name, &how, &Patch::Apply(body));
        self.send(request, user).await
    }

    /// Merges fields into the object, or into its status.
    pub(crate) async fn merge(&self, place: &Place, part: Part, fields: &Value) -> Result<Value, Problem> {
        let how = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let (path, patch) = (Request::new(place.collection()), Patch::Merge(fields));
        let request = match part {
            Part::Object => path.patch(&place.id.name, &how, &patch),
            Part::Status => path.patch_subresource("status", &place.id.name, &how, &patch),
        };
        self.send(request, None).await
    }

    /// Changes the object by the operations of a JSON patch.
    pub(crate) async fn patch_by_operations(
        &self,
        place: &Place,
        operations: &Value,
        user: Option<&str>,
    ) -> Result<(), Problem> {
        let how = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let request = Request::new(place.collection()).patch(&place.id.name, &how, &Patch::Merge(operations));
        let request = request.map(|mut request| {
            let json_patch = HeaderValue::from_static("application/json-patch+json");
            request.headers_mut().insert(CONTENT_TYPE, json_patch);
            request
        });
        self.send(request, user).await.map(drop)
    }

    /// Passes on all objects beside this place, page by page. After a problem, the objects until then are not all.
    pub(crate) async fn list(&self, place: &Place, each: impl FnMut(Value)) -> Result<(), Problem> {
        self.list_within(LIST_BYTES, place, each).await
    }

    async fn list_within(
        &self,
        bytes: u64,
        place: &Place,
        mut each: impl FnMut(Value),
    ) -> Result<(), Problem> {
        let client = with_list_timeout(self.client.clone(), bytes);
        let mut pages = Pages::of(PAGE);
        loop {
            let request = Request::new(place.collection()).list(pages.params());
            let request = request.map_err(|error| Problem::Refused(error.to_string()))?;
            let page = in_time(client.request_text(request))
                .await
                .map_err(|problem| match problem {
                    // The kind went while it was listed: that there was nothing is not said.
                    Problem::NotFound(why) if !pages.is_first() => Problem::Unanswered(why),
                    problem => problem,
                })?;
            let rest = read_page(&page, &mut each).map_err(|error| {
                let kind = place.id.kind();
                Problem::Unanswered(format!(
                    "cannot read the list of {kind} of the member cluster: {error}"
                ))
            })?;
            if !pages.advance(rest) {
                return Ok(());
            }
        }
    }

    /// Deletes the object, if it has this UID; what depends on it goes first.
    pub(crate) async fn delete(&self, place: &Place, uid: &str) -> Result<(), Problem> {
        let which = Preconditions {
            uid: Some(uid.to_owned()),
            ..Preconditions::default()
        };
        self.delete_with(place, which, PropagationPolicy::Foreground)
            .await
    }

    /// Deletes the object, if it is the very one in this version, and waits for nothing that depends on it.
    pub(crate) async fn delete_at_once(
        &self,
        place: &Place,
        uid: &str,
        version: &str,
    ) -> Result<(), Problem> {
        let which = Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: Some(version.to_owned()),
        };
        self.delete_with(place, which, PropagationPolicy::Background)
            .await
    }

    async fn delete_with(
        &self,
        place: &Place,
        which: Preconditions,
        policy: PropagationPolicy,
    ) -> Result<(), Problem> {
        let how = DeleteParams {
            propagation_policy: Some(policy),
            preconditions: Some(which),
            ..DeleteParams::default()
        };
        let request = Request::new(place.collection()).delete(&place.id.name, &how);
        match self.send(request, None).await {
            Ok(_) | Err(Problem::NotFound(_)) => Ok(()),
            Err(problem) => Err(problem),
        }
    }

    async fn send(
        &self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
        user: Option<&str>,
    ) -> Result<Value, Problem> {
        let mut request = request.map_err(|error| Problem::Refused(error.to_string()))?;
        if let Some(user) = user {
            let user = HeaderValue::from_str(user)
                .map_err(|_| Problem::Refused(format!("{user:?} cannot be the name of a user")))?;
            request.headers_mut().insert(IMPERSONATE, user);
        }
        let answer: Value = in_time(self.client.request(request)).await?;
        // Readers take for granted that an answer has fields.
        match answer.is_object() {
            true => Ok(answer),
            false => Err(Problem::Unanswered(
                "the member cluster answered with something that is no object".to_owned(),
            )),
        }
    }
}

/// The answer of the member cluster, or that there was none.
async fn in_time<T>(sent: impl Future<Output = kube::Result<T>>) -> Result<T, Problem> {
    match tokio::time::timeout(ANSWER_TIMEOUT, sent).await {
        Ok(answer) => answer.map_err(|error| Problem::of(&error)),
        Err(_) => Err(Problem::Unanswered(format!(
            "the member cluster did not answer within {ANSWER_TIMEOUT:?}"
        ))),
    }
}

fn if_there(answer: Result<Value, Problem>) -> Result<Option<Value>, Problem> {
    match answer {
        Ok(object) => Ok(Some(object)),
        Err(Problem::NotFound(_)) => Ok(None),
        Err(problem) => Err(problem),
    }
}

#[cfg(test)]
#[path = "objects_tests.rs"]
mod tests;
