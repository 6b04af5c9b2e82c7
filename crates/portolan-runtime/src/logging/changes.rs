//! Limits the log lines about changes.

use std::time::Duration;

use tokio::time::Instant;

/// Lines about changes within one window. More would make a burst of changes unreadable, fewer would hide everyday ones.
const LINES: u32 = 10;
const WINDOW: Duration = Duration::from_secs(10);

/// Says each change on a line, and a count instead of the lines of a burst. Pure: the time is an argument.
#[derive(Debug, Default)]
pub struct ChangeLog {
    /// When the window began.
    began: Option<Instant>,
    lines: u32,
    unsaid: u64,
}

impl ChangeLog {
    /// Whether a change is said on a line of its own. One that is not is counted.
    pub fn changed(&mut self, now: Instant) -> bool {
        match self.began {
            Some(began) if now.duration_since(began) < WINDOW => {}
            _ => {
                self.began = Some(now);
                self.lines = 0;
            }
        }
        let is_said = self.lines < LINES;
        match is_said {
            true => self.lines += 1,
            false => self.unsaid += 1,
        }
        is_said
    }

    /// When there is a count to say.
    pub fn due(&self) -> Option<Instant> {
        self.began.filter(|_| self.unsaid > 0).map(|began| began + WINDOW)
    }

    /// The changes that had no line of their own, once their window is over.
    pub fn unsaid(&mut self, now: Instant) -> Option<u64> {
        let due = self.due()?;
        (due <= now).then(|| std::mem::take(&mut self.unsaid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_some_lines_and_then_a_count() {
        let (mut log, start) = (ChangeLog::default(), Instant::now());
        let said = (0..200).filter(|_| log.changed(start)).count();
        assert_eq!(said, 10);
        assert_eq!(log.unsaid(start + Duration::from_secs(9)), None);
        assert_eq!(log.due(), Some(start + WINDOW));
        assert_eq!(log.unsaid(start + WINDOW), Some(190));
        assert_eq!(log.unsaid(start + WINDOW), None);
        assert!(log.changed(start + WINDOW));
    }

    #[test]
    fn changes_now_and_then_all_have_a_line() {
        let (mut log, start) = (ChangeLog::default(), Instant::now());
        let said = (0..60)
            .filter(|second| log.changed(start + Duration::from_secs(2 * second)))
            .count();
        assert_eq!((said, log.due()), (60, None));
    }
}
