//! Messages of the core group without pods, of `events.k8s.io/v1` and of `coordination.k8s.io/v1`.

use super::meta::{CONDITION, OBJECT_META};
use crate::protobuf::schema::{
    Message, boolean, bytes, int_or_string, integer, message, micro_time, string, time,
};

pub(in crate::protobuf) static NAMESPACE: Message = Message::new(
    "Namespace",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "spec", &NAMESPACE_SPEC),
        message(3, "status", &NAMESPACE_STATUS),
    ],
);

pub(in crate::protobuf) static NAMESPACE_SPEC: Message =
    Message::new("NamespaceSpec", &[string(1, "finalizers").many()]);

pub(in crate::protobuf) static NAMESPACE_STATUS: Message = Message::new(
    "NamespaceStatus",
    &[
        string(1, "phase"),
        message(2, "conditions", &NAMESPACE_CONDITION).many(),
    ],
);

pub(in crate::protobuf) static NAMESPACE_CONDITION: Message = Message::new(
    "NamespaceCondition",
    &[
        string(1, "type").keep(),
        string(2, "status").keep(),
        time(4, "lastTransitionTime"),
        string(5, "reason"),
        string(6, "message"),
    ],
);

pub(in crate::protobuf) static CONFIG_MAP: Message = Message::new(
    "ConfigMap",
    &[
        message(1, "metadata", &OBJECT_META),
        boolean(4, "immutable").keep(),
        string(2, "data").map(),
        bytes(3, "binaryData").map(),
    ],
);

pub(in crate::protobuf) static SECRET: Message = Message::new(
    "Secret",
    &[
        message(1, "metadata", &OBJECT_META),
        boolean(5, "immutable").keep(),
        bytes(2, "data").map(),
        string(4, "stringData").map(),
        string(3, "type"),
    ],
);

pub(in crate::protobuf) static SERVICE_ACCOUNT: Message = Message::new(
    "ServiceAccount",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "secrets", &OBJECT_REFERENCE).many(),
        message(3, "imagePullSecrets", &LOCAL_OBJECT_REFERENCE).many(),
        boolean(4, "automountServiceAccountToken").keep(),
    ],
);

pub(in crate::protobuf) static OBJECT_REFERENCE: Message = Message::new(
    "ObjectReference",
    &[
        string(1, "kind"),
        string(2, "namespace"),
        string(3, "name"),
        string(4, "uid"),
        string(5, "apiVersion"),
        string(6, "resourceVersion"),
        string(7, "fieldPath"),
    ],
);

pub(in crate::protobuf) static LOCAL_OBJECT_REFERENCE: Message =
    Message::new("LocalObjectReference", &[string(1, "name")]);

pub(in crate::protobuf) static EVENT: Message = Message::new(
    "Event",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "involvedObject", &OBJECT_REFERENCE),
        string(3, "reason"),
        string(4, "message"),
        message(5, "source", &EVENT_SOURCE),
        time(6, "firstTimestamp"),
        time(7, "lastTimestamp"),
        integer(8, "count"),
        string(9, "type"),
        micro_time(10, "eventTime"),
        message(11, "series", &EVENT_SERIES),
        string(12, "action"),
        message(13, "related", &OBJECT_REFERENCE),
        string(14, "reportingComponent").keep(),
        string(15, "reportingInstance").keep(),
    ],
);

pub(in crate::protobuf) static EVENT_SOURCE: Message =
    Message::new("EventSource", &[string(1, "component"), string(2, "host")]);

pub(in crate::protobuf) static EVENT_SERIES: Message = Message::new(
    "EventSeries",
    &[integer(1, "count"), micro_time(2, "lastObservedTime")],
);

pub(in crate::protobuf) static SERVICE: Message = Message::new(
    "Service",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "spec", &SERVICE_SPEC),
        message(3, "status", &SERVICE_STATUS),
    ],
);

