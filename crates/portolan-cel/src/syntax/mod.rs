//! From source text to a syntax tree. Macros are left as calls; the checker gives them their meaning.

pub(crate) mod ast;
mod lexer;
mod literal;
mod parser;
mod primary;
mod token;
mod words;

pub(crate) use parser::parse;
pub use words::is_reserved;
