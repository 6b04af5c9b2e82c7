//! Who may do what.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn can_i_answers_from_the_roles() {
    let Some(kubectl) = kubectl().await else { return };
    assert_eq!(kubectl.run("auth can-i create configmaps"), "yes\n");
    assert!(
        kubectl
            .fails("auth can-i create configmaps --as=ann", "")
            .starts_with("no")
    );
    kubectl.run("create role reader --verb=get,list --resource=configmaps");
    kubectl.run("create rolebinding ann --role=reader --user=ann");
    let can = |words: &'static [&'static str]| kubectl.output(words, "").status.success();
    eventually("ann may read", async || {
        can(&["auth", "can-i", "list", "configmaps", "--as=ann"])
    })
    .await;
    assert!(!can(&["auth", "can-i", "delete", "configmaps", "--as=ann"]));
    assert!(kubectl.run("auth can-i --list --as=ann").contains("configmaps"));
    assert_eq!(kubectl.run("get configmaps --as=ann -o name"), "");
    let said = kubectl.fails("create configmap a --as=ann", "");
    assert!(
        said.contains("User \"ann\" cannot create resource \"configmaps\""),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_is_told_who_one_is() {
    let Some(kubectl) = kubectl().await else { return };
    if kubectl.server.lacks(Feature::SelfSubjectReview) {
        return;
    }
    assert!(kubectl.run("auth whoami").contains("system:masters"));
    let shown = kubectl.run("auth whoami --as=ann --as-group=friends");
    assert!(
        shown.contains("ann") && shown.contains("friends") && !shown.contains("system:masters"),
        "{shown}"
    );
}
