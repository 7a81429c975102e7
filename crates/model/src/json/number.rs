//! Numbers: 64-bit integers stay exact, everything else is a double in its shortest form, and a literal that
//! neither can hold is refused rather than rounded.

use std::borrow::Cow;

/// The decimal value of a literal: `digits × 10^exponent`, without leading or trailing zeros.
#[derive(PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

pub(super) fn canonical(literal: &str) -> Result<Cow<'_, str>, &'static str> {
    // The common case: a short plain integer is its own canonical form.
    if literal.len() <= 15 && plain_integer(literal) {
        return Ok(literal.into());
    }
    let exact = decimal(literal).ok_or("not JSON: a malformed number")?;
    if exact.digits.is_empty() {
        return Ok("0".into());
    }
    if let Some(integer) = as_integer(&exact) {
        return Ok(integer.into());
    }
    let double: f64 = literal.parse().map_err(|_| "not JSON: a malformed number")?;
    if !double.is_finite() {
        return Err("a number that no 64-bit integer or double holds exactly");
    }
    let shortest = ryu_js::Buffer::new().format_finite(double).to_owned();
    if decimal(&shortest).as_ref() == Some(&exact) {
        Ok(shortest.into())
    } else {
        Err("a number that no 64-bit integer or double holds exactly")
    }
}

fn plain_integer(literal: &str) -> bool {
    let digits = literal.strip_prefix('-').unwrap_or(literal);
    !digits.is_empty()
        && digits.bytes().all(|b| b.is_ascii_digit())
        && (digits == "0" && literal.len() == 1 || !digits.starts_with('0'))
}

fn decimal(literal: &str) -> Option<Decimal> {
    let (negative, rest) = match literal.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, literal),
    };
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => (&rest[..at], parse_exponent(&rest[at + 1..])?),
        None => (rest, 0),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return None,
        None => (mantissa, ""),
    };
    let legal = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !legal(whole) || !legal(fraction) || (whole.len() > 1 && whole.starts_with('0')) {
        return None;
    }
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0');
    let digits = significant.trim_end_matches('0').to_owned();
    let trailing = (significant.len() - digits.len()) as i64;
    let exponent = exponent.checked_sub(fraction.len() as i64)?.checked_add(trailing)?;
    Some(Decimal { negative, digits, exponent })
}

fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // An exponent too long for i64 is well-formed JSON; it is refused later as not exact.
    let size = digits.parse::<i64>().unwrap_or(i64::MAX / 4);
    Some(if text.starts_with('-') { -size } else { size })
}

fn as_integer(value: &Decimal) -> Option<String> {
    let zeros = usize::try_from(value.exponent).ok()?;
    if value.digits.len() + zeros.min(32) > 20 {
        return None;
    }
    let text = format!("{}{}{}", if value.negative { "-" } else { "" }, value.digits, "0".repeat(zeros));
    let fits = if value.negative { text.parse::<i64>().is_ok() } else { text.parse::<u64>().is_ok() };
    fits.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(literal: &str, expected: &str) {
        assert_eq!(canonical(literal).as_deref(), Ok(expected), "{literal}");
        assert_eq!(canonical(expected).as_deref(), Ok(expected), "{literal} is not stable");
    }

    /// CB-20: 64-bit integers survive exactly, doubles take the form of RFC 8785.
    #[test]
    fn numbers_have_one_form() {
        check("0", "0");
        check("-0", "0");
        check("-0.0", "0");
        check("1.0", "1");
        check("10", "10");
        check("1e2", "100");
        check("15e-1", "1.5");
        check("9223372036854775807", "9223372036854775807");
        check("-9223372036854775808", "-9223372036854775808");
        check("18446744073709551615", "18446744073709551615");
        check("0.1", "0.1");
        check("0.30000000000000004", "0.30000000000000004");
        check("1e20", "100000000000000000000");
        check("1e21", "1e+21");
        check("1E-7", "1e-7");
        check("4.50", "4.5");
        check("5e-324", "5e-324");
        check("1.7976931348623157e308", "1.7976931348623157e+308");
    }

    /// CB-20
    #[test]
    fn numbers_that_would_be_rounded_are_refused() {
        for literal in [
            "18446744073709551616",
            "-9223372036854775809",
            "0.1234567890123456789",
            "1e400",
            "1e-400",
            "1e99999999999999999999",
            "123456789012345678901234567890",
        ] {
            assert!(canonical(literal).is_err(), "{literal}");
        }
    }

    #[test]
    fn malformed_numbers_are_refused() {
        for literal in ["01", "-", "1.", ".5", "1e", "1e+", "--1", "1-1", "+1", "-01", "1.e5", "00"] {
            assert!(canonical(literal).is_err(), "{literal}");
        }
    }
}
