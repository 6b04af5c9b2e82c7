//! Kubernetes quantities as the floats OCM computes with.
//!
//! Written by hand because the result must be mantissa × 10^exponent in exactly that order: the crates that parse
//! quantities go through other representations and differ in the last bit.

/// Whether the text is a quantity, such as `500m` or `32Gi`.
pub fn is_quantity(text: &str) -> bool {
    portolan_cel::Quantity::parse(text).is_some()
}

/// The quantity as a float, or `None` when the text is not a quantity or no float is that large.
pub fn as_float(text: &str) -> Option<f64> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let digits_end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    let (number, suffix) = rest.split_at(digits_end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let scale = Scale::parse(suffix)?;
    let value = scale.apply(whole, fraction);
    Some(if negative { -value } else { value }).filter(|value| value.is_finite())
}

enum Scale {
    Decimal(i32),
    Binary(u32),
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
            exponent => {
                // One sign, as `portolan_cel::Quantity` reads it.
                Scale::Decimal(exponent.strip_prefix(['e', 'E'])?.parse().ok()?)
            }
        })
    }

    fn apply(&self, whole: &str, fraction: &str) -> f64 {
        let digits: String = [whole.trim_start_matches('0'), fraction].concat();
        let shift = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
        match *self {
            Scale::Decimal(exponent) => {
                let exponent = exponent.saturating_sub(shift);
                times_power_of_ten(&digits, 1, exponent)
            }
            Scale::Binary(bits) => times_power_of_ten(&digits, 1u128 << bits, -shift),
        }
    }
}

/// `digits × factor × 10^exponent`, with anything finer than a nano rounded away from zero as Kubernetes does.
fn times_power_of_ten(digits: &str, factor: u128, exponent: i32) -> f64 {
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return 0.0;
    }
    let Some(mantissa) = significant
        .parse::<u128>()
        .ok()
        .and_then(|value| value.checked_mul(factor))
    else {
        // Beyond 128 bits the last digit no longer matters to a float; the exponent still does.
        let value: f64 = significant.parse().unwrap_or(f64::MAX);
        return value * factor as f64 * power_of_ten(exponent);
    };
    const NANO: i32 = -9;
    if exponent < NANO {
        let drop = NANO.saturating_sub(exponent).unsigned_abs();
        let divisor = 10u128.checked_pow(drop);
        let rounded = divisor.map_or(1, |divisor| mantissa.div_ceil(divisor));
        return rounded as f64 * power_of_ten(NANO);
    }
    if exponent == 0 {
        mantissa as f64
    } else {
        mantissa as f64 * power_of_ten(exponent)
    }
}

/// The float nearest to 10^exponent. `powi` multiplies and may be off by one unit in the last place.
fn power_of_ten(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{as_float, is_quantity};

    #[test]
    fn quantities_become_mantissa_times_power_of_ten() {
        for (text, expected) in [
            ("0", 0.0),
            ("1500m", 1500.0 * 0.001),
            ("1.5", 15.0 * 0.1),
            ("2", 2.0),
            ("100k", 100.0 * 1e3),
            ("1Gi", 1_073_741_824.0),
            ("1.5Gi", 16_106_127_360.0 * 0.1),
            ("64Gi", 68_719_476_736.0),
            ("1e3", 1000.0),
            ("12E2", 1200.0),
            ("1e-3", 0.001),
            ("1e+2", 100.0),
            ("0e99999", 0.0),
            ("-3", -3.0),
            ("+.5", 0.5),
            ("0.1n", 1e-9),
            ("3E", 3.0 * 1e18),
        ] {
            assert_eq!(as_float(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn text_that_is_no_quantity_has_no_value() {
        for text in [
            "", "-", "--5", "abc", "1.2.3", "1 Gi", "5Q", "1e", "1e--3", "∞", ".",
        ] {
            assert_eq!(as_float(text), None, "{text}");
            assert!(!is_quantity(text), "{text}");
        }
        for text in ["1e999", "1e99999", "-1e99999"] {
            assert_eq!(as_float(text), None, "no float is that large: {text}");
            assert!(is_quantity(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_text_has_a_value_exactly_if_it_is_a_quantity(text in "[-+]{0,2}[0-9.]{0,6}([eE]?[-+]?[0-9]{0,2}|[numkMGTPE]i?)") {
            let value = as_float(&text);
            prop_assert_eq!(value.is_some(), is_quantity(&text), "{:?}", value);
        }
    }
}
