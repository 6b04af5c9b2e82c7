//! `portolan up --spokes` and `portolan demo` as processes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, ClusterResourceScope, GroupVersionKind};
use kube::{Api, Client, Config, Resource};
use portolan_api::cluster::ManagedCluster;
use portolan_api::work::ManifestWork;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::hub::Live;
use super::process::Process;
use super::support::{Scratch, portolan};
use super::up::Up;

/// The workloads of a member, seen through its kubeconfig.
pub(crate) struct Member {
    runtime: tokio::runtime::Runtime,
    client: Client,
}

impl Member {
    pub(crate) fn new(kubeconfig: &str, name: &str) -> Member {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let options = KubeConfigOptions {
            context: Some(name.to_owned()),
            ..KubeConfigOptions::default()
        };
        let client = runtime.block_on(async {
            let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
            let config = Config::from_custom_kubeconfig(kubeconfig, &options)
                .await
                .unwrap();
            Client::try_from(config).unwrap()
        });
        Member { runtime, client }
    }

    fn api(&self, group: &str, kind: &str) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
        Api::default_namespaced_with(self.client.clone(), &resource)
    }

    pub(crate) fn create(&self, group: &str, kind: &str, name: &str, spec: Value) {
        let version = format!("{group}/v1");
        let object = json!({"apiVersion": version.trim_start_matches('/'), "kind": kind, "metadata": {"name": name}, "spec": spec});
        let object = serde_json::from_value(object).unwrap();
        let api = self.api(group, kind);
        let created = self.runtime.block_on(api.create(&PostParams::default(), &object));
        created.unwrap();
    }

    /// On the hub: a work with one manifest for a cluster.
    fn work(&self, cluster: &str, name: &str, manifest: Value) {
        let work = serde_json::from_value(json!({
            "metadata": {"name": name}, "spec": {"workload": {"manifests": [manifest]}},
        }))
        .unwrap();
        let works: Api<ManifestWork> = Api::namespaced(self.client.clone(), cluster);
        let created = self.runtime.block_on(works.create(&PostParams::default(), &work));
        created.unwrap();
    }

    /// Whether a ConfigMap is there.
    fn has(&self, name: &str) -> bool {
        let api: Api<ConfigMap> = Api::default_namespaced(self.client.clone());
        self.runtime.block_on(api.get_opt(name)).unwrap().is_some()
    }

    fn until_there(&self, name: &str) {
        self.until(&format!("{name} is there"), || self.has(name));
    }

    fn until(&self, what: &str, holds: impl Fn() -> bool) {
        for _ in 0..1_200 {
            if holds() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("never: {what}");
    }

    /// On the hub: deletes an object without a namespace, as kubectl does without waiting.
    fn delete<K>(&self, name: &str)
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope> + Clone + DeserializeOwned + Debug,
    {
        let api: Api<K> = Api::all(self.client.clone());
        let deleted = self.runtime.block_on(api.delete(name, &DeleteParams::default()));
        deleted.unwrap();
    }

    /// On the hub: the UID of a namespace.
    fn namespace(&self, name: &str) -> Option<String> {
        let api: Api<Namespace> = Api::all(self.client.clone());
        let found = self.runtime.block_on(api.get_opt(name)).unwrap();
        found.and_then(|namespace| namespace.metadata.uid)
    }

    /// On the hub: waits until the Available condition of a cluster has a status.
    fn until_available(&self, cluster: &str, status: &str) {
        let api: Api<ManagedCluster> = Api::all(self.client.clone());
        self.runtime.block_on(async {
            for _ in 0..1_200 {
                let found = api.get(cluster).await.unwrap().status.unwrap_or_default();
                let is = |condition: &Condition| {
                    condition.type_ == "ManagedClusterConditionAvailable" && condition.status == status
                };
                if found.conditions.iter().any(is) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            panic!("{cluster} is never {status}");
        });
    }

    /// Creates an object of any kind.
    pub(crate) fn apply(&self, object: Value) {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let kind = GroupVersionKind::try_from(object.types.as_ref().unwrap()).unwrap();
        let plural = format!("{}s", kind.kind.to_lowercase());
        let resource = ApiResource::from_gvk_with_plural(&kind, &plural);
        let api: Api<DynamicObject> = Api::default_namespaced_with(self.client.clone(), &resource);
        let created = self.runtime.block_on(api.create(&PostParams::default(), &object));
        created.unwrap();
    }

    /// Waits for an object that is owned by one of this name, for two minutes.
    pub(crate) fn first_owned_by(&self, group: &str, kind: &str, owner: &str) -> String {
        let api = self.api(group, kind);
        self.runtime.block_on(async {
            for _ in 0..1_200 {
                let listed = api.list(&ListParams::default()).await.unwrap();
                let mut owned = listed.items.into_iter().filter(|object| {
                    let owners = object.metadata.owner_references.iter().flatten();
                    owners.into_iter().any(|reference| reference.name == owner)
                });
                if let Some(name) = owned.next().and_then(|object| object.metadata.name) {
                    return name;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            panic!("{owner} never made a {kind}");
        })
    }

    /// On the hub: waits until a work of a cluster reports a value of this name.
    pub(crate) fn until_reported(&self, cluster: &str, name: &str) {
        let works: Api<ManifestWork> = Api::namespaced(self.client.clone(), cluster);
        self.runtime.block_on(async {
            for _ in 0..600 {
                let listed = works.list(&ListParams::default()).await.unwrap();
                let manifests = listed
                    .items
                    .into_iter()
                    .filter_map(|work| work.status?.resource_status)
                    .flat_map(|status| status.manifests);
                let feedback = manifests.filter_map(|manifest| manifest.status_feedback);
                let mut values = feedback.flat_map(|feedback| feedback.values);
                if values.any(|value| value.name == name && value.field_value.string.is_some()) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            panic!("{name} is never reported");
        });
    }

    /// Waits until a field of the status has a value.
    pub(crate) fn wait(&self, group: &str, kind: &str, name: &str, pointer: &str, value: Value) {
        let api = self.api(group, kind);
        self.runtime.block_on(async {
            for _ in 0..600 {
                let object = api.get_opt(name).await.unwrap();
                let found = object.and_then(|object| object.data.pointer(pointer).cloned());
                if found.is_some_and(|found| found == value) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            panic!("{name} never had {pointer} {value}");
        });
    }
}

fn template() -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}})
}

#[test]
fn members_are_joined_their_workloads_are_simulated_and_fail_and_recover_on_request() {
    let scratch = Scratch::new();
    let up = Up::start(&scratch, &["--spokes", "3", "--data", "data"]);
    let clusters = up.ask_json(&scratch, &["get", "clusters"]);
    let names: Vec<&str> = clusters
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["name"].as_str())
        .collect();
    assert_eq!(names, ["member-1", "member-2", "member-3"]);

    let kubeconfig = scratch.path().join("data/members.kubeconfig");
    let member = Member::new(kubeconfig.to_str().unwrap(), "member-2");
    let spec = json!({"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template()});
    member.create("apps", "Deployment", "web", spec);
    member.wait("apps", "Deployment", "web", "/status/availableReplicas", json!(2));
    let mut pod = template();
    pod["spec"]["restartPolicy"] = json!("Never");
    member.create("batch", "Job", "train", json!({"template": pod}));
    member.wait("batch", "Job", "train", "/status/succeeded", json!(1));

    let hub = Member::new(&up.kubeconfig, "portolan");
    hub.until_available("member-2", "True");
    let said = up.ask(&scratch, &["demo", "fail", "member-2"]);
    assert!(said.contains("become unavailable"), "{said}");
    hub.until_available("member-2", "False");
    member.wait(
        "apps",
        "Deployment",
        "web",
        "/status/unavailableReplicas",
        json!(2),
    );
    let said = up.ask(&scratch, &["demo", "recover", "member-2"]);
    assert!(said.contains("recovers"), "{said}");
    hub.until_available("member-2", "True");
    member.wait("apps", "Deployment", "web", "/status/availableReplicas", json!(2));
    let said = up.ask(&scratch, &["demo", "partition", "member-3"]);
    assert!(said.contains("in 25s"), "{said}");

    let args = ["demo", "fail", "member-9", "--kubeconfig", &up.kubeconfig];
    let run = portolan(scratch.path(), &args, "");
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("accepted: member-1, member-2, member-3"),
        "{}",
        run.stderr
    );
    up.stop();
}

#[test]
fn a_work_on_the_hub_becomes_a_workload_on_the_member_and_goes_with_it() {
    let scratch = Scratch::new();
    let up = Up::start(&scratch, &["--spokes", "2", "--data", "data"]);
    let hub = Member::new(&up.kubeconfig, "portolan");
    let kubeconfig = scratch.path().join("data/members.kubeconfig");
    let member = Member::new(kubeconfig.to_str().unwrap(), "member-2");
    let web = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template()},
    });
    hub.work("member-2", "web", web);
    let works: Api<ManifestWork> = Api::namespaced(hub.client.clone(), "member-2");
    member.wait("apps", "Deployment", "web", "/status/availableReplicas", json!(3));
    let deleted = hub
        .runtime
        .block_on(works.delete("web", &DeleteParams::default()));
    deleted.unwrap();
    let deployments = member.api("apps", "Deployment");
    member.runtime.block_on(async {
        while deployments.get_opt("web").await.unwrap().is_some() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    up.stop();
}

#[test]
fn a_member_that_is_cut_off_becomes_unknown_keeps_its_workloads_and_catches_up() {
    let scratch = Scratch::new();
    let mut up = Up::start(&scratch, &["--spokes", "1", "--data", "data"]);
    let hub = Member::new(&up.kubeconfig, "portolan");
    let kubeconfig = scratch.path().join("data/members.kubeconfig");
    let member = Member::new(kubeconfig.to_str().unwrap(), "member-1");
    let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}});
    hub.work("member-1", "before", map("before"));
    member.until_there("before");
    hub.until_available("member-1", "True");

    up.ask(&scratch, &["demo", "partition", "member-1"]);
    let said = up.log_with(&["WARN portolan::up: member-1 is cut off"]);
    assert!(said.trim_end().chars().count() <= 80, "{said}");
    hub.until_available("member-1", "Unknown");
    hub.work("member-1", "after", map("after"));
    assert!(
        member.has("before"),
        "nothing is removed because the hub cannot be reached"
    );
    assert!(!member.has("after"));

    up.ask(&scratch, &["demo", "recover", "member-1"]);
    hub.until_available("member-1", "True");
    member.until_there("after");
    // That the hub is out of reach was asked for, and is said once.
    let log = up.stop_and_read();
    let of_member = log.lines().filter(|line| line.contains("member-1"));
    let of_member: Vec<&str> = of_member.collect();
    assert!(
        matches!(of_member.as_slice(), [back] if back.contains("the hub answers again")),
        "{log}"
    );
}

