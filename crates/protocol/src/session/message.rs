//! What memory is made of (ST-06): what people and models said. No system messages, nothing internal, and tools' answers
//! only where the call they answer is there too.

use super::{
    Held,
    list::{Item, call_ids},
};
use cardwire_model::{CanonicalJson, CardDraft, Invalid, InvalidCode, Message, Origin, Speaker, limits};
use serde_json::{Value, json};
use std::{borrow::Cow, collections::HashMap};

/// The kind of a message's card.
pub const KIND: &str = "session.message";

/// The items that these messages become. Internal ones are left out.
pub(super) fn items(messages: &[Message], held: Option<&[Held]>) -> Result<Vec<Item>, Invalid> {
    Invalid::check_size("messages", messages.len(), limits::PATCH_ITEMS, "messages")?;
    let kept = || messages.iter().enumerate().filter(|(_, message)| !message.internal);
    for (index, message) in kept() {
        check(index, message)?;
        check_calls(index, message)?;
    }
    check_pairs(messages, held.unwrap_or_default())?;
    kept().map(|(_, message)| item(message)).collect()
}

/// Whether it must be known which calls in memory are open: for an answer to a call that is there already, and for a call,
/// whose id may be that of an open one.
pub(super) fn pairs_with_memory(messages: &[Message]) -> bool {
    let said = messages.iter().filter(|message| !message.internal);
    said.clone().any(|message| message.tool_calls.is_some() || message.speaker == Speaker::Tool)
}

/// What a message of memory has to do with tools.
struct Paired<'a> {
    /// Its place in the patch, unless it is there already.
    index: Option<usize>,
    calls: Cow<'a, [String]>,
    answers: Option<&'a str>,
}

/// F-04: an answer closes the open call of its id before it, so that an id may be used again once its call is answered, and
/// no earlier: which of two open calls an answer is of, nobody could say.
fn check_pairs(messages: &[Message], held: &[Held]) -> Result<(), Invalid> {
    // By id, whether the latest call of it is open.
    let mut calls: HashMap<String, bool> = HashMap::new();
    let dropped = dropped_calls(messages, held);
    for said in in_order(messages, held) {
        if let Some(id) = said.answers {
            let is_open = calls.get(id).copied();
            let refuse = |index: usize, reason: &str| {
                Err(Invalid::field(format!("messages/{index}/tool_call_id"), reason))
            };
            match (is_open, said.index) {
                (Some(true), _) => drop(calls.insert(id.to_owned(), false)),
                (Some(false), Some(index)) => return refuse(index, "the call has an answer already"),
                (None, Some(index)) => {
                    return refuse(index, "answers no call of an ai message before it in memory");
                }
                (Some(false) | None, None) => {
                    if let Some(index) = dropped.get(id) {
                        let reason = format!("lacks the call `{id}`, whose answer is in memory");
                        return Err(Invalid::field(format!("messages/{index}/tool_calls"), reason));
                    }
                }
            }
        }
        for (place, id) in said.calls.iter().enumerate() {
            if let (Some(true), Some(index)) = (calls.insert(id.clone(), true), said.index) {
                let field = format!("messages/{index}/tool_calls/{place}/id");
                let reason = format!(
                    "`{id}` is the id of a call without an answer; answer that first, or use another id"
                );
                return Err(Invalid::field(field, reason));
            }
        }
    }
    Ok(())
}

/// Memory as it will be: a message whose id is there takes the place of that one, and of two of one id the later one counts.
fn in_order<'a>(messages: &'a [Message], held: &'a [Held]) -> Vec<Paired<'a>> {
    let mut order: Vec<Paired<'a>> = Vec::with_capacity(held.len() + messages.len());
    let mut places: HashMap<&str, usize> = HashMap::new();
    for one in held {
        places.extend(one.name.as_deref().map(|name| (name, order.len())));
        let answers = one.answers.as_deref().filter(|_| one.speaker == Speaker::Tool);
        order.push(Paired { index: None, calls: Cow::Borrowed(&one.calls), answers });
    }
    for (index, message) in messages.iter().enumerate().filter(|(_, message)| !message.internal) {
        let calls = message.tool_calls.as_ref().map_or_else(Vec::new, call_ids);
        let answers = message.tool_call_id.as_deref().filter(|_| message.speaker == Speaker::Tool);
        let said = Paired { index: Some(index), calls: Cow::Owned(calls), answers };
        match message.id.as_deref().and_then(|id| places.get(id)) {
            Some(place) => order[*place] = said,
            None => {
                places.extend(message.id.as_deref().map(|id| (id, order.len())));
                order.push(said);
            }
        }
    }
    order
}

/// Calls of messages in memory whose places are taken, with the message that takes it.
fn dropped_calls<'a>(messages: &[Message], held: &'a [Held]) -> HashMap<&'a str, usize> {
    let named =
        messages.iter().enumerate().filter_map(|(index, message)| Some((message.id.as_deref()?, index)));
    let named: HashMap<&str, usize> = named.collect();
    let of = |one: &'a Held| {
        let index = one.name.as_deref().and_then(|name| named.get(name)).copied();
        one.calls.iter().filter_map(move |id| Some((id.as_str(), index?)))
    };
    held.iter().flat_map(of).collect()
}

fn check(index: usize, message: &Message) -> Result<(), Invalid> {
    let field = |name: &str| format!("messages/{index}/{name}");
    match message.speaker {
        Speaker::System => Err(Invalid::coded(
            InvalidCode::SystemInCheckpoint,
            field("role"),
            "memory takes no system messages; they are made anew for every call",
        )),
        Speaker::Tool if message.tool_call_id.is_none() => {
            Err(Invalid::field(field("tool_call_id"), "is required of a tool message"))
        }
        Speaker::Human | Speaker::Ai | Speaker::Tool => Ok(()),
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
