//! Custom kinds, and what kubectl asks of discovery and schemas.

use super::*;

/// kubectl looks for the kind in the schemas of the server first, and must be able to read them.
#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_is_not_served_is_called_so_by_kubectl_itself() {
    let Some(kubectl) = kubectl().await else { return };
    let object =
        |version: &str, kind: &str| json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}});
    for (version, kind) in [
        ("nowhere.example.com/v1", "PlacementRule"),
        ("v2", "ConfigMap"),
        ("rbac.authorization.k8s.io/v1", "Rol"),
    ] {
        let text = object(version, kind).to_string();
        for command in ["apply -f -", "create -f -", "apply --server-side -f -"] {
            let said = kubectl.fails(command, &text);
            let expected = format!(
                "no matches for kind \"{kind}\" in version \"{version}\"\nensure CRDs are installed first"
            );
            assert!(said.contains(&expected), "{command} of {version} {kind}: {said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_custom_kind_is_a_kind_like_any_other() {
    let Some(mut kubectl) = kubectl().await else {
        return;
    };
    let group = kubectl.server.group().to_owned();
    kubectl.feed("create -f -", &widgets(&kubectl.server).to_string());
    kubectl.run(&format!(
        "wait --for=condition=Established crd/widgets.{group} --timeout=60s"
    ));
    assert!(
        kubectl
            .run("api-resources -o name")
            .contains(&format!("widgets.{group}\n"))
    );
    assert!(
        kubectl
            .run("api-versions")
            .contains(&format!("{group}/v1beta1\n"))
    );
    let resources = kubectl.run(&format!("api-resources --api-group={group}"));
    let row: Vec<_> = resources.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row, ["widgets", "wd", &format!("{group}/v1"), "true", "Widget"]);

    let text = |size: i32| {
        json!({"apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": size}}).to_string()
    };
    let plural = format!("widgets.{group}");
    let run = |arguments: &str| kubectl.run(&arguments.replace("WIDGET", &plural));
    assert_eq!(
        kubectl.feed("apply -f -", &text(1)),
        format!("widget.{group}/w created\n")
    );
    assert_eq!(
        kubectl.feed("apply -f -", &text(1)),
        format!("widget.{group}/w unchanged\n")
    );
    assert_eq!(
        kubectl.feed("apply -f -", &text(2)),
        format!("widget.{group}/w configured\n")
    );
    let forced = kubectl.feed("apply --server-side --force-conflicts -f -", &text(3));
    assert_eq!(forced, format!("widget.{group}/w serverside-applied\n"));
    assert!(
        kubectl
            .fails("apply -f -", &text(-1))
            .contains("should be greater than or equal to 0")
    );
    let table = run("get WIDGET");
    assert_eq!(
        table
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
            .collect::<Vec<_>>(),
        [["NAME", "SIZE"], ["w", "3"]]
    );
    run("label WIDGET w a=b");
    run("annotate WIDGET w c=d");
    assert!(
        run("get WIDGET -o wide -L a")
            .lines()
            .next()
            .unwrap()
            .ends_with(" A")
    );
    run(r#"patch WIDGET w --type=json -p=[{"op":"replace","path":"/spec/size","value":4}]"#);
    run(r#"patch WIDGET w --type=merge -p={"spec":{"size":5}}"#);
    run(r#"patch WIDGET w --subresource=status --type=merge -p={"status":{"size":5}}"#);
    assert_eq!(run("get WIDGET w -o jsonpath={.spec.size}/{.status.size}"), "5/5");
    run("scale WIDGET w --replicas=7");
    assert_eq!(run("get WIDGET w -o jsonpath={.spec.size}"), "7");
    let current = run("get WIDGET w -o json");
    kubectl.feed("replace -f -", &current);
    assert_eq!(kubectl.feed("diff -f -", &current), "");
    assert!(run("describe WIDGET w").contains("Size:"));
    kubectl.editor = r#"sed -i "s/size: 7/size: 8/""#.into();
    kubectl.run(&format!("edit {plural} w"));
    kubectl.run(&format!(
        "wait {plural}/w --for=jsonpath={{.spec.size}}=8 --timeout=30s"
    ));
    kubectl.run(&format!("delete {plural} w"));
    assert_eq!(kubectl.run(&format!("get {plural} -o name")), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_are_explained() {
    let Some(kubectl) = kubectl().await else { return };
    if kubectl.server.lacks(Feature::OpenApiV3) {
        return;
    }
    with_widgets(&kubectl.server).await;
    let plural = format!("widgets.{}", kubectl.server.group());
    // The document of a new kind is served a moment after its objects.
    let document = format!("/openapi/v3/apis/{}/v1", kubectl.server.group());
    let client = kubectl.server.client();
    eventually("the kind is in OpenAPI", async || {
        let request = http::Request::get(&document).body(Vec::new()).unwrap();
        client
            .request_text(request)
            .await
            .is_ok_and(|text| text.contains("How large."))
    })
    .await;
    assert!(
        kubectl
            .run(&format!("explain {plural}.spec.size"))
            .contains("How large.")
    );
    assert!(
        kubectl
            .run(&format!("explain {plural} --recursive"))
            .contains("parts\t<[]Object>")
    );
    assert!(
        kubectl
            .run("explain deployment.spec.replicas")
            .contains("<integer>")
    );
    for path in [
        "deployment.spec.template.spec.containers.livenessProbe.httpGet",
        "cronjob.spec.jobTemplate.spec.template.spec.containers.livenessProbe.httpGet",
        "pod.spec.initContainers.livenessProbe.httpGet",
    ] {
        let fields = kubectl.run(&format!("explain {path}"));
        assert!(
            fields.contains("httpHeaders") && fields.contains("scheme"),
            "{fields}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_fields_are_found_before_they_are_lost() {
    let Some(kubectl) = kubectl().await else { return };
    if kubectl.server.lacks(Feature::FieldValidation) {
        return;
    }
    with_widgets(&kubectl.server).await;
    let version = format!("{}/v1", kubectl.server.group());
    let text = json!({"apiVersion": version, "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1, "sise": 2}}).to_string();
    assert!(
        kubectl
            .fails("apply -f -", &text)
            .contains("unknown field \"spec.sise\"")
    );
    let output = kubectl.output(&["apply", "--validate=warn", "-f", "-"], &text);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("Warning: unknown field \"spec.sise\""));
}
