//! Sums of Kubernetes quantities. By hand: the crates that read quantities bring a Kubernetes version of their own, and
//! the engine reads them as floats, which do not add up exactly.

use std::fmt;

use portolan_cel::Quantity;

/// A sum of quantities, exact to the nano unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    nanos: i128,
    /// Whether a quantity was given in powers of two.
    binary: bool,
}

const NANO: i128 = 1_000_000_000;

impl Sum {
    /// Adds a quantity. What is none, or too large to be one, is left out.
    pub(super) fn add(&mut self, text: &str) {
        if let Some(quantity) = Quantity::parse(text)
            && let Some(sum) = self.nanos.checked_add(quantity.nanos())
        {
            self.nanos = sum;
            self.binary |= text.ends_with('i');
        }
    }
}

impl fmt::Display for Sum {
    /// The largest suffix that leaves a whole number, as servers write it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.nanos % NANO == 0;
        if whole && self.binary && self.nanos != 0 {
            let units = self.nanos / NANO;
            for (power, suffix) in [
                (60, "Ei"),
                (50, "Pi"),
                (40, "Ti"),
                (30, "Gi"),
                (20, "Mi"),
                (10, "Ki"),
            ] {
                if units % (1i128 << power) == 0 {
                    return write!(formatter, "{}{suffix}", units >> power);
                }
            }
            return write!(formatter, "{units}");
        }
        if self.nanos == 0 {
            return formatter.write_str("0");
        }
        let suffixes = ["E", "P", "T", "G", "M", "k", "", "m", "u", "n"];
        for (position, suffix) in suffixes.iter().enumerate() {
            let unit = 1000i128.pow(u32::try_from(suffixes.len() - 1 - position).unwrap_or_default());
            if self.nanos % unit == 0 {
                return write!(formatter, "{}{suffix}", self.nanos / unit);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum(quantities: &[&str]) -> String {
        let mut sum = Sum::default();
        quantities.iter().for_each(|quantity| sum.add(quantity));
        sum.to_string()
    }

    #[test]
    fn quantities_add_up_exactly_and_are_written_as_servers_write_them() {
        for (quantities, expected) in [
            (&["3900m", "100m"][..], "4"),
            (&["3900m", "3900m"], "7800m"),
            (&["16Gi", "512Mi"], "16896Mi"),
            (&["32780496Ki", "1Ki"], "32780497Ki"),
            (&["1000", "1000"], "2k"),
            (&["0.5", "1.25"], "1750m"),
            (&["1e3", "24"], "1024"),
            (&["100n"], "100n"),
            (&["1e-3", "1"], "1001m"),
            (&["0.1n", "1"], "1000000001n"),
            (&["--5", "5"], "5"),
            (&["110", "110"], "220"),
            (&[], "0"),
            (&["nonsense", "5"], "5"),
        ] {
            assert_eq!(sum(quantities), expected, "{quantities:?}");
        }
    }

    proptest! {
        #[test]
        fn a_sum_reads_as_itself(quantities in proptest::collection::vec("[0-9]{1,6}(m|k|M|Ki|Mi|Gi|)", 0..6)) {
            let mut sum = Sum::default();
            quantities.iter().for_each(|quantity| sum.add(quantity));
            let mut again = Sum::default();
            again.add(&sum.to_string());
            prop_assert_eq!(again.nanos, sum.nanos);
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,40}") {
            Sum::default().add(&text);
        }
    }
}
