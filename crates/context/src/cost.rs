//! What calls of models cost (OB-04): what a step says of its call, summed, and shared out over what the call showed.

use serde_json::Value;
use std::collections::BTreeMap;

/// What was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Calls of models.
    pub calls: u64,
    /// Tokens sent. What a provider counted less than was estimated is below zero.
    pub input_tokens: i64,
    /// Those of them that the provider had read before.
    pub cached_tokens: u64,
    /// Tokens answered.
    pub output_tokens: u64,
    /// Millionths of a dollar, of the calls whose prices are known.
    pub cost_micros: u64,
    /// How many of the calls have no known price.
    pub unpriced_calls: u64,
}

impl Spent {
    /// What a step's metadata says; nothing if it called no model, or was not answered.
    pub fn of_step(metadata: &Value) -> Option<Self> {
        let usage = metadata.get("usage")?.as_object()?;
        let number = |value: Option<&Value>| value.and_then(Value::as_u64).unwrap_or(0);
        let cost = metadata.get("cost_micros").and_then(Value::as_u64);
        Some(Self {
            calls: 1,
            input_tokens: i64::try_from(number(usage.get("input_tokens"))).unwrap_or(i64::MAX),
            cached_tokens: number(usage.get("cached_tokens")),
            output_tokens: number(usage.get("output_tokens")),
            cost_micros: cost.unwrap_or(0),
            unpriced_calls: u64::from(cost.is_none()),
        })
    }

    /// Both together.
    pub fn add(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cost_micros = self.cost_micros.saturating_add(other.cost_micros);
        self.unpriced_calls = self.unpriced_calls.saturating_add(other.unpriced_calls);
    }

    /// What was spent in millionths of a dollar, as far as it is known; none where calls were made and no price of any is
    /// known (F-13).
    pub fn known_cost(&self) -> Option<u64> {
        (self.calls == 0 || self.unpriced_calls < self.calls).then_some(self.cost_micros)
    }
}

/// Sums by name.
pub type Sums = BTreeMap<String, Spent>;

/// Adds what was spent under a name.
pub fn add(sums: &mut Sums, name: impl Into<String>, spent: Spent) {
    sums.entry(name.into()).or_default().add(spent);
}

/// The row of what models answered.
pub const ANSWER: &str = "answer";
/// The row of what the provider counted otherwise than what was shown: more, or less; what it had read before; and what is
/// left of the cost.
pub const PROVIDER_DIFFERENCE: &str = "provider difference";
/// The row of calls that were not composed here, so that nobody knows what they showed.
pub const UNKNOWN: &str = "not composed here";

