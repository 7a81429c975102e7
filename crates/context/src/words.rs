//! What a model is told of cards that are no sentences as they are kept (F-10): answers of tools, what agents came to, and who
//! gave the work. The facts stay as they are; a manifest refers to them, and these words are made of them again.
//!
//! Invariant: a pure function of the card.

use crate::piece::{Body, Text};
use cardwire_model::{Card, CardId, Role, card::ToolStatus};
use serde_json::Value;
use std::collections::HashMap;

/// The kind of the card that says who gave the work (PK-14).
pub const PARENT_POINTER: &str = "meta.parent_pointer";
const TOOL_RESULT: &str = "tool.result";
/// The name under which the system speaks in memory, and how it begins there (ST-14).
const SYSTEM_NAME: &str = "cardwire";
const RESULT: &str = "【RESULT】agent=";
/// What is said of a call that was answered with nothing.
const NOTHING: &str = "The call succeeded and returned nothing.";

/// The words of the cards of one request.
#[derive(Debug, Default)]
pub struct Words {
    /// Not everything is told as it is kept.
    tells: bool,
    made: HashMap<CardId, String>,
}

impl Words {
    /// Every card as it is kept: the requests of earlier builds.
    pub fn as_kept() -> Self {
        Self::default()
    }

    /// What a model is told of these cards.
    pub fn of<'c>(cards: impl IntoIterator<Item = &'c Card>) -> Self {
        let made = cards.into_iter().filter_map(|card| Some((card.id, made(card)?)));
        Self { tells: true, made: made.collect() }
    }

    /// A card as a piece has it.
    pub fn body<'a>(&'a self, card: &'a Card) -> Body<'a> {
        match self.text(card) {
            Some(text) => Body::Told { card, text },
            None => Body::Card(card),
        }
    }

    /// What is told instead of the content; nothing where that is told as it is.
    pub fn text<'a>(&'a self, card: &'a Card) -> Option<Text<'a>> {
        if !self.tells {
            return None;
        }
        match self.made.get(&card.id) {
            Some(made) => Some(Text::Plain(made)),
            None => part_of_result(card),
        }
    }
}

/// Whether some card of this kind may be told in other words.
pub fn may_be_told(card: &Card) -> bool {
    matches!(card.kind.as_str(), TOOL_RESULT | "session.message" | PARENT_POINTER)
}

/// The words that stand nowhere in the card.
fn made(card: &Card) -> Option<String> {
    match card.kind.as_str() {
        TOOL_RESULT => {
            given(card).or_else(|| if part_of_result(card).is_none() { result(card) } else { None })
        }
        "session.message" => message(card),
        PARENT_POINTER => parent(card),
        _ => None,
    }
}

/// Work that another agent has taken (PM-11): who, and where it writes. The rest is for programs.
fn given(card: &Card) -> Option<String> {
    let is_of_pmo = card.author_id.as_deref().is_some_and(|author| author.starts_with("sys.pmo"));
    let content = if is_of_pmo { card.content.to_value() } else { return None };
    let (status, result) = (&content["status"], &content["result"]);
    let (agent, output) = (result["agent_id"].as_str()?, result["output_box_id"].as_str()?);
    let is_taken = status == ToolStatus::Success.as_str() && result["status"] == "accepted";
    is_taken.then(|| {
        format!("The agent {agent} has taken the work. What it writes is in this box: {{\"output_box_id\":\"{output}\"}}")
    })
}

/// The answer of a call that did what it was called for: nothing but what it says.
fn part_of_result(card: &Card) -> Option<Text<'_>> {
    if card.kind.as_str() != TOOL_RESULT {
        return None;
    }
    let (mut status, mut answer) = (None, None);
    for (name, value) in card.content.members()? {
        match (name.as_str(), value) {
            ("status", value) => status = Some(value),
            ("result", value) => answer = Some(value),
            ("error", "null") => {}
            ("error", _) => return None,
            _ => {}
        }
    }
    if status != Some("\"success\"") {
        return None;
    }
    let text = Text::of_canonical(answer?);
    (!text.is_blank()).then_some(text)
}

