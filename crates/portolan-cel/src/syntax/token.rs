//! What the lexer hands to the parser.

/// A token; string and bytes literals are already decoded.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'s> {
    Ident(&'s str),
    /// Magnitude of an int literal; the sign is an operator until the parser joins them.
    Int(u64),
    Uint(u64),
    Double(f64),
    String(String),
    Bytes(Vec<u8>),
    Symbol(&'static str),
    End,
}

/// A lexical error: where it is and what is wrong.
#[derive(Debug)]
pub(super) struct Flaw {
    pub(super) at: usize,
    pub(super) message: String,
}

impl Flaw {
    pub(super) fn new(at: usize, message: impl Into<String>) -> Flaw {
        Flaw {
            at,
            message: message.into(),
        }
    }
}
