//! What people try first on an embedded member: each kind of workload; and members that do not run.

use std::process::Command;

use serde_json::json;

use super::spokes::Member;
use super::support::{Scratch, portolan};
use super::up::{Up, has_kubectl};

fn template() -> serde_json::Value {
    json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "a", "image": "nginx"}]}})
}

#[test]
fn a_member_runs_every_kind_of_workload_that_people_try_first() {
    let scratch = Scratch::new();
    let up = Up::start(&scratch, &["--in-memory", "--spokes", "1"]);
    let members = scratch.path().join("members.kubeconfig");
    let member = Member::new(members.to_str().unwrap(), "member-1");
    let set =
        || json!({"selector": {"matchLabels": {"app": "a"}}, "template": template(), "serviceName": "a"});
    member.create("apps", "StatefulSet", "db", set());
    let daemons = json!({"selector": {"matchLabels": {"app": "a"}}, "template": template()});
    member.create("apps", "DaemonSet", "log", daemons);
    let pod =
        |policy: &str| json!({"restartPolicy": policy, "containers": [{"name": "a", "image": "nginx"}]});
    member.create("", "Pod", "web", pod("Always"));
    member.create("", "Pod", "task", pod("Never"));
    let rules = json!({"rules": [{"host": "shop.example.com"}]});
    member.create("networking.k8s.io", "Ingress", "shop", rules);
    member.wait("apps", "StatefulSet", "db", "/status/readyReplicas", json!(1));
    member.wait("apps", "DaemonSet", "log", "/status/numberReady", json!(1));
    member.wait("", "Pod", "web", "/status/phase", json!("Running"));
    member.wait("", "Pod", "task", "/status/phase", json!("Succeeded"));
    let address = "/status/loadBalancer/ingress/0/ip";
    member.wait(
        "networking.k8s.io",
        "Ingress",
        "shop",
        address,
        json!("192.0.2.1"),
    );
    if has_kubectl() {
        let kubectl = |kinds: &str| {
            let output = Command::new("kubectl")
                .args(["--context", "member-1", "get", kinds, "--no-headers"])
                .env("HOME", scratch.path())
                .env("KUBECONFIG", &members)
                .output()
                .unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let row = |line: &str| {
                let words: Vec<&str> = line.split_whitespace().collect();
                words[..words.len() - 1].join(" ")
            };
            text.lines().map(row).collect::<Vec<_>>()
        };
        assert_eq!(kubectl("statefulsets"), ["db 1/1"]);
        assert_eq!(kubectl("daemonsets"), ["log 1 1 1 1 1 <none>"]);
        assert_eq!(kubectl("pods"), ["task 0/1 Completed 0", "web 1/1 Running 0"]);
        assert_eq!(
            kubectl("ingresses"),
            ["shop <none> shop.example.com 192.0.2.1 80"]
        );
    }
    up.stop();
}

/// The example of OCM's own pages: a CronJob that goes to every cluster, with a report of when it last ran.
#[test]
fn a_cron_job_of_a_replica_set_makes_jobs_on_its_member() {
    let scratch = Scratch::new();
    let up = Up::start(
        &scratch,
        &["--in-memory", "--spokes", "1", "--kubeconfig", "hub.kubeconfig"],
    );
    let cluster_api = "cluster.open-cluster-management.io";
    let manifest = json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "sync", "namespace": "default"},
        "spec": {"schedule": "* * * * *", "concurrencyPolicy": "Allow", "jobTemplate": {"spec": {"backoffLimit": 2,
            "template": {"spec": {"containers": [{"name": "a", "image": "busybox"}], "restartPolicy": "Never"}}}}},
    });
    let feedback = json!([{
        "resourceIdentifier": {"group": "batch", "resource": "cronjobs", "name": "sync", "namespace": "default"},
        "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [
            {"name": "lastScheduleTime", "path": ".status.lastScheduleTime"},
        ]}],
    }]);
    for object in [
        json!({"apiVersion": format!("{cluster_api}/v1beta2"), "kind": "ManagedClusterSetBinding",
            "metadata": {"name": "global", "namespace": "default"}, "spec": {"clusterSet": "global"}}),
        json!({"apiVersion": format!("{cluster_api}/v1beta1"), "kind": "Placement",
            "metadata": {"name": "everywhere", "namespace": "default"}, "spec": {}}),
        json!({"apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
            "metadata": {"name": "sync", "namespace": "default"},
            "spec": {"placementRefs": [{"name": "everywhere"}],
                "manifestWorkTemplate": {"workload": {"manifests": [manifest]}, "manifestConfigs": feedback}}}),
    ] {
        Member::new(&up.kubeconfig, "portolan").apply(object);
    }
    let members = scratch.path().join("members.kubeconfig");
    let member = Member::new(members.to_str().unwrap(), "member-1");
    // A minute at most until the next full one.
    let job = member.first_owned_by("batch", "Job", "sync");
    member.wait("batch", "Job", &job, "/status/succeeded", json!(1));
    let hub = Member::new(&up.kubeconfig, "portolan");
    hub.until_reported("member-1", "lastScheduleTime");
    up.stop();
}

#[test]
fn a_member_that_does_not_run_is_not_said_to_fail() {
    let scratch = Scratch::new();
    Up::start(&scratch, &["--data", "data", "--spokes", "2"]).stop();
    let up = Up::start(&scratch, &["--data", "data", "--spokes", "1"]);
    let demo = |what: &str, member: &str| {
        let args = ["demo", what, member, "--kubeconfig", &up.kubeconfig];
        portolan(scratch.path(), &args, "")
    };
    // Its Lease is still fresh.
    let refused = demo("fail", "member-2");
    assert_ne!(refused.code, 0, "{}", refused.stdout);
    assert!(
        refused
            .stderr
            .contains("member-2 does not run, so it cannot fail; `portolan up --spokes 2` starts it"),
        "{}",
        refused.stderr
    );
    assert!(
        demo("recover", "member-2")
            .stdout
            .starts_with("member-2 does not run")
    );
    let fails = demo("fail", "member-1");
    assert!(fails.stdout.starts_with("member-1 fails"), "{}", fails.stdout);
    up.stop();
}
