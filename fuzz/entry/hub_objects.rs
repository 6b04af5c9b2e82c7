//! The objects of the hub that requests are sent to.

use serde_json::Value;

/// An object, or the place of one that is not there.
pub(super) struct Object {
    pub(super) collection: &'static str,
    pub(super) name: &'static str,
    /// As JSON; empty where there is none at first.
    pub(super) text: &'static str,
}

impl Object {
    pub(super) fn path(&self) -> String {
        format!("{}/{}", self.collection, self.name)
    }

    pub(super) fn value(&self) -> Value {
        serde_json::from_str(self.text).expect("the text of an object is JSON")
    }
}

pub(super) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(super) const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

/// The definition of the widgets among the objects.
pub(super) const DEFINITION: &str = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced",
                "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "selectableFields": [{"jsonPath": ".spec.color"}],
                    "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}},
                    "additionalPrinterColumns": [{"name": "Color", "type": "string", "jsonPath": ".spec.color"}],
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                        "spec": {"type": "object",
                            "x-kubernetes-validations": [{"rule": "self.replicas <= 10", "message": "at most ten"}],
                            "properties": {
                                "replicas": {"type": "integer", "format": "int32", "minimum": 0, "default": 1},
                                "color": {"type": "string", "enum": ["red", "green"], "default": "red"},
                                "size": {"x-kubernetes-int-or-string": true},
                                "when": {"type": "string", "format": "date-time", "nullable": true},
                                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                                "parts": {"type": "array", "x-kubernetes-list-type": "map",
                                    "x-kubernetes-list-map-keys": ["name", "port"],
                                    "items": {"type": "object", "required": ["name"], "properties": {
                                        "name": {"type": "string"}, "port": {"type": "integer", "default": 80},
                                        "weight": {"type": "number"}}}},
                                "steps": {"type": "array", "items": {"type": "string"}},
                                "whole": {"type": "object", "x-kubernetes-map-type": "atomic",
                                    "additionalProperties": {"type": "string"}},
                                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}},
                        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}]}}"#;

/// In the order in which a byte of the input chooses them.
pub(super) const OBJECTS: [Object; 7] = [
    Object {
        collection: CONFIG_MAPS,
        name: "plain",
        text: r#"{"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "plain", "labels": {"app": "web", "tier": "front"}, "annotations": {"a": "1"}},
            "data": {"a": "1", "b": "2"}}"#,
    },
    Object {
        collection: "/apis/apps/v1/namespaces/default/deployments",
        name: "web",
        text: r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": {"app": "web"}},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [
                    {"name": "web", "image": "web:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                     "ports": [{"containerPort": 80, "protocol": "TCP"}]},
                    {"name": "side", "image": "side:1"}],
                    "volumes": [{"name": "v", "emptyDir": {}}], "tolerations": [{"key": "k", "operator": "Exists"}]}}}}"#,
    },
    Object {
        collection: "/api/v1/namespaces/default/services",
        name: "front",
        text: r#"{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "front", "finalizers": ["example.com/held"]},
            "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80}, {"name": "https", "port": 443}]}}"#,
    },
    Object {
        collection: WIDGETS,
        name: "one",
        text: r#"{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "one"},
            "spec": {"replicas": 3, "color": "green", "size": "10%", "tags": ["a", "b"],
                "parts": [{"name": "x", "port": 1, "weight": 0.5}, {"name": "y"}], "steps": ["s", "t"],
                "whole": {"k": "v"}, "free": {"any": [1, {"thing": null}]}}}"#,
    },
    Object {
        collection: "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/default/placements",
        name: "east",
        text: r#"{"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement", "metadata": {"name": "east"},
            "spec": {"numberOfClusters": 3, "clusterSets": ["global"], "predicates": [{"requiredClusterSelector": {
                "labelSelector": {"matchExpressions": [{"key": "env", "operator": "In", "values": ["prod"]}]}}}]}}"#,
    },
    // Not there at first.
    Object {
        collection: CONFIG_MAPS,
        name: "new",
        text: "",
    },
    Object {
        collection: WIDGETS,
        name: "new",
        text: "",
    },
];
