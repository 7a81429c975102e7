//! Reading the calls of a piece: a `tool.call` card is one call; a list of `tool_calls` holds several, in the shapes
//! that models and frameworks write.

use crate::piece::{Body, Piece};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The arguments of a call, as they were recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arguments<'a> {
    /// None.
    None,
    /// A JSON value, usually an object.
    Json(&'a str),
    /// A JSON string with its quotes, whose text is usually an object: how OpenAI has them.
    Encoded(&'a str),
}

/// A call as a piece has it.
#[derive(Debug, Clone)]
pub(super) struct RawCall<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) arguments: Arguments<'a>,
    /// From a list, not from a card of its own.
    pub(super) listed: bool,
}

/// The calls that a piece of the model makes; an error says what cannot be read.
pub(super) fn read<'a>(piece: &Piece<'a>) -> Result<Vec<RawCall<'a>>, String> {
    let mut calls = vec![];
    if let Some(list) = piece.tool_calls() {
        let listed: Option<Vec<Listed<'a>>> = serde_json::from_str(list.as_str())
            .map_err(|error| format!("tool_calls cannot be read: {error}"))?;
        calls.extend(listed.into_iter().flatten().map(RawCall::from));
    }
    match piece.body {
        Body::Card(card) | Body::Told { card, .. } if piece.is_call_card() => {
            let own: Own<'a> = serde_json::from_str(card.content.as_str())
                .map_err(|error| format!("the content of a tool.call cannot be read: {error}"))?;
            calls.push(RawCall {
                id: piece.tool_call_id().map(Cow::Borrowed),
                name: own.tool_name,
                arguments: Arguments::of(own.arguments),
                listed: false,
            });
        }
        Body::Card(_) | Body::Told { .. } | Body::Message(_) | Body::Text { .. } => {}
    }
    Ok(calls)
}

/// The tool that a result says it is of.
pub(super) fn tool_of_result<'a>(piece: &Piece<'a>) -> Option<Cow<'a, str>> {
    match piece.body {
        Body::Card(card) | Body::Told { card, .. } => {
            let metadata: ResultMetadata<'a> = serde_json::from_str(card.metadata.as_str()).ok()?;
            metadata.function_name
        }
        Body::Message(message) => message.name.as_deref().map(Cow::Borrowed),
        Body::Text { .. } => None,
    }
}

impl<'a> Arguments<'a> {
    fn of(value: Option<&'a RawValue>) -> Self {
        match value.map(RawValue::get) {
            None | Some("null" | "\"\"") => Self::None,
            Some(text) if text.starts_with('"') => Self::Encoded(text),
            Some(text) => Self::Json(text),
        }
    }
}

impl<'a> From<Listed<'a>> for RawCall<'a> {
    fn from(listed: Listed<'a>) -> Self {
        let (name, arguments) = match listed.function {
            Some(function) => (function.name, function.arguments),
            None => (None, None),
        };
        Self {
            id: listed.id.filter(|id| !id.trim().is_empty()),
            name: name.or(listed.name).or(listed.tool_name),
            arguments: Arguments::of(arguments.or(listed.arguments).or(listed.args).or(listed.input)),
            listed: true,
        }
    }
}

/// `{id, function: {name, arguments}}` of OpenAI, `{id, name, args}` of LangChain, `{id, name, input}` of Anthropic, and
/// `{id, tool_name, arguments}` of Cardwire's own cards.
#[derive(Deserialize)]
struct Listed<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

/// The content of a `tool.call` card.
#[derive(Deserialize)]
struct Own<'a> {
    #[serde(borrow, default)]
    tool_name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ResultMetadata<'a> {
    #[serde(borrow, default)]
    function_name: Option<Cow<'a, str>>,
}