/// Shares a call out over what it showed, by tokens. The cost of a share is that part of the call's, rounded down. What was
/// answered, and what the provider counted otherwise, have rows of their own, so that all rows come to the call again.
pub fn share(sums: &mut Sums, spent: Spent, shown: &[(String, u32)]) {
    let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, tokens) in shown {
        *by_name.entry(name).or_default() += u64::from(*tokens);
    }
    let total: u64 = by_name.values().sum();
    let signed = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    // What every row has of a call: that it was one, and whether its price is known.
    let of_call = Spent { calls: 1, unpriced_calls: spent.unpriced_calls, ..Spent::default() };
    let mut rest = Spent { calls: 1, output_tokens: 0, ..spent };
    rest.input_tokens = rest.input_tokens.saturating_sub(signed(total));
    for (name, tokens) in by_name {
        let cost = spent.cost_micros.saturating_mul(tokens).checked_div(total).unwrap_or(0);
        rest.cost_micros = rest.cost_micros.saturating_sub(cost);
        add(sums, name, Spent { input_tokens: signed(tokens), cost_micros: cost, ..of_call });
    }
    if rest != of_call {
        add(sums, PROVIDER_DIFFERENCE, rest);
    }
    if spent.output_tokens > 0 {
        add(sums, ANSWER, Spent { output_tokens: spent.output_tokens, ..of_call });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// OB-04
    #[test]
    fn a_step_says_what_its_call_cost() {
        let step = json!({
            "usage": { "input_tokens": 10, "cached_tokens": 4, "output_tokens": 3 }, "cost_micros": 7,
        });
        let expected = Spent {
            calls: 1,
            input_tokens: 10,
            cached_tokens: 4,
            output_tokens: 3,
            cost_micros: 7,
            unpriced_calls: 0,
        };
        assert_eq!(Spent::of_step(&step), Some(expected));
        for none in [json!({}), json!({ "usage": 3 }), json!({ "cost_micros": 9 })] {
            assert_eq!(Spent::of_step(&none), None, "{none}");
        }
        let mut sums = Sums::new();
        add(&mut sums, "a", expected);
        add(&mut sums, "a", expected);
        assert_eq!(
            sums["a"],
            Spent {
                calls: 2,
                input_tokens: 20,
                cached_tokens: 8,
                output_tokens: 6,
                cost_micros: 14,
                unpriced_calls: 0
            }
        );
    }

    /// F-13: nothing, and nobody knows what, are not the same.
    #[test]
    fn a_call_without_a_price_has_no_cost_and_a_sum_says_how_many_there_are() {
        let step = |cost: Value| json!({ "usage": { "input_tokens": 1 }, "cost_micros": cost });
        let spent = |cost: Value| Spent::of_step(&step(cost)).unwrap();
        let (free, unknown, priced) = (spent(json!(0)), spent(json!(null)), spent(json!(5)));
        assert_eq!((free.known_cost(), unknown.known_cost(), priced.known_cost()), (Some(0), None, Some(5)));
        assert_eq!(Spent::default().known_cost(), Some(0), "no call");
        let mut sum = unknown;
        sum.add(unknown);
        assert_eq!((sum.known_cost(), sum.unpriced_calls), (None, 2));
        sum.add(priced);
        assert_eq!((sum.known_cost(), sum.unpriced_calls, sum.calls), (Some(5), 2, 3));
        let mut sums = Sums::new();
        share(&mut sums, unknown, &[("query".to_owned(), 3)]);
        assert_eq!(sums["query"].known_cost(), None);
    }

    /// OB-04, F-05
    #[test]
    fn a_call_is_shared_out_over_what_it_showed_and_all_rows_come_to_it_again() {
        let mut sums = Sums::new();
        let spent = Spent {
            calls: 1,
            input_tokens: 999,
            output_tokens: 5,
            cost_micros: 101,
            cached_tokens: 7,
            ..Spent::default()
        };
        let shown = [("query".to_owned(), 30), ("turn".to_owned(), 10), ("turn".to_owned(), 60)];
        share(&mut sums, spent, &shown);
        assert_eq!((sums["query"].input_tokens, sums["query"].cost_micros), (30, 30));
        assert_eq!((sums["turn"].input_tokens, sums["turn"].cost_micros), (70, 70));
        assert_eq!(sums["turn"].calls, 1, "one call, whatever it showed");
        let rest =
            Spent { calls: 1, input_tokens: 899, cached_tokens: 7, cost_micros: 1, ..Spent::default() };
        assert_eq!((sums[PROVIDER_DIFFERENCE], sums[ANSWER].output_tokens), (rest, 5));
        // A provider may count less, or say nothing of what it costs.
        let less = Spent { calls: 1, input_tokens: 90, ..Spent::default() };
        share(&mut sums, less, &shown);
        share(&mut sums, spent, &[("empty".to_owned(), 0)]);
        assert_eq!(sums["empty"].cost_micros, 0);
        let mut all = Spent::default();
        sums.values().for_each(|row| all.add(*row));
        assert_eq!((all.input_tokens, all.cached_tokens), (999 + 90 + 999, 14));
        assert_eq!((all.output_tokens, all.cost_micros), (10, 202));
    }

    /// F-05
    #[test]
    fn a_call_that_the_provider_counts_alike_has_no_row_for_that() {
        let mut sums = Sums::new();
        let spent = Spent { calls: 1, input_tokens: 10, cost_micros: 20, ..Spent::default() };
        share(&mut sums, spent, &[("query".to_owned(), 10)]);
        assert_eq!(sums.keys().collect::<Vec<_>>(), ["query"]);
    }
}
