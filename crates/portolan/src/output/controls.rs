//! Text of others on a terminal: objects, servers and files may hold characters that would act on the terminal instead of being shown.

use std::borrow::Cow;

/// What our tables and the help of commands are painted with: bold, faint, underlined, three colours, and the end of them.
const TONES: [&str; 7] = [
    "\u{1b}[0m",
    "\u{1b}[1m",
    "\u{1b}[2m",
    "\u{1b}[4m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
];

/// Whether a character does something else than to be shown: control characters, and those that turn the direction of the text around
/// them.
fn is_acting(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with blanks for characters that act on a terminal, but for line ends and our own colours.
pub(super) fn without_controls(text: &str) -> Cow<'_, str> {
    let is_suspect = |character: char| is_acting(character) && character != '\n';
    if !text.contains(is_suspect) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_suspect) {
        let (before, suspect) = rest.split_at(at);
        clean.push_str(before);
        let tone = TONES.into_iter().find(|tone| suspect.starts_with(tone));
        let length = match tone {
            Some(tone) => tone.len(),
            None => suspect.chars().next().map_or(1, char::len_utf8),
        };
        clean.push_str(tone.unwrap_or(" "));
        rest = &suspect[length..];
    }
    clean.push_str(rest);
    Cow::Owned(clean)
}

/// JSON in which no such character stands as it is. What it says stays the same.
pub(super) fn escaped_json(text: String) -> String {
    // serde_json escapes the others.
    let is_raw = |character: char| is_acting(character) && !character.is_ascii_control();
    if !text.contains(is_raw) {
        return text;
    }
    text.chars()
        .fold(String::with_capacity(text.len()), |mut escaped, character| {
            match is_raw(character) {
                true => escaped.push_str(&format!("\\u{:04x}", u32::from(character))),
                false => escaped.push(character),
            }
            escaped
        })
}

#[cfg(test)]
mod tests {
    use super::super::table::Tone;
    use super::*;

    #[test]
    fn characters_that_act_on_a_terminal_become_blanks_and_our_colours_stay() {
        let evil = "a\u{1b}]0;pwned\u{7}b\u{9b}31mc\u{202e}d\r\u{1b}[2Je\u{1b}[8mf\n";
        assert_eq!(without_controls(evil), "a ]0;pwned b 31mc d  [2Je [8mf\n");
        for tone in [Tone::Good, Tone::Bad, Tone::Doubtful, Tone::Faint] {
            let painted = tone.paint("rejected");
            assert_eq!(without_controls(&painted), painted);
        }
        assert!(matches!(without_controls("plain\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_says_the_same_without_them() {
        let value = serde_json::json!({"a": "x\u{9b}y\u{202e}z\u{1b}"});
        let text = escaped_json(value.to_string());
        assert!(!text.contains(is_acting), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
