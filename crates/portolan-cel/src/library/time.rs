//! Points in time and spans, with the calendar arithmetic they need. Nothing here reads a clock or a zone database.

use std::fmt::{self, Display, Formatter};

const NANOS_PER_SECOND: i128 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z, the range CEL allows.
const FIRST_SECOND: i64 = -62_135_596_800;
const LAST_SECOND: i64 = 253_402_300_799;

/// A span in nanoseconds, as wide as Go's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Duration(i64);

impl Duration {
    pub(crate) const ZERO: Duration = Duration(0);

    pub(crate) fn from_nanoseconds(nanoseconds: i64) -> Duration {
        Duration(nanoseconds)
    }

    pub(crate) fn nanoseconds(self) -> i64 {
        self.0
    }

    pub(crate) fn plus(self, other: Duration) -> Option<Duration> {
        self.0.checked_add(other.0).map(Duration)
    }

    pub(crate) fn minus(self, other: Duration) -> Option<Duration> {
        self.0.checked_sub(other.0).map(Duration)
    }

    pub(crate) fn negated(self) -> Option<Duration> {
        self.0.checked_neg().map(Duration)
    }

    /// Reads `1h30m`, `-1.5s`, `100ms`: signed, one or more numbers with a unit each.
    pub(crate) fn parse(text: &str) -> Option<Duration> {
        let (negative, mut rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        if rest == "0" {
            return Some(Duration::ZERO);
        }
        let mut total = 0_i128;
        if rest.is_empty() {
            return None;
        }
        while !rest.is_empty() {
            let number_end = rest.find(|c: char| c != '.' && !c.is_ascii_digit())?;
            let (number, tail) = rest.split_at(number_end);
            let unit_end = tail
                .find(|c: char| c == '.' || c.is_ascii_digit())
                .unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(unit_end);
            total = total.checked_add(scaled(number, unit_nanos(unit)?)?)?;
            rest = tail;
        }
        i64::try_from(if negative { -total } else { total })
            .ok()
            .map(Duration)
    }
}

fn unit_nanos(unit: &str) -> Option<i128> {
    match unit {
        "ns" => Some(1),
        "us" | "µs" | "μs" => Some(1_000),
        "ms" => Some(1_000_000),
        "s" => Some(NANOS_PER_SECOND),
        "m" => Some(60 * NANOS_PER_SECOND),
        "h" => Some(3_600 * NANOS_PER_SECOND),
        _ => None,
    }
}

/// A decimal number times a unit, fractions below a nanosecond dropped.
fn scaled(number: &str, unit: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // Fifteen digits are more than the finest unit can show, and keep the product in range.
    let digits = &fraction[..fraction.len().min(15)];
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part: i128 = if digits.is_empty() {
        0
    } else {
        digits.parse().ok()?
    };
    let scale = 10_i128.checked_pow(u32::try_from(digits.len()).ok()?)?;
    whole
        .checked_mul(unit)?
        .checked_add(part.checked_mul(unit)? / scale)
}

impl Display for Duration {
    /// Seconds with as many decimals as needed, as CEL prints durations.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        let (seconds, fraction) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{seconds}")?;
        write_fraction(f, fraction)?;
        f.write_str("s")
    }
}

fn write_fraction(f: &mut Formatter<'_>, nanos: u64) -> fmt::Result {
    if nanos == 0 {
        return Ok(());
    }
    write!(f, ".{}", format!("{nanos:09}").trim_end_matches('0'))
}

/// A point in time between the years 1 and 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Timestamp {
    seconds: i64,
    nanos: u32,
}

impl Timestamp {
    pub(crate) const EPOCH: Timestamp = Timestamp { seconds: 0, nanos: 0 };

    pub(crate) fn from_seconds(seconds: i64) -> Option<Timestamp> {
        (FIRST_SECOND..=LAST_SECOND)
            .contains(&seconds)
            .then_some(Timestamp { seconds, nanos: 0 })
    }

    pub(crate) fn seconds(self) -> i64 {
        self.seconds
    }

    pub(crate) fn nanos(self) -> u32 {
        self.nanos
    }

    fn total_nanos(self) -> i128 {
        i128::from(self.seconds) * NANOS_PER_SECOND + i128::from(self.nanos)
    }

    pub(crate) fn plus(self, span: Duration) -> Option<Timestamp> {
        let total = self.total_nanos() + i128::from(span.0);
        let seconds = i64::try_from(total.div_euclid(NANOS_PER_SECOND)).ok()?;
        let nanos = u32::try_from(total.rem_euclid(NANOS_PER_SECOND)).ok()?;
        Timestamp::from_seconds(seconds).map(|time| Timestamp { nanos, ..time })
    }

