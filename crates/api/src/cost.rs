//! What was spent, on the wire (OB-04).

use cardwire_kernel::{
    CostBy,
    composer::cost::{Spent, Sums},
};
use serde::Serialize;
use utoipa::ToSchema;

/// Sums of what calls of models have cost.
#[derive(Debug, Serialize, ToSchema)]
pub struct CostOut {
    /// By what: `agent`, `turn`, `step`, `model`, `layer` or `card`.
    pub by: &'static str,
    /// All together.
    pub total: SpentOut,
    /// By name, in its order. They come to the total: by layer and card with the rows `answer` (what models said),
    /// `provider difference` (what the provider counted otherwise than what was shown, and what is left of the cost) and
    /// `not composed here` (calls that workers made by themselves).
    pub items: Vec<NamedSpentOut>,
}

/// What was spent.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct SpentOut {
    /// Calls of models that were answered.
    pub calls: u64,
    /// Tokens sent. Below zero in the row `provider difference`, where the provider counted less than what was shown.
    pub input_tokens: i64,
    /// Those of them that the provider had read before.
    pub cached_tokens: u64,
    /// Tokens answered.
    pub output_tokens: u64,
    /// Millionths of a dollar, of the calls whose prices are known; null where no price of any is known.
    pub cost_micros: Option<u64>,
    /// How many of the calls have no known price: the cost is without them.
    pub unpriced_calls: u64,
}

/// What was spent under a name.
#[derive(Debug, Serialize, ToSchema)]
pub struct NamedSpentOut {
    /// The agent, turn, step, model, layer or card.
    pub name: String,
    /// What was spent. By layer and card: tokens that were sent, and that part of the call's cost.
    #[serde(flatten)]
    pub spent: SpentOut,
}

impl From<Spent> for SpentOut {
    fn from(spent: Spent) -> Self {
        let cost_micros = spent.known_cost();
        let Spent { calls, input_tokens, cached_tokens, output_tokens, unpriced_calls, .. } = spent;
        Self { calls, input_tokens, cached_tokens, output_tokens, cost_micros, unpriced_calls }
    }
}

impl CostOut {
    /// Sums as they were made.
    pub fn new(by: CostBy, total: Spent, sums: Sums) -> Self {
        let item = |(name, spent): (String, Spent)| NamedSpentOut { name, spent: spent.into() };
        Self { by: by.as_str(), total: total.into(), items: sums.into_iter().map(item).collect() }
    }
}
