//! Which cluster a kubeconfig of the hub is for, as far as it says so itself.

use anyhow::bail;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use kube::Config;
use kube::config::AuthInfo;
use portolan_api::labels::portolan::AGENT_NAMESPACE;
use secrecy::ExposeSecret;
use serde_json::Value;

use crate::join::objects::FORMER_ACCOUNT;

/// What the credentials and the context say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Whose {
    /// The cluster whose account the token is of. Nothing for other credentials.
    account: Option<String>,
    /// The namespace of the context, where it is not everybody's.
    namespace: Option<String>,
}

impl Whose {
    pub(super) fn of(config: &Config) -> Whose {
        let namespace = config.default_namespace.as_str();
        Whose {
            account: token(&config.auth_info).and_then(|token| account(&token)),
            namespace: (namespace != "default").then(|| namespace.to_owned()),
        }
    }

    /// The cluster to be the agent of. A token of another cluster's account could do nothing for this one, and would be
    /// refused over and over.
    pub(super) fn cluster(&self, given: Option<&str>) -> anyhow::Result<String> {
        match (given, &self.account) {
            (Some(given), Some(account)) if given != account => bail!(
                "these credentials are for cluster {account} (namespace {account} on the hub); --cluster says {given}; \
                 accepted: the kubeconfig that `portolan join {given}` writes, or no --cluster"
            ),
            (Some(given), _) => Ok(given.to_owned()),
            (None, Some(account)) => Ok(account.clone()),
            (None, None) => match &self.namespace {
                Some(namespace) => Ok(namespace.clone()),
                None => bail!(
                    "the kubeconfig of the hub does not say which cluster it is for; name the cluster with --cluster NAME, or \
                     use the file that `portolan join NAME` writes"
                ),
            },
        }
    }
}

/// How long before its end a token is worth a warning.
const SOON: SignedDuration = SignedDuration::from_hours(30 * 24);

/// What to say about a token that ends soon, or has ended. The agent does not get a new one by itself.
pub(super) fn expiry(config: &Config, now: Timestamp) -> Option<String> {
    let token = token(&config.auth_info)?;
    let end = Timestamp::from_second(payload(&token)?.get("exp")?.as_i64()?).ok()?;
    ends(end, now)
}

fn ends(end: Timestamp, now: Timestamp) -> Option<String> {
    let renew = "`portolan join` again writes a new one";
    match end.duration_since(now) {
        left if left.is_negative() => Some(format!("the token of the hub ended at {end}; {renew}")),
        left if left < SOON => Some(format!("the token of the hub ends at {end}; {renew}")),
        _ => None,
    }
}

/// The token in the kubeconfig, or in the file that it names.
fn token(user: &AuthInfo) -> Option<String> {
    match (&user.token, &user.token_file) {
        (Some(token), _) => Some(token.expose_secret().to_owned()),
        (None, Some(path)) => crate::live::file::read_text(std::path::Path::new(path)).ok(),
        (None, None) => None,
    }
}

/// The cluster of the account that a token is of. It is read, not verified: the hub does that.
fn account(token: &str) -> Option<String> {
    let payload = payload(token)?;
    let subject = payload.get("sub")?.as_str()?;
    let (namespace, name) = subject.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    match (namespace, name) {
        (AGENT_NAMESPACE, cluster) => Some(cluster.to_owned()),
        (cluster, FORMER_ACCOUNT) => Some(cluster.to_owned()),
        _ => None,
    }
}

fn payload(token: &str) -> Option<Value> {
    let payload = token.trim().split('.').nth(1)?;
    let payload = URL_SAFE_NO_PAD.decode(payload).ok()?;
    serde_json::from_slice(&payload).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(subject: &str) -> Option<String> {
        let payload = URL_SAFE_NO_PAD.encode(json!({"sub": subject}).to_string());
        account(&format!("head.{payload}.signature"))
    }

    #[test]
    fn a_token_of_an_agent_names_its_cluster() {
        let cases = [
            ("system:serviceaccount:portolan-agents:west-1", Some("west-1")),
            ("system:serviceaccount:west-1:portolan-agent", Some("west-1")),
            ("system:serviceaccount:shop:robot", None),
            ("alice", None),
        ];
        for (subject, cluster) in cases {
            assert_eq!(of(subject).as_deref(), cluster, "{subject}");
        }
        assert_eq!(account("opaque"), None);
        assert_eq!(account("a.???.c"), None);
    }

    #[test]
    fn a_token_that_ends_within_a_month_is_worth_a_warning() {
        let at = |day: i64| Timestamp::from_second(day * 86_400).unwrap();
        assert_eq!(ends(at(365), at(0)), None);
        assert!(
            ends(at(20), at(0))
                .unwrap()
                .starts_with("the token of the hub ends at 1970-01-21")
        );
        assert!(ends(at(20), at(21)).unwrap().contains("ended at"));
    }

    #[test]
    fn another_clusters_credentials_are_refused_and_name_the_cluster_otherwise() {
        let west = Whose {
            account: Some("west-1".to_owned()),
            namespace: None,
        };
        assert_eq!(west.cluster(None).unwrap(), "west-1");
        assert_eq!(west.cluster(Some("west-1")).unwrap(), "west-1");
        let refused = west.cluster(Some("west-2")).unwrap_err().to_string();
        assert!(
            refused.starts_with("these credentials are for cluster west-1 (namespace west-1 on the hub); --cluster says west-2"),
            "{refused}"
        );
        // An administrator may be the agent of any cluster.
        let admin = Whose {
            account: None,
            namespace: Some("east".to_owned()),
        };
        assert_eq!(admin.cluster(Some("west-2")).unwrap(), "west-2");
        assert_eq!(admin.cluster(None).unwrap(), "east");
        assert!(
            Whose::default()
                .cluster(None)
                .unwrap_err()
                .to_string()
                .contains("--cluster NAME")
        );
    }
}
