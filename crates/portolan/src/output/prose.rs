//! Text around tables: wrapped at blanks where it is wider than the terminal.

use unicode_width::UnicodeWidthStr;

/// Wraps lines that are wider at blanks; what follows is indented a little more than the line itself. Lines that fit,
/// such as those of a table that was given the same width, stay as they are, and so do commands: a terminal that breaks a
/// line gives it back whole when it is copied.
pub(crate) fn wrapped(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else {
        return text.to_owned();
    };
    text.split_inclusive('\n')
        .map(
            |line| match visible(line.trim_end_matches('\n')) <= width || is_command(line) {
                true => line.to_owned(),
                false => wrapped_line(line, width),
            },
        )
        .collect()
}

/// Whether a line is a command to be copied: indented, with the name of a program in front.
fn is_command(line: &str) -> bool {
    let program = line.split_whitespace().next().unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or_default();
    line.starts_with("  ") && ["kubectl", "portolan", "printf", "export"].contains(&name)
}

fn wrapped_line(line: &str, width: usize) -> String {
    let indent = line.len() - line.trim_start_matches(' ').len();
    // A line such as `OK       hub: …` has two columns; what follows stays in the second one.
    let gap = line[indent..].find("  ").map(|position| indent + position);
    let label = gap.map(|position| position + line[position..].len() - line[position..].trim_start().len());
    let (head, hang) = match (label, number(&line[indent..])) {
        (_, Some(number)) => (&line[..indent + number], indent + number),
        (Some(end), _) if visible(&line[..end]) <= width / 3 => (&line[..end], visible(&line[..end])),
        _ => (&line[..indent], indent + 2),
    };
    let mut text = head.to_owned();
    let mut used = visible(head);
    let mut is_first = true;
    for word in line[head.len()..].split_whitespace() {
        let wide = visible(word);
        if !is_first && used + 1 + wide > width {
            text.push('\n');
            text.push_str(&" ".repeat(hang));
            used = hang;
        } else if !is_first {
            text.push(' ');
            used += 1;
        }
        is_first = false;
        let mut pieces = pieces(word, width.saturating_sub(hang)).into_iter();
        let first = pieces.next().unwrap_or_default();
        text.push_str(&first);
        used += visible(&first);
        for piece in pieces {
            text.push('\n');
            text.push_str(&" ".repeat(hang));
            text.push_str(&piece);
            used = hang + visible(&piece);
        }
    }
    if line.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// The length of the number of an entry in a list, such as `1. `.
fn number(line: &str) -> Option<usize> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0 && line[digits..].starts_with(". ")).then_some(digits + 2)
}

/// A word in parts that fit: the path of a field may be wider than a terminal, and is broken before a dot. Other words, such as
/// addresses and commands, are given back whole by a terminal that breaks them.
fn pieces(word: &str, room: usize) -> Vec<String> {
    let is_path = ["spec.", "metadata.", "status."]
        .iter()
        .any(|start| word.starts_with(start));
    if visible(word) <= room || !is_path {
        return vec![word.to_owned()];
    }
    let mut pieces = vec![String::new()];
    for (position, part) in word.split('.').enumerate() {
        let part = match position {
            0 => part.to_owned(),
            _ => format!(".{part}"),
        };
        match pieces.last_mut() {
            Some(piece) if piece.is_empty() || visible(piece) + visible(&part) <= room => {
                piece.push_str(&part)
            }
            _ => pieces.push(part),
        }
    }
    pieces
}

/// The columns that a text takes on a terminal: colours take none.
fn visible(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().width()
}

#[cfg(test)]
mod tests {
    use super::super::table::Tone;
    use super::*;

    #[test]
    fn prose_is_wrapped_at_blanks_with_an_indent() {
        let text = format!("  failed: {}\nshort\n", Tone::Bad.paint("east-1 and west-2"));
        let wrapped = wrapped(&text, Some(20));
        let plain = anstream::adapter::strip_str(&wrapped).to_string();
        assert_eq!(plain, "  failed: east-1 and\n    west-2\nshort\n");
    }

    #[test]
    fn a_command_stays_on_its_line() {
        for text in [
            "try:\n  ./portolan agent --hub west-1.kubeconfig\n",
            "try:\n  export KUBECONFIG=/a/long/path/kubeconfig\n",
        ] {
            assert_eq!(wrapped(text, Some(20)), text);
        }
    }

    #[test]
    fn the_path_of_a_field_is_broken_before_a_dot() {
        let text = "error: spec.predicates[0].labelSelector.matchExpressions[0].operator is bad\n";
        assert_eq!(
            wrapped(text, Some(30)),
            "error:\n  spec.predicates[0]\n  .labelSelector\n  .matchExpressions[0]\n  .operator is bad\n"
        );
        let url = "see https://example.com/a.very.long.path.to.a.page now\n";
        assert_eq!(
            wrapped(url, Some(20)),
            "see\n  https://example.com/a.very.long.path.to.a.page\n  now\n"
        );
    }

    #[test]
    fn an_entry_of_a_numbered_list_is_indented_as_its_first_line() {
        assert_eq!(
            wrapped("  1. add the label tier=gold\n", Some(20)),
            "  1. add the label\n     tier=gold\n"
        );
    }

    #[test]
    fn prose_beside_a_label_stays_beside_it() {
        let text = format!("{}   one two three\n", Tone::Good.paint("OK"));
        let wrapped = wrapped(&text, Some(16));
        let plain = anstream::adapter::strip_str(&wrapped).to_string();
        assert_eq!(plain, "OK   one two\n     three\n");
    }
}
