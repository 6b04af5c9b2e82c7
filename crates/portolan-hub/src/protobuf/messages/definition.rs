//! Messages of `apiextensions.k8s.io/v1`: definitions with their schemas.

use super::meta::OBJECT_META;
use crate::protobuf::schema::{
    Message, boolean, bytes, double, integer, message, raw_json, schema_or_boolean, schema_or_list,
    schema_or_strings, string, time,
};

pub(in crate::protobuf) static CUSTOM_RESOURCE_DEFINITION: Message = Message::new(
    "CustomResourceDefinition",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "spec", &SPEC),
        message(3, "status", &STATUS),
    ],
);

static SPEC: Message = Message::new(
    "CustomResourceDefinitionSpec",
    &[
        string(1, "group").keep(),
        message(3, "names", &NAMES),
        string(4, "scope").keep(),
        message(7, "versions", &VERSION).many(),
        message(9, "conversion", &CONVERSION),
        boolean(10, "preserveUnknownFields"),
    ],
);

static NAMES: Message = Message::new(
    "CustomResourceDefinitionNames",
    &[
        string(1, "plural").keep(),
        string(2, "singular"),
        string(3, "shortNames").many(),
        string(4, "kind").keep(),
        string(5, "listKind"),
        string(6, "categories").many(),
    ],
);

static VERSION: Message = Message::new(
    "CustomResourceDefinitionVersion",
    &[
        string(1, "name").keep(),
        boolean(2, "served").keep(),
        boolean(3, "storage").keep(),
        message(4, "schema", &VALIDATION),
        message(5, "subresources", &SUBRESOURCES),
        message(6, "additionalPrinterColumns", &COLUMN).many(),
        boolean(7, "deprecated"),
        string(8, "deprecationWarning").keep(),
        message(9, "selectableFields", &SELECTABLE_FIELD).many(),
    ],
);

static VALIDATION: Message = Message::new(
    "CustomResourceValidation",
    &[message(1, "openAPIV3Schema", &JSON_SCHEMA)],
);

static SUBRESOURCES: Message = Message::new(
    "CustomResourceSubresources",
    &[
        message(1, "status", &STATUS_SUBRESOURCE),
        message(2, "scale", &SCALE),
    ],
);

static STATUS_SUBRESOURCE: Message = Message::new("CustomResourceSubresourceStatus", &[]);

static SCALE: Message = Message::new(
    "CustomResourceSubresourceScale",
    &[
        string(1, "specReplicasPath").keep(),
        string(2, "statusReplicasPath").keep(),
        string(3, "labelSelectorPath").keep(),
    ],
);

static COLUMN: Message = Message::new(
    "CustomResourceColumnDefinition",
    &[
        string(1, "name").keep(),
        string(2, "type").keep(),
        string(3, "format"),
        string(4, "description"),
        integer(5, "priority"),
        string(6, "jsonPath").keep(),
    ],
);

static SELECTABLE_FIELD: Message = Message::new("SelectableField", &[string(1, "jsonPath").keep()]);

static CONVERSION: Message = Message::new(
    "CustomResourceConversion",
    &[
        string(1, "strategy").keep(),
        message(2, "webhook", &WEBHOOK_CONVERSION),
    ],
);

static WEBHOOK_CONVERSION: Message = Message::new(
    "WebhookConversion",
    &[
        message(2, "clientConfig", &WEBHOOK_CLIENT_CONFIG),
        string(3, "conversionReviewVersions").many(),
    ],
);

static WEBHOOK_CLIENT_CONFIG: Message = Message::new(
    "WebhookClientConfig",
    &[
        message(1, "service", &SERVICE_REFERENCE),
        bytes(2, "caBundle"),
        string(3, "url").keep(),
    ],
);

static SERVICE_REFERENCE: Message = Message::new(
    "ServiceReference",
    &[
        string(1, "namespace").keep(),
        string(2, "name").keep(),
        string(3, "path").keep(),
        integer(4, "port").keep(),
    ],
);

static STATUS: Message = Message::new(
    "CustomResourceDefinitionStatus",
    &[
        message(1, "conditions", &CONDITION).many(),
        message(2, "acceptedNames", &NAMES),
        string(3, "storedVersions").many(),
        integer(4, "observedGeneration"),
    ],
);

static CONDITION: Message = Message::new(
    "CustomResourceDefinitionCondition",
    &[
        string(1, "type").keep(),
        string(2, "status").keep(),
        time(3, "lastTransitionTime"),
        string(4, "reason"),
        string(5, "message"),
        integer(6, "observedGeneration"),
    ],
);

/// The one message that holds itself.
static JSON_SCHEMA: Message = Message::new(
    "JSONSchemaProps",
    &[
        string(1, "id"),
        string(2, "$schema"),
        string(3, "$ref").keep(),
        string(4, "description"),
        string(5, "type"),
        string(6, "format"),
        string(7, "title"),
        raw_json(8, "default"),
        double(9, "maximum").keep(),
        boolean(10, "exclusiveMaximum"),
        double(11, "minimum").keep(),
        boolean(12, "exclusiveMinimum"),
        integer(13, "maxLength").keep(),
        integer(14, "minLength").keep(),
        string(15, "pattern"),
        integer(16, "maxItems").keep(),
        integer(17, "minItems").keep(),
        boolean(18, "uniqueItems"),
        double(19, "multipleOf").keep(),
        raw_json(20, "enum").many(),
        integer(21, "maxProperties").keep(),
        integer(22, "minProperties").keep(),
        string(23, "required").many(),
        schema_or_list(24, "items", &JSON_SCHEMA),
        message(25, "allOf", &JSON_SCHEMA).many(),
        message(26, "oneOf", &JSON_SCHEMA).many(),
        message(27, "anyOf", &JSON_SCHEMA).many(),
        message(28, "not", &JSON_SCHEMA),
        message(29, "properties", &JSON_SCHEMA).map(),
        schema_or_boolean(30, "additionalProperties", &JSON_SCHEMA),
        message(31, "patternProperties", &JSON_SCHEMA).map(),
        schema_or_strings(32, "dependencies", &JSON_SCHEMA).map(),
        schema_or_boolean(33, "additionalItems", &JSON_SCHEMA),
        message(34, "definitions", &JSON_SCHEMA).map(),
        message(35, "externalDocs", &EXTERNAL_DOCUMENTATION),
        raw_json(36, "example"),
        boolean(37, "nullable"),
        boolean(38, "x-kubernetes-preserve-unknown-fields").keep(),
        boolean(39, "x-kubernetes-embedded-resource"),
        boolean(40, "x-kubernetes-int-or-string"),
        string(41, "x-kubernetes-list-map-keys").many(),
        string(42, "x-kubernetes-list-type").keep(),
        string(43, "x-kubernetes-map-type").keep(),
        message(44, "x-kubernetes-validations", &VALIDATION_RULE).many(),
    ],
);

static EXTERNAL_DOCUMENTATION: Message = Message::new(
    "ExternalDocumentation",
    &[string(1, "description"), string(2, "url")],
);

static VALIDATION_RULE: Message = Message::new(
    "ValidationRule",
    &[
        string(1, "rule").keep(),
        string(2, "message"),
        string(3, "messageExpression"),
        string(4, "reason").keep(),
        string(5, "fieldPath"),
        boolean(6, "optionalOldSelf").keep(),
    ],
);
