//! Tools that read what was handed over, keep the list of things to do, and search the project's knowledge.

use super::{text_argument, todo};
use crate::{
    card::Answer,
    desk::Desk,
    transcript::Call,
    trouble::{Logged, Trouble},
};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// How many cards of a box are read at most.
const BOX_CARDS: u64 = 100;

pub(crate) async fn run(desk: &Desk, call: &Call, arguments: &Map<String, Value>) -> Result<Answer, Trouble> {
    match call.name.as_str() {
        "read_card" => read_card(desk, &call.arguments).await,
        "read_box" => read_box(desk, &call.arguments).await,
        "plan_todo" => match todo::check_plan(arguments) {
            Ok(()) => patch_todo(desk, json!({ "plan": arguments })).await,
            Err(wrong) => Ok(Answer::failed("invalid_arguments", wrong)),
        },
        todo::REPORT => match todo::updates(arguments) {
            Ok(updates) => patch_todo(desk, json!({ "updates": updates })).await,
            Err(wrong) => Ok(Answer::failed("invalid_arguments", wrong)),
        },
        "search_knowledge" => search(desk, &call.arguments).await,
        name => Ok(Answer::failed("unknown_tool", format!("there is no tool {name}"))),
    }
}

/// only what is in view.
async fn read_card(desk: &Desk, arguments: &Value) -> Result<Answer, Trouble> {
    let Some(id) = text_argument(arguments, "card_id") else {
        return Ok(Answer::failed("invalid_arguments", "card_id is required"));
    };
    let view = desk.view().await?;
    let in_view = view["card_ids"].as_array().is_some_and(|ids| ids.iter().any(|seen| *seen == id.as_str()));
    if !in_view {
        return Ok(Answer::failed("not_handed_over", format!("card {id} was not handed to this turn")));
    }
    let card = desk.get(&format!("/cards/{id}")).await?;
    Ok(Answer::Success(shown(&card)))
}

/// The boxes of the turn, and those that results it was given name.
async fn read_box(desk: &Desk, arguments: &Value) -> Result<Answer, Trouble> {
    let Some(id) = text_argument(arguments, "box_id") else {
        return Ok(Answer::failed("invalid_arguments", "box_id is required"));
    };
    let own = [&desk.lease.context_box_id, &desk.lease.output_box_id];
    if !own.contains(&&id) && !handed_boxes(desk.transcript().await?.cards()).contains(&id) {
        return Ok(Answer::failed("not_handed_over", format!("box {id} was not handed to this turn")));
    }
    let limit = arguments["limit"].as_u64().unwrap_or(BOX_CARDS).clamp(1, BOX_CARDS);
    let cards = desk.get(&format!("/boxes/{id}/cards?limit={limit}")).await?;
    Ok(Answer::Success(cards.as_array().into_iter().flatten().map(shown).collect()))
}

/// Boxes that came back with work that was started, by what the turn has on record.
pub(crate) fn handed_boxes(cards: &[Value]) -> HashSet<String> {
    let mut handed = HashSet::new();
    for card in cards {
        let by_system = card["author_id"].as_str().is_some_and(|author| author.starts_with("sys.pmo"));
        if card["type"] == "tool.result" && by_system {
            boxes_named(&card["content"]["result"], &mut handed);
        }
    }
    handed
}

/// Boxes that a result of the PMO names: of the work that was started, or of each branch. What others wrote into it counts
/// for nothing.
fn boxes_named(result: &Value, into: &mut HashSet<String>) {
    let branches = result["results"].as_array().into_iter().flatten();
    for named in [result].into_iter().chain(branches) {
        let boxes = ["output_box_id", "context_box_id"].iter().filter_map(|name| named[*name].as_str());
        into.extend(boxes.map(str::to_owned));
    }
}

/// What a model is shown of a card.
fn shown(card: &Value) -> Value {
    json!({
        "card_id": card["card_id"], "type": card["type"], "author_id": card["author_id"],
        "origin": card["origin"], "content": card["content"],
    })
}

/// TD-06
async fn patch_todo(desk: &Desk, todo: Value) -> Result<Answer, Trouble> {
    if desk.lease.tries_out() {
        return Ok(Answer::failed(
            "forked",
            "this turn only tries something out, and leaves the list as it is",
        ));
    }
    let Some(session) = desk.lease.setting("session_id") else {
        return Ok(Answer::failed("no_session", "this turn belongs to no session, so it has no list"));
    };
    let query = namespace(desk);
    let patched = desk.post(&format!("/sessions/{session}/patches{query}"), &json!({ "todo": todo })).await?;
    // What a model has a use for: not how the list is kept.
    let list = patched["todo"]
        .as_object()
        .map(|todo| json!({ "goal": todo.get("goal"), "items": todo.get("items") }));
    Ok(Answer::Success(json!({ "todo": list })))
}

/// The namespace of the run's session, as a query.
pub(crate) fn namespace(desk: &Desk) -> String {
    desk.lease.setting("namespace").map(|name| format!("?namespace={name}")).unwrap_or_default()
}

async fn search(desk: &Desk, arguments: &Value) -> Result<Answer, Trouble> {
    let Some(query) = text_argument(arguments, "query") else {
        return Ok(Answer::failed("invalid_arguments", "query is required"));
    };
    let mut route = format!("/knowledge:search?query={}", escaped(&query));
    if let Some(most) = arguments["top_k"].as_u64() {
        route.push_str(&format!("&limit={most}"));
    }
    if let Some(namespace) = desk.lease.setting("namespace") {
        route.push_str(&format!("&namespace={namespace}"));
    }
    let found = desk.get(&route).await?;
    note_found(desk, &found).await;
    Ok(Answer::Success(found))
}

/// KN-04: the session's experience knows what was found for it. A search that is not noted is still a search.
async fn note_found(desk: &Desk, found: &Value) {
    let session = desk.lease.setting("session_id").filter(|_| !desk.lease.tries_out());
    let Some(session) = session else { return };
    let items = found["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let refs: Vec<Value> = items
        .iter()
        .map(|item| json!({ "chunk_id": item["card_id"], "source_id": item["source_id"] }))
        .collect();
    if refs.is_empty() {
        return;
    }
    let route = format!("/sessions/{session}/experience{}", namespace(desk));
    if let Err(trouble) = desk.post(&route, &json!({ "knowledge_refs": refs })).await {
        tracing::warn!(trouble = %Logged(&trouble), "knowledge that was found is not in the experience");
    }
}

/// A text in a query.
fn escaped(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_name_the_boxes_that_may_be_read() {
        let mut boxes = HashSet::new();
        let result = json!({
            "results": [{ "output_box_id": "a" }, { "output_box_id": "b", "summary": { "output_box_id": "x" } }],
            "context_box_id": "c", "other": "d",
        });
        boxes_named(&result, &mut boxes);
        let mut boxes: Vec<_> = boxes.into_iter().collect();
        boxes.sort();
        assert_eq!(boxes, ["a", "b", "c"]);
    }

    #[test]
    fn a_query_may_say_anything() {
        assert_eq!(escaped("a b&c=卡"), "a%20b%26c%3D%E5%8D%A1");
    }
}
