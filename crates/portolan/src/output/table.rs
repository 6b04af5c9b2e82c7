//! Aligned columns in the manner of `kubectl`: no lines, no wrapping, easy to cut with other tools.
//!
//! A table that is given a width fits it: cells are shortened with an ellipsis as far as their column allows, then whole
//! columns are left out in the order that the columns say. Without a width everything is shown.

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Spaces between two columns, and where there is too little room.
const GAP: usize = 3;
const NARROW_GAP: usize = 2;
/// What stands for a part that is not shown.
const ELLIPSIS: &str = "…";
/// The width that no column goes below before a whole line is cut.
const LEAST: usize = 3;

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
    /// What is shown where the text has too little room.
    short: Option<String>,
    tone: Tone,
}

impl Cell {
    /// Text of the input may hold anything; a table has one line a row and no control characters.
    pub(crate) fn toned(text: impl Into<String>, tone: Tone) -> Cell {
        Cell {
            text: text.into().replace(char::is_control, " "),
            short: None,
            tone,
        }
    }

    /// The same with a shorter text for a column that is too narrow.
    pub(crate) fn or(self, short: impl Into<String>) -> Cell {
        Cell {
            short: Some(short.into().replace(char::is_control, " ")),
            ..self
        }
    }

    /// The text in so many columns.
    fn within(&self, width: usize, cut: Cut) -> String {
        match &self.short {
            _ if self.text.width() <= width => self.text.clone(),
            Some(short) => shortened(short, width, cut),
            None => shortened(&self.text, width, cut),
        }
    }
}

impl<T: ToString> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell::toned(text.to_string(), Tone::Plain)
    }
}

/// How the cells of a column are shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// Only when nothing else helps.
    Last,
    /// At the end, down to this width.
    End(usize),
    /// In the middle, down to this width: names that start alike often differ at their end.
    Middle(usize),
}

/// A column: its header, and what becomes of it where there is too little room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    header: &'static str,
    cut: Cut,
    drop: Option<u8>,
}

impl Column {
    /// A column that is shown in full.
    pub(crate) const fn new(header: &'static str) -> Column {
        Column {
            header,
            cut: Cut::Last,
            drop: None,
        }
    }

    /// A column of names: shortened in the middle.
    pub(crate) const fn name(header: &'static str) -> Column {
        Column {
            cut: Cut::Middle(14),
            ..Column::new(header)
        }
    }

    /// A column of text: shortened at the end, down to `least`.
    pub(crate) const fn text(header: &'static str, least: usize) -> Column {
        Column {
            cut: Cut::End(least),
            ..Column::new(header)
        }
    }

    /// A column that may be left out; the lowest number goes first.
    pub(crate) const fn drop(self, order: u8) -> Column {
        Column {
            drop: Some(order),
            ..self
        }
    }

    fn least(&self, natural: usize) -> usize {
        match self.cut {
            Cut::Last => natural,
            // A header is never shortened for the sake of a cell.
            Cut::End(least) | Cut::Middle(least) => natural.min(least.max(self.header.width())),
        }
    }
}

/// Where each column stands.
#[derive(Debug, PartialEq, Eq)]
struct Layout {
    gap: usize,
    /// Column and width, in order.
    columns: Vec<(usize, usize)>,
    /// Whether a column is left out.
    is_partial: bool,
}

impl Layout {
    fn width(&self) -> usize {
        let gaps = self.columns.len().saturating_sub(1) * self.gap;
        let mark = if self.is_partial {
            self.gap + ELLIPSIS.width()
        } else {
            0
        };
        self.columns.iter().map(|(_, width)| width).sum::<usize>() + gaps + mark
    }

    /// Takes columns from the widest one, none below its least width, until the table fits.
    fn shrink(&mut self, room: usize, least: impl Fn(usize) -> usize) {
        while self.width() > room {
            let widest = self
                .columns
                .iter_mut()
                .filter(|(column, width)| *width > least(*column))
                .max_by_key(|(_, width)| *width);
            match widest {
                Some((_, width)) => *width -= 1,
                None => return,
            }
        }
    }
}

/// Rows under a header.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    indent: usize,
}

