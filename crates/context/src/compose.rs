//! The composer: named layers in, one ordered list of pieces out (CM-01..CM-10).
//!
//! A pure function without state, store or retrieval. Only this file decides where a layer goes (CM-08, OB-05).

mod arrange;
mod output;

pub use arrange::{Layers, arrange};
pub use output::messages_json;

use crate::{
    layers::{KeyError, layer_of},
    piece::{Body, Piece, Reference},
    tokens::Tokenizer,
};
use cardwire_model::{Cause, Invalid, Layer, Message, Placement, Speaker, invalid::InvalidCode};
use std::collections::BTreeMap;
use thiserror::Error;

/// Everything the composer is given (CM-01).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Input {
    /// The agent's own prompt.
    pub system_prompt: Option<String>,
    /// Blocks by key.
    pub contexts: BTreeMap<String, String>,
    /// The conversation so far.
    pub checkpoint_messages: Vec<Message>,
    /// What is asked now.
    pub query: Option<Message>,
}

/// Input that cannot be composed. Two of these are found when a request is read; they are here so that every rule of the
/// composer has its name in one place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ComposeError {
    /// A key names no layer (CM-05).
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A block is not a string (CM-04).
    #[error("must be a string")]
    BlockNotText {
        /// Its key.
        key: String,
    },
    /// Both `query` and `human_message` are given (CM-06).
    #[error("give either query or human_message")]
    DualQueryPath,
    /// The input is said by somebody else (CM-06).
    #[error("must be a human message")]
    QueryNotHuman,
    /// A system message in the conversation (CM-07).
    #[error("a conversation holds no system messages")]
    SystemInCheckpoint {
        /// Its place.
        index: usize,
    },
}

impl ComposeError {
    /// The code on the wire.
    pub const fn code(&self) -> &'static str {
        match self.invalid_code() {
            Some(code) => code.as_str(),
            None => "bad_request",
        }
    }

    /// The field it is about, as a JSON pointer.
    pub fn field(&self) -> String {
        match self {
            Self::Key(KeyError::Malformed(key) | KeyError::Servers(key)) => format!("contexts/{key}"),
            Self::Key(KeyError::Private) => "contexts/system_prompt__context".to_owned(),
            Self::BlockNotText { key } => format!("contexts/{key}"),
            Self::DualQueryPath | Self::QueryNotHuman => "human_message".to_owned(),
            Self::SystemInCheckpoint { index } => format!("checkpoint_messages/{index}/role"),
        }
    }

    const fn invalid_code(&self) -> Option<InvalidCode> {
        match self {
            Self::Key(_) => Some(InvalidCode::ContextKey),
            Self::DualQueryPath => Some(InvalidCode::DualQueryPath),
            Self::SystemInCheckpoint { .. } => Some(InvalidCode::SystemInCheckpoint),
            Self::BlockNotText { .. } | Self::QueryNotHuman => None,
        }
    }
}

impl From<ComposeError> for Invalid {
    fn from(error: ComposeError) -> Self {
        match error.invalid_code() {
            Some(code) => Self::coded(code, error.field(), error.to_string()),
            None => Self::field(error.field(), error.to_string()),
        }
    }
}

/// Composes a request from what a caller gives. Tokens are the documented estimate.
pub fn compose(input: &Input, placement: Placement) -> Result<Vec<Piece<'_>>, ComposeError> {
    let system = input.checkpoint_messages.iter().position(|message| message.speaker == Speaker::System);
    if let Some(index) = system {
        return Err(ComposeError::SystemInCheckpoint { index });
    }
    let (history, query) = split_query(&input.checkpoint_messages, input.query.as_ref())?;
    let layers = Layers {
        system_prompt: system_prompt(input.system_prompt.as_deref()),
        blocks: blocks(&input.contexts)?,
        checkpoint: history.iter().map(|message| said(Layer::Checkpoint, Cause::Memory, message)).collect(),
        query: query.map(|message| said(Layer::Query, Cause::Instruction, message)),
        turn: vec![],
    };
    Ok(arrange(layers, placement))
}

/// What planners, reducers and compactors are sent: no conversation (CM-09).
pub fn compose_simple<'a>(
    system_prompt_text: Option<&'a str>,
    contexts: &'a BTreeMap<String, String>,
    human: &'a Message,
    placement: Placement,
) -> Result<Vec<Piece<'a>>, ComposeError> {
    let (_, query) = split_query(&[], Some(human))?;
    let layers = Layers {
        system_prompt: system_prompt(system_prompt_text),
        blocks: blocks(contexts)?,
        query: query.map(|message| said(Layer::Query, Cause::Instruction, message)),
        ..Layers::default()
    };
    Ok(arrange(layers, placement))
}

/// The conversation without the input, and the input: it appears once (CM-06). When the conversation ends with it
/// already, that message is the input, so that every placement has it last.
fn split_query<'a>(
    history: &'a [Message],
    query: Option<&'a Message>,
) -> Result<(&'a [Message], Option<&'a Message>), ComposeError> {
    let Some(query) = query.filter(|query| !crate::piece::Text::of(&query.content).is_blank()) else {
        return Ok((history, None));
    };
    if query.speaker != Speaker::Human {
        return Err(ComposeError::QueryNotHuman);
    }
    Ok(match history.split_last() {
        Some((last, before)) if is_same_input(last, query) => (before, Some(last)),
        Some(_) | None => (history, Some(query)),
    })
}

/// A person's words, the same by id when both have one, else by text. Equal texts further up are history and stay (W-18).
fn is_same_input(last: &Message, query: &Message) -> bool {
    let is_same = match (&last.id, &query.id) {
        (Some(last), Some(query)) => last == query,
        (Some(_) | None, None) | (None, Some(_)) => same_text(last, query),
    };
    last.speaker == Speaker::Human && is_same
}

fn same_text(left: &Message, right: &Message) -> bool {
    match (left.content.to_text(), right.content.to_text()) {
        (Some(left), Some(right)) => left.trim() == right.trim(),
        (Some(_) | None, None) | (None, Some(_)) => left.content == right.content,
    }
}

fn blocks(contexts: &BTreeMap<String, String>) -> Result<Vec<Piece<'_>>, ComposeError> {
    let mut blocks = Vec::with_capacity(contexts.len());
    for (key, text) in contexts {
        let layer = layer_of(key)?;
        let text = text.trim();
        if !text.is_empty() {
            let context_key = Some(key.as_str());
            blocks.push(Piece { context_key, ..block(layer, Cause::Collected, text) });
        }
    }
    Ok(blocks)
}

fn system_prompt(text: Option<&str>) -> Option<Piece<'_>> {
    let text = text.filter(|text| !text.trim().is_empty())?;
    Some(block(Layer::SystemPrompt, Cause::Profile, text))
}

fn block(layer: Layer, cause: Cause, text: &str) -> Piece<'_> {
    Piece {
        layer,
        context_key: None,
        cause,
        body: Body::Text { speaker: Speaker::System, text },
        reference: Reference::Given,
        tokens: Tokenizer::Estimate.count_text(text),
        pinned: false,
    }
}

fn said(layer: Layer, cause: Cause, message: &Message) -> Piece<'_> {
    Piece {
        layer,
        context_key: None,
        cause,
        body: Body::Message(message),
        reference: Reference::Given,
        tokens: Tokenizer::Estimate.count_message(message),
        pinned: false,
    }
}

#[cfg(test)]
mod tests;
