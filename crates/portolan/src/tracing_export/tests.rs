//! A decision on a hub, as a collector gets to see it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod collector;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PostParams;
use kube::{Api, Client};
use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement};
use portolan_controllers::{Clock, Controllers, Settings};
use portolan_hub::Hub;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tracing_subscriber::layer::SubscriberExt;

use super::{Guard, TraceArgs, parse_endpoint};
use collector::{Collector, Span};

const GROUP: &str = "cluster.open-cluster-management.io";

/// A hub with two clusters and a placement `shop/web` that selects both.
/// Whether a span is made depends on every subscriber of the process, so that these tests take turns.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

async fn hub() -> (Hub, Client) {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::new(hub.service(), "default");
    for definition in portolan_api::crd_values() {
        create::<CustomResourceDefinition>(&client, None, definition).await;
    }
    create::<Namespace>(&client, None, json!({"metadata": {"name": "shop"}})).await;
    for name in ["east", "west"] {
        let cluster = json!({"metadata": {"name": name}, "spec": {"hubAcceptsClient": true}});
        create::<ManagedCluster>(&client, None, cluster).await;
    }
    let selector = json!({"selectorType": "LabelSelector", "labelSelector": {}});
    let set = json!({"metadata": {"name": "all"}, "spec": {"clusterSelector": selector}});
    create::<ManagedClusterSet>(&client, None, set).await;
    let binding = json!({"metadata": {"name": "all", "namespace": "shop"}, "spec": {"clusterSet": "all"}});
    create::<ManagedClusterSetBinding>(&client, Some("shop"), binding).await;
    let placement = json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": {}});
    create::<Placement>(&client, Some("shop"), placement).await;
    (hub, client)
}

async fn create<K>(client: &Client, namespace: Option<&str>, object: Value)
where
    K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + Serialize + std::fmt::Debug,
{
    let object: K = serde_json::from_value(object).unwrap();
    let url = K::url_path(&(), namespace);
    let request = kube::core::Request::new(url)
        .create(&PostParams::default(), serde_json::to_vec(&object).unwrap())
        .unwrap();
    // A definition is served a moment after it was created.
    loop {
        match client.request::<K>(request.clone()).await {
            Ok(_) => return,
            Err(kube::Error::Api(status)) if status.code == 404 => tokio::task::yield_now().await,
            Err(error) => panic!("{url}: {error}", url = K::url_path(&(), namespace)),
        }
    }
}

/// Lets the controllers decide until the first decisions are written, and then once more for a cluster that left.
/// How many decisions they published.
async fn decide(client: &Client) -> f64 {
    #[expect(clippy::disallowed_methods, reason = "the test is where the time comes from")]
    let clock = Clock::new(Timestamp::now);
    let controllers = Controllers::start(client.clone(), Settings::new(clock));
    let metrics = controllers.metrics();
    let published = || {
        let text = metrics.text();
        let mut lines = text.lines();
        let count = lines.find_map(|line| line.strip_prefix("portolan_publish_seconds_count "));
        count.unwrap().parse::<f64>().unwrap()
    };
    while !controllers.health().is_ready() {
        tokio::task::yield_now().await;
    }
    let before = published();
    let clusters = Api::<ManagedCluster>::all(client.clone());
    clusters.delete("west", &Default::default()).await.unwrap();
    while published() == before {
        tokio::task::yield_now().await;
    }
    controllers.stop().await;
    published()
}

fn args(endpoint: &str) -> TraceArgs {
    TraceArgs {
        otlp_endpoint: Some(parse_endpoint(endpoint).unwrap()),
    }
}

/// Sends what is left, where waiting is allowed.
async fn finish(guard: Guard) {
    tokio::task::spawn_blocking(move || drop(guard)).await.unwrap();
}

