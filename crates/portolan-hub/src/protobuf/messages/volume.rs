//! Volumes of a pod: the sources that need no storage driver.

use super::core::LOCAL_OBJECT_REFERENCE;
use crate::protobuf::schema::{Message, boolean, inline, integer, message, quantity, string};

pub(in crate::protobuf) static VOLUME: Message =
    Message::new("Volume", &[string(1, "name").keep(), inline(2, &VOLUME_SOURCE)]);

pub(in crate::protobuf) static VOLUME_SOURCE: Message = Message::new(
    "VolumeSource",
    &[
        message(1, "hostPath", &HOST_PATH_VOLUME_SOURCE),
        message(2, "emptyDir", &EMPTY_DIR_VOLUME_SOURCE),
        message(6, "secret", &SECRET_VOLUME_SOURCE),
        message(
            10,
            "persistentVolumeClaim",
            &PERSISTENT_VOLUME_CLAIM_VOLUME_SOURCE,
        ),
        message(16, "downwardAPI", &DOWNWARD_API_VOLUME_SOURCE),
        message(19, "configMap", &CONFIG_MAP_VOLUME_SOURCE),
        message(26, "projected", &PROJECTED_VOLUME_SOURCE),
    ],
);

pub(in crate::protobuf) static HOST_PATH_VOLUME_SOURCE: Message = Message::new(
    "HostPathVolumeSource",
    &[string(1, "path").keep(), string(2, "type").keep()],
);

pub(in crate::protobuf) static EMPTY_DIR_VOLUME_SOURCE: Message = Message::new(
    "EmptyDirVolumeSource",
    &[string(1, "medium"), quantity(2, "sizeLimit")],
);

pub(in crate::protobuf) static SECRET_VOLUME_SOURCE: Message = Message::new(
    "SecretVolumeSource",
    &[
        string(1, "secretName"),
        message(2, "items", &KEY_TO_PATH).many(),
        integer(3, "defaultMode").keep(),
        boolean(4, "optional").keep(),
    ],
);

pub(in crate::protobuf) static KEY_TO_PATH: Message = Message::new(
    "KeyToPath",
    &[
        string(1, "key").keep(),
        string(2, "path").keep(),
        integer(3, "mode").keep(),
    ],
);

pub(in crate::protobuf) static PERSISTENT_VOLUME_CLAIM_VOLUME_SOURCE: Message = Message::new(
    "PersistentVolumeClaimVolumeSource",
    &[string(1, "claimName").keep(), boolean(2, "readOnly")],
);

pub(in crate::protobuf) static DOWNWARD_API_VOLUME_SOURCE: Message = Message::new(
    "DownwardAPIVolumeSource",
    &[
        message(1, "items", &DOWNWARD_API_VOLUME_FILE).many(),
        integer(2, "defaultMode").keep(),
    ],
);

pub(in crate::protobuf) static DOWNWARD_API_VOLUME_FILE: Message = Message::new(
    "DownwardAPIVolumeFile",
    &[
        string(1, "path").keep(),
        message(2, "fieldRef", &OBJECT_FIELD_SELECTOR),
        message(3, "resourceFieldRef", &RESOURCE_FIELD_SELECTOR),
        integer(4, "mode").keep(),
    ],
);

pub(in crate::protobuf) static OBJECT_FIELD_SELECTOR: Message = Message::new(
    "ObjectFieldSelector",
    &[string(1, "apiVersion"), string(2, "fieldPath").keep()],
);

pub(in crate::protobuf) static RESOURCE_FIELD_SELECTOR: Message = Message::new(
    "ResourceFieldSelector",
    &[
        string(1, "containerName"),
        string(2, "resource").keep(),
        quantity(3, "divisor"),
    ],
);

pub(in crate::protobuf) static CONFIG_MAP_VOLUME_SOURCE: Message = Message::new(
    "ConfigMapVolumeSource",
    &[
        inline(1, &LOCAL_OBJECT_REFERENCE),
        message(2, "items", &KEY_TO_PATH).many(),
        integer(3, "defaultMode").keep(),
        boolean(4, "optional").keep(),
    ],
);

pub(in crate::protobuf) static PROJECTED_VOLUME_SOURCE: Message = Message::new(
    "ProjectedVolumeSource",
    &[
        message(1, "sources", &VOLUME_PROJECTION).many(),
        integer(2, "defaultMode").keep(),
    ],
);

pub(in crate::protobuf) static VOLUME_PROJECTION: Message = Message::new(
    "VolumeProjection",
    &[
        message(1, "secret", &SECRET_PROJECTION),
        message(2, "downwardAPI", &DOWNWARD_API_PROJECTION),
        message(3, "configMap", &CONFIG_MAP_PROJECTION),
        message(4, "serviceAccountToken", &SERVICE_ACCOUNT_TOKEN_PROJECTION),
    ],
);

pub(in crate::protobuf) static SECRET_PROJECTION: Message = Message::new(
    "SecretProjection",
    &[
        inline(1, &LOCAL_OBJECT_REFERENCE),
        message(2, "items", &KEY_TO_PATH).many(),
        boolean(4, "optional").keep(),
    ],
);

pub(in crate::protobuf) static DOWNWARD_API_PROJECTION: Message = Message::new(
    "DownwardAPIProjection",
    &[message(1, "items", &DOWNWARD_API_VOLUME_FILE).many()],
);

pub(in crate::protobuf) static CONFIG_MAP_PROJECTION: Message = Message::new(
    "ConfigMapProjection",
    &[
        inline(1, &LOCAL_OBJECT_REFERENCE),
        message(2, "items", &KEY_TO_PATH).many(),
        boolean(4, "optional").keep(),
    ],
);

pub(in crate::protobuf) static SERVICE_ACCOUNT_TOKEN_PROJECTION: Message = Message::new(
    "ServiceAccountTokenProjection",
    &[
        string(1, "audience"),
        integer(2, "expirationSeconds").keep(),
        string(3, "path").keep(),
    ],
);
