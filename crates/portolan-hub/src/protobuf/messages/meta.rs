//! Messages of `meta.k8s.io/v1`: object metadata, label selectors, delete options.

use crate::protobuf::schema::{Message, boolean, integer, message, raw_json, string, time};

pub(in crate::protobuf) static DELETE_OPTIONS: Message = Message::new(
    "DeleteOptions",
    &[
        integer(1, "gracePeriodSeconds").keep(),
        message(2, "preconditions", &PRECONDITIONS),
        boolean(3, "orphanDependents").keep(),
        string(4, "propagationPolicy").keep(),
        string(5, "dryRun").many(),
        boolean(6, "ignoreStoreReadErrorWithClusterBreakingPotential").keep(),
    ],
);

pub(in crate::protobuf) static PRECONDITIONS: Message = Message::new(
    "Preconditions",
    &[string(1, "uid").keep(), string(2, "resourceVersion").keep()],
);

pub(in crate::protobuf) static LIST_META: Message = Message::new(
    "ListMeta",
    &[
        string(1, "selfLink"),
        string(2, "resourceVersion"),
        string(3, "continue"),
        integer(4, "remainingItemCount").keep(),
    ],
);

pub(in crate::protobuf) static PARTIAL_OBJECT_METADATA: Message =
    Message::new("PartialObjectMetadata", &[message(1, "metadata", &OBJECT_META)]);

pub(in crate::protobuf) static OBJECT_META: Message = Message::new(
    "ObjectMeta",
    &[
        string(1, "name"),
        string(2, "generateName"),
        string(3, "namespace"),
        string(4, "selfLink"),
        string(5, "uid"),
        string(6, "resourceVersion"),
        integer(7, "generation"),
        time(8, "creationTimestamp"),
        time(9, "deletionTimestamp"),
        integer(10, "deletionGracePeriodSeconds").keep(),
        string(11, "labels").map(),
        string(12, "annotations").map(),
        message(13, "ownerReferences", &OWNER_REFERENCE).many(),
        string(14, "finalizers").many(),
        message(17, "managedFields", &MANAGED_FIELDS_ENTRY).many(),
    ],
);

pub(in crate::protobuf) static OWNER_REFERENCE: Message = Message::new(
    "OwnerReference",
    &[
        string(5, "apiVersion").keep(),
        string(1, "kind").keep(),
        string(3, "name").keep(),
        string(4, "uid").keep(),
        boolean(6, "controller").keep(),
        boolean(7, "blockOwnerDeletion").keep(),
    ],
);

pub(in crate::protobuf) static MANAGED_FIELDS_ENTRY: Message = Message::new(
    "ManagedFieldsEntry",
    &[
        string(1, "manager"),
        string(2, "operation"),
        string(3, "apiVersion"),
        time(4, "time"),
        string(6, "fieldsType"),
        raw_json(7, "fieldsV1"),
        string(8, "subresource"),
    ],
);

pub(in crate::protobuf) static CONDITION: Message = Message::new(
    "Condition",
    &[
        string(1, "type").keep(),
        string(2, "status").keep(),
        integer(3, "observedGeneration"),
        time(4, "lastTransitionTime"),
        string(5, "reason").keep(),
        string(6, "message").keep(),
    ],
);

pub(in crate::protobuf) static LABEL_SELECTOR: Message = Message::new(
    "LabelSelector",
    &[
        string(1, "matchLabels").map(),
        message(2, "matchExpressions", &LABEL_SELECTOR_REQUIREMENT).many(),
    ],
);

pub(in crate::protobuf) static LABEL_SELECTOR_REQUIREMENT: Message = Message::new(
    "LabelSelectorRequirement",
    &[
        string(1, "key").keep(),
        string(2, "operator").keep(),
        string(3, "values").many(),
    ],
);
