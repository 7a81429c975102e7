//! A call of a PMO tool and its answer, as cards (PM-15, PM-16).

use crate::{Moment, Rejection, decision::own_json};
use cardwire_model::{
    AgentId, CanonicalJson, Card, CardDraft, CardId, Channel, InheritMode, Invalid, Origin, TurnId,
};
use serde_json::{Map, Value, json};

/// Who answers.
const AUTHOR: &str = "sys.pmo";

/// A call.
#[derive(Debug, Clone)]
pub struct Call {
    /// Which tool.
    pub tool: String,
    /// Who calls.
    pub caller: AgentId,
    /// The turn that makes the call; none when an operator makes it in the caller's name.
    pub by_turn: Option<TurnId>,
    /// On which channel.
    pub channel: Channel,
    /// In which trace.
    pub trace_id: String,
    /// With what.
    pub args: Map<String, Value>,
    /// How deep the project lets turns delegate.
    pub max_depth: u32,
    /// What happens to boxes that were not handed to the caller.
    pub acl: InheritMode,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The call.
    pub tool_call_id: String,
    /// The card that says how it ended.
    pub result_card: CardId,
    /// It did what it was called for.
    pub is_success: bool,
    /// What the caller is told.
    pub result: Value,
    /// Why the request itself was refused. What was refused by the target is told in the result alone.
    pub refused: Option<Rejection>,
}

/// A fresh name for a call.
pub fn fresh_call_id(moment: &Moment) -> String {
    format!("call_{}", moment.fresh.uuid().simple())
}

/// The call as a card of the caller.
pub fn call_card(call: &Call, tool_call_id: &str, moment: &Moment) -> Result<Card, Invalid> {
    let content = json!({ "tool_name": call.tool, "arguments": call.args });
    let metadata = json!({ "type": "tool.call", "role": "assistant", "author_id": call.caller.as_str() });
    let draft = CardDraft {
        content: CanonicalJson::from_value(&content)?,
        metadata: own_json(&metadata),
        tool_calls: None,
        tool_call_id: Some(tool_call_id.to_owned()),
        ttl_seconds: None,
    };
    draft.into_card(CardId::from_uuid(moment.fresh.uuid()), Origin::Agent, moment.now)
}

/// The answer as a card of the PMO.
pub fn result_card(
    call: &Call,
    tool_call_id: &str,
    is_success: bool,
    body: &Value,
    moment: &Moment,
) -> Result<Card, Invalid> {
    let status = if is_success { "success" } else { "failed" };
    let mut content = json!({ "status": status, "result": body });
    if let Some(error) = body.get("error") {
        content["error"] = error.clone();
    }
    let metadata = json!({
        "type": "tool.result", "role": "tool", "author_id": AUTHOR, "function_name": call.tool,
    });
    let draft = CardDraft {
        content: own_json(&content),
        metadata: own_json(&metadata),
        tool_calls: None,
        tool_call_id: Some(tool_call_id.to_owned()),
        ttl_seconds: None,
    };
    draft.into_card(CardId::from_uuid(moment.fresh.uuid()), Origin::Tool, moment.now)
}

/// What a refused caller is told: the target's refusal in its own words (PM-11), anything else as an error.
pub fn refusal(rejection: &Rejection, agent_id: Option<&AgentId>, code: &str) -> Value {
    let error = json!({ "code": code, "message": rejection.to_string(), "source": AUTHOR });
    match rejection {
        Rejection::Refused(refused) => json!({
            "status": refused.verdict.as_str(),
            "error_code": refused.code.as_str(),
            "agent_id": agent_id.map(AgentId::as_str),
            "error": error,
        }),
        Rejection::Invalid(_)
        | Rejection::NotFound { .. }
        | Rejection::CardConflict { .. }
        | Rejection::BoxSealed { .. }
        | Rejection::Conflict(_)
        | Rejection::Forbidden(_)
        | Rejection::UnauthorizedBox { .. }
        | Rejection::StaleTurn(..)
        | Rejection::Unauthenticated
        | Rejection::Lost(_) => json!({ "status": "error", "error_code": code, "error": error }),
    }
}
