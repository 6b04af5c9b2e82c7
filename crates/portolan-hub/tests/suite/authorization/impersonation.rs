//! Impersonation, as a table: each sender × each set of headers.

use serde::Deserialize;

use super::run::{self, Server};
use super::table::{Attributes, Rule, covers};
use super::*;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Impersonation {
    requests: Vec<Sent>,
    senders: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    headers: Vec<(String, String)>,
    asks: Vec<String>,
    becomes: Option<String>,
    answer: Option<u16>,
    /// A minor version as text, and the answer since then.
    since: Option<(String, u16)>,
    /// The minor version that knows the header.
    needs: Option<String>,
}

fn version(text: &str) -> (u32, u32) {
    let (major, minor) = text.split_once('.').unwrap();
    (major.parse().unwrap(), minor.parse().unwrap())
}

impl Sent {
    /// What is wrong with an answer.
    fn differs(
        &self,
        sender: &Rule,
        names: &Names,
        server: &TestServer,
        answer: &(u16, Vec<u8>),
    ) -> Option<String> {
        let (code, body) = (answer.0, &answer.1);
        let status: Value = serde_json::from_slice(body).unwrap_or_default();
        let message = status["message"].as_str().unwrap_or_default();
        let user = sender.user(names);
        let may = |asks: &&String| sender.allows.iter().any(|pattern| covers(pattern, asks));
        let refused: Vec<String> = self.asks.iter().filter(|asks| !may(asks)).cloned().collect();
        let lists = sender.role.is_some() && sender.lists;
        let (expected, words) = match (&refused[..], &self.becomes, self.answer) {
            ([], Some(becomes), _) if becomes == "SENDER" && lists => (200, vec![String::new()]),
            ([], Some(becomes), _) => {
                let becomes = if becomes == "SENDER" { &user } else { becomes };
                let asks = format!("list configmaps {} -", names.namespace);
                (403, vec![Attributes::parse(&asks).refusal(becomes)])
            }
            ([], None, code) => {
                let newer = self
                    .since
                    .as_ref()
                    .filter(|(since, _)| server.version() >= version(since));
                let code = newer.map_or(code, |(_, code)| Some(*code));
                (code.unwrap(), vec![String::new()])
            }
            // In which order is not said.
            (refused, ..) => {
                let words = refused.iter().map(|asks| Attributes::parse(asks).refusal(&user));
                (403, words.collect())
            }
        };
        // Since 1.36 Kubernetes asks for the verbs of constrained impersonation after those of the table, and a refusal
        // names one of the former. The hub knows the latter alone.
        let constrained = server.is_real()
            && server.version() >= (1, 36)
            && !refused.is_empty()
            && message.contains(&format!("User {user:?} cannot impersonate"));
        let said = constrained || words.iter().any(|words| message.starts_with(words));
        let wrong = || {
            format!(
                "{}: {:?}\n    {code} {message}\n    {expected} {words:?} was expected",
                sender.user, self.headers
            )
        };
        (code != expected || !said).then(wrong)
    }
}

async fn token(remote: &Remote, namespace: &str, account: &str) -> String {
    let accounts = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
    run::create(remote, &accounts, &json!({"metadata": {"name": account}})).await;
    let request =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}});
    let request = Request::post(format!("{accounts}/{account}/token"))
        .header("content-type", "application/json")
        .body(request.to_string().into_bytes())
        .unwrap();
    let (_, body) = remote.send(request).await;
    let answer: Value = serde_json::from_slice(&body).unwrap();
    answer["status"]["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn senders_act_as_those_whom_their_roles_name_and_as_nobody_else() {
    let (server, client) = server().await;
    let names = names(&server);
    let admin = Remote::of(&server, client);
    let anonymous = Remote::of(&server, server.anonymous_client());
    run::create(
        &admin,
        "/api/v1/namespaces",
        &json!({"metadata": {"name": names.elsewhere()}}),
    )
    .await;
    let text = names.fill(include_str!("impersonation.yaml"));
    let table: Impersonation = serde_saphyr::from_str(&text).unwrap();
    let readers = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]);
    let readers = json!({
        "user": "readers-of-all", "subjects": [{"kind": "Group", "name": names.own("readers")}], "role": readers, "allows": [],
    });
    run::give(&admin, &serde_json::from_value(readers).unwrap(), &names).await;
    let mut tokens = Vec::new();
    for sender in &table.senders {
        tokens.push(token(&admin, &names.namespace, sender.account.as_deref().unwrap()).await);
        run::give(&admin, sender, &names).await;
    }
    for sender in &table.senders {
        let asked = table.requests.iter().flat_map(|sent| &sent.asks);
        for asks in asked.filter(|asks| sender.allows.iter().any(|pattern| covers(pattern, asks))) {
            eventually(asks, async || run::review(&admin, sender, &names, asks).await).await;
        }
    }
    let known = |sent: &&Sent| {
        !server.is_real()
            || sent
                .needs
                .as_ref()
                .is_none_or(|needs| server.version() >= version(needs))
    };
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (sender, token) in table.senders.iter().zip(&tokens) {
        for sent in table.requests.iter().filter(known) {
            let mut request = Request::get(format!("/api/v1/namespaces/{}/configmaps", names.namespace))
                .header("authorization", format!("Bearer {token}"));
            for (name, value) in &sent.headers {
                request = request.header(name, http::HeaderValue::from_bytes(value.as_bytes()).unwrap());
            }
            let answer = anonymous.send(request.body(Vec::new()).unwrap()).await;
            wrong.extend(sent.differs(sender, &names, &server, &answer));
            count += 1;
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
