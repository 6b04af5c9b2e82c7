//! The table of authorization on a hub that breaks one of its rules, to show that the table notices.

#[path = "../../tests/suite/authorization/run.rs"]
mod run;
#[allow(dead_code, reason = "the suite uses the rest")]
#[path = "../../tests/suite/authorization/table.rs"]
mod table;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use run::Server;
use serde_json::json;
use table::{Names, Table};
use tower::ServiceExt as _;

use crate::sabotage::{Rule, break_rule};
use crate::{Hub, Service};

struct Local(Service);

impl Server for Local {
    async fn send(&self, request: Request<Vec<u8>>) -> (u16, Vec<u8>) {
        let watches = request.uri().to_string().contains("watch");
        let request = request.map(|body| Full::new(Bytes::from(body)));
        let response = self.0.clone().oneshot(request).await.unwrap();
        let code = response.status().as_u16();
        // A watch that has begun does not end.
        if watches && code < 400 {
            return (code, Vec::new());
        }
        let body = response.into_body().collect().await.unwrap();
        (code, body.to_bytes().to_vec())
    }

    fn is_real(&self) -> bool {
        false
    }
}

fn widgets(group: &str) -> serde_json::Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let scale = json!({"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"});
    let version = |name: &str, storage: bool| {
        json!({
            "name": name, "served": true, "storage": storage, "schema": schema,
            "subresources": {"status": {}, "scale": scale},
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version("v1", true), version("v1beta1", false)],
        },
    })
}

/// A hub with the objects of the table and the rights of one of its users.
pub(super) async fn hub_for(user: &str) -> (Hub, Table, Names) {
    let hub = Hub::builder().start().await.unwrap();
    let server = Local(hub.service());
    let names = Names {
        namespace: "test".to_owned(),
        group: "test.example.com".to_owned(),
    };
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    run::create(
        &server,
        "/api/v1/namespaces",
        &json!({"metadata": {"name": "test"}}),
    )
    .await;
    run::create(&server, definitions, &widgets(&names.group)).await;
    let mut table = Table::read(&names);
    table.rules.retain(|rule| rule.user == user);
    assert_eq!(table.rules.len(), 1, "{user}");
    run::set_up(&server, &table, &names).await;
    (hub, table, names)
}

/// What the table says about the requests of one of its users while a rule is broken.
async fn differences(user: &str, rule: Option<Rule>) -> Vec<String> {
    let (hub, table, names) = hub_for(user).await;
    break_rule(rule);
    let (_, wrong) = run::differences(&Local(hub.service()), &table, &names).await;
    break_rule(None);
    hub.stop().await;
    wrong
}

#[tokio::test]
async fn the_table_notices_each_rule_of_authorization_that_is_broken() {
    for (user, rule) in [
        ("nobody", Rule::RolesAreAsked),
        ("deployments", Rule::SubresourcesApart),
        ("hers", Rule::NamesCount),
        ("own-namespace", Rule::ScopesCount),
        ("patch", Rule::CreationIsAsked),
        ("update", Rule::CreationIsAsked),
        ("hers", Rule::SelectorsNameLists),
        ("list", Rule::WatchIsAVerb),
        ("list", Rule::PathsAreWhole),
        ("nobody", Rule::ReviewsSayTheSame),
    ] {
        assert_eq!(differences(user, None).await, Vec::<String>::new(), "{user}");
        assert!(
            !differences(user, Some(rule)).await.is_empty(),
            "{user}: {rule:?}"
        );
    }
}
