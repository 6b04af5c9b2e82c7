//! The mistakes of a first hour, and the words that a person sees: from kubectl, in the conditions, from `simulate`,
//! `explain` and `rollout status`. `mistakes.yaml` is the table; adding a mistake needs no Rust. Runs on the embedded hub,
//! or on a real server where `KUBEBUILDER_ASSETS` names one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use portolan_api::structural;
use portolan_controllers::{Clock, Controllers, Settings};
use portolan_testserver::{Feature, TestServer};
use serde::Deserialize;
use serde_json::{Value, json};
use support::{Run, Scratch, portolan};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    fleet: String,
    namespaces: Vec<String>,
    mistakes: Vec<Mistake>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Mistake {
    name: String,
    placement: Option<Named>,
    replica_set: Option<Named>,
    #[serde(default)]
    spec: Value,
    /// Instead of the above.
    manifest: Option<String>,
    /// Where kubectl puts it when the manifest does not say.
    namespace: Option<String>,
    #[serde(default)]
    kubectl: Vec<String>,
    /// Only a server that knows `fieldValidation` refuses it.
    #[serde(default)]
    strict: bool,
    #[serde(default)]
    conditions: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    simulate: Vec<String>,
    #[serde(default)]
    explain: Vec<String>,
    #[serde(default)]
    rollout: Vec<String>,
    #[serde(default)]
    lint: Vec<String>,
    #[serde(default)]
    exit: i32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
    namespace: Option<String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

impl Mistake {
    fn manifest(&self) -> String {
        if let Some(manifest) = &self.manifest {
            return manifest.clone();
        }
        let (api_version, kind, named) = match (&self.placement, &self.replica_set) {
            (Some(named), _) => ("cluster.open-cluster-management.io/v1beta1", "Placement", named),
            (_, Some(named)) => (
                "work.open-cluster-management.io/v1alpha1",
                "ManifestWorkReplicaSet",
                named,
            ),
            _ => panic!("{} has no manifest", self.name),
        };
        let mut spec = self.spec.clone();
        if self.replica_set.is_some() && spec.get("manifestWorkTemplate").is_none() {
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}});
            spec["manifestWorkTemplate"] = json!({"workload": {"manifests": [map]}});
        }
        let mut metadata = json!({"name": named.name});
        if let Some(namespace) = &named.namespace {
            metadata["namespace"] = json!(namespace);
        }
        if !named.annotations.is_empty() {
            metadata["annotations"] = json!(named.annotations);
        }
        json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}).to_string()
    }

    /// Namespace and name.
    fn key(&self) -> (String, String) {
        let named = self.placement.as_ref().or(self.replica_set.as_ref()).unwrap();
        let namespace = named.namespace.clone().or(self.namespace.clone());
        (namespace.unwrap(), named.name.clone())
    }
}

fn missing<'a>(words: &'a [String], text: &str) -> Vec<&'a String> {
    words
        .iter()
        .filter(|word| !text.contains(word.as_str()))
        .collect()
}

async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..600 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("it never happened: {what}");
}

fn api(client: &Client, api_version: &str, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
    let (group, version) = api_version.split_once('/').unwrap();
    let of_kind = GroupVersionKind::gvk(group, version, kind);
    let plural = &structural::find(api_version, kind).unwrap().plural;
    let resource = ApiResource::from_gvk_with_plural(&of_kind, plural);
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

/// The definitions, the namespaces and the fleet.
async fn prepare(server: &TestServer, table: &Table) {
    let client = server.client();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in portolan_api::crds() {
        match definitions.create(&PostParams::default(), &definition).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => {}
            made => drop(made.unwrap()),
        }
    }
    eventually("every definition is established", async || {
        let list = definitions.list(&ListParams::default()).await.unwrap();
        list.iter().all(|definition| {
            let status = serde_json::to_value(&definition.status).unwrap();
            let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
            conditions
                .iter()
                .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
        })
    })
    .await;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    for name in table.namespaces.iter().chain([&"default".to_owned()]) {
        let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        match namespaces.create(&PostParams::default(), &namespace).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => {}
            made => drop(made.unwrap()),
        }
    }
    let objects: Vec<Value> = serde_saphyr::from_multiple(&table.fleet).unwrap();
    for mut object in objects {
        let status = object.as_object_mut().unwrap().remove("status");
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let (api_version, kind) = (text("/apiVersion").unwrap(), text("/kind").unwrap());
        let name = text("/metadata/name").unwrap();
        let api = api(
            &client,
            &api_version,
            &kind,
            text("/metadata/namespace").as_deref(),
        );
        // A definition is served a moment after it is established.
        eventually(&format!("{kind} {name} is there"), async || {
            let how = PatchParams::apply("test").force();
            api.patch(&name, &how, &Patch::Apply(&object)).await.is_ok()
        })
        .await;
        if let Some(status) = status {
            let patch = Patch::Merge(json!({"status": status}));
            api.patch_status(&name, &PatchParams::default(), &patch)
                .await
                .unwrap();
        }
    }
}

