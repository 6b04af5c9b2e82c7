//! String and bytes literals: quotes, raw and bytes prefixes, escapes.

use super::token::Token;

/// What stands before the opening quote.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefix {
    raw: bool,
    bytes: bool,
    length: usize,
}

/// The prefix when a string or bytes literal starts here.
pub(super) fn prefix(text: &str) -> Option<Prefix> {
    let (mut raw, mut bytes) = (false, false);
    for (length, byte) in text.bytes().enumerate().take(3) {
        match byte {
            b'"' | b'\'' => return Some(Prefix { raw, bytes, length }),
            b'r' | b'R' if !raw => raw = true,
            b'b' | b'B' if !bytes => bytes = true,
            _ => return None,
        }
    }
    None
}

/// Reads the literal; gives the token and how many bytes of source it takes.
pub(super) fn read<'s>(text: &str, prefix: Prefix) -> Result<(Token<'s>, usize), String> {
    let quoted = &text[prefix.length..];
    let single = &quoted[..1];
    let triple = quoted.starts_with(&single.repeat(3));
    let quote = if triple { &quoted[..3] } else { single };
    let body = &quoted[quote.len()..];
    let end = find_end(body, quote, prefix.raw).ok_or("unterminated string literal")?;
    let body = &body[..end];
    if !triple && body.contains(['\n', '\r']) {
        return Err("line break in string literal".to_owned());
    }
    let length = prefix.length + quote.len() * 2 + end;
    let token = match (prefix.bytes, prefix.raw) {
        (false, true) => Token::String(body.to_owned()),
        (true, true) => Token::Bytes(body.as_bytes().to_vec()),
        (false, false) => {
            let mut decoded = String::with_capacity(body.len());
            unescape(body, |piece| match piece {
                Piece::Character(character) | Piece::Octet(_, character) => decoded.push(character),
            })?;
            Token::String(decoded)
        }
        (true, false) => {
            let mut decoded = Vec::with_capacity(body.len());
            unescape(body, |piece| match piece {
                Piece::Character(character) => {
                    decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Piece::Octet(octet, _) => decoded.push(octet),
            })?;
            Token::Bytes(decoded)
        }
    };
    Ok((token, length))
}

fn find_end(body: &str, quote: &str, raw: bool) -> Option<usize> {
    let mut at = 0;
    let bytes = body.as_bytes();
    while at < bytes.len() {
        // Compared as bytes: after an escape the position may be inside a character.
        if bytes[at..].starts_with(quote.as_bytes()) {
            return Some(at);
        }
        at += if bytes[at] == b'\\' && !raw { 2 } else { 1 };
    }
    None
}

/// One decoded unit: `\x` and octal escapes mean a byte in bytes literals and a code point in strings.
enum Piece {
    Character(char),
    Octet(u8, char),
}

fn unescape(body: &str, mut emit: impl FnMut(Piece)) -> Result<(), String> {
    let mut rest = body.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            emit(Piece::Character(character));
            continue;
        }
        let escape = rest.next().ok_or("incomplete escape sequence")?;
        let plain = match escape {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '\\' | '\'' | '"' | '`' | '?' => escape,
            'x' | 'X' => {
                emit(octet(take_number(&mut rest, 2, 16)?)?);
                continue;
            }
            'u' => code_point(take_number(&mut rest, 4, 16)?)?,
            'U' => code_point(take_number(&mut rest, 8, 16)?)?,
            '0'..='3' => {
                let high = escape.to_digit(8).unwrap_or_default();
                emit(octet(high * 64 + take_number(&mut rest, 2, 8)?)?);
                continue;
            }
            other => return Err(format!("unknown escape sequence \\{other}")),
        };
        emit(Piece::Character(plain));
    }
    Ok(())
}

fn take_number(rest: &mut std::str::Chars<'_>, digits: u32, radix: u32) -> Result<u32, String> {
    let mut value = 0_u32;
    for _ in 0..digits {
        let digit = rest.next().and_then(|character| character.to_digit(radix));
        let digit = digit.ok_or("incomplete escape sequence")?;
        value = value.wrapping_mul(radix).wrapping_add(digit);
    }
    Ok(value)
}

fn octet(value: u32) -> Result<Piece, String> {
    let octet = u8::try_from(value).map_err(|_| "escape sequence out of range")?;
    Ok(Piece::Octet(octet, char::from(octet)))
}

fn code_point(value: u32) -> Result<char, String> {
    char::from_u32(value).ok_or_else(|| "escape sequence is not a Unicode code point".to_owned())
}
