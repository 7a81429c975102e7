//! Answers of tools on the wire (DP-16, WK-08). Nothing inside a result has power (SEC-08): what happens to the turn
//! is said in a field of its own.

use crate::parse;
use cardwire_kernel::protocol::turn::{
    Command, Fence, Outcome, Proof,
    append::check_call_id,
    report::{AfterExecution, Answer, Report},
};
use cardwire_model::{AgentId, CanonicalJson, Invalid, TurnEpoch, TurnId, card::ToolStatus};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// The answer to a tool call.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportIn {
    /// The agent whose turn made the call.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub agent_id: String,
    /// The turn.
    #[schema(pattern = "^turn_[0-9a-f]{32}$")]
    pub agent_turn_id: String,
    /// Its epoch.
    #[schema(minimum = 0)]
    pub turn_epoch: u64,
    /// Which call.
    #[schema(min_length = 1, max_length = 128)]
    pub tool_call_id: String,
    /// `success`, `failed`, `canceled`, `timeout` or `partial`.
    #[schema(pattern = "^(success|failed|canceled|timeout|partial)$")]
    pub status: String,
    /// What came out: any JSON value, null too. A success has one, or an `error`, unless it names a card.
    #[serde(default, deserialize_with = "parse::present")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub result: Option<Box<RawValue>>,
    /// Instead of `result` and `error`: a `tool.result` card that is there. With a turn's own token, one that was handed to the turn
    /// or that no turn has written.
    #[serde(default)]
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub tool_result_card_id: Option<String>,
    /// What went wrong: any JSON value.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub error: Option<Box<RawValue>>,
    /// What happens to the turn: it goes on (`suspend`), or it ends (`terminate`). When absent, what the called tool's document
    /// says; `suspend` where there is none.
    #[serde(default)]
    #[schema(pattern = "^(suspend|terminate)$")]
    pub after_execution: Option<String>,
    /// Who answers.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub author_id: Option<String>,
}

/// For whom a body speaks that comes with a turn token, read before anything else.
#[derive(Debug)]
pub enum Speaker {
    /// This turn.
    Turn(TurnId),
    /// The live turn of this agent (API-09).
    Agent(AgentId),
}

#[derive(Debug, Deserialize)]
struct Named {
    #[serde(default)]
    agent_turn_id: Option<String>,
    #[serde(default)]
    caller_agent_id: Option<String>,
}

impl Speaker {
    /// The turn that the body names, else the agent that calls.
    pub fn read(body: &[u8]) -> Result<Self, Invalid> {
        let named = parse::body::<Named>(body)?;
        match (&named.agent_turn_id, &named.caller_agent_id) {
            (Some(turn), _) => Ok(Self::Turn(parse::one("agent_turn_id", turn)?)),
            (None, Some(agent)) => Ok(Self::Agent(parse::one("caller_agent_id", agent)?)),
            (None, None) => Err(Invalid::field("agent_turn_id", "is required")),
        }
    }
}

impl ReportIn {
    /// The command.
    pub fn into_command(self, proof: Proof) -> Result<Command, Invalid> {
        if let Some(author) = &self.author_id {
            check_call_id("author_id", author)?;
        }
        let statuses = ToolStatus::ALL.map(ToolStatus::as_str);
        let status = |name: &str| ToolStatus::ALL.into_iter().find(|status| status.as_str() == name);
        let status = parse::word("status", &self.status, status, statuses)?;
        let answer = self.answer(status)?;
        let after = |name| parse::word("after_execution", name, after, AFTER.map(AfterExecution::as_str));
        let after = self.after_execution.as_deref().map(after).transpose()?;
        let turn_id = parse::one("agent_turn_id", &self.agent_turn_id)?;
        Ok(Command::Report(Box::new(Report {
            fence: Fence { turn_id, epoch: TurnEpoch::new(self.turn_epoch), proof },
            agent_id: parse::one("agent_id", &self.agent_id)?,
            status,
            tool_call_id: self.tool_call_id,
            answer,
            after,
            author_id: self.author_id,
            calls: vec![],
            tool_after: None,
            card_status: None,
        })))
    }

    fn answer(&self, status: ToolStatus) -> Result<Answer, Invalid> {
        let says = |raw: &Option<Box<RawValue>>| raw.as_ref().is_some_and(|raw| raw.get() != "null");
        let canonical = |field: &str, raw: &Option<Box<RawValue>>| {
            raw.as_ref().map(|raw| parse::canonical(field, raw)).transpose()
        };
        match &self.tool_result_card_id {
            Some(_) if says(&self.result) || says(&self.error) => {
                let reason = "give either `tool_result_card_id`, or `result` and `error`";
                Err(Invalid::field("tool_result_card_id", reason))
            }
            Some(id) => parse::one("tool_result_card_id", id).map(Answer::Card),
            None if status == ToolStatus::Success && self.result.is_none() && !says(&self.error) => {
                Err(Invalid::field("result", "is required of a success that names no card"))
            }
            None => {
                let result = canonical("result", &self.result)?;
                let result = result.unwrap_or_else(|| CanonicalJson::from_stored("null"));
                Ok(Answer::Value { result, error: canonical("error", &self.error)? })
            }
        }
    }
}

const AFTER: [AfterExecution; 2] = [AfterExecution::Suspend, AfterExecution::Terminate];

fn after(name: &str) -> Option<AfterExecution> {
    AFTER.into_iter().find(|after| after.as_str() == name)
}

/// A report that was taken.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReportOut {
    /// Always `accepted`.
    pub status: &'static str,
    /// The `tool.result` card.
    pub tool_result_card_id: String,
    /// The inbox row it made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inbox_id: Option<String>,
    /// The call had its answer already; this one changed nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub idempotent: bool,
    /// What the agent is doing now.
    pub agent_status: &'static str,
}

impl ReportOut {
    /// What became of a report.
    pub fn new(outcome: &Outcome) -> Option<Self> {
        if let Outcome::Reported(reported) = outcome {
            Some(Self {
                status: "accepted",
                tool_result_card_id: reported.card_id.to_string(),
                inbox_id: reported.inbox_id.map(|id| id.to_string()),
                idempotent: reported.repeated,
                agent_status: reported.status.as_str(),
            })
        } else {
            None
        }
    }
}
