//! Built-in kinds, which kubectl sends as protobuf where it can.

use std::io::{BufRead as _, BufReader};

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_created_applied_and_read_in_every_form() {
    let Some(kubectl) = kubectl().await else { return };
    assert_eq!(
        kubectl.run("create configmap made --from-literal=a=b"),
        "configmap/made created\n"
    );
    assert!(
        kubectl
            .fails("create configmap made", "")
            .contains("already exists")
    );
    assert_eq!(
        kubectl.run("create serviceaccount s"),
        "serviceaccount/s created\n"
    );
    assert_eq!(
        kubectl.run("create secret generic s --from-literal=a=b"),
        "secret/s created\n"
    );
    assert_eq!(
        kubectl.run("create deployment d --image=nginx"),
        "deployment.apps/d created\n"
    );
    assert_eq!(
        kubectl.run("create role r --verb=get --resource=configmaps"),
        "role.rbac.authorization.k8s.io/r created\n"
    );

    let apply = |value: &str| kubectl.feed("apply -f -", &config_map_text("a", value));
    assert_eq!(apply("1"), "configmap/a created\n");
    assert_eq!(apply("1"), "configmap/a unchanged\n");
    assert_eq!(apply("2"), "configmap/a configured\n");
    let apply = |options: &str, value: &str| {
        let arguments = format!("apply --server-side {options} -f -");
        kubectl.output(
            &arguments.split_whitespace().collect::<Vec<_>>(),
            &config_map_text("a", value),
        )
    };
    assert!(apply("", "2").status.success());
    let refused = apply("--field-manager=other", "3");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && said.contains("conflict with \"kubectl\": .data.key"),
        "{said}"
    );
    assert!(
        apply("--field-manager=other --force-conflicts", "3")
            .status
            .success()
    );
    assert_eq!(kubectl.run("get configmap a -o jsonpath={.data.key}"), "3");

    let table = kubectl.run("get configmap a");
    assert!(table.starts_with("NAME   DATA   AGE\na      1      "), "{table}");
    let wide = kubectl.run("get deployments -o wide");
    let head: Vec<_> = wide.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(
        head,
        [
            "NAME",
            "READY",
            "UP-TO-DATE",
            "AVAILABLE",
            "AGE",
            "CONTAINERS",
            "IMAGES",
            "SELECTOR"
        ]
    );
    let yaml = kubectl.run("get configmap a -o yaml");
    assert!(
        yaml.starts_with("apiVersion: v1\ndata:\n  key: \"3\"\nkind: ConfigMap\n"),
        "{yaml}"
    );
    assert!(
        kubectl
            .run("get configmap a --show-managed-fields -o yaml")
            .contains("manager: kubectl")
    );
    assert_eq!(kubectl.run("get configmap a -o name"), "configmap/a\n");
    let all = kubectl.run("get configmaps,secrets,serviceaccounts -A");
    assert!(
        all.contains("configmap/a") && all.contains("secret/s") && all.contains("serviceaccount/s"),
        "{all}"
    );
    assert!(kubectl.run("describe configmap a").contains("key:\n----\n3"));
    assert!(kubectl.fails("get configmap nothing", "").contains("NotFound"));
    assert!(
        kubectl
            .fails("get nothings", "")
            .contains("the server doesn't have a resource type")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_changed_in_every_way() {
    let Some(mut kubectl) = kubectl().await else {
        return;
    };
    kubectl.run("create configmap a --from-literal=key=1");
    kubectl.run("label configmap a app=web");
    assert!(
        kubectl
            .fails("label configmap a app=db", "")
            .contains("--overwrite")
    );
    kubectl.run("label configmap a app=db --overwrite");
    kubectl.run("annotate configmap a note=this");
    kubectl.run(r#"patch configmap a --type=strategic -p={"data":{"strategic":"s"}}"#);
    kubectl.run(r#"patch configmap a --type=merge -p={"data":{"merge":"m"}}"#);
    kubectl.run(r#"patch configmap a --type=json -p=[{"op":"add","path":"/data/json","value":"j"}]"#);
    let shown = kubectl.run(
        "get configmap a -o jsonpath={.metadata.labels.app}/{.metadata.annotations.note}/{.data.strategic}{.data.merge}{.data.json}",
    );
    assert_eq!(shown, "db/this/smj");
    let said = kubectl.fails(
        r#"patch configmap a --type=json -p=[{"op":"test","path":"/data/json","value":"x"}]"#,
        "",
    );
    assert!(said.contains("The request is invalid"), "{said}");
    kubectl.run("label configmap a app-");
    assert_eq!(kubectl.run("get configmaps -l app -o name"), "");

    kubectl.editor = r#"sed -i "s/key: .*/key: edited/""#.into();
    assert_eq!(kubectl.run("edit configmap a"), "configmap/a edited\n");
    assert_eq!(kubectl.run("get configmap a -o jsonpath={.data.key}"), "edited");

    let current = kubectl.run("get configmap a -o json");
    assert_eq!(kubectl.feed("replace -f -", &current), "configmap/a replaced\n");
    assert_eq!(kubectl.feed("diff -f -", &current), "");
    let said = kubectl.fails("diff -f -", &current.replace("edited", "different"));
    assert!(
        said.contains("-  key: edited") && said.contains("+  key: different"),
        "{said}"
    );

    // A list that merges by its keys, as only strategic patches do.
    kubectl.run("create deployment d --image=nginx");
    kubectl.run("set image deployment/d nginx=nginx:2");
    kubectl.run(r#"patch deployment d -p={"spec":{"template":{"spec":{"containers":[{"name":"more","image":"x"}]}}}}"#);
    let images = kubectl.run("get deployment d -o jsonpath={.spec.template.spec.containers[*].image}");
    assert_eq!(images, "x nginx:2");
    kubectl.run("scale deployment d --replicas=3");
    assert_eq!(kubectl.run("get deployment d -o jsonpath={.spec.replicas}"), "3");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_prints_changes_as_they_come() {
    let Some(kubectl) = kubectl().await else { return };
    kubectl.run("create configmap a --from-literal=key=1");
    let mut child = kubectl
        .command(&[
            "get",
            "configmaps",
            "-w",
            "-o",
            "custom-columns=N:.metadata.name,K:.data.key",
            "--no-headers",
        ])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || {
        let line = lines.next().unwrap().unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(next(), "a 1");
    kubectl.run(r#"patch configmap a --type=merge -p={"data":{"key":"2"}}"#);
    assert_eq!(next(), "a 2");
    kubectl.run("create configmap b --from-literal=key=3");
    assert_eq!(next(), "b 3");
    child.kill().unwrap();
    child.wait().unwrap();

    let mut child = kubectl.command(&["get", "configmaps", "-w"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let table: Vec<_> = lines.by_ref().take(3).map(Result::unwrap).collect();
    assert!(
        table[0].starts_with("NAME") && table[2].starts_with("b "),
        "{table:?}"
    );
    kubectl.run("delete configmap b");
    assert!(lines.next().unwrap().unwrap().starts_with("b "));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_waits() {
    let Some(kubectl) = kubectl().await else { return };
    kubectl.run("create configmap a --from-literal=key=1");
    kubectl.run("wait configmap/a --for=jsonpath={.data.key}=1 --timeout=30s");
    let child = kubectl
        .command(&[
            "wait",
            "configmap/a",
            "--for=jsonpath={.data.key}=2",
            "--timeout=60s",
        ])
        .spawn()
        .unwrap();
    kubectl.run(r#"patch configmap a --type=merge -p={"data":{"key":"2"}}"#);
    assert!(child.wait_with_output().unwrap().status.success());
    let child = kubectl
        .command(&["wait", "configmap/a", "--for=delete", "--timeout=60s"])
        .spawn()
        .unwrap();
    kubectl.run("delete configmap a");
    assert!(child.wait_with_output().unwrap().status.success());
}

/// The kinds that member clusters run beside Deployments and Jobs.
#[tokio::test(flavor = "multi_thread")]
async fn workloads_are_written_patched_and_shown_as_kubernetes_does() {
    let Some(kubectl) = kubectl().await else { return };
    let template = json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "a", "image": "a:1"}]}});
    let selector = json!({"matchLabels": {"app": "a"}});
    for (kind, name, spec) in [
        (
            "StatefulSet",
            "db",
            json!({"serviceName": "db", "selector": selector, "template": template}),
        ),
        (
            "DaemonSet",
            "log",
            json!({"selector": selector, "template": template}),
        ),
    ] {
        let object = json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec});
        let kind = kind.to_lowercase();
        let (first, second) = (object.to_string(), object.to_string());
        assert_eq!(
            kubectl.feed("apply -f -", &first),
            format!("{kind}.apps/{name} created\n")
        );
        assert_eq!(
            kubectl.feed("apply -f -", &second),
            format!("{kind}.apps/{name} unchanged\n")
        );
        kubectl.run(&format!("set image {kind}/{name} a=a:2"));
        kubectl.run(&format!(
            r#"patch {kind} {name} -p={{"spec":{{"template":{{"spec":{{"containers":[{{"name":"b","image":"b"}}]}}}}}}}}"#
        ));
        let images = kubectl.run(&format!(
            "get {kind} {name} -o jsonpath={{.spec.template.spec.containers[*].image}}"
        ));
        assert_eq!(images, "b a:2", "{kind}");
    }
    kubectl.run("scale statefulset db --replicas=3");
    assert_eq!(kubectl.run("get sts db -o jsonpath={.spec.replicas}"), "3");
    kubectl.run("create ingress shop --class=nginx --rule=shop.example.com/cart*=cart:80,tls=t");
    kubectl.run("run web --image=nginx");
    assert_eq!(
        kubectl.run("get pod web -o jsonpath={.spec.restartPolicy},{.status.phase}"),
        "Always,Pending"
    );
    assert!(
        kubectl
            .run("get pods --field-selector=status.phase=Running -o name")
            .is_empty()
    );
    // Without the age, which is the last column.
    let rows = |kind: &str| -> Vec<String> {
        let table = kubectl.run(&format!("get {kind}"));
        let row = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words[..words.len() - 1].join(" ")
        };
        table.lines().map(row).collect()
    };
    assert_eq!(rows("sts"), ["NAME READY", "db 0/3"]);
    assert_eq!(
        kubectl.run("get ds").lines().next().unwrap(),
        "NAME   DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR   AGE"
    );
    assert_eq!(rows("pods"), ["NAME READY STATUS RESTARTS", "web 0/1 Pending 0"]);
    assert_eq!(
        rows("ing"),
        [
            "NAME CLASS HOSTS ADDRESS PORTS",
            "shop nginx shop.example.com 80, 443"
        ]
    );
    if kubectl.server.lacks(Feature::CronJobs) {
        return;
    }
    kubectl.words(
        &[
            "create",
            "cronjob",
            "report",
            "--image=busybox",
            "--schedule=*/5 * * * *",
        ],
        "",
    );
    assert_eq!(kubectl.run("get cj report -o jsonpath={.spec.suspend}"), "false");
    let bad = json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "bad"},
        "spec": {"schedule": "5", "jobTemplate": {"spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}}}},
    });
    let said = kubectl.fails("create -f -", &bad.to_string());
    assert!(
        said.contains("spec.schedule: Invalid value: \"5\": expected exactly 5 fields, found 1: [5]"),
        "{said}"
    );
    assert!(kubectl.run("get all -o name").contains("cronjob.batch/report\n"));
}
