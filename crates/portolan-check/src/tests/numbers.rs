use std::collections::{BTreeMap, BTreeSet};

use crate::numbers::*;

fn set(names: &[String]) -> BTreeSet<String> {
    names.iter().cloned().collect()
}

fn sizes(total: usize, size: GroupSize<'_>) -> Vec<usize> {
    let clusters = super::fixtures::names(0, total);
    let size = group_size(size, total).unwrap();
    group_cuts(&set(&clusters), &[], size)
        .iter()
        .map(|(_, group)| group.len())
        .collect()
}

#[test]
fn balance_has_the_worked_values() {
    let worked = [
        (7, 9, -54),
        (3, 9, 32),
        (1, 9, 76),
        (0, 9, 100),
        (2, 5, 18),
        (7, 10, -38),
        (0, 0, 100),
        (9, 9, -100),
    ];
    for (count, max, score) in worked {
        assert_eq!(balance(count, max), score, "{count}/{max}");
    }
}

#[test]
fn balance_is_even_and_never_rises_with_the_count() {
    for max in 1..200 {
        let scores: Vec<i64> = (0..=max).map(|count| balance(count, max)).collect();
        assert!(
            scores
                .iter()
                .all(|score| score % 2 == 0 && (-100..=100).contains(score)),
            "{max}"
        );
        assert!(scores.is_sorted_by(|a, b| a >= b), "{max}");
    }
}

#[test]
fn scaling_truncates_in_binary_floating_point() {
    assert_eq!(scaled(0.7, 0.0, 1.0), 39);
    assert_eq!(scaled(0.6, 0.0, 1.0), 19);
    assert_eq!(
        [1.0, 2.0, 3.0, 8.0].map(|cpus| scaled(cpus, 1.0, 8.0)),
        [-100, -71, -42, 100]
    );
    assert_eq!(scaled(4.0, 4.0, 4.0), 100);
}

#[test]
fn a_candidate_without_capacity_is_in_the_middle_and_moves_no_bound() {
    let resource = |cluster: &str, allocatable, has_capacity| Resource {
        cluster: cluster.to_owned(),
        allocatable,
        has_capacity,
    };
    let candidates = [
        resource("a", Some(1.0), true),
        resource("b", Some(8.0), true),
        resource("c", Some(99.0), false),
        resource("d", None, true),
    ];
    let expected =
        [("a", -100), ("b", 100), ("c", 0), ("d", 0)].map(|(name, score)| (name.to_owned(), score));
    assert_eq!(resources(&candidates), BTreeMap::from(expected));
}

#[test]
fn steady_is_a_hundred_or_nothing() {
    assert_eq!((steady(true), steady(false)), (100, 0));
}

#[test]
fn normalised_scores_are_cut_at_both_ends() {
    let cases = [
        (11.0, 100),
        (0.0, -100),
        (-1.0, -100),
        (5.0, 0),
        (10.0, 100),
        (3.33, -33),
    ];
    for (value, score) in cases {
        assert_eq!(normalised(value, 0.0, 10.0), score, "{value}");
    }
}

#[test]
fn quantities_are_mantissa_times_power_of_ten() {
    let cases = [
        ("2", 2.0),
        ("1500m", 1500.0 * 1e-3),
        ("0.1", 1.0 * 1e-1),
        ("1.5", 15.0 * 1e-1),
        ("333m", 333.0 * 1e-3),
        ("16Gi", 17_179_869_184.0),
        ("1.5Gi", 16_106_127_360.0 * 1e-1),
        ("32780Ki", 33_566_720.0),
        ("1e3", 1000.0),
        ("1E3", 1000.0),
        ("1E", 1e18),
        ("12k", 12.0 * 1e3),
        ("-5m", -5.0 * 1e-3),
        ("+.5", 5.0 * 1e-1),
        ("1n", 1e-9),
        ("0.1n", 1e-9),
        ("0", 0.0),
    ];
    for (text, value) in cases {
        assert_eq!(quantity(text), Some(value), "{text}");
    }
    for text in ["", "-", ".", "1.2.3", "1Qi", "1 ", "e3", "1e", "1ee3", "x"] {
        assert_eq!(quantity(text), None, "{text:?}");
    }
}

