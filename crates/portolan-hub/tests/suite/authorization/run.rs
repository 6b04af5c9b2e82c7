//! Puts the rules of the table on a server and sends its requests.

use futures::StreamExt as _;
use http::Request;
use serde_json::{Value, json};

use super::table::{Asked, Attributes, Names, Rule, Sent, Table};

/// How many requests are under way at a time.
const SIDE_BY_SIDE: usize = 16;
const RBAC: &str = "rbac.authorization.k8s.io";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// A server, as an administrator reaches it, who may act as everybody else.
pub(crate) trait Server {
    /// The code and the body; of a watch that has begun, nothing.
    async fn send(&self, request: Request<Vec<u8>>) -> (u16, Vec<u8>);
    /// Whether it is a real server, and not the hub.
    fn is_real(&self) -> bool;
}

/// Creates an object. Panics where that fails.
pub(crate) async fn create(server: &impl Server, path: &str, object: &Value) {
    let request = Request::post(path).header("content-type", "application/json");
    let request = request.body(object.to_string().into_bytes()).unwrap();
    let (code, body) = server.send(request).await;
    assert_eq!(code, 201, "POST {path}: {}", String::from_utf8_lossy(&body));
}

/// Makes the objects and the roles that the table speaks of. The namespace of the test and the definition of its widgets
/// are there.
pub(crate) async fn set_up(server: &impl Server, table: &Table, names: &Names) {
    let (here, elsewhere) = (names.namespace.as_str(), names.elsewhere());
    let named = |name: &str| json!({"metadata": {"name": name}});
    create(server, "/api/v1/namespaces", &named(&elsewhere)).await;
    for namespace in [here, &elsewhere] {
        for name in ["there", "hers"] {
            let path = format!("/api/v1/namespaces/{namespace}/configmaps");
            create(server, &path, &named(name)).await;
        }
    }
    for resource in ["secrets", "serviceaccounts"] {
        create(
            server,
            &format!("/api/v1/namespaces/{here}/{resource}"),
            &named("there"),
        )
        .await;
    }
    let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{here}/leases");
    create(server, &leases, &named("there")).await;
    let labels = json!({"app": "there"});
    let deployment = json!({"metadata": {"name": "there"}, "spec": {
        "replicas": 1, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}},
    }});
    create(
        server,
        &format!("/apis/apps/v1/namespaces/{here}/deployments"),
        &deployment,
    )
    .await;
    let group = &names.group;
    let widget = json!({"apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": {"name": "there"}, "spec": {"size": 1}});
    create(
        server,
        &format!("/apis/{group}/v1/namespaces/{here}/widgets"),
        &widget,
    )
    .await;
    for rule in &table.rules {
        give(server, rule, names).await;
    }
    for rule in &table.rules {
        until_given(server, table, rule, names).await;
    }
}

/// Gives a user its rights.
pub(crate) async fn give(server: &impl Server, rule: &Rule, names: &Names) {
    let name = names.own(&rule.user);
    let in_namespace =
        |namespace: &str, plural: &str| format!("/apis/{RBAC}/v1/namespaces/{namespace}/{plural}");
    let in_cluster = |plural: &str| format!("/apis/{RBAC}/v1/{plural}");
    let role = |rules: &Value| json!({"metadata": {"name": name}, "rules": rules});
    let mut subjects = rule.subjects.clone();
    if subjects.is_empty() {
        subjects.push(json!({"kind": "User", "name": rule.user(names)}));
    }
    for subject in &mut subjects {
        if subject["kind"] != "ServiceAccount" {
            subject["apiGroup"] = RBAC.into();
        }
    }
    let binding = |kind: &str, role: &str| json!({"metadata": {"name": name}, "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role}, "subjects": subjects});
    let elsewhere = names.elsewhere();
    for (rules, namespace) in [(&rule.role, &names.namespace), (&rule.elsewhere, &elsewhere)] {
        if let Some(rules) = rules {
            create(server, &in_namespace(namespace, "roles"), &role(rules)).await;
            create(
                server,
                &in_namespace(namespace, "rolebindings"),
                &binding("Role", &name),
            )
            .await;
        }
    }
    for rules in [&rule.cluster, &rule.bound].into_iter().flatten() {
        create(server, &in_cluster("clusterroles"), &role(rules)).await;
    }
    if let Some(rules) = &rule.aggregated {
        let mut part = role(rules);
        part["metadata"] = json!({"name": format!("{name}-part"), "labels": {"gather": name}});
        let whole = json!({"metadata": {"name": name}, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"gather": name}}]}});
        create(server, &in_cluster("clusterroles"), &part).await;
        create(server, &in_cluster("clusterroles"), &whole).await;
    }
    if rule.cluster.is_some() || rule.aggregated.is_some() {
        let path = in_cluster("clusterrolebindings");
        create(server, &path, &binding("ClusterRole", &name)).await;
    }
    let path = in_namespace(&names.namespace, "rolebindings");
    if rule.bound.is_some() {
        create(server, &path, &binding("ClusterRole", &name)).await;
    }
    if let Some(refers) = &rule.refers {
        let (kind, role) = (refers["kind"].as_str().unwrap(), refers["name"].as_str().unwrap());
        create(server, &path, &binding(kind, role)).await;
    }
}