#[test]
fn the_agent_of_a_member_that_leaves_ends_and_the_next_start_joins_it_again() {
    let scratch = Scratch::new();
    let start = || {
        let args = ["--spokes", "2", "--data", "data", "--log-level", "info"];
        Up::start(&scratch, &args)
    };
    let mut up = start();
    Member::new(&up.kubeconfig, "portolan").until_available("member-2", "True");
    let left = [
        &["leave", "member-2", "--hub", &up.kubeconfig][..],
        &["--timeout", "60s"],
    ];
    let left = portolan(scratch.path(), &left.concat(), "");
    assert_eq!(left.code, 0, "{}", left.stderr);
    up.log_with(&["member-2", "has left the hub and its agent has ended"]);
    assert_eq!(clusters(&up, &scratch), ["member-1"]);
    // An agent that went on would be refused from now on, and say so.
    let log = up.stop_and_read();
    assert!(!log.contains("403"), "{log}");

    let up = start();
    Member::new(&up.kubeconfig, "portolan").until_available("member-2", "True");
    up.stop();
}

#[test]
fn a_member_that_is_deleted_with_kubectl_alone_loses_its_objects() {
    let scratch = Scratch::new();
    let mut up = Up::start(
        &scratch,
        &["--spokes", "1", "--data", "data", "--log-level", "info"],
    );
    let hub = Member::new(&up.kubeconfig, "portolan");
    let kubeconfig = scratch.path().join("data/members.kubeconfig");
    let member = Member::new(kubeconfig.to_str().unwrap(), "member-1");
    hub.until_available("member-1", "True");
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "sent", "namespace": "default"}});
    hub.work("member-1", "sent", map);
    member.until_there("sent");

    hub.delete::<ManagedCluster>("member-1");
    hub.delete::<Namespace>("member-1");
    hub.until("the namespace is gone", || hub.namespace("member-1").is_none());
    assert!(!member.has("sent"), "the agent has removed what it applied");
    up.log_with(&["member-1", "has left the hub and its agent has ended"]);
    up.stop();
}

