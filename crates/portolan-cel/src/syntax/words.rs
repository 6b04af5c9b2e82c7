//! Words that look like identifiers and are none.

/// Words of the language.
pub(super) const KEYWORDS: [&str; 4] = ["true", "false", "null", "in"];

/// Words that the language keeps for later.
pub(super) const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Whether a word cannot be the name of anything: whoever turns other names into identifiers has to escape it.
pub fn is_reserved(word: &str) -> bool {
    KEYWORDS.contains(&word) || RESERVED.contains(&word)
}
