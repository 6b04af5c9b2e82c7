//! Aligned columns in the manner of `kubectl`: no lines, no wrapping, easy to cut with other tools.

use anstyle::{AnsiColor, Style};

/// Spaces between two columns.
const GAP: usize = 3;

/// How a cell looks on a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    Good,
    Bad,
    Doubtful,
    Faint,
}

impl Tone {
    fn style(self) -> Style {
        match self {
            Tone::Plain => Style::new(),
            Tone::Good => AnsiColor::Green.on_default(),
            Tone::Bad => AnsiColor::Red.on_default(),
            Tone::Doubtful => AnsiColor::Yellow.on_default(),
            Tone::Faint => Style::new().dimmed(),
        }
    }

    /// The text in this tone. Colours are taken out again where there is no terminal.
    pub(crate) fn paint(self, text: &str) -> String {
        match self {
            Tone::Plain => text.to_owned(),
            _ => format!("{0}{text}{0:#}", self.style()),
        }
    }
}

/// One field of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    pub(crate) fn toned(text: impl Into<String>, tone: Tone) -> Cell {
        Cell {
            text: text.into(),
            tone,
        }
    }

    /// Text of the input may hold anything; a table has one line a row and no control characters.
    fn shown(&self) -> String {
        self.text
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect()
    }
}

impl<T: ToString> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell::toned(text.to_string(), Tone::Plain)
    }
}

/// Rows under a header.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    header: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
    indent: usize,
}

impl Table {
    pub(crate) fn new(header: &[&'static str]) -> Table {
        Table {
            header: header.to_vec(),
            rows: Vec::new(),
            indent: 0,
        }
    }

    pub(crate) fn indented(self, indent: usize) -> Table {
        Table { indent, ..self }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn render(&self) -> String {
        let header: Vec<Cell> = self
            .header
            .iter()
            .map(|name| Cell::toned(*name, Tone::Faint))
            .collect();
        let lines: Vec<&Vec<Cell>> = std::iter::once(&header).chain(&self.rows).collect();
        let width = |column: usize| {
            let widths = lines
                .iter()
                .filter_map(|line| line.get(column))
                .map(|cell| cell.text.chars().count());
            widths.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let mut text = String::new();
        for line in lines {
            text.extend(std::iter::repeat_n(' ', self.indent));
            let last = line.iter().rposition(|cell| !cell.text.is_empty()).unwrap_or(0);
            for (column, cell) in line.iter().enumerate().take(last + 1) {
                text.push_str(&cell.tone.paint(&cell.shown()));
                if column < last {
                    let padding = widths[column].saturating_sub(cell.text.chars().count()) + GAP;
                    text.extend(std::iter::repeat_n(' ', padding));
                }
            }
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_nothing_trails() {
        let mut table = Table::new(&["NAME", "N"]);
        table.row(["long-name".into(), 1.into()]);
        table.row(["x".into(), "".into()]);
        let plain = anstream::adapter::strip_str(&table.render()).to_string();
        assert_eq!(plain, "NAME        N\nlong-name   1\nx\n");
    }

    #[test]
    fn control_characters_of_the_input_do_not_reach_the_terminal() {
        let mut table = Table::new(&["NAME"]);
        table.row(["a\u{1b}[31mb\nc".into()]);
        assert_eq!(
            anstream::adapter::strip_str(&table.render()).to_string(),
            "NAME\na [31mb c\n"
        );
    }
}