#[test]
fn percentages_of_clusters_are_ceilings_in_floating_point() {
    let cases = [
        (7, 100, 8),
        (14, 100, 15),
        (28, 100, 29),
        (55, 100, 56),
        (56, 100, 57),
        (14, 50, 8),
        (50, 100, 50),
    ];
    for (percentage, total, size) in cases {
        assert_eq!(
            group_size(GroupSize::Text(&format!("{percentage}%")), total),
            Some(size),
            "{percentage}% of {total}"
        );
    }
}

#[test]
fn a_size_out_of_range_means_all_and_other_text_is_refused() {
    for size in [
        GroupSize::Unset,
        GroupSize::Number(0),
        GroupSize::Number(-3),
        GroupSize::Number(11),
        GroupSize::Text("100%"),
    ] {
        assert_eq!(group_size(size, 10), Some(10), "{size:?}");
    }
    assert_eq!(group_size(GroupSize::Text("4"), 10), Some(4));
    assert_eq!(group_size(GroupSize::Text("33.3%"), 10), Some(4));
    assert_eq!(group_size(GroupSize::Text("a third"), 10), None);
    assert_eq!(group_size(GroupSize::Text("50%"), 0), Some(0));
}

#[test]
fn groups_are_cut_as_in_the_worked_examples() {
    assert_eq!(sizes(10, GroupSize::Text("33%")), [4, 4, 2]);
    assert_eq!(sizes(101, GroupSize::Text("20%")), [21, 21, 21, 21, 17]);
    assert_eq!(sizes(320, GroupSize::Number(150)), [150, 150, 20]);
    assert_eq!(sizes(3, GroupSize::Text("25%")), [1, 1, 1]);
    assert_eq!(sizes(0, GroupSize::Unset), [0]);
}

#[test]
fn named_groups_come_first_and_take_no_index_when_nothing_matches() {
    let clusters: Vec<String> = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
    let group = |name: &str, matches: &[&str]| NamedGroup {
        name: name.to_owned(),
        matches: matches.iter().map(|name| (*name).to_owned()).collect(),
    };
    let named = [
        group("nobody", &[]),
        group("canary", &["d", "b", "elsewhere"]),
        group("late", &["b", "a"]),
    ];
    let cuts = group_cuts(&set(&clusters), &named, 1);
    let told: Vec<(&str, &str)> = cuts
        .iter()
        .map(|(name, group)| (name.as_str(), group[0].as_str()))
        .collect();
    assert_eq!(told, [("canary", "b"), ("canary", "d"), ("late", "a"), ("", "c")]);
}

#[test]
fn objects_are_numbered_from_one_over_all_groups() {
    let clusters = super::fixtures::names(0, 320);
    let slices = ocm_slices("web", &group_cuts(&set(&clusters), &[], 150));
    let told: Vec<(&str, usize, usize)> = slices
        .iter()
        .map(|(name, group, clusters)| (name.as_str(), *group, clusters.len()))
        .collect();
    let expected = [
        ("web-decision-1", 0, 100),
        ("web-decision-2", 0, 50),
        ("web-decision-3", 1, 100),
        ("web-decision-4", 1, 50),
        ("web-decision-5", 2, 20),
    ];
    assert_eq!(told, expected);
    assert_eq!(
        ocm_slices("web", &group_cuts(&BTreeSet::new(), &[], 0)),
        [("web-decision-1".to_owned(), 0, vec![])]
    );
}

#[test]
fn rank_is_taints_then_total_then_name_in_byte_order() {
    let candidate = |cluster: &str, total, avoided| Ranked {
        cluster: cluster.to_owned(),
        total,
        avoided,
    };
    let candidates = vec![
        candidate("b", 10, 0),
        candidate("a", 10, 0),
        candidate("B", 10, 0),
        candidate("z", 99, 1),
        candidate("y", 20, 0),
    ];
    let order: Vec<String> = rank(candidates, Some(4))
        .into_iter()
        .map(|candidate| candidate.cluster)
        .collect();
    assert_eq!(order, ["y", "B", "a", "b"]);
}

#[test]
fn a_total_is_the_weighted_sum_of_what_is_switched_on() {
    let weights =
        [("Balance", 1), ("Steady", 1), ("Cost", -2)].map(|(name, weight)| (name.to_owned(), weight));
    let scores = [("Balance", 100), ("Steady", 100), ("Cost", 30), ("Other", 7)];
    assert_eq!(total(scores, &BTreeMap::from(weights)), 140);
}
