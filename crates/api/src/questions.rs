//! What people are asked, on the wire (PR-10).

use crate::list::list;
use cardwire_kernel::protocol::turn::question::{Asks, Question};
use cardwire_model::asking::{APPROVAL, ASK_HUMAN};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A question that waits for a person. It is answered by `POST …/l0/reports` with its agent, turn, epoch and call, and a
/// `result` of `{"reply"}`, or `{"approved", "reply"?}` for an approval.
#[derive(Debug, Serialize, ToSchema)]
pub struct QuestionOut {
    /// Who asks.
    pub agent_id: String,
    /// In which turn.
    pub agent_turn_id: String,
    /// The epoch of that turn.
    pub turn_epoch: u64,
    /// The call to answer.
    pub tool_call_id: String,
    /// `ask_human` for words, `approval` for a yes or a no.
    pub kind: &'static str,
    /// In words.
    pub question: String,
    /// The tool that an approval is about.
    #[schema(required)]
    pub tool_name: Option<String>,
    /// The call that an approval is about.
    #[schema(required)]
    pub approves_tool_call_id: Option<String>,
    /// What that tool would be called with.
    #[schema(required, value_type = Option<Object>)]
    pub arguments: Option<Map<String, Value>>,
    /// Since when.
    pub asked_at: String,
}

impl From<Question> for QuestionOut {
    fn from(asked: Question) -> Self {
        let (kind, question, tool_name, call, arguments) = match asked.asks {
            Asks::Words(question) => (ASK_HUMAN, question, None, None, None),
            Asks::Approval { tool, call, arguments } => {
                let question = format!("{} wants to call {tool}.", asked.agent_id);
                (APPROVAL, question, Some(tool), Some(call), Some(arguments))
            }
        };
        Self {
            agent_id: asked.agent_id.to_string(),
            agent_turn_id: asked.turn_id.to_string(),
            turn_epoch: asked.epoch.get(),
            tool_call_id: asked.tool_call_id,
            kind,
            question,
            tool_name,
            approves_tool_call_id: call,
            arguments,
            asked_at: asked.asked_at.to_string(),
        }
    }
}

list! {
    /// Questions of a turn and everything below it, oldest turn first.
    QuestionList of QuestionOut
}