// Everything runs on the test's own thread, which is the one that the subscriber is for.
#[tokio::test]
async fn a_collector_sees_each_decision_from_the_event_to_the_last_write() {
    let _turn = TURN.lock().await;
    let (hub, client) = hub().await;
    let collector = Collector::start();
    let (export, guard) = args(&collector.url).start().unwrap();
    let subscriber = tracing::subscriber::set_default(tracing_subscriber::registry().with(export));
    let published = decide(&client).await;
    drop(subscriber);
    finish(guard).await;
    hub.stop().await;

    let spans = collector.spans();
    assert_eq!(collector.services(), ["portolan"]);
    let decisions: Vec<&Span> = spans.iter().filter(|span| span.parent.is_empty()).collect();
    assert_eq!(decisions.len() as f64, published);
    for decision in &decisions {
        assert_eq!(decision.name, "decision");
        assert_eq!(decision.text("placement.namespace"), "shop");
        assert_eq!(decision.text("placement.name"), "web");
        assert_eq!(decision.text("result"), "ok");
        check(decision, &spans);
    }
    let clusters: Vec<i64> = decisions.iter().map(|span| span.number("clusters")).collect();
    assert_eq!((clusters[0], clusters[clusters.len() - 1]), (2, 1));
    let first = |name: &str, of: &Span| -> Vec<String> {
        let children = spans
            .iter()
            .filter(|span| span.parent == of.id && span.name == name);
        children
            .map(|span| format!("{} {}", span.text("verb"), span.text("resource")))
            .collect()
    };
    assert_eq!(first("request", decisions[0]), ["patch placements/status"]);
    let mut writes: Vec<String> = phases(decisions[0], &spans)
        .flat_map(|phase| first("request", phase))
        .collect();
    writes.sort();
    assert_eq!(
        writes,
        [
            format!("create placementdecisions.{GROUP}"),
            "create placementdecisions.multicluster.x-k8s.io".to_owned(),
            format!("update placementdecisions.{GROUP}/status"),
        ]
    );
}

fn phases<'a>(decision: &'a Span, spans: &'a [Span]) -> impl Iterator<Item = &'a Span> {
    let below = spans.iter().filter(|span| span.parent == decision.id);
    below.filter(|span| span.name == "phase")
}

/// The tree below one decision is whole, and within its time.
fn check(decision: &Span, spans: &[Span]) {
    let tree: Vec<&Span> = spans.iter().filter(|span| span.trace == decision.trace).collect();
    let named = |name: &str| tree.iter().filter(|span| span.name == name).count() as i64;
    assert_eq!(named("decision"), 1);
    assert_eq!(named("evaluate"), 1);
    assert_eq!(named("request"), decision.number("writes"));
    for span in &tree {
        assert!(span.attributes.iter().all(|(key, _)| key != "age_us"), "{span:?}");
        assert!(
            decision.start <= span.start && span.end <= decision.end,
            "{span:?}"
        );
        let parent = tree.iter().find(|parent| parent.id == span.parent);
        assert_eq!(parent.is_none(), span.id == decision.id, "{span:?}");
    }
    for phase in phases(decision, spans) {
        assert!(["ocm", "kep"].contains(&phase.text("kind").as_str()));
        let requests = tree.iter().filter(|span| span.parent == phase.id);
        assert_eq!(requests.count() as i64, phase.number("writes"));
    }
    for request in tree.iter().filter(|span| span.name == "request") {
        assert_eq!(request.text("result"), "ok");
        assert_eq!(request.number("attempt"), 1);
    }
    let evaluation = tree.iter().find(|span| span.name == "evaluate").unwrap();
    let requests = tree.iter().filter(|span| span.name == "request");
    assert!(
        requests
            .map(|span| span.start)
            .all(|start| evaluation.end <= start)
    );
}

#[tokio::test]
async fn without_an_endpoint_no_span_is_made() {
    let _turn = TURN.lock().await;
    let (hub, client) = hub().await;
    let (export, guard) = TraceArgs::default().start().unwrap();
    let _subscriber = tracing::subscriber::set_default(tracing_subscriber::registry().with(export));
    assert!(!tracing::enabled!(target: portolan_controllers::trace::TARGET, tracing::Level::DEBUG));
    assert!(decide(&client).await > 0.0);
    drop(guard);
    hub.stop().await;
}

#[tokio::test]
async fn a_collector_that_is_not_there_holds_up_no_decision() {
    let _turn = TURN.lock().await;
    let (hub, client) = hub().await;
    let nobody = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let (export, guard) = args(&format!("http://{nobody}")).start().unwrap();
    let subscriber = tracing::subscriber::set_default(tracing_subscriber::registry().with(export));
    assert!(decide(&client).await > 0.0);
    drop(subscriber);
    finish(guard).await;
    hub.stop().await;
}