/// A real server reads roles in its own time.
async fn until_given(server: &impl Server, table: &Table, rule: &Rule, names: &Names) {
    if rule.is_anonymous() {
        return;
    }
    let asked = table.requests.iter().map(|asked| asked.asks.as_str());
    for asks in asked.filter(|asks| table.allows(rule, asks)) {
        for attempt in 0.. {
            if review(server, rule, names, asks).await {
                break;
            }
            // What is never given is a difference like any other, and is reported as one.
            if attempt == 200 {
                return;
            }
            if server.is_real() {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        }
    }
}

/// Whether the server says, when it is asked, that a user may do something.
pub(crate) async fn review(server: &impl Server, rule: &Rule, names: &Names, asks: &str) -> bool {
    let review = json!({"spec": Attributes::parse(asks).review()});
    let request = acting_as(Request::post(REVIEWS), rule, names).header("content-type", "application/json");
    let request = request.body(review.to_string().into_bytes()).unwrap();
    let (code, body) = server.send(request).await;
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    assert_eq!(code, 201, "{answer}");
    answer["status"]["allowed"] == true
}

fn acting_as(mut request: http::request::Builder, rule: &Rule, names: &Names) -> http::request::Builder {
    request = request.header("impersonate-user", rule.user(names));
    for group in &rule.groups {
        request = request.header("impersonate-group", names.own(group));
    }
    request
}

/// Sends every request for every rule. Returns how many were sent and what was not as the table says.
pub(crate) async fn differences(server: &impl Server, table: &Table, names: &Names) -> (usize, Vec<String>) {
    let product = || {
        let rules = table.rules.iter();
        rules.flat_map(|rule| table.requests.iter().map(move |asked| (rule, asked)))
    };
    let reviews = product()
        .filter(|(rule, _)| !rule.is_anonymous())
        .map(async |(rule, asked)| {
            let (said, expected) = (
                review(server, rule, names, &asked.asks).await,
                table.allows(rule, &asked.asks),
            );
            let wrong = format!("{}: a review of {:?} says {said}", rule.user, asked.asks);
            (said != expected).then_some(wrong)
        });
    let sent = product().flat_map(|(rule, asked)| asked.requests.iter().map(move |sent| (rule, asked, sent)));
    let requests = sent.flat_map(|(rule, asked, sent)| {
        let expected = Expected::of(server, table, rule, asked, sent, names);
        // A request that is denied changes nothing, dry run or not.
        let dry = [true, false]
            .into_iter()
            .filter(move |dry| *dry || expected.is_denied() && sent.send.contains("DRY"));
        dry.map(move |dry| (rule, sent, dry))
    });
    let requests = requests.map(async |(rule, sent, dry)| {
        let asked = table
            .requests
            .iter()
            .find(|asked| asked.requests.iter().any(|other| std::ptr::eq(other, sent)));
        let expected = Expected::of(server, table, rule, asked?, sent, names);
        let request = request(rule, sent, dry, names);
        let (code, body) = server.send(request).await;
        let wrong = expected.differs(code, &body, sent)?;
        Some(format!(
            "{}: {} {}\n    {wrong}",
            rule.user, sent.send, sent.content
        ))
    });
    let (mut count, mut wrong) = (0, Vec::new());
    let mut reviews = futures::stream::iter(reviews).buffer_unordered(SIDE_BY_SIDE);
    while let Some(difference) = reviews.next().await {
        count += 1;
        wrong.extend(difference);
    }
    let mut requests = futures::stream::iter(requests).buffer_unordered(SIDE_BY_SIDE);
    while let Some(difference) = requests.next().await {
        count += 1;
        wrong.extend(difference);
    }
    wrong.sort();
    (count, wrong)
}

fn request(rule: &Rule, sent: &Sent, dry: bool, names: &Names) -> Request<Vec<u8>> {
    let (method, path) = sent.send.split_once(' ').unwrap();
    let path = path.replace("DRY", if dry { "dryRun=All" } else { "" });
    let mut request = acting_as(Request::builder().method(method).uri(path), rule, names);
    if !sent.body.is_empty() {
        request = request.header("content-type", format!("application/{}", sent.content));
    }
    for (name, value) in &sent.headers {
        request = request.header(name, value);
    }
    request.body(sent.body.clone().into_bytes()).unwrap()
}

/// What the table says about one request of one user.
#[derive(Debug, Clone)]
enum Expected {
    Answer(u16),
    /// A 403 that starts with these words.
    Refusal(String),
}

impl Expected {
    fn of(
        server: &impl Server,
        table: &Table,
        rule: &Rule,
        asked: &Asked,
        sent: &Sent,
        names: &Names,
    ) -> Self {
        if !table.allows(rule, &asked.asks) {
            let refusal = Attributes::parse(&asked.asks).refusal(&rule.user(names));
            return Self::Refusal(refusal);
        }
        match &asked.then {
            Some(then) if !table.allows(rule, then) => {
                let refusal = Attributes::parse(then).refusal(&rule.user(names));
                // Kubernetes names the object there and does not say what was asked.
                let about = refusal.split(": ").next().unwrap_or_default();
                Self::Refusal(about.to_owned())
            }
            _ if server.is_real() => Self::Answer(sent.answer),
            _ => Self::Answer(sent.hub.unwrap_or(sent.answer)),
        }
    }

    fn is_denied(&self) -> bool {
        !matches!(self, Self::Answer(_))
    }

    fn differs(&self, code: u16, body: &[u8], sent: &Sent) -> Option<String> {
        let status: Value = serde_json::from_slice(body).unwrap_or_default();
        let message = status["message"].as_str().unwrap_or_default();
        let (expected, words) = match self {
            Self::Answer(code) => (*code, ""),
            Self::Refusal(words) => (403, words.as_str()),
        };
        // There is no body in the answer to HEAD.
        let said = sent.send.starts_with("HEAD ") || message.starts_with(words);
        (code != expected || !said).then(|| format!("{code} {message}\n    {expected} {words} was expected"))
    }
}
