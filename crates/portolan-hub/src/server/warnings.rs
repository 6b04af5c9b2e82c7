//! The `Warning` headers of an answer.

use std::collections::HashSet;

use http::HeaderValue;

/// Kubernetes' limits, in letters: with more than this in all, each warning is cut, and what is beyond is left out.
const LETTERS: usize = 4 << 10;
const LETTERS_OF_ONE: usize = 256;
/// Larger, and an answer could have more than the 100 headers that many clients accept; smaller, and people would be told of
/// fewer mistakes than they can correct at once.
const MOST: usize = 50;

/// Each warning once, as a header, as far as they fit.
pub(super) fn headers(warnings: &[String]) -> Vec<HeaderValue> {
    let mut seen = HashSet::new();
    let distinct: Vec<&String> = warnings
        .iter()
        .filter(|warning| !warning.is_empty() && seen.insert(*warning))
        .collect();
    let letters: usize = distinct.iter().map(|warning| warning.chars().count()).sum();
    let longest = if letters > LETTERS {
        LETTERS_OF_ONE
    } else {
        LETTERS
    };
    let mut headers = Vec::new();
    let mut room = LETTERS;
    for warning in distinct.iter().take(MOST) {
        if room == 0 {
            break;
        }
        let text: String = warning.chars().take(longest).collect();
        room = room.saturating_sub(text.chars().count());
        headers.extend(header(&text));
    }
    let left_out = distinct.len() - headers.len();
    if left_out > 0 {
        headers.extend(header(&format!("{left_out} more warnings are not shown")));
    }
    headers
}

fn header(text: &str) -> Option<HeaderValue> {
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    // Messages come from anywhere; a header has one line, and any letters.
    let quoted = quoted.replace(char::is_control, " ");
    HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(warnings: &[String]) -> Vec<String> {
        let headers = headers(warnings).into_iter();
        headers
            .map(|header| String::from_utf8(header.as_bytes().to_vec()).unwrap())
            .collect()
    }

    #[test]
    fn few_warnings_are_shown_whole_and_once() {
        let long = "é".repeat(1000);
        let warnings = [
            r#"unknown field "a""#.to_owned(),
            long.clone(),
            long.clone(),
            String::new(),
        ];
        assert_eq!(
            texts(&warnings),
            [
                r#"299 - "unknown field \"a\"""#.to_owned(),
                format!("299 - \"{long}\"")
            ]
        );
    }

    #[test]
    fn many_warnings_do_not_fill_the_headers_that_a_client_accepts() {
        let short: Vec<String> = (0..10_000)
            .map(|number| format!("unknown field {number}"))
            .collect();
        let shown = texts(&short);
        assert_eq!(shown.len(), MOST + 1);
        assert_eq!(shown[MOST], "299 - \"9950 more warnings are not shown\"");
        let long: Vec<String> = (0..100).map(|number| format!("{number:0>1000}")).collect();
        let shown = texts(&long);
        assert_eq!(shown.len(), LETTERS / LETTERS_OF_ONE + 1);
        assert_eq!(shown[0].len(), LETTERS_OF_ONE + r#"299 - """#.len());
        let all: usize = shown.iter().map(String::len).sum();
        assert!(all < 5000, "{all}");
    }
}
