//! Aligned columns in the manner of `kubectl`: no lines, easy to cut with other tools.
//!
//! A table that is given a width fits it: cells are shortened with an ellipsis, or wrapped, as far as their column allows,
//! then whole columns are left out in the order that the columns say. Without a width everything is shown on one line.

mod cell;
mod column;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use unicode_width::UnicodeWidthStr;

pub(crate) use cell::{Cell, ELLIPSIS, Tone, shortened_name};
pub(crate) use column::Column;

use cell::{Cut, shortened};
use column::Layout;

/// Spaces between two columns, and where there is too little room.
const GAP: usize = 3;
const NARROW_GAP: usize = 2;
/// The width that no column goes below before a whole line is cut.
const LEAST: usize = 3;

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
        let mut told = HashMap::new();
        for row in &self.rows {
            text.push_str(&self.line(&self.told_once(row, &layout, &mut told), &layout, room));
        }
        text
    }

    /// The row with a reference in place of each long text that a row before has in its column. `told` has these texts by
    /// column, each with the first cell of its row. Texts on one line stay as they are.
    fn told_once(
        &self,
        row: &[Cell],
        layout: &Layout,
        told: &mut HashMap<(usize, String), String>,
    ) -> Vec<Cell> {
        let mut row = row.to_vec();
        let first = row.first().map(|cell| cell.text.clone());
        let (Some(first), Some((_, shown))) = (first, layout.columns.first()) else {
            return row;
        };
        let columns = layout.columns.iter();
        for (column, width) in columns.filter(|(column, _)| self.columns[*column].is_told_once) {
            let Some(cell) = row.get_mut(*column) else {
                continue;
            };
            let lines = cell.within(*width, self.columns[*column].cut);
            if lines.len() < 2 {
                continue;
            }
            match told.entry((*column, lines.join(" "))) {
                Entry::Occupied(entry) => *cell = Cell::toned(format!("as {}", entry.get()), cell.tone),
                Entry::Vacant(entry) => {
                    // The name as the table shows it, on one line: a long name would make the reference longer than the text.
                    let room = width.saturating_sub("as ".len());
                    entry.insert(shortened_name(&first, room.min(*shown)));
                }
            }
        }
        row
    }

    /// The lines of a row: one, or as many as its longest wrapped cell needs.
    fn line(&self, cells: &[Cell], layout: &Layout, room: Option<usize>) -> String {
        let mark = cells.get(self.columns.len()).map(|mark| (mark.clone(), 1));
        let shown: Vec<_> = layout
            .columns
            .iter()
            .map(|(column, width)| {
                let cell = cells.get(*column).cloned().unwrap_or_default();
                let lines = cell.within(*width, self.columns[*column].cut);
                (cell, lines, *width)
            })
            .collect();
        let height = shown.iter().map(|(_, lines, _)| lines.len()).max().unwrap_or(1);
        let mut text = String::new();
        for number in 0..height {
            let mark = mark.clone().filter(|_| number == 0);
            let parts = shown.iter().map(|(cell, lines, width)| {
                let text = lines.get(number).cloned().unwrap_or_default();
                (Cell::toned(text, cell.tone), *width)
            });
            let parts: Vec<(Cell, usize)> = parts.chain(mark).collect();
            text.push_str(&self.physical_line(&parts, layout.gap, room));
        }
        text
    }

    fn physical_line(&self, shown: &[(Cell, usize)], gap: usize, room: Option<usize>) -> String {
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
                let padding = width.saturating_sub(cell_text.width()) + gap;
                text.push_str(&" ".repeat(padding.min(left - cell_text.width())));
            }
            used += width + gap;
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
                .for_each(|(column, width)| *width = self.columns[*column].enough(*width, room));
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
        // A name is shortened only when nothing else helps any more.
        layout.shrink(room, |column| {
            self.columns[column].enough(natural[column].min(room), room)
        });
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
