//! Figures that must not be exceeded, by their path in a bench's JSON.

use std::collections::BTreeMap;

use anyhow::Context;
use serde_json::Value;

/// One line for each figure that is not what it must be. Parts that were skipped are not looked at; `file` is where the
/// limits are committed.
pub(super) fn failures(
    at_most: &BTreeMap<String, f64>,
    report: &Value,
    file: &str,
) -> anyhow::Result<Vec<String>> {
    let mut failures = Vec::new();
    for (path, most) in at_most {
        let part = path.split('.').next().unwrap_or_default();
        if report.get(part).is_none() {
            continue;
        }
        let found = path.split('.').try_fold(report, |value, key| value.get(key));
        let given = found.and_then(Value::as_f64);
        let given = given.with_context(|| format!("{file}: no figure {path}"))?;
        if given > *most {
            failures.push(format!("{path} is {given}, must be at most {most}"));
        }
    }
    Ok(failures)
}
