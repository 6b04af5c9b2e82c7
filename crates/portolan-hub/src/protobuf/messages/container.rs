//! One container of a pod.

use super::core::LOCAL_OBJECT_REFERENCE;
use super::volume::{OBJECT_FIELD_SELECTOR, RESOURCE_FIELD_SELECTOR};
use crate::protobuf::schema::{Message, boolean, inline, int_or_string, integer, message, quantity, string};

pub(in crate::protobuf) static CONTAINER: Message = Message::new(
    "Container",
    &[
        string(1, "name").keep(),
        string(2, "image"),
        string(3, "command").many(),
        string(4, "args").many(),
        string(5, "workingDir"),
        message(6, "ports", &CONTAINER_PORT).many(),
        message(19, "envFrom", &ENV_FROM_SOURCE).many(),
        message(7, "env", &ENV_VAR).many(),
        message(8, "resources", &RESOURCE_REQUIREMENTS),
        message(9, "volumeMounts", &VOLUME_MOUNT).many(),
        message(21, "volumeDevices", &VOLUME_DEVICE).many(),
        message(10, "livenessProbe", &PROBE),
        message(11, "readinessProbe", &PROBE),
        message(22, "startupProbe", &PROBE),
        message(12, "lifecycle", &LIFECYCLE),
        string(13, "terminationMessagePath"),
        string(20, "terminationMessagePolicy"),
        string(14, "imagePullPolicy"),
        message(15, "securityContext", &SECURITY_CONTEXT),
        boolean(16, "stdin"),
        boolean(17, "stdinOnce"),
        boolean(18, "tty"),
        string(24, "restartPolicy").keep(),
        message(23, "resizePolicy", &CONTAINER_RESIZE_POLICY).many(),
    ],
);

pub(in crate::protobuf) static CONTAINER_PORT: Message = Message::new(
    "ContainerPort",
    &[
        string(1, "name"),
        integer(2, "hostPort"),
        integer(3, "containerPort").keep(),
        string(4, "protocol"),
        string(5, "hostIP"),
    ],
);

pub(in crate::protobuf) static ENV_FROM_SOURCE: Message = Message::new(
    "EnvFromSource",
    &[
        string(1, "prefix"),
        message(2, "configMapRef", &CONFIG_MAP_ENV_SOURCE),
        message(3, "secretRef", &SECRET_ENV_SOURCE),
    ],
);

pub(in crate::protobuf) static CONFIG_MAP_ENV_SOURCE: Message = Message::new(
    "ConfigMapEnvSource",
    &[inline(1, &LOCAL_OBJECT_REFERENCE), boolean(2, "optional").keep()],
);

pub(in crate::protobuf) static SECRET_ENV_SOURCE: Message = Message::new(
    "SecretEnvSource",
    &[inline(1, &LOCAL_OBJECT_REFERENCE), boolean(2, "optional").keep()],
);

pub(in crate::protobuf) static ENV_VAR: Message = Message::new(
    "EnvVar",
    &[
        string(1, "name").keep(),
        string(2, "value"),
        message(3, "valueFrom", &ENV_VAR_SOURCE),
    ],
);

pub(in crate::protobuf) static ENV_VAR_SOURCE: Message = Message::new(
    "EnvVarSource",
    &[
        message(1, "fieldRef", &OBJECT_FIELD_SELECTOR),
        message(2, "resourceFieldRef", &RESOURCE_FIELD_SELECTOR),
        message(3, "configMapKeyRef", &CONFIG_MAP_KEY_SELECTOR),
        message(4, "secretKeyRef", &SECRET_KEY_SELECTOR),
    ],
);

pub(in crate::protobuf) static CONFIG_MAP_KEY_SELECTOR: Message = Message::new(
    "ConfigMapKeySelector",
    &[
        inline(1, &LOCAL_OBJECT_REFERENCE),
        string(2, "key").keep(),
        boolean(3, "optional").keep(),
    ],
);

pub(in crate::protobuf) static SECRET_KEY_SELECTOR: Message = Message::new(
    "SecretKeySelector",
    &[
        inline(1, &LOCAL_OBJECT_REFERENCE),
        string(2, "key").keep(),
        boolean(3, "optional").keep(),
    ],
);

pub(in crate::protobuf) static RESOURCE_REQUIREMENTS: Message = Message::new(
    "ResourceRequirements",
    &[quantity(1, "limits").map(), quantity(2, "requests").map()],
);

