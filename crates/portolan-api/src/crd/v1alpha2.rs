//! What `v1alpha2` of `multicluster.x-k8s.io` checks beyond `v1alpha1`. Both are views of the same stored bytes,
//! so no property is added or taken away.

use serde_json::{Value, json};

const DNS_SUBDOMAIN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
const DNS_LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
const LABEL_VALUE: &str = "^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$";

/// References have to be names that a ClusterProfile can have.
pub(super) fn placement_decision(schema: &mut Value) {
    let entry = "/properties/decisions/items/properties";
    let name = json!({ "minLength": 1, "maxLength": 253, "pattern": DNS_SUBDOMAIN });
    add(
        schema,
        &format!("{entry}/clusterProfileRef/properties/name"),
        &name,
    );
    add(schema, &format!("{entry}/clusterName"), &name);
    add(
        schema,
        &format!("{entry}/clusterProfileRef/properties/namespace"),
        // A reference to the slice's own namespace leaves the namespace out.
        &json!({ "minLength": 1, "maxLength": 63, "pattern": DNS_LABEL }),
    );
}

/// The manager is a label value, access providers are complete and have usable addresses.
pub(super) fn cluster_profile(schema: &mut Value) {
    add(
        schema,
        "/properties/spec/properties/clusterManager/properties/name",
        &json!({ "minLength": 1, "maxLength": 63, "pattern": LABEL_VALUE }),
    );
    let providers = "/properties/status/properties/accessProviders";
    add(schema, providers, &json!({ "maxItems": 64 }));
    add(
        schema,
        &format!("{providers}/items"),
        &json!({ "required": ["cluster", "name"] }),
    );
    let name = json!({ "minLength": 1, "maxLength": 253 });
    add(schema, &format!("{providers}/items/properties/name"), &name);
    let access = format!("{providers}/items/properties/cluster/properties");
    add(
        schema,
        &format!("{access}/server"),
        &json!({ "maxLength": 2048, "x-kubernetes-validations": [{
            "rule": "isURL(self) && url(self).getHost() != ''",
            "message": "server has to be an absolute URL with a host",
        }] }),
    );
    add(
        schema,
        &format!("{access}/tls-server-name"),
        &json!({ "maxLength": 253 }),
    );
    add(
        schema,
        &format!("{access}/proxy-url"),
        &json!({ "maxLength": 2048, "x-kubernetes-validations": [{
            "rule": "isURL(self) && url(self).getScheme() in ['http', 'https', 'socks5']",
            "message": "proxy-url has to be a URL with scheme http, https or socks5",
        }] }),
    );
    let extensions = format!("{access}/extensions");
    add(
        schema,
        &extensions,
        &json!({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] }),
    );
    add(schema, &format!("{extensions}/items/properties/name"), &name);
}

/// Adds keywords to the schema at a JSON pointer.
fn add(schema: &mut Value, pointer: &str, keywords: &Value) {
    let target = schema.pointer_mut(pointer).and_then(Value::as_object_mut);
    let target = target.expect("the stored version has the field; a test generates every definition");
    target.extend(keywords.as_object().cloned().unwrap_or_default());
}