/// The answer of a call that failed, or has nothing to say.
fn result(card: &Card) -> Option<String> {
    let content = card.content.to_value();
    let status = content.get("status")?.as_str()?;
    let status = ToolStatus::ALL.into_iter().find(|known| known.as_str() == status)?;
    let (error, answer) = (&content["error"], &content["result"]);
    let mut said = match status {
        ToolStatus::Success if error.is_null() => return Some(NOTHING.to_owned()),
        ToolStatus::Success => "The call succeeded",
        ToolStatus::Failed => "The call failed",
        ToolStatus::Canceled => "The call was canceled",
        ToolStatus::Timeout => "The call timed out",
        ToolStatus::Partial => "The call succeeded in part",
    }
    .to_owned();
    match error {
        Value::Null => said.push('.'),
        Value::String(text) => said.push_str(&format!(": {text}")),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            said.push_str(&match (error["code"].as_str(), error["message"].as_str()) {
                (Some(code), Some(message)) => format!(" ({code}): {message}"),
                (Some(code), None) => format!(" ({code})."),
                (None, Some(message)) => format!(": {message}"),
                (None, None) => format!(": {error}"),
            });
        }
    }
    // A refusal of the PMO stands in its result once more.
    let is_said = answer.is_null() || (!error.is_null() && answer.get("error") == Some(error));
    if !is_said {
        let text = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
        if !text.trim().is_empty() {
            said.push_str("\n\n");
            said.push_str(&text);
        }
    }
    Some(said)
}

/// What an agent of the team said, and what it came to.
fn message(card: &Card) -> Option<String> {
    if card.role != Role::Assistant || card.tool_calls.is_some() {
        return None;
    }
    let (_, name) = card.metadata.members()?.find(|(key, _)| key == "name")?;
    let name: String = serde_json::from_str(name).ok()?;
    let text = card.content.to_text().filter(|text| !text.trim().is_empty())?;
    if name == SYSTEM_NAME {
        return came_to(&text);
    }
    Some(format!("The agent {name} said:\n{text}"))
}