#[test]
fn a_namespace_of_a_member_that_is_made_anew_gets_the_rights_of_its_agent() {
    let scratch = Scratch::new();
    let mut up = Up::start(
        &scratch,
        &["--spokes", "1", "--data", "data", "--log-level", "info"],
    );
    let hub = Member::new(&up.kubeconfig, "portolan");
    let kubeconfig = scratch.path().join("data/members.kubeconfig");
    let member = Member::new(kubeconfig.to_str().unwrap(), "member-1");
    hub.until_available("member-1", "True");
    let first = hub.namespace("member-1");

    hub.delete::<Namespace>("member-1");
    hub.until("another namespace is there", || {
        let now = hub.namespace("member-1");
        now.is_some() && now != first
    });
    up.log_with(&["member-1", "the agent has its rights there again"]);
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "sent", "namespace": "default"}});
    hub.work("member-1", "sent", map);
    member.until_there("sent");
    up.stop();
}

/// The names of all clusters, as `portolan get clusters` has them.
fn clusters(up: &Up, scratch: &Scratch) -> Vec<String> {
    let rows = up.ask_json(scratch, &["get", "clusters"]);
    let rows = rows.as_array().unwrap();
    let names = rows.iter().filter_map(|row| row["name"].as_str());
    names.map(str::to_owned).collect()
}

