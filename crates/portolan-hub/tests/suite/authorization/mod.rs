//! What roles allow, as a table: each rule × each request, on the hub and on Kubernetes, whose answers stand in it.

mod impersonation;
mod run;
mod table;

use http::Request;
use kube::client::Body;
use run::Server;
use table::{Names, Table};

use super::*;

struct Remote {
    client: Client,
    real: bool,
}

impl Remote {
    fn of(server: &TestServer, client: Client) -> Self {
        Self {
            client,
            real: server.is_real(),
        }
    }
}

fn names(server: &TestServer) -> Names {
    Names {
        namespace: server.namespace().to_owned(),
        group: server.group().to_owned(),
    }
}

impl Server for Remote {
    async fn send(&self, request: Request<Vec<u8>>) -> (u16, Vec<u8>) {
        let watches = request.uri().to_string().contains("watch");
        let what = format!("{} {}", request.method(), request.uri());
        let sent = self.client.send(request.map(Body::from)).await;
        let response = sent.unwrap_or_else(|error| panic!("{what}: {error}"));
        let code = response.status().as_u16();
        // A watch that has begun does not end.
        if watches && code < 400 {
            return (code, Vec::new());
        }
        let body = response.into_body().collect_bytes().await;
        (
            code,
            body.unwrap_or_else(|error| panic!("{what}: {error}")).to_vec(),
        )
    }

    fn is_real(&self) -> bool {
        self.real
    }
}

/// Everything that the table's users could change.
async fn stored(server: &TestServer, names: &Names) -> String {
    let client = server.client();
    let mut all = String::new();
    for namespace in [&names.namespace, &names.elsewhere()] {
        for path in [
            format!("/api/v1/namespaces/{namespace}"),
            format!("/api/v1/namespaces/{namespace}/configmaps"),
            format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"),
            format!("/apis/apps/v1/namespaces/{namespace}/deployments"),
            format!("/apis/{}/v1/namespaces/{namespace}/widgets", names.group),
        ] {
            let request = Request::get(path).body(Vec::new()).unwrap();
            let mut list: Value = client.request(request).await.unwrap();
            // Of the list, which is that of the whole store.
            if list["items"].is_array() {
                list["metadata"] = Value::Null;
            }
            all.push_str(&list.to_string());
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_request_is_authorized_as_kubernetes_authorizes_it() {
    let (server, client) = server().await;
    with_widgets(&server).await;
    let names = names(&server);
    let remote = Remote::of(&server, client);
    let mut table = Table::read(&names);
    assert_eq!(table.idle_patterns(), Vec::<&str>::new());
    // Without kube-controller-manager nobody gathers rules.
    table
        .rules
        .retain(|rule| rule.aggregated.is_none() || server.can(Feature::GarbageCollection));
    run::set_up(&remote, &table, &names).await;
    let before = stored(&server, &names).await;
    let (count, wrong) = run::differences(&remote, &table, &names).await;
    eprintln!("{count} requests");
    assert!(
        wrong.is_empty(),
        "{} of {count} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(stored(&server, &names).await, before);
}
