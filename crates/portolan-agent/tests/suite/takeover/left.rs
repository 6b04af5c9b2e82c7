//! What another agent leaves behind when it stops: objects, records and works, and what becomes of them.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use portolan_agent::Agent;
use portolan_api::work::AppliedManifestWork;
use serde_json::{Value, json};

use super::{hub_hash, record_name, records};
use crate::network::Faults;
use crate::world::{World, eventually};

/// Two works of another agent with everything that it treats in a way of its own. The names of works and objects start with
/// `name`.
pub(super) struct Left<'a> {
    world: &'a World,
    name: String,
}

/// What must not change while one agent takes the place of another: UID, generation, replicas and owners of every object, the
/// UIDs of the records, and which conditions of the works are True since when.
pub(super) type Seen = BTreeMap<String, String>;

impl<'a> Left<'a> {
    /// Leaves all of it. The work `NAME-web` has a ConfigMap that was updated, one that was only made (`CreateOnly`), one that is
    /// only looked at, one that is to stay, one that the work `NAME-other` has too, a Secret that was written as `stringData`
    /// and a Deployment that somebody has scaled. The work `NAME-other` failed in part: it has a kind that is not served.
    pub(super) async fn behind(world: &'a World, name: &str) -> Left<'a> {
        let left = Left {
            world,
            name: name.to_owned(),
        };
        let web = left.record("web").await;
        let other = left.record("other").await;
        let mut of_web = Vec::new();
        for (map, manager, owners) in [
            ("owned", "work-agent", vec![&web]),
            ("made", "work-agent", vec![&web]),
            ("read", "somebody", vec![]),
            ("kept", "work-agent", vec![]),
            ("shared", "work-agent", vec![&web, &other]),
        ] {
            of_web.push(left.config_map(map, manager, &owners).await);
        }
        let of_other = vec![of_web.last().cloned().unwrap()];
        of_web.push(left.secret(&web).await);
        of_web.push(left.deployment(&web).await);
        left.list("web", of_web).await;
        left.list("other", of_other).await;
        left.works().await;
        left.statuses().await;
        left
    }

    /// The same works, for an agent that applies them itself. What is only looked at is there.
    pub(super) async fn wanted(world: &'a World, name: &str) -> Left<'a> {
        let left = Left {
            world,
            name: name.to_owned(),
        };
        left.config_map("read", "somebody", &[]).await;
        left.works().await;
        left
    }

    /// Somebody scales the Deployment.
    pub(super) async fn scale(&self) {
        let five = Patch::Merge(json!({ "spec": { "replicas": 5 } }));
        let (deployments, name) = (self.deployments(), self.named("web"));
        deployments
            .patch(&name, &PatchParams::default(), &five)
            .await
            .unwrap();
    }

    pub(super) fn named(&self, part: &str) -> String {
        format!("{}-{part}", self.name)
    }

    fn deployments(&self) -> Api<Deployment> {
        Api::namespaced(self.world.spoke.client(), &self.world.namespace)
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.world.spoke.client(), &self.world.namespace)
    }

    /// Makes the record of a work and returns the owner reference to it.
    async fn record(&self, work: &str) -> Value {
        let name = record_name(self.world, &self.named(work));
        let record: AppliedManifestWork = serde_json::from_value(json!({
            "metadata": {
                "name": name, "finalizers": ["cluster.open-cluster-management.io/applied-manifest-work-cleanup"],
            },
            "spec": {
                "hubHash": hub_hash(self.world), "agentID": "klusterlet", "manifestWorkName": self.named(work),
            },
        }))
        .unwrap();
        let made = records(self.world).create(&PostParams::default(), &record).await;
        json!({
            "apiVersion": "work.open-cluster-management.io/v1", "kind": "AppliedManifestWork", "name": name,
            "uid": made.unwrap().uid(),
        })
    }

    /// Writes down what a work has applied.
    async fn list(&self, work: &str, resources: Vec<Value>) {
        let status = Patch::Merge(json!({ "status": { "appliedResources": resources } }));
        let name = record_name(self.world, &self.named(work));
        let (records, how) = (records(self.world), PatchParams::default());
        records.patch_status(&name, &how, &status).await.unwrap();
    }

    fn entry(&self, group: &str, resource: &str, name: &str, uid: Option<String>) -> Value {
        json!({
            "group": group, "version": "v1", "resource": resource, "namespace": self.world.namespace, "name": name, "uid": uid,
        })
    }

    async fn config_map(&self, map: &str, manager: &str, owners: &[&Value]) -> Value {
        let mut object = self.world.config_map(&self.named(map), "1");
        object["metadata"]["ownerReferences"] = json!(owners);
        let object = serde_json::from_value(object).unwrap();
        let made = self.world.config_maps().create(&by(manager), &object).await;
        self.entry("", "configmaps", &self.named(map), made.unwrap().uid())
    }

    async fn secret(&self, owner: &Value) -> Value {
        let object = json!({
            "metadata": { "name": self.named("secret"), "ownerReferences": [owner] },
            "data": { "password": "c2VjcmV0" }, "type": "Opaque",
        });
        let object = serde_json::from_value(object).unwrap();
        let made = self.secrets().create(&by("work-agent"), &object).await;
        self.entry("", "secrets", &self.named("secret"), made.unwrap().uid())
    }

    async fn deployment(&self, owner: &Value) -> Value {
        let mut object = self.deployment_manifest();
        let template = object.pointer_mut("/spec/template/metadata").unwrap();
        let _ = template.as_object_mut().unwrap().remove("creationTimestamp");
        object["metadata"]["annotations"] =
            json!({ "open-cluster-management.io/config-spec-hash": "of-another-time" });
        let (deployments, name) = (self.deployments(), self.named("web"));
        let how = PatchParams::apply("work-agent");
        deployments
            .patch(&name, &how, &Patch::Apply(object))
            .await
            .unwrap();
        let mut made = None;
        for change in [
            json!({ "metadata": { "ownerReferences": [owner] } }),
            json!({ "spec": { "replicas": 5 } }),
        ] {
            let how = PatchParams::default();
            made = Some(
                deployments
                    .patch(&name, &how, &Patch::Merge(change))
                    .await
                    .unwrap(),
            );
        }
        self.entry("apps", "deployments", &name, made.unwrap().uid())
    }

    /// As programs in Go write one: with an empty time in the template.
    fn deployment_manifest(&self) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": self.named("web"), "namespace": self.world.namespace },
            "spec": {
                "replicas": 1, "selector": { "matchLabels": { "app": "web" } },
                "template": { "metadata": { "labels": { "app": "web" }, "creationTimestamp": null },
                    "spec": { "containers": [{ "name": "web", "image": "nginx" }] } },
            },
        })
    }

    async fn works(&self) {
        let world = self.world;
        let of = |group: &str, resource: &str, part: &str| json!({ "group": group, "resource": resource, "namespace": world.namespace, "name": self.named(part) });
        let map = |part: &str| world.config_map(&self.named(part), "1");
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "stringData": { "password": "secret" },
            "metadata": { "name": self.named("secret"), "namespace": world.namespace },
        });
        let manifests = [
            map("owned"),
            map("made"),
            map("read"),
            map("kept"),
            map("shared"),
            secret,
            self.deployment_manifest(),
        ];
        let config =
            |of: Value, strategy: Value| json!({ "resourceIdentifier": of, "updateStrategy": strategy });
        let ignored = json!({ "force": true, "ignoreFields": [
            { "condition": "OnSpokeChange", "jsonPaths": [".spec.replicas"] },
        ] });
        let spec = json!({
            "deleteOption": {
                "propagationPolicy": "SelectivelyOrphan",
                "selectivelyOrphans": { "orphaningRules": [of("", "configmaps", "kept")] },
            },
            "manifestConfigs": [
                config(of("", "configmaps", "read"), json!({ "type": "ReadOnly" })),
                config(of("", "configmaps", "made"), json!({ "type": "CreateOnly" })),
                config(
                    of("apps", "deployments", "web"),
                    json!({ "type": "ServerSideApply", "serverSideApply": ignored }),
                ),
            ],
        });
        world.create_work_with(&self.named("web"), &manifests, spec).await;
        let unknown = json!({
            "apiVersion": "nowhere.example.com/v1", "kind": "Unknown",
            "metadata": { "name": self.named("unknown"), "namespace": world.namespace },
        });
        world
            .create_work(&self.named("other"), &[map("shared"), unknown])
            .await;
    }

    async fn statuses(&self) {
        let world = self.world;
        for (work, status, reason) in [
            ("web", "True", "AppliedManifestWorkComplete"),
            ("other", "False", "AppliedManifestWorkFailed"),
        ] {
            let held = json!({ "finalizers": ["cluster.open-cluster-management.io/manifest-work-cleanup"] });
            world
                .patch_work(&self.named(work), json!({ "metadata": held }))
                .await;
            let said = json!({
                "type": "Applied", "status": status, "reason": reason, "message": "as another agent says it",
                "lastTransitionTime": SINCE, "observedGeneration": 1,
            });
            let status = Patch::Merge(json!({ "status": { "conditions": [said] } }));
            let how = PatchParams::default();
            let said = world
                .manifest_works()
                .patch_status(&self.named(work), &how, &status)
                .await;
            said.unwrap();
        }
    }

    pub(super) async fn seen(&self) -> Seen {
        let mut seen = Seen::new();
        let mut add = |of: &str, what: String| drop(seen.insert(of.to_owned(), what));
        for map in self
            .world
            .config_maps()
            .list(&ListParams::default())
            .await
            .unwrap()
        {
            if let Some(part) = self.part(&map.name_any()) {
                add(part, format!("{:?} {:?} {:?}", map.uid(), map.data, owners(&map)));
            }
        }
        for secret in self.secrets().list(&ListParams::default()).await.unwrap() {
            if let Some(part) = self.part(&secret.name_any()) {
                add(
                    part,
                    format!("{:?} {:?} {:?}", secret.uid(), secret.data, owners(&secret)),
                );
            }
        }
        if let Some(web) = self.deployments().get_opt(&self.named("web")).await.unwrap() {
            let replicas = web.spec.as_ref().and_then(|spec| spec.replicas);
            let generation = web.metadata.generation;
            add(
                "web",
                format!("{:?} {generation:?} {replicas:?} {:?}", web.uid(), owners(&web)),
            );
        }
        for work in ["web", "other"] {
            let record = records(self.world)
                .get_opt(&record_name(self.world, &self.named(work)))
                .await;
            if let Some(record) = record.unwrap() {
                add(&format!("record of {work}"), format!("{:?}", record.uid()));
            }
        }
        let work = self
            .world
            .manifest_works()
            .get_opt(&self.named("web"))
            .await
            .unwrap();
        let conditions = work.and_then(|work| work.status).unwrap_or_default().conditions;
        let applied = conditions.iter().find(|said| said.type_ == "Applied");
        if let Some(applied) = applied {
            add(
                "Applied",
                format!("{} {}", applied.status, applied.last_transition_time.0),
            );
        }
        seen
    }

    fn part<'n>(&self, name: &'n str) -> Option<&'n str> {
        name.strip_prefix(&self.name)?.strip_prefix('-')
    }

    /// Whether an agent has taken over both works and said so.
    pub(super) async fn is_taken_over(&self) -> bool {
        self.is_held_by(&hub_hash(self.world)).await
    }

    /// Whether the records of both works are those of this agent, and both works have been reported on.
    pub(super) async fn is_held_by(&self, agent: &str) -> bool {
        for work in ["web", "other"] {
            let work = self.named(work);
            let record = record_name(self.world, &work);
            let Some(record) = records(self.world).get_opt(&record).await.unwrap() else {
                return false;
            };
            if record.spec.agent_id.as_deref() != Some(agent) {
                return false;
            }
            let work = self.world.manifest_works().get(&work).await.unwrap();
            let conditions = work.status.unwrap_or_default().conditions;
            if !conditions.iter().any(|said| said.type_ == "Available") {
                return false;
            }
        }
        true
    }

    /// Deletes both works. An agent has to run.
    pub(super) async fn delete(&self) {
        for work in ["web", "other"] {
            self.world.delete_work(&self.named(work)).await;
        }
        for work in ["web", "other"] {
            self.world.until_gone(&self.named(work)).await;
        }
    }

    /// Waits until the only objects that are left are those that were not owned, and nothing names a record any more.
    pub(super) async fn until_only_others_are_left(&self, before: &Seen) {
        let expected: Seen = before
            .iter()
            .filter(|(part, _)| ["read", "kept"].contains(&part.as_str()))
            .map(|(part, seen)| (part.clone(), seen.clone()))
            .collect();
        eventually(&format!("{expected:?} alone is left"), async || {
            self.seen().await == expected
        })
        .await;
    }
}

const SINCE: &str = "2026-01-01T00:00:00Z";

fn by(manager: &str) -> PostParams {
    PostParams {
        field_manager: Some(manager.to_owned()),
        ..PostParams::default()
    }
}

fn owners(object: &impl ResourceExt) -> Vec<String> {
    let owners = object.owner_references();
    owners
        .iter()
        .map(|owner| format!("{} {}", owner.name, owner.uid))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_another_agent_are_taken_over_unchanged_and_only_owned_ones_go() {
    let world = World::new().await;
    let left = Left::behind(&world, "x").await;
    let before = left.seen().await;
    assert_eq!(
        before.len(),
        10,
        "seven objects, two records, one condition: {before:?}"
    );
    let faults = [Faults::default()];
    let agent = Agent::start(
        world.hub.client(),
        faults[0].client(&world.spoke),
        world.settings(),
    );
    eventually("the works are taken over", async || left.is_taken_over().await).await;
    crate::owners::settle(&world, &faults).await;
    assert_eq!(left.seen().await, before);
    assert_eq!(faults[0].deletions(), 0);
    left.delete().await;
    left.until_only_others_are_left(&before).await;
    agent.stop().await;
}
