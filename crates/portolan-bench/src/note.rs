//! Lines on standard error, for a person who waits. Standard output has the figures and nothing else.

use std::io::Write;

/// Writes a line. A closed standard error is no reason to stop a measurement.
pub(crate) fn note(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