/// Applies a manifest as a person does.
async fn apply(server: &TestServer, manifest: String, namespace: Option<String>) -> (bool, String) {
    let kubeconfig = server.kubeconfig().to_owned();
    let apply = move || {
        let scratch = Scratch::new();
        scratch.write("manifest.yaml", &manifest);
        let output = Command::new("kubectl")
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(namespace.iter().flat_map(|namespace| ["--namespace", namespace]))
            .args(["apply", "-f", "manifest.yaml"])
            .env("HOME", scratch.path())
            .current_dir(scratch.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), said)
    };
    tokio::task::spawn_blocking(apply).await.unwrap()
}

/// Runs the binary beside the server, which may be in this process.
async fn run(files: Vec<(&'static str, String)>, args: Vec<String>) -> Run {
    let run = move || {
        let scratch = Scratch::new();
        files.iter().for_each(|(name, text)| scratch.write(name, text));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        portolan(scratch.path(), &args, "")
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

/// Messages of the conditions of an object, by type.
async fn conditions(client: &Client, mistake: &Mistake) -> BTreeMap<String, String> {
    let (namespace, name) = mistake.key();
    let (api_version, kind) = match mistake.placement {
        Some(_) => ("cluster.open-cluster-management.io/v1beta1", "Placement"),
        None => (
            "work.open-cluster-management.io/v1alpha1",
            "ManifestWorkReplicaSet",
        ),
    };
    let object = api(client, api_version, kind, Some(&namespace))
        .get(&name)
        .await
        .unwrap();
    let list = object
        .data
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let text = |condition: &Value, field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    list.into_iter()
        .flatten()
        .map(|condition| (text(condition, "type"), text(condition, "message")))
        .collect()
}

/// What does not hold of the words that are told without a hub.
async fn simulated(table: &Table, mistake: &Mistake) -> Vec<String> {
    let files = vec![
        ("fleet.yaml", table.fleet.clone()),
        ("m.yaml", mistake.manifest()),
    ];
    let args = ["simulate", "-f", "fleet.yaml", "-f", "m.yaml", "--check"];
    let mut args: Vec<String> = args.map(str::to_owned).to_vec();
    if let Some(named) = mistake.placement.as_ref().filter(|_| mistake.exit != 2) {
        let namespace = named.namespace.as_deref().unwrap_or("default");
        args.extend(["--placement".to_owned(), format!("{namespace}/{}", named.name)]);
    }
    let run = run(files.clone(), args).await;
    let said = format!("{}{}", run.stdout, run.stderr);
    let mut wrong: Vec<String> = missing(&mistake.simulate, &said)
        .iter()
        .map(|word| format!("simulate does not say {word:?}:\n{said}"))
        .collect();
    if run.code != mistake.exit {
        wrong.push(format!(
            "simulate exits with {}, not {}:\n{said}",
            run.code, mistake.exit
        ));
    }
    wrong.extend(linted(mistake, files, &["-f", "fleet.yaml", "-f", "m.yaml"]).await);
    wrong
}

/// What does not hold of the words of `portolan lint`.
async fn linted(mistake: &Mistake, files: Vec<(&'static str, String)>, what: &[&str]) -> Vec<String> {
    let args: Vec<String> = ["lint"].iter().chain(what).map(ToString::to_string).collect();
    let run = run(files, args).await;
    missing(&mistake.lint, &run.stdout)
        .iter()
        .map(|word| {
            format!(
                "lint {what:?} does not say {word:?}:\n{}{}",
                run.stdout, run.stderr
            )
        })
        .collect()
}

/// What does not hold of the words that the object has, and that are told about it.
async fn seen(server: &TestServer, mistake: &Mistake) -> Vec<String> {
    let client = server.client();
    let kubeconfig = server.kubeconfig().to_str().unwrap();
    let mut wrong = linted(mistake, Vec::new(), &["--kubeconfig", kubeconfig]).await;
    if mistake.manifest.is_some() {
        return wrong;
    }
    let is_told = |found: &BTreeMap<String, String>| {
        mistake.conditions.iter().all(|(type_, words)| {
            let message = found.get(type_);
            message.is_some_and(|message| missing(words, message).is_empty())
        })
    };
    let mut found = conditions(&client, mistake).await;
    for _ in 0..600 {
        if is_told(&found) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        found = conditions(&client, mistake).await;
    }
    if !is_told(&found) {
        wrong.push(format!(
            "the conditions are {found:#?}, not {:#?}",
            mistake.conditions
        ));
    }
    if let Some((type_, message)) = found.iter().find(|(_, message)| message.starts_with(':')) {
        wrong.push(format!("{type_} begins with a colon: {message}"));
    }
    if mistake.placement.is_some() && !mistake.conditions.contains_key("PlacementWarning") {
        wrong.extend(
            found
                .get("PlacementWarning")
                .map(|said| format!("it warns: {said}")),
        );
    }
    let (namespace, name) = mistake.key();
    let live = ["--kubeconfig", kubeconfig];
    let asked = match mistake.placement {
        Some(_) => vec!["explain", "--placement"],
        None => vec!["rollout", "status"],
    };
    let mut args: Vec<String> = asked.iter().map(ToString::to_string).collect();
    args.push(format!("{namespace}/{name}"));
    args.extend(live.map(str::to_owned));
    let run = run(Vec::new(), args).await;
    let said = format!("{}{}", run.stdout, run.stderr);
    let words = missing(&mistake.explain, &said)
        .into_iter()
        .chain(missing(&mistake.rollout, &said));
    wrong.extend(words.map(|word| format!("{asked:?} does not say {word:?}:\n{said}")));
    wrong
}

async fn check(server: &TestServer, table: &Table, mistake: &Mistake) -> Vec<String> {
    let mut wrong = simulated(table, mistake).await;
    let (accepted, said) = apply(server, mistake.manifest(), mistake.namespace.clone()).await;
    match (accepted, mistake.kubectl.is_empty()) {
        (true, false) if mistake.strict && server.lacks(Feature::FieldValidation) => {}
        (true, true) => wrong.extend(seen(server, mistake).await),
        (true, false) => wrong.push("kubectl applies it".to_owned()),
        (false, true) => wrong.push(format!("kubectl does not apply it: {said}")),
        (false, false) => {
            let words = missing(&mistake.kubectl, &said);
            wrong.extend(
                words
                    .iter()
                    .map(|word| format!("kubectl does not say {word:?}: {said}")),
            );
        }
    }
    wrong
}

#[tokio::test(flavor = "multi_thread")]
async fn every_mistake_of_the_table_is_told_in_the_words_of_the_table() {
    if Command::new("kubectl")
        .args(["version", "--client"])
        .output()
        .is_err()
    {
        eprintln!("skipped: there is no kubectl");
        return;
    }
    let table: Table = serde_saphyr::from_str(include_str!("mistakes.yaml")).unwrap();
    let server = TestServer::start().await;
    prepare(&server, &table).await;
    #[expect(clippy::disallowed_methods, reason = "the test is where the time comes from")]
    let settings = Settings::new(Clock::new(jiff::Timestamp::now));
    let controllers = Controllers::start(server.client(), settings);
    let mut failures = Vec::new();
    for mistake in &table.mistakes {
        let wrong = check(&server, &table, mistake).await;
        if !wrong.is_empty() {
            failures.push(format!("## {}\n{}", mistake.name, wrong.join("\n")));
        }
    }
    controllers.stop().await;
    server.stop().await;
    assert!(
        failures.is_empty(),
        "{} mistakes are told otherwise\n\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}
