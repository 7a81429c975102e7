//! The ways in which the holder of a turn lets go of it, on the wire (API-17, WK-06).

use crate::{
    cards::CardIn,
    parse,
    verbs::{StepParts, drafts, new_step},
};
use cardwire_kernel::{
    NewTurnCard,
    protocol::turn::{
        Command, Fence, Outcome, Remains,
        append::NewCard,
        finish::{Deliverable, Finish},
        release::Release,
    },
};
use cardwire_model::{CanonicalJson, Invalid, TaskStatus};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// The end of a turn.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishIn {
    /// The epoch of the lease.
    #[schema(minimum = 0)]
    pub turn_epoch: u64,
    /// `success`, `failed`, `canceled`, `timeout` or `partial`.
    #[schema(pattern = "^(success|failed|canceled|timeout|partial)$")]
    pub status: String,
    /// What came out: the content of a new `task.deliverable` card.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub deliverable: Option<Box<RawValue>>,
    /// What came out: a card that is there, or one of `cards`. With a turn's own token, one that was handed to the turn or that no
    /// turn has written.
    #[serde(default)]
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub deliverable_card_id: Option<String>,
    /// What went wrong, for people.
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub error: Option<String>,
    /// What went wrong, for programs.
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub error_code: Option<String>,
    /// The last cards, written first.
    #[serde(default)]
    #[schema(max_items = 100)]
    pub cards: Vec<CardIn>,
    /// The last step.
    #[serde(default)]
    pub step: Option<StepParts>,
    /// What people said when the turn asked them, in order. The turn's session, if it has one, remembers each as a human
    /// message between what was asked and what came out.
    #[serde(default)]
    #[schema(max_items = 100)]
    pub replies: Vec<String>,
}

impl FinishIn {
    /// The last cards, taken out.
    pub fn take_cards(&mut self) -> Result<Vec<NewTurnCard>, Invalid> {
        drafts(std::mem::take(&mut self.cards))
    }

    /// The command, with the last cards made.
    pub fn into_command(self, fence: Fence, cards: Vec<NewCard>) -> Result<Command, Invalid> {
        let deliverable = match (&self.deliverable, &self.deliverable_card_id) {
            (Some(_), Some(_)) => {
                let reason = "give either `deliverable` or `deliverable_card_id`";
                return Err(Invalid::field("deliverable_card_id", reason));
            }
            (Some(raw), None) => Deliverable::Content(parse::canonical("deliverable", raw)?),
            (None, Some(id)) => Deliverable::Card(parse::one("deliverable_card_id", id)?),
            (None, None) => Deliverable::Absent,
        };
        let words = TaskStatus::ALL.map(TaskStatus::as_str);
        let step = self.step.map(|step| new_step(step).map_err(|invalid| parse::within("step", invalid)));
        Ok(Command::Finish(Box::new(Finish {
            fence,
            status: parse::word("status", &self.status, TaskStatus::from_name, words)?,
            deliverable,
            error: self.error,
            error_code: self.error_code,
            cards,
            step: step.transpose()?,
            replies: replies(&self.replies)?,
            calls: vec![],
            remains: Remains::default(),
        })))
    }
}

fn replies(said: &[String]) -> Result<Vec<CanonicalJson>, Invalid> {
    let content = |(index, text): (usize, &String)| {
        let at = |_| Invalid::field(format!("replies/{index}"), "must not contain NUL");
        CanonicalJson::string(text).map_err(at)
    };
    said.iter().enumerate().map(content).collect()
}

/// A turn that has ended.
#[derive(Debug, Serialize, ToSchema)]
pub struct EndedOut {
    /// How.
    pub status: &'static str,
    /// The card that ends it.
    pub deliverable_card_id: String,
}

impl EndedOut {
    /// What became of a finish.
    pub fn new(outcome: &Outcome) -> Option<Self> {
        if let Outcome::Ended { status, deliverable } = outcome {
            Some(Self { status: status.as_str(), deliverable_card_id: deliverable.to_string() })
        } else {
            None
        }
    }
}

/// A turn to give back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseIn {
    /// The epoch of the lease.
    #[schema(minimum = 0)]
    pub turn_epoch: u64,
    /// Not before so many seconds have passed.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 604800)]
    pub defer_seconds: Option<u32>,
    /// Why.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub reason: Option<String>,
    /// Leave tool calls open for the next holder; without it a turn with open calls cannot be given back.
    #[serde(default)]
    pub keep_calls: bool,
}

impl ReleaseIn {
    /// The command.
    pub fn into_command(self, fence: Fence) -> Command {
        Command::Release(Release {
            fence,
            defer_seconds: self.defer_seconds,
            reason: self.reason,
            keep_calls: self.keep_calls,
        })
    }
}

/// A turn that was given back.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReleasedOut {
    /// The epoch under which another worker gets it.
    pub turn_epoch: u64,
}

impl ReleasedOut {
    /// What became of a release.
    pub fn new(outcome: &Outcome) -> Option<Self> {
        if let Outcome::Released(epoch) = outcome { Some(Self { turn_epoch: epoch.get() }) } else { None }
    }
}
