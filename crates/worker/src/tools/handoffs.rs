//! Tools for handoff packages: agents see which were handed to them, load what they need of them, put results on disk and
//! hand packages on. What is loaded is a tool's answer like any other, and in context for no other reason (LD-10).

use super::{notes, text_argument};
use crate::{
    card::Answer,
    desk::Desk,
    transcript::{Call, Transcript},
    trouble::Trouble,
};
use cardwire_model::builtin_tools::{HANDOFF_READING, HANDOFF_WRITING};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// How many cards of a box that came back are looked at.
const BOX_CARDS: u64 = 100;

pub(crate) fn is_one(name: &str) -> bool {
    HANDOFF_READING.contains(&name) || HANDOFF_WRITING.contains(&name)
}

pub(crate) async fn run(
    desk: &Desk,
    call: &Call,
    arguments: &Map<String, Value>,
    transcript: &Transcript,
) -> Result<Answer, Trouble> {
    match call.name.as_str() {
        "list_handoff" => list(desk).await,
        "load_handoff" => load(desk, arguments).await,
        "write_files" => {
            let body = json!({ "files": arguments.get("files") });
            desk.post("/workspace/files", &body).await.map(Answer::Success)
        }
        "send_handoff" => send(desk, &call.id, arguments, transcript.called_at(&call.id)).await,
        name => Ok(Answer::failed("unknown_tool", format!("there is no tool {name}"))),
    }
}

/// What was handed to this turn, without the packages' own text: that is in its cards already.
async fn list(desk: &Desk) -> Result<Answer, Trouble> {
    let mut packages = vec![];
    for id in handed_over(desk).await? {
        match desk.get(&format!("/handoffs/{id}")).await {
            Ok(found) => packages.push(about(&found)),
            // Whoever named it was wrong.
            Err(Trouble::Refused { status: 404, .. }) => {}
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(Answer::Success(json!({ "handoffs": packages })))
}

/// only what was handed over.
async fn load(desk: &Desk, arguments: &Map<String, Value>) -> Result<Answer, Trouble> {
    let Some(id) = text_argument(&Value::Object(arguments.clone()), "handoff_id") else {
        return Ok(Answer::failed("invalid_arguments", "handoff_id is required"));
    };
    if !handed_over(desk).await?.contains(&id) {
        return Ok(Answer::failed("not_handed_over", format!("package {id} was not handed to this turn")));
    }
    let mut wanted = arguments.clone();
    wanted.remove("handoff_id");
    desk.post(&format!("/handoffs/{id}:load"), &Value::Object(wanted)).await.map(Answer::Success)
}

/// An `execute_to_init` without an index gets one of the files that are there. Without a time it is of the moment of its
/// call, so that whoever carries the call out again sends the same package.
async fn send(
    desk: &Desk,
    call: &str,
    arguments: &Map<String, Value>,
    called_at: Option<&str>,
) -> Result<Answer, Trouble> {
    let mut package = Value::Object(arguments.clone());
    if arguments.contains_key("execution_output_dir") && !arguments.contains_key("failure_samples_index") {
        if package["timestamp"].is_null() {
            package["timestamp"] = called_at.into();
        }
        let route = format!("/handoffs:pack?agent_id={}", desk.lease.agent_id);
        package = desk.post(&route, &package).await?["package"].take();
    }
    let route = format!("/handoffs?agent_id={}", desk.lease.agent_id);
    let sent = desk.post_once(&route, &package, call).await?;
    Ok(Answer::Success(json!({
        "handoff_id": sent["handoff_id"], "card_id": sent["card_id"], "box_id": sent["box_id"],
        "token_estimate": sent["token_estimate"], "warnings": sent["warnings"],
    })))
}

/// Packages among the cards of this turn's view, those that it sent, and those that the work it started sent.
async fn handed_over(desk: &Desk) -> Result<BTreeSet<String>, Trouble> {
    let context = desk.all_cards(&desk.lease.context_box_id).await?;
    let transcript = desk.transcript().await?;
    let mut ids: BTreeSet<String> = context.iter().filter_map(package_id).collect();
    ids.extend(transcript.cards().iter().filter_map(sent_id));
    for box_id in notes::handed_boxes(transcript.cards()) {
        let cards = desk.get(&format!("/boxes/{box_id}/cards?limit={BOX_CARDS}")).await?;
        ids.extend(cards.as_array().into_iter().flatten().filter_map(sent_id));
    }
    Ok(ids)
}

/// The package that a card is.
fn package_id(card: &Value) -> Option<String> {
    let id = card["metadata"]["handoff_id"].as_str()?;
    (card["type"] == "handoff.package").then(|| id.to_owned())
}

/// The package that was sent by a call that this card answers.
fn sent_id(card: &Value) -> Option<String> {
    let is_sent = card["type"] == "tool.result" && card["author_id"] == "send_handoff";
    card["content"]["result"]["handoff_id"].as_str().filter(|_| is_sent).map(str::to_owned)
}

fn about(handoff: &Value) -> Value {
    let package = &handoff["package"];
    let samples = package["failure_samples_index"].as_array().into_iter().flatten();
    json!({
        "handoff_id": handoff["handoff_id"], "handoff_type": handoff["handoff_type"],
        "timestamp": handoff["timestamp"], "token_estimate": handoff["token_estimate"],
        "trigger_reason": package["trigger_reason"], "user_requirement": package["user_requirement"],
        "sample_ids": samples.map(|sample| sample["sample_id"].clone()).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Asked, Said, TURN};

    /// What is sent again after a crash must be the same package, or it is another one.
    #[tokio::test]
    async fn a_package_without_a_time_has_that_of_its_call() {
        let kernel = Asked::new(|request| Said::Answer(200, json!({ "package": request.body })));
        let call = |id: &str| json!({ "id": id, "tool_name": "send_handoff", "arguments": {} });
        let card = |id: &str, at: &str| json!({ "type": "agent.thought", "tool_calls": [call(id)], "created_at": at });
        let cards = vec![card("call_1", "2026-01-01T00:00:00Z"), card("call_2", "2026-01-02T00:00:00Z")];
        let transcript = Transcript::new(cards, TURN);
        let send = async |arguments: Value| {
            let call = Call { id: "call_2".to_owned(), name: "send_handoff".to_owned(), arguments };
            let arguments = call.arguments.as_object().unwrap();
            run(&kernel.desk(), &call, arguments, &transcript).await.unwrap();
        };
        send(json!({ "execution_output_dir": "out" })).await;
        send(json!({ "execution_output_dir": "out", "timestamp": "2025-12-31" })).await;
        let sent = kernel.requests("/handoffs?agent_id=a");
        let times: Vec<_> = sent.iter().map(|sent| &sent.body["timestamp"]).collect();
        assert_eq!(times, ["2026-01-02T00:00:00Z", "2025-12-31"]);
    }

    #[test]
    fn a_package_is_known_by_its_card_or_by_the_answer_to_whoever_sent_it() {
        let metadata = json!({ "handoff_id": "ho_1" });
        assert_eq!(
            package_id(&json!({ "type": "handoff.package", "metadata": metadata })),
            Some("ho_1".into())
        );
        assert_eq!(package_id(&json!({ "type": "agent.thought", "metadata": metadata })), None);
        let answer = |author: &str| json!({ "type": "tool.result", "author_id": author, "content": { "result": { "handoff_id": "ho_2" } } });
        assert_eq!(sent_id(&answer("send_handoff")), Some("ho_2".into()));
        assert_eq!(sent_id(&answer("search")), None);
    }
}
