//! Resource quantities as exact numbers of billionths.

use std::fmt::{self, Display, Formatter};

const NANOS: i128 = 1_000_000_000;
/// Kubernetes caps what it has to keep as a big number at the largest int.
const CAP: i128 = i64::MAX as i128 * NANOS;
/// Up to this many digits Kubernetes keeps a decimal number as it is.
const EXACT_DIGITS: usize = 18;

/// A quantity of Kubernetes, such as `500m` or `32Gi`, in billionths; finer fractions round away from zero, as in
/// Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity(i128);

impl Quantity {
    /// The quantity in billionths.
    pub fn nanos(self) -> i128 {
        self.0
    }

    /// The sum with so many billionths; `None` when that is too large a number.
    pub(crate) fn plus(self, nanos: i128) -> Option<Quantity> {
        self.0.checked_add(nanos).map(Quantity)
    }

    /// Reads a quantity; `None` when the text is none.
    pub fn parse(text: &str) -> Option<Quantity> {
        let (negative, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let end = unsigned
            .find(|c: char| c != '.' && !c.is_ascii_digit())
            .unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return None;
        }
        let magnitude = match Scale::parse(suffix)? {
            Scale::Binary(power) => binary(whole, fraction, power),
            Scale::Decimal(exponent) => decimal(whole, fraction, exponent),
        };
        Some(Quantity(if negative { -magnitude } else { magnitude }))
    }

    pub(crate) fn from_int(value: i64) -> Quantity {
        Quantity(i128::from(value) * NANOS)
    }

    /// At the cap the written number may have been any larger one, so it is no integer.
    pub(crate) fn as_int(self) -> Option<i64> {
        (self.0 % NANOS == 0 && self.0.unsigned_abs() < CAP.unsigned_abs())
            .then(|| i64::try_from(self.0 / NANOS).ok())
            .flatten()
    }

    pub(crate) fn as_double(self) -> f64 {
        if self.0 % NANOS == 0 {
            (self.0 / NANOS) as f64
        } else {
            self.0 as f64 / NANOS as f64
        }
    }
}

impl Display for Quantity {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (
            self.0.unsigned_abs() / NANOS as u128,
            self.0.unsigned_abs() % NANOS as u128,
        );
        let sign = if self.0 < 0 { "-" } else { "" };
        if rest == 0 {
            return write!(f, "{sign}{whole}");
        }
        write!(f, "{sign}{whole}.{}", format!("{rest:09}").trim_end_matches('0'))
    }
}

enum Scale {
    /// Times two to this power.
    Binary(u32),
    /// Times ten to this power.
    Decimal(i32),
}

impl Scale {
    fn parse(suffix: &str) -> Option<Scale> {
        Some(match suffix {
            "" => Scale::Decimal(0),
            "n" => Scale::Decimal(-9),
            "u" => Scale::Decimal(-6),
            "m" => Scale::Decimal(-3),
            "k" => Scale::Decimal(3),
            "M" => Scale::Decimal(6),
            "G" => Scale::Decimal(9),
            "T" => Scale::Decimal(12),
            "P" => Scale::Decimal(15),
            "E" => Scale::Decimal(18),
            "Ki" => Scale::Binary(10),
            "Mi" => Scale::Binary(20),
            "Gi" => Scale::Binary(30),
            "Ti" => Scale::Binary(40),
            "Pi" => Scale::Binary(50),
            "Ei" => Scale::Binary(60),
            _ => {
                let digits = suffix.strip_prefix(['e', 'E'])?;
                let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(digits);
                let plain = !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit());
                Scale::Decimal(digits.parse().ok().filter(|_| plain)?)
            }
        })
    }
}

/// Digits times ten to a power, in billionths, rounded up; too large a number stays at the largest.
fn decimal(whole: &str, fraction: &str, exponent: i32) -> i128 {
    let digits: Vec<u8> = whole
        .bytes()
        .chain(fraction.bytes())
        .map(|byte| byte - b'0')
        .collect();
    let significant = digits.iter().skip_while(|digit| **digit == 0).count();
    let cap = if significant > EXACT_DIGITS {
        CAP
    } else {
        i128::MAX
    };
    // The point moves right by the exponent and by nine places for the billionths.
    let point = whole.len() as i64 + i64::from(exponent) + 9;
    let mut value = 0_i128;
    let mut remainder = false;
    for (place, digit) in digits.iter().enumerate() {
        if (place as i64) < point {
            value = value.saturating_mul(10).saturating_add(i128::from(*digit));
        } else {
            remainder |= *digit != 0;
        }
    }
    // Past the largest number further zeros change nothing, so a huge exponent is not a long loop.
    let zeros = (point - digits.len() as i64).clamp(0, 64);
    for _ in 0..zeros {
        value = value.saturating_mul(10);
    }
    value.saturating_add(i128::from(remainder)).min(cap)
}

fn binary(whole: &str, fraction: &str, power: u32) -> i128 {
    let factor = 1_i128 << power;
    // Eighteen decimals times the largest factor still fit.
    let (digits, beyond) = fraction.split_at(fraction.len().min(18));
    let part = digits.parse::<i128>().unwrap_or(0) * factor;
    let nanos = match digits.len() {
        places @ 0..=9 => part * 10_i128.pow(9 - places as u32),
        places => {
            let scale = 10_i128.pow(places as u32 - 9);
            let remainder = part % scale != 0 || beyond.bytes().any(|byte| byte != b'0');
            part / scale + i128::from(remainder)
        }
    };
    decimal(whole, "", 0)
        .saturating_mul(factor)
        .saturating_add(nanos)
        .min(CAP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_every_suffix_exactly() {
        let table = [
            ("1", "1"),
            ("500m", "0.5"),
            ("1.5Gi", "1610612736"),
            ("4Ki", "4096"),
            ("2E", "2000000000000000000"),
            ("1e3", "1000"),
            ("1E-3", "0.001"),
            ("-1.25k", "-1250"),
            ("+3u", "0.000003"),
            (".5", "0.5"),
            ("5.", "5"),
            ("0.1n", "0.000000001"),
            ("-0.1n", "-0.000000001"),
            ("20Ei", "9223372036854775807"),
            ("0.5Ki", "512"),
            ("0.333333333333333333Ei", "384307168202282324.949026166"),
        ];
        for (text, shown) in table {
            let parsed = Quantity::parse(text).map(|quantity| quantity.to_string());
            assert_eq!(parsed.as_deref(), Some(shown), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_quantity_is_refused() {
        for text in [
            "", "-", ".", "1.2.3", "1Kib", "abc", "1 Gi", "1e", "1e+", "e3", "١",
        ] {
            assert_eq!(Quantity::parse(text), None, "{text}");
        }
    }

    #[test]
    fn huge_exponents_end_at_the_largest_number() {
        assert_eq!(Quantity::parse("1e2147483647"), Some(Quantity(i128::MAX)));
        assert_eq!(Quantity::parse("1e-2147483648"), Some(Quantity(1)));
    }
}
