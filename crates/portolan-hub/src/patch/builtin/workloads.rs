//! The table: pods' templates and the workload kinds that carry them.

use std::borrow::Cow;

use super::rules::{CONDITION, METADATA_FIELDS, NAME, TYPE};
use super::{Field, Key, Shape};

const IP: &[Key] = &[Cow::Borrowed("ip")];
const MOUNT_PATH: &[Key] = &[Cow::Borrowed("mountPath")];
const DEVICE_PATH: &[Key] = &[Cow::Borrowed("devicePath")];
const CONTAINER_PORT: &[Key] = &[Cow::Borrowed("containerPort"), Cow::Borrowed("protocol")];
const SPREAD: &[Key] = &[Cow::Borrowed("topologyKey"), Cow::Borrowed("whenUnsatisfiable")];

const METADATA: Field = Field::structure("metadata", METADATA_FIELDS);
const SELECTOR: Field = Field::atomic("selector");

static PLAIN: Field = Field::structure("", &[]);
static REFERENCE: Field = Field::atomic("");
static PORT: Field = Field::structure("", &[Field::new("protocol", Shape::Unlisted)]);

static ENV: Field = Field::structure(
    "",
    &[Field::structure(
        "valueFrom",
        &[
            Field::atomic("fieldRef"),
            Field::atomic("resourceFieldRef"),
            Field::atomic("configMapKeyRef"),
            Field::atomic("secretKeyRef"),
        ],
    )],
);

static CONTAINER: Field = Field::structure(
    "",
    &[
        Field::atomic("command"),
        Field::atomic("args"),
        Field::atomic("envFrom"),
        Field::keyed("env", NAME, &ENV).merge_by("name"),
        Field::keyed("ports", CONTAINER_PORT, &PORT).merge_by("containerPort"),
        Field::keyed("volumeMounts", MOUNT_PATH, &PLAIN).merge_by("mountPath"),
        Field::keyed("volumeDevices", DEVICE_PATH, &PLAIN).merge_by("devicePath"),
        Field::structure(
            "resources",
            &[
                Field::map("limits"),
                Field::map("requests"),
                Field::keyed("claims", NAME, &PLAIN),
            ],
        ),
    ],
);

static VOLUME: Field = Field::structure("", &[]);
static SPREAD_CONSTRAINT: Field = Field::structure("", &[Field::atomic("labelSelector")]);

const POD_SPEC: &[Field] = &[
    Field::keyed("containers", NAME, &CONTAINER).merge_by("name"),
    Field::keyed("initContainers", NAME, &CONTAINER).merge_by("name"),
    Field::keyed("ephemeralContainers", NAME, &CONTAINER).merge_by("name"),
    Field::keyed("volumes", NAME, &VOLUME).merge_by("name"),
    Field::keyed("imagePullSecrets", NAME, &REFERENCE).merge_by("name"),
    Field::keyed("hostAliases", IP, &PLAIN).merge_by("ip"),
    Field::keyed("topologySpreadConstraints", SPREAD, &SPREAD_CONSTRAINT).merge_by("topologyKey"),
    Field::keyed("resourceClaims", NAME, &PLAIN).merge_by("name"),
    Field::keyed("schedulingGates", NAME, &PLAIN).merge_by("name"),
    Field::atomic("tolerations"),
    Field::atomic("readinessGates"),
    Field::atomic("nodeSelector"),
    Field::map("overhead"),
];

const TEMPLATE: Field = Field::structure("template", &[METADATA, Field::structure("spec", POD_SPEC)]);

pub(super) static DEPLOYMENT: Field = Field::structure(
    "",
    &[
        METADATA,
        Field::structure("spec", &[SELECTOR, TEMPLATE]),
        Field::structure(
            "status",
            &[Field::keyed("conditions", TYPE, &CONDITION).merge_by("type")],
        ),
    ],
)
.with_skeleton(
    r#"{"metadata":{"creationTimestamp":null},"spec":{"selector":null,"template":{"metadata":{
        "creationTimestamp":null},"spec":{"containers":null}},"strategy":{}},"status":{}}"#,
);

pub(super) static JOB: Field = Field::structure(
    "",
    &[
        METADATA,
        Field::structure("spec", &[SELECTOR, TEMPLATE]),
        Field::structure(
            "status",
            &[
                // Atomic to apply, yet mergeable: the Job API says both.
                Field::atomic("conditions")
                    .merge_by("type")
                    .element_of(&CONDITION),
                Field::structure(
                    "uncountedTerminatedPods",
                    &[Field::set("succeeded"), Field::set("failed")],
                ),
            ],
        ),
    ],
)
.with_skeleton(
    r#"{"metadata":{"creationTimestamp":null},"spec":{"template":{"metadata":{"creationTimestamp":null},
        "spec":{"containers":null}}},"status":{}}"#,
);

pub(super) static STATEFUL_SET: Field = Field::structure(
    "",
    &[
        METADATA,
        Field::structure(
            "spec",
            &[SELECTOR, TEMPLATE, Field::atomic("volumeClaimTemplates")],
        ),
        Field::structure(
            "status",
            &[Field::keyed("conditions", TYPE, &CONDITION).merge_by("type")],
        ),
    ],
)
.with_skeleton(
    r#"{"metadata":{"creationTimestamp":null},"spec":{"selector":null,"template":{"metadata":{
        "creationTimestamp":null},"spec":{"containers":null}},"serviceName":"","updateStrategy":{}},
        "status":{"replicas":0,"availableReplicas":0}}"#,
);

pub(super) static DAEMON_SET: Field = Field::structure(
    "",
    &[
        METADATA,
        Field::structure("spec", &[SELECTOR, TEMPLATE]),
        Field::structure(
            "status",
            &[Field::keyed("conditions", TYPE, &CONDITION).merge_by("type")],
        ),
    ],
)
.with_skeleton(
    r#"{"metadata":{"creationTimestamp":null},"spec":{"selector":null,"template":{"metadata":{
        "creationTimestamp":null},"spec":{"containers":null}},"updateStrategy":{}},"status":{
        "currentNumberScheduled":0,"numberMisscheduled":0,"desiredNumberScheduled":0,"numberReady":0}}"#,
);

pub(super) static CRON_JOB: Field = Field::structure(
    "",
    &[
        METADATA,
        Field::structure(
            "spec",
            &[Field::structure(
                "jobTemplate",
                &[METADATA, Field::structure("spec", &[SELECTOR, TEMPLATE])],
            )],
        ),
        Field::structure("status", &[Field::atomic("active")]),
    ],
)
.with_skeleton(
    r#"{"metadata":{"creationTimestamp":null},"spec":{"schedule":"","jobTemplate":{"metadata":{
        "creationTimestamp":null},"spec":{"template":{"metadata":{"creationTimestamp":null},"spec":{
        "containers":null}}}}},"status":{}}"#,
);

pub(super) static POD: Field = Field::structure(
    "",
    &[
        METADATA,
        Field::structure("spec", POD_SPEC),
        Field::structure(
            "status",
            &[
                Field::keyed("conditions", TYPE, &CONDITION).merge_by("type"),
                Field::keyed("podIPs", IP, &PLAIN).merge_by("ip"),
                Field::atomic("hostIPs").merge_by("ip").element_of(&PLAIN),
                Field::atomic("containerStatuses"),
                Field::atomic("initContainerStatuses"),
                Field::atomic("ephemeralContainerStatuses"),
            ],
        ),
    ],
)
.with_skeleton(r#"{"metadata":{"creationTimestamp":null},"spec":{"containers":null},"status":{}}"#);
