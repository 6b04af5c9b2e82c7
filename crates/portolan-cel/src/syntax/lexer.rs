//! Source text as tokens.

use super::literal;
use super::token::{Flaw, Token};

/// Longer symbols stand before their prefixes.
const SYMBOLS: [&str; 25] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "+", "-", "*", "/", "%", "?", ":", ".", ",", "(", ")",
    "[", "]", "{", "}", "=",
];

/// Hands out tokens one by one.
pub(super) struct Lexer<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s str) -> Lexer<'s> {
        Lexer { source, at: 0 }
    }

    /// The next token and the offset where it starts.
    pub(super) fn next(&mut self) -> Result<(usize, Token<'s>), Flaw> {
        self.skip_blanks();
        let start = self.at;
        let rest = &self.source[start..];
        let bytes = rest.as_bytes();
        let token = match bytes {
            [] => Token::End,
            [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..] => self.number()?,
            _ => match literal::prefix(rest) {
                Some(prefix) => {
                    let (token, length) =
                        literal::read(rest, prefix).map_err(|message| Flaw::new(start, message))?;
                    self.at += length;
                    token
                }
                None if bytes[0] == b'_' || bytes[0].is_ascii_alphabetic() => self.identifier(),
                None => self.symbol()?,
            },
        };
        Ok((start, token))
    }

    fn skip_blanks(&mut self) {
        let bytes = self.source.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\n' | b'\r' | 0x0c) => self.at += 1,
                Some(b'/') if bytes.get(self.at + 1) == Some(&b'/') => {
                    let line = self.source[self.at..].find('\n');
                    self.at = line.map_or(bytes.len(), |end| self.at + end);
                }
                _ => return,
            }
        }
    }

    fn identifier(&mut self) -> Token<'s> {
        let rest = &self.source[self.at..];
        let end = rest
            .find(|c: char| c != '_' && !c.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        self.at += end;
        Token::Ident(&rest[..end])
    }

    fn symbol(&mut self) -> Result<Token<'s>, Flaw> {
        let rest = &self.source[self.at..];
        match SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
            Some(symbol) => {
                self.at += symbol.len();
                Ok(Token::Symbol(symbol))
            }
            None => {
                let character = rest.chars().next().unwrap_or_default();
                Err(Flaw::new(self.at, format!("unexpected character {character:?}")))
            }
        }
    }

    fn number(&mut self) -> Result<Token<'s>, Flaw> {
        let start = self.at;
        if let Some(digits) = self.after_hex_prefix() {
            return self.hexadecimal(start, digits);
        }
        self.digits();
        let mut whole = true;
        if self.byte(0) == Some(b'.') && self.byte(1).is_some_and(|byte| byte.is_ascii_digit()) {
            whole = false;
            self.at += 1;
            self.digits();
        }
        if matches!(self.byte(0), Some(b'e' | b'E')) {
            let signed = usize::from(matches!(self.byte(1), Some(b'+' | b'-')));
            if self.byte(1 + signed).is_some_and(|byte| byte.is_ascii_digit()) {
                whole = false;
                self.at += 1 + signed;
                self.digits();
            }
        }
        let text = &self.source[start..self.at];
        let token = if !whole {
            text.parse()
                .ok()
                .filter(|value: &f64| value.is_finite())
                .map(Token::Double)
        } else if self.take_unsigned_suffix() {
            text.parse().ok().map(Token::Uint)
        } else {
            text.parse().ok().map(Token::Int)
        };
        self.end_of_number(start)?;
        token.ok_or_else(|| Flaw::new(start, "number literal out of range"))
    }

    fn after_hex_prefix(&self) -> Option<usize> {
        let prefixed = self.byte(0) == Some(b'0') && matches!(self.byte(1), Some(b'x' | b'X'));
        (prefixed && self.byte(2).is_some_and(|byte| byte.is_ascii_hexdigit())).then_some(self.at + 2)
    }

    fn hexadecimal(&mut self, start: usize, digits: usize) -> Result<Token<'s>, Flaw> {
        self.at = digits;
        while self.byte(0).is_some_and(|byte| byte.is_ascii_hexdigit()) {
            self.at += 1;
        }
        let value = u64::from_str_radix(&self.source[digits..self.at], 16);
        let unsigned = self.take_unsigned_suffix();
        self.end_of_number(start)?;
        match value {
            Ok(value) if unsigned => Ok(Token::Uint(value)),
            Ok(value) => Ok(Token::Int(value)),
            Err(_) => Err(Flaw::new(start, "number literal out of range")),
        }
    }

    fn take_unsigned_suffix(&mut self) -> bool {
        let unsigned = matches!(self.byte(0), Some(b'u' | b'U'));
        self.at += usize::from(unsigned);
        unsigned
    }

    /// `1x` is a mistake, not the number 1 followed by x.
    fn end_of_number(&self, start: usize) -> Result<(), Flaw> {
        match self.byte(0) {
            Some(byte) if byte == b'_' || byte.is_ascii_alphanumeric() => {
                Err(Flaw::new(start, "malformed number literal"))
            }
            _ => Ok(()),
        }
    }

    fn digits(&mut self) {
        while self.byte(0).is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.source.as_bytes().get(self.at + ahead).copied()
    }
}
