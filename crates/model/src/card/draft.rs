//! From what a caller gave to a card, or a refusal that names the field.

use super::{Card, CardKind, Content, Origin, Role, fact_hash};
use crate::{
    CanonicalJson, CardId, Hash256, Invalid, Timestamp, credential::looks_like_credential, limits,
    token_count,
};

/// A card as a caller describes it, before the kernel adds identity, time and origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardDraft {
    /// The fact.
    pub content: CanonicalJson,
    /// `type`, and whatever else the caller keeps with the fact.
    pub metadata: CanonicalJson,
    /// Tool calls of an assistant message: a list.
    pub tool_calls: Option<CanonicalJson>,
    /// Which tool call a result answers.
    pub tool_call_id: Option<String>,
    /// Time to live in seconds.
    pub ttl_seconds: Option<u32>,
}

impl CardDraft {
    /// Checks the draft and makes the card.
    pub fn into_card(self, id: CardId, origin: Origin, now: Timestamp) -> Result<Card, Invalid> {
        self.check_sizes()?;
        let named = Named::read(&self.metadata)?;
        Content::check(&named.kind, &self.content)?;
        self.check_tool_fields()?;
        if let Some(ttl) = self.ttl_seconds
            && !(limits::TTL_SECONDS_MIN..=limits::TTL_SECONDS_MAX).contains(&ttl)
        {
            let range = format!("must be {} to {}", limits::TTL_SECONDS_MIN, limits::TTL_SECONDS_MAX);
            return Err(Invalid::field("ttl_seconds", range));
        }
        let credential = [Some(&self.content), Some(&self.metadata), self.tool_calls.as_ref()]
            .into_iter()
            .flatten()
            .any(|json| looks_like_credential(json.as_str()));
        Ok(Card {
            id,
            role: named.role,
            kind: named.kind,
            author_id: named.author_id,
            content_hash: Hash256::of(self.content.as_bytes()),
            fact_hash: fact_hash(
                &self.content,
                self.tool_calls.as_ref(),
                self.tool_call_id.as_deref(),
                self.ttl_seconds,
                &self.metadata,
            ),
            tokens: token_count::estimate_content(&self.content),
            content: self.content,
            tool_calls: self.tool_calls,
            tool_call_id: self.tool_call_id,
            metadata: self.metadata,
            origin,
            credential,
            ttl_seconds: self.ttl_seconds,
            expires_at: self.ttl_seconds.map(|ttl| now.plus_seconds(ttl.into())),
            deleted_at: None,
            created_at: now,
        })
    }

    fn check_sizes(&self) -> Result<(), Invalid> {
        let metadata = self.metadata.as_bytes().len();
        Invalid::check_size("metadata", metadata, limits::METADATA_BYTES, "bytes")?;
        let content = self.content.as_str();
        let quotes = if content.starts_with('"') { 2 } else { 0 };
        let calls = self.tool_calls.as_ref().map_or(0, |calls| calls.as_bytes().len());
        Invalid::check_size("card", content.len() - quotes + calls, limits::CARD_BYTES, "bytes")
    }

    fn check_tool_fields(&self) -> Result<(), Invalid> {
        if let Some(calls) = &self.tool_calls
            && !calls.as_str().starts_with('[')
        {
            return Err(Invalid::field("tool_calls", "must be a list"));
        }
        if let Some(id) = &self.tool_call_id {
            check_name("tool_call_id", id)?;
        }
        Ok(())
    }
}

/// What the kernel reads out of the metadata.
pub(super) struct Named {
    kind: CardKind,
    role: Role,
    author_id: Option<String>,
}

impl Named {
    /// Whether a card has these.
    pub(super) fn fits(&self, card: &Card) -> bool {
        (&self.kind, self.role, &self.author_id) == (&card.kind, card.role, &card.author_id)
    }

    pub(super) fn read(metadata: &CanonicalJson) -> Result<Self, Invalid> {
        let members = metadata.members().ok_or_else(|| Invalid::field("metadata", "must be an object"))?;
        let (mut kind, mut role, mut author_id) = (None, None, None);
        for (key, value) in members {
            match key.as_str() {
                "type" => kind = Some(CardKind::new(&text("metadata/type", value)?)?),
                "role" => role = Some(read_role(value)?),
                "author_id" if value != "null" => {
                    let author = text("metadata/author_id", value)?;
                    check_name("metadata/author_id", &author)?;
                    author_id = Some(author);
                }
                _ => {}
            }
        }
        let kind = kind.ok_or_else(|| Invalid::field("metadata/type", "is required"))?;
        let role = role.unwrap_or_else(|| kind.default_role());
        Ok(Self { kind, role, author_id })
    }
}

fn read_role(value: &str) -> Result<Role, Invalid> {
    Role::read(serde_json::from_str::<String>(value).ok().as_deref())
}

fn text(field: &str, value: &str) -> Result<String, Invalid> {
    serde_json::from_str(value).map_err(|_| Invalid::field(field, "must be a string"))
}

/// A name that a caller gives to something of theirs: short, printable, not blank.
fn check_name(field: &str, name: &str) -> Result<(), Invalid> {
    if name.trim().is_empty()
        || name.chars().count() > limits::NAME_CHARS
        || name.chars().any(char::is_control)
    {
        let reason = format!("must be 1 to {} printable characters, not blank", limits::NAME_CHARS);
        return Err(Invalid::field(field, reason));
    }
    Ok(())
}
