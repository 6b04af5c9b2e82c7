//! `--install-crds`: our CustomResourceDefinitions on a hub, never over somebody else's and never back to an older version.

use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, ResourceExt};
use serde_json::Value;

use crate::live::{self, Server};
use crate::version;

/// Whose fields the definitions are that we apply.
const MANAGER: &str = "portolan-crds";
/// The version of Portolan that a definition is from.
const VERSION: &str = "portolan.dev/crd-version";
/// A definition is served within moments; after this long something is wrong with it.
const ESTABLISH: Duration = Duration::from_secs(30);

/// `--install-crds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InstallCrds {
    /// Those that are missing; those from an older Portolan are updated
    Missing,
    /// All of them, also over those that OCM or a newer Portolan installed
    Force,
}

/// What is done with one definition.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Apply,
    Leave(String),
}

/// Installs what is to be installed and waits until it is served. How many definitions were applied.
pub(crate) async fn install(server: &Server, which: InstallCrds) -> anyhow::Result<usize> {
    install_some(server, which, portolan_api::crd_values()).await
}

/// The same for some of the definitions.
pub(crate) async fn install_some(
    server: &Server,
    which: InstallCrds,
    definitions: Vec<Value>,
) -> anyhow::Result<usize> {
    let api: Api<CustomResourceDefinition> = Api::all(server.client.clone());
    let mut applied = Vec::new();
    for definition in definitions {
        let name = definition["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let there = api.get_opt(&name).await;
        let there = there
            .map_err(|error| live::explain(&error, &format!("read the definition {name}"), &server.url))?;
        match step(there.as_ref(), which, version::NUMBER) {
            Step::Leave(why) => tracing::info!(
                definition = name,
                "the CustomResourceDefinition is left as it is: {why}"
            ),
            Step::Apply => {
                apply(&api, definition).await.map_err(|error| {
                    live::explain(&error, &format!("install the definition {name}"), &server.url)
                })?;
                tracing::info!(definition = name, "the CustomResourceDefinition is installed");
                applied.push(name);
            }
        }
    }
    for name in &applied {
        let established = await_condition(api.clone(), name, conditions::is_crd_established());
        tokio::time::timeout(ESTABLISH, established)
            .await
            .with_context(|| {
                format!("the definition {name} is not served after {ESTABLISH:?}; `kubectl describe crd {name}` says why")
            })?
            .with_context(|| format!("cannot wait for the definition {name}"))?;
    }
    Ok(applied.len())
}

/// Applies a definition. Servers before 1.23 have no field for CEL rules, and where others would drop a field that they
/// do not know, server-side apply refuses it.
async fn apply(api: &Api<CustomResourceDefinition>, mut definition: Value) -> kube::Result<()> {
    definition["metadata"]["annotations"][VERSION] = version::NUMBER.into();
    let name = definition["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let how = PatchParams::apply(MANAGER).force();
    match api.patch(&name, &how, &Patch::Apply(&definition)).await {
        Err(kube::Error::Api(status)) if status.message.contains("field not declared in schema") => {
            remove_rules(&mut definition);
            api.patch(&name, &how, &Patch::Apply(&definition)).await.map(drop)
        }
        answer => answer.map(drop),
    }
}

fn remove_rules(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("x-kubernetes-validations");
            fields.values_mut().for_each(remove_rules);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_rules),
        _ => {}
    }
}

fn step(there: Option<&CustomResourceDefinition>, which: InstallCrds, ours: &str) -> Step {
    let Some(there) = there.filter(|_| which == InstallCrds::Missing) else {
        return Step::Apply;
    };
    if !is_ours(there) {
        return Step::Leave("someone else installed it; --install-crds=force would change that".to_owned());
    }
    match there.annotations().get(VERSION) {
        Some(theirs) if number(theirs) > number(ours) => Step::Leave(format!(
            "it is from Portolan {theirs}, this is {ours}; --install-crds=force would go back"
        )),
        _ => Step::Apply,
    }
}

fn is_ours(definition: &CustomResourceDefinition) -> bool {
    definition
        .managed_fields()
        .iter()
        .any(|entry| entry.manager.as_deref() == Some(MANAGER))
}

/// Major, minor and patch. What is no version is older than any.
fn number(version: &str) -> Option<[u64; 3]> {
    let plain = version.split(['-', '+']).next()?;
    let parts: Option<Vec<u64>> = plain.split('.').map(|part| part.parse().ok()).collect();
    parts?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn there(manager: &str, version: &str) -> CustomResourceDefinition {
        let definition = json!({
            "metadata": { "name": "x", "annotations": { VERSION: version }, "managedFields": [{ "manager": manager }] },
            "spec": { "group": "g", "names": { "kind": "K", "plural": "ks" }, "scope": "Namespaced", "versions": [] },
        });
        serde_json::from_value(definition).unwrap()
    }

    fn is_applied(there: &CustomResourceDefinition, which: InstallCrds) -> bool {
        step(Some(there), which, "1.10.0") == Step::Apply
    }

    #[test]
    fn a_server_without_rules_gets_definitions_without_rules() {
        let mut all = Value::Array(portolan_api::crd_values());
        assert!(all.to_string().contains("x-kubernetes-validations"));
        remove_rules(&mut all);
        assert!(!all.to_string().contains("x-kubernetes-validations"));
    }

    #[test]
    fn what_is_missing_is_installed() {
        assert_eq!(step(None, InstallCrds::Missing, "1.10.0"), Step::Apply);
    }

    #[test]
    fn what_others_installed_is_left_alone_unless_forced() {
        let others = there("cluster-manager", "1.0.0");
        assert!(!is_applied(&others, InstallCrds::Missing));
        assert!(is_applied(&others, InstallCrds::Force));
    }

    #[test]
    fn an_older_definition_of_ours_is_updated_and_a_newer_one_kept() {
        for (version, applied) in [
            ("1.9.0", true),
            ("1.10.0", true),
            ("1.11.0", false),
            ("2.0.0", false),
        ] {
            assert_eq!(
                is_applied(&there(MANAGER, version), InstallCrds::Missing),
                applied,
                "{version}"
            );
        }
        assert!(is_applied(&there(MANAGER, "2.0.0"), InstallCrds::Force));
    }
}
