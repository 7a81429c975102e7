//! Pieces: what a request is composed of, each with its layer, its reason and the reference a manifest keeps.
//!
//! A piece borrows everything. Content that a card holds stays in its canonical JSON text until it is copied into the
//! request, so that a string is never decoded and encoded again.

use cardwire_model::{BoxId, CanonicalJson, Card, CardId, Cause, Generation, Layer, Message, Speaker};
use std::borrow::Cow;

/// One part of a context: at most one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Of which layer.
    pub layer: Layer,
    /// `framework__context` and the like, for blocks.
    pub context_key: Option<&'a str>,
    /// Why it is there.
    pub cause: Cause,
    /// What it says.
    pub body: Body<'a>,
    /// What a manifest keeps of it.
    pub reference: Reference,
    /// What it costs, counted once by whoever made the piece, with [`crate::tokens::MESSAGE_OVERHEAD`].
    pub tokens: u32,
    /// The budget never drops it.
    pub pinned: bool,
}

/// What a piece says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body<'a> {
    /// What a card says.
    Card(&'a Card),
    /// A card that is told in other words than its own.
    Told {
        /// The card.
        card: &'a Card,
        /// The words.
        text: Text<'a>,
    },
    /// A message that is not kept as a card.
    Message(&'a Message),
    /// A text.
    Text {
        /// Who says it.
        speaker: Speaker,
        /// The text.
        text: &'a str,
    },
}

/// What a manifest keeps of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// A block whose text is kept as a card. Blocks are always system messages, whatever the role of that card.
    Block(CardId),
    /// A card.
    Card {
        /// Which.
        id: CardId,
        /// Where it stands, if it was read from a box.
        place: Option<Place>,
    },
    /// Given with the request and kept nowhere.
    Given,
}

/// A place in a box as readers see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// Which box.
    pub box_id: BoxId,
    /// At which generation.
    pub generation: Generation,
    /// Counted from 0 in the flattened list, whether or not every card of it is visible.
    pub index: u32,
}

/// Text on its way into a request, in the form that is cheapest to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text<'a> {
    /// A JSON string with its quotes: copied as it is.
    Encoded(&'a str),
    /// Text that is still to be encoded: plain text, or the canonical text of a JSON value.
    Plain(&'a str),
}

impl<'a> Text<'a> {
    /// The text of some content: a string is its own text, null is none, anything else is its canonical JSON.
    pub fn of(content: &'a CanonicalJson) -> Self {
        Self::of_canonical(content.as_str())
    }

    /// The same of a part of some content.
    pub(crate) fn of_canonical(text: &'a str) -> Self {
        match text {
            "null" => Self::Plain(""),
            text if text.starts_with('"') => Self::Encoded(text),
            text => Self::Plain(text),
        }
    }

    /// Nothing but blanks.
    pub fn is_blank(self) -> bool {
        match self {
            Self::Plain(text) => text.trim().is_empty(),
            Self::Encoded(text) => match text.as_bytes().get(1) {
                // Decoding is only needed when the first character does not settle it.
                Some(first) if first.is_ascii_graphic() && !matches!(first, b'\\' | b'"') => false,
                Some(_) | None => {
                    serde_json::from_str::<String>(text).is_ok_and(|text| text.trim().is_empty())
                }
            },
        }
    }

    /// The text itself.
    pub fn decoded(self) -> Cow<'a, str> {
        match self {
            Self::Plain(text) => Cow::Borrowed(text),
            Self::Encoded(text) => {
                serde_json::from_str::<String>(text).map_or(Cow::Borrowed(text), Cow::Owned)
            }
        }
    }

    /// Bytes of the text as it stands here.
    pub const fn len(self) -> usize {
        match self {
            Self::Encoded(text) | Self::Plain(text) => text.len(),
        }
    }

    /// No bytes at all.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl<'a> Piece<'a> {
    /// Who speaks.
    pub fn speaker(&self) -> Speaker {
        match (self.reference, self.body) {
            (Reference::Block(_), _) => Speaker::System,
            (Reference::Card { .. } | Reference::Given, Body::Card(card) | Body::Told { card, .. }) => {
                Speaker::from(card.role)
            }
            (Reference::Card { .. } | Reference::Given, Body::Message(message)) => message.speaker,
            (Reference::Card { .. } | Reference::Given, Body::Text { speaker, .. }) => speaker,
        }
    }

    /// What is said. A `tool.call` card says nothing: its content is the call.
    pub fn text(&self) -> Text<'a> {
        match self.body {
            Body::Card(_) | Body::Told { .. } if self.is_call_card() => Text::Plain(""),
            Body::Card(card) => Text::of(&card.content),
            Body::Told { text, .. } => text,
            Body::Message(message) => Text::of(&message.content),
            Body::Text { text, .. } => Text::Plain(text),
        }
    }

    /// The list of tool calls, as it was given.
    pub fn tool_calls(&self) -> Option<&'a CanonicalJson> {
        match self.body {
            Body::Card(card) | Body::Told { card, .. } => card.tool_calls.as_ref(),
            Body::Message(message) => message.tool_calls.as_ref(),
            Body::Text { .. } => None,
        }
    }

    /// Which call it answers, or makes if it is a `tool.call` card.
    pub fn tool_call_id(&self) -> Option<&'a str> {
        let id = match self.body {
            Body::Card(card) | Body::Told { card, .. } => card.tool_call_id.as_deref(),
            Body::Message(message) => message.tool_call_id.as_deref(),
            Body::Text { .. } => None,
        };
        id.filter(|id| !id.trim().is_empty())
    }

    /// Who speaks, by name.
    pub fn name(&self) -> Option<&'a str> {
        match self.body {
            Body::Message(message) => message.name.as_deref(),
            Body::Card(_) | Body::Told { .. } | Body::Text { .. } => None,
        }
    }

    /// The card it is made of, block or not.
    pub fn card_id(&self) -> Option<CardId> {
        match (self.reference, self.body) {
            (Reference::Block(id) | Reference::Card { id, .. }, _) => Some(id),
            (Reference::Given, Body::Card(card) | Body::Told { card, .. }) => Some(card.id),
            (Reference::Given, Body::Message(_) | Body::Text { .. }) => None,
        }
    }

    /// The id a message was given with.
    pub fn message_id(&self) -> Option<&'a str> {
        match self.body {
            Body::Message(message) => message.id.as_deref(),
            Body::Card(_) | Body::Told { .. } | Body::Text { .. } => None,
        }
    }

    /// What another agent said or came to, in words made for whoever reads it.
    pub fn is_retold(&self) -> bool {
        matches!(self.body, Body::Told { .. }) && self.speaker() == Speaker::Ai
    }

    /// Nothing is said. It may still carry calls.
    pub fn is_blank(&self) -> bool {
        self.text().is_blank()
    }

    /// The model's call of one tool, as a card of its own.
    pub fn is_call_card(&self) -> bool {
        match self.body {
            Body::Card(card) | Body::Told { card, .. } => {
                self.speaker() == Speaker::Ai && card.kind.as_str() == "tool.call"
            }
            Body::Message(_) | Body::Text { .. } => false,
        }
    }
}
