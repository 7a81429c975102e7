//! Calls of PMO tools on the wire (API-09).

use crate::{handover::PreflightOut, parse, pmo_args::PmoArgs};
use cardwire_kernel::{
    Preflight,
    protocol::{
        batch,
        pmo::calls::{Answered, Call, ReusedOutput, RunOptions},
        turn::{Proof, append::check_call_id},
    },
};
use cardwire_model::{CanonicalJson, Channel, Hash256, Invalid, ProjectSettings, TurnEpoch, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use utoipa::ToSchema;

/// The trace that a request is part of.
#[derive(Debug, Clone)]
pub struct RequestTrace {
    /// Its id.
    pub id: String,
    /// The request named it. Otherwise it is new.
    pub is_given: bool,
}

/// A call of a tool.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CallIn {
    /// Who calls: an agent of the roster.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub caller_agent_id: String,
    /// The turn that calls; the live one of the caller when absent. With an operator's token it must be that one.
    #[serde(default)]
    #[schema(pattern = "^turn_[0-9a-f]{32}$")]
    pub agent_turn_id: Option<String>,
    /// The epoch of that turn. A call of another epoch is stale.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub turn_epoch: Option<u64>,
    /// When absent, the channel of the turn that calls with its own token, else `public`.
    #[serde(default)]
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub channel_id: Option<String>,
    /// The tool's arguments.
    #[serde(default)]
    #[schema(value_type = Option<PmoArgs>)]
    pub args: Option<Box<RawValue>>,
    /// A call that the turn has made already and that this one carries out, with the turn's own token. It is answered in the
    /// turn's output box; a repeat does nothing.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub tool_call_id: Option<String>,
    /// Settings of the turns that are started: an object.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub runtime_config: Option<Box<RawValue>>,
    /// Agents that are there write on new boxes, not on those they have.
    #[serde(default)]
    pub fresh_output: bool,
    /// How long to wait for the join of a fork; clamped to 0..30000, 0 when absent. The other tools answer at once.
    #[serde(default, deserialize_with = "parse::clamped")]
    pub wait_ms: Option<i64>,
}

impl CallIn {
    /// The call of this tool. `by` is the turn whose token was used, and the hash of that, `trace` that of the request; `settings` say what
    /// the project allows.
    pub fn into_call(
        self,
        tool: &str,
        by: Option<(TurnId, Hash256)>,
        trace: &RequestTrace,
        settings: &ProjectSettings,
    ) -> Result<Call, Invalid> {
        let at_turn = parse::given::<TurnId>("agent_turn_id", self.agent_turn_id.as_deref())?;
        let args = match &self.args {
            Some(raw) => parse::canonical("args", raw)?.to_value(),
            None => Value::Object(Map::new()),
        };
        let Value::Object(args) = args else { return Err(Invalid::field("args", "must be an object")) };
        let channel = parse::given("channel_id", self.channel_id.as_deref())?;
        self.tool_call_id.as_deref().map(|id| check_call_id("tool_call_id", id)).transpose()?;
        let runtime_config =
            self.runtime_config.map(|raw| parse::canonical("runtime_config", &raw)).transpose()?;
        Ok(Call {
            tool: tool.to_owned(),
            caller: parse::one("caller_agent_id", &self.caller_agent_id)?,
            by_turn: by.map(|(turn, _)| turn),
            at_turn,
            epoch: self.turn_epoch.map(TurnEpoch::new),
            proof: by.map_or(Proof::Operator, |(_, hash)| Proof::Lease(hash)),
            names_channel: channel.is_some(),
            channel: channel.unwrap_or_else(Channel::public),
            trace_id: trace.id.clone(),
            is_traced: trace.is_given,
            args,
            max_depth: settings.recursion_depth(),
            acl: settings.acl.inherit,
            pmo: settings.pmo,
            require_policy: settings.delegation.require_policy,
            carries_out: self.tool_call_id,
            run: RunOptions {
                runtime_config: runtime_config.unwrap_or_else(CanonicalJson::empty_object),
                output: match self.fresh_output {
                    true => ReusedOutput::New,
                    false => settings.output.single_writer.into(),
                },
            },
        })
    }
}

/// How a call ended; with `dry_run`, what it would give.
#[derive(Debug, Serialize, ToSchema)]
pub struct CallOut {
    /// The call; null when nothing was written.
    #[schema(required)]
    pub tool_call_id: Option<String>,
    /// `success`, `accepted` while a fork is running, `failed` when the target did not accept, how the batch ended when the
    /// call waited for that, or `dry_run`.
    pub status: &'static str,
    /// What the caller is told; with `dry_run`, nothing.
    #[schema(value_type = Object)]
    pub result: Value,
    /// The `tool.result` card; null while a fork is running.
    #[schema(required)]
    pub tool_result_card_id: Option<String>,
    /// With `dry_run` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preflight: Option<PreflightOut>,
    /// With `dry_run` of a fork only: for each task, by index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Vec<PreflightOut>>,
}

impl CallOut {
    /// What a call would give: one handover, or the tasks of a fork.
    pub fn preflight(tool: &str, would: &[Preflight]) -> Self {
        let mut handovers: Vec<PreflightOut> = would.iter().map(PreflightOut::from).collect();
        let is_fork = tool == batch::TOOL;
        Self {
            tool_call_id: None,
            status: "dry_run",
            result: Value::Object(Map::new()),
            tool_result_card_id: None,
            preflight: if is_fork { None } else { handovers.pop() },
            tasks: is_fork.then_some(handovers),
        }
    }
}

impl From<&Answered> for CallOut {
    fn from(answered: &Answered) -> Self {
        Self {
            tool_call_id: Some(answered.tool_call_id.clone()),
            status: match (answered.is_success, answered.joined, answered.result_card) {
                (false, ..) => "failed",
                (true, Some(joined), _) => joined.as_str(),
                (true, None, Some(_)) => "success",
                (true, None, None) => "accepted",
            },
            result: answered.result.clone(),
            tool_result_card_id: answered.result_card.map(|card| card.to_string()),
            preflight: None,
            tasks: None,
        }
    }
}
