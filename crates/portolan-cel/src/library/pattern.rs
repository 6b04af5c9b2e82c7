//! Compiled regular expressions and what running them costs.
//!
//! Users write RE2 patterns, as Go reads them. The engine here differs in a few places that matter (its `\w` and `\d`
//! know all of Unicode, a `[` inside brackets opens a nested set), so patterns are translated first.

use regex::{Regex, RegexBuilder};

/// Compiled sizes that are tried, smallest first; the one that fits tells how much work each byte of text can be.
/// A long alternation of cluster names fits into the largest, nested repetitions do not.
const SIZES: [usize; 4] = [4 * 1024, 16 * 1024, 64 * 1024, 256 * 1024];

/// Compiled bytes that cost one unit per ten bytes of text. The engine's slowest mode visits one state, about 140
/// bytes, per byte of text; this keeps a unit below a microsecond even then.
const SIZE_PER_UNIT: usize = 512;

/// What it costs to try the smallest size, and each byte of the pattern: all of it is read before its size is known.
const TO_TRY: u64 = 5_000;
const PER_BYTE: u64 = 50;

/// Compiled bytes that cost one unit to make, for each larger size that is tried. The largest takes milliseconds, and a pattern of
/// ten bytes can be as large.
const SIZE_PER_COMPILED_UNIT: u64 = 6;

/// What it costs to fold the case of one class of characters, each time that the pattern is read: the engine goes through all
/// characters of the class, which may be the million that there are.
const PER_FOLD: u64 = 100_000;

/// What the patterns that are written out in one expression, or in several that are counted together, may cost to compile. Larger,
/// and an expression could take longer to compile than to evaluate; smaller, and hundreds of patterns would be refused.
pub(crate) const MOST_WRITTEN_OUT: u64 = 2_000_000;

/// A pattern ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    weight: u64,
}

impl Pattern {
    /// Compiles a pattern, or says in one line why not. Each size is paid for before it is tried.
    pub(crate) fn compile<E>(
        pattern: &str,
        mut pay: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<Result<Pattern, String>, E> {
        if has_verbose_flag(pattern) {
            return Ok(Err(VERBOSE.to_owned()));
        }
        let translated = translate(pattern);
        let folds = case_folds(&translated) as u64 * PER_FOLD;
        pay(TO_TRY + pattern.len() as u64 * PER_BYTE + folds)?;
        let mut reason = String::new();
        for (number, size) in SIZES.into_iter().enumerate() {
            if number > 0 {
                pay(size as u64 / SIZE_PER_COMPILED_UNIT + folds)?;
            }
            match RegexBuilder::new(&translated).size_limit(size).build() {
                Ok(regex) => {
                    let weight = (size / SIZE_PER_UNIT).max(pattern.len().div_ceil(4)) as u64;
                    return Ok(Ok(Pattern { regex, weight }));
                }
                Err(regex::Error::CompiledTooBig(_)) => {
                    reason = format!("too large, compiles to more than {size} bytes")
                }
                Err(error) => {
                    let text = error.to_string();
                    return Ok(Err(text
                        .lines()
                        .last()
                        .unwrap_or_default()
                        .trim_start_matches("error: ")
                        .to_owned()));
                }
            }
        }
        Ok(Err(reason))
    }

    pub(super) fn regex(&self) -> &Regex {
        &self.regex
    }

    /// What running the pattern over a text costs.
    pub(super) fn cost(&self, text: &str) -> u64 {
        (text.len() as u64 + 1).div_ceil(10).saturating_mul(self.weight)
    }
}

/// Why a pattern with the flag `x` is refused.
pub const VERBOSE: &str = "the flag x is unknown in Go; accepted: the flags i, m, s and U";

/// Whether a pattern has the flag `x`, or seems to have it in a class of characters. Go has no such flag. Here it would allow blanks
/// and comments between any two characters, so that what [`case_folds`] counts could be hidden.
pub fn has_verbose_flag(pattern: &str) -> bool {
    let groups = pattern.match_indices("(?");
    groups.into_iter().any(|(at, opening)| {
        let escapes = pattern[..at].bytes().rev().take_while(|byte| *byte == b'\\');
        let flags = &pattern[at + opening.len()..];
        let end = flags.find(|flag: char| !flag.is_ascii_alphabetic() && flag != '-');
        let (flags, rest) = flags.split_at(end.unwrap_or(flags.len()));
        escapes.count() % 2 == 0 && flags.contains('x') && rest.starts_with([':', ')'])
    })
}

/// How many classes of characters a pattern may have whose case is folded and that may have more characters than ASCII has. The
/// engine takes milliseconds for each of them, and `\p{Any}` is seven bytes. There may be fewer: whatever can make a class large is
/// counted, wherever it stands.
pub fn case_folds(pattern: &str) -> usize {
    let mut flags = pattern.split("(?").skip(1);
    let ignores_case = flags.any(|group| {
        let mut flags = group
            .chars()
            .take_while(|flag| flag.is_ascii_alphabetic() || *flag == '-');
        // With `x`, blanks and comments may stand before the `?`, so that an `i` cannot be found any more.
        flags.any(|flag| matches!(flag, 'i' | 'x'))
    });
    if !ignores_case {
        return 0;
    }
    let mut folds = 0;
    let mut before = None;
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        let is_large = match character {
            '\\' => {
                let escaped = characters.next();
                escaped.is_some_and(|escaped| !escaped.is_ascii() || "pPxuUwWdDsS".contains(escaped))
            }
            // The opposite of a class in a class, or of one that has a name.
            '^' => matches!(before, Some('[' | ':')),
            other => !other.is_ascii(),
        };
        folds += usize::from(is_large);
        // Blanks may stand between the two.
        if !character.is_whitespace() {
            before = Some(character);
        }
    }
    folds
}

