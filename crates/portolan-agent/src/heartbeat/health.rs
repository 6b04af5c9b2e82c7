//! Whether the member cluster is well: what its API server says when it is asked.

use http::Request;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Client;
use portolan_api::conditions::{ConditionDraft, set};
use portolan_api::labels::conditions;

/// Asks the API server. One that does not let us ask answers at least.
pub(super) async fn is_well(spoke: &Client) -> bool {
    let Ok(request) = Request::get("/livez").body(Vec::new()) else {
        return false;
    };
    match spoke.request_text(request).await {
        Ok(_) => true,
        Err(kube::Error::Api(status)) => matches!(status.code, 401 | 403 | 404),
        Err(_) => false,
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