pub(in crate::protobuf) static VOLUME_MOUNT: Message = Message::new(
    "VolumeMount",
    &[
        string(1, "name").keep(),
        boolean(2, "readOnly"),
        string(3, "mountPath").keep(),
        string(4, "subPath"),
        string(5, "mountPropagation").keep(),
        string(6, "subPathExpr"),
        string(7, "recursiveReadOnly").keep(),
    ],
);

pub(in crate::protobuf) static VOLUME_DEVICE: Message = Message::new(
    "VolumeDevice",
    &[string(1, "name").keep(), string(2, "devicePath").keep()],
);

pub(in crate::protobuf) static PROBE: Message = Message::new(
    "Probe",
    &[
        inline(1, &HANDLER),
        integer(2, "initialDelaySeconds"),
        integer(3, "timeoutSeconds"),
        integer(4, "periodSeconds"),
        integer(5, "successThreshold"),
        integer(6, "failureThreshold"),
        integer(7, "terminationGracePeriodSeconds").keep(),
    ],
);

pub(in crate::protobuf) static HANDLER: Message = Message::new(
    "Handler",
    &[
        message(1, "exec", &EXEC_ACTION),
        message(2, "httpGet", &HTTP_GET_ACTION),
        message(3, "tcpSocket", &TCP_SOCKET_ACTION),
        message(4, "grpc", &GRPC_ACTION),
    ],
);

pub(in crate::protobuf) static EXEC_ACTION: Message =
    Message::new("ExecAction", &[string(1, "command").many()]);

pub(in crate::protobuf) static HTTP_GET_ACTION: Message = Message::new(
    "HTTPGetAction",
    &[
        string(1, "path"),
        int_or_string(2, "port"),
        string(3, "host"),
        string(4, "scheme"),
        message(5, "httpHeaders", &HTTP_HEADER).many(),
    ],
);

pub(in crate::protobuf) static HTTP_HEADER: Message = Message::new(
    "HTTPHeader",
    &[string(1, "name").keep(), string(2, "value").keep()],
);

pub(in crate::protobuf) static TCP_SOCKET_ACTION: Message =
    Message::new("TCPSocketAction", &[int_or_string(1, "port"), string(2, "host")]);

pub(in crate::protobuf) static LIFECYCLE: Message = Message::new(
    "Lifecycle",
    &[message(1, "postStart", &HANDLER), message(2, "preStop", &HANDLER)],
);

pub(in crate::protobuf) static SECURITY_CONTEXT: Message = Message::new(
    "SecurityContext",
    &[
        message(1, "capabilities", &CAPABILITIES),
        boolean(2, "privileged").keep(),
        message(3, "seLinuxOptions", &SE_LINUX_OPTIONS),
        message(10, "windowsOptions", &WINDOWS_SECURITY_CONTEXT_OPTIONS),
        integer(4, "runAsUser").keep(),
        integer(8, "runAsGroup").keep(),
        boolean(5, "runAsNonRoot").keep(),
        boolean(6, "readOnlyRootFilesystem").keep(),
        boolean(7, "allowPrivilegeEscalation").keep(),
        string(9, "procMount").keep(),
        message(11, "seccompProfile", &SECCOMP_PROFILE),
        message(12, "appArmorProfile", &SECCOMP_PROFILE),
    ],
);

pub(in crate::protobuf) static CAPABILITIES: Message = Message::new(
    "Capabilities",
    &[string(1, "add").many(), string(2, "drop").many()],
);

pub(in crate::protobuf) static SE_LINUX_OPTIONS: Message = Message::new(
    "SELinuxOptions",
    &[
        string(1, "user"),
        string(2, "role"),
        string(3, "type"),
        string(4, "level"),
    ],
);

pub(in crate::protobuf) static WINDOWS_SECURITY_CONTEXT_OPTIONS: Message = Message::new(
    "WindowsSecurityContextOptions",
    &[
        string(1, "gmsaCredentialSpecName").keep(),
        string(2, "gmsaCredentialSpec").keep(),
        string(3, "runAsUserName").keep(),
    ],
);

pub(in crate::protobuf) static SECCOMP_PROFILE: Message = Message::new(
    "SeccompProfile",
    &[string(1, "type").keep(), string(2, "localhostProfile").keep()],
);

pub(in crate::protobuf) static GRPC_ACTION: Message = Message::new(
    "GRPCAction",
    &[integer(1, "port").keep(), string(2, "service").keep()],
);

pub(in crate::protobuf) static CONTAINER_RESIZE_POLICY: Message = Message::new(
    "ContainerResizePolicy",
    &[
        string(1, "resourceName").keep(),
        string(2, "restartPolicy").keep(),
    ],
);
