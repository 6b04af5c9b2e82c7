//! The columns of a table, and where each stands in the room there is.

use unicode_width::UnicodeWidthStr;

use super::cell::{Cut, ELLIPSIS};

/// A column: its header, and what becomes of it where there is too little room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(super) header: &'static str,
    pub(super) cut: Cut,
    pub(super) drop: Option<u8>,
    pub(super) is_told_once: bool,
}

impl Column {
    /// A column that is shown in full.
    pub(crate) const fn new(header: &'static str) -> Column {
        Column {
            header,
            cut: Cut::Last,
            drop: None,
            is_told_once: false,
        }
    }

    /// A column of names: shortened in the middle, after other columns.
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

    /// A column of text whose end counts as much as its start: shortened in the middle, down to `least`.
    pub(crate) const fn ends(header: &'static str, least: usize) -> Column {
        Column {
            cut: Cut::Ends(least),
            ..Column::new(header)
        }
    }

    /// A column of text that is told in full: wrapped, in lines of at least `least`.
    pub(crate) const fn prose(header: &'static str, least: usize) -> Column {
        Column {
            cut: Cut::Wrap(least),
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

    /// A column whose long text is shown once: where it takes more than one line, later rows with the same text name the first
    /// row instead.
    pub(crate) const fn told_once(self) -> Column {
        Column {
            is_told_once: true,
            ..self
        }
    }

    /// The width below which another column is rather left out. Names are whole up to half of the room: two names that are
    /// shortened alike cannot be told apart, and no shortened name can be copied into a command.
    pub(super) fn enough(&self, natural: usize, room: usize) -> usize {
        match self.cut {
            Cut::Middle(_) => natural.min(room / 2).max(self.least(natural)),
            Cut::Last | Cut::End(_) | Cut::Ends(_) | Cut::Wrap(_) => self.least(natural),
        }
    }

    pub(super) fn least(&self, natural: usize) -> usize {
        match self.cut {
            Cut::Last => natural,
            // A header is never shortened for the sake of a cell.
            Cut::End(least) | Cut::Middle(least) | Cut::Ends(least) | Cut::Wrap(least) => {
                natural.min(least.max(self.header.width()))
            }
        }
    }
}

/// Where each column stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) gap: usize,
    /// Column and width, in order.
    pub(super) columns: Vec<(usize, usize)>,
    /// Whether a column is left out.
    pub(super) is_partial: bool,
}

impl Layout {
    pub(super) fn width(&self) -> usize {
        let gaps = self.columns.len().saturating_sub(1) * self.gap;
        let mark = if self.is_partial {
            self.gap + ELLIPSIS.width()
        } else {
            0
        };
        self.columns.iter().map(|(_, width)| width).sum::<usize>() + gaps + mark
    }

    /// Takes columns from the widest one, none below its least width, until the table fits.
    pub(super) fn shrink(&mut self, room: usize, least: impl Fn(usize) -> usize) {
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