/// `【RESULT】agent=<id> [task=…] status=… [deliverable=…] [error=…]` as a sentence.
fn came_to(text: &str) -> Option<String> {
    let (agent, rest) = text.strip_prefix(RESULT)?.split_once(' ')?;
    let (task, rest) = match rest.strip_prefix("task=") {
        Some(rest) => rest.split_once(" status=").map(|(task, rest)| (Some(task), rest))?,
        None => (None, rest.strip_prefix("status=")?),
    };
    let (status, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let rest = rest
        .strip_prefix("deliverable=")
        .map_or(rest, |rest| rest.split_once(' ').map_or("", |(_, rest)| rest));
    let error = rest.strip_prefix("error=").map(str::trim).filter(|error| !error.is_empty());
    let part = if task.is_some() { "this task" } else { "its part" };
    let mut said = match status {
        "completed" => format!("The agent {agent} has completed {part}"),
        "partial" => format!("The agent {agent} has completed {part} only in part"),
        "failed" => format!("The agent {agent} has failed at {part}"),
        "aborted" => format!("The agent {agent} was stopped at {part}"),
        "timeout" => format!("The agent {agent} ran out of time at {part}"),
        other => format!("The agent {agent} ended {part} with the status {other}"),
    };
    match task {
        Some(task) => said.push_str(&format!(": {}", task.trim_end())),
        None => said.push('.'),
    }
    if let Some(error) = error {
        said.push_str(if task.is_some() { "\nThe reason: " } else { " The reason: " });
        said.push_str(error);
    }
    Some(said)
}

fn parent(card: &Card) -> Option<String> {
    let content = card.content.to_value();
    let agent = content.get("parent_agent_id")?.as_str()?;
    Some(format!("The agent {agent} gave you this work."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{card, piece_of};
    use cardwire_model::Layer;
    use serde_json::json;

    fn result_of(content: &Value) -> String {
        let card = card(1, &json!({ "type": "tool.result" }), content, Some("c1"), None);
        let words = Words::of([&card]);
        let body = words.body(&card);
        let piece = crate::piece::Piece { body, ..piece_of(Layer::Turn, &card, 0) };
        piece.text().decoded().into_owned()
    }

    /// F-10
    #[test]
    fn a_model_is_told_what_a_tool_said_and_nothing_of_how_it_is_kept() {
        let kept = |status: &str, result: Value, error: Value| json!({ "after_execution": "suspend", "status": status, "result": result, "error": error });
        for (content, said) in [
            (kept("success", json!("Mild, 21°."), Value::Null), "Mild, 21°."),
            (json!({ "status": "success", "result": { "degrees": 21 } }), r#"{"degrees":21}"#),
            (kept("success", Value::Null, Value::Null), NOTHING),
            (kept("success", json!(" "), Value::Null), NOTHING),
            (
                kept("failed", Value::Null, json!({ "code": "denied", "message": "not today" })),
                "The call failed (denied): not today",
            ),
            (kept("timeout", Value::Null, Value::Null), "The call timed out."),
            (
                kept("canceled", Value::Null, json!("the run was stopped")),
                "The call was canceled: the run was stopped",
            ),
            (
                kept(
                    "partial",
                    json!({ "results": [1] }),
                    json!({ "code": "batch_failed", "message": "one failed" }),
                ),
                "The call succeeded in part (batch_failed): one failed\n\n{\"results\":[1]}",
            ),
            (
                kept(
                    "failed",
                    json!({ "status": "rejected", "error": { "code": "x", "message": "y" } }),
                    json!({ "code": "x", "message": "y" }),
                ),
                "The call failed (x): y",
            ),
        ] {
            assert_eq!(result_of(&content), said, "{content}");
        }
    }

    fn said(name: Option<&str>, text: &str) -> Option<String> {
        let mut metadata = json!({ "type": "session.message", "role": "assistant" });
        if let Some(name) = name {
            metadata["name"] = name.into();
        }
        let card = card(1, &metadata, &json!(text), None, None);
        let words = Words::of([&card]);
        words.text(&card).map(|text| text.decoded().into_owned())
    }

    /// F-10, ST-14
    #[test]
    fn what_an_agent_came_to_is_a_sentence() {
        let told = |text: &str| said(Some("cardwire"), text);
        for (kept, sentence) in [
            ("【RESULT】agent=a status=completed", "The agent a has completed its part."),
            ("【RESULT】agent=b status=completed deliverable=b", "The agent b has completed its part."),
            (
                "【RESULT】agent=a task=look it up status=completed deliverable=a",
                "The agent a has completed this task: look it up",
            ),
            (
                "【RESULT】agent=c status=failed error=no luck",
                "The agent c has failed at its part. The reason: no luck",
            ),
            (
                "【RESULT】agent=c task=t1 status=timeout error=too slow",
                "The agent c ran out of time at this task: t1\nThe reason: too slow",
            ),
            ("【RESULT】agent=c status=strange", "The agent c ended its part with the status strange."),
        ] {
            assert_eq!(told(kept).as_deref(), Some(sentence), "{kept}");
        }
        for other in ["【RESULT】", "【RESULT】agent=a", "nothing of the kind"] {
            assert_eq!(told(other), None, "{other}");
        }
    }

    /// F-10
    #[test]
    fn what_an_agent_said_is_told_as_its_words() {
        assert_eq!(said(Some("a"), "Done.").as_deref(), Some("The agent a said:\nDone."));
        assert_eq!(said(None, "Done."), None);
    }

    /// F-10, PM-11
    #[test]
    fn work_that_was_taken_is_told_by_who_took_it_and_where_it_writes() {
        let content = json!({
            "after_execution": "suspend", "status": "success", "error": null,
            "result": { "status": "accepted", "agent_id": "a_1", "agent_turn_id": "turn_1", "turn_epoch": 1,
                "context_box_id": "b1", "output_box_id": "b2" },
        });
        let card =
            card(1, &json!({ "type": "tool.result", "author_id": "sys.pmo" }), &content, Some("c1"), None);
        let words = Words::of([&card]);
        let said = words.text(&card).map(|text| text.decoded().into_owned());
        let expected =
            r#"The agent a_1 has taken the work. What it writes is in this box: {"output_box_id":"b2"}"#;
        assert_eq!(said.as_deref(), Some(expected));
    }

    /// F-10, PK-14
    #[test]
    fn who_gave_the_work_is_a_sentence() {
        let card = card(
            1,
            &json!({ "type": PARENT_POINTER, "role": "system" }),
            &json!({ "parent_agent_id": "lead" }),
            None,
            None,
        );
        let words = Words::of([&card]);
        assert_eq!(
            words.text(&card).map(|text| text.decoded().into_owned()).as_deref(),
            Some("The agent lead gave you this work.")
        );
        assert_eq!(Words::as_kept().text(&card), None, "earlier builds told it as it is kept");
    }
}
