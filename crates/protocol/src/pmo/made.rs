//! The call that a turn has made and that the PMO carries out (PM-15): what is carried out is what its card says.

use super::calls::Call;
use crate::{Rejection, resource};
use cardwire_model::{Card, Invalid};
use serde_json::{Map, Value};

/// The arguments to carry a call out with: those of the card that made it. Arguments that come with the request must be the
/// same. A tool of somebody else's may be carried out by calling one of ours, with whatever arguments that takes.
pub fn arguments(call: &Call, card: &Card, tool_call_id: &str) -> Result<Map<String, Value>, Rejection> {
    let Some((tool, arguments)) = said(card, tool_call_id) else { return Ok(call.args.clone()) };
    if tool != call.tool {
        if resource::RESERVED.contains(&tool.as_str()) {
            return Err(Invalid::field("tool_call_id", format!("is a call of {tool}")).into());
        }
        return Ok(call.args.clone());
    }
    let Some(arguments) = arguments else { return Ok(call.args.clone()) };
    if !call.args.is_empty() && call.args != arguments {
        return Err(Invalid::field("args", "must be those of the call's card, or be left out").into());
    }
    Ok(arguments)
}

/// The tool that a card calls by this name, and its arguments if they are an object.
fn said(card: &Card, tool_call_id: &str) -> Option<(String, Option<Map<String, Value>>)> {
    let call = match &card.tool_calls {
        Some(calls) => {
            let calls = calls.to_value();
            calls.as_array()?.iter().find(|call| call["id"] == tool_call_id)?.clone()
        }
        None => card.content.to_value(),
    };
    let name = ["tool_name", "name"].iter().find_map(|key| call.get(key)?.as_str())?;
    let arguments = match call.get("arguments") {
        Some(Value::Object(arguments)) => Some(arguments.clone()),
        // What a model wrote, as it wrote it.
        Some(Value::String(text)) => serde_json::from_str(text).ok(),
        Some(_) | None => None,
    };
    Some((name.to_owned(), arguments))
}