/// RE2 syntax as the engine's.
fn translate(pattern: &str) -> String {
    let mut output = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        match character {
            '\\' => rest = escape(rest, &mut output, Place::Outside),
            '[' => rest = set(rest, &mut output),
            other => output.push(other),
        }
    }
    output
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    InSet,
}

/// What follows a backslash; gives what is left of the pattern.
fn escape<'p>(rest: &'p str, output: &mut String, place: Place) -> &'p str {
    let Some(escaped) = rest.chars().next() else {
        output.push('\\');
        return rest;
    };
    let after = &rest[escaped.len_utf8()..];
    match (escaped, place) {
        ('w', _) => output.push_str("[0-9A-Za-z_]"),
        ('W', _) => output.push_str("[^0-9A-Za-z_]"),
        ('d', _) => output.push_str("[0-9]"),
        ('D', _) => output.push_str("[^0-9]"),
        ('s', _) => output.push_str(r"[\t\n\f\r ]"),
        ('S', _) => output.push_str(r"[^\t\n\f\r ]"),
        ('b', Place::Outside) => output.push_str(r"(?-u:\b)"),
        ('B', Place::Outside) => output.push_str(r"(?-u:\B)"),
        ('Q', Place::Outside) => {
            let (literal, after) = after.split_once(r"\E").unwrap_or((after, ""));
            output.push_str(&regex::escape(literal));
            return after;
        }
        (other, _) => {
            output.push('\\');
            output.push(other);
        }
    }
    after
}

