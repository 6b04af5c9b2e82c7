//! Logs: structured, on standard error, with the time from the one clock.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::fmt::{FmtContext, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
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
    let writer = WithoutSimulated {
        writer: io::stderr,
        levels: targets.clone(),
        is_asked_for: &HAS_MEMBERS,
    };
    let layer = match format {
        Format::Text => text(writer).boxed(),
        Format::Json => fmt::layer()
            .with_writer(writer)
            .with_timer(Clock)
            .json()
            .flatten_event(true)
            .boxed(),
    };
    let (export, guard) = traces.start()?;
    tracing_subscriber::registry()
        .with(export)
        .with(layer.with_filter(targets))
        .try_init()?;
    Ok(guard)
}

/// Writes a line for people per event.
fn text<S, W>(writer: W) -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let layer = fmt::layer().with_writer(writer).with_timer(Clock);
    layer.with_ansi(false).map_event_format(OneLine)
}

/// Writes an event as one line without control characters. Names and messages come from servers, and one with a line break
/// would look like another event, one with an escape sequence could change what the terminal shows.
struct OneLine<F>(F);

impl<S, N, F> FormatEvent<S, N> for OneLine<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        for character in line.strip_suffix('\n').unwrap_or(&line).chars() {
            match is_harmless(character) {
                true => writer.write_char(character)?,
                false => write!(writer, "{}", character.escape_default())?,
            }
        }
        writer.write_char('\n')
    }
}

/// Whether a character is shown where it is written. Marks that end a line or turn the direction of the text around count as
/// control characters.
fn is_harmless(character: char) -> bool {
    let is_mark = matches!(
        character,
        '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}'
    );
    !is_mark && !character.is_control()
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
            targets.with_target(library, LevelFilter::OFF)
        }))
}

/// The error of a request from an embedded member that `portolan demo partition` has cut off.
pub(crate) const LINE_IS_CUT: &str = "simulated: the line is cut";

/// Whether this process has embedded members, whose failures may be simulated.
static HAS_MEMBERS: AtomicBool = AtomicBool::new(false);

/// From now on failures are left out that `portolan demo partition` asks for. Only for processes with embedded members: in
/// others the same text could only come from a server.
pub(crate) fn leave_out_simulated() {
    HAS_MEMBERS.store(true, Ordering::Relaxed);
}

/// Leaves out the failures that `portolan demo partition` asks for, unless debug is logged. Where such a failure is logged, it
/// cannot be told from a real one but by its text.
struct WithoutSimulated<W> {
    writer: W,
    levels: Targets,
    is_asked_for: &'static AtomicBool,
}

impl<'a, W: MakeWriter<'a>> MakeWriter<'a> for WithoutSimulated<W> {
    type Writer = LineWriter<W::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        LineWriter {
            writer: self.writer.make_writer(),
            has_simulated: true,
        }
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Self::Writer {
        LineWriter {
            writer: self.writer.make_writer_for(metadata),
            has_simulated: !self.is_asked_for.load(Ordering::Relaxed)
                || self.levels.would_enable(metadata.target(), &Level::DEBUG),
        }
    }
}

/// Writes one line of the log, which comes as a whole.
struct LineWriter<W> {
    writer: W,
    /// Whether a simulated failure is written.
    has_simulated: bool,
}

impl<W: io::Write> io::Write for LineWriter<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let is_simulated = || String::from_utf8_lossy(line).contains(LINE_IS_CUT);
        match !self.has_simulated && is_simulated() {
            true => Ok(line.len()),
            false => self.writer.write(line),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
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
    word.parse::<LevelFilter>().is_ok()
}

struct Clock;

impl FormatTime for Clock {
    fn format_time(&self, writer: &mut Writer<'_>) -> std::fmt::Result {
        write!(writer, "{:.3}", clock::now())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Result, Write};
    use std::sync::{Arc, Mutex};

    use tracing::Level;
    use tracing_subscriber::Layer;
    use tracing_subscriber::layer::SubscriberExt;

    use std::sync::atomic::AtomicBool;

    use super::{LINE_IS_CUT, WithoutSimulated, parse_level, targets, text};

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn nothing_in_an_event_can_forge_a_line_or_speak_to_the_terminal() {
        let written = Written::default();
        let writer = written.clone();
        let subscriber = tracing_subscriber::registry().with(text(move || writer.clone()));
        let evil = "a\n2026 ERROR b\r\tc\u{1b}[2Jd\u{85}e\u{9b}f\u{2028}g\u{202e}h\0ü";
        tracing::subscriber::with_default(subscriber, || {
            let span = tracing::error_span!("span", name = %evil);
            let _entered = span.enter();
            tracing::error!(shown = %evil, debugged = ?evil, text = evil, "the hub said {evil}");
            tracing::error!("an ordinary line");
        });
        let bytes = written.0.lock().unwrap().clone();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        let odd = |character: char| {
            (character.is_control() && character != '\n') || ['\u{2028}', '\u{202e}'].contains(&character)
        };
        assert!(!text.contains(odd), "{text:?}");
        assert!(text.contains(r"the hub said a\n2026 ERROR b\r\tc"), "{text}");
        assert!(
            text.contains('ü') && text.ends_with("an ordinary line\n"),
            "{text}"
        );
    }

    #[test]
    fn a_failure_that_the_demo_asks_for_is_logged_where_debug_is() {
        static WITH_MEMBERS: AtomicBool = AtomicBool::new(true);
        static WITHOUT: AtomicBool = AtomicBool::new(false);
        for (level, is_asked_for, lines) in [
            ("warn", &WITH_MEMBERS, 1),
            ("info", &WITH_MEMBERS, 1),
            ("debug", &WITH_MEMBERS, 2),
            ("portolan=debug", &WITH_MEMBERS, 2),
            // Only a server can have said so.
            ("warn", &WITHOUT, 2),
        ] {
            let written = Written::default();
            let writer = written.clone();
            let levels = targets(level).unwrap();
            let writer = WithoutSimulated {
                writer: move || writer.clone(),
                levels: levels.clone(),
                is_asked_for,
            };
            let layer = text(writer).with_filter(levels);
            let subscriber = tracing_subscriber::registry().with(layer);
            tracing::subscriber::with_default(subscriber, || {
                tracing::warn!("cannot list works: the hub cannot be reached: {LINE_IS_CUT}");
                tracing::warn!("cannot list works: the hub cannot be reached: refused");
            });
            let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
            assert_eq!(text.lines().count(), lines, "{level}: {text}");
        }
    }

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
