//! Messages of `apps/v1`: StatefulSet, with its claims, and DaemonSet.

use super::meta::{LABEL_SELECTOR, OBJECT_META};
use super::network::TYPED_LOCAL_OBJECT_REFERENCE;
use super::pod::POD_TEMPLATE_SPEC;
use crate::protobuf::schema::{Message, int_or_string, integer, message, quantity, string, time};

pub(in crate::protobuf) static STATEFUL_SET: Message = Message::new(
    "StatefulSet",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "spec", &STATEFUL_SET_SPEC),
        message(3, "status", &STATEFUL_SET_STATUS),
    ],
);

pub(in crate::protobuf) static STATEFUL_SET_SPEC: Message = Message::new(
    "StatefulSetSpec",
    &[
        integer(1, "replicas").keep(),
        message(2, "selector", &LABEL_SELECTOR),
        message(3, "template", &POD_TEMPLATE_SPEC),
        message(4, "volumeClaimTemplates", &PERSISTENT_VOLUME_CLAIM).many(),
        string(5, "serviceName").keep(),
        string(6, "podManagementPolicy"),
        message(7, "updateStrategy", &STATEFUL_SET_UPDATE_STRATEGY),
        integer(8, "revisionHistoryLimit").keep(),
        integer(9, "minReadySeconds"),
        message(
            10,
            "persistentVolumeClaimRetentionPolicy",
            &CLAIM_RETENTION_POLICY,
        ),
        message(11, "ordinals", &STATEFUL_SET_ORDINALS),
    ],
);

pub(in crate::protobuf) static STATEFUL_SET_UPDATE_STRATEGY: Message = Message::new(
    "StatefulSetUpdateStrategy",
    &[
        string(1, "type"),
        message(2, "rollingUpdate", &ROLLING_UPDATE_STATEFUL_SET),
    ],
);

pub(in crate::protobuf) static ROLLING_UPDATE_STATEFUL_SET: Message = Message::new(
    "RollingUpdateStatefulSetStrategy",
    &[integer(1, "partition").keep(), int_or_string(2, "maxUnavailable")],
);

pub(in crate::protobuf) static CLAIM_RETENTION_POLICY: Message = Message::new(
    "StatefulSetPersistentVolumeClaimRetentionPolicy",
    &[string(1, "whenDeleted"), string(2, "whenScaled")],
);

pub(in crate::protobuf) static STATEFUL_SET_ORDINALS: Message =
    Message::new("StatefulSetOrdinals", &[integer(1, "start").keep()]);

pub(in crate::protobuf) static STATEFUL_SET_STATUS: Message = Message::new(
    "StatefulSetStatus",
    &[
        integer(1, "observedGeneration"),
        integer(2, "replicas").keep(),
        integer(3, "readyReplicas"),
        integer(4, "currentReplicas"),
        integer(5, "updatedReplicas"),
        string(6, "currentRevision"),
        string(7, "updateRevision"),
        integer(9, "collisionCount").keep(),
        message(10, "conditions", &SET_CONDITION).many(),
        integer(11, "availableReplicas").keep(),
    ],
);

pub(in crate::protobuf) static SET_CONDITION: Message = Message::new(
    "SetCondition",
    &[
        string(1, "type").keep(),
        string(2, "status").keep(),
        time(3, "lastTransitionTime"),
        string(4, "reason"),
        string(5, "message"),
    ],
);

pub(in crate::protobuf) static PERSISTENT_VOLUME_CLAIM: Message = Message::new(
    "PersistentVolumeClaim",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "spec", &PERSISTENT_VOLUME_CLAIM_SPEC),
        message(3, "status", &PERSISTENT_VOLUME_CLAIM_STATUS),
    ],
);

pub(in crate::protobuf) static PERSISTENT_VOLUME_CLAIM_SPEC: Message = Message::new(
    "PersistentVolumeClaimSpec",
    &[
        string(1, "accessModes").many(),
        message(2, "resources", &VOLUME_RESOURCE_REQUIREMENTS),
        string(3, "volumeName"),
        message(4, "selector", &LABEL_SELECTOR),
        string(5, "storageClassName").keep(),
        string(6, "volumeMode").keep(),
        message(7, "dataSource", &TYPED_LOCAL_OBJECT_REFERENCE),
        string(9, "volumeAttributesClassName").keep(),
    ],
);

pub(in crate::protobuf) static VOLUME_RESOURCE_REQUIREMENTS: Message = Message::new(
    "VolumeResourceRequirements",
    &[quantity(1, "limits").map(), quantity(2, "requests").map()],
);

/// A template has none; Go writes its empty fields.
pub(in crate::protobuf) static PERSISTENT_VOLUME_CLAIM_STATUS: Message =
    Message::new("PersistentVolumeClaimStatus", &[string(1, "phase")]);

pub(in crate::protobuf) static DAEMON_SET: Message = Message::new(
    "DaemonSet",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "spec", &DAEMON_SET_SPEC),
        message(3, "status", &DAEMON_SET_STATUS),
    ],
);

pub(in crate::protobuf) static DAEMON_SET_SPEC: Message = Message::new(
    "DaemonSetSpec",
    &[
        message(1, "selector", &LABEL_SELECTOR),
        message(2, "template", &POD_TEMPLATE_SPEC),
        message(3, "updateStrategy", &DAEMON_SET_UPDATE_STRATEGY),
        integer(4, "minReadySeconds"),
        integer(6, "revisionHistoryLimit").keep(),
    ],
);

pub(in crate::protobuf) static DAEMON_SET_UPDATE_STRATEGY: Message = Message::new(
    "DaemonSetUpdateStrategy",
    &[
        string(1, "type"),
        message(2, "rollingUpdate", &ROLLING_UPDATE_DAEMON_SET),
    ],
);

pub(in crate::protobuf) static ROLLING_UPDATE_DAEMON_SET: Message = Message::new(
    "RollingUpdateDaemonSet",
    &[int_or_string(1, "maxUnavailable"), int_or_string(2, "maxSurge")],
);

pub(in crate::protobuf) static DAEMON_SET_STATUS: Message = Message::new(
    "DaemonSetStatus",
    &[
        integer(1, "currentNumberScheduled").keep(),
        integer(2, "numberMisscheduled").keep(),
        integer(3, "desiredNumberScheduled").keep(),
        integer(4, "numberReady").keep(),
        integer(5, "observedGeneration"),
        integer(6, "updatedNumberScheduled"),
        integer(7, "numberAvailable"),
        integer(8, "numberUnavailable"),
        integer(9, "collisionCount").keep(),
        message(10, "conditions", &SET_CONDITION).many(),
    ],
);
