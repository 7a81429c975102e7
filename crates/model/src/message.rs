//! Messages: what a conversation is made of, before any provider's wire format (SPEC.md, "Wire details").

use crate::{CanonicalJson, Role, inbox::names};

names! {
    /// Who speaks. The wire also takes `user` and `assistant`.
    Speaker {
        /// Instructions.
        System = "system",
        /// The person, or whoever stands in for one.
        Human = "human",
        /// The model.
        Ai = "ai",
        /// A tool's answer.
        Tool = "tool",
    }
}

impl Speaker {
    /// By any of its names.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "user" => Some(Self::Human),
            "assistant" => Some(Self::Ai),
            name => Self::from_name(name),
        }
    }

    /// The role of a card that says it.
    pub const fn role(self) -> Role {
        match self {
            Self::System => Role::System,
            Self::Human => Role::User,
            Self::Ai => Role::Assistant,
            Self::Tool => Role::Tool,
        }
    }
}

impl From<Role> for Speaker {
    fn from(role: Role) -> Self {
        match role {
            Role::System => Self::System,
            Role::User => Self::Human,
            Role::Assistant => Self::Ai,
            Role::Tool => Self::Tool,
        }
    }
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What tells a repeat from another message (ST-03).
    pub id: Option<String>,
    /// Who speaks.
    pub speaker: Speaker,
    /// What is said: usually a string.
    pub content: CanonicalJson,
    /// Tool calls of the model: a list, as a card has them.
    pub tool_calls: Option<CanonicalJson>,
    /// Which call a tool answers.
    pub tool_call_id: Option<String>,
    /// Who, by name.
    pub name: Option<String>,
    /// Not for memory (ST-06).
    pub internal: bool,
}
