//! What a model answers, in the same form whoever it was.

use crate::Usage;
use serde::{Deserialize, Serialize};

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelAnswer {
    /// What it says; may be empty.
    pub text: String,
    /// The tools it wants called, in its order.
    pub tool_calls: Vec<ToolCall>,
    /// Why it stopped.
    pub stop: StopReason,
    /// What it used.
    pub usage: Usage,
    /// Which model answered, in the provider's words.
    pub model: String,
    /// The provider's name for the answer, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// By which the result refers to it.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// JSON text as the model wrote it, which need not be valid; `{}` where it wrote nothing.
    pub arguments: String,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It has said what it wanted to say.
    End,
    /// It waits for the results of its tool calls.
    ToolCalls,
    /// The answer reached the limit of tokens.
    Length,
    /// The provider withheld the answer, or the model refused.
    Filtered,
    /// Something else, in the provider's word.
    Other(String),
}
