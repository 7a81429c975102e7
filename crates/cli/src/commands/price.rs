//! What calls of models have cost, as far as their prices are known. What is not known is never shown as nothing.

/// Shown where no price is known, or nothing was asked.
const UNKNOWN: &str = "—";

/// The price of so many calls: what is known of it, and how many of them have none.
pub(super) fn price(calls: u64, micros: Option<u64>, unpriced: u64) -> String {
    match micros.filter(|_| calls > 0 && unpriced < calls) {
        None => UNKNOWN.to_owned(),
        Some(micros) if unpriced == 0 => dollars(micros),
        Some(micros) => format!("{} + {unpriced} unpriced", dollars(micros)),
    }
}

/// Millionths of a dollar.
fn dollars(micros: u64) -> String {
    format!("${}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-13
    #[test]
    fn what_is_not_known_is_not_nothing() {
        for (calls, micros, unpriced, shown) in [
            (0, Some(0), 0, "—"),
            (2, None, 2, "—"),
            (2, Some(0), 2, "—"),
            (2, Some(0), 0, "$0.000000"),
            (2, Some(1_500_000), 0, "$1.500000"),
            (3, Some(7), 1, "$0.000007 + 1 unpriced"),
        ] {
            assert_eq!(price(calls, micros, unpriced), shown);
        }
    }
}
