use portolan_api::labels::portolan;

use super::*;
use crate::{DecisionSet, assemble};

fn scored(clusters: &[&str], scores: &str) -> DecisionSet {
    let slice = slice(0, clusters).annotation(portolan::SCORES, scores).read();
    assemble([&slice]).unwrap()
}

fn picked(chosen: &[&crate::Chosen]) -> Vec<String> {
    chosen.iter().map(|chosen| chosen.cluster.name.clone()).collect()
}

#[test]
fn the_top_is_by_score_and_ties_are_in_decided_order() {
    let set = scored(&["a", "b", "c", "d"], r#"{"a":10,"b":80,"c":10,"d":-5}"#);
    assert_eq!(picked(&set.top(3)), ["b", "a", "c"]);
    assert_eq!(set.top(9).len(), 4);
    assert!(set.top(0).is_empty());
}

#[test]
fn without_scores_the_top_is_the_decided_order() {
    let set = assemble([&slice(0, &["c", "a"]).read(), &slice(1, &["b"]).read()]).unwrap();
    assert_eq!(picked(&set.top(2)), ["c", "a"]);
}

#[test]
fn a_draw_is_repeatable_and_different_draws_differ() {
    let set = scored(&["a", "b", "c", "d", "e"], r#"{"a":5,"b":5,"c":5,"d":5,"e":5}"#);
    assert_eq!(set.draw(2, "job-1"), set.draw(2, "job-1"));
    let firsts: std::collections::BTreeSet<String> = (0..50)
        .flat_map(|job| picked(&set.draw(1, &format!("job-{job}"))))
        .collect();
    assert_eq!(firsts.len(), 5);
}

#[test]
fn a_draw_follows_the_scores() {
    let set = scored(&["a", "b", "c"], r#"{"a":30,"b":10,"c":0}"#);
    let draws = 4000;
    let won = |name: &str| {
        (0..draws)
            .filter(|job| picked(&set.draw(1, &job.to_string())) == [name])
            .count()
    };
    let (a, b, c) = (won("a"), won("b"), won("c"));
    // Three to one; five standard deviations are 137.
    assert!(a.abs_diff(draws * 3 / 4) < 137, "{a} {b}");
    assert_eq!(
        (a + b, c),
        (draws, 0),
        "a score of 0 is drawn when nothing else is left"
    );
    assert_eq!(set.draw(3, "x").len(), 3);
}

#[test]
fn a_cluster_that_goes_changes_no_other_draw() {
    let all = scored(&["a", "b", "c", "d"], r#"{"a":5,"b":9,"c":1,"d":3}"#);
    let fewer = scored(&["a", "b", "d"], r#"{"a":5,"b":9,"d":3}"#);
    for job in 0..200 {
        let before: Vec<String> = picked(&all.draw(4, &job.to_string()));
        let expected: Vec<String> = before.into_iter().filter(|name| name != "c").collect();
        assert_eq!(picked(&fewer.draw(4, &job.to_string())), expected);
    }
}
