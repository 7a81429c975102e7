//! Dispatching a turn on the wire (DP-02, DP-09, API-17).

use crate::parse;
use cardwire_kernel::protocol::turn::dispatch::{Dispatch, Receipt};
use cardwire_model::{CanonicalJson, Channel, Invalid, TraceParent, TurnId, trace};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::{collections::BTreeMap, str::FromStr};
use utoipa::ToSchema;

/// A turn to dispatch. What must be there is checked one by one, each with a code of its own (DP-03).
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DispatchIn {
    /// To whom.
    #[serde(default)]
    #[schema(required, value_type = String, pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub agent_id: Option<String>,
    /// What the agent is; its own profile when absent.
    #[serde(default)]
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub profile_box_id: Option<String>,
    /// What it is given. The box is sealed.
    #[serde(default)]
    #[schema(required, value_type = String, pattern = "^[0-9a-f]{32}$")]
    pub context_box_id: Option<String>,
    /// Where it writes; a new box when absent.
    #[serde(default)]
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub output_box_id: Option<String>,
    /// The turn's id; made by the server when absent.
    #[serde(default)]
    #[schema(pattern = "^turn_[0-9a-f]{32}$")]
    pub agent_turn_id: Option<String>,
    /// What the caller knows the turn by; the turn's id when absent.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub correlation_id: Option<String>,
    /// `public` when absent.
    #[serde(default)]
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub channel_id: Option<String>,
    /// When absent: the trace of `headers.traceparent`, else of this request's `traceparent`, else of the parent turn.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub trace_id: Option<String>,
    /// By which turn. How deep the new one is follows from it.
    #[serde(default)]
    #[schema(pattern = "^turn_[0-9a-f]{32}$")]
    pub parent_agent_turn_id: Option<String>,
    /// By which tool call of it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub parent_tool_call_id: Option<String>,
    /// In which step of it.
    #[serde(default)]
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub parent_step_id: Option<String>,
    /// By which agent.
    #[serde(default)]
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub source_agent_id: Option<String>,
    /// For people.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub display_name: Option<String>,
    /// Settings of this run: an object.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub runtime_config: Option<Box<RawValue>>,
    /// Headers of the message that caused it; `traceparent` is used.
    #[serde(default)]
    pub headers: Option<BTreeMap<String, String>>,
    /// Wait behind a live turn (the default), or refuse.
    #[serde(default)]
    pub queue_if_busy: Option<bool>,
    /// Tell when the turn is leased (the default).
    #[serde(default)]
    pub emit_state_event: Option<bool>,
}

impl DispatchIn {
    /// The command. `trace_id` is that of the request, `max_depth` what the project allows.
    pub fn into_command(self, trace_id: &str, max_depth: u32) -> Result<Dispatch, Invalid> {
        let trace_id = self.trace_id().unwrap_or(trace_id).to_owned();
        let channel = parse::given("channel_id", self.channel_id.as_deref())?;
        let runtime_config = match &self.runtime_config {
            Some(raw) => parse::canonical("runtime_config", raw)?,
            None => CanonicalJson::empty_object(),
        };
        Ok(Dispatch {
            agent_id: unless_blank("agent_id", self.agent_id.as_deref())?,
            profile_box: unless_blank("profile_box_id", self.profile_box_id.as_deref())?,
            context_box: unless_blank("context_box_id", self.context_box_id.as_deref())?,
            output_box: parse::given("output_box_id", self.output_box_id.as_deref())?,
            turn_id: parse::given("agent_turn_id", self.agent_turn_id.as_deref())?,
            correlation_id: self.correlation_id,
            channel: channel.unwrap_or_else(Channel::public),
            trace_id,
            parent_turn: parse::given("parent_agent_turn_id", self.parent_agent_turn_id.as_deref())?,
            parent_call: self.parent_tool_call_id,
            parent_step: parse::given("parent_step_id", self.parent_step_id.as_deref())?,
            branch: None,
            source_agent: parse::given("source_agent_id", self.source_agent_id.as_deref())?,
            display_name: self.display_name,
            runtime_config,
            queue_if_busy: self.queue_if_busy.unwrap_or(true),
            emit_state_event: self.emit_state_event.unwrap_or(true),
            max_depth,
        })
    }

    /// The turn whose trace this one is part of, if the body names no trace.
    pub fn parent_to_follow(&self) -> Result<Option<TurnId>, Invalid> {
        let parent = parse::given("parent_agent_turn_id", self.parent_agent_turn_id.as_deref())?;
        Ok(parent.filter(|_| self.trace_id().is_none()))
    }

    /// The trace that the body names.
    fn trace_id(&self) -> Option<&str> {
        let header = |(name, _): &(&String, &String)| name.eq_ignore_ascii_case(trace::TRACEPARENT);
        let sent = || {
            let (_, value) = self.headers.iter().flatten().find(header)?;
            TraceParent::parse(value).map(|parent| parent.trace_id)
        };
        self.trace_id.as_deref().or_else(sent)
    }
}

/// Blank counts as absent where absence has a code of its own.
fn unless_blank<T: FromStr<Err = Invalid>>(field: &str, text: Option<&str>) -> Result<Option<T>, Invalid> {
    parse::given(field, text.filter(|text| !text.trim().is_empty()))
}

/// An accepted turn.
#[derive(Debug, Serialize, ToSchema)]
pub struct DispatchOut {
    /// Always `accepted`.
    pub status: &'static str,
    /// The agent.
    pub agent_id: String,
    /// The turn.
    pub agent_turn_id: String,
    /// Its row in the inbox.
    pub inbox_id: String,
    /// Its epoch; null while it waits behind another turn.
    #[schema(required)]
    pub turn_epoch: Option<u64>,
    /// Its trace.
    pub trace_id: String,
    /// Where it writes.
    pub output_box_id: String,
    /// What it is given.
    pub context_box_id: String,
    /// The same request was accepted before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub idempotent: bool,
}

impl From<&Receipt> for DispatchOut {
    fn from(receipt: &Receipt) -> Self {
        Self {
            status: "accepted",
            agent_id: receipt.agent_id.to_string(),
            agent_turn_id: receipt.turn_id.to_string(),
            inbox_id: receipt.inbox_id.to_string(),
            turn_epoch: receipt.epoch.map(|epoch| epoch.get()),
            trace_id: receipt.trace_id.clone(),
            output_box_id: receipt.output_box.to_string(),
            context_box_id: receipt.context_box.to_string(),
            idempotent: false,
        }
    }
}
