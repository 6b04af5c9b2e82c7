//! The identity of a client.

use std::collections::BTreeMap;

/// Members may do everything, whatever the stored roles say: the way back in when those lock everybody out.
pub(crate) const MASTERS: &str = "system:masters";
/// Everybody who showed a credential.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// Everybody who did not.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The user name of a request without credentials.
pub(crate) const ANONYMOUS: &str = "system:anonymous";

/// The beginning of the user names of service accounts.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// The user a request is made by.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Identity {
    /// The user name.
    pub(crate) user: String,
    /// The groups, in the order the credential lists them.
    pub(crate) groups: Vec<String>,
    /// What tells two users of one name apart; empty for users the hub does not store.
    pub(crate) uid: String,
    /// What else a credential says.
    pub(crate) extra: BTreeMap<String, Vec<String>>,
}

impl Identity {
    /// A user with a valid credential; a member of [`AUTHENTICATED`].
    pub(crate) fn authenticated(
        user: impl Into<String>,
        groups: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let mut groups: Vec<String> = groups.into_iter().map(Into::into).collect();
        if !groups.iter().any(|group| group == AUTHENTICATED) {
            groups.push(AUTHENTICATED.to_owned());
        }
        Self {
            user: user.into(),
            groups,
            ..Self::default()
        }
    }

    /// The user of a request without credentials.
    pub(crate) fn anonymous() -> Self {
        Self {
            user: ANONYMOUS.to_owned(),
            groups: vec![UNAUTHENTICATED.to_owned()],
            ..Self::default()
        }
    }

    /// A service account, with the groups Kubernetes gives it.
    pub(crate) fn service_account(namespace: &str, name: &str) -> Self {
        let groups = [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
        ];
        Self::authenticated(service_account_user(namespace, name), groups)
    }

    /// Namespace and name of a service account.
    pub(crate) fn account(&self) -> Option<(&str, &str)> {
        self.user.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')
    }

    /// Whether the user belongs to a group.
    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|other| other == group)
    }
}

/// The user name of a service account.
pub(crate) fn service_account_user(namespace: &str, name: &str) -> String {
    format!("{SERVICE_ACCOUNT}{namespace}:{name}")
}
