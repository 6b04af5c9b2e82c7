//! Somebody else has a say in writes.

use std::sync::{Arc, Mutex};

use portolan_hub::{Admission, AdmissionRequest, Operation, Refusal, Verdict};

use super::*;

/// Marks objects, remembers what it was asked, and refuses what is called "forbidden" or sized 13.
#[derive(Clone, Default)]
struct Policy {
    seen: Arc<Mutex<Vec<String>>>,
    requests: Arc<Mutex<Vec<AdmissionRequest>>>,
}

impl Policy {
    fn note(&self, phase: &str, request: &AdmissionRequest, object: Option<&Value>) {
        let size = object.map_or("-".to_owned(), |object| object["spec"]["size"].to_string());
        let line = format!(
            "{phase} {:?} {}/{} {} size={size} old={}",
            request.operation,
            request.resource,
            request.subresource,
            request.name,
            request
                .old
                .as_ref()
                .map_or("-".to_owned(), |old| old["spec"]["size"].to_string()),
        );
        self.seen.lock().unwrap().push(line);
        self.requests.lock().unwrap().push(request.clone());
    }

    fn taken(&self) -> Vec<String> {
        self.requests.lock().unwrap().clear();
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

impl Admission for Policy {
    fn mutate<'a>(
        &'a self,
        request: &'a AdmissionRequest,
        object: &'a mut Value,
        warnings: &'a mut Vec<String>,
    ) -> Verdict<'a, ()> {
        Box::pin(async move {
            self.note("mutate", request, Some(object));
            if object["spec"]["size"] == 7 {
                object["spec"]["size"] = json!(8);
                object["spec"]["unknown"] = json!("pruned");
                warnings.push("seven was rounded up".to_owned());
            }
            if request.name == "unreadable" {
                object["metadata"]["labels"] = json!(1);
            }
            Ok(())
        })
    }

    fn validate<'a>(
        &'a self,
        request: &'a AdmissionRequest,
        object: Option<&'a Value>,
        warnings: &'a mut Vec<String>,
    ) -> Verdict<'a, ()> {
        Box::pin(async move {
            self.note("validate", request, object);
            if object.is_some_and(|object| object["spec"]["size"] == 13) {
                let refusal = Refusal::new(422, "Invalid", "thirteen is not served");
                return Err(refusal.cause("FieldValueInvalid", "unlucky", "spec.size"));
            }
            if request.name == "odd" {
                return Err(match request.operation {
                    Operation::Create => Refusal::new(409, "AlreadyExists", "says admission"),
                    _ => Refusal::new(404, "NotFound", "says admission"),
                });
            }
            if request.name == "forbidden" {
                return Err(Refusal::forbidden("not this one"));
            }
            warnings.push(format!("{:?} was looked at", request.operation));
            Ok(())
        })
    }
}

async fn start() -> (Hub, Client, Policy) {
    let policy = Policy::default();
    let hub = Hub::builder().admission(policy.clone()).start().await.unwrap();
    let client = Client::of(&hub);
    let spec = json!({"type": "object", "properties": {
        "size": {"type": "integer", "maximum": 20}, "colour": {"type": "string", "default": "red"},
    }});
    client.create(DEFINITIONS, &widgets(spec)).await.ok();
    policy.taken();
    (hub, client, policy)
}

fn named(name: &str, size: u32) -> Value {
    let mut widget = widget(json!({"size": size}));
    widget["metadata"]["name"] = name.into();
    widget
}

#[tokio::test]
async fn an_object_is_changed_first_then_validated_then_admitted() {
    let (_hub, client, policy) = start().await;
    let created = client.create(WIDGETS, &named("w", 7)).await;
    assert_eq!(
        created.warnings,
        ["299 - \"seven was rounded up\"", "299 - \"Create was looked at\""]
    );
    assert_eq!(
        created.ok()["spec"],
        json!({"size": 8, "colour": "red"}),
        "pruned and defaulted after the change"
    );
    assert_eq!(
        policy.taken(),
        [
            "mutate Create widgets/ w size=7 old=-",
            "validate Create widgets/ w size=8 old=-"
        ]
    );
    let refused = client.create(WIDGETS, &named("x", 99)).await;
    assert_eq!(refused.code, 422, "the schema refuses it");
    assert_eq!(
        policy.taken(),
        ["mutate Create widgets/ x size=99 old=-"],
        "nobody is asked about what is invalid"
    );
}

