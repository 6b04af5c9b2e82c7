//! Schemas of the Kubernetes types that our types embed, and of fields whose shape a derive cannot express.

use schemars::{Schema, SchemaGenerator, json_schema};

/// Selector requirements. The operator is no enum: a bad one is a `Misconfigured` verdict, not a refused object.
pub(crate) fn requirements(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "description": "A condition on one key.",
            "type": "object",
            "required": ["key", "operator"],
            "properties": {
                "key": { "description": "The key.", "type": "string" },
                "operator": { "description": "In, NotIn, Exists or DoesNotExist.", "type": "string" },
                "values": {
                    "description": "Values for In and NotIn; empty for the other operators.",
                    "type": "array",
                    "items": { "type": "string" },
                },
            },
        },
    })
}

pub(crate) fn label_selector(generator: &mut SchemaGenerator) -> Schema {
    let mut expressions = requirements(generator);
    expressions.insert(
        "description".into(),
        "Conditions on label keys. All of them have to hold.".into(),
    );
    json_schema!({
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "matchExpressions": expressions,
            "matchLabels": {
                "description": "Label values that have to be equal.",
                "type": "object",
                "additionalProperties": { "type": "string" },
            },
        },
    })
}

/// Conditions of which there is one per type.
pub(crate) fn conditions(generator: &mut SchemaGenerator) -> Schema {
    let mut list = condition_list(generator);
    list.insert("x-kubernetes-list-type".into(), "map".into());
    list.insert("x-kubernetes-list-map-keys".into(), ["type"].as_slice().into());
    list
}

/// Conditions in a list that the API server does not check for duplicates.
pub(crate) fn condition_list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "description": "One observed aspect of the object.",
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "lastTransitionTime": {
                    "description": "When the status last changed.",
                    "type": "string",
                    "format": "date-time",
                },
                "message": { "description": "Details for people.", "type": "string", "maxLength": 32768 },
                "observedGeneration": {
                    "description": "Generation of the spec that the condition speaks about.",
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0,
                },
                "reason": {
                    "description": "Details for programs, in CamelCase.",
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "status": { "description": "Whether the aspect holds.", "type": "string", "enum": ["True", "False", "Unknown"] },
                "type": {
                    "description": "Name of the aspect.",
                    "type": "string",
                    "maxLength": 316,
                    "pattern": QUALIFIED_NAME,
                },
            },
        },
    })
}

/// Pattern of a condition type: an optional DNS prefix and a name.
pub(crate) const QUALIFIED_NAME: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";

/// A number of clusters from 1, or a percentage of them.
pub(crate) const GROUP_SIZE: &str = "^((100|[1-9][0-9]{0,1})%|[1-9][0-9]*)$";
/// A number of clusters from 0, or a percentage of them.
pub(crate) const AMOUNT: &str = "^((100|[0-9]{1,2})%|[0-9]+)$";

/// How long a cluster may take. Its form is checked more strictly than upstream's pattern does.
pub(crate) const DEADLINE: &str = "^(([0-9])+[h|m|s])|None$";

pub(crate) fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "date-time" })
}

pub(crate) fn nullable_time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "date-time", "x-nullable": true })
}

pub(crate) fn quantities(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": {
            "x-kubernetes-int-or-string": true,
            "anyOf": [{ "type": "integer" }, { "type": "string" }],
            "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
        },
    })
}

pub(crate) fn sort_by(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["ClusterName", "Name", "Score"], "x-default": "ClusterName" })
}

pub(crate) fn group_size(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "x-kubernetes-int-or-string": true,
        "anyOf": [{ "type": "integer" }, { "type": "string" }],
        "pattern": GROUP_SIZE,
        "x-default": "100%",
    })
}

pub(crate) fn max_failures(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = max_concurrency(generator);
    schema.insert("x-default".into(), 0.into());
    schema
}

pub(crate) fn max_concurrency(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "x-kubernetes-int-or-string": true,
        "anyOf": [{ "type": "integer" }, { "type": "string" }],
        "pattern": AMOUNT,
    })
}

pub(crate) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

pub(crate) fn embedded_objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true,
        },
    })
}
