//! `ClusterProfile` of `multicluster.x-k8s.io`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema;

/// Identity of a cluster in an inventory.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "multicluster.x-k8s.io",
    version = "v1alpha1",
    kind = "ClusterProfile",
    plural = "clusterprofiles",
    namespaced,
    status = "ClusterProfileStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "One cluster of the inventory that its namespace is."
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterProfileSpec {
    /// Name of the cluster for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,

    /// The manager of the cluster. It cannot be changed.
    #[schemars(extend("x-kubernetes-validations" = [{ "rule": "self == oldSelf", "message": "clusterManager cannot be changed" }]))]
    pub cluster_manager: ClusterManager,
}

/// The manager of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterManager {
    /// Name of the manager, as in the label `x-k8s.io/cluster-manager`.
    pub name: String,
}

/// What is known about a cluster of an inventory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterProfileStatus {
    /// Health and membership of the cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,

    /// Version of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<ClusterVersion>,

    /// Facts about the cluster by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub properties: Vec<Property>,

    /// Older name of `accessProviders`, which wins where both name the same provider.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub credential_providers: Vec<AccessProvider>,

    /// Ways to reach the cluster, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub access_providers: Vec<AccessProvider>,
}

/// Version of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterVersion {
    /// Version of Kubernetes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<String>,
}

/// A fact about a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Property {
    /// Name of the property.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,

    /// Value of the property.
    #[schemars(length(min = 1, max = 1024))]
    pub value: String,

    /// When the value was seen on the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub last_observed_time: Option<Time>,
}

/// A way to reach a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessProvider {
    /// Name of the provider.
    pub name: String,

    /// Where the cluster is and how its server is trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterAccess>,
}

/// Where a cluster is and how its server is trusted, in the spelling of a kubeconfig.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ClusterAccess {
    /// Address of the API server.
    pub server: String,

    /// Name the server certificate is checked against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_server_name: Option<String>,

    /// Do not check the server certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insecure_skip_tls_verify: Option<bool>,

    /// Path of a file with trusted certificates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_authority: Option<String>,

    /// Trusted certificates, PEM in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "byte"))]
    pub certificate_authority_data: Option<String>,

    /// Proxy on the way to the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,

    /// Do not compress answers of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disable_compression: Option<bool>,

    /// Further data for credential plugins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<NamedExtension>,
}

/// Named data for a credential plugin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamedExtension {
    /// Name of the extension.
    pub name: String,

    /// Its content.
    #[schemars(schema_with = "schema::any_object")]
    pub extension: Value,
}
