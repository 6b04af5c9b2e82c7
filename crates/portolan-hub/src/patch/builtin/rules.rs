//! The table: metadata and the small kinds. What is not listed merges as a struct (objects) or is replaced (lists).

use std::borrow::Cow;

use super::{Field, Key, workloads};

pub(super) const NAME: &[Key] = &[Cow::Borrowed("name")];
pub(super) const TYPE: &[Key] = &[Cow::Borrowed("type")];
const UID: &[Key] = &[Cow::Borrowed("uid")];
const PORT: &[Key] = &[Cow::Borrowed("port"), Cow::Borrowed("protocol")];

pub(super) static CONDITION: Field = Field::structure("", &[]);
static OWNER: Field = Field::atomic("");
static REFERENCE: Field = Field::atomic("");
static SERVICE_PORT: Field = Field::structure("", &[Field::new("protocol", super::Shape::Unlisted)]);

pub(super) const METADATA_FIELDS: &[Field] = &[
    Field::map("labels"),
    Field::map("annotations"),
    Field::set("finalizers").merge(),
    Field::keyed("ownerReferences", UID, &OWNER).merge_by("uid"),
    Field::atomic("managedFields"),
];

const METADATA: Field = Field::structure("metadata", METADATA_FIELDS);

const EMPTY: &str = r#"{"metadata":{"creationTimestamp":null}}"#;
const WITH_STATUS: &str = r#"{"metadata":{"creationTimestamp":null},"spec":{},"status":{}}"#;

static META: Field = METADATA;
static OBJECT: Field = Field::structure("", &[METADATA]).with_skeleton(EMPTY);

static NAMESPACE: Field = Field::structure(
    "",
    &[
        METADATA,
        Field::structure("spec", &[Field::atomic("finalizers")]),
        Field::structure(
            "status",
            &[Field::keyed("conditions", TYPE, &CONDITION).merge_by("type")],
        ),
    ],
)
.with_skeleton(WITH_STATUS);

static CONFIG_MAP: Field =
    Field::structure("", &[METADATA, Field::map("data"), Field::map("binaryData")]).with_skeleton(EMPTY);

static SECRET: Field =
    Field::structure("", &[METADATA, Field::map("data"), Field::map("stringData")]).with_skeleton(EMPTY);

static SERVICE_ACCOUNT: Field = Field::structure(
    "",
    &[
        METADATA,
        Field::keyed("secrets", NAME, &REFERENCE).merge_by("name"),
        // Atomic to apply and mergeable to nobody: only a pod's imagePullSecrets carry a merge key.
        Field::atomic("imagePullSecrets"),
    ],
)
.with_skeleton(EMPTY);

static EVENT: Field = Field::structure(
    "",
    &[
        METADATA,
        Field::atomic("involvedObject"),
        Field::atomic("regarding"),
        Field::atomic("related"),
    ],
)
.with_skeleton(
    r#"{"metadata":{"creationTimestamp":null},"involvedObject":{},"source":{},"firstTimestamp":null,
        "lastTimestamp":null,"eventTime":null,"reportingComponent":"","reportingInstance":""}"#,
);

static EVENTS_EVENT: Field = Field::structure(
    "",
    &[METADATA, Field::atomic("regarding"), Field::atomic("related")],
)
.with_skeleton(
    r#"{"metadata":{"creationTimestamp":null},"eventTime":null,"regarding":{},"deprecatedSource":{},
            "deprecatedFirstTimestamp":null,"deprecatedLastTimestamp":null}"#,
);

static LEASE: Field = Field::structure("", &[METADATA, Field::structure("spec", &[])])
    .with_skeleton(r#"{"metadata":{"creationTimestamp":null},"spec":{}}"#);

static ROLE: Field = Field::structure("", &[METADATA, Field::atomic("rules")])
    .with_skeleton(r#"{"metadata":{"creationTimestamp":null},"rules":null}"#);

static BINDING: Field = Field::structure(
    "",
    &[METADATA, Field::atomic("subjects"), Field::atomic("roleRef")],
)
.with_skeleton(r#"{"metadata":{"creationTimestamp":null},"roleRef":{}}"#);

static SERVICE: Field = Field::structure(
    "",
    &[
        METADATA,
        Field::structure(
            "spec",
            &[
                Field::keyed("ports", PORT, &SERVICE_PORT).merge_by("port"),
                Field::atomic("selector"),
                Field::atomic("sessionAffinityConfig"),
            ],
        ),
        Field::structure(
            "status",
            &[
                Field::structure("loadBalancer", &[]),
                Field::keyed("conditions", TYPE, &CONDITION).merge_by("type"),
            ],
        ),
    ],
)
.with_skeleton(r#"{"metadata":{"creationTimestamp":null},"spec":{},"status":{"loadBalancer":{}}}"#);

static INGRESS: Field = Field::structure(
    "",
    &[
        METADATA,
        Field::structure("spec", &[Field::atomic("rules"), Field::atomic("tls")]),
        Field::structure(
            "status",
            &[Field::structure("loadBalancer", &[Field::atomic("ingress")])],
        ),
    ],
)
.with_skeleton(r#"{"metadata":{"creationTimestamp":null},"spec":{},"status":{"loadBalancer":{}}}"#);

/// Every built-in kind with rules of its own.
pub(super) static KINDS: &[(&str, &str, &Field)] = &[
    ("", "Namespace", &NAMESPACE),
    ("", "ConfigMap", &CONFIG_MAP),
    ("", "Secret", &SECRET),
    ("", "ServiceAccount", &SERVICE_ACCOUNT),
    ("", "Event", &EVENT),
    ("", "Service", &SERVICE),
    ("events.k8s.io", "Event", &EVENTS_EVENT),
    ("coordination.k8s.io", "Lease", &LEASE),
    ("rbac.authorization.k8s.io", "Role", &ROLE),
    ("rbac.authorization.k8s.io", "ClusterRole", &ROLE),
    ("rbac.authorization.k8s.io", "RoleBinding", &BINDING),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", &BINDING),
    ("apps", "Deployment", &workloads::DEPLOYMENT),
    ("apps", "StatefulSet", &workloads::STATEFUL_SET),
    ("apps", "DaemonSet", &workloads::DAEMON_SET),
    ("batch", "Job", &workloads::JOB),
    ("batch", "CronJob", &workloads::CRON_JOB),
    ("", "Pod", &workloads::POD),
    ("networking.k8s.io", "Ingress", &INGRESS),
];

/// The rules of a built-in kind, if it has some.
pub(crate) fn kind(group: &str, kind: &str) -> Option<&'static Field> {
    KINDS
        .iter()
        .find(|(its_group, its_kind, _)| *its_group == group && *its_kind == kind)
        .map(|(_, _, field)| *field)
}

/// The rules of a kind of which only the metadata is known.
pub(crate) fn object() -> &'static Field {
    &OBJECT
}

/// The rules of `metadata`, which custom resources share.
pub(crate) fn object_meta() -> &'static Field {
    &META
}

#[cfg(test)]
mod tests {
    use super::KINDS;
    use crate::patch::Typed;

    #[test]
    fn every_kind_has_a_skeleton_with_metadata() {
        for (group, kind, rules) in KINDS {
            let skeleton = rules
                .skeleton()
                .unwrap_or_else(|| panic!("{group}/{kind}: the skeleton does not parse"));
            assert!(skeleton.get("metadata").is_some(), "{group}/{kind}");
        }
    }
}
