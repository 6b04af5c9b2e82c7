//! Stock kubectl against the hub on a socket. Skipped where there is no kubectl.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use super::*;

struct Kubectl {
    home: tempfile::TempDir,
}

impl Kubectl {
    fn run(&self, arguments: &str, input: &str) -> String {
        let mut child = Command::new("kubectl")
            .args(arguments.split_whitespace())
            .env("KUBE_EDITOR", "sed -i s/size:.7/size:\\ 8/")
            .env("HOME", self.home.path())
            .env("KUBECONFIG", self.home.path().join("config"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stock_kubectl_works() {
    if Command::new("kubectl")
        .args(["version", "--client"])
        .output()
        .is_err()
    {
        eprintln!("skipped: there is no kubectl");
        return;
    }
    let hub = Hub::builder()
        .listen(SocketAddr::from(([127, 0, 0, 1], 0)))
        .start()
        .await
        .unwrap();
    let kubectl = Kubectl {
        home: tempfile::tempdir().unwrap(),
    };
    hub.write_kubeconfig(&kubectl.home.path().join("config")).unwrap();
    tokio::task::spawn_blocking(move || session(&kubectl))
        .await
        .unwrap();
    hub.stop().await;
}

fn session(kubectl: &Kubectl) {
    let run = |arguments: &str| kubectl.run(arguments, "");
    assert_eq!(run("auth can-i create widgets"), "yes\n");
    assert!(run("auth whoami").contains("system:admin"));
    assert!(run("api-resources").contains("customresourcedefinitions"));
    kubectl.run("apply -f -", &widgets().to_string());
    run("wait --for=condition=Established crd/widgets.example.com --timeout=10s");
    let widget = |size: u32| {
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": size}}).to_string()
    };
    assert_eq!(
        kubectl.run("apply -f -", &widget(1)),
        "widget.example.com/w created\n"
    );
    assert_eq!(
        kubectl.run("apply -f -", &widget(1)),
        "widget.example.com/w unchanged\n"
    );
    assert_eq!(
        kubectl.run("apply -f -", &widget(2)),
        "widget.example.com/w configured\n"
    );
    assert_eq!(
        kubectl.run("apply --server-side --force-conflicts -f -", &widget(3)),
        "widget.example.com/w serverside-applied\n"
    );
    let table = run("get wd");
    assert!(
        table.lines().next().unwrap().contains("SIZE") && table.lines().nth(1).unwrap().contains('3'),
        "{table}"
    );
    assert_eq!(run("get widget w -o jsonpath={.spec.size}"), "3");
    run("label widget w a=b");
    run("annotate widget w c=d");
    run(r#"patch widget w --type=json -p=[{"op":"replace","path":"/spec/size","value":4}]"#);
    run(r#"patch widget w --type=merge -p={"spec":{"size":5}}"#);
    run(r#"patch widget w --subresource=status --type=merge -p={"status":{"size":5}}"#);
    run("scale widget w --replicas=7");
    assert_eq!(run("get widget w -o jsonpath={.spec.size}/{.status.size}"), "7/5");
    run("edit widget w");
    run("wait widget/w --for=jsonpath={.spec.size}=8 --timeout=10s");
    assert!(run("get widgets -o wide -L a").contains("A\n"));
    assert!(
        run("get --raw /metrics").contains("apiserver_storage_objects{resource=\"widgets.example.com\"} 1")
    );
    kubectl.run("replace -f -", &run("get widget w -o json"));
    kubectl.run("diff -f -", &run("get widget w -o json"));
    assert!(run("explain widget.spec.size").contains("How large."));
    run("create configmap c --from-literal=a=b");
    run("create namespace n");
    run("create -n n serviceaccount s");
    run("label configmap c x=y");
    assert_eq!(
        run("get configmap c -o jsonpath={.data.a}{.metadata.labels.x}"),
        "by"
    );
    assert!(run("get configmaps,namespaces -A").contains("configmap/c"));
    assert!(run("describe widget w").contains("Size:"));
    run("delete widget w --cascade=foreground");
    run("delete namespace n");
    run("delete configmap c");
    assert_eq!(run("get configmaps -o name"), "");
}
