//! Kubeconfigs: what an agent needs to reach its hub, and one file for many member clusters.

use std::path::Path;

use anyhow::{Context, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Config;
use serde_json::{Value, json};

use crate::output;

/// A kubeconfig for the same server as `config`, with a token.
pub(crate) fn with_token(config: &Config, cluster: &str, token: &str) -> Value {
    let mut server = json!({"server": config.cluster_url.to_string().trim_end_matches('/')});
    if let Some(authorities) = &config.root_cert {
        let pem: String = authorities.iter().map(|der| pem(der)).collect();
        server["certificate-authority-data"] = json!(STANDARD.encode(pem));
    }
    if let Some(name) = &config.tls_server_name {
        server["tls-server-name"] = json!(name);
    }
    if config.accept_invalid_certs {
        server["insecure-skip-tls-verify"] = json!(true);
    }
    if let Some(proxy) = &config.proxy_url {
        server["proxy-url"] = json!(proxy.to_string());
    }
    json!({
        "apiVersion": "v1", "kind": "Config",
        "clusters": [{"name": "hub", "cluster": server}],
        "users": [{"name": cluster, "user": {"token": token}}],
        "contexts": [{"name": cluster, "context": {"cluster": "hub", "user": cluster, "namespace": cluster}}],
        "current-context": cluster,
    })
}

fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines = text.as_bytes().chunks(64).map(String::from_utf8_lossy);
    let body: Vec<_> = lines.collect();
    format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        body.join("\n")
    )
}

/// One kubeconfig with a context for each of these, which have one context each. The first is the current one.
pub(crate) fn merged(configs: &[(String, Value)]) -> Value {
    let mut all = json!({
        "apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": [],
        "current-context": configs.first().map(|(name, _)| name),
    });
    for (name, config) in configs {
        let part = |list: &str, field: &str| config[list][0][field].clone();
        let mut push = |list: &str, entry: Value| {
            if let Some(list) = all[list].as_array_mut() {
                list.push(entry);
            }
        };
        push(
            "clusters",
            json!({"name": name, "cluster": part("clusters", "cluster")}),
        );
        push("users", json!({"name": name, "user": part("users", "user")}));
        push(
            "contexts",
            json!({"name": name, "context": {"cluster": name, "user": name}}),
        );
    }
    all
}

/// Says why a kubeconfig cannot be written there, as far as that can be told before.
pub(crate) fn refuse(path: &Path, cluster: &str) -> anyhow::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        bail!(
            "cannot write the kubeconfig {}: there is no folder {}; accepted: a file in a folder that is there",
            path.display(),
            folder.display()
        );
    }
    if let Err(error) = check_writable(folder) {
        bail!(
            "cannot write the kubeconfig {}: the folder {} cannot be written to: {error}; accepted: a file in a folder that you \
             may write to (--write FILE); nothing is changed",
            path.display(),
            folder.display()
        );
    }
    if path.is_dir() {
        bail!(
            "cannot write the kubeconfig {}: it is a folder; accepted: a file",
            path.display()
        );
    }
    if !path.exists() {
        return Ok(());
    }
    match agent_of(path) {
        Some(other) if other != cluster => bail!(
            "cannot write the kubeconfig of the agent of {cluster} to {}: the file is the kubeconfig of the agent of {other}; \
             accepted: another file (--write FILE)",
            path.display()
        ),
        Some(_) => Ok(()),
        None => bail!(
            "cannot write the kubeconfig of the agent to {}: the file is there and is not the kubeconfig of an agent; \
             accepted: another file (--write FILE)",
            path.display()
        ),
    }
}

/// Creates a file in the folder and removes it. The permissions alone do not say enough: the file system may be read-only.
fn check_writable(folder: &Path) -> std::io::Result<()> {
    let path = folder.join(format!(".portolan-{}", std::process::id()));
    std::fs::File::create_new(&path)?;
    std::fs::remove_file(path)
}

