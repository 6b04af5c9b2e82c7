//! How a bench ends: its figures on standard output, what does not hold on standard error, and the exit code.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;
use serde_json::Value;

use crate::Format;
use crate::note::note;

/// Prints the report, in the words of `table` for people, and one line for each floor that does not hold.
pub(super) fn conclude<R: Serialize>(
    report: &R,
    format: Format,
    table: impl FnOnce(&R) -> anyhow::Result<String>,
    failures: &[String],
) -> anyhow::Result<ExitCode> {
    let text = match format {
        Format::Json => serde_json::to_string_pretty(report)? + "\n",
        Format::Table => table(report)?,
    };
    let mut output = std::io::stdout().lock();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    written.context("cannot write the figures to standard output")?;
    for failure in failures {
        note(&format!("floor: {failure}"));
    }
    Ok(ExitCode::from(u8::from(!failures.is_empty())))
}

/// One line a figure, named as in the JSON.
pub(super) fn lines<R: Serialize>(report: &R) -> anyhow::Result<String> {
    let mut lines = Vec::new();
    flatten("", &serde_json::to_value(report)?, &mut lines);
    let width = lines.iter().map(|(path, _)| path.len()).max().unwrap_or_default();
    let lines = lines
        .iter()
        .map(|(path, value)| format!("{path:<width$}  {value}\n"));
    Ok(lines.collect())
}

fn flatten(path: &str, value: &Value, lines: &mut Vec<(String, String)>) {
    match value.as_object() {
        Some(fields) => fields.iter().for_each(|(name, value)| {
            let path = [path, name].into_iter().filter(|part| !part.is_empty());
            flatten(&path.collect::<Vec<_>>().join("."), value, lines);
        }),
        None => lines.push((path.to_owned(), value.to_string().trim_matches('"').to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_table_has_a_line_for_each_figure_under_its_name_in_the_json() {
        let report = json!({"server": "v1", "step": {"p50": 1.5, "all": [1, 2]}});
        assert_eq!(
            super::lines(&report).unwrap(),
            "server    v1\nstep.all  [1,2]\nstep.p50  1.5\n"
        );
    }
}
