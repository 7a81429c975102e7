//! Tools to which a person must agree: the question is a call of its own, which somebody answers with a report.

use crate::{
    card,
    desk::Desk,
    transcript::{Call, Transcript},
};
use cardwire_model::asking::APPROVAL;
use serde_json::{Value, json};

/// How a question stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Standing {
    /// Somebody agreed, in these words.
    Agreed(Value),
    /// Somebody did not.
    Denied(String),
    /// Nobody has answered: wait for this call, after writing these cards.
    Asked(String, Vec<Value>),
}

/// The id of the question about a call.
pub(crate) fn question_id(call: &str) -> String {
    format!("approval_{call}")
}

pub(crate) fn standing(desk: &Desk, call: &Call, transcript: &Transcript) -> Standing {
    let id = question_id(&call.id);
    match transcript.answer(&id) {
        Some(answer) => judge(answer),
        None if transcript.calls().iter().any(|made| made.id == id) => Standing::Asked(id, vec![]),
        None => {
            let question = json!({ "tool": call.name, "tool_call_id": call.id, "arguments": call.arguments });
            let card = card::call(desk, &id, APPROVAL, &question);
            Standing::Asked(id, vec![card])
        }
    }
}

/// Reads the report of a person: `success` agrees, unless it says otherwise in `approved`.
pub(crate) fn judge(answer: &Value) -> Standing {
    let result = &answer["result"];
    let agreed = answer["status"] == "success" && result["approved"] != Value::Bool(false);
    if agreed {
        let word =
            if result.is_object() { result.clone() } else { json!({ "approved": true, "reply": result }) };
        return Standing::Agreed(word);
    }
    let why = [&result["reply"], &result["reason"], &answer["error"]["message"]];
    let why = why.iter().find_map(|text| text.as_str()).unwrap_or("the person who was asked did not agree");
    Standing::Denied(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_agreement_is_one() {
        let answer = |status: &str, result: Value| json!({ "status": status, "result": result });
        assert!(matches!(judge(&answer("success", json!({ "approved": true }))), Standing::Agreed(_)));
        assert!(matches!(judge(&answer("success", Value::Null)), Standing::Agreed(_)));
        let denied = judge(&answer("success", json!({ "approved": false, "reply": "not yet" })));
        assert_eq!(denied, Standing::Denied("not yet".to_owned()));
        for status in ["failed", "timeout", "canceled"] {
            assert!(matches!(judge(&answer(status, json!({ "approved": true }))), Standing::Denied(_)));
        }
    }
}
