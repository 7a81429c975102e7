//! Numbers of JSON, compared exactly: 1 is 1.0, and 0.0075 is a multiple of 0.0001.

use serde_json::Number;
use std::{cmp::Ordering, fmt};

/// A number as what it is, not as how it was written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Exact {
    Whole(i128),
    /// One that has a fraction, or is past what [`Self::Whole`] holds.
    Real(f64),
}

/// Doubles up to here are held as whole numbers if they are: as far as whole numbers of JSON text go.
const WHOLE_UP_TO: f64 = 18_446_744_073_709_551_616.0;

impl Exact {
    pub(super) fn of(number: &Number) -> Self {
        if let Some(whole) = number.as_i64() {
            return Self::Whole(whole.into());
        }
        if let Some(whole) = number.as_u64() {
            return Self::Whole(whole.into());
        }
        let real = number.as_f64().unwrap_or(f64::MAX);
        if real.fract() == 0.0 && real.abs() <= WHOLE_UP_TO {
            Self::Whole(real as i128)
        } else {
            Self::Real(real)
        }
    }

    pub(super) fn is_whole(self) -> bool {
        match self {
            Self::Whole(_) => true,
            Self::Real(real) => real.fract() == 0.0,
        }
    }

    /// What is equal has the same bits.
    pub(super) fn bits(self) -> u128 {
        match self {
            Self::Whole(whole) => whole.cast_unsigned(),
            // No whole number here has these upper bits.
            Self::Real(real) => u128::from(real.to_bits()) | (0x7ff0_u128 << 112),
        }
    }

    pub(super) fn compare(self, other: Self) -> Ordering {
        // A double that is no whole number here is either so small that whole numbers near it are exact, or past all of them.
        let real = |one: Self| match one {
            Self::Whole(whole) => whole as f64,
            Self::Real(real) => real,
        };
        match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => one.cmp(&other),
            (Self::Whole(_) | Self::Real(_), _) => real(self).total_cmp(&real(other)),
        }
    }

    /// Whether this is so many times `other`, which is above zero. Both are taken as the decimals they are written as.
    pub(super) fn is_multiple_of(self, other: Self) -> bool {
        if let (Self::Whole(one), Self::Whole(other)) = (self, other) {
            return other != 0 && one % other == 0;
        }
        let (Some(one), Some(other)) = (Decimal::of(self), Decimal::of(other)) else { return false };
        if one.digits == 0 {
            return true;
        }
        match usize::try_from(one.exponent - other.exponent) {
            Ok(more) => {
                let ten = power_of_ten(more, other.digits);
                (one.digits % other.digits * ten).is_multiple_of(other.digits)
            }
            Err(_) => {
                let mut digits = one.digits;
                for _ in one.exponent..other.exponent {
                    if digits % 10 != 0 {
                        return false;
                    }
                    digits /= 10;
                }
                digits % other.digits == 0
            }
        }
    }
}

/// What is left of 10^`exponent`.
fn power_of_ten(mut exponent: usize, modulus: u128) -> u128 {
    let (mut power, mut square) = (1 % modulus, 10 % modulus);
    while exponent > 0 {
        if exponent % 2 == 1 {
            power = power * square % modulus;
        }
        square = square * square % modulus;
        exponent /= 2;
    }
    power
}

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(whole) => write!(f, "{whole}"),
            Self::Real(real) => write!(f, "{real}"),
        }
    }
}

/// `digits * 10^exponent`, without its sign. Digits are at most 2^64, so that the product of two rests is an `u128`.
struct Decimal {
    digits: u128,
    exponent: i32,
}

impl Decimal {
    fn of(number: Exact) -> Option<Self> {
        let text = match number {
            Exact::Whole(whole) => format!("{:e}", whole.unsigned_abs()),
            // The shortest decimal that reads as this double, as a person would write it.
            Exact::Real(real) => format!("{:e}", real.abs()),
        };
        let (digits, exponent) = text.split_once('e')?;
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
        let exponent = exponent.parse::<i32>().ok()? - i32::try_from(fraction.len()).ok()?;
        Some(Self { digits, exponent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn exact(value: &Value) -> Exact {
        match value {
            Value::Number(number) => Exact::of(number),
            Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                panic!("{value}")
            }
        }
    }

    #[test]
    fn numbers_are_compared_as_what_they_are() {
        for (one, other, order) in [
            (json!(1), json!(1.0), Ordering::Equal),
            (json!(0.5), json!(1), Ordering::Less),
            (json!(-1), json!(-1.5), Ordering::Greater),
            (json!(u64::MAX), json!(u64::MAX - 1), Ordering::Greater),
            (json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992.0), Ordering::Greater),
            (json!(1e300), json!(u64::MAX), Ordering::Greater),
            (json!(-1e300), json!(i64::MIN), Ordering::Less),
            (json!(1e300), json!(1e299), Ordering::Greater),
        ] {
            assert_eq!(exact(&one).compare(exact(&other)), order, "{one} {other}");
            assert_eq!(exact(&other).compare(exact(&one)), order.reverse(), "{other} {one}");
            assert_eq!(exact(&one).bits() == exact(&other).bits(), order.is_eq(), "{one} {other}");
        }
        assert_eq!(exact(&json!(-0.0)).bits(), exact(&json!(0)).bits());
    }

    #[test]
    fn multiples_are_those_of_the_decimals_as_written() {
        for (one, other, is_multiple) in [
            (json!(6), json!(3), true),
            (json!(7), json!(3), false),
            (json!(-6), json!(3), true),
            (json!(0.0075), json!(0.0001), true),
            (json!(0.00751), json!(0.0001), false),
            (json!(4.5), json!(1.5), true),
            (json!(4.5), json!(1), false),
            (json!(0), json!(1.5), true),
            (json!(12_391_239_123_i64), json!(1e-8), true),
            (json!(1e308), json!(0.123_456_789), false),
            (json!(1e308), json!(0.5), true),
            (json!(1e308), json!(1e-300), true),
            (json!(1e-300), json!(1e308), false),
            (json!(300), json!(1e2), true),
            (json!(u64::MAX), json!(0.5), true),
        ] {
            assert_eq!(exact(&one).is_multiple_of(exact(&other)), is_multiple, "{one} {other}");
        }
    }
}
