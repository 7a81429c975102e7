//! The rules of the providers once more, read off the rendered bytes. Written apart from the linter, so that the two can
//! only agree by both being right.

use cardwire_model::Provider;
use serde_json::Value;
use std::collections::HashSet;

/// Whether a provider would take this body; the error says what it would refuse.
pub fn check(provider: Provider, body: &Value) -> Result<(), String> {
    text(body, "model")?;
    no_traces(body)?;
    match provider {
        Provider::OpenAiChat => openai(body),
        Provider::AnthropicMessages => anthropic(body),
    }
}

fn openai(body: &Value) -> Result<(), String> {
    let mut open: Vec<String> = vec![];
    let messages = list(body, "messages")?;
    for (at, message) in messages.iter().enumerate() {
        let role = text(message, "role")?;
        if role != "tool" && !open.is_empty() {
            return Err(format!("message {at}: {open:?} have no result"));
        }
        match role {
            "system" | "user" => {
                said(message, "content").map_err(|error| format!("message {at}: {error}"))?
            }
            "assistant" => open = openai_calls(message).map_err(|error| format!("message {at}: {error}"))?,
            "tool" => {
                let id = text(message, "tool_call_id")?;
                let place = open.iter().position(|one| one == id);
                open.remove(place.ok_or_else(|| format!("message {at}: no open call {id}"))?);
                text_of(message, "content")?;
            }
            other => return Err(format!("message {at}: role {other}")),
        }
    }
    if !open.is_empty() {
        return Err(format!("{open:?} have no result"));
    }
    no_empty_tools(body)
}

fn openai_calls(message: &Value) -> Result<Vec<String>, String> {
    let Some(calls) = message.get("tool_calls") else {
        said(message, "content")?;
        return Ok(vec![]);
    };
    if !message["content"].is_null() {
        said(message, "content")?;
    }
    let calls = calls.as_array().filter(|calls| !calls.is_empty()).ok_or("tool_calls is empty")?;
    let mut ids = vec![];
    for call in calls {
        let id = text(call, "id")?;
        if id.len() > 40 || ids.iter().any(|known| known == id) {
            return Err(format!("call id {id} is too long or repeated"));
        }
        if text(call, "type")? != "function" {
            return Err(format!("call {id} is no function"));
        }
        name(&call["function"])?;
        text(&call["function"], "arguments")?;
        ids.push(id.to_owned());
    }
    Ok(ids)
}

fn anthropic(body: &Value) -> Result<(), String> {
    if body["max_tokens"].as_u64().is_none_or(|most| most == 0) {
        return Err("max_tokens is missing".to_owned());
    }
    if body.get("system").is_some() {
        for block in list(body, "system")? {
            text_block(block)?;
        }
    }
    let (mut open, mut ids, mut role) = (HashSet::new(), HashSet::new(), "assistant");
    for (at, message) in list(body, "messages")?.iter().enumerate() {
        let blocks = list(message, "content").map_err(|error| format!("message {at}: {error}"))?;
        role = match (role, text(message, "role")?) {
            ("assistant", "user") => {
                user(blocks, &mut open).map_err(|error| format!("message {at}: {error}"))?;
                "user"
            }
            ("user", "assistant") => {
                open = assistant(blocks, &mut ids).map_err(|error| format!("message {at}: {error}"))?;
                "assistant"
            }
            (_, now) => return Err(format!("message {at}: {now} cannot stand here")),
        };
    }
    if !open.is_empty() {
        return Err(format!("{open:?} have no result"));
    }
    if !ids.is_empty() {
        list(body, "tools").map_err(|_| "tools are used but not defined")?;
    }
    no_empty_tools(body)
}

/// Results first, exactly those of the message before, then text.
fn user(blocks: &[Value], open: &mut HashSet<String>) -> Result<(), String> {
    let mut texts = false;
    for block in blocks {
        match text(block, "type")? {
            "text" => {
                texts = true;
                text_block(block)?;
            }
            "tool_result" if texts => return Err("a result after text".to_owned()),
            "tool_result" => {
                let id = text(block, "tool_use_id")?;
                if !open.remove(id) {
                    return Err(format!("no open call {id}"));
                }
                if block.get("content").is_some() {
                    said(block, "content")?;
                }
            }
            other => return Err(format!("block {other}")),
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("{open:?} have no result")) }
}

fn assistant(blocks: &[Value], ids: &mut HashSet<String>) -> Result<HashSet<String>, String> {
    let mut open = HashSet::new();
    for block in blocks {
        match text(block, "type")? {
            "text" => text_block(block)?,
            "tool_use" => {
                let id = text(block, "id")?;
                if !plain(id) || !ids.insert(id.to_owned()) {
                    return Err(format!("call id {id} is malformed or repeated"));
                }
                name(block)?;
                block["input"].as_object().ok_or("input is no object")?;
                open.insert(id.to_owned());
            }
            other => return Err(format!("block {other}")),
        }
    }
    Ok(open)
}

fn text_block(block: &Value) -> Result<(), String> {
    if text(block, "type")? == "text" { said(block, "text") } else { Err("not a text block".to_owned()) }
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a [Value], String> {
    let items = value[key].as_array().filter(|items| !items.is_empty());
    items.map(Vec::as_slice).ok_or_else(|| format!("{key} is no list, or empty"))
}

fn text_of<'a>(value: &'a Value, key: &str) -> Result<&'a str, String> {
    value[key].as_str().ok_or_else(|| format!("{key} is no text"))
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str, String> {
    let text = text_of(value, key)?;
    if text.is_empty() { Err(format!("{key} is empty")) } else { Ok(text) }
}

fn said(value: &Value, key: &str) -> Result<(), String> {
    if text_of(value, key)?.trim().is_empty() { Err(format!("{key} is blank")) } else { Ok(()) }
}

fn name(value: &Value) -> Result<(), String> {
    let name = text(value, "name")?;
    if name.len() <= 64 && plain(name) { Ok(()) } else { Err(format!("tool name {name}")) }
}

fn plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

fn no_empty_tools(body: &Value) -> Result<(), String> {
    if body.get("tools").is_some() { list(body, "tools").map(drop) } else { Ok(()) }
}

/// What only traces need stays at home (CM-10).
fn no_traces(body: &Value) -> Result<(), String> {
    let messages = body["messages"].as_array().into_iter().flatten();
    let traced = |message: &Value| message.get("metadata").is_some() || message.get("context_key").is_some();
    if messages.into_iter().any(traced) { Err("a message has metadata".to_owned()) } else { Ok(()) }
}
