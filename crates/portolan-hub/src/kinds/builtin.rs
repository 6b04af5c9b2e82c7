//! The built-in kinds: one row each. Their schemas are in `builtin.json`, in the form a CustomResourceDefinition has. They refer
//! to `definitions.json`: the specs of workloads, services and ingresses as of Kubernetes 1.36, whose version the hub has.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use super::names::Rule;
use super::{Resource, Scale, Traits};
use crate::schema::Definitions;
use crate::table::Columns;

static SCHEMAS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("builtin.json"))
        .expect("builtin.json is JSON; a test compiles every schema in it")
});

static DEFINITIONS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("definitions.json"))
        .expect("definitions.json is JSON; a test compiles what the kinds refer to")
});

/// A row of the table.
struct Row {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    scope: Scope,
    flags: &'static [Flag],
    names: Rule,
}

#[derive(PartialEq, Eq)]
enum Scope {
    Cluster,
    Namespace,
}

#[derive(PartialEq, Eq)]
enum Flag {
    Status,
    Scale,
    Generation,
    Conditional,
    Review,
    CreateOnUpdate,
    All,
}

use Flag::{All, Conditional, CreateOnUpdate, Generation, Review, Status};
use Scope::{Cluster, Namespace};

const RBAC: &str = "rbac.authorization.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";
const AUTHENTICATION: &str = "authentication.k8s.io";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("", "v1", "Namespace", "namespaces", &["ns"], Cluster, &[Status], Rule::Label),
    row("", "v1", "ConfigMap", "configmaps", &["cm"], Namespace, &[], Rule::Subdomain),
    row("", "v1", "Secret", "secrets", &[], Namespace, &[], Rule::Subdomain),
    row("", "v1", "ServiceAccount", "serviceaccounts", &["sa"], Namespace, &[], Rule::Subdomain),
    row("", "v1", "Service", "services", &["svc"], Namespace, &[Status, CreateOnUpdate, All], Rule::LabelFromLetter),
    row("", "v1", "Pod", "pods", &["po"], Namespace, &[Status, All], Rule::Subdomain),
    row("", "v1", "Event", "events", &["ev"], Namespace, &[CreateOnUpdate], Rule::Subdomain),
    row("events.k8s.io", "v1", "Event", "events", &["ev"], Namespace, &[CreateOnUpdate], Rule::Subdomain),
    row("coordination.k8s.io", "v1", "Lease", "leases", &[], Namespace, &[Conditional, CreateOnUpdate], Rule::Subdomain),
    row("apps", "v1", "Deployment", "deployments", &["deploy"], Namespace, &[Status, Flag::Scale, Generation, All], Rule::Subdomain),
    row("apps", "v1", "StatefulSet", "statefulsets", &["sts"], Namespace, &[Status, Flag::Scale, Generation, All], Rule::Subdomain),
    row("apps", "v1", "DaemonSet", "daemonsets", &["ds"], Namespace, &[Status, Generation, All], Rule::Subdomain),
    row("batch", "v1", "CronJob", "cronjobs", &["cj"], Namespace, &[Status, Generation, All], Rule::Subdomain),
    row("networking.k8s.io", "v1", "Ingress", "ingresses", &["ing"], Namespace, &[Status, Generation], Rule::Subdomain),
    row("batch", "v1", "Job", "jobs", &[], Namespace, &[Status, Generation, All], Rule::Subdomain),
    row(RBAC, "v1", "Role", "roles", &[], Namespace, &[CreateOnUpdate], Rule::PathSegment),
    row(RBAC, "v1", "RoleBinding", "rolebindings", &[], Namespace, &[CreateOnUpdate], Rule::PathSegment),
    row(RBAC, "v1", "ClusterRole", "clusterroles", &[], Cluster, &[CreateOnUpdate], Rule::PathSegment),
    row(RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", &[], Cluster, &[CreateOnUpdate], Rule::PathSegment),
    row(super::definition::GROUP, "v1", "CustomResourceDefinition", "customresourcedefinitions", &["crd", "crds"], Cluster, &[Status, Generation, Conditional], Rule::Subdomain),
    row(AUTHORIZATION, "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", &[], Cluster, &[Review], Rule::Subdomain),
    row(AUTHORIZATION, "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", &[], Cluster, &[Review], Rule::Subdomain),
    row(AUTHORIZATION, "v1", "SubjectAccessReview", "subjectaccessreviews", &[], Cluster, &[Review], Rule::Subdomain),
    row(AUTHORIZATION, "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", &[], Namespace, &[Review], Rule::Subdomain),
    row(AUTHENTICATION, "v1", "TokenReview", "tokenreviews", &[], Cluster, &[Review], Rule::Subdomain),
    row(AUTHENTICATION, "v1", "SelfSubjectReview", "selfsubjectreviews", &[], Cluster, &[Review], Rule::Subdomain),
];

