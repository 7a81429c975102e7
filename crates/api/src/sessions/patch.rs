//! Patches of a session (ST-01..ST-06): which operations there are. What they do is decided in `protocol::session`.

use crate::{
    messages::{ChatMessageIn, messages},
    parse,
};
use cardwire_kernel::protocol::{
    session::{
        finish::FinishAgent,
        patch::{MessagesOp, Patch, ResultsOp},
    },
    turn::append::check_call_id,
};
use cardwire_model::{CancelFlag, Invalid};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use utoipa::ToSchema;

/// A change of a session.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchIn {
    /// The version that the caller has seen; 0 when there was no session. A patch that only adds to lists goes with any
    /// later one.
    #[serde(default)]
    pub expected_version: Option<u64>,
    /// Memory.
    #[serde(default)]
    #[schema(value_type = Option<MessagesIn>)]
    pub messages: Option<MessagesIn>,
    /// Results of a map_reduce plan.
    #[serde(default)]
    #[schema(value_type = Option<ResultsIn>)]
    pub mapreduce_results: Option<ResultsIn>,
    /// What happened.
    #[serde(default)]
    #[schema(value_type = Option<TimelineIn>)]
    pub timeline: Option<TimelineIn>,
    /// `{plan?: {op, items, goal?}, updates?: […]}`: an object. What cannot be read in it is skipped.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub todo: Option<Box<RawValue>>,
    /// Ordinary fields by name; null takes one away.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub set: Option<Box<RawValue>>,
    /// The end of an agent's part.
    #[serde(default)]
    #[schema(value_type = Option<FinishAgentIn>)]
    pub finish_agent: Option<FinishAgentIn>,
}

/// What happens to memory: one of the two.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MessagesIn {
    /// More messages; one with an id that is there takes its place.
    #[serde(default)]
    #[schema(value_type = Option<Vec<ChatMessageIn>>, max_items = 1000)]
    pub append: Option<Vec<ChatMessageIn>>,
    /// These messages and no others.
    #[serde(default)]
    #[schema(value_type = Option<Vec<ChatMessageIn>>, max_items = 1000)]
    pub replace: Option<Vec<ChatMessageIn>>,
}

/// What happens to the results of a plan: one of the two.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResultsIn {
    /// More results: objects, each with a `task_id`. One with an id that is there takes its place.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Object>>, max_items = 1000)]
    pub append: Option<Box<RawValue>>,
    /// `true`: a new plan begins.
    #[serde(default)]
    pub reset: Option<bool>,
}

/// What happened.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TimelineIn {
    /// In order; any values.
    #[schema(value_type = Vec<serde_json::Value>, max_items = 1000)]
    pub append: Box<RawValue>,
}

/// What an agent came to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishAgentIn {
    /// Who.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub agent_id: String,
    /// `completed`, `failed`, `aborted` and the like.
    #[schema(min_length = 1, max_length = 128)]
    pub status: String,
    /// The task it was given.
    #[serde(default)]
    pub task: Option<String>,
    /// What it delivers.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub deliverable: Option<Box<RawValue>>,
    /// What went wrong.
    #[serde(default)]
    pub error: Option<String>,
    /// Of which kind that was.
    #[serde(default)]
    pub failure_kind: Option<String>,
    /// The id of the message that tells it; a repeat under the same id says it once.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub message_id: Option<String>,
}

impl PatchIn {
    /// The patch, with the blocks that the project keeps (ST-08).
    pub fn into_patch(self, reproducible: Vec<String>, cancel: &CancelFlag) -> Result<Patch, Invalid> {
        let timeline = self.timeline.map(|more| parse::values("timeline/append", &more.append));
        let set = self.set.map(|set| parse::object("set", &set)).transpose()?;
        let todo = self.todo.map(|todo| parse::object("todo", &todo).map(Value::Object)).transpose()?;
        Ok(Patch {
            expected_version: self.expected_version,
            messages: self.messages.map(|messages| messages.into_op(cancel)).transpose()?,
            results: self.mapreduce_results.map(ResultsIn::into_op).transpose()?,
            timeline: timeline.transpose()?.unwrap_or_default(),
            todo,
            set: set.unwrap_or_default().into_iter().collect(),
            finish_agent: self.finish_agent.map(FinishAgentIn::into_finish).transpose()?,
            reproducible,
            led_by: None,
        })
    }
}

impl MessagesIn {
    fn into_op(self, cancel: &CancelFlag) -> Result<MessagesOp, Invalid> {
        match (self.append, self.replace) {
            (Some(more), None) => messages("messages/append", more, cancel).map(MessagesOp::Append),
            (None, Some(all)) => messages("messages/replace", all, cancel).map(MessagesOp::Replace),
            (Some(_), Some(_)) | (None, None) => {
                Err(Invalid::field("messages", "give either `append` or `replace`"))
            }
        }
    }
}

impl ResultsIn {
    fn into_op(self) -> Result<ResultsOp, Invalid> {
        match (self.append, self.reset) {
            (Some(more), None) => parse::values("mapreduce_results/append", &more).map(ResultsOp::Append),
            (None, Some(true)) => Ok(ResultsOp::Reset),
            (None, Some(false)) => Err(Invalid::field("mapreduce_results/reset", "must be true")),
            (Some(_), Some(_)) | (None, None) => {
                Err(Invalid::field("mapreduce_results", "give either `append` or `reset`"))
            }
        }
    }
}

impl FinishAgentIn {
    fn into_finish(self) -> Result<FinishAgent, Invalid> {
        check_call_id("finish_agent/status", &self.status)?;
        let texts = [("task", &self.task), ("error", &self.error), ("failure_kind", &self.failure_kind)];
        for (name, text) in texts {
            parse::plain(&format!("finish_agent/{name}"), text.as_deref())?;
        }
        let deliverable = self.deliverable.map(|raw| parse::canonical("finish_agent/deliverable", &raw));
        Ok(FinishAgent {
            agent_id: parse::one("finish_agent/agent_id", &self.agent_id)?,
            status: self.status,
            task: self.task,
            deliverable: deliverable.transpose()?.map(|content| content.to_value()),
            error: self.error,
            failure_kind: self.failure_kind,
            message_id: self.message_id,
        })
    }
}
