//! Pod and pod template.

use super::container::{
    CONTAINER, RESOURCE_REQUIREMENTS, SE_LINUX_OPTIONS, SECCOMP_PROFILE, WINDOWS_SECURITY_CONTEXT_OPTIONS,
};
use super::core::LOCAL_OBJECT_REFERENCE;
use super::meta::{LABEL_SELECTOR, OBJECT_META};
use super::pod_status::POD_STATUS;
use super::volume::VOLUME;
use crate::protobuf::schema::{Message, boolean, integer, message, quantity, string};

pub(in crate::protobuf) static POD: Message = Message::new(
    "Pod",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "spec", &POD_SPEC),
        message(3, "status", &POD_STATUS),
    ],
);

pub(in crate::protobuf) static POD_SPEC: Message = Message::new(
    "PodSpec",
    &[
        message(1, "volumes", &VOLUME).many(),
        message(20, "initContainers", &CONTAINER).many(),
        message(2, "containers", &CONTAINER).many(),
        string(3, "restartPolicy"),
        integer(4, "terminationGracePeriodSeconds").keep(),
        integer(5, "activeDeadlineSeconds").keep(),
        string(6, "dnsPolicy"),
        string(7, "nodeSelector").map(),
        string(8, "serviceAccountName"),
        string(9, "serviceAccount"),
        boolean(21, "automountServiceAccountToken").keep(),
        string(10, "nodeName"),
        boolean(11, "hostNetwork"),
        boolean(12, "hostPID"),
        boolean(13, "hostIPC"),
        boolean(27, "shareProcessNamespace").keep(),
        message(14, "securityContext", &POD_SECURITY_CONTEXT),
        message(15, "imagePullSecrets", &LOCAL_OBJECT_REFERENCE).many(),
        string(16, "hostname"),
        string(17, "subdomain"),
        message(18, "affinity", &AFFINITY),
        string(19, "schedulerName"),
        message(22, "tolerations", &TOLERATION).many(),
        message(23, "hostAliases", &HOST_ALIAS).many(),
        string(24, "priorityClassName"),
        integer(25, "priority").keep(),
        message(26, "dnsConfig", &POD_DNS_CONFIG),
        message(28, "readinessGates", &POD_READINESS_GATE).many(),
        string(29, "runtimeClassName").keep(),
        boolean(30, "enableServiceLinks").keep(),
        string(31, "preemptionPolicy").keep(),
        quantity(32, "overhead").map(),
        message(33, "topologySpreadConstraints", &TOPOLOGY_SPREAD_CONSTRAINT).many(),
        boolean(35, "setHostnameAsFQDN").keep(),
        message(36, "os", &NAMED),
        boolean(37, "hostUsers").keep(),
        message(38, "schedulingGates", &NAMED).many(),
        message(40, "resources", &RESOURCE_REQUIREMENTS),
    ],
);

pub(in crate::protobuf) static POD_SECURITY_CONTEXT: Message = Message::new(
    "PodSecurityContext",
    &[
        message(1, "seLinuxOptions", &SE_LINUX_OPTIONS),
        message(8, "windowsOptions", &WINDOWS_SECURITY_CONTEXT_OPTIONS),
        integer(2, "runAsUser").keep(),
        integer(6, "runAsGroup").keep(),
        boolean(3, "runAsNonRoot").keep(),
        integer(4, "supplementalGroups").many(),
        integer(5, "fsGroup").keep(),
        message(7, "sysctls", &SYSCTL).many(),
        string(9, "fsGroupChangePolicy").keep(),
        message(10, "seccompProfile", &SECCOMP_PROFILE),
        message(11, "appArmorProfile", &SECCOMP_PROFILE),
        string(12, "supplementalGroupsPolicy").keep(),
    ],
);

pub(in crate::protobuf) static SYSCTL: Message =
    Message::new("Sysctl", &[string(1, "name").keep(), string(2, "value").keep()]);

pub(in crate::protobuf) static AFFINITY: Message = Message::new(
    "Affinity",
    &[
        message(1, "nodeAffinity", &NODE_AFFINITY),
        message(2, "podAffinity", &POD_AFFINITY),
        message(3, "podAntiAffinity", &POD_ANTI_AFFINITY),
    ],
);

pub(in crate::protobuf) static NODE_AFFINITY: Message = Message::new(
    "NodeAffinity",
    &[
        message(
            1,
            "requiredDuringSchedulingIgnoredDuringExecution",
            &NODE_SELECTOR,
        ),
        message(
            2,
            "preferredDuringSchedulingIgnoredDuringExecution",
            &PREFERRED_SCHEDULING_TERM,
        )
        .many(),
    ],
);

