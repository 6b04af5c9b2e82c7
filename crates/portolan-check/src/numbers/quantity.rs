//! Kubernetes quantities as the reference turns them into floating point: mantissa × 10^exponent.

/// Reads a quantity such as `1500m`, `2`, `7.5Gi` or `1e3`. `None` when it is none.
///
/// The digits, with the point taken out and a binary suffix multiplied in, are the mantissa; the exponent is that of the
/// decimal suffix less the digits after the point. Both are exact integers, the product is the only rounding: `1500m` is
/// 1500 × 10^-3. Finer than 10^-9 is rounded up to it, as the API server does.
pub fn quantity(text: &str) -> Option<f64> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    let (number, suffix) = rest.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let (factor, scale) = multiplier(suffix)?;
    let mantissa: u128 = format!("{whole}{fraction}").parse().ok()?;
    let mantissa = mantissa.checked_mul(factor)?;
    let exponent = scale - i32::try_from(fraction.len()).ok()?;
    let (mantissa, exponent) = at_least_nano(mantissa, exponent)?;
    let value = if exponent == 0 {
        mantissa as f64
    } else {
        mantissa as f64 * power_of_ten(exponent)
    };
    Some(if negative { -value } else { value })
}

/// Factor and decimal exponent of a suffix.
fn multiplier(suffix: &str) -> Option<(u128, i32)> {
    let decimal = |scale| Some((1, scale));
    match suffix {
        "" => decimal(0),
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => Some((1 << 10, 0)),
        "Mi" => Some((1 << 20, 0)),
        "Gi" => Some((1 << 30, 0)),
        "Ti" => Some((1 << 40, 0)),
        "Pi" => Some((1 << 50, 0)),
        "Ei" => Some((1 << 60, 0)),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?;
            decimal(
                exponent
                    .parse()
                    .ok()
                    .filter(|exponent: &i32| exponent.abs() <= 18)?,
            )
        }
    }
}

fn at_least_nano(mantissa: u128, exponent: i32) -> Option<(u128, i32)> {
    if exponent >= -9 {
        return Some((mantissa, exponent));
    }
    let digits = u32::try_from(-9 - exponent).ok()?;
    let rounded = 10_u128
        .checked_pow(digits)
        .map_or(u128::from(mantissa > 0), |unit| mantissa.div_ceil(unit));
    Some((rounded, -9))
}

/// A power of ten, correctly rounded: those up to 10^22 are exact, and one division rounds once.
fn power_of_ten(exponent: i32) -> f64 {
    let exact = (0..exponent.abs()).fold(1.0, |power: f64, _| power * 10.0);
    if exponent < 0 { 1.0 / exact } else { exact }
}
