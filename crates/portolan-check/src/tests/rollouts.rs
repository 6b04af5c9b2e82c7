use std::collections::{BTreeMap, BTreeSet};

use super::{Control, hold};
use crate::rollout::{Budget, Member, Moment, Progress, check};
use crate::{CheckId, Report};

/// `name group progress` of each member; a name in capitals is mandatory.
fn moment(members: &[(&str, i32, Progress)], started: &[&str]) -> Moment {
    let member = |(name, group, progress): &(&str, i32, Progress)| {
        let member = Member {
            group: *group,
            is_mandatory: name.chars().all(char::is_uppercase),
            progress: *progress,
            is_reachable: true,
        };
        ((*name).to_owned(), member)
    };
    Moment {
        members: members.iter().map(member).collect(),
        started: started
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<BTreeSet<String>>(),
        slots: Some(2),
        budget: Budget::Fleet(1),
    }
}

fn per_group(members: &[(&str, i32, Progress)], started: &[&str]) -> Report {
    check(&[Moment {
        slots: None,
        budget: Budget::PerGroup(BTreeMap::from([(0, 0), (1, 0)])),
        ..moment(members, started)
    }])
}

use Progress::{Failing, GivenUp, Succeeded, UnderWay, Without};

pub(super) fn controls() -> Vec<Control> {
    vec![
        Control {
            check: CheckId::RolloutMandatoryFirst,
            name: "an ordinary cluster beside a mandatory one in progress",
            sound: || check(&[moment(&[("M", 0, Succeeded), ("a", 1, Without)], &["a"])]),
            broken: || check(&[moment(&[("M", 0, UnderWay), ("a", 1, Without)], &["a"])]),
        },
        Control {
            check: CheckId::RolloutMandatoryFirst,
            name: "an ordinary cluster after a mandatory one failed",
            sound: || check(&[moment(&[("M", 0, GivenUp), ("a", 1, Without)], &[])]),
            broken: || check(&[moment(&[("M", 0, GivenUp), ("a", 1, Without)], &["a"])]),
        },
        Control {
            check: CheckId::RolloutBudget,
            name: "a start above the budget of the fleet",
            sound: || {
                check(&[moment(
                    &[("a", 0, GivenUp), ("b", 0, Succeeded), ("c", 0, Without)],
                    &["c"],
                )])
            },
            broken: || {
                check(&[moment(
                    &[("a", 0, GivenUp), ("b", 0, GivenUp), ("c", 0, Without)],
                    &["c"],
                )])
            },
        },
        Control {
            check: CheckId::RolloutBudget,
            name: "a start after a group above its budget",
            sound: || per_group(&[("a", 0, Failing), ("b", 0, Without)], &["b"]),
            broken: || per_group(&[("a", 0, Failing), ("b", 1, Without)], &["b"]),
        },
        Control {
            check: CheckId::RolloutSlots,
            name: "one start too many",
            sound: || {
                check(&[moment(
                    &[("a", 0, UnderWay), ("b", 0, Without), ("c", 0, Without)],
                    &["b"],
                )])
            },
            broken: || {
                check(&[moment(
                    &[("a", 0, UnderWay), ("b", 0, Without), ("c", 0, Without)],
                    &["b", "c"],
                )])
            },
        },
        Control {
            check: CheckId::RolloutReachesAll,
            name: "a cluster that nobody came back to",
            sound: || check(&[moment(&[("a", 0, Succeeded), ("b", 0, Succeeded)], &[])]),
            broken: || check(&[moment(&[("a", 0, Succeeded), ("b", 0, Without)], &[])]),
        },
    ]
}

#[test]
fn a_broken_rollout_fails_its_own_check_and_no_other() {
    hold(&controls());
}

#[test]
fn what_is_offline_or_failed_excuses_a_rollout_that_rests() {
    let mut offline = moment(&[("a", 0, Succeeded), ("b", 0, Without)], &[]);
    offline.members.get_mut("b").unwrap().is_reachable = false;
    assert!(check(&[offline]).is_clean());
    assert!(check(&[moment(&[("a", 0, GivenUp), ("b", 0, Without)], &[])]).is_clean());
}

#[test]
fn only_the_last_moment_is_at_rest() {
    let early = moment(&[("a", 0, Without)], &[]);
    let late = moment(&[("a", 0, Succeeded)], &[]);
    assert!(check(&[early.clone(), late]).is_clean());
    assert_eq!(check(&[early]).failed(), [CheckId::RolloutReachesAll]);
}