pub(in crate::protobuf) static NODE_SELECTOR: Message = Message::new(
    "NodeSelector",
    &[message(1, "nodeSelectorTerms", &NODE_SELECTOR_TERM).many()],
);

pub(in crate::protobuf) static NODE_SELECTOR_TERM: Message = Message::new(
    "NodeSelectorTerm",
    &[
        message(1, "matchExpressions", &NODE_SELECTOR_REQUIREMENT).many(),
        message(2, "matchFields", &NODE_SELECTOR_REQUIREMENT).many(),
    ],
);

pub(in crate::protobuf) static NODE_SELECTOR_REQUIREMENT: Message = Message::new(
    "NodeSelectorRequirement",
    &[
        string(1, "key").keep(),
        string(2, "operator").keep(),
        string(3, "values").many(),
    ],
);

pub(in crate::protobuf) static PREFERRED_SCHEDULING_TERM: Message = Message::new(
    "PreferredSchedulingTerm",
    &[
        integer(1, "weight").keep(),
        message(2, "preference", &NODE_SELECTOR_TERM),
    ],
);

pub(in crate::protobuf) static POD_AFFINITY: Message = Message::new(
    "PodAffinity",
    &[
        message(
            1,
            "requiredDuringSchedulingIgnoredDuringExecution",
            &POD_AFFINITY_TERM,
        )
        .many(),
        message(
            2,
            "preferredDuringSchedulingIgnoredDuringExecution",
            &WEIGHTED_POD_AFFINITY_TERM,
        )
        .many(),
    ],
);

pub(in crate::protobuf) static POD_AFFINITY_TERM: Message = Message::new(
    "PodAffinityTerm",
    &[
        message(1, "labelSelector", &LABEL_SELECTOR),
        string(2, "namespaces").many(),
        string(3, "topologyKey").keep(),
        message(4, "namespaceSelector", &LABEL_SELECTOR),
        string(5, "matchLabelKeys").many(),
        string(6, "mismatchLabelKeys").many(),
    ],
);

pub(in crate::protobuf) static WEIGHTED_POD_AFFINITY_TERM: Message = Message::new(
    "WeightedPodAffinityTerm",
    &[
        integer(1, "weight").keep(),
        message(2, "podAffinityTerm", &POD_AFFINITY_TERM),
    ],
);

pub(in crate::protobuf) static POD_ANTI_AFFINITY: Message = Message::new(
    "PodAntiAffinity",
    &[
        message(
            1,
            "requiredDuringSchedulingIgnoredDuringExecution",
            &POD_AFFINITY_TERM,
        )
        .many(),
        message(
            2,
            "preferredDuringSchedulingIgnoredDuringExecution",
            &WEIGHTED_POD_AFFINITY_TERM,
        )
        .many(),
    ],
);

pub(in crate::protobuf) static TOLERATION: Message = Message::new(
    "Toleration",
    &[
        string(1, "key"),
        string(2, "operator"),
        string(3, "value"),
        string(4, "effect"),
        integer(5, "tolerationSeconds").keep(),
    ],
);

pub(in crate::protobuf) static HOST_ALIAS: Message =
    Message::new("HostAlias", &[string(1, "ip"), string(2, "hostnames").many()]);

pub(in crate::protobuf) static POD_DNS_CONFIG: Message = Message::new(
    "PodDNSConfig",
    &[
        string(1, "nameservers").many(),
        string(2, "searches").many(),
        message(3, "options", &POD_DNS_CONFIG_OPTION).many(),
    ],
);

pub(in crate::protobuf) static POD_DNS_CONFIG_OPTION: Message = Message::new(
    "PodDNSConfigOption",
    &[string(1, "name"), string(2, "value").keep()],
);

pub(in crate::protobuf) static POD_READINESS_GATE: Message =
    Message::new("PodReadinessGate", &[string(1, "conditionType").keep()]);

pub(in crate::protobuf) static TOPOLOGY_SPREAD_CONSTRAINT: Message = Message::new(
    "TopologySpreadConstraint",
    &[
        integer(1, "maxSkew").keep(),
        string(2, "topologyKey").keep(),
        string(3, "whenUnsatisfiable").keep(),
        message(4, "labelSelector", &LABEL_SELECTOR),
        integer(5, "minDomains").keep(),
        string(6, "nodeAffinityPolicy").keep(),
        string(7, "nodeTaintsPolicy").keep(),
        string(8, "matchLabelKeys").many(),
    ],
);

pub(in crate::protobuf) static POD_TEMPLATE_SPEC: Message = Message::new(
    "PodTemplateSpec",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "spec", &POD_SPEC),
    ],
);

pub(in crate::protobuf) static NAMED: Message = Message::new("Named", &[string(1, "name").keep()]);
