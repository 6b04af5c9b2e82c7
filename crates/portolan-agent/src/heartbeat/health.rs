//! Whether the member cluster is well: what its API server says when it is asked.

use std::time::Duration;

use http::Request;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Client;
use portolan_api::conditions::{ConditionDraft, set};
use portolan_api::labels::conditions;

use crate::spoke::Problem;

/// How long an answer may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// How long to wait before a server that did not answer well is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// Asks the API server, and once more if it does not answer well: what follows from that is that workloads leave the cluster.
pub(super) async fn is_well(spoke: &Client) -> bool {
    if answers_well(spoke).await {
        return true;
    }
    tokio::time::sleep(PAUSE).await;
    answers_well(spoke).await
}

/// A server that does not let us ask, or is too busy to be asked, answers at least.
async fn answers_well(spoke: &Client) -> bool {
    let Ok(request) = Request::get("/livez").body(Vec::new()) else {
        return false;
    };
    match tokio::time::timeout(ANSWER_LIMIT, spoke.request_text(request)).await {
        Ok(Ok(_)) => true,
        Ok(Err(kube::Error::Api(status))) => matches!(status.code, 401 | 403 | 404 | 429),
        Ok(Err(_)) | Err(_) => false,
    }
}

/// The answer to a request, if it comes in time: a server that hangs must not hold up the heartbeat.
pub(super) async fn within<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, Problem> {
    match tokio::time::timeout(ANSWER_LIMIT, request).await {
        Ok(answer) => answer.map_err(|error| Problem::of(&error)),
        Err(_) => Err(Problem::Unanswered(format!(
            "the member cluster did not answer within {} s",
            ANSWER_LIMIT.as_secs()
        ))),
    }
}

/// The conditions with the one about health, in OCM's words; `None` if they say so already. What the hub said while it
/// heard nothing is over with that.
pub(super) fn said(there: &[Condition], is_well: bool, now: Timestamp) -> Option<Vec<Condition>> {
    let (status, reason, message) = match is_well {
        true => ("True", "ManagedClusterAvailable", "Managed cluster is available"),
        false => (
            "False",
            "ManagedClusterKubeAPIServerUnavailable",
            "The kube-apiserver is not ok",
        ),
    };
    let is_health = |condition: &Condition| condition.type_ == conditions::AVAILABLE;
    if there
        .iter()
        .any(|condition| is_health(condition) && condition.status == status)
    {
        return None;
    }
    let mut all = there.to_vec();
    let draft = ConditionDraft::new(conditions::AVAILABLE, status, reason, message);
    set(&mut all, draft, None, now);
    Some(all)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    #[test]
    fn health_is_said_when_it_changes_and_what_others_said_stays() {
        let other = Condition {
            type_: conditions::JOINED.to_owned(),
            status: "True".to_owned(),
            reason: "R".to_owned(),
            message: String::new(),
            last_transition_time: Time(Timestamp::UNIX_EPOCH),
            observed_generation: None,
        };
        let mut there = vec![other.clone()];
        for is_well in [true, false, true] {
            there = said(&there, is_well, Timestamp::UNIX_EPOCH).unwrap();
            assert_eq!(there[0], other);
            assert_eq!(there[1].status == "True", is_well);
            assert_eq!(said(&there, is_well, Timestamp::UNIX_EPOCH), None);
        }
    }
}
