//! Messages of `authorization.k8s.io/v1` and `authentication.k8s.io/v1`.

use super::meta::{LABEL_SELECTOR_REQUIREMENT, OBJECT_META};
use crate::protobuf::schema::{Message, boolean, integer, message, string, strings, time};

pub(in crate::protobuf) static SELF_SUBJECT_ACCESS_REVIEW: Message = Message::new(
    "SelfSubjectAccessReview",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "spec", &SELF_SUBJECT_ACCESS_REVIEW_SPEC),
        message(3, "status", &SUBJECT_ACCESS_REVIEW_STATUS),
    ],
);

pub(in crate::protobuf) static SELF_SUBJECT_ACCESS_REVIEW_SPEC: Message = Message::new(
    "SelfSubjectAccessReviewSpec",
    &[
        message(1, "resourceAttributes", &RESOURCE_ATTRIBUTES),
        message(2, "nonResourceAttributes", &NON_RESOURCE_ATTRIBUTES),
    ],
);

pub(in crate::protobuf) static RESOURCE_ATTRIBUTES: Message = Message::new(
    "ResourceAttributes",
    &[
        string(1, "namespace"),
        string(2, "verb"),
        string(3, "group"),
        string(4, "version"),
        string(5, "resource"),
        string(6, "subresource"),
        string(7, "name"),
        message(8, "fieldSelector", &SELECTOR_ATTRIBUTES),
        message(9, "labelSelector", &SELECTOR_ATTRIBUTES),
    ],
);

pub(in crate::protobuf) static NON_RESOURCE_ATTRIBUTES: Message =
    Message::new("NonResourceAttributes", &[string(1, "path"), string(2, "verb")]);

pub(in crate::protobuf) static SUBJECT_ACCESS_REVIEW_STATUS: Message = Message::new(
    "SubjectAccessReviewStatus",
    &[
        boolean(1, "allowed").keep(),
        boolean(4, "denied"),
        string(2, "reason"),
        string(3, "evaluationError"),
    ],
);

pub(in crate::protobuf) static SUBJECT_ACCESS_REVIEW: Message = Message::new(
    "SubjectAccessReview",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "spec", &SUBJECT_ACCESS_REVIEW_SPEC),
        message(3, "status", &SUBJECT_ACCESS_REVIEW_STATUS),
    ],
);

pub(in crate::protobuf) static SUBJECT_ACCESS_REVIEW_SPEC: Message = Message::new(
    "SubjectAccessReviewSpec",
    &[
        message(1, "resourceAttributes", &RESOURCE_ATTRIBUTES),
        message(2, "nonResourceAttributes", &NON_RESOURCE_ATTRIBUTES),
        string(3, "user"),
        string(4, "groups").many(),
        strings(5, "extra").map(),
        string(6, "uid"),
    ],
);

pub(in crate::protobuf) static LOCAL_SUBJECT_ACCESS_REVIEW: Message = Message::new(
    "LocalSubjectAccessReview",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "spec", &SUBJECT_ACCESS_REVIEW_SPEC),
        message(3, "status", &SUBJECT_ACCESS_REVIEW_STATUS),
    ],
);

pub(in crate::protobuf) static SELF_SUBJECT_RULES_REVIEW: Message = Message::new(
    "SelfSubjectRulesReview",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "spec", &SELF_SUBJECT_RULES_REVIEW_SPEC),
        message(3, "status", &SUBJECT_RULES_REVIEW_STATUS),
    ],
);

pub(in crate::protobuf) static SELF_SUBJECT_RULES_REVIEW_SPEC: Message =
    Message::new("SelfSubjectRulesReviewSpec", &[string(1, "namespace")]);

pub(in crate::protobuf) static SUBJECT_RULES_REVIEW_STATUS: Message = Message::new(
    "SubjectRulesReviewStatus",
    &[
        message(1, "resourceRules", &RESOURCE_RULE).many(),
        message(2, "nonResourceRules", &NON_RESOURCE_RULE).many(),
        boolean(3, "incomplete").keep(),
        string(4, "evaluationError"),
    ],
);

pub(in crate::protobuf) static RESOURCE_RULE: Message = Message::new(
    "ResourceRule",
    &[
        string(1, "verbs").many(),
        string(2, "apiGroups").many(),
        string(3, "resources").many(),
        string(4, "resourceNames").many(),
    ],
);

pub(in crate::protobuf) static NON_RESOURCE_RULE: Message = Message::new(
    "NonResourceRule",
    &[string(1, "verbs").many(), string(2, "nonResourceURLs").many()],
);

pub(in crate::protobuf) static TOKEN_REQUEST: Message = Message::new(
    "TokenRequest",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "spec", &TOKEN_REQUEST_SPEC),
        message(3, "status", &TOKEN_REQUEST_STATUS),
    ],
);

pub(in crate::protobuf) static TOKEN_REQUEST_SPEC: Message = Message::new(
    "TokenRequestSpec",
    &[
        string(1, "audiences").many(),
        integer(4, "expirationSeconds").keep(),
        message(3, "boundObjectRef", &BOUND_OBJECT_REFERENCE),
    ],
);

pub(in crate::protobuf) static BOUND_OBJECT_REFERENCE: Message = Message::new(
    "BoundObjectReference",
    &[
        string(1, "kind"),
        string(2, "apiVersion"),
        string(3, "name"),
        string(4, "uid"),
    ],
);

pub(in crate::protobuf) static TOKEN_REQUEST_STATUS: Message = Message::new(
    "TokenRequestStatus",
    &[string(1, "token").keep(), time(2, "expirationTimestamp")],
);

pub(in crate::protobuf) static TOKEN_REVIEW: Message = Message::new(
    "TokenReview",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "spec", &TOKEN_REVIEW_SPEC),
        message(3, "status", &TOKEN_REVIEW_STATUS),
    ],
);

pub(in crate::protobuf) static TOKEN_REVIEW_SPEC: Message = Message::new(
    "TokenReviewSpec",
    &[string(1, "token"), string(2, "audiences").many()],
);

pub(in crate::protobuf) static TOKEN_REVIEW_STATUS: Message = Message::new(
    "TokenReviewStatus",
    &[
        boolean(1, "authenticated"),
        message(2, "user", &USER_INFO),
        string(4, "audiences").many(),
        string(3, "error"),
    ],
);

pub(in crate::protobuf) static USER_INFO: Message = Message::new(
    "UserInfo",
    &[
        string(1, "username"),
        string(2, "uid"),
        string(3, "groups").many(),
        strings(4, "extra").map(),
    ],
);

pub(in crate::protobuf) static SELECTOR_ATTRIBUTES: Message = Message::new(
    "SelectorAttributes",
    &[
        string(1, "rawSelector"),
        message(2, "requirements", &LABEL_SELECTOR_REQUIREMENT).many(),
    ],
);

pub(in crate::protobuf) static SELF_SUBJECT_REVIEW: Message = Message::new(
    "SelfSubjectReview",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "status", &SELF_SUBJECT_REVIEW_STATUS),
    ],
);

pub(in crate::protobuf) static SELF_SUBJECT_REVIEW_STATUS: Message =
    Message::new("SelfSubjectReviewStatus", &[message(1, "userInfo", &USER_INFO)]);