#[tokio::test]
async fn every_way_to_write_is_admitted() {
    let (_hub, client, policy) = start().await;
    client.create(WIDGETS, &named("w", 1)).await.ok();
    let path = format!("{WIDGETS}/w");
    policy.taken();
    client.merge(&path, &json!({"spec": {"size": 2}})).await.ok();
    client
        .merge(&format!("{path}/status"), &json!({"status": {"phase": "x"}}))
        .await
        .ok();
    let apply = format!("{path}?fieldManager=me&force=true");
    client
        .send("PATCH", &apply, "application/apply-patch+yaml", &named("w", 3))
        .await
        .ok();
    client.delete(&path).await.ok();
    client.create(WIDGETS, &named("v", 4)).await.ok();
    client.delete(WIDGETS).await.ok();
    assert_eq!(
        policy.taken(),
        [
            "mutate Update widgets/ w size=2 old=1",
            "validate Update widgets/ w size=2 old=1",
            "mutate Update widgets/status w size=2 old=2",
            "validate Update widgets/status w size=2 old=2",
            "mutate Update widgets/ w size=3 old=2",
            "validate Update widgets/ w size=3 old=2",
            "validate Delete widgets/ w size=- old=3",
            "mutate Create widgets/ v size=4 old=-",
            "validate Create widgets/ v size=4 old=-",
            "validate Delete widgets/ v size=- old=4",
        ]
    );
}

#[tokio::test]
async fn a_refusal_reaches_the_client_as_it_was_worded_and_nothing_is_stored() {
    let (_hub, client, _policy) = start().await;
    let refused = client.create(WIDGETS, &named("w", 13)).await;
    assert_eq!(
        refused.refusal(),
        (
            422,
            "Invalid",
            vec!["FieldValueInvalid spec.size: unlucky".to_owned()]
        )
    );
    assert_eq!(refused.body["message"], "thirteen is not served");
    assert_eq!(refused.body["details"]["kind"], "Widget");
    assert_eq!(client.get(&format!("{WIDGETS}/w")).await.code, 404);
    let refused = client.create(WIDGETS, &named("forbidden", 1)).await;
    assert_eq!(refused.refusal(), (403, "Forbidden", Vec::new()));
    let refused = client.create(WIDGETS, &named("unreadable", 1)).await;
    assert_eq!(
        refused.code, 500,
        "what admission breaks is not the client's fault"
    );
}

#[tokio::test]
async fn admission_knows_who_writes_and_how() {
    let (hub, _client, policy) = start().await;
    let client = Client(hub.service_for("ann", &["system:masters"]));
    let path = format!("{WIDGETS}?dryRun=All&fieldManager=me&fieldValidation=Strict");
    client.create(&path, &named("w", 1)).await.ok();
    let request = policy.requests.lock().unwrap().last().unwrap().clone();
    assert_eq!((request.operation, request.dry_run), (Operation::Create, true));
    assert_eq!(request.user.name, "ann");
    assert!(request.user.groups.contains(&"system:masters".to_owned()));
    assert_eq!(
        (request.group.as_str(), request.version.as_str()),
        ("example.com", "v1")
    );
    assert_eq!(
        (request.kind.as_str(), request.namespace.as_str()),
        ("Widget", "default")
    );
    assert_eq!(
        request.options,
        json!({
            "apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions", "dryRun": ["All"], "fieldManager": "me",
            "fieldValidation": "Strict",
        })
    );
    let refused = client.create(&path, &named("w", 13)).await;
    assert_eq!(refused.code, 422, "a dry run is admitted as if it were none");
}

#[tokio::test]
async fn a_refusal_that_reads_like_one_of_the_hubs_own_is_final() {
    let (_hub, client, _policy) = start().await;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases/odd";
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "odd"}});
    let refused = client.replace(leases, &lease).await;
    assert_eq!(refused.refusal(), (409, "AlreadyExists", Vec::new()));
    let path = format!("{WIDGETS}/odd?fieldManager=me");
    let refused = client
        .send("PATCH", &path, "application/apply-patch+yaml", &named("odd", 1))
        .await;
    assert_eq!(refused.refusal(), (409, "AlreadyExists", Vec::new()));
}