    pub(crate) fn since(self, earlier: Timestamp) -> Option<Duration> {
        i64::try_from(self.total_nanos() - earlier.total_nanos())
            .ok()
            .map(Duration)
    }

    /// Reads RFC 3339.
    pub(crate) fn parse(text: &str) -> Option<Timestamp> {
        let bytes = text.as_bytes();
        let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
        if !separators.into_iter().all(|(at, byte)| {
            bytes
                .get(at)
                .is_some_and(|found| found.eq_ignore_ascii_case(&byte))
        }) {
            return None;
        }
        let (year, month, day) = (number(text, 0, 4)?, number(text, 5, 2)?, number(text, 8, 2)?);
        let (hour, minute, second) = (number(text, 11, 2)?, number(text, 14, 2)?, number(text, 17, 2)?);
        let valid = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
        if !valid || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let mut rest = text.get(19..)?;
        let mut nanos = 0;
        if let Some(fraction) = rest.strip_prefix('.') {
            let end = fraction
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(fraction.len());
            let digits = &fraction[..end.min(9)];
            if digits.is_empty() {
                return None;
            }
            nanos = format!("{digits:0<9}").parse().ok()?;
            rest = &fraction[end..];
        }
        let shift = if rest.eq_ignore_ascii_case("z") {
            0
        } else {
            parse_offset(rest)?
        };
        let days = days_from_civil(year, month, day);
        let seconds = days * SECONDS_PER_DAY + hour * 3_600 + minute * 60 + second - shift;
        Timestamp::from_seconds(seconds).map(|time| Timestamp { nanos, ..time })
    }

    /// The calendar fields as seen at this offset from UTC, in seconds.
    pub(crate) fn civil(self, offset: i64) -> Civil {
        let local = self.seconds + offset;
        let days = local.div_euclid(SECONDS_PER_DAY);
        let second = local.rem_euclid(SECONDS_PER_DAY);
        let (year, month, day) = civil_from_days(days);
        Civil {
            year,
            month,
            day,
            hour: second / 3_600,
            minute: second / 60 % 60,
            second: second % 60,
            // 1970-01-01 was a Thursday, the fifth day of a week that starts on Sunday.
            weekday: (days + 4).rem_euclid(7),
            day_of_year: days - days_from_civil(year, 1, 1),
        }
    }
}

/// Calendar fields; months and days count from 1, the weekday from Sunday, the day of the year from 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
    pub(crate) weekday: i64,
    pub(crate) day_of_year: i64,
}

/// `+02:00`, `-05:30`; the sign may be missing.
pub(crate) fn parse_offset(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    if digits.len() != 5 || digits.as_bytes()[2] != b':' {
        return None;
    }
    let (hours, minutes) = (number(digits, 0, 2)?, number(digits, 3, 2)?);
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 3_600 + minutes * 60))
}

fn number(text: &str, at: usize, length: usize) -> Option<i64> {
    let digits = text.get(at..at + length)?;
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| digits.parse().ok())
        .flatten()
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar. Years are counted from March, so that the leap day
/// is the last one.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

impl Display for Timestamp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let civil = self.civil(0);
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            civil.year, civil.month, civil.day, civil.hour, civil.minute, civil.second
        )?;
        write_fraction(f, u64::from(self.nanos))?;
        f.write_str("Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_the_range_survives_the_calendar_round_trip() {
        for days in (FIRST_SECOND / SECONDS_PER_DAY)..=(LAST_SECOND / SECONDS_PER_DAY) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
        }
    }

    #[test]
    fn times_print_as_they_were_read() {
        for text in [
            "2024-02-29T23:59:59.5Z",
            "0001-01-01T00:00:00Z",
            "9999-12-31T23:59:59.999999999Z",
        ] {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn impossible_dates_are_refused() {
        for text in [
            "2023-02-29T00:00:00Z",
            "2024-13-01T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01",
            "é",
            "",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn durations_read_all_units_and_print_seconds() {
        for (text, printed) in [
            ("1h30m", "5400s"),
            ("-1.5s", "-1.5s"),
            ("100ms", "0.1s"),
            ("0", "0s"),
            ("1µs", "0.000001s"),
        ] {
            assert_eq!(Duration::parse(text).unwrap().to_string(), printed);
        }
        for text in ["", "1", "h", "1x", "1.2.3s", "-", ".s", "9999999999h"] {
            assert_eq!(Duration::parse(text), None, "{text}");
        }
    }
}
