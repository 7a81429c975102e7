//! What memory is made of (ST-06): what people and models said. No system messages, nothing internal, and tools' answers
//! only where the call they answer is there too.

use super::{
    Held,
    list::{Item, call_ids},
};
use cardwire_model::{CanonicalJson, CardDraft, Invalid, InvalidCode, Message, Origin, Speaker, limits};
use serde_json::{Value, json};
use std::collections::HashSet;

/// The kind of a message's card.
pub const KIND: &str = "session.message";

/// The items that these messages become. Internal ones are left out.
pub(super) fn items(messages: &[Message], held: Option<&[Held]>) -> Result<Vec<Item>, Invalid> {
    Invalid::check_size("messages", messages.len(), limits::PATCH_ITEMS, "messages")?;
    let mut calls: HashSet<String> =
        held.into_iter().flatten().flat_map(|held| held.calls.iter().cloned()).collect();
    // Answers that are there already, but for those that this patch says again.
    let again: HashSet<&str> = messages.iter().filter_map(|message| message.id.as_deref()).collect();
    let other = |held: &&Held| held.name.as_deref().is_none_or(|name| !again.contains(name));
    let mut answered: HashSet<String> =
        held.into_iter().flatten().filter(other).filter_map(|held| held.answers.clone()).collect();
    let mut items = vec![];
    for (index, message) in messages.iter().enumerate().filter(|(_, message)| !message.internal) {
        check(index, message, &calls)?;
        if let Some(id) = message.tool_call_id.as_ref().filter(|_| message.speaker == Speaker::Tool)
            && !answered.insert(id.clone())
        {
            let field = format!("messages/{index}/tool_call_id");
            return Err(Invalid::field(field, "the call has an answer already"));
        }
        check_calls(index, message)?;
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

/// Calls that no request could be made of later.
fn check_calls(index: usize, message: &Message) -> Result<(), Invalid> {
    let Some(calls) = &message.tool_calls else { return Ok(()) };
    let text =
        |value: Option<&Value>| value.and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty());
    for (place, call) in calls.to_value().as_array().into_iter().flatten().enumerate() {
        let named = text(call.get("name")) || text(call.pointer("/function/name"));
        if !text(call.get("id")) || !named {
            let field = format!("messages/{index}/tool_calls/{place}");
            return Err(Invalid::field(field, "must be an object with an id and a name"));
        }
    }
    Ok(())
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
        // What a model or a tool is said to have said is trusted no more than they are, whoever says so.
        origin: match message.speaker {
            Speaker::Ai => Origin::Agent,
            Speaker::Tool => Origin::Tool,
            Speaker::Human | Speaker::System => Origin::Operator,
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
