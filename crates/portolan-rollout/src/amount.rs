//! A number of clusters, or a share of them.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use portolan_api::FieldError;
use serde_json::{Value, json};

/// What [`Amount::parse`] takes, for errors.
const ACCEPTED: &str = "a whole number from 0, such as 3, or a percentage from 0% to 100%, such as 25%";

/// `maxConcurrency` or `maxFailures`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// So many clusters.
    Clusters(u64),
    /// A share of them, from 0 to 100.
    Percent(f64),
}

impl Amount {
    /// No cluster.
    pub const NONE: Amount = Amount::Clusters(0);

    /// A number, a number in quotes, or a percentage. `path` names the field in errors.
    pub fn parse(value: &IntOrString, path: &str) -> Result<Amount, FieldError> {
        match value {
            IntOrString::Int(number) => match u64::try_from(*number) {
                Ok(number) => Ok(Amount::Clusters(number)),
                Err(_) => Err(refuse(path, &json!(number), "a negative number")),
            },
            IntOrString::String(text) => parse_text(text)
                .ok_or_else(|| refuse(path, &json!(text), "neither a number nor a percentage")),
        }
    }

    /// Whether it is no cluster, however many there are.
    pub fn is_nothing(self) -> bool {
        match self {
            Amount::Clusters(number) => number == 0,
            Amount::Percent(percent) => percent == 0.0,
        }
    }

    /// How many clusters out of `total` this is, before any limit. The ceiling of a percentage is the one that a 64-bit
    /// float gives in this order, as everywhere in OCM: 7 % of 100 is 8.
    pub fn of(self, total: usize) -> usize {
        match self {
            Amount::Clusters(number) => usize::try_from(number).unwrap_or(usize::MAX),
            // A cast from a float saturates, and none of these is negative.
            Amount::Percent(percent) => (percent / 100.0 * total as f64).ceil() as usize,
        }
    }

    /// As a failure budget: never more than there are.
    pub fn budget(self, total: usize) -> usize {
        self.of(total).min(total)
    }

    /// As a number of slots: nothing, and more than there are, both mean all of them.
    pub fn slots(self, total: usize) -> usize {
        match self.of(total) {
            0 => total,
            slots => slots.min(total),
        }
    }
}

fn refuse(path: &str, value: &Value, problem: &str) -> FieldError {
    FieldError::new(path, value, problem, ACCEPTED)
}

fn parse_text(text: &str) -> Option<Amount> {
    let number = text.strip_suffix('%').unwrap_or(text);
    let starts_well = number.starts_with(|c: char| c.is_ascii_digit());
    if !starts_well || !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    if number.len() < text.len() {
        // Fractions do not pass the definition's pattern, but OCM computes with those that get in otherwise.
        let percent: f64 = number.parse().ok()?;
        return (percent <= 100.0).then_some(Amount::Percent(percent));
    }
    if number.contains('.') {
        return None;
    }
    // More clusters than can be counted are as good as all.
    Some(Amount::Clusters(number.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Result<Amount, FieldError> {
        Amount::parse(&IntOrString::String(text.to_owned()), "maxFailures")
    }

    #[test]
    fn numbers_quoted_numbers_and_percentages_are_read() {
        assert_eq!(Amount::parse(&IntOrString::Int(3), "f"), Ok(Amount::Clusters(3)));
        assert_eq!(text("3"), Ok(Amount::Clusters(3)));
        assert_eq!(text("25%"), Ok(Amount::Percent(25.0)));
        assert_eq!(text("33.3%"), Ok(Amount::Percent(33.3)));
        assert_eq!(text("99999999999999999999"), Ok(Amount::Clusters(u64::MAX)));
    }

    #[test]
    fn anything_else_is_refused_with_field_value_and_accepted_form() {
        for wrong in [
            "", "-1", "-1%", "101%", "few", "%", "3.5", "1e1%", "+3", " 3", "3 %", "1.2.3%",
        ] {
            let error = text(wrong).unwrap_err();
            assert_eq!(error.path, "maxFailures");
            assert_eq!(error.value, format!("{wrong:?}"));
        }
        let error = Amount::parse(&IntOrString::Int(-1), "strategy.progressive.maxFailures").unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot accept strategy.progressive.maxFailures = -1: a negative number; accepted: a whole number from 0, \
             such as 3, or a percentage from 0% to 100%, such as 25%"
        );
    }

    #[test]
    fn ceilings_are_those_of_a_64_bit_float() {
        let cases = [
            (7.0, 100, 8),
            (14.0, 100, 15),
            (28.0, 100, 29),
            (14.0, 50, 8),
            (33.0, 10, 4),
            (0.0, 9, 0),
        ];
        for (percent, total, expected) in cases {
            assert_eq!(
                Amount::Percent(percent).of(total),
                expected,
                "{percent} % of {total}"
            );
        }
    }

    #[test]
    fn a_budget_is_clamped_and_slots_default_to_all() {
        assert_eq!(Amount::Clusters(9).budget(4), 4);
        assert_eq!(Amount::Clusters(2).budget(4), 2);
        assert_eq!(Amount::NONE.budget(4), 0);
        assert_eq!([0, 3, 4, 9].map(|n| Amount::Clusters(n).slots(4)), [4, 3, 4, 4]);
    }
}
