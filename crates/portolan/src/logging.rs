//! Logs: structured, on standard error, with the time from the one clock.

use clap::ValueEnum;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::clock;
use crate::tracing_export::{Guard, TraceArgs};

/// `--log-format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A line for people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

/// `--log-format` and `--log-level`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// Format of the logs
    #[arg(
        long,
        env = "PORTOLAN_LOG_FORMAT",
        hide_env_values = true,
        value_enum,
        default_value_t
    )]
    log_format: Format,

    /// What is logged: error, warn, info, debug or trace, and module=LEVEL for parts, separated by commas [default:
    /// info; warn in `portolan up`]
    #[arg(
        long,
        env = "PORTOLAN_LOG_LEVEL",
        hide_env_values = true,
        value_name = "LEVEL",
        value_parser = parse_level
    )]
    log_level: Option<String>,
}

impl LogArgs {
    /// Starts logging, and tracing where that is wanted.
    pub(crate) fn init(&self, default: &str, traces: &TraceArgs) -> anyhow::Result<Guard> {
        let level = self.log_level.as_deref().unwrap_or(default);
        init(self.log_format, level, traces)
    }
}

/// Starts logging, once in a process. What is returned is to be kept until everything is done.
pub(crate) fn init(format: Format, level: &str, traces: &TraceArgs) -> anyhow::Result<Guard> {
    let targets = targets(level)?;
    let layer = fmt::layer().with_writer(std::io::stderr).with_timer(Clock);
    let layer = match format {
        Format::Text => layer.with_ansi(false).boxed(),
        Format::Json => layer.json().flatten_event(true).boxed(),
    };
    let (export, guard) = traces.start()?;
    tracing_subscriber::registry()
        .with(export)
        .with(layer.with_filter(targets))
        .try_init()?;
    Ok(guard)
}

/// Libraries that log errors which they also return: Portolan logs the same errors with the operation that failed. Naming
/// one in the level shows its lines.
const SILENT: [&str; 7] = [
    "kube_client",
    "kube_runtime",
    "h2",
    "hyper",
    "hyper_util",
    "rustls",
    "tower",
];

fn targets(level: &str) -> anyhow::Result<Targets> {
    let targets: Targets = level.parse()?;
    let is_named = |library: &str| {
        level
            .split(',')
            .filter_map(|part| part.split_once('='))
            .any(|(target, _)| target.split("::").next() == Some(library))
    };
    Ok(SILENT
        .into_iter()
        .filter(|library| !is_named(library))
        .fold(targets, |targets, library| {
            targets.with_target(library, tracing::metadata::LevelFilter::OFF)
        }))
}

fn parse_level(text: &str) -> Result<String, String> {
    match text.parse::<Targets>() {
        // `loud` would be taken for the name of a module whose every word is wanted.
        Ok(_) if text.split(',').all(|part| part.contains('=') || is_level(part)) => Ok(text.to_owned()),
        _ => Err(
            "accepted: off, error, warn, info, debug or trace, or such as info,portolan_runtime=debug"
                .to_owned(),
        ),
    }
}

fn is_level(word: &str) -> bool {
    word.parse::<tracing_subscriber::filter::LevelFilter>().is_ok()
}

struct Clock;

impl FormatTime for Clock {
    fn format_time(&self, writer: &mut Writer<'_>) -> std::fmt::Result {
        write!(writer, "{:.3}", clock::now())
    }
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::{parse_level, targets};

    #[test]
    fn libraries_are_silent_unless_their_name_is_in_the_level() {
        let quiet = targets("debug").unwrap();
        assert!(quiet.would_enable("portolan_runtime::watch", &Level::DEBUG));
        assert!(!quiet.would_enable("kube_runtime::watcher", &Level::ERROR));
        assert!(!quiet.would_enable("hyper_util::client", &Level::ERROR));
        let named = targets("info,kube_runtime::watcher=debug").unwrap();
        assert!(named.would_enable("kube_runtime::watcher", &Level::DEBUG));
        assert!(!named.would_enable("kube_client::client", &Level::WARN));
    }

    #[test]
    fn levels_are_words_and_parts_have_their_own() {
        for text in ["info", "WARN", "off", "info,portolan_runtime=debug,kube=trace"] {
            assert!(parse_level(text).is_ok(), "{text}");
        }
        for text in ["loud", "info,loud", "kube=loud"] {
            assert!(parse_level(text).is_err(), "{text}");
        }
    }
}