/// `events.k8s.io` serves the core group's events under newer field names.
const EVENT_RENAMES: &[(&str, &str)] = &[
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
];

#[expect(
    clippy::too_many_arguments,
    reason = "a row of the table above reads best as one line"
)]
const fn row(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    scope: Scope,
    flags: &'static [Flag],
    names: Rule,
) -> Row {
    Row {
        group,
        version,
        kind,
        plural,
        short,
        scope,
        flags,
        names,
    }
}

/// A definition that schemas of built-in kinds refer to.
pub(crate) fn definition_of_built_in_kinds(name: &str) -> Option<&'static Value> {
    DEFINITIONS.get(name)
}

/// Every built-in resource.
pub(crate) fn resources() -> impl Iterator<Item = Resource> {
    let definitions = Definitions::new(&DEFINITIONS);
    ROWS.iter().map(move |row| resource(row, &definitions))
}

fn resource(row: &Row, definitions: &Definitions<'_>) -> Resource {
    let flag = |flag: Flag| row.flags.contains(&flag);
    let source = SCHEMAS.get(&super::qualified(row.kind, row.group)).cloned();
    let source = source.unwrap_or_else(
        || serde_json::json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
    );
    let events = row.group == "events.k8s.io";
    let storage_group = if events { "" } else { row.group };
    Resource {
        group: row.group.into(),
        version: row.version.into(),
        kind: row.kind.into(),
        list_kind: format!("{}List", row.kind),
        plural: row.plural.into(),
        singular: row.kind.to_lowercase(),
        short_names: row.short.iter().map(ToString::to_string).collect(),
        categories: if flag(All) { vec!["all".into()] } else { Vec::new() },
        namespaced: row.scope == Namespace,
        storage_group: storage_group.into(),
        storage_version: super::api_version(storage_group, row.version),
        renames: if events { EVENT_RENAMES } else { &[] },
        defined: 0,
        schema: Arc::new(
            definitions
                .compile(&source)
                .expect("a test compiles every built-in schema"),
        ),
        source: Arc::new(source),
        columns: Columns::of_builtin(row.group, row.kind),
        status: flag(Status),
        scale: flag(Flag::Scale).then(|| Scale {
            spec_replicas: ".spec.replicas".into(),
            status_replicas: ".status.replicas".into(),
            label_selector: None,
        }),
        selectable: selectable(row.kind),
        traits: Traits {
            custom: false,
            generation: flag(Generation),
            unconditional_update: !flag(Conditional),
            review: flag(Review),
            create_on_update: flag(CreateOnUpdate),
            terminating: false,
            names: row.names,
        },
    }
}

fn selectable(kind: &str) -> Vec<String> {
    let fields: &[&str] = match kind {
        "Namespace" => &["status.phase"],
        "Secret" => &["type"],
        "Service" => &["spec.clusterIP", "spec.type"],
        "Job" => &["status.successful"],
        "Pod" => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.nominatedNodeName",
            "status.phase",
            "status.podIP",
        ],
        "Event" => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        _ => &[],
    };
    fields.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::{self, MergeRules};
    use crate::schema::Schema;

    /// The fields that have a merge rule and that the schema does not have.
    fn unknown(rules: &MergeRules, schema: &Schema, path: &str) -> Vec<String> {
        let lists = |schema: &Schema| schema.items.is_some();
        let schema = if lists(schema) {
            schema.items.as_deref().unwrap()
        } else {
            schema
        };
        if schema.preserve_unknown {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (name, rules) in rules.members() {
            let path = format!("{path}.{name}");
            match schema.properties.get(name) {
                Some(field) => {
                    found.extend(unknown(rules, field, &path));
                    found.extend(unknown(rules.items(), field, &path));
                }
                None => found.push(path),
            }
        }
        found
    }

    #[test]
    fn the_merge_rules_of_a_spec_are_about_fields_that_its_schema_has() {
        for resource in resources() {
            let Some(rules) = patch::builtin_kind(&resource.group, &resource.kind) else {
                continue;
            };
            if let Some(schema) = resource.schema.properties.get("spec") {
                assert_eq!(unknown(rules.member("spec"), schema, &resource.kind), [""; 0]);
            }
        }
    }

    #[test]
    fn every_row_and_every_schema_has_the_other() {
        let names: Vec<_> = resources().map(|resource| resource.qualified_kind()).collect();
        for name in SCHEMAS.keys() {
            assert!(names.contains(name), "{name} has a schema and no row");
        }
        for name in names {
            assert!(SCHEMAS.contains_key(&name), "{name} has no schema");
        }
    }
}
