//! The kubeconfig: server, trusted authority and credential in the one file kubectl and all clients read.

use std::io;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::certificates::Credential;
use super::files::{create_private_dir, write_private};
use super::tokens::Token;

/// What a kubeconfig says.
#[derive(Debug, Clone)]
pub(crate) struct Kubeconfig {
    /// The name of cluster, user and context.
    pub(crate) name: String,
    /// The URL of the server.
    pub(crate) server: String,
    /// The authority that signed the server's certificate, as PEM; without it the system's are trusted.
    pub(crate) authority_pem: Option<String>,
    /// How the user proves who it is.
    pub(crate) user: User,
    /// The namespace commands use without one; `default` if not given.
    pub(crate) namespace: Option<String>,
}

/// The credential of the user.
#[derive(Debug, Clone)]
pub(crate) enum User {
    /// A client certificate with its key.
    Certificate(Credential),
    /// A bearer token.
    Token(Token),
}

impl Kubeconfig {
    /// The file's content: YAML in the order kubectl writes it.
    pub(crate) fn to_yaml(&self) -> String {
        let name = quoted(&self.name);
        let mut yaml = String::from("apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n");
        if let Some(pem) = &self.authority_pem {
            yaml += &format!("    certificate-authority-data: {}\n", STANDARD.encode(pem));
        }
        yaml += &format!("    server: {}\n  name: {name}\n", quoted(&self.server));
        yaml += &format!("contexts:\n- context:\n    cluster: {name}\n");
        if let Some(namespace) = &self.namespace {
            yaml += &format!("    namespace: {}\n", quoted(namespace));
        }
        yaml += &format!("    user: {name}\n  name: {name}\ncurrent-context: {name}\npreferences: {{}}\n");
        yaml += &format!("users:\n- name: {name}\n  user:\n");
        match &self.user {
            User::Certificate(credential) => {
                let encoded = |pem: &str| STANDARD.encode(pem);
                yaml += &format!(
                    "    client-certificate-data: {}\n",
                    encoded(&credential.certificate_pem)
                );
                yaml += &format!("    client-key-data: {}\n", encoded(&credential.key_pem));
            }
            User::Token(token) => yaml += &format!("    token: {}\n", quoted(token.secret())),
        }
        yaml
    }

    /// Replaces the file at once, readable only by its owner. Missing folders are made.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            create_private_dir(folder)?;
        }
        write_private(path, self.to_yaml().as_bytes())
    }
}

/// A JSON string is a YAML string too, whatever is in it.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn kubeconfig(user: User) -> Kubeconfig {
        Kubeconfig {
            name: "portolan".to_owned(),
            server: "https://127.0.0.1:6443".to_owned(),
            authority_pem: Some("ca".to_owned()),
            user,
            namespace: Some("a: \"b\"".to_owned()),
        }
    }

    fn certificate() -> User {
        User::Certificate(Credential {
            certificate_pem: "cert".to_owned(),
            key_pem: "key".to_owned(),
        })
    }

    #[test]
    fn a_kubeconfig_names_server_authority_and_credential() {
        let expected = "apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority-data: Y2E=
    server: \"https://127.0.0.1:6443\"
  name: \"portolan\"
contexts:
- context:
    cluster: \"portolan\"
    namespace: \"a: \\\"b\\\"\"
    user: \"portolan\"
  name: \"portolan\"
current-context: \"portolan\"
preferences: {}
users:
- name: \"portolan\"
  user:
    client-certificate-data: Y2VydA==
    client-key-data: a2V5
";
        assert_eq!(kubeconfig(certificate()).to_yaml(), expected);
    }

    #[test]
    fn a_token_stands_where_no_certificate_does() {
        let token = Token::generate().unwrap();
        let yaml = kubeconfig(User::Token(token.clone())).to_yaml();
        assert!(
            yaml.ends_with(&format!("  user:\n    token: \"{}\"\n", token.secret())),
            "{yaml}"
        );
        let without = Kubeconfig {
            authority_pem: None,
            namespace: None,
            ..kubeconfig(certificate())
        };
        assert!(
            !without.to_yaml().contains("certificate-authority") && !without.to_yaml().contains("namespace")
        );
    }

    #[test]
    fn the_file_is_private_and_its_folder_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er/admin.kubeconfig");
        kubeconfig(certificate()).write(&path).unwrap();
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            kubeconfig(certificate()).to_yaml()
        );
    }
}
