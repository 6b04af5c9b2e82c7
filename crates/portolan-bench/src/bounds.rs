//! Figures that must not be exceeded or fallen short of, by their path in a bench's JSON.

use std::collections::BTreeMap;

use anyhow::Context;
use serde_json::Value;

/// A bound for each path, such as `ratios.full.label`.
pub(super) type Bounds = BTreeMap<String, f64>;

/// One line for each figure that is not what it must be. Parts of a report that were skipped are not looked at; `file` is
/// where the bounds are committed.
pub(super) fn failures(
    at_least: &Bounds,
    at_most: &Bounds,
    report: &Value,
    file: &str,
) -> anyhow::Result<Vec<String>> {
    let mut failures = Vec::new();
    for (path, least) in at_least.iter().filter(|(path, _)| !is_skipped(report, path)) {
        let given = figure(report, path, file)?;
        if given < *least {
            failures.push(format!("{path} is {given}, must be at least {least}"));
        }
    }
    for (path, most) in at_most.iter().filter(|(path, _)| !is_skipped(report, path)) {
        let given = figure(report, path, file)?;
        if given > *most {
            failures.push(format!("{path} is {given}, must be at most {most}"));
        }
    }
    Ok(failures)
}

/// The figure at a path.
pub(super) fn figure(report: &Value, path: &str, file: &str) -> anyhow::Result<f64> {
    let found = path.split('.').try_fold(report, |value, key| value.get(key));
    let given = found.and_then(Value::as_f64);
    given.with_context(|| format!("{file}: no figure {path}"))
}

/// Whether the figure belongs to a part that is not in the report. A figure of its own is always there.
fn is_skipped(report: &Value, path: &str) -> bool {
    path.split_once('.')
        .is_some_and(|(part, _)| report.get(part).is_none())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bounds(path: &str, bound: f64) -> Bounds {
        BTreeMap::from([(path.to_owned(), bound)])
    }

    #[test]
    fn a_figure_on_the_wrong_side_of_its_bound_is_named_with_the_bound() {
        let report = json!({"part": {"low": 1.5, "high": 250.5}});
        let (least, most) = (bounds("part.low", 2.0), bounds("part.high", 200.0));
        assert_eq!(
            failures(&least, &most, &report, "floors.json").unwrap(),
            [
                "part.low is 1.5, must be at least 2",
                "part.high is 250.5, must be at most 200"
            ]
        );
        let (least, most) = (bounds("part.low", 1.5), bounds("part.high", 250.5));
        assert!(
            failures(&least, &most, &report, "floors.json")
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn a_skipped_part_is_not_looked_at_and_a_figure_that_no_report_has_is_an_error() {
        let (none, report) = (Bounds::new(), json!({"part": {"low": 1}}));
        let check = |path: &str| failures(&none, &bounds(path, 0.0), &report, "floors.json");
        assert!(check("other.low").unwrap().is_empty());
        for path in ["part.lwo", "lwo"] {
            let error = check(path).unwrap_err().to_string();
            assert_eq!(error, format!("floors.json: no figure {path}"));
        }
    }
}