/// The cluster whose agent a file is for, if it is a kubeconfig that [`with_token`] has made: a new token for the same cluster
/// may replace it. Any other file may hold credentials that are nowhere else.
fn agent_of(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let config: Value = serde_saphyr::from_str(&text).ok()?;
    let user = &config["users"][0];
    let context = &config["contexts"][0];
    let is_ours = config["users"].as_array().is_some_and(|users| users.len() == 1)
        && user["user"]["token"].is_string()
        && config["clusters"][0]["name"] == "hub"
        && context["context"]["cluster"] == "hub"
        && context["name"] == user["name"]
        && context["context"]["namespace"] == user["name"];
    user["name"].as_str().filter(|_| is_ours).map(str::to_owned)
}

/// Replaces a file at once, readable by its owner alone.
pub(crate) fn write(path: &Path, config: &Value) -> anyhow::Result<()> {
    let text = output::yaml(config)?;
    portolan_hub::write_private(path, text.as_bytes())
        .with_context(|| format!("cannot write the kubeconfig {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_refused_before_anything_is_done() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(refuse(&here.join("a.kubeconfig"), "west").is_ok());
        assert!(refuse(Path::new("a.kubeconfig"), "west").is_ok());
        for (path, why) in [
            (here.join("none/a"), "there is no folder"),
            (here.join("src"), "it is a folder"),
        ] {
            let refused = refuse(&path, "west").unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn a_kubeconfig_of_somebody_else_is_never_replaced() {
        let folder = std::env::temp_dir().join(format!("portolan-replace-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("hub.kubeconfig");
        let config = Config::new("https://hub.example.com".parse().unwrap());
        write(&path, &with_token(&config, "west", "secret")).unwrap();
        let again = refuse(&path, "west");
        let of_another = refuse(&path, "east").unwrap_err().to_string();
        let admin = json!({
            "clusters": [{"name": "portolan", "cluster": {"server": "https://hub.example.com"}}],
            "users": [{"name": "portolan", "user": {"token": "secret"}}],
            "contexts": [{"name": "portolan", "context": {"cluster": "portolan", "user": "portolan"}}],
        });
        write(&path, &admin).unwrap();
        let of_admin = refuse(&path, "west");
        std::fs::write(&path, "notes").unwrap();
        let notes = refuse(&path, "west");
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(again.is_ok(), "a new token replaces the old one");
        assert!(of_another.contains("the agent of west"), "{of_another}");
        for refused in [of_admin, notes] {
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains("is not the kubeconfig of an agent"), "{refused}");
        }
    }

    #[test]
    fn a_kubeconfig_is_written_as_lines_that_a_person_can_read() {
        let folder = std::env::temp_dir().join(format!("portolan-kubeconfig-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.kubeconfig");
        let long = "x".repeat(2_000);
        let config = json!({"kind": "Config", "users": [{"name": "a", "user": {"token": long}}]});
        write(&path, &config).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(text.lines().any(|line| line == "kind: Config"), "{text}");
        assert!(!text.contains('{'), "{text}");
        let read: Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(read, config);
    }

    #[test]
    fn a_file_that_others_have_put_beside_it_gets_no_secret() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = std::env::temp_dir().join(format!("portolan-trap-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (path, theirs) = (folder.join("west.kubeconfig"), folder.join("theirs"));
        std::fs::write(&theirs, "theirs").unwrap();
        for trap in ["west.new", "west.kubeconfig.new"] {
            symlink(&theirs, folder.join(trap)).unwrap();
        }
        write(&path, &json!({"kind": "Config", "token": "secret"})).unwrap();
        let untouched = std::fs::read_to_string(&theirs).unwrap();
        let mode = std::fs::symlink_metadata(&path).unwrap().permissions().mode();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(untouched, "theirs");
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn many_kubeconfigs_become_contexts_of_one() {
        let config = |server: &str| {
            json!({
                "clusters": [{"name": "portolan", "cluster": {"server": server}}],
                "users": [{"name": "portolan", "user": {"token": server}}],
                "contexts": [{"name": "portolan", "context": {"cluster": "portolan", "user": "portolan"}}],
            })
        };
        let all = merged(&[("a".to_owned(), config("one")), ("b".to_owned(), config("two"))]);
        assert_eq!(all["current-context"], "a");
        assert_eq!(
            all["clusters"][1],
            json!({"name": "b", "cluster": {"server": "two"}})
        );
        assert_eq!(all["users"][0], json!({"name": "a", "user": {"token": "one"}}));
        assert_eq!(
            all["contexts"][1],
            json!({"name": "b", "context": {"cluster": "b", "user": "b"}})
        );
    }
}
