//! Tokens and what they cost.

use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign};

/// Tokens of one answer, or of many together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// All tokens of the request, those from the provider's cache included.
    pub input_tokens: u64,
    /// Those of the request that came from the provider's cache.
    pub cached_tokens: u64,
    /// The tokens of the answer.
    pub output_tokens: u64,
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            cached_tokens: self.cached_tokens.saturating_add(other.cached_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    /// Of the request.
    pub input: f64,
    /// Of the part of the request that came from the cache; the price of the request where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
    /// Of the answer.
    pub output: f64,
}

impl Prices {
    /// What this many tokens cost in millionths of a dollar, rounded half up.
    pub fn cost_micros(&self, usage: &Usage) -> u64 {
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let fresh = usage.input_tokens - cached;
        // A dollar for a million tokens is a millionth of a dollar for one.
        let micros = fresh as f64 * self.input
            + cached as f64 * self.cached.unwrap_or(self.input)
            + usage.output_tokens as f64 * self.output;
        // The conversion saturates, and what is no number costs nothing.
        (micros + 0.5).floor() as u64
    }

    /// The first price that is none.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let prices = [("input", Some(self.input)), ("cached", self.cached), ("output", Some(self.output))];
        let bad = |price: &f64| !price.is_finite() || *price < 0.0;
        prices.into_iter().find(|(_, price)| price.as_ref().is_some_and(bad)).map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input_tokens: u64, cached_tokens: u64, output_tokens: u64) -> Usage {
        Usage { input_tokens, cached_tokens, output_tokens }
    }

    #[test]
    fn a_cost_counts_cached_tokens_once_and_rounds_half_up() {
        let prices = Prices { input: 2.5, cached: Some(0.25), output: 10.0 };
        for (tokens, micros) in [
            (usage(0, 0, 0), 0),
            (usage(1_000_000, 0, 0), 2_500_000),
            (usage(1_000_000, 1_000_000, 0), 250_000),
            (usage(1_000, 400, 10), 1_500 + 100 + 100),
            (usage(1, 0, 0), 3),
            (usage(1, 1, 0), 0),
            (usage(2, 2, 0), 1),
            // More from the cache than there was: still no more than all of it.
            (usage(4, 9, 0), 1),
        ] {
            assert_eq!(prices.cost_micros(&tokens), micros, "{tokens:?}");
        }
        let uncached = Prices { cached: None, ..prices };
        assert_eq!(uncached.cost_micros(&usage(1_000, 400, 0)), 2_500);
    }

    #[test]
    fn usages_add_up() {
        let mut sum = usage(1, 2, 3) + usage(10, 20, 30);
        sum += usage(100, 200, 300);
        assert_eq!(sum, usage(111, 222, 333));
        assert_eq!((usage(u64::MAX, 0, 0) + usage(1, 0, 0)).input_tokens, u64::MAX);
    }

    #[test]
    fn a_price_below_nothing_is_a_fault() {
        assert_eq!(Prices { input: 1.0, cached: None, output: 0.0 }.fault(), None);
        assert_eq!(Prices { input: 1.0, cached: Some(-0.1), output: 0.0 }.fault(), Some("cached"));
        assert_eq!(Prices { input: 1.0, cached: None, output: f64::NAN }.fault(), Some("output"));
    }
}
