//! What our hub asks of a ManifestWork before it is stored, as OCM's webhook does elsewhere.

use portolan_api::{FieldError, semantic};
use portolan_hub::{Admission, AdmissionRequest, Operation, Refusal, Right, Verdict};
use serde_json::Value;

const GROUP: &str = "work.open-cluster-management.io";
const RESOURCE: &str = "manifestworks";
const REPLICA_SETS: &str = "manifestworkreplicasets";

/// Refuses works that no agent could apply, and executors that the writer has no right to use: without that check an executor
/// would not limit the writer.
pub(crate) struct WorkAdmission;

impl Admission for WorkAdmission {
    fn validate<'a>(
        &'a self,
        request: &'a AdmissionRequest,
        object: Option<&'a Value>,
        _warnings: &'a mut Vec<String>,
    ) -> Verdict<'a, ()> {
        Box::pin(async move {
            match object.filter(|object| is_asked(request, object)) {
                Some(work) => validate(work),
                None => Ok(()),
            }
        })
    }

    fn rights(&self, request: &AdmissionRequest, object: &Value) -> Vec<Right> {
        let at = match (request.group.as_str(), request.resource.as_str()) {
            (GROUP, RESOURCE) => "/spec/executor",
            // The controller makes works of the template with its own rights, which are larger.
            (GROUP, REPLICA_SETS) => "/spec/manifestWorkTemplate/executor",
            _ => return Vec::new(),
        };
        if !request.subresource.is_empty() || request.operation == Operation::Delete {
            return Vec::new();
        }
        let executor = |of: &'_ Value| of.pointer(at).filter(|executor| !executor.is_null()).cloned();
        let (before, now) = (request.old.as_ref().and_then(&executor), executor(object));
        let name = match (before, now) {
            (before, now) if before == now => return Vec::new(),
            // Without an executor the agent itself takes its place: that is like every executor.
            (_, None) => String::new(),
            (_, Some(now)) => {
                let account = |field: &str| {
                    let text = now.pointer(&format!("/subject/serviceAccount/{field}"));
                    text.and_then(Value::as_str).unwrap_or_default().to_owned()
                };
                format!(
                    "system:serviceaccount:{}:{}",
                    account("namespace"),
                    account("name")
                )
            }
        };
        vec![Right {
            verb: "execute-as".to_owned(),
            group: GROUP.to_owned(),
            resource: RESOURCE.to_owned(),
            namespace: request.namespace.clone(),
            name,
        }]
    }
}

/// Whether somebody says what a work is to bring. Agents write finalizers and the status, which changes nothing about that.
fn is_asked(request: &AdmissionRequest, object: &Value) -> bool {
    let is_work = (request.group.as_str(), request.resource.as_str()) == (GROUP, RESOURCE);
    let spec = request.old.as_ref().and_then(|old| old.get("spec"));
    is_work
        && request.subresource.is_empty()
        && request.operation != Operation::Delete
        && spec != object.get("spec")
}

fn validate(work: &Value) -> Result<(), Refusal> {
    let errors = semantic::errors(work);
    if errors.is_empty() {
        return Ok(());
    }
    let name = work
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let list: Vec<String> = errors
        .iter()
        .map(|error| format!("{}: {}", error.path, cause(error).1))
        .collect();
    let message = format!("ManifestWork.{GROUP} {name:?} is invalid: {}", list.join(", "));
    let refusal = Refusal::new(422, "Invalid", message);
    Err(errors.iter().fold(refusal, |refusal, error| {
        let (reason, problem) = cause(error);
        refusal.cause(reason, &problem, &error.path)
    }))
}

