//! The kubeconfigs that `up` and `hub` write for administrators: of a hub, and of embedded members. Neither a file of somebody
//! else nor that of a server that runs is replaced: it may be all that leads there.

use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use serde_json::Value;

use crate::live::{ConnectArgs, Server, file};
use crate::member_name;

/// What hubs call their cluster, user and context.
const HUB: &str = "portolan";
/// How long a server that may run is given to answer.
const ANSWER: Duration = Duration::from_secs(2);

/// Whose kubeconfig a file is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Hub,
    Members,
}

impl Of {
    /// What to do about a file that must not be replaced.
    fn accepted(self) -> &'static str {
        match self {
            Of::Hub => "another file (--kubeconfig FILE)",
            Of::Members => {
                "another folder: the file is written beside the hub's kubeconfig (--kubeconfig FOLDER/FILE)"
            }
        }
    }

    /// Whether Portolan has written the kubeconfig.
    fn has_written(self, config: &Value) -> bool {
        let list = |field: &str| config[field].as_array().map_or(&[][..], Vec::as_slice);
        let contexts = list("contexts");
        let named_alike = contexts.iter().all(|entry| {
            let name = &entry["name"];
            let is_ours = match self {
                Of::Hub => name == HUB,
                Of::Members => name
                    .as_str()
                    .is_some_and(|name| member_name::number(name).is_some()),
            };
            is_ours && entry["context"]["cluster"] == *name && entry["context"]["user"] == *name
        });
        let is_one = self == Of::Members || contexts.len() == 1;
        let sizes = [list("clusters").len(), list("users").len()];
        named_alike && is_one && !contexts.is_empty() && sizes == [contexts.len(); 2]
    }
}

/// Refuses a file that Portolan has not written: it may hold credentials that are nowhere else. One without content, as `mktemp`
/// makes it, holds nothing.
pub(crate) fn refuse_foreign(path: &Path, of: Of) -> anyhow::Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let text = file::read_text(path);
    let is_free = text.is_ok_and(|text| text.trim().is_empty() || of.has_written(&read(&text)));
    if !is_free {
        bail!(
            "cannot write the kubeconfig {}: the file is there and is not one that `portolan up` or `portolan hub` has \
             written; accepted: {}",
            path.display(),
            of.accepted()
        );
    }
    Ok(())
}

/// Refuses the file of a server that runs. `own` is the kubeconfig of the hub of this process: where its data are those of
/// before, so is its certificate authority, and it answers itself.
pub(crate) async fn refuse_running(path: &Path, of: Of, own: &str) -> anyhow::Result<()> {
    let authority = |text: &str| {
        let config = read(text);
        let authority = &config["clusters"][0]["cluster"]["certificate-authority-data"];
        authority.as_str().map(str::to_owned)
    };
    let there = file::read_text(path).ok().and_then(|text| authority(&text));
    if there.is_some() && there == authority(own) {
        return Ok(());
    }
    let connect = ConnectArgs {
        kubeconfig: Some(path.to_owned()),
        context: None,
    };
    // Not the hub of this process, so that no advice names it.
    let server = match connect.config().await {
        Ok(config) => Server::new(config),
        Err(_) => return Ok(()),
    };
    let Ok(server) = server else {
        return Ok(());
    };
    let asked = tokio::time::timeout(ANSWER, server.version()).await;
    if let Ok(Ok(_)) = asked {
        let whose = match of {
            Of::Hub => "",
            Of::Members => "member clusters of another `portolan up`, such as ",
        };
        bail!(
            "cannot write the kubeconfig {}: it is the one of {whose}{}, which runs; accepted: {}, or stop the other one first",
            path.display(),
            server.url,
            of.accepted()
        );
    }
    Ok(())
}

fn read(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(names: &[&str]) -> Value {
        let entries = |field: &str| -> Vec<Value> {
            let of = |name: &&str| json!({"name": name, field: {"cluster": name, "user": name}});
            names.iter().map(of).collect()
        };
        json!({"clusters": entries("cluster"), "users": entries("user"), "contexts": entries("context")})
    }

    #[test]
    fn only_what_portolan_writes_is_taken_for_its_own() {
        assert!(Of::Hub.has_written(&config(&["portolan"])));
        assert!(Of::Members.has_written(&config(&["member-1", "member-2"])));
        for foreign in [
            config(&[]),
            config(&["portolan", "production"]),
            config(&["production"]),
            config(&["member-1"]),
            json!("notes"),
        ] {
            assert!(!Of::Hub.has_written(&foreign), "{foreign}");
        }
        for foreign in [
            config(&[]),
            config(&["member-1", "production"]),
            config(&["portolan"]),
        ] {
            assert!(!Of::Members.has_written(&foreign), "{foreign}");
        }
        // A user of somebody else was added by hand.
        let mut added = config(&["portolan"]);
        added["users"].as_array_mut().unwrap().push(json!({"name": "me"}));
        assert!(!Of::Hub.has_written(&added));
    }
}
