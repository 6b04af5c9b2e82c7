//! One field of a table, and how it is made to fit its column.

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What stands for a part that is not shown.
pub(crate) const ELLIPSIS: &str = "…";

/// How the cells of a column are shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// Only when nothing else helps.
    Last,
    /// At the end, down to this width.
    End(usize),
    /// In the middle, down to this width: names that start alike often differ at their end.
    Middle(usize),
    /// In the middle as well, and other columns are not left out for it: nobody copies the text into a command.
    Ends(usize),
    /// Not at all: the text goes on below, in lines of at least this width.
    Wrap(usize),
}

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
    pub(super) text: String,
    /// What is shown where the text has too little room.
    short: Option<String>,
    pub(super) tone: Tone,
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

    /// The lines of the text in so many columns: one, unless the column wraps its cells.
    pub(super) fn within(&self, width: usize, cut: Cut) -> Vec<String> {
        let text = match &self.short {
            Some(short) if self.text.width() > width => short,
            _ => &self.text,
        };
        match cut {
            Cut::Wrap(_) => wrapped(text, width),
            Cut::Last | Cut::End(_) | Cut::Middle(_) | Cut::Ends(_) => vec![shortened(text, width, cut)],
        }
    }
}

impl<T: ToString> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell::toned(text.to_string(), Tone::Plain)
    }
}

/// The text in at most so many columns, with an ellipsis for what is left out.
pub(super) fn shortened(text: &str, width: usize, cut: Cut) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(ELLIPSIS.width());
    if width == 0 {
        return String::new();
    }
    let tail = match cut {
        Cut::Middle(_) | Cut::Ends(_) => room / 2,
        Cut::Last | Cut::End(_) | Cut::Wrap(_) => 0,
    };
    let head = start(text.chars(), room - tail);
    let tail: String = start(text.chars().rev(), tail).chars().rev().collect();
    format!("{}{ELLIPSIS}{tail}", head.trim_end())
}

/// A name in at most so many columns, cut in the middle: names that start alike often differ at their end.
pub(crate) fn shortened_name(name: &str, width: usize) -> String {
    shortened(name, width, Cut::Middle(width))
}

/// The text on lines of at most so many columns, broken at blanks. A word that is wider, such as a long key of a label, is
/// broken between its parts: a part that is left out would be the part that tells two keys apart.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut rest = word;
        loop {
            let line = lines.last_mut().expect("there is always a line");
            let gap = usize::from(!line.is_empty());
            let left = width.saturating_sub(line.width() + gap);
            if rest.width() <= left {
                line.extend(std::iter::repeat_n(' ', gap));
                line.push_str(rest);
                break;
            }
            if line.is_empty() {
                let head = start(rest.chars(), width.max(2));
                let (head, tail) = rest.split_at(seam(&head));
                rest = tail;
                line.push_str(head);
            }
            lines.push(String::new());
        }
    }
    without_remnant(lines, width)
}

/// Where the start of a word that is too wide ends: behind `=`, `/` or a comma, or else behind another mark between the
/// parts of a name. A word without such marks ends with the line.
fn seam(head: &str) -> usize {
    let marks: [&[char]; 2] = [&['=', '/', ',', ';'], &['.', '-', '_', ':', ']']];
    let behind = |marks: &[char]| head.rfind(marks).map(|mark| mark + 1);
    marks.into_iter().find_map(behind).unwrap_or(head.len())
}

/// A last line of a few characters, such as the number of a sentence, takes the word before it along.
fn without_remnant(mut lines: Vec<String>, width: usize) -> Vec<String> {
    const REMNANT: usize = 3;
    if let [.., before, last] = lines.as_mut_slice()
        && last.width() <= REMNANT
        && let Some((rest, word)) = before.rsplit_once(' ')
        && !rest.is_empty()
        && word.width() + 1 + last.width() <= width
    {
        *last = format!("{word} {last}");
        *before = rest.to_owned();
    }
    lines
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
