//! Deletion, alone and with what belongs to it.

use super::*;

/// An owner and what it owns.
fn family(kubectl: &Kubectl) {
    kubectl.run("create configmap owner");
    let uid = kubectl.run("get configmap owner -o jsonpath={.metadata.uid}");
    let child = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child", "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": true},
        ]},
    });
    kubectl.feed("create -f -", &child.to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_cascade_does_what_it_says() {
    let Some(kubectl) = kubectl().await else { return };
    if kubectl.server.lacks(Feature::GarbageCollection) {
        return;
    }
    family(&kubectl);
    kubectl.run("delete configmap owner --cascade=background");
    kubectl.run("wait configmap/child --for=delete --timeout=60s");

    family(&kubectl);
    kubectl.run("delete configmap owner --cascade=foreground");
    assert_eq!(
        kubectl.run("get configmaps -o name"),
        "",
        "the owner outlives its child"
    );

    family(&kubectl);
    kubectl.run("delete configmap owner --cascade=orphan");
    assert_eq!(kubectl.run("get configmaps -o name"), "configmap/child\n");
    assert_eq!(
        kubectl.run("get configmap child -o jsonpath={.metadata.ownerReferences}"),
        ""
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_deleted_by_name_label_file_and_all_at_once() {
    let Some(kubectl) = kubectl().await else { return };
    for name in ["a", "b", "c", "d", "e"] {
        kubectl.run(&format!("create configmap {name}"));
    }
    assert_eq!(
        kubectl.run("delete configmap a --wait=false"),
        "configmap \"a\" deleted\n"
    );
    kubectl.run("label configmap b app=web");
    kubectl.run("delete configmap -l app=web");
    kubectl.feed("delete -f -", &config_map_text("c", ""));
    assert_eq!(
        kubectl.run("get configmaps -o name"),
        "configmap/d\nconfigmap/e\n"
    );
    assert!(kubectl.fails("delete configmap a", "").contains("NotFound"));
    assert_eq!(kubectl.run("delete configmap a --ignore-not-found"), "");
    kubectl.run("delete configmap d --now");
    kubectl.run("delete configmaps --all --dry-run=server");
    assert_eq!(kubectl.run("get configmaps -o name"), "configmap/e\n");
    kubectl.run("delete configmaps --all");
    assert_eq!(kubectl.run("get configmaps -o name"), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_goes_with_what_is_in_it() {
    let Some(kubectl) = kubectl().await else { return };
    if kubectl.server.lacks(Feature::NamespaceDeletion) {
        return;
    }
    let name = format!("{}-more", kubectl.server.namespace());
    kubectl.run(&format!("create namespace {name}"));
    kubectl.run(&format!("create configmap a -n {name}"));
    kubectl.run(&format!("delete namespace {name} --timeout=120s"));
    assert!(
        kubectl
            .fails(&format!("get namespace {name}"), "")
            .contains("NotFound")
    );
}
