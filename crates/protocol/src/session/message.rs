//! What memory is made of (ST-06): what people and models said. No system messages, nothing internal, and tools' answers
//! only where the call they answer is there too.

use super::{
    Held,
    list::{Item, call_ids},
};
use cardwire_model::{CanonicalJson, CardDraft, Invalid, InvalidCode, Message, Speaker, limits};
use serde_json::json;
use std::collections::HashSet;

/// The kind of a message's card.
pub const KIND: &str = "session.message";

/// The items that these messages become. Internal ones are left out.
pub(super) fn items(messages: &[Message], held: Option<&[Held]>) -> Result<Vec<Item>, Invalid> {
    Invalid::check_size("messages", messages.len(), limits::PATCH_ITEMS, "messages")?;
    let mut calls: HashSet<String> =
        held.into_iter().flatten().flat_map(|held| held.calls.iter().cloned()).collect();
    let mut items = vec![];
    for (index, message) in messages.iter().enumerate().filter(|(_, message)| !message.internal) {
        check(index, message, &calls)?;
        calls.extend(message.tool_calls.iter().flat_map(call_ids));
        items.push(item(message)?);
    }
    Ok(items)
}

/// Whether an answer of a tool may belong to a call that is in memory already.
pub(super) fn answers_from_before(messages: &[Message]) -> bool {
    let mut calls: HashSet<String> = HashSet::new();
    messages.iter().any(|message| {
        calls.extend(message.tool_calls.iter().flat_map(call_ids));
        message.speaker == Speaker::Tool
            && message.tool_call_id.as_ref().is_some_and(|id| !calls.contains(id))
    })
}

fn check(index: usize, message: &Message, calls: &HashSet<String>) -> Result<(), Invalid> {
    let field = |name: &str| format!("messages/{index}/{name}");
    match message.speaker {
        Speaker::System => Err(Invalid::coded(
            InvalidCode::SystemInCheckpoint,
            field("role"),
            "memory takes no system messages; they are made anew for every call",
        )),
        Speaker::Tool => match &message.tool_call_id {
            Some(id) if calls.contains(id) => Ok(()),
            Some(_) => Err(Invalid::field(
                field("tool_call_id"),
                "answers no call of an ai message before it in memory",
            )),
            None => Err(Invalid::field(field("tool_call_id"), "is required of a tool message")),
        },
        Speaker::Human | Speaker::Ai => Ok(()),
    }
}

fn item(message: &Message) -> Result<Item, Invalid> {
    let mut metadata = json!({ "type": KIND, "role": message.speaker.role().as_str() });
    if let Some(name) = &message.name {
        metadata["name"] = name.as_str().into();
    }
    Ok(Item {
        name: message.id.clone(),
        name_key: "message_id",
        draft: CardDraft {
            content: message.content.clone(),
            metadata: CanonicalJson::from_value(&metadata)?,
            tool_calls: message.tool_calls.clone(),
            tool_call_id: message.tool_call_id.clone(),
            ttl_seconds: None,
        },
    })
}

/// A message of ours: the input of a turn, its answer, or what an agent came to.
pub(super) fn said(id: String, speaker: Speaker, content: CanonicalJson, name: Option<&str>) -> Message {
    Message {
        id: Some(id),
        speaker,
        content,
        tool_calls: None,
        tool_call_id: None,
        name: name.map(str::to_owned),
        internal: false,
    }
}
