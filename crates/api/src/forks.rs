//! Forks and replays of turns on the wire (RP-05, RP-06).

use crate::parse;
use cardwire_kernel::{
    ForkAt, ForkPlan, ForkRequest, Swap,
    protocol::turn::{dispatch::Receipt, without},
};
use cardwire_model::{Invalid, TurnId, limits};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A request to fork a turn: the call that the fork makes anew, and what the fork changes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnForkIn {
    /// The model call that is made anew: its number, from 1, or its step, `step_…`. The first when absent.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub at: Option<String>,
    /// Layers to leave out, e.g. `knowledge`.
    #[serde(default)]
    pub without_layers: Vec<String>,
    /// Cards that are put in the place of others.
    #[serde(default)]
    pub swaps: Vec<SwapIn>,
    /// The model to ask instead.
    #[serde(default)]
    #[schema(min_length = 1)]
    pub model: Option<String>,
    /// The instruction to give instead.
    #[serde(default)]
    #[schema(min_length = 1)]
    pub instruction: Option<String>,
}

/// A card, and the one that takes its place.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SwapIn {
    /// A card that the turn was given or has written.
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub old: String,
    /// The card that the fork has instead.
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub new: String,
}

impl TurnForkIn {
    /// The request in the kernel's terms.
    pub fn into_request(self, turn: TurnId) -> Result<ForkRequest, Invalid> {
        let at = match self.at.as_deref() {
            None => ForkAt::Call(1),
            Some(text) => match text.parse() {
                Ok(number) => ForkAt::Call(number),
                Err(_) => ForkAt::Step(step(text)?),
            },
        };
        Invalid::check_size("swaps", self.swaps.len(), limits::FORK_SWAPS, "swaps")?;
        let layer =
            |(index, name): (usize, &String)| without::layer(&format!("without_layers/{index}"), name);
        let swap = |(index, swap): (usize, &SwapIn)| {
            Ok(Swap {
                old: parse::one(&format!("swaps/{index}/old"), &swap.old)?,
                new: parse::one(&format!("swaps/{index}/new"), &swap.new)?,
            })
        };
        let words = |field: &str, text: Option<String>| match text {
            Some(text) if text.trim().is_empty() => Err(Invalid::field(field, "must not be blank")),
            text => Ok(text),
        };
        Ok(ForkRequest {
            turn,
            at,
            without: self.without_layers.iter().enumerate().map(layer).collect::<Result<_, _>>()?,
            swaps: self.swaps.iter().enumerate().map(swap).collect::<Result<_, Invalid>>()?,
            model: words("model", self.model)?,
            instruction: words("instruction", self.instruction)?,
        })
    }
}

fn step(text: &str) -> Result<cardwire_model::StepId, Invalid> {
    let step = text.starts_with("step_").then(|| text.parse().ok()).flatten();
    step.ok_or_else(|| Invalid::field("at", "must be a number or the id of a step, `step_…`"))
}

/// A fork that was dispatched.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TurnForkOut {
    /// The new turn.
    pub agent_turn_id: String,
    /// The agent that runs it, made for it.
    pub agent_id: String,
    /// The turn it goes on from.
    pub forked_from: String,
    /// The number of the call that is made anew.
    pub at: usize,
    /// How many cards the original had written before that call.
    pub kept_cards: usize,
    /// Layers to leave out that the original's call did not have.
    pub absent_layers: Vec<&'static str>,
    /// What it is given.
    pub context_box_id: String,
    /// Where it writes.
    pub output_box_id: String,
}

impl TurnForkOut {
    /// The fork of a plan.
    pub fn new(plan: &ForkPlan, receipt: &Receipt) -> Self {
        Self {
            agent_turn_id: receipt.turn_id.to_string(),
            agent_id: receipt.agent_id.to_string(),
            forked_from: plan.original.to_string(),
            at: plan.at,
            kept_cards: plan.written.len(),
            absent_layers: plan.absent.iter().map(|layer| layer.as_str()).collect(),
            context_box_id: receipt.context_box.to_string(),
            output_box_id: receipt.output_box.to_string(),
        }
    }
}

/// What running a turn again came to. Nothing is called and nothing is written for it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ReplayOut {
    /// The turn.
    pub agent_turn_id: String,
    /// It wrote the same cards and ended in the same way, and every request was rendered again byte for byte.
    pub same: bool,
    /// Its calls of models.
    pub calls: Vec<ReplayedCallOut>,
    /// How many cards were compared.
    pub cards: usize,
    /// What differs, in words.
    pub differences: Vec<String>,
}

/// A call of a turn that was run again.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ReplayedCallOut {
    /// The call.
    pub call_id: String,
    /// Its request was rendered again with the hash it had.
    pub hash_ok: bool,
}
