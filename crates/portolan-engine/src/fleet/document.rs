//! A cluster's object as CEL and explanations read it, kept small.
//!
//! The object is needed whole and seldom: expressions may look at any field of it, but verdicts are cached, so each
//! change is read once. As text it would be the largest part of a cluster in memory, and as a tree four times as large
//! again. Objects of one kind have most of their text in common, so they are kept compressed against a typical one.

/// What most objects have in common, most common last. It may be changed freely: nothing compressed outlives the
/// process.
const TYPICAL: &[u8] = br#"{"apiVersion":"multicluster.x-k8s.io/v1alpha1","kind":"ClusterProfile","displayName":"clusterManager":{"name":"properties":[{"name":"ControlPlaneHealthy","managedNamespaces":"caBundle":"unreachable","unavailable","effect":"NoSelectIfNew","effect":"PreferNoSelect","taints":[{"key":"cluster.open-cluster-management.io/","value":"","effect":"NoSelect","timeAdded":"2026-01-0","annotations":{"finalizers":["cluster.open-cluster-management.io/api-resource-cleanup"],"deletionTimestamp":"addon-work-manager":"available","addon-application-manager":"addon-cert-policy-controller":"addon-cluster-proxy":"addon-config-policy-controller":"addon-governance-policy-framework":"addon-iam-policy-controller":"addon-managed-serviceaccount":"openshiftVersion-major":"openshiftVersion":"OpenShift","Azure","Google","BareMetal","region":"eu-us-central-east-west-1","zone":"production","staging","development","env":"environment":"owner":"tier":"gold","apiVersion":"cluster.open-cluster-management.io/v1","kind":"ManagedCluster","metadata":{"creationTimestamp":"2026-01-01T00:00:00Z","generation":1,"labels":{"cloud":"Amazon","cluster-id":"cluster.open-cluster-management.io/clusterset":"default","clusterID":"feature.open-cluster-management.io/addon-work-manager":"available","name":"site":"team":"topology.kubernetes.io/region":"topology.kubernetes.io/zone":"vendor":"},"name":"cluster-","resourceVersion":"uid":"},"spec":{"hubAcceptsClient":true,"leaseDurationSeconds":60,"managedClusterClientConfigs":[{"url":"https://api..example.com:6443"}]},"status":{"allocatable":{"cpu":"000m","ephemeral-storage":"hugepages-2Mi":"0","memory":"Ki","Mi","pods":"},"capacity":{"cpu":"memory":"Gi"},"clusterClaims":[{"name":"id.k8s.io","value":"},{"name":"id.openshift.io","value":"},{"name":"infrastructure.openshift.io","value":"},{"name":"kubeversion.open-cluster-management.io","value":"v1.33.},{"name":"platform.open-cluster-management.io","value":"AWS"},{"name":"product.open-cluster-management.io","value":"OpenShift"},{"name":"region.open-cluster-management.io","value":"},{"name":"version.openshift.io","value":"4."}],"conditions":[{"lastTransitionTime":"2026-01-01T00:00:00Z","message":"Accepted by hub cluster admin","reason":"HubClusterAdminAccepted","status":"True","type":"HubAcceptedManagedCluster"},{"lastTransitionTime":"2026-01-01T00:00:00Z","message":"Managed cluster joined","reason":"ManagedClusterJoined","status":"True","type":"ManagedClusterJoined"},{"lastTransitionTime":"2026-01-01T00:00:00Z","message":"Managed cluster is available","reason":"ManagedClusterAvailable","status":"True","type":"ManagedClusterConditionAvailable"}],"version":{"kubernetes":"v1.3"}}}"#;

/// The JSON of an object, compressed. Equal objects compare equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document(Box<[u8]>);

impl Document {
    /// Objects of our own types always serialise; should one not, CEL sees an empty document and says "no such key".
    pub(crate) fn of(object: &impl serde::Serialize) -> Document {
        // Room for most objects, so that the text is not moved as it grows.
        let mut json = Vec::with_capacity(TYPICAL.len());
        if serde_json::to_writer(&mut json, object).is_err() {
            json = b"{}".to_vec();
        }
        let packed = lz4_flex::block::compress_prepend_size_with_dict(&json, TYPICAL);
        Document(packed.into_boxed_slice())
    }

    /// The JSON.
    pub(crate) fn json(&self) -> Vec<u8> {
        lz4_flex::block::decompress_size_prepended_with_dict(&self.0, TYPICAL).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portolan_generate::Generator;

    const FLEET: Generator = Generator {
        seed: 1,
        clusters: 100,
        placements: 20,
    };

    #[test]
    fn what_comes_out_is_what_went_in() {
        for index in 0..FLEET.clusters {
            let cluster = FLEET.cluster(index);
            let document = Document::of(&cluster);
            assert_eq!(document.json(), serde_json::to_vec(&cluster).unwrap());
            assert_eq!(document, Document::of(&cluster));
        }
        let long = "x".repeat(1 << 20);
        assert_eq!(Document::of(&long).json(), serde_json::to_vec(&long).unwrap());
        assert_eq!(Document::of(&"").json(), b"\"\"");
    }

    #[test]
    fn a_typical_cluster_takes_less_than_half_of_its_text() {
        let (mut text, mut packed) = (0, 0);
        for index in 0..FLEET.clusters {
            let cluster = FLEET.cluster(index);
            text += serde_json::to_vec(&cluster).unwrap().len();
            packed += Document::of(&cluster).0.len();
        }
        assert!(packed * 2 < text, "{packed} of {text}");
    }
}
