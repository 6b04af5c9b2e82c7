//! Equality and order across types. Both walk containers element by element and pay for it: a small value can
//! stand for an enormous tree when its parts are shared.

use std::cmp::Ordering;

use super::{Key, Val};
use crate::budget::Meter;
use crate::error::Failure;

/// CEL equality: numbers compare by value across types, different kinds are unequal, never an error.
pub(crate) fn equal(left: &Val, right: &Val, meter: &mut Meter<'_>) -> Result<bool, Failure> {
    let same = match (left, right) {
        (Val::Null, Val::Null) => true,
        (Val::Bool(left), Val::Bool(right)) => left == right,
        (Val::String(left), Val::String(right)) => {
            meter.charge_text(left.len().min(right.len()))?;
            left == right
        }
        (Val::Bytes(left), Val::Bytes(right)) => {
            meter.charge_text(left.len().min(right.len()))?;
            left == right
        }
        (Val::List(left), Val::List(right)) => left.equals(right, meter)?,
        (Val::Map(left), Val::Map(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            for (left, right) in left.entries().iter().zip(right.entries()) {
                meter.charge(1)?;
                if let (Key::String(left), Key::String(right)) = (&left.0, &right.0) {
                    meter.charge_text(left.len().min(right.len()))?;
                }
                if left.0 != right.0 || !equal(&left.1, &right.1, meter)? {
                    return Ok(false);
                }
            }
            true
        }
        (Val::Optional(Some(left)), Val::Optional(Some(right))) => {
            meter.charge(1)?;
            equal(left, right, meter)?
        }
        (Val::Optional(left), Val::Optional(right)) => left.is_none() && right.is_none(),
        (Val::Timestamp(left), Val::Timestamp(right)) => left == right,
        (Val::Duration(left), Val::Duration(right)) => left == right,
        (Val::Type(left), Val::Type(right)) => left == right,
        (Val::Quantity(left), Val::Quantity(right)) => left == right,
        (Val::Semver(left), Val::Semver(right)) => {
            meter.charge_text(left.pre.len().min(right.pre.len()))?;
            left.cmp_precedence(right).is_eq()
        }
        (Val::Url(left), Val::Url(right)) => {
            meter.charge_text(left.text().len().min(right.text().len()))?;
            left.text() == right.text()
        }
        (Val::Ip(left), Val::Ip(right)) => left == right,
        (Val::Cidr(left), Val::Cidr(right)) => left == right,
        (Val::Format(left), Val::Format(right)) => left == right,
        _ => return Ok(numeric_order(left, right).is_some_and(Ordering::is_eq)),
    };
    Ok(same)
}

/// The order of two values of an ordered type; `None` when the types have no common order. Comparing with NaN is
/// neither less, equal nor greater, which the caller sees as [`Order::Unordered`].
pub(crate) fn compare(left: &Val, right: &Val, meter: &mut Meter<'_>) -> Result<Option<Order>, Failure> {
    let order = match (left, right) {
        (Val::String(left), Val::String(right)) => {
            meter.charge_text(left.len().min(right.len()))?;
            left.cmp(right)
        }
        (Val::Bytes(left), Val::Bytes(right)) => {
            meter.charge_text(left.len().min(right.len()))?;
            left.cmp(right)
        }
        (Val::Bool(left), Val::Bool(right)) => left.cmp(right),
        (Val::Timestamp(left), Val::Timestamp(right)) => left.cmp(right),
        (Val::Duration(left), Val::Duration(right)) => left.cmp(right),
        _ if is_number(left) && is_number(right) => {
            return Ok(Some(
                numeric_order(left, right).map_or(Order::Unordered, Order::Ordered),
            ));
        }
        _ => return Ok(None),
    };
    Ok(Some(Order::Ordered(order)))
}

/// The outcome of a comparison between comparable types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Ordered(Ordering),
    Unordered,
}

fn is_number(value: &Val) -> bool {
    matches!(value, Val::Int(_) | Val::Uint(_) | Val::Double(_))
}

fn numeric_order(left: &Val, right: &Val) -> Option<Ordering> {
    match (left, right) {
        (Val::Int(left), Val::Int(right)) => Some(left.cmp(right)),
        (Val::Uint(left), Val::Uint(right)) => Some(left.cmp(right)),
        (Val::Double(left), Val::Double(right)) => left.partial_cmp(right),
        (Val::Int(left), Val::Uint(right)) => Some(int_to_uint_order(*left, *right)),
        (Val::Uint(left), Val::Int(right)) => Some(int_to_uint_order(*right, *left).reverse()),
        // As in cel-go: the integer becomes a double, so that those beyond 2^53 equal doubles near them.
        (Val::Int(left), Val::Double(right)) => (*left as f64).partial_cmp(right),
        (Val::Uint(left), Val::Double(right)) => (*left as f64).partial_cmp(right),
        (Val::Double(_), Val::Int(_) | Val::Uint(_)) => numeric_order(right, left).map(Ordering::reverse),
        _ => None,
    }
}

pub(super) fn int_to_uint_order(left: i64, right: u64) -> Ordering {
    i128::from(left).cmp(&i128::from(right))
}

/// The integer a double stands for exactly.
pub(super) fn double_to_int(value: f64) -> Option<i64> {
    // 2^63 itself is representable as a double and out of range, hence the strict upper bound.
    let in_range = value >= i64::MIN as f64 && value < i64::MAX as f64;
    (in_range && value.fract() == 0.0).then_some(value as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::value::{Numbers, from_json};

    #[test]
    fn keys_of_maps_that_are_compared_are_paid_for_by_their_length() {
        let map = || from_json(&serde_json::json!({ "k".repeat(100_000): 1 }), Numbers::Typed);
        let mut budget = Budget::per_cluster();
        assert_eq!(equal(&map(), &map(), &mut budget.meter()), Ok(true));
        assert!(budget.spent() >= 10_000, "{}", budget.spent());
    }

    #[test]
    fn an_integer_is_compared_with_a_double_as_a_double() {
        let big = 9_007_199_254_740_993_i64;
        let order = numeric_order(&Val::Int(big), &Val::Double(9_007_199_254_740_992.0));
        assert_eq!(order, Some(Ordering::Equal));
        let order = numeric_order(&Val::Uint(u64::MAX), &Val::Double(18_446_744_073_709_551_616.0));
        assert_eq!(order, Some(Ordering::Equal));
    }

    #[test]
    fn fractions_and_infinities_keep_their_place_between_integers() {
        let order = |int, double| numeric_order(&Val::Int(int), &Val::Double(double));
        assert_eq!(order(1, 1.5), Some(Ordering::Less));
        assert_eq!(order(-1, -1.5), Some(Ordering::Greater));
        assert_eq!(order(i64::MAX, f64::INFINITY), Some(Ordering::Less));
        assert_eq!(order(i64::MIN, f64::NEG_INFINITY), Some(Ordering::Greater));
        assert_eq!(order(0, f64::NAN), None);
    }
}
