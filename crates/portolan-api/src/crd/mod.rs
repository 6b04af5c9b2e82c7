//! The CustomResourceDefinitions, generated from the types.
//!
//! The schemas are structural, free of `nullable` noise and of references, and use nothing that a Kubernetes 1.20
//! API server refuses. CEL rules are ignored by servers that do not know them; where a rule matters for soundness
//! the schema says the same in plain JSON Schema.
//!
//! Some types also have a `crd()` of their own from the kube derive. It knows neither defaults nor exact limits; only
//! what is here is meant for a server.

mod columns;
mod generate;
mod v1alpha2;
mod yaml;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Resource;
use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::{cluster, multicluster, work};
use columns::Column;

/// Every CustomResourceDefinition, ordered by file name.
pub fn crds() -> Vec<CustomResourceDefinition> {
    crd_values()
        .into_iter()
        .map(|crd| serde_json::from_value(crd).expect("a generated definition has the shape of a definition"))
        .collect()
}

/// The same definitions as JSON values, which is how the schema walker and the hub read them.
pub fn crd_values() -> Vec<Value> {
    let mut values: Vec<Value> = definitions().iter().map(Definition::to_value).collect();
    values.sort_by_key(file_name);
    values
}

/// File name and content of every definition, for `deploy/crds/`.
pub fn crd_files() -> Vec<(String, String)> {
    crd_values()
        .iter()
        .map(|crd| (file_name(crd), yaml::document(crd)))
        .collect()
}

fn file_name(crd: &Value) -> String {
    let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    format!("{}_{}.yaml", text("/spec/group"), text("/spec/names/plural"))
}

/// Everything a definition says beside the schema.
struct Definition {
    group: String,
    kind: String,
    plural: String,
    scope: Scope,
    short_names: &'static [&'static str],
    categories: &'static [&'static str],
    versions: Vec<Version>,
}

/// Where objects of a kind live.
#[derive(Clone, Copy)]
enum Scope {
    Cluster,
    Namespaced,
}

/// One served version of a kind. The first one is stored.
struct Version {
    name: String,
    status_subresource: bool,
    columns: &'static [Column],
    schema: Value,
}

impl Definition {
    fn of<K: Resource<DynamicType = ()> + JsonSchema>(scope: Scope) -> Self {
        let schema = generate::root_schema::<K>();
        Self {
            group: K::group(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            plural: K::plural(&()).into_owned(),
            scope,
            short_names: &[],
            categories: &[],
            versions: vec![Version {
                name: K::version(&()).into_owned(),
                status_subresource: schema.pointer("/properties/status").is_some(),
                columns: &[],
                schema,
            }],
        }
    }

    fn short_names(mut self, names: &'static [&'static str]) -> Self {
        self.short_names = names;
        self
    }

    fn categories(mut self, categories: &'static [&'static str]) -> Self {
        self.categories = categories;
        self
    }

    /// Sets the printer columns of the newest version.
    fn columns(mut self, columns: &'static [Column]) -> Self {
        if let Some(version) = self.versions.last_mut() {
            version.columns = columns;
        }
        self
    }

    /// Adds a version that is served but not stored: the shape of the stored one, checked more strictly.
    fn also_served(mut self, name: &str, stricter: fn(&mut Value)) -> Self {
        if let Some(stored) = self.versions.first() {
            let mut schema = stored.schema.clone();
            stricter(&mut schema);
            let status_subresource = stored.status_subresource;
            self.versions.push(Version {
                name: name.to_owned(),
                status_subresource,
                columns: &[],
                schema,
            });
        }
        self
    }

    fn to_value(&self) -> Value {
        let mut names = json!({
            "kind": self.kind,
            "listKind": format!("{}List", self.kind),
            "plural": self.plural,
            "singular": self.kind.to_ascii_lowercase(),
        });
        if !self.short_names.is_empty() {
            names["shortNames"] = json!(self.short_names);
        }
        if !self.categories.is_empty() {
            names["categories"] = json!(self.categories);
        }
        let versions: Vec<Value> = self
            .versions
            .iter()
            .enumerate()
            .map(|(position, version)| version.to_value(position == 0))
            .collect();
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{}.{}", self.plural, self.group) },
            "spec": {
                "group": self.group,
                "names": names,
                "scope": match self.scope { Scope::Cluster => "Cluster", Scope::Namespaced => "Namespaced" },
                "versions": versions,
            },
        })
    }
}

impl Version {
    fn to_value(&self, stored: bool) -> Value {
        let mut version = json!({
            "name": self.name,
            "served": true,
            "storage": stored,
            "schema": { "openAPIV3Schema": self.schema },
        });
        if self.status_subresource {
            version["subresources"] = json!({ "status": {} });
        }
        if !self.columns.is_empty() {
            version["additionalPrinterColumns"] = self.columns.iter().map(Column::to_value).collect();
        }
        version
    }
}

fn definitions() -> Vec<Definition> {
    use Scope::{Cluster, Namespaced};
    vec![
        Definition::of::<cluster::Placement>(Namespaced).columns(columns::PLACEMENT),
        Definition::of::<cluster::PlacementDecision>(Namespaced),
        Definition::of::<cluster::ManagedCluster>(Cluster)
            .short_names(&["mcl", "mcls"])
            .columns(columns::MANAGED_CLUSTER),
        Definition::of::<cluster::ManagedClusterSet>(Cluster)
            .short_names(&["mclset", "mclsets"])
            .columns(columns::MANAGED_CLUSTER_SET),
        Definition::of::<cluster::ManagedClusterSetBinding>(Namespaced)
            .short_names(&["mclsetbinding", "mclsetbindings"]),
        Definition::of::<cluster::AddOnPlacementScore>(Namespaced),
        Definition::of::<multicluster::PlacementDecision>(Namespaced)
            .categories(&["multicluster"])
            .also_served("v1alpha2", v1alpha2::placement_decision)
            .columns(columns::DECISION_SLICE),
        Definition::of::<multicluster::ClusterProfile>(Namespaced)
            .categories(&["multicluster"])
            .also_served("v1alpha2", v1alpha2::cluster_profile)
            .columns(columns::CLUSTER_PROFILE),
        Definition::of::<multicluster::Work>(Namespaced),
        Definition::of::<multicluster::AppliedWork>(Cluster),
        Definition::of::<work::ManifestWork>(Namespaced),
        Definition::of::<work::AppliedManifestWork>(Cluster),
        Definition::of::<work::ManifestWorkReplicaSet>(Namespaced)
            .short_names(&["mwrs"])
            .columns(columns::MANIFEST_WORK_REPLICA_SET),
    ]
}
