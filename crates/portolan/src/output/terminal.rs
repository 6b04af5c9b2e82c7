//! The width of the terminal that standard output, or standard error, is shown on.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

/// The columns of the terminal on standard output. `None` when standard output is not a terminal, or when the number
/// of columns is not known: output is then printed whole.
///
/// The terminal's own answer counts first, because it follows a window that changes its size. `COLUMNS` is the fallback
/// for a terminal that does not report a size.
pub(crate) fn columns() -> Option<usize> {
    columns_of(&io::stdout())
}

/// The same of standard error.
pub(crate) fn columns_of_errors() -> Option<usize> {
    columns_of(&io::stderr())
}

fn columns_of<S: IsTerminal + AsFd>(stream: &S) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    match terminal_size::terminal_size_of(stream) {
        Some((terminal_size::Width(columns), _)) => Some(columns.into()),
        None => from_variable(std::env::var("COLUMNS").ok().as_deref()),
    }
}

fn from_variable(value: Option<&str>) -> Option<usize> {
    value?.trim().parse().ok().filter(|columns| *columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_in_columns_is_a_width_and_anything_else_is_none() {
        assert_eq!(
            [
                Some("80"),
                Some(" 140 "),
                Some("0"),
                Some("-1"),
                Some("wide"),
                None
            ]
            .map(from_variable),
            [Some(80), Some(140), None, None, None, None]
        );
    }
}
