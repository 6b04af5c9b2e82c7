//! What is said about a pod.

use super::container::RESOURCE_REQUIREMENTS;
use crate::protobuf::schema::{Message, boolean, integer, message, quantity, string, time};

pub(super) static POD_STATUS: Message = Message::new(
    "PodStatus",
    &[
        string(1, "phase"),
        message(2, "conditions", &POD_CONDITION).many(),
        string(3, "message"),
        string(4, "reason"),
        string(5, "hostIP"),
        message(16, "hostIPs", &ADDRESS).many(),
        string(6, "podIP"),
        message(12, "podIPs", &ADDRESS).many(),
        time(7, "startTime"),
        message(8, "containerStatuses", &CONTAINER_STATUS).many(),
        string(9, "qosClass"),
        message(10, "initContainerStatuses", &CONTAINER_STATUS).many(),
        string(11, "nominatedNodeName"),
        message(13, "ephemeralContainerStatuses", &CONTAINER_STATUS).many(),
        string(14, "resize"),
        integer(17, "observedGeneration"),
    ],
);

static POD_CONDITION: Message = Message::new(
    "PodCondition",
    &[
        string(1, "type").keep(),
        string(2, "status").keep(),
        time(3, "lastProbeTime"),
        time(4, "lastTransitionTime"),
        string(5, "reason"),
        string(6, "message"),
        integer(7, "observedGeneration"),
    ],
);

static ADDRESS: Message = Message::new("PodIP", &[string(1, "ip")]);

static CONTAINER_STATUS: Message = Message::new(
    "ContainerStatus",
    &[
        string(1, "name").keep(),
        message(2, "state", &CONTAINER_STATE),
        message(3, "lastState", &CONTAINER_STATE),
        boolean(4, "ready").keep(),
        integer(5, "restartCount").keep(),
        string(6, "image").keep(),
        string(7, "imageID").keep(),
        string(8, "containerID"),
        boolean(9, "started").keep(),
        quantity(10, "allocatedResources").map(),
        message(11, "resources", &RESOURCE_REQUIREMENTS),
    ],
);

static CONTAINER_STATE: Message = Message::new(
    "ContainerState",
    &[
        message(1, "waiting", &WAITING),
        message(2, "running", &RUNNING),
        message(3, "terminated", &TERMINATED),
    ],
);

static WAITING: Message = Message::new(
    "ContainerStateWaiting",
    &[string(1, "reason"), string(2, "message")],
);

static RUNNING: Message = Message::new("ContainerStateRunning", &[time(1, "startedAt")]);

static TERMINATED: Message = Message::new(
    "ContainerStateTerminated",
    &[
        integer(1, "exitCode").keep(),
        integer(2, "signal"),
        string(3, "reason"),
        string(4, "message"),
        time(5, "startedAt"),
        time(6, "finishedAt"),
        string(7, "containerID"),
    ],
);
