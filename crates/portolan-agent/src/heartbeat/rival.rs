//! Another agent that renews the Lease of the same cluster, as it shows in the Lease.

use k8s_openapi::api::coordination::v1::Lease;

/// The annotation of a Lease that says which process renewed it last.
pub(super) const IDENTITY: &str = "portolan.dev/agent-process";
/// Renewals in a row that found the Lease changed by somebody else. One may be an administrator, two an agent that has just
/// been replaced and finished what was under way.
const ENOUGH: u32 = 3;

/// What is known of others that write the Lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rival {
    /// The version of the Lease that our last renewal made.
    ours: Option<String>,
    /// Renewals in a row before which somebody else had written.
    times: u32,
}

impl Rival {
    /// The version that a renewal is based on, so that the server says if somebody else has written meanwhile.
    pub(super) fn version(&self) -> Option<&str> {
        self.ours.as_deref()
    }

    /// We renewed the Lease, and it was as we had left it.
    pub(super) fn alone(&mut self, lease: &Lease) {
        self.renewed(lease);
        self.times = 0;
    }

    /// We renewed the Lease after somebody else.
    pub(super) fn renewed(&mut self, lease: &Lease) {
        self.ours = lease.metadata.resource_version.clone();
    }

    /// Another process has written the Lease. Returns a warning once, when that has happened several times in a row.
    pub(super) fn met(&mut self, lease: &Lease, cluster: &str, own: &str) -> Option<String> {
        self.times = self.times.saturating_add(1);
        (self.times == ENOUGH).then(|| warning(lease, cluster, own))
    }
}

fn warning(lease: &Lease, cluster: &str, own: &str) -> String {
    let annotations = lease.metadata.annotations.as_ref();
    let identity = annotations.and_then(|all| all.get(IDENTITY));
    let identity = identity.filter(|identity| !identity.is_empty() && *identity != own);
    let holder = lease
        .spec
        .as_ref()
        .and_then(|spec| spec.holder_identity.as_deref());
    let other = match (identity, holder.filter(|holder| *holder != cluster)) {
        (Some(identity), _) => format!("the process {identity}"),
        (None, Some(holder)) => format!("the holder {holder}"),
        (None, None) => "a process that does not say which it is".to_owned(),
    };
    format!(
        "another agent runs for the cluster {cluster}: {other} renews its Lease, too; two agents overwrite each other's records \
         and reports; stop one of them, or start one with --heartbeat off where it is to leave the Lease to the other"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn lease(value: &Value) -> Lease {
        serde_json::from_value(value.clone()).unwrap()
    }

    #[test]
    fn another_agent_is_named_once_when_it_has_renewed_the_lease_between_three_renewals() {
        let mut rival = Rival::default();
        let theirs = lease(
            &json!({ "metadata": { "resourceVersion": "7", "annotations": { IDENTITY: "host-b/12" } },
            "spec": { "holderIdentity": "west" } }),
        );
        assert_eq!(rival.met(&theirs, "west", "host-a/7"), None);
        assert_eq!(rival.met(&theirs, "west", "host-a/7"), None);
        let said = rival.met(&theirs, "west", "host-a/7").unwrap();
        assert!(said.contains("the process host-b/12 renews its Lease"), "{said}");
        assert!(said.contains("stop one of them"), "{said}");
        assert_eq!(rival.met(&theirs, "west", "host-a/7"), None, "it was said");
        rival.alone(&theirs);
        assert_eq!(rival.times, 0);
        assert_eq!(rival.version(), Some("7"));
    }

    #[test]
    fn an_agent_of_another_project_is_named_by_its_holder_if_it_has_one() {
        let said = warning(
            &lease(&json!({ "spec": { "holderIdentity": "ocm-agent" } })),
            "west",
            "a",
        );
        assert!(said.contains("the holder ocm-agent"), "{said}");
        let said = warning(
            &lease(&json!({ "spec": { "holderIdentity": "west" } })),
            "west",
            "a",
        );
        assert!(said.contains("does not say which it is"), "{said}");
    }
}
