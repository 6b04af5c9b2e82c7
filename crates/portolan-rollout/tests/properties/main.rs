//! What holds of every rollout: on a simulated fleet that joins, leaves, regroups, fails, goes offline and comes back, and
//! on any input whatever.

mod fleet;
mod formula;

use std::collections::BTreeSet;
use std::time::Duration;

use fleet::{Fate, Fleet, Setting, Turn};
use jiff::Timestamp;
use portolan_rollout::{Cluster, Existing, GroupKey, Groups, Input, Plan, Status, plan};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Budget, slots and mandatory groups, at every moment of a restless fleet.
    #[test]
    fn no_start_breaks_a_bound(setting in fleet::settings(), turns in fleet::turns(), fates in fleet::fates()) {
        let mut fleet = Fleet::new(setting, &fates);
        let moments = fleet.run(&turns);
        let report = portolan_check::rollout::check(&moments);
        let broken: Vec<_> = report.failed().into_iter().filter(|id| id.as_str() != "rollout-reaches-all").collect();
        prop_assert!(broken.is_empty(), "{report}");
    }

    /// Once the fleet is still, everybody can be reached and the workload works, everybody has it.
    #[test]
    fn nobody_is_skipped_for_good(setting in fleet::settings(), turns in fleet::turns(), delays in proptest::collection::vec(0u8..4, 12)) {
        let fates: Vec<Fate> = delays.into_iter().map(Fate::Succeeds).collect();
        let setting = Setting { deadline: None, ..setting };
        let mut fleet = Fleet::new(setting, &fates);
        let mut moments = fleet.run(&turns);
        fleet.recover();
        // Each step takes at most the delay and the soak time, and there are at most as many steps as clusters.
        moments.extend(fleet.run(&vec![Turn::Wait; 12 * 12]));
        let report = portolan_check::rollout::check(&moments);
        prop_assert!(report.is_clean(), "{report}");
        prop_assert!(fleet.is_done(), "the rollout wedged: {:?}", moments.last());
    }

    #[test]
    fn an_answer_is_ordered_and_names_each_cluster_once(question in fleet::questions()) {
        let answer = question.ask();
        let key = |cluster: &Cluster| (cluster.group_key.group_index, cluster.cluster_name.clone());
        for list in [&answer.clusters_to_rollout, &answer.clusters_time_out, &answer.clusters_removed] {
            let keys: Vec<_> = list.iter().map(key).collect();
            prop_assert!(keys.is_sorted(), "{keys:?}");
        }
        let lists = [&answer.clusters_to_rollout, &answer.clusters_time_out, &answer.clusters_removed];
        let mut names: Vec<String> = lists.into_iter().flatten().map(|cluster| cluster.cluster_name.clone()).collect();
        names.extend(answer.clusters_skipped.iter().cloned());
        let once: BTreeSet<&String> = names.iter().collect();
        prop_assert_eq!(once.len(), names.len(), "{:?}", answer);
    }

    #[test]
    fn the_order_of_the_input_does_not_matter(question in fleet::questions()) {
        let mut turned = question.clone();
        turned.existing.reverse();
        prop_assert_eq!(question.ask(), turned.ask());
    }

    #[test]
    fn asking_again_later_is_only_needed_at_the_time_that_is_said(question in fleet::questions()) {
        let answer = question.ask();
        let mut later = question.clone();
        let almost = answer.recheck_after.map_or(1_000_000, |after| after.as_secs().saturating_sub(1));
        later.seconds += i64::try_from(almost).unwrap();
        let times = |plan: &Plan| -> Vec<(String, Status)> {
            plan.clusters_to_rollout.iter().map(|cluster| (cluster.cluster_name.clone(), cluster.status)).collect()
        };
        // Clusters without a time count from now on, each time anew, so only those with one are compared.
        if question.existing.iter().all(|existing| existing.last_transition_time.is_some()) {
            prop_assert_eq!(times(&answer), times(&later.ask()));
        }
    }

    #[test]
    fn within_one_group_clusters_go_as_the_reference_formula_says(question in fleet::plain_questions()) {
        let expected = formula::progressive(&question);
        let answer = question.ask();
        let mut listed: Vec<(String, Status)> =
            answer.clusters_to_rollout.iter().map(|cluster| (cluster.cluster_name.clone(), cluster.status)).collect();
        listed.sort();
        let timed_out: Vec<String> =
            answer.clusters_time_out.iter().map(|cluster| cluster.cluster_name.clone()).collect();
        prop_assert_eq!((listed, timed_out, answer.max_failure_breach), expected);
    }
}

#[test]
fn a_group_that_is_over_its_budget_says_so_even_if_nothing_is_left_to_list() {
    let strategy = Setting::per_group(0).strategy();
    let mut groups = Groups::new();
    groups.add(GroupKey::new("", 0), ["a".to_owned()]);
    groups.add(GroupKey::new("", 1), ["b".to_owned()]);
    let existing = [Existing {
        cluster_name: "a".to_owned(),
        group_key: None,
        status: Status::TimeOut,
        last_transition_time: None,
        first_report_time: None,
    }];
    let input = Input {
        groups: &groups,
        existing: &existing,
        unreachable: &BTreeSet::new(),
        now: Timestamp::UNIX_EPOCH,
    };
    let answer = plan(&strategy, &input).unwrap();
    assert!(
        answer.max_failure_breach && answer.clusters_to_rollout.is_empty(),
        "{answer:?}"
    );
}

#[test]
fn the_end_of_the_soak_of_a_cluster_that_is_offline_is_a_time_to_ask_again() {
    let mut strategy = Setting::per_group(0).strategy();
    strategy.soak = Duration::from_secs(60);
    let mut groups = Groups::new();
    groups.add(GroupKey::new("", 0), ["a".to_owned()]);
    groups.add(GroupKey::new("", 1), ["b".to_owned()]);
    let existing = [Existing {
        cluster_name: "a".to_owned(),
        group_key: None,
        status: Status::Succeeded,
        last_transition_time: Timestamp::from_second(1_000).ok(),
        first_report_time: None,
    }];
    let input = Input {
        groups: &groups,
        existing: &existing,
        unreachable: &["a".to_owned()].into(),
        now: Timestamp::from_second(1_010).unwrap(),
    };
    let plan = plan(&strategy, &input).unwrap();
    assert_eq!(plan.clusters_skipped, ["a"]);
    assert_eq!(plan.recheck_after, Some(Duration::from_secs(50)));
}
