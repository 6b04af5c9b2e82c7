//! Messages of `apps/v1` and `batch/v1`: Deployment, Job, CronJob.

use super::core::OBJECT_REFERENCE;
use super::meta::{LABEL_SELECTOR, OBJECT_META};
use super::pod::POD_TEMPLATE_SPEC;
use crate::protobuf::schema::{Message, boolean, int_or_string, integer, message, string, time};

pub(in crate::protobuf) static DEPLOYMENT: Message = Message::new(
    "Deployment",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "spec", &DEPLOYMENT_SPEC),
        message(3, "status", &DEPLOYMENT_STATUS),
    ],
);

pub(in crate::protobuf) static DEPLOYMENT_SPEC: Message = Message::new(
    "DeploymentSpec",
    &[
        integer(1, "replicas").keep(),
        message(2, "selector", &LABEL_SELECTOR),
        message(3, "template", &POD_TEMPLATE_SPEC),
        message(4, "strategy", &DEPLOYMENT_STRATEGY),
        integer(5, "minReadySeconds"),
        integer(6, "revisionHistoryLimit").keep(),
        boolean(7, "paused"),
        integer(9, "progressDeadlineSeconds").keep(),
    ],
);

pub(in crate::protobuf) static DEPLOYMENT_STRATEGY: Message = Message::new(
    "DeploymentStrategy",
    &[
        string(1, "type"),
        message(2, "rollingUpdate", &ROLLING_UPDATE_DEPLOYMENT),
    ],
);

pub(in crate::protobuf) static ROLLING_UPDATE_DEPLOYMENT: Message = Message::new(
    "RollingUpdateDeployment",
    &[int_or_string(1, "maxUnavailable"), int_or_string(2, "maxSurge")],
);

pub(in crate::protobuf) static DEPLOYMENT_STATUS: Message = Message::new(
    "DeploymentStatus",
    &[
        integer(1, "observedGeneration"),
        integer(2, "replicas"),
        integer(3, "updatedReplicas"),
        integer(7, "readyReplicas"),
        integer(4, "availableReplicas"),
        integer(5, "unavailableReplicas"),
        message(6, "conditions", &DEPLOYMENT_CONDITION).many(),
        integer(8, "collisionCount").keep(),
        integer(9, "terminatingReplicas").keep(),
    ],
);

pub(in crate::protobuf) static DEPLOYMENT_CONDITION: Message = Message::new(
    "DeploymentCondition",
    &[
        string(1, "type").keep(),
        string(2, "status").keep(),
        time(6, "lastUpdateTime"),
        time(7, "lastTransitionTime"),
        string(4, "reason"),
        string(5, "message"),
    ],
);

pub(in crate::protobuf) static JOB: Message = Message::new(
    "Job",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "spec", &JOB_SPEC),
        message(3, "status", &JOB_STATUS),
    ],
);

pub(in crate::protobuf) static JOB_SPEC: Message = Message::new(
    "JobSpec",
    &[
        integer(1, "parallelism").keep(),
        integer(2, "completions").keep(),
        integer(3, "activeDeadlineSeconds").keep(),
        integer(7, "backoffLimit").keep(),
        message(4, "selector", &LABEL_SELECTOR),
        boolean(5, "manualSelector").keep(),
        message(6, "template", &POD_TEMPLATE_SPEC),
        integer(8, "ttlSecondsAfterFinished").keep(),
        string(9, "completionMode").keep(),
        boolean(10, "suspend").keep(),
        integer(12, "backoffLimitPerIndex").keep(),
        integer(13, "maxFailedIndexes").keep(),
        string(14, "podReplacementPolicy").keep(),
        string(15, "managedBy").keep(),
    ],
);

pub(in crate::protobuf) static JOB_STATUS: Message = Message::new(
    "JobStatus",
    &[
        message(1, "conditions", &JOB_CONDITION).many(),
        time(2, "startTime"),
        time(3, "completionTime"),
        integer(4, "active"),
        integer(5, "succeeded"),
        integer(6, "failed"),
        string(7, "completedIndexes"),
        integer(9, "ready").keep(),
        string(10, "failedIndexes").keep(),
        integer(11, "terminating").keep(),
    ],
);

pub(in crate::protobuf) static JOB_CONDITION: Message = Message::new(
    "JobCondition",
    &[
        string(1, "type").keep(),
        string(2, "status").keep(),
        time(3, "lastProbeTime"),
        time(4, "lastTransitionTime"),
        string(5, "reason"),
        string(6, "message"),
    ],
);

pub(in crate::protobuf) static CRON_JOB: Message = Message::new(
    "CronJob",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "spec", &CRON_JOB_SPEC),
        message(3, "status", &CRON_JOB_STATUS),
    ],
);

pub(in crate::protobuf) static CRON_JOB_SPEC: Message = Message::new(
    "CronJobSpec",
    &[
        string(1, "schedule").keep(),
        integer(2, "startingDeadlineSeconds").keep(),
        string(3, "concurrencyPolicy"),
        boolean(4, "suspend").keep(),
        message(5, "jobTemplate", &JOB_TEMPLATE_SPEC),
        integer(6, "successfulJobsHistoryLimit").keep(),
        integer(7, "failedJobsHistoryLimit").keep(),
        string(8, "timeZone").keep(),
    ],
);

pub(in crate::protobuf) static JOB_TEMPLATE_SPEC: Message = Message::new(
    "JobTemplateSpec",
    &[
        message(1, "metadata", &OBJECT_META),
        message(2, "spec", &JOB_SPEC),
    ],
);

pub(in crate::protobuf) static CRON_JOB_STATUS: Message = Message::new(
    "CronJobStatus",
    &[
        message(1, "active", &OBJECT_REFERENCE).many(),
        time(4, "lastScheduleTime"),
        time(5, "lastSuccessfulTime"),
    ],
);