pub(in crate::protobuf) static SERVICE_SPEC: Message = Message::new(
    "ServiceSpec",
    &[
        message(1, "ports", &SERVICE_PORT).many(),
        string(2, "selector").map(),
        string(3, "clusterIP"),
        string(18, "clusterIPs").many(),
        string(4, "type"),
        string(5, "externalIPs").many(),
        string(7, "sessionAffinity"),
        string(8, "loadBalancerIP"),
        string(9, "loadBalancerSourceRanges").many(),
        string(10, "externalName"),
        string(11, "externalTrafficPolicy"),
        integer(12, "healthCheckNodePort"),
        boolean(13, "publishNotReadyAddresses"),
        message(14, "sessionAffinityConfig", &SESSION_AFFINITY_CONFIG),
        string(19, "ipFamilies").many(),
        string(17, "ipFamilyPolicy").keep(),
        boolean(20, "allocateLoadBalancerNodePorts").keep(),
        string(21, "loadBalancerClass").keep(),
        string(22, "internalTrafficPolicy").keep(),
        string(23, "trafficDistribution").keep(),
    ],
);

pub(in crate::protobuf) static SERVICE_PORT: Message = Message::new(
    "ServicePort",
    &[
        string(1, "name"),
        string(2, "protocol"),
        string(6, "appProtocol").keep(),
        integer(3, "port").keep(),
        int_or_string(4, "targetPort"),
        integer(5, "nodePort"),
    ],
);

pub(in crate::protobuf) static SESSION_AFFINITY_CONFIG: Message = Message::new(
    "SessionAffinityConfig",
    &[message(1, "clientIP", &CLIENT_IP_CONFIG)],
);

pub(in crate::protobuf) static CLIENT_IP_CONFIG: Message =
    Message::new("ClientIPConfig", &[integer(1, "timeoutSeconds").keep()]);

pub(in crate::protobuf) static SERVICE_STATUS: Message = Message::new(
    "ServiceStatus",
    &[
        message(1, "loadBalancer", &LOAD_BALANCER_STATUS),
        message(2, "conditions", &CONDITION).many(),
    ],
);

pub(in crate::protobuf) static LOAD_BALANCER_STATUS: Message = Message::new(
    "LoadBalancerStatus",
    &[message(1, "ingress", &LOAD_BALANCER_INGRESS).many()],
);

pub(in crate::protobuf) static LOAD_BALANCER_INGRESS: Message = Message::new(
    "LoadBalancerIngress",
    &[
        string(1, "ip"),
        string(2, "hostname"),
        message(4, "ports", &PORT_STATUS).many(),
        string(3, "ipMode").keep(),
    ],
);

pub(in crate::protobuf) static PORT_STATUS: Message = Message::new(
    "PortStatus",
    &[
        integer(1, "port").keep(),
        string(2, "protocol").keep(),
        string(3, "error").keep(),
    ],
);

pub(in crate::protobuf) static EVENTS_EVENT: Message = Message::new(
    "Event",
    &[
        message(1, "metadata", &OBJECT_META),
        micro_time(2, "eventTime"),
        message(3, "series", &EVENTS_SERIES),
        string(4, "reportingController"),
        string(5, "reportingInstance"),
        string(6, "action"),
        string(7, "reason"),
        message(8, "regarding", &OBJECT_REFERENCE),
        message(9, "related", &OBJECT_REFERENCE),
        string(10, "note"),
        string(11, "type"),
        message(12, "deprecatedSource", &EVENT_SOURCE),
        time(13, "deprecatedFirstTimestamp"),
        time(14, "deprecatedLastTimestamp"),
        integer(15, "deprecatedCount"),
    ],
);

pub(in crate::protobuf) static EVENTS_SERIES: Message = Message::new(
    "EventSeries",
    &[integer(1, "count").keep(), micro_time(2, "lastObservedTime")],
);

pub(in crate::protobuf) static LEASE: Message = Message::new(
    "Lease",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "spec", &LEASE_SPEC),
    ],
);

pub(in crate::protobuf) static LEASE_SPEC: Message = Message::new(
    "LeaseSpec",
    &[
        string(1, "holderIdentity").keep(),
        integer(2, "leaseDurationSeconds").keep(),
        micro_time(3, "acquireTime"),
        micro_time(4, "renewTime"),
        integer(5, "leaseTransitions").keep(),
        string(6, "strategy").keep(),
        string(7, "preferredHolder").keep(),
    ],
);