/// A set in brackets; gives what is left of the pattern. Inside, only `\`, `]`, a leading `^`, `-` and `[:name:]`
/// are special in RE2.
fn set<'p>(mut rest: &'p str, output: &mut String) -> &'p str {
    output.push('[');
    if let Some(after) = rest.strip_prefix('^') {
        output.push('^');
        rest = after;
    }
    // Right after the opening, these stand for themselves.
    for leading in [']', '-'] {
        if let Some(after) = rest.strip_prefix(leading) {
            output.push('\\');
            output.push(leading);
            rest = after;
        }
    }
    while let Some(character) = rest.chars().next() {
        let after = &rest[character.len_utf8()..];
        match character {
            '\\' => {
                rest = escape(after, output, Place::InSet);
                continue;
            }
            ']' => {
                output.push(']');
                return after;
            }
            '[' if after.starts_with(':') && after.contains(":]") => {
                let end = after.find(":]").map_or(0, |end| end + 2);
                output.push('[');
                output.push_str(&after[..end]);
                rest = &after[end..];
                continue;
            }
            '[' | '&' | '~' => {
                output.push('\\');
                output.push(character);
            }
            '-' if after.starts_with('-') => {
                output.push_str(r"-\-");
                rest = &after[1..];
                continue;
            }
            other => output.push(other),
        }
        rest = after;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(pattern: &str) -> Result<Pattern, String> {
        Pattern::compile(pattern, |_| Ok::<(), ()>(())).unwrap()
    }

    fn matches(pattern: &str, text: &str) -> bool {
        compile(pattern)
            .unwrap_or_else(|reason| panic!("{pattern}: {reason}"))
            .regex
            .is_match(text)
    }

    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        let table = [
            (r"^\w$", "é", false),
            (r"^\w$", "a", true),
            (r"^\W$", "é", true),
            (r"^[\w-]+$", "a-b_c", true),
            (r"^[^\d]$", "5", false),
            (r"^\d$", "٣", false),
            (r"\bdev\b", "x dev y", true),
            (r"a\Bb", "ab", true),
            (r"^.$", "é", true),
            (r"^\pL$", "é", true),
            (r"^[[]$", "[", true),
            (r"^[a&&b]$", "&", true),
            (r"^[]a]$", "]", true),
            (r"^[^]a]$", "]", false),
            (r"^[-a]$", "-", true),
            (r"^[+--]$", ",", true),
            (r"^[[:digit:]a]+$", "4a", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b\E$", "axb", false),
            (r"(?i)PROD", "prod", true),
            (r"^1\.3[0-9]\.", "1.31.2", true),
            (r"\s", "\u{a0}", false),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn broken_patterns_are_refused_in_one_line() {
        for pattern in [
            "(",
            "[",
            r"\",
            "*",
            "a{1000}{1000}",
            "(?=a)",
            "[z-a]",
            r"\Q(\E(",
            "[\\",
        ] {
            let reason = compile(pattern).unwrap_err();
            assert!(
                !reason.is_empty() && !reason.contains('\n'),
                "{pattern}: {reason}"
            );
        }
    }

    #[test]
    fn larger_patterns_cost_more_to_run() {
        let cost = |pattern: &str| compile(pattern).unwrap().cost("some text");
        assert!(cost("[ab]*a[ab]{300}c") > 10 * cost("[ab]*a[ab]{3}c"));
    }

    #[test]
    fn classes_whose_case_is_folded_are_paid_for_each_time_that_they_are_read() {
        // What is asked for first; nothing is read without it.
        let first = |pattern: &str| Pattern::compile(pattern, Err).unwrap_err();
        // Each of these made the engine go through a million characters.
        let classes = [
            r"\p{Any}",
            r"[\Dx]",
            r"[\x00-\x{10FFFF}]",
            "[\u{1}-\u{10ffff}]",
            r"[[:^alpha:]x]",
        ];
        for class in classes {
            let (sensitive, insensitive) = (class.repeat(9), format!("(?i){}", class.repeat(9)));
            assert!(first(&insensitive) >= first(&sensitive) + 9 * PER_FOLD, "{class}");
        }
        let mut paid = Vec::new();
        let _ = Pattern::compile(r"(?i)\pN{50}", |units| {
            paid.push(units);
            Ok::<(), ()>(())
        });
        assert!(paid.len() > 1, "larger sizes are tried");
        assert!(paid.iter().all(|paid| *paid >= PER_FOLD), "{paid:?}");
        for group in ["(?i:", "(?s-mi)(", "(?x i)(?i)(", "(?x)( ?i)(", "(?sx)(#c\n?i)("] {
            assert_eq!(case_folds(&format!(r"{group}\pL)")), 1, "{group}");
        }
        for plain in [r"(?P<i>\pL)", r"(?s)\pL", "(?i)^prod-[a-z0-9]+$", r"(?i)a\.b"] {
            assert_eq!(case_folds(plain), 0, "{plain}");
        }
    }

    #[test]
    fn the_flag_x_is_refused_and_a_bracket_before_an_x_is_not() {
        for pattern in [
            "(?x)a",
            "(?i-x:a)",
            "(?sx)a",
            r"\\(?x)a",
            "a(?mx:b)",
            r"\Qa\E(?x)",
        ] {
            assert_eq!(compile(pattern).unwrap_err(), VERBOSE, "{pattern}");
        }
        for pattern in [r"\(?x\)", "(?P<x>a)", "(?i)x", "(?:x)", r"a\(?x:?"] {
            assert!(compile(pattern).is_ok(), "{pattern}");
        }
        // Each comment hid a class of nearly all characters, and the controllers took seconds to read a hundred of them.
        let hidden = format!("(?xi){}", "[[:[#\n^a]:]x]".repeat(2_000));
        let unpaid = |_| Err::<(), ()>(());
        assert_eq!(Pattern::compile(&hidden, unpaid).unwrap().unwrap_err(), VERBOSE);
    }

    #[test]
    fn a_large_written_out_pattern_that_ignores_case_is_refused_before_it_is_read() {
        let pattern = r"\\p{Any}".repeat(5_000);
        let mut patterns = 0;
        let refused =
            crate::Program::compile_selector(&format!("'a'.matches('(?i){pattern}')"), &mut patterns);
        assert!(refused.unwrap_err().to_string().contains("too large together"));
        assert!(patterns > MOST_WRITTEN_OUT);
        let expression = format!("'a'.matches('(?i)' + '{}')", r"\\p{Any}".repeat(1_000));
        let program = crate::Program::compile(&expression).unwrap();
        let mut budget = crate::Budget::per_cluster();
        let cluster = crate::Value::from(serde_json::json!({}));
        let refused = program.evaluate(&cluster, &crate::NoScores, &mut budget);
        assert!(
            matches!(refused, Err(crate::EvalError::CostExceeded { .. })),
            "{refused:?}"
        );
    }

    #[test]
    fn larger_patterns_cost_more_to_compile_also_those_that_are_refused() {
        let cost = |pattern: &str| {
            let mut paid = 0;
            let _ = Pattern::compile(pattern, |units| {
                paid += units;
                Ok::<(), ()>(())
            });
            paid
        };
        assert_eq!(cost("abc"), 5_150);
        assert!(cost(r"\pL{20}") > 5 * cost("abc"));
        assert!(cost("a{1000}{1000}") > 10 * cost("abc"), "refused");
        // Nothing is compiled that is not paid for.
        assert!(Pattern::compile("abc", |_| Err(())).is_err());
    }
}
