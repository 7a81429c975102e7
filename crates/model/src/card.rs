//! Cards: immutable facts (CB-01..CB-07).
//!
//! Invariant: a [`Card`] is well-formed; its kind, role and author mirror its metadata, and its hashes and token
//! count belong to its bytes. They are computed once, here.

mod content;
mod draft;
mod kind;

pub use content::{Content, FieldSpec, ToolStatus};
pub use draft::CardDraft;
pub use kind::{CardKind, Role};

use crate::{CanonicalJson, CardId, Hash256, Timestamp, hash::FieldHasher};

/// One immutable fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// Unique within its project.
    pub id: CardId,
    /// What the fact is (`metadata.type`).
    pub kind: CardKind,
    /// How a model sees it (`metadata.role`, or the kind's own role).
    pub role: Role,
    /// Who said it, for audit only (`metadata.author_id`).
    pub author_id: Option<String>,
    /// The fact itself.
    pub content: CanonicalJson,
    /// SHA-256 of the canonical content.
    pub content_hash: Hash256,
    /// SHA-256 over everything that makes two writes of one id equal (CB-07).
    pub fact_hash: Hash256,
    /// Estimated tokens of the content.
    pub tokens: u32,
    /// Tool calls of an assistant message.
    pub tool_calls: Option<CanonicalJson>,
    /// Which tool call a result answers.
    pub tool_call_id: Option<String>,
    /// Everything else, as given.
    pub metadata: CanonicalJson,
    /// Where it came from; written by the kernel, never by the caller (SEC-10).
    pub origin: Origin,
    /// Something in it looks like a credential (SEC-09).
    pub credential: bool,
    /// Time to live.
    pub ttl_seconds: Option<u32>,
    /// `created_at + ttl_seconds`.
    pub expires_at: Option<Timestamp>,
    /// When it was soft-deleted.
    pub deleted_at: Option<Timestamp>,
    /// When it was written.
    pub created_at: Timestamp,
}

impl Card {
    /// Whether reads show the card at `now` (CB-10).
    pub fn is_visible(&self, now: Timestamp) -> bool {
        is_visible(self.deleted_at, self.expires_at, now)
    }

    /// Bytes this card occupies, for caches and limits.
    pub fn size(&self) -> usize {
        self.content.as_bytes().len()
            + self.metadata.as_bytes().len()
            + self.tool_calls.as_ref().map_or(0, |calls| calls.as_bytes().len())
    }

    /// Whether the stored hashes belong to the stored bytes, and what was read out of the metadata still is what it says.
    pub fn is_intact(&self) -> bool {
        draft::Named::read(&self.metadata).is_ok_and(|named| named.fits(self))
            && self.expires_at == self.ttl_seconds.map(|ttl| self.created_at.plus_seconds(ttl.into()))
            && self.content_hash == Hash256::of(self.content.as_bytes())
            && self.says_what_was_written()
    }

    /// Whether content, tool calls and metadata are those that were written (NF-01). One pass over the bytes, for every
    /// read; what [`Self::is_intact`] looks at besides is for verification.
    pub fn says_what_was_written(&self) -> bool {
        let tool_call_id = self.tool_call_id.as_deref();
        let calls = self.tool_calls.as_ref();
        self.fact_hash == fact_hash(&self.content, calls, tool_call_id, self.ttl_seconds, &self.metadata)
    }
}

/// The one rule of visibility: neither deleted nor expired.
pub fn is_visible(deleted_at: Option<Timestamp>, expires_at: Option<Timestamp>, now: Timestamp) -> bool {
    deleted_at.is_none() && expires_at.is_none_or(|end| now < end)
}

/// CB-07: content, tool calls, tool call id, ttl and metadata without `created_at`.
fn fact_hash(
    content: &CanonicalJson,
    tool_calls: Option<&CanonicalJson>,
    tool_call_id: Option<&str>,
    ttl_seconds: Option<u32>,
    metadata: &CanonicalJson,
) -> Hash256 {
    let ttl = ttl_seconds.map(u32::to_be_bytes);
    let mut hasher = FieldHasher::default()
        .field(content.as_bytes())
        .optional(tool_calls.map(CanonicalJson::as_bytes))
        .optional(tool_call_id.map(str::as_bytes))
        .optional(ttl.as_ref().map(<[u8; 4]>::as_slice));
    for (key, value) in metadata.members().into_iter().flatten() {
        if key != "created_at" {
            hasher = hasher.field(key.as_bytes()).field(value.as_bytes());
        }
    }
    hasher.finish()
}

/// Who brought a card into the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A person or program with an `operate` token.
    Operator,
    /// An agent's turn.
    Agent,
    /// A tool's answer.
    Tool,
    /// Anything from outside, e.g. a file or a third party.
    External,
}

impl Origin {
    /// All origins, in order.
    pub const ALL: [Self; 4] = [Self::Operator, Self::Agent, Self::Tool, Self::External];

    /// The name on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::External => "external",
        }
    }

    /// The origin with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.as_str() == name)
    }
}
