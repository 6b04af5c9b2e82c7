//! Numbers of the command line.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Reads a whole number of a range. clap's own reader names the range as Rust writes it.
pub(crate) fn within<N>(range: RangeInclusive<N>) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync
where
    N: FromStr + PartialOrd + Display + Clone + Send + Sync,
{
    move |text| {
        let number = text.trim().parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            format!(
                "accepted: a whole number from {} to {}",
                range.start(),
                range.end()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_number_of_the_range_is_told_the_range() {
        let read = within::<u16>(1..=1_000);
        assert_eq!([read("1"), read("1000")], [Ok(1), Ok(1_000)]);
        for text in ["0", "1001", "70000", "-1", "1.5", "six", ""] {
            assert_eq!(
                read(text),
                Err("accepted: a whole number from 1 to 1000".to_owned()),
                "{text}"
            );
        }
    }
}