/// Reason and words of a cause, as Kubernetes has them. The field is apart: kubectl prints it in front.
fn cause(error: &FieldError) -> (&'static str, String) {
    let FieldError {
        value,
        problem,
        accepted,
        ..
    } = error;
    match error.is_missing() {
        true => (
            "FieldValueRequired",
            format!("Required value; accepted: {accepted}"),
        ),
        false => (
            "FieldValueInvalid",
            format!("Invalid value: {value}: {problem}; accepted: {accepted}"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use portolan_hub::Hub;
    use serde_json::json;

    use kube::api::{Api, Patch, PatchParams, PostParams};
    use kube::{Client, Error};
    use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet};

    use super::*;

    async fn hub() -> Hub {
        let hub = Hub::builder().admission(WorkAdmission).start().await.unwrap();
        let admin = Client::new(hub.service(), "default");
        for crd in portolan_api::crds() {
            Api::all(admin.clone())
                .create(&PostParams::default(), &crd)
                .await
                .unwrap();
        }
        hub
    }

    fn map(name: &str) -> Value {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "n" } })
    }

    fn work(name: &str, manifests: Value, executor: Option<&str>) -> ManifestWork {
        let executor = executor.map(|name| {
            json!({ "subject": { "type": "ServiceAccount", "serviceAccount": { "namespace": "n", "name": name } } })
        });
        let spec = json!({ "workload": { "manifests": manifests }, "executor": executor });
        serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap()
    }

    /// The code and the words of a refusal.
    fn refused<T: std::fmt::Debug>(answer: Result<T, Error>) -> (u16, String) {
        match answer {
            Err(Error::Api(status)) => (status.code, status.message.clone()),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn works_that_no_agent_could_apply_are_refused() {
        let hub = hub().await;
        let works: Api<ManifestWork> = Api::namespaced(Client::new(hub.service(), "default"), "default");
        let how = PostParams::default();
        let large: Vec<Value> = (0..6)
            .map(|number| {
                let mut map = map(&format!("m{number}"));
                map["data"] = json!({ "k": "x".repeat(90 * 1024) });
                map
            })
            .collect();
        for (manifests, word) in [
            (json!([]), "manifests"),
            (json!([{ "apiVersion": "v1", "kind": "ConfigMap" }]), "name"),
            (json!([map("a"), map("b"), map("a")]), "the same object"),
            (json!(large), "bytes"),
        ] {
            let (code, message) = refused(works.create(&how, &work("w", manifests, None)).await);
            assert!(code == 422 && message.contains(word), "{code} {message}");
        }
        let Err(Error::Api(status)) = works
            .create(&how, &work("w", json!([map("a"), map("a")]), None))
            .await
        else {
            panic!("it is accepted");
        };
        assert_eq!(
            status.message,
            "ManifestWork.work.open-cluster-management.io \"w\" is invalid: spec.workload.manifests[1]: Invalid value: \
             \"ConfigMap n/a\": manifests[0] is the same object; accepted: each object once"
        );
        // kubectl puts the kind and the field in front.
        let details = status.details.clone().unwrap();
        assert_eq!(
            (details.kind.as_str(), details.name.as_str()),
            ("ManifestWork", "w")
        );
        assert_eq!(details.causes[0].field, "spec.workload.manifests[1]");
        assert!(!details.causes[0].message.contains("spec."), "{details:?}");
        let mut nameless = work("w", json!([map("a")]), None);
        let rule = json!({ "type": "CEL", "condition": "not a type!", "celExpressions": ["true"] });
        let identifier = json!({ "group": "", "resource": "configmaps", "namespace": "n", "name": "a" });
        let option = json!([{ "resourceIdentifier": identifier, "conditionRules": [rule] }]);
        nameless.spec.manifest_configs = serde_json::from_value(option).unwrap();
        let (code, message) = refused(works.create(&how, &nameless).await);
        assert!(
            code == 422 && message.contains("conditionRules[0].condition: Invalid value: \"not a type!\""),
            "{code} {message}"
        );
        works
            .create(&how, &work("w", json!([map("a"), map("b")]), None))
            .await
            .unwrap();
        hub.stop().await;
    }

    #[tokio::test]
    async fn an_executor_takes_the_right_to_execute_as_it() {
        let hub = hub().await;
        let admin = Client::new(hub.service(), "default");
        let group = "rbac.authorization.k8s.io";
        let role: k8s_openapi::api::rbac::v1::Role = serde_json::from_value(json!({
            "metadata": { "name": "writer" },
            "rules": [
                { "apiGroups": [GROUP], "resources": [RESOURCE, REPLICA_SETS], "verbs": ["get", "create", "patch"] },
                { "apiGroups": [GROUP], "resources": [RESOURCE], "verbs": ["execute-as"],
                  "resourceNames": ["system:serviceaccount:n:small"] },
            ],
        }))
        .unwrap();
        let binding: k8s_openapi::api::rbac::v1::RoleBinding = serde_json::from_value(json!({
            "metadata": { "name": "writer" }, "roleRef": { "apiGroup": group, "kind": "Role", "name": "writer" },
            "subjects": [{ "apiGroup": group, "kind": "User", "name": "ann" }],
        }))
        .unwrap();
        let how = PostParams::default();
        Api::namespaced(admin.clone(), "default")
            .create(&how, &role)
            .await
            .unwrap();
        Api::namespaced(admin, "default")
            .create(&how, &binding)
            .await
            .unwrap();
        let ann = Client::new(hub.service_for("ann", &[]), "default");
        let works: Api<ManifestWork> = Api::namespaced(ann, "default");
        let of = |name: &str, executor| work(name, json!([map("a")]), Some(executor));
        works.create(&how, &of("w", "small")).await.unwrap();
        let (code, message) = refused(works.create(&how, &of("v", "large")).await);
        assert!(code == 403 && message.contains("execute-as"), "{code} {message}");
        let larger =
            json!({ "spec": { "executor": { "subject": { "serviceAccount": { "name": "large" } } } } });
        let patch = works
            .patch("w", &PatchParams::default(), &Patch::Merge(larger))
            .await;
        assert_eq!(refused(patch).0, 403);
        let none = Patch::Merge(json!({ "spec": { "executor": null } }));
        let patch = works.patch("w", &PatchParams::default(), &none).await;
        assert_eq!(refused(patch).0, 403, "the agent may do more than the executor");
        let sets: Api<ManifestWorkReplicaSet> = Api::namespaced(works.into_client(), "default");
        let set = |executor| {
            let template = work("w", json!([map("a")]), Some(executor)).spec;
            let spec = json!({ "manifestWorkTemplate": template, "placementRefs": [{ "name": "p" }] });
            serde_json::from_value(json!({ "metadata": { "name": "s" }, "spec": spec })).unwrap()
        };
        assert_eq!(refused(sets.create(&how, &set("large")).await).0, 403);
        sets.create(&how, &set("small")).await.unwrap();
        let works: Api<ManifestWork> = Api::namespaced(sets.into_client(), "default");
        let other = json!({ "spec": { "workload": { "manifests": [map("b")] } } });
        works
            .patch("w", &PatchParams::default(), &Patch::Merge(other))
            .await
            .unwrap();
        hub.stop().await;
    }
}
