//! Messages of `networking.k8s.io/v1`: Ingress.

use super::core::PORT_STATUS;
use super::meta::OBJECT_META;
use crate::protobuf::schema::{Message, inline, integer, message, string};

pub(in crate::protobuf) static INGRESS: Message = Message::new(
    "Ingress",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "spec", &INGRESS_SPEC),
        message(3, "status", &INGRESS_STATUS),
    ],
);

pub(in crate::protobuf) static INGRESS_SPEC: Message = Message::new(
    "IngressSpec",
    &[
        string(4, "ingressClassName").keep(),
        message(1, "defaultBackend", &INGRESS_BACKEND),
        message(2, "tls", &INGRESS_TLS).many(),
        message(3, "rules", &INGRESS_RULE).many(),
    ],
);

pub(in crate::protobuf) static INGRESS_BACKEND: Message = Message::new(
    "IngressBackend",
    &[
        message(4, "service", &INGRESS_SERVICE_BACKEND),
        message(3, "resource", &TYPED_LOCAL_OBJECT_REFERENCE),
    ],
);

pub(in crate::protobuf) static INGRESS_SERVICE_BACKEND: Message = Message::new(
    "IngressServiceBackend",
    &[
        string(1, "name").keep(),
        message(2, "port", &SERVICE_BACKEND_PORT),
    ],
);

pub(in crate::protobuf) static SERVICE_BACKEND_PORT: Message =
    Message::new("ServiceBackendPort", &[string(1, "name"), integer(2, "number")]);

pub(in crate::protobuf) static TYPED_LOCAL_OBJECT_REFERENCE: Message = Message::new(
    "TypedLocalObjectReference",
    &[
        string(1, "apiGroup").keep(),
        string(2, "kind").keep(),
        string(3, "name").keep(),
    ],
);

pub(in crate::protobuf) static INGRESS_TLS: Message = Message::new(
    "IngressTLS",
    &[string(1, "hosts").many(), string(2, "secretName")],
);

pub(in crate::protobuf) static INGRESS_RULE: Message = Message::new(
    "IngressRule",
    &[string(1, "host"), inline(2, &INGRESS_RULE_VALUE)],
);

pub(in crate::protobuf) static INGRESS_RULE_VALUE: Message = Message::new(
    "IngressRuleValue",
    &[message(1, "http", &HTTP_INGRESS_RULE_VALUE)],
);

pub(in crate::protobuf) static HTTP_INGRESS_RULE_VALUE: Message = Message::new(
    "HTTPIngressRuleValue",
    &[message(1, "paths", &HTTP_INGRESS_PATH).many()],
);

pub(in crate::protobuf) static HTTP_INGRESS_PATH: Message = Message::new(
    "HTTPIngressPath",
    &[
        string(1, "path"),
        string(3, "pathType").keep(),
        message(2, "backend", &INGRESS_BACKEND),
    ],
);

pub(in crate::protobuf) static INGRESS_STATUS: Message = Message::new(
    "IngressStatus",
    &[message(1, "loadBalancer", &INGRESS_LOAD_BALANCER_STATUS)],
);

pub(in crate::protobuf) static INGRESS_LOAD_BALANCER_STATUS: Message = Message::new(
    "IngressLoadBalancerStatus",
    &[message(1, "ingress", &INGRESS_LOAD_BALANCER_INGRESS).many()],
);

pub(in crate::protobuf) static INGRESS_LOAD_BALANCER_INGRESS: Message = Message::new(
    "IngressLoadBalancerIngress",
    &[
        string(1, "ip"),
        string(2, "hostname"),
        message(4, "ports", &PORT_STATUS).many(),
    ],
);
