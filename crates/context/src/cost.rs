//! What calls of models cost (OB-04): what a step says of its call, summed, and shared out over what the call showed.

use serde_json::Value;
use std::collections::BTreeMap;

/// What was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Calls of models.
    pub calls: u64,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Those of them that the provider had read before.
    pub cached_tokens: u64,
    /// Tokens answered.
    pub output_tokens: u64,
    /// Millionths of a dollar, where prices are known.
    pub cost_micros: u64,
}

impl Spent {
    /// What a step's metadata says; nothing if it called no model, or was not answered.
    pub fn of_step(metadata: &Value) -> Option<Self> {
        let usage = metadata.get("usage")?.as_object()?;
        let number = |value: Option<&Value>| value.and_then(Value::as_u64).unwrap_or(0);
        Some(Self {
            calls: 1,
            input_tokens: number(usage.get("input_tokens")),
            cached_tokens: number(usage.get("cached_tokens")),
            output_tokens: number(usage.get("output_tokens")),
            cost_micros: number(metadata.get("cost_micros")),
        })
    }

    /// Both together.
    pub fn add(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cost_micros = self.cost_micros.saturating_add(other.cost_micros);
    }
}

/// Sums by name.
pub type Sums = BTreeMap<String, Spent>;

/// Adds what was spent under a name.
pub fn add(sums: &mut Sums, name: impl Into<String>, spent: Spent) {
    sums.entry(name.into()).or_default().add(spent);
}

/// Shares a call out over what it showed, by tokens. What was answered is nobody's but the call's, and is left out; the cost
/// of a share is that part of the call's, rounded down.
pub fn share(sums: &mut Sums, spent: Spent, shown: &[(String, u32)]) {
    let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, tokens) in shown {
        *by_name.entry(name).or_default() += u64::from(*tokens);
    }
    let total: u64 = by_name.values().sum();
    for (name, tokens) in by_name {
        let part = |of: u64| of.saturating_mul(tokens).checked_div(total).unwrap_or(0);
        let spent = Spent {
            calls: 1,
            input_tokens: tokens,
            cached_tokens: 0,
            output_tokens: 0,
            cost_micros: part(spent.cost_micros),
        };
        add(sums, name, spent);
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
        let expected =
            Spent { calls: 1, input_tokens: 10, cached_tokens: 4, output_tokens: 3, cost_micros: 7 };
        assert_eq!(Spent::of_step(&step), Some(expected));
        for none in [json!({}), json!({ "usage": 3 }), json!({ "cost_micros": 9 })] {
            assert_eq!(Spent::of_step(&none), None, "{none}");
        }
        let mut sums = Sums::new();
        add(&mut sums, "a", expected);
        add(&mut sums, "a", expected);
        assert_eq!(
            sums["a"],
            Spent { calls: 2, input_tokens: 20, cached_tokens: 8, output_tokens: 6, cost_micros: 14 }
        );
    }

    /// OB-04
    #[test]
    fn a_call_is_shared_out_over_what_it_showed() {
        let mut sums = Sums::new();
        let spent =
            Spent { calls: 1, input_tokens: 999, output_tokens: 5, cost_micros: 100, ..Spent::default() };
        let shown = [("query".to_owned(), 30), ("turn".to_owned(), 10), ("turn".to_owned(), 60)];
        share(&mut sums, spent, &shown);
        assert_eq!((sums["query"].input_tokens, sums["query"].cost_micros), (30, 30));
        assert_eq!((sums["turn"].input_tokens, sums["turn"].cost_micros), (70, 70));
        assert_eq!(sums["turn"].calls, 1, "one call, whatever it showed");
        share(&mut sums, spent, &[("empty".to_owned(), 0)]);
        assert_eq!(sums["empty"].cost_micros, 0);
    }
}