#[test]
fn members_of_an_earlier_start_stay_with_their_works_until_their_removal_is_asked() {
    let scratch = Scratch::new();
    let start = |args: &[&str]| Up::start(&scratch, &[&["--data", "data"], args].concat());
    let kubeconfig = scratch.path().join("data/members.kubeconfig");
    let third = || Member::new(kubeconfig.to_str().unwrap(), "member-3");

    let up = start(&["--spokes", "3"]);
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "sent", "namespace": "default"}});
    Member::new(&up.kubeconfig, "portolan").work("member-3", "sent", map);
    third().until_there("sent");
    up.stop();

    let mut up = start(&["--spokes", "1"]);
    let said = up.line_with(&["not running"]);
    assert!(said.contains("member-2, member-3"), "{said}");
    let said = up.line_with(&["--spokes 3", "--forget-members"]);
    assert!(said.contains("removes them"), "{said}");
    // The kubeconfig of the members of the earlier start is not that of the hub.
    let said = up.line_with(&["kubectl", "get managedclusters"]);
    assert!(!said.contains("--kubeconfig"), "{said}");
    assert_eq!(clusters(&up, &scratch), ["member-1", "member-2", "member-3"]);
    up.stop();

    let up = start(&["--spokes", "3"]);
    third().until_there("sent");
    // A cluster of somebody's own that looks like one of them.
    let label = ["--label", "portolan.dev/embedded-member=true"];
    let join = ["join", "member-9", "--write", "member-9.kubeconfig"];
    up.ask(&scratch, &[&join[..], &label].concat());
    // One of its own cannot have the name of a member before the member is forgotten.
    let join = ["join", "member-2", "--write", "member-2.kubeconfig"];
    let refused = portolan(
        scratch.path(),
        &[&join[..], &["--kubeconfig", &up.kubeconfig]].concat(),
        "",
    );
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("--forget-members"), "{refused:?}");
    up.stop();

    let up = start(&["--spokes", "1", "--forget-members"]);
    assert_eq!(clusters(&up, &scratch), ["member-1", "member-9"]);
    let hub = Member::new(&up.kubeconfig, "portolan");
    let namespaces: Api<Namespace> = Api::all(hub.client.clone());
    hub.runtime.block_on(async {
        // The work there waited for an agent that never comes back.
        for name in ["member-2", "member-3"] {
            while namespaces.get_opt(name).await.unwrap().is_some() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    });
    up.ask(&scratch, &join);
    up.stop();

    let mut up = start(&[]);
    let said = up.line_with(&["not running"]);
    assert!(
        said.contains("member-1: an embedded member of an earlier start"),
        "{said}"
    );
    assert!(!said.contains("member-9"), "{said}");
    up.stop();

    // Nor does it become one.
    let refused = portolan(scratch.path(), &["up", "--data", "data", "--spokes", "9"], "");
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("the cluster member-2 is on the hub already"),
        "{refused:?}"
    );
}

