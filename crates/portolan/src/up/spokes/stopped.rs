//! Embedded members that an earlier `up` has left on the hub and this one does not start.
//!
//! They stay unless somebody asks for their removal. That fewer members are started is no evidence that the others are
//! not wanted any more: what was sent to them is on the hub alone, and with more members the next time it comes back. What
//! they ran is gone in any case, so they are left to fall silent, as a cluster would that was switched off.

use anyhow::Context;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::portolan::{EMBEDDED_MEMBER, EMBEDDED_MEMBER_STOPPED};
use serde_json::json;

use super::member;
use crate::leave;
use crate::live::{self, Server};
use crate::member_name;

/// Members that do not run, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::up) struct StoppedMembers {
    names: Vec<String>,
    /// Whose annotation does not say what is true: the member, and whether it runs.
    mistold: Vec<(String, bool)>,
}

impl StoppedMembers {
    /// Those that are on the hub beside the first `running`.
    pub(in crate::up) async fn find(server: &Server, running: usize) -> anyhow::Result<StoppedMembers> {
        let api: Api<ManagedCluster> = Api::all(server.client.clone());
        let ours = ListParams::default().labels(&format!("{}=true", EMBEDDED_MEMBER));
        let members = api.list(&ours).await;
        let members =
            members.map_err(|error| live::explain(&error, "list the embedded members", &server.url))?;
        let members = members.into_iter().map(|cluster| cluster.metadata);
        Ok(StoppedMembers::among(members, running))
    }

    /// Notes on each ManagedCluster whether its member runs, for `portolan demo` to read: a Lease is no evidence, since one
    /// of a member that was stopped a moment ago is still fresh.
    pub(in crate::up) async fn note(&self, server: &Server) -> anyhow::Result<()> {
        let api: Api<ManagedCluster> = Api::all(server.client.clone());
        for (name, runs) in &self.mistold {
            let value = (!runs).then_some("true");
            let patch = json!({"metadata": {"annotations": {EMBEDDED_MEMBER_STOPPED: value}}});
            api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
                .await
                .map_err(|error| live::explain(&error, &format!("note whether {name} runs"), &server.url))?;
        }
        Ok(())
    }

    fn among(members: impl Iterator<Item = ObjectMeta>, running: usize) -> StoppedMembers {
        // A cluster without the mark or with another name is none that `up` has made, whatever its label says.
        let mut numbered: Vec<(usize, String, bool)> = members
            .filter(member::is_embedded)
            .filter_map(|member| {
                let runs = member::runs(&member);
                let name = member.name?;
                Some((member_name::number(&name)?, name, runs))
            })
            .collect();
        numbered.sort_unstable();
        let mut former = StoppedMembers::default();
        for (number, name, said_to_run) in numbered {
            let runs = number < running;
            if said_to_run != runs {
                former.mistold.push((name.clone(), runs));
            }
            if !runs {
                former.names.push(name);
            }
        }
        former
    }

    pub(in crate::up) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub(in crate::up) fn is_one(&self) -> bool {
        self.names.len() == 1
    }

    /// How many members have to be started for all of them to run.
    pub(in crate::up) fn enough(&self) -> usize {
        let last = self.names.last().and_then(|name| member_name::number(name));
        last.map_or(0, |number| number + 1)
    }

    /// Takes them off the hub. They were in the memory of a process that has ended, since the data is open in this one:
    /// nothing of theirs runs anywhere.
    pub(in crate::up) async fn remove(self, server: &Server) -> anyhow::Result<()> {
        for name in &self.names {
            leave::forget(&server.client, name)
                .await
                .map_err(|(doing, error)| live::explain(&error, &doing, &server.url))
                .with_context(|| format!("--forget-members: cannot remove {name}"))?;
        }
        let said = match self.is_empty() {
            true => "no embedded member of an earlier start is left to remove".to_owned(),
            false => format!("removed {self}, from an earlier start"),
        };
        super::super::progress(&said);
        Ok(())
    }
}

impl std::fmt::Display for StoppedMembers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.names.as_slice() {
            [] => f.write_str("none"),
            [first, .., last] if self.names.len() > 3 => {
                write!(f, "{first} … {last} ({} members)", self.names.len())
            }
            few => f.write_str(&few.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(name: &str, by: &str) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.to_owned()),
            annotations: Some([(member::EMBEDDED_BY.0.to_owned(), by.to_owned())].into()),
            ..ObjectMeta::default()
        }
    }

    fn among(names: &[&str], running: usize) -> StoppedMembers {
        let ours = |name: &&str| marked(name, member::EMBEDDED_BY.1);
        StoppedMembers::among(names.iter().map(ours), running)
    }

    #[test]
    fn a_cluster_that_up_has_not_made_is_no_member_whatever_its_label_and_name() {
        let mut bare = marked("member-9", "");
        bare.annotations = None;
        let others = [bare, marked("member-9", ""), marked("member-9", "somebody")];
        assert!(StoppedMembers::among(others.into_iter(), 0).is_empty());
    }

    #[test]
    fn members_beyond_those_that_run_are_former_in_the_order_of_their_numbers() {
        let former = among(&["member-1", "member-10", "member-2", "member-3"], 2);
        assert_eq!(former.to_string(), "member-3, member-10");
        assert_eq!(former.enough(), 10);
        assert!(among(&["member-1", "member-2"], 2).is_empty());
    }

    #[test]
    fn only_what_is_not_true_is_noted() {
        let stopped = |name: &str, stopped: bool| {
            let mut member = marked(name, member::EMBEDDED_BY.1);
            if stopped {
                let annotations = member.annotations.as_mut().unwrap();
                annotations.insert(EMBEDDED_MEMBER_STOPPED.to_owned(), "true".to_owned());
            }
            member
        };
        let members = [
            stopped("member-1", false),
            stopped("member-2", true),
            stopped("member-3", false),
            stopped("member-4", true),
        ];
        let former = StoppedMembers::among(members.into_iter(), 2);
        assert_eq!(
            former.mistold,
            [("member-2".to_owned(), true), ("member-3".to_owned(), false)]
        );
    }

    #[test]
    fn a_cluster_that_has_another_name_is_not_one_of_them_whatever_its_label_says() {
        for name in [
            "west",
            "member",
            "member-",
            "member-0",
            "member-x",
            "member-03",
            "member-1-b",
        ] {
            assert!(among(&[name], 0).is_empty(), "{name}");
        }
    }

    #[test]
    fn many_are_told_by_the_first_and_the_last() {
        let former = among(&["member-5", "member-3", "member-4", "member-6"], 2);
        assert_eq!(former.to_string(), "member-3 … member-6 (4 members)");
    }
}
