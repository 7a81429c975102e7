//! Manifests: the record of what a model was sent (RP-01). References only; the request is rendered again from them.
//!
//! Long runs of history are kept as stretches of a box, so that a manifest does not grow with the history (NF-12).

use crate::{AgentId, BoxId, CardId, Generation, Seen, StepId, Timestamp, TurnId, inbox::names};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

names! {
    /// A named part of the context, in the order of placement `seed`.
    Layer {
        /// The agent's own prompt: private, never shared (CC-03).
        SystemPrompt = "system_prompt",
        /// Fixed constraints of protocol, output, runtime and tools.
        Framework = "framework",
        /// What came of earlier sessions.
        Experience = "experience",
        /// What was found in documents.
        Knowledge = "knowledge",
        /// What is to be done.
        Todo = "todo",
        /// What was compacted away.
        Compression = "compression",
        /// Blocks of users' own providers, by name.
        Extra = "extra",
        /// The conversation so far.
        Checkpoint = "checkpoint",
        /// What is asked now.
        Query = "query",
        /// What this turn has said and been told since.
        Turn = "turn",
        /// What the model may call: sent beside the messages.
        Tools = "tools",
    }
}

names! {
    /// Where the layers go (OB-05). Chosen once per deployment or team.
    Placement {
        /// The order of X-14.
        Seed = "seed",
        /// Stable layers and history first; experience, knowledge and todo after the history, before the query.
        Cache = "cache",
    }
}

names! {
    /// Whose rules a request must obey (OB-01).
    Provider {
        /// OpenAI chat completions and what speaks like it.
        OpenAiChat = "openai-chat",
        /// Anthropic messages.
        AnthropicMessages = "anthropic-messages",
    }
}

names! {
    /// Why something is in the request, or not (RP-04).
    Cause {
        /// The profile says it.
        Profile = "profile",
        /// A collector made the block.
        Collected = "collected",
        /// It is in the session's memory.
        Memory = "memory",
        /// It was in the output box before this turn.
        History = "history",
        /// It was packed or inherited into the context box.
        Context = "context",
        /// It is the instruction of this turn.
        Instruction = "instruction",
        /// This turn wrote it or was told it.
        Own = "own",
        /// Added so that the request is valid.
        Repair = "repair",
        /// Left out: the window is too small.
        Budget = "budget",
        /// Left out: the summary stands for it.
        Compacted = "compacted",
        /// Left out: nothing in it.
        Empty = "empty",
        /// Left out: it expired or was deleted.
        Expired = "expired",
        /// Left out: said in another way (WK-04).
        NotAMessage = "not_a_message",
        /// Left out: the switch or the process does not share it (CC-08, CC-09).
        NotShared = "not_shared",
        /// Left out: the turn was never given it.
        NotVisible = "not_visible",
        /// Left out: no box that holds it was handed to the agent.
        NotGranted = "not_granted",
    }
}

macro_rules! named_serde {
    ($($name:ident),*) => {$(
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = String::deserialize(deserializer)?;
                Self::from_name(&name).ok_or_else(|| serde::de::Error::custom(format!("unknown name {name}")))
            }
        }
    )*};
}

named_serde!(Layer, Placement, Provider, Cause);

/// A stretch of a box as readers see it: places `from..to` at a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stretch {
    /// Whose cards.
    pub box_id: BoxId,
    /// At which generation.
    pub generation: Generation,
    /// The first place.
    pub from: u32,
    /// The place after the last.
    pub to: u32,
}

/// What an entry stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The text of a block, kept as a card of its own (`sys.block`) whose content is the string.
    Block(CardId),
    /// One card.
    Card(CardId),
    /// Every card of a stretch.
    Stretch(Stretch),
}

/// One entry of a manifest, in the order of composition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestEntry {
    /// Of which layer.
    pub layer: Layer,
    /// `framework__context` and the like, for blocks.
    pub context_key: Option<String>,
    /// What.
    pub source: Source,
    /// How many cards it stands for.
    pub cards: u32,
    /// Their tokens together.
    pub tokens: u32,
    /// Why it is there.
    pub cause: Cause,
}

/// What was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Omission {
    /// Of which layer.
    pub layer: Layer,
    /// `knowledge__context` and the like, for blocks.
    pub context_key: Option<String>,
    /// What; `None` for a block that was not kept.
    pub source: Option<Source>,
    /// How many cards.
    pub cards: u32,
    /// Their tokens together.
    pub tokens: u32,
    /// Why.
    pub cause: Cause,
}

/// A card that was added so that the request is valid (OB-01).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The rule of the provider, e.g. `call_without_result`.
    pub rule: String,
    /// The card that broke it, if it was one.
    pub card_id: Option<CardId>,
    /// The card that was added (`sys.repair`).
    pub added: CardId,
}

/// The record of one model call. The content of a `sys.manifest` card; the id of that card is the call's id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Which version of composer, linter and renderer made the request.
    pub template: String,
    /// Whose rules it obeys.
    pub provider: Provider,
    /// The model.
    pub model: String,
    /// Its parameters, as they stand in the request.
    pub params: Map<String, Value>,
    /// The tools, as a card (`sys.tools`) whose content is the provider's list.
    pub tools: Option<CardId>,
    /// SHA-256 of that list, hexadecimal.
    pub tool_set_hash: Option<String>,
    /// What counted the tokens.
    pub tokenizer: String,
    /// Where the layers went.
    pub placement: Placement,
    /// How much the model takes.
    pub window: Option<u32>,
    /// What of it is kept free for the answer.
    pub reserve: u32,
    /// Whose call.
    pub agent_id: AgentId,
    /// In which turn.
    pub turn_id: TurnId,
    /// In which step.
    pub step_id: StepId,
    /// What its session was then, if the turn belongs to one; requests of earlier builds do not tell (RP-06).
    pub session: Option<Seen>,
    /// What is in it.
    pub entries: Vec<ManifestEntry>,
    /// What was left out.
    pub omissions: Vec<Omission>,
    /// What was added.
    pub repairs: Vec<Repair>,
    /// All tokens of the request.
    pub total_tokens: u32,
    /// SHA-256 of the exact request body, hexadecimal.
    pub request_sha256: String,
    /// The previous call of the same agent.
    pub previous_call: Option<CardId>,
    /// Tokens at the start that it shares with that call (OB-05).
    pub shared_prefix_tokens: u32,
    /// When.
    pub at: Timestamp,
}
