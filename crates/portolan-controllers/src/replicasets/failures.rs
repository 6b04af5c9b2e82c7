//! Why works fail: what the agents of the clusters report, the most frequent cause first.

use std::collections::HashMap;

use portolan_api::count::counted;
use portolan_runtime::failure::{says, shortened};

use super::works::Why;

/// Causes that a condition names. With more, the message of a condition would be too long to read.
const NAMED: usize = 3;

/// Characters of a cause that a condition names, for the same reason.
const LONGEST_CAUSE: usize = 200;

/// A cause, and the clusters whose agents report the cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    clusters: usize,
    /// The first of the clusters by name.
    first: String,
    why: Why,
}

/// The most frequent causes. Clusters come in the order of their names within each count, so that the same reports always
/// give the same text.
pub(super) fn most_frequent<'a>(reports: impl Iterator<Item = (&'a str, &'a Why)>) -> Vec<Failure> {
    let mut causes: HashMap<&Why, (usize, &str)> = HashMap::new();
    for (cluster, why) in reports {
        let (clusters, first) = causes.entry(why).or_insert((0, cluster));
        *clusters += 1;
        *first = cluster.min(*first);
    }
    let mut causes: Vec<(&Why, (usize, &str))> = causes.into_iter().collect();
    causes.sort_by(|(_, (count, first)), (_, (other_count, other_first))| {
        other_count.cmp(count).then(first.cmp(other_first))
    });
    let named = causes.into_iter().take(NAMED);
    named
        .map(|(why, (clusters, first))| Failure {
            clusters,
            first: first.to_owned(),
            why: why.clone(),
        })
        .collect()
}

/// The causes in words, to follow the figures of a condition. Empty without a cause.
pub(super) fn said(failures: &[Failure]) -> String {
    let said = failures.iter().take(NAMED).map(|failure| {
        let Failure { clusters, first, why } = failure;
        let who = match clusters {
            1 => first.clone(),
            more => format!("{first} and {}", counted(more - 1, "more cluster")),
        };
        let text = shortened(why.message.trim_end_matches('.'), LONGEST_CAUSE);
        match text.as_str() {
            "" => format!("; {who}: {}", why.reason),
            text if says(text, &why.reason) => format!("; {who}: {text}"),
            text => format!("; {who}: {}: {text}", why.reason),
        }
    });
    said.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(reason: &str, message: &str) -> Why {
        Why {
            reason: reason.to_owned(),
            message: message.to_owned(),
        }
    }

    #[test]
    fn the_most_frequent_cause_comes_first_with_its_first_cluster() {
        let (refused, missing) = (why("Refused", "field is immutable."), why("NotFound", ""));
        let reports = [
            ("west", &refused),
            ("north", &missing),
            ("east", &refused),
            ("south", &refused),
        ];
        let failures = most_frequent(reports.into_iter());
        assert_eq!(
            said(&failures),
            "; east and 2 more clusters: Refused: field is immutable; north: NotFound"
        );
    }

    #[test]
    fn a_cause_whose_text_says_its_reason_is_said_once() {
        let missing = why("NotFound", "ConfigMap a/b: 404: namespaces \"a\" not found");
        let text = said(&most_frequent([("east", &missing)].into_iter()));
        assert_eq!(text, "; east: ConfigMap a/b: 404: namespaces \"a\" not found");
    }

    #[test]
    fn a_condition_names_three_causes() {
        let causes: Vec<Why> = (0..5).map(|n| why("Refused", &format!("cause {n}"))).collect();
        let clusters: Vec<String> = (0..5).map(|n| format!("cluster-{n}")).collect();
        let reports = clusters.iter().map(String::as_str).zip(&causes);
        let text = said(&most_frequent(reports));
        assert_eq!(text.matches("; ").count(), NAMED, "{text}");
        assert!(text.starts_with("; cluster-0: Refused: cause 0"), "{text}");
    }

    #[test]
    fn a_condition_cuts_a_long_cause() {
        let long = why("Refused", &"x".repeat(LONGEST_CAUSE + 1));
        let text = said(&most_frequent([("east", &long)].into_iter()));
        assert_eq!(text, format!("; east: Refused: {}…", "x".repeat(LONGEST_CAUSE)));
    }
}
