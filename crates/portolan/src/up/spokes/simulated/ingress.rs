//! Ingresses: a load balancer has an address for them.

use serde_json::json;

use super::{Step, Workload};

/// One for all ingresses of a member, as one ingress controller has. It is of the block that is set aside for examples,
/// so nobody answers there.
const ADDRESS: &str = "192.0.2.1";

pub(super) fn step(workload: &Workload<'_>) -> Step {
    let ready = workload.done(workload.since);
    if workload.fails() {
        return workload.status(json!({"loadBalancer": {}}), None);
    }
    let there = workload.object["status"]["loadBalancer"]["ingress"].is_array();
    match there || ready <= workload.now {
        true => workload.status(json!({"loadBalancer": {"ingress": [{"ip": ADDRESS}]}}), None),
        false => Step {
            again: Some(ready),
            ..Step::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::InjectedFault;
    use super::super::tests::{at, look};
    use super::*;

    #[test]
    fn an_ingress_has_an_address_after_a_moment_and_none_while_its_member_fails() {
        let mut object = json!({"kind": "Ingress", "metadata": {"generation": 1}});
        assert_eq!(look(&mut object, InjectedFault::Well, 0).again, Some(at(2)));
        look(&mut object, InjectedFault::Well, 2);
        assert_eq!(object["status"]["loadBalancer"]["ingress"][0]["ip"], ADDRESS);
        assert_eq!(look(&mut object, InjectedFault::Well, 3), Step::default());
        look(&mut object, InjectedFault::Failed, 4);
        assert_eq!(object["status"]["loadBalancer"], json!({}));
        look(&mut object, InjectedFault::Well, 5);
        assert_eq!(object["status"]["loadBalancer"]["ingress"][0]["ip"], ADDRESS);
    }
}
