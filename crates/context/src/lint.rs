//! The linter: makes of arranged pieces a request that the provider accepts, or says which card stands in the way
//! (OB-01).
//!
//! Pieces are placed and joined, never edited: results move up to their calls, and what is missing is added and recorded
//! as a repair. The same pieces give the same messages and the same repairs, which is what lets a manifest be rendered
//! again without keeping them. Everything is one pass over the pieces. Invariant 19: every history of a turn makes a valid
//! request.

mod calls;
mod check;
mod emit;
mod names;
mod pairing;

#[cfg(test)]
mod tests;

pub use calls::Arguments;
pub use check::check;
pub use pairing::Call;

pub(crate) use pairing::{Fate, pair};

use crate::{
    piece::{Piece, Text},
    render::Template,
    tokens::{MESSAGE_OVERHEAD, Tokenizer},
};
use cardwire_model::{CanonicalJson, CardId, Cause, Provider, Role, Speaker};
use std::ops::Range;
use thiserror::Error;

/// The text of the result that stands for one that was never recorded. It has the shape of a `tool.result`.
pub const NO_RESULT: &str = r#"{"error":{"code":"no_result","message":"no result of this call was recorded"},"result":null,"status":"failed"}"#;

/// The same as a model is told it.
const NO_RESULT_SAID: &str = "The call failed (no_result): no result of this call was recorded";

/// What the person says when a provider wants a person to begin and nobody did.
pub const OPENING: &str = "Continue.";

/// The name of a tool that nobody recorded.
pub const UNKNOWN_TOOL: &str = "unknown";

/// A rule of the linter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// A call has no result. Repaired by a result that says so.
    CallWithoutResult,
    /// A result has no call. Repaired by a call without arguments.
    ResultWithoutCall,
    /// The first message is not a person's. Repaired by one that is.
    FirstNotUser,
    /// One call has two results.
    DuplicateResult,
    /// A list of tool calls cannot be read.
    MalformedCall,
    /// There is nothing to send.
    NothingToSend,
}

impl Rule {
    /// The name in manifests and errors.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CallWithoutResult => "call_without_result",
            Self::ResultWithoutCall => "result_without_call",
            Self::FirstNotUser => "first_not_user",
            Self::DuplicateResult => "duplicate_result",
            Self::MalformedCall => "malformed_call",
            Self::NothingToSend => "nothing_to_send",
        }
    }
}

/// Something that was added so that the request is valid. The kernel keeps it as a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRepair {
    /// Which rule was broken.
    pub rule: Rule,
    /// The card that broke it, if it was one.
    pub card_id: Option<CardId>,
    /// The message that broke it, if it was one and had an id.
    pub message_id: Option<String>,
    /// Who says what was added.
    pub speaker: Speaker,
    /// Which call it makes or answers.
    pub tool_call_id: Option<String>,
    /// What was added: a string, or the content of a `tool.call` or `tool.result`.
    pub content: CanonicalJson,
}

impl NewRepair {
    /// What it costs.
    pub fn tokens(&self, tokenizer: Tokenizer) -> u32 {
        repair_tokens(&self.content, tokenizer)
    }
}

/// What something that was added costs, as a model is told it.
pub fn repair_tokens(content: &CanonicalJson, tokenizer: Tokenizer) -> u32 {
    match content.as_str() {
        NO_RESULT => tokenizer.count_text(NO_RESULT_SAID),
        _ => tokenizer.count_content(content).saturating_add(MESSAGE_OVERHEAD),
    }
}

/// Pieces of which no valid request can be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text}")]
pub struct LintError {
    /// Which rule.
    pub rule: Rule,
    /// The card at fault, if it was one.
    pub card_id: Option<CardId>,
    /// The message at fault, if it was one and had an id.
    pub message_id: Option<String>,
    /// What is wrong, as a sentence that names it.
    pub text: String,
}

/// A request that obeys the provider's rules, ready to be rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linted<'a> {
    /// Whose rules.
    pub provider: Provider,
    /// What stands outside the messages, with where each text comes from. Only Anthropic has it.
    pub system: Vec<(Text<'a>, Origin)>,
    /// The messages.
    pub messages: Vec<Out<'a>>,
    /// What was added, in order.
    pub repairs: Vec<NewRepair>,
    /// Pieces that are not sent, by index, in order. The same request comes of the pieces without them.
    pub omitted: Vec<(usize, Cause)>,
    parts: Vec<Part<'a>>,
    calls: Vec<Call<'a>>,
}

/// One message of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Out<'a> {
    /// The provider's role.
    pub role: Role,
    /// Who speaks, by name.
    pub name: Option<&'a str>,
    parts: Range<usize>,
}

/// A part of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// What it says.
    pub said: Said<'a>,
    /// Where it comes from.
    pub origin: Origin,
}

/// What a part of a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said<'a> {
    /// A text.
    Text(Text<'a>),
    /// A call, by its place in [`Linted::calls`].
    Call(usize),
    /// The result of a call.
    Result {
        /// Of which call.
        call: usize,
        /// What came of it; may be blank.
        text: Text<'a>,
    },
}

/// Where a part of a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A piece, by its place among the pieces that were linted.
    Piece(usize),
    /// A repair, by its place in [`Linted::repairs`].
    Repair(usize),
}

impl<'a> Linted<'a> {
    /// The parts of a message.
    pub fn parts(&self, message: &Out<'a>) -> &[Part<'a>] {
        &self.parts[message.parts.clone()]
    }

    /// The calls of all messages, in order.
    pub fn calls(&self) -> &[Call<'a>] {
        &self.calls
    }

    /// The pieces that are sent.
    pub fn sent<'p>(&self, pieces: &'p [Piece<'a>]) -> impl Iterator<Item = &'p Piece<'a>> + use<'a, 'p, '_> {
        let mut omitted = self.omitted.iter().map(|(index, _)| *index).peekable();
        let pieces = pieces.iter().enumerate();
        pieces.filter_map(move |(index, piece)| omitted.next_if_eq(&index).is_none().then_some(piece))
    }

    /// The pieces that are not sent, with the reason.
    pub fn omitted_of<'p>(
        &self,
        pieces: &'p [Piece<'a>],
    ) -> impl Iterator<Item = (Piece<'a>, Cause)> + use<'a, 'p, '_> {
        self.omitted.iter().filter_map(|(index, cause)| Some((*pieces.get(*index)?, *cause)))
    }
}

/// Checks and repairs. The pieces are in the order of [`crate::compose::arrange`].
pub fn lint<'a>(provider: Provider, pieces: &[Piece<'a>]) -> Result<Linted<'a>, LintError> {
    lint_as(Template::NOW, provider, pieces)
}

/// The same for a request of this version.
pub fn lint_as<'a>(
    template: Template,
    provider: Provider,
    pieces: &[Piece<'a>],
) -> Result<Linted<'a>, LintError> {
    let no_result = match template {
        Template::First => NO_RESULT,
        Template::Second => NO_RESULT_SAID,
    };
    let mut pairing = pair(provider, pieces);
    match pairing.fault.take() {
        Some(fault) => Err(fault),
        None => emit::emit(provider, pieces, pairing, no_result),
    }
}