impl Table {
    pub(crate) fn new(columns: impl Into<Vec<Column>>) -> Table {
        Table {
            columns: columns.into(),
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

    /// The table in so many columns; as wide as it needs without a number.
    pub(crate) fn render(&self, width: Option<usize>) -> String {
        let room = width.map(|width| width.saturating_sub(self.indent));
        let layout = self.layout(room);
        let mut header: Vec<Cell> = self
            .columns
            .iter()
            .map(|column| Cell::toned(column.header, Tone::Faint))
            .collect();
        if layout.is_partial {
            header.push(Cell::toned(ELLIPSIS, Tone::Faint));
        }
        let mut text = self.line(&header, &layout, room);
        for row in &self.rows {
            text.push_str(&self.line(row, &layout, room));
        }
        text
    }

    fn line(&self, cells: &[Cell], layout: &Layout, room: Option<usize>) -> String {
        let mark = cells.get(self.columns.len()).map(|mark| (mark.clone(), 1));
        let shown = layout.columns.iter().map(|(column, width)| {
            let cell = cells.get(*column).cloned().unwrap_or_default();
            let text = cell.within(*width, self.columns[*column].cut);
            (Cell { text, ..cell }, *width)
        });
        let shown: Vec<(Cell, usize)> = shown.chain(mark).collect();
        let last = shown
            .iter()
            .rposition(|(cell, _)| !cell.text.is_empty())
            .unwrap_or(0);
        let mut text = " ".repeat(self.indent);
        let mut used = 0;
        for (position, (cell, width)) in shown.iter().enumerate().take(last + 1) {
            // Only a terminal that is narrower than the least width of all columns gets here with too little room.
            let left = room.map_or(usize::MAX, |room| room.saturating_sub(used));
            let cell_text = shortened(&cell.text, left, Cut::Last);
            text.push_str(&cell.tone.paint(&cell_text));
            if position < last && left > cell_text.width() {
                let padding = width.saturating_sub(cell_text.width()) + layout.gap;
                text.push_str(&" ".repeat(padding.min(left - cell_text.width())));
            }
            used += width + layout.gap;
        }
        text.push('\n');
        text
    }

    fn layout(&self, room: Option<usize>) -> Layout {
        let natural: Vec<usize> = (0..self.columns.len())
            .map(|column| self.natural_width(column))
            .collect();
        let mut layout = Layout {
            gap: GAP,
            columns: natural.iter().copied().enumerate().collect(),
            is_partial: false,
        };
        let Some(room) = room.filter(|room| layout.width() > *room) else {
            return layout;
        };
        layout.gap = NARROW_GAP;
        // A cell may be of any length, and no column needs more than all the room.
        layout
            .columns
            .iter_mut()
            .for_each(|(_, width)| *width = (*width).min(room));
        loop {
            let mut least = Layout {
                columns: layout.columns.clone(),
                ..layout
            };
            least
                .columns
                .iter_mut()
                .for_each(|(column, width)| *width = self.columns[*column].least(*width));
            let next = layout
                .columns
                .iter()
                .enumerate()
                .filter_map(|(position, (column, _))| Some((self.columns[*column].drop?, position)))
                .min();
            match next {
                Some((_, position)) if least.width() > room => {
                    layout.columns.remove(position);
                    layout.is_partial = true;
                }
                _ => break,
            }
        }
        layout.shrink(room, |column| self.columns[column].least(natural[column]));
        layout.shrink(room, |_| LEAST);
        layout
    }

    fn natural_width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let widest = cells.map(|cell| cell.text.width()).max().unwrap_or(0);
        widest.max(self.columns[column].header.width())
    }
}

/// The text in at most so many columns, with an ellipsis for what is left out.
fn shortened(text: &str, width: usize, cut: Cut) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(ELLIPSIS.width());
    if width == 0 {
        return String::new();
    }
    let tail = match cut {
        Cut::Middle(_) => room / 2,
        Cut::Last | Cut::End(_) => 0,
    };
    let head = start(text.chars(), room - tail);
    let tail: String = start(text.chars().rev(), tail).chars().rev().collect();
    format!("{}{ELLIPSIS}{tail}", head.trim_end())
}

/// As many characters as fit into so many columns.
fn start(characters: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    characters
        .take_while(|character| {
            used += character.width().unwrap_or(0);
            used <= width
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(table: &Table, width: Option<usize>) -> String {
        anstream::adapter::strip_str(&table.render(width)).to_string()
    }

    fn fleet() -> Table {
        let mut table = Table::new([
            Column::name("CLUSTER"),
            Column::new("RANK"),
            Column::new("STAGE").drop(2),
            Column::new("AGE").drop(1),
            Column::text("REASON", 10),
        ]);
        table.row([
            "production-europe-west-1-001".into(),
            1.into(),
            "Predicate".into(),
            "3d".into(),
            "label tier wants gold, the cluster has silver".into(),
        ]);
        table.row(["x".into(), "".into()]);
        table
    }

    #[test]
    fn columns_are_aligned_and_nothing_trails() {
        let mut table = Table::new([Column::new("NAME"), Column::new("N")]);
        table.row(["long-name".into(), 1.into()]);
        table.row(["x".into(), "".into()]);
        assert_eq!(plain(&table, None), "NAME        N\nlong-name   1\nx\n");
        assert_eq!(plain(&table, Some(80)), plain(&table, None));
    }

    #[test]
    fn control_characters_of_the_input_do_not_reach_the_terminal() {
        let mut table = Table::new([Column::new("NAME")]);
        table.row(["a\u{1b}[31mb\nc".into()]);
        assert_eq!(plain(&table, None), "NAME\na [31mb c\n");
    }

    #[test]
    fn text_is_shortened_before_a_column_is_left_out() {
        assert_eq!(
            plain(&fleet(), Some(80)),
            "CLUSTER                       RANK  STAGE      AGE  REASON\n\
             production-europe-west-1-001  1     Predicate  3d   label tier wants gold, the…\n\
             x\n"
        );
    }

    #[test]
    fn columns_are_left_out_in_their_order_and_the_header_says_so() {
        assert_eq!(
            plain(&fleet(), Some(46)),
            "CLUSTER         RANK  STAGE      REASON      …\n\
             product…-1-001  1     Predicate  label tie…\n\
             x\n"
        );
        assert_eq!(
            plain(&fleet(), Some(36)),
            "CLUSTER         RANK  REASON       …\n\
             product…-1-001  1     label tier…\n\
             x\n"
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_however_narrow() {
        for width in 1..200 {
            for line in plain(&fleet().indented(2), Some(width)).lines() {
                assert!(line.width() <= width.max(2), "{width}: {line:?}");
            }
        }
    }

    #[test]
    fn a_character_of_two_columns_counts_twice() {
        let mut table = Table::new([Column::text("名前", 4)]);
        table.row(["東京大阪京都".into()]);
        for width in 1..14 {
            assert!(
                plain(&table, Some(width))
                    .lines()
                    .all(|line| line.width() <= width),
                "{width}"
            );
        }
    }

    #[test]
    fn a_cell_with_a_short_text_uses_it_where_there_is_too_little_room() {
        let mut table = Table::new([Column::text("REASON", 10)]);
        table.row([Cell::from("spec.tolerations does not tolerate the taint").or("taint x")]);
        assert_eq!(plain(&table, Some(20)), "REASON\ntaint x\n");
    }
}
