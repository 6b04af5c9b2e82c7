//! As much of DER as a certificate needs: tags, lengths, and the times in it.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(super) const UTF8_STRING: u8 = 0x0c;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// One element: its tag, its content, and both together as they were encoded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element<'a> {
    pub(super) tag: u8,
    pub(super) content: &'a [u8],
    pub(super) encoded: &'a [u8],
}

impl<'a> Element<'a> {
    /// The elements inside.
    pub(super) fn elements(&self) -> Elements<'a> {
        Elements { rest: self.content }
    }
}

/// Walks the elements of some bytes; ends at the first one that is damaged.
#[derive(Debug, Clone)]
pub(super) struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Elements<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next element if it has that tag.
    pub(super) fn expect(&mut self, tag: u8) -> Option<Element<'a>> {
        self.next().filter(|element| element.tag == tag)
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    fn next(&mut self) -> Option<Element<'a>> {
        let whole = self.rest;
        let (&[tag, first], mut rest) = whole.split_first_chunk::<2>()?;
        let length = match first {
            0..=0x7f => usize::from(first),
            // Four bytes of length are more than any certificate has.
            0x81..=0x84 => {
                let (digits, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
                rest = after;
                digits
                    .iter()
                    .fold(0usize, |length, digit| length << 8 | usize::from(*digit))
            }
            _ => return None,
        };
        let (content, after) = rest.split_at_checked(length)?;
        self.rest = after;
        Some(Element {
            tag,
            content,
            encoded: &whole[..whole.len() - after.len()],
        })
    }
}

/// Encodes one element.
pub(super) fn encode(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut encoded = vec![tag];
    match content.len() {
        short @ 0..0x80 => encoded.push(short as u8),
        long => {
            let digits: Vec<u8> = long
                .to_be_bytes()
                .into_iter()
                .skip_while(|digit| *digit == 0)
                .collect();
            encoded.push(0x80 | digits.len() as u8);
            encoded.extend(digits);
        }
    }
    encoded.extend_from_slice(content);
    encoded
}

/// A UTCTime or GeneralizedTime in the only form certificates may have: `[YY]YYMMDDHHMMSSZ`.
pub(super) fn time(element: &Element<'_>) -> Option<Timestamp> {
    const UTC_TIME: u8 = 0x17;
    const GENERALIZED_TIME: u8 = 0x18;
    let text = std::str::from_utf8(element.content).ok()?.strip_suffix('Z')?;
    let text = match (element.tag, text.len()) {
        // Two digits stand for the years 1950 to 2049.
        (UTC_TIME, 12) if text >= "50" => format!("19{text}"),
        (UTC_TIME, 12) => format!("20{text}"),
        (GENERALIZED_TIME, 14) => text.to_owned(),
        _ => return None,
    };
    let time = DateTime::strptime("%Y%m%d%H%M%S", text).ok()?;
    TimeZone::UTC.to_timestamp(time).ok()
}
