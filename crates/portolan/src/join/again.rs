//! A cluster that joins again: what that changes.

use kube::Api;
use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::ocm;

use super::objects::Newcomer;
use crate::live::Server;

/// The cluster as it is before it joins. Where the kind is not served, that is said when the cluster is written.
pub(super) async fn there(
    server: &Server,
    name: &str,
) -> Result<Option<ManagedCluster>, (String, kube::Error)> {
    let api: Api<ManagedCluster> = Api::all(server.client.clone());
    match api.get_opt(name).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        answer => answer.map_err(|error| (format!("read the ManagedCluster {name}"), error)),
    }
}

/// What joining again changed.
pub(super) fn changes(before: &ManagedCluster, newcomer: &Newcomer) -> String {
    let had = before.metadata.labels.as_ref();
    let set = newcomer.set.iter().map(|set| (ocm::CLUSTER_SET, set));
    let labels = newcomer.labels.iter().map(|(key, value)| (key.as_str(), value));
    let changed = labels.chain(set).filter_map(|(key, value)| {
        let had = had.and_then(|labels| labels.get(key));
        match had {
            Some(had) if had == value => None,
            Some(had) => Some(format!("label {key}: {had} → {value}")),
            None => Some(format!("label {key}={value}")),
        }
    });
    let accepted =
        (!before.spec.hub_accepts_client).then(|| "spec.hubAcceptsClient: false → true".to_owned());
    let all: Vec<String> = changed.chain(accepted).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!("changed on {}: {}\n", newcomer.name, all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joining_again_says_what_it_changes() {
        let before = serde_json::json!({
            "metadata": {"name": "west-1", "labels": {"region": "west", "tier": "gold", ocm::CLUSTER_SET: "test"}},
            "spec": {"hubAcceptsClient": true},
        });
        let mut before: ManagedCluster = serde_json::from_value(before).unwrap();
        let labels = [("region", "east"), ("tier", "gold"), ("new", "1")];
        let newcomer = Newcomer {
            name: "west-1".to_owned(),
            labels: labels
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            set: Some("prod".to_owned()),
            ..Newcomer::default()
        };
        assert_eq!(
            changes(&before, &newcomer),
            "changed on west-1: label new=1, label region: west → east, \
             label cluster.open-cluster-management.io/clusterset: test → prod\n"
        );
        let same = Newcomer {
            name: "west-1".to_owned(),
            ..Newcomer::default()
        };
        assert_eq!(changes(&before, &same), "");
        before.spec.hub_accepts_client = false;
        assert!(changes(&before, &same).contains("hubAcceptsClient"));
    }
}