#[test]
fn a_demo_beside_members_selects_them_too_and_leaves_them_alone_when_it_shrinks() {
    let scratch = Scratch::new();
    let start = |clusters: &str| {
        let args = [
            "--demo",
            "--clusters",
            clusters,
            "--spokes",
            "2",
            "--data",
            "data",
        ];
        Up::start(&scratch, &args)
    };
    let mut up = start("20");
    up.line_with(&["platform/agents"]);
    // They join while the first decision is made.
    let mut chosen = String::new();
    for _ in 0..600 {
        chosen = up.ask(&scratch, &["get", "decisions", "platform/agents"]);
        if chosen.contains("member-1") && chosen.contains("member-2") {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(
        chosen.contains("member-1") && chosen.contains("member-2"),
        "{chosen}"
    );
    assert_eq!(clusters(&up, &scratch).len(), 22);
    up.stop();

    let up = start("5");
    for _ in 0..600 {
        if clusters(&up, &scratch).len() == 7 {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let left = clusters(&up, &scratch);
    assert_eq!(left.len(), 7, "{left:?}");
    assert!(left.contains(&"member-1".to_owned()) && left.contains(&"member-2".to_owned()));
    up.stop();
}

#[test]
fn workloads_are_simulated_on_any_api_server_that_takes_the_part_of_a_member() {
    let scratch = Scratch::new();
    let live = Live::bare(scratch.path());
    let member = Member::new(live.argument(), "portolan");
    let spec = json!({"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template()});
    member.create("apps", "Deployment", "web", spec);
    let args = ["demo", "workloads", "--spoke", live.argument()];
    let mut workloads = Process::start(scratch.path(), &args, &BTreeMap::new());
    workloads.log_with(&["workloads are simulated"]);
    member.wait("apps", "Deployment", "web", "/status/availableReplicas", json!(2));
    assert_eq!(workloads.stop().0, Some(0));
    live.stop();
}

#[test]
fn where_there_are_no_members_the_demo_says_how_to_start_them() {
    let scratch = Scratch::new();
    let up = Up::start(&scratch, &["--in-memory"]);
    let args = ["demo", "fail", "member-1", "--kubeconfig", &up.kubeconfig];
    let run = portolan(scratch.path(), &args, "");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("portolan up --spokes N"), "{}", run.stderr);
    up.stop();
}
