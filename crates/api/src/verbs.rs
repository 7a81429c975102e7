//! What the holder of a turn says, on the wire (API-10, API-17). Every body carries `turn_epoch` (DP-17).

use crate::{cards::CardIn, finish::EndedOut, parse};
use cardwire_kernel::{
    NewTurnCard,
    protocol::turn::{
        Command, Fence, Outcome,
        step::{NewStep, TakeStep},
        suspend::Suspend,
    },
};
use cardwire_model::{CanonicalJson, Invalid, TurnEpoch, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// Nothing but the fence.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EpochIn {
    /// The epoch of the lease.
    #[schema(minimum = 0)]
    pub turn_epoch: u64,
}

/// Where a turn is now.
#[derive(Debug, Serialize, ToSchema)]
pub struct StateOut {
    /// Which turn.
    pub agent_turn_id: String,
    /// At which epoch.
    pub turn_epoch: u64,
    /// `running` after a start, `alive` after a heartbeat.
    pub status: &'static str,
}

impl StateOut {
    /// What became of a start or a heartbeat.
    pub fn new(turn: TurnId, epoch: TurnEpoch, outcome: &Outcome) -> Option<Self> {
        let status = match outcome {
            Outcome::Running => "running",
            Outcome::Alive => "alive",
            Outcome::Appended { .. }
            | Outcome::Stepped(_)
            | Outcome::Suspended(_)
            | Outcome::Reported(_)
            | Outcome::Ended { .. }
            | Outcome::Released(_)
            | Outcome::TakenBack(_)
            | Outcome::Requeued
            | Outcome::Rung
            | Outcome::Archived
            | Outcome::Nothing => return None,
        };
        Some(Self { agent_turn_id: turn.to_string(), turn_epoch: epoch.get(), status })
    }
}

/// Cards for the output box: one card, or `cards`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnCardsIn {
    /// The epoch of the lease.
    #[schema(minimum = 0)]
    pub turn_epoch: u64,
    /// The step that wrote them, in the same commit.
    #[serde(default)]
    pub step: Option<StepParts>,
    /// Several cards, in this order; no other card goes with it.
    #[serde(default)]
    #[schema(max_items = 100)]
    pub cards: Option<Vec<CardIn>>,
    /// Of one card: as for a card outside of turns.
    #[serde(default)]
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub card_id: Option<String>,
    /// See there.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub content: Option<Box<RawValue>>,
    /// See there.
    #[serde(default)]
    #[schema(value_type = Option<crate::cards::CardMetadata>)]
    pub metadata: Option<Box<RawValue>>,
    /// See there. Each call opens with the card that makes it.
    #[serde(default)]
    #[schema(value_type = Option<Vec<serde_json::Value>>)]
    pub tool_calls: Option<Box<RawValue>>,
    /// See there.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub tool_call_id: Option<String>,
    /// See there.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 315360000)]
    pub ttl_seconds: Option<u32>,
}

impl TurnCardsIn {
    /// The step, taken out.
    pub fn take_step(&mut self) -> Result<Option<Box<NewStep>>, Invalid> {
        let step = self.step.take();
        let step = step.map(|step| new_step(step).map_err(|invalid| parse::within("step", invalid)));
        Ok(step.transpose()?.map(Box::new))
    }

    /// The cards.
    pub fn into_cards(self) -> Result<TurnCards, Invalid> {
        let one = CardIn {
            card_id: self.card_id,
            content: self.content,
            metadata: self.metadata,
            tool_calls: self.tool_calls,
            tool_call_id: self.tool_call_id,
            ttl_seconds: self.ttl_seconds,
        };
        match self.cards {
            None => Ok(TurnCards::One(draft(one)?)),
            Some(_) if !one.is_empty() => {
                Err(Invalid::field("cards", "give either `cards` or the fields of one card"))
            }
            Some(cards) => Ok(TurnCards::Many(drafts(cards)?)),
        }
    }
}

/// Cards as they were given.
#[derive(Debug)]
pub enum TurnCards {
    /// The body is the card.
    One(NewTurnCard),
    /// The body has a list of them.
    Many(Vec<NewTurnCard>),
}

fn draft(card: CardIn) -> Result<NewTurnCard, Invalid> {
    card.into_draft().map(|(id, draft)| NewTurnCard { id, draft })
}

pub(crate) fn drafts(cards: Vec<CardIn>) -> Result<Vec<NewTurnCard>, Invalid> {
    let place = |index: usize| format!("cards/{index}");
    let read = |(index, card)| draft(card).map_err(|invalid| parse::within(&place(index), invalid));
    cards.into_iter().enumerate().map(read).collect()
}

/// Cards that were written.
#[derive(Debug, Serialize, ToSchema)]
pub struct AppendedOut {
    /// Their ids, in the order given.
    pub card_ids: Vec<String>,
    /// How many were not in the output box before.
    pub added: u32,
}

