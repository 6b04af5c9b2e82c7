//! A line on the terminal for work that takes longer than a second.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How long nothing is shown, and how often the line is renewed after that.
const INTERVAL: Duration = Duration::from_secs(1);

/// Counts steps and shows them on a terminal. It leaves nothing behind.
#[derive(Debug)]
pub(crate) struct Progress {
    what: &'static str,
    /// Nothing when nobody knows.
    total: Option<usize>,
    done: usize,
    next: Option<Instant>,
    shown: bool,
}

impl Progress {
    pub(crate) fn new(what: &'static str, total: usize) -> Progress {
        Progress::of(what, Some(total))
    }

    /// Counts steps of which nobody knows how many there will be.
    pub(crate) fn counting(what: &'static str) -> Progress {
        Progress::of(what, None)
    }

    fn of(what: &'static str, total: Option<usize>) -> Progress {
        let next = std::io::stderr().is_terminal().then(|| time() + INTERVAL);
        Progress {
            what,
            total,
            done: 0,
            next,
            shown: false,
        }
    }

    pub(crate) fn advance(&mut self) {
        self.advance_by(1);
    }

    pub(crate) fn advance_by(&mut self, steps: usize) {
        self.done += steps;
        if let Some(next) = self.next.filter(|next| time() >= *next) {
            self.next = Some(next.max(time()) + INTERVAL);
            self.shown = true;
            let of = self.total.map(|total| format!(" of {total}")).unwrap_or_default();
            let _ = write!(std::io::stderr(), "\r{}{of} {}", self.done, self.what);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "measures how long a person has been waiting, decides nothing"
)]
fn time() -> Instant {
    Instant::now()
}
