//! What people said when a turn asked them, in the words that its session remembers (PR-10).

use crate::{
    tools::approval,
    transcript::{Call, Transcript},
};
use cardwire_model::{
    asking::{APPROVAL, ASK_HUMAN},
    limits,
};
use serde_json::Value;

/// The replies to these calls, in order; the last ones where there are too many.
pub(crate) fn replies(transcript: &Transcript, calls: &[Call]) -> Vec<String> {
    let said = calls.iter().filter_map(|call| reply(call, transcript.answer(&call.id)?));
    let said: Vec<_> = said.collect();
    let surplus = said.len().saturating_sub(limits::TURN_REPLIES);
    said.into_iter().skip(surplus).collect()
}

/// A call that nobody answered, or that ran out of time, has no reply.
fn reply(call: &Call, answer: &Value) -> Option<String> {
    let is_approval = call.name == APPROVAL;
    if answer["status"] != "success" || !(is_approval || call.name == ASK_HUMAN) {
        return None;
    }
    let result = &answer["result"];
    let words = result["reply"].as_str().or(result.as_str()).filter(|words| !words.trim().is_empty());
    if let Some(words) = words {
        return Some(words.to_owned());
    }
    if !is_approval {
        return Some(cardwire_team::text_of(result));
    }
    let tool = call.arguments["tool"].as_str().unwrap_or_default();
    Some(match approval::judge(answer) {
        approval::Standing::Denied(_) => format!("I do not agree to {tool}."),
        approval::Standing::Agreed(_) | approval::Standing::Asked(..) => format!("I agree to {tool}."),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn transcript(calls: &[(&str, Value, Value)]) -> Transcript {
        let mut cards = vec![];
        for (index, (tool, arguments, answer)) in calls.iter().enumerate() {
            let id = format!("c{index}");
            cards.push(json!({
                "type": "tool.call", "tool_call_id": id, "metadata": { "agent_turn_id": "turn_1" },
                "content": { "tool_name": tool, "arguments": arguments },
            }));
            if !answer.is_null() {
                cards.push(json!({ "type": "tool.result", "tool_call_id": id, "content": answer }));
            }
        }
        Transcript::new(cards, "turn_1")
    }

    fn said(calls: &[(&str, Value, Value)]) -> Vec<String> {
        let transcript = transcript(calls);
        replies(&transcript, &transcript.own_calls())
    }

    /// PR-10
    #[test]
    fn what_people_said_is_told_in_their_words() {
        let done = |result: Value| json!({ "status": "success", "result": result });
        let publish = json!({ "tool": "publish" });
        let calls = [
            ("ask_human", json!({}), done(json!({ "reply": "Red." }))),
            ("ask_human", json!({}), done(json!("Blue."))),
            ("ask_human", json!({}), done(json!({ "colour": "green" }))),
            ("approval", publish.clone(), done(json!({ "approved": true }))),
            ("approval", publish.clone(), done(json!({ "approved": false }))),
            ("approval", publish.clone(), done(json!({ "approved": false, "reply": "Not yet." }))),
            ("approval", publish, done(Value::Null)),
        ];
        let expected = [
            "Red.",
            "Blue.",
            r#"{"colour":"green"}"#,
            "I agree to publish.",
            "I do not agree to publish.",
            "Not yet.",
            "I agree to publish.",
        ];
        assert_eq!(said(&calls), expected);
    }

    /// PR-10
    #[test]
    fn tools_and_calls_without_an_answer_say_nothing() {
        let calls = [
            ("look_up", json!({}), json!({ "status": "success", "result": { "reply": "x" } })),
            ("ask_human", json!({}), Value::Null),
            ("ask_human", json!({}), json!({ "status": "timeout", "result": null })),
        ];
        assert!(said(&calls).is_empty());
    }

    #[test]
    fn of_too_many_replies_the_last_are_told() {
        let call = |n: usize| {
            ("ask_human", json!({}), json!({ "status": "success", "result": { "reply": n.to_string() } }))
        };
        let all = |count: usize| said(&(0..count).map(call).collect::<Vec<_>>());
        assert_eq!(all(limits::TURN_REPLIES).len(), limits::TURN_REPLIES);
        let more = all(limits::TURN_REPLIES + 1);
        assert_eq!((more.len(), more[0].as_str()), (limits::TURN_REPLIES, "1"));
    }
}
