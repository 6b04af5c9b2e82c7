//! Messages of `rbac.authorization.k8s.io/v1`.

use super::meta::{LABEL_SELECTOR, OBJECT_META};
use crate::protobuf::schema::{Message, message, string};

pub(in crate::protobuf) static ROLE: Message = Message::new(
    "Role",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "rules", &POLICY_RULE).many(),
    ],
);

pub(in crate::protobuf) static POLICY_RULE: Message = Message::new(
    "PolicyRule",
    &[
        string(1, "verbs").many(),
        string(2, "apiGroups").many(),
        string(3, "resources").many(),
        string(4, "resourceNames").many(),
        string(5, "nonResourceURLs").many(),
    ],
);

pub(in crate::protobuf) static CLUSTER_ROLE: Message = Message::new(
    "ClusterRole",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "rules", &POLICY_RULE).many(),
        message(3, "aggregationRule", &AGGREGATION_RULE),
    ],
);

pub(in crate::protobuf) static AGGREGATION_RULE: Message = Message::new(
    "AggregationRule",
    &[message(1, "clusterRoleSelectors", &LABEL_SELECTOR).many()],
);

pub(in crate::protobuf) static ROLE_BINDING: Message = Message::new(
    "RoleBinding",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "subjects", &SUBJECT).many(),
        message(3, "roleRef", &ROLE_REF),
    ],
);

pub(in crate::protobuf) static SUBJECT: Message = Message::new(
    "Subject",
    &[
        string(1, "kind").keep(),
        string(2, "apiGroup"),
        string(3, "name").keep(),
        string(4, "namespace"),
    ],
);

pub(in crate::protobuf) static ROLE_REF: Message = Message::new(
    "RoleRef",
    &[
        string(1, "apiGroup").keep(),
        string(2, "kind").keep(),
        string(3, "name").keep(),
    ],
);

pub(in crate::protobuf) static CLUSTER_ROLE_BINDING: Message = Message::new(
    "ClusterRoleBinding",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "subjects", &SUBJECT).many(),
        message(3, "roleRef", &ROLE_REF),
    ],
);