impl AppendedOut {
    /// What became of an append.
    pub fn new(outcome: &Outcome) -> Option<Self> {
        if let Outcome::Appended { card_ids, added } = outcome {
            Some(Self { card_ids: card_ids.iter().map(ToString::to_string).collect(), added: *added })
        } else {
            None
        }
    }
}

/// A step of a turn.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StepIn {
    /// The epoch of the lease.
    #[schema(minimum = 0)]
    pub turn_epoch: u64,
    /// Which step; a second write with the same id changes it.
    #[serde(default)]
    #[schema(pattern = "^step_[A-Za-z0-9_-]{1,123}$")]
    pub step_id: Option<String>,
    /// What the worker calls it.
    #[schema(min_length = 1, max_length = 128)]
    pub phase: String,
    /// How it ended.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub status: Option<String>,
    /// The model call it made.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub call_id: Option<String>,
    /// What the model was sent.
    #[serde(default)]
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub request_box_id: Option<String>,
    /// Whatever the worker keeps with it: an object.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Box<RawValue>>,
}

impl StepIn {
    /// The command.
    pub fn into_command(self, fence: Fence) -> Result<Command, Invalid> {
        let step = new_step(StepParts {
            step_id: self.step_id,
            phase: self.phase,
            status: self.status,
            call_id: self.call_id,
            request_box_id: self.request_box_id,
            metadata: self.metadata,
        })?;
        Ok(Command::Step(TakeStep { fence, step, records: vec![] }))
    }
}

/// The last step of a turn, with its finish.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StepParts {
    /// Which step; a second write with the same id changes it.
    #[serde(default)]
    #[schema(pattern = "^step_[A-Za-z0-9_-]{1,123}$")]
    pub step_id: Option<String>,
    /// What the worker calls it.
    #[schema(min_length = 1, max_length = 128)]
    pub phase: String,
    /// How it ended.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub status: Option<String>,
    /// The model call it made.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub call_id: Option<String>,
    /// What the model was sent.
    #[serde(default)]
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub request_box_id: Option<String>,
    /// Whatever the worker keeps with it: an object.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Box<RawValue>>,
}

pub(crate) fn new_step(step: StepParts) -> Result<NewStep, Invalid> {
    let metadata = match &step.metadata {
        Some(raw) => parse::canonical("metadata", raw)?,
        None => CanonicalJson::empty_object(),
    };
    Ok(NewStep {
        id: parse::given("step_id", step.step_id.as_deref())?,
        phase: step.phase,
        status: step.status,
        call_id: step.call_id,
        request_box: parse::given("request_box_id", step.request_box_id.as_deref())?,
        metadata,
    })
}

/// A step that was written.
#[derive(Debug, Serialize, ToSchema)]
pub struct StepOut {
    /// Its id.
    pub step_id: String,
}

impl StepOut {
    /// What became of a step.
    pub fn new(outcome: &Outcome) -> Option<Self> {
        if let Outcome::Stepped(id) = outcome { Some(Self { step_id: id.to_string() }) } else { None }
    }
}

/// What to wait for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SuspendIn {
    /// The epoch of the lease.
    #[schema(minimum = 0)]
    pub turn_epoch: u64,
    /// Which tool calls.
    #[schema(min_items = 1, max_items = 256)]
    pub waiting_tool_call_ids: Vec<String>,
    /// For how long; what has not come by then is answered with `timeout`.
    #[serde(default = "resume_deadline_seconds")]
    #[schema(minimum = 1, maximum = 604800)]
    pub resume_deadline_seconds: u32,
}

const fn resume_deadline_seconds() -> u32 {
    600
}

impl SuspendIn {
    /// The command.
    pub fn into_command(self, fence: Fence) -> Command {
        Command::Suspend(Suspend {
            fence,
            waiting: self.waiting_tool_call_ids,
            resume_seconds: self.resume_deadline_seconds,
            calls: vec![],
        })
    }
}

/// A turn that waits, or that its tools have ended already.
#[derive(Debug, Serialize, ToSchema)]
pub struct SuspendedOut {
    /// `suspended`, or `ended`.
    pub status: &'static str,
    /// How many tools it waits for; 0 when all have answered and it can be resumed at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_tool_count: Option<u32>,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_status: Option<&'static str>,
    /// The card that ends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deliverable_card_id: Option<String>,
}

impl SuspendedOut {
    /// What became of a suspend.
    pub fn new(outcome: &Outcome) -> Option<Self> {
        if let Outcome::Suspended(waiting) = outcome {
            let waiting_tool_count = Some(*waiting);
            return Some(Self {
                status: "suspended",
                waiting_tool_count,
                task_status: None,
                deliverable_card_id: None,
            });
        }
        let ended = EndedOut::new(outcome)?;
        Some(Self {
            status: "ended",
            waiting_tool_count: None,
            task_status: Some(ended.status),
            deliverable_card_id: Some(ended.deliverable_card_id),
        })
    }
}
