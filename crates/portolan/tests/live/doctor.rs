//! `portolan doctor` on an embedded hub, from a hub with nothing on it to one where everything works.

use super::hub::Live;
use super::support::{Run, Scratch, portolan};
use super::up::Up;
use serde_json::{Value, json};

fn doctor(scratch: &Scratch, kubeconfig: &str, more: &[&str]) -> Run {
    let args = [&["doctor", "--kubeconfig", kubeconfig], more].concat();
    portolan(scratch.path(), &args, "")
}

/// The results of the checks by name.
fn results(run: &Run) -> Vec<(String, String)> {
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let text = |check: &Value, field: &str| check[field].as_str().expect("a text").to_owned();
    let checks = report["checks"].as_array().expect("a list of checks");
    checks
        .iter()
        .map(|check| (text(check, "name"), text(check, "result")))
        .collect()
}

#[test]
fn a_hub_without_definitions_clusters_or_rights_is_told_what_to_do() {
    let scratch = Scratch::new();
    let bare = Live::bare(scratch.path());
    let run = doctor(&scratch, bare.argument(), &[]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(
        run.stdout.contains(&format!(
            "portolan crds | kubectl --kubeconfig {} apply -f -",
            bare.argument()
        )),
        "{}",
        run.stdout
    );
    bare.stop();

    let live = Live::new(scratch.path());
    live.apply(
        json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": { "name": "web", "namespace": "shop" }, "spec": {} }),
    );
    let run = doctor(&scratch, live.argument(), &[]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(
        run.stdout.contains("there is no ManagedCluster"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("portolan join NAME"), "{}", run.stdout);
    let run = doctor(&scratch, live.argument(), &["shop/nosuch"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains(
            "there is no Placement, ManifestWorkReplicaSet, ManifestWork or Work shop/nosuch on https://"
        ),
        "{}",
        run.stderr
    );
    let nobody = live.kubeconfig_of_nobody(scratch.path());
    let run = doctor(&scratch, nobody.to_str().unwrap(), &[]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(
        run.stdout
            .contains("user nobody may not list placements.cluster.open-cluster-management.io"),
        "{}",
        run.stdout
    );
    // Without any credentials the hub does not even say which rights are missing.
    let config = std::fs::read_to_string(live.argument()).unwrap();
    let mut config: Value = serde_saphyr::from_str(&config).unwrap();
    config["users"][0]["user"] = json!({});
    let anonymous = scratch.path().join("anonymous.kubeconfig");
    std::fs::write(&anonymous, config.to_string()).unwrap();
    let run = doctor(&scratch, anonymous.to_str().unwrap(), &[]);
    assert_eq!(run.code, 3, "{}", run.stdout);
    assert!(!run.stdout.contains("no problem found"), "{}", run.stdout);
    for words in ["cannot ", "none: the user of the context has neither a token"] {
        assert!(run.stdout.contains(words), "{}", run.stdout);
    }
    let kubeconfig = live.argument().to_owned();
    live.stop();
    let run = doctor(&scratch, &kubeconfig, &["-o", "json"]);
    assert_eq!(run.code, 3);
    assert_eq!(results(&run), [("hub".to_owned(), "Problem".to_owned())]);
}

#[test]
fn a_hub_with_controllers_and_members_has_no_problem() {
    let scratch = Scratch::new();
    healthy_in_the_end(&scratch, &["--in-memory", "--spokes", "2"]);
}

#[test]
fn a_demo_has_no_problem_although_its_clusters_fail() {
    let scratch = Scratch::new();
    healthy_in_the_end(&scratch, &["--in-memory", "--demo", "--clusters", "50"]);
}

fn healthy_in_the_end(scratch: &Scratch, args: &[&str]) {
    let up = Up::start(scratch, args);
    up.wait_until_ready();
    // Members join and report one after the other.
    let mut last = Vec::new();
    for _ in 0..600 {
        let run = doctor(scratch, &up.kubeconfig, &["-o", "json"]);
        last = results(&run);
        if run.code == 0 {
            up.stop();
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("{last:?}");
}

#[test]
fn a_placement_that_cannot_be_read_is_not_said_to_be_missing() {
    let scratch = Scratch::new();
    let live = Live::bare(scratch.path());
    for mut definition in portolan_api::crd_values() {
        // As a definition of another project may be, which accepts what ours refuses.
        if definition["spec"]["names"]["kind"] == "Placement" {
            for version in definition["spec"]["versions"].as_array_mut().unwrap() {
                version["schema"]["openAPIV3Schema"] =
                    json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
            }
        }
        live.apply(definition);
    }
    let placement = |name: &str, spec: Value| {
        json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
            "metadata": { "name": name, "namespace": "shop" }, "spec": spec })
    };
    live.apply(placement("web", json!({ "numberOfClusters": "many" })));
    live.apply(placement("db", json!({})));
    let run = doctor(&scratch, live.argument(), &["shop/web"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(
        run.stdout.contains("the Placement shop/web cannot be read"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("spec.numberOfClusters"), "{}", run.stdout);
    let explain = ["explain", "shop/web", "--kubeconfig", live.argument()];
    let run = portolan(scratch.path(), &explain, "");
    assert_eq!(run.code, 2);
    assert!(
        run.stderr
            .contains("nothing is decided for the Placement shop/web on https://"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("it cannot be read: spec.numberOfClusters"),
        "{}",
        run.stderr
    );
    live.stop();
}
