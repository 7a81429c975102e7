//! What a card is, and how a model sees it (CB-03, CB-05).

use crate::{Invalid, limits};
use std::{fmt, sync::Arc};

/// The semantic type of a card: an open set, kept verbatim.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CardKind(Arc<str>);

impl CardKind {
    /// Checks and wraps `metadata.type`.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        let legal = !text.trim().is_empty()
            && text.chars().count() <= limits::NAME_CHARS
            && !text.chars().any(char::is_control);
        if legal {
            Ok(Self(text.into()))
        } else {
            Err(Invalid::field(
                "metadata/type",
                format!("must be 1 to {} characters, not blank", limits::NAME_CHARS),
            ))
        }
    }

    /// A kind read back from a store.
    pub fn from_stored(text: &str) -> Self {
        Self(text.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Cards of these kinds are written by the kernel alone: it believes what they say.
    pub fn is_kernels(&self) -> bool {
        let others = ["sys.manifest", "sys.block", "sys.repair", "knowledge.section"];
        self.is_of_session() || others.contains(&self.as_str())
    }

    /// What sessions are made of.
    pub fn is_of_session(&self) -> bool {
        self.as_str().starts_with("session.")
    }

    /// The role of a card of this kind when its metadata names none.
    pub fn default_role(&self) -> Role {
        match self.as_str() {
            "agent.thought" | "tool.call" | "task.deliverable" => Role::Assistant,
            "tool.result" => Role::Tool,
            "sys.profile"
            | "sys.rendered_prompt"
            | "sys.tools"
            | "sys.must_end_with_required"
            | "meta.parent_pointer"
            | "task.result_fields"
            | "agent.error" => Role::System,
            _ => Role::User,
        }
    }
}

impl fmt::Debug for CardKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The role a model sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Instructions of the system.
    System,
    /// The person, or whoever stands in for one.
    User,
    /// The model.
    Assistant,
    /// A tool's answer.
    Tool,
}

impl Role {
    /// All roles, in order.
    pub const ALL: [Self; 4] = [Self::System, Self::User, Self::Assistant, Self::Tool];

    /// The name on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    /// Reads `metadata.role`, of which `name` is the text if it is one.
    pub fn read(name: Option<&str>) -> Result<Self, Invalid> {
        let role = name.and_then(Self::from_name);
        role.ok_or_else(|| Invalid::field("metadata/role", "must be one of system, user, assistant, tool"))
    }

    /// The role with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }
}
