//! What the scripted model does with its rules.

use super::*;
use cardwire_model::Provider;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn model(rules: Value) -> Scripted {
    let script = Script::parse(&json!({ "rules": rules })).unwrap();
    let info = ModelInfo {
        provider: Provider::OpenAiChat,
        model: "scripted".to_owned(),
        prices: None,
        streams: true,
    };
    Scripted::new(info, script)
}

fn request(agent: &str, step: u32, last: Value) -> ModelRequest {
    ModelRequest {
        body: json!({ "model": "m", "messages": [last] }).to_string(),
        agent_id: agent.to_owned(),
        role: None,
        turn_id: "turn_1".to_owned(),
        call_id: "call_1".to_owned(),
        step,
    }
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

async fn text(model: &Scripted, request: &ModelRequest) -> String {
    model.call(request, &()).await.unwrap().text
}

#[tokio::test]
async fn the_first_rule_that_matches_answers() {
    let model = model(json!([
        { "match": { "agent": "a", "step": 2 }, "reply": "a at 2" },
        { "match": { "agent": "a" }, "reply": "a" },
        { "match": { "contains": ["red", "blue"] }, "reply": "both" },
        { "match": { "contains": "red" }, "reply": "red" },
        { "match": { "role": "tool" }, "reply": "result" },
        { "match": { "role": "planner" }, "reply": { "tasks": [1] } },
        { "reply": "anything" },
    ]));
    let result = json!({ "role": "tool", "content": "42" });
    let planner = ModelRequest { role: Some("planner".to_owned()), ..request("p", 1, user("plan")) };
    for (request, answer) in [
        (request("a", 2, user("x")), "a at 2"),
        (request("a", 3, user("x")), "a"),
        (request("b", 2, user("blue and red")), "both"),
        (request("b", 2, user("red")), "red"),
        (request("b", 2, result), "result"),
        (planner, r#"{"tasks":[1]}"#),
        (request("b", 1, user("x")), "anything"),
    ] {
        assert_eq!(text(&model, &request).await, answer, "{request:?}");
    }
}

#[tokio::test]
async fn a_role_is_known_by_all_its_names() {
    for (name, role) in [("human", "user"), ("user", "user"), ("ai", "assistant"), ("system", "developer")] {
        let model = model(json!([{ "match": { "role": name }, "reply": "yes" }]));
        let matching = request("a", 1, json!({ "role": role, "content": "x" }));
        assert_eq!(text(&model, &matching).await, "yes", "{name}");
        let other = request("a", 1, json!({ "role": "tool", "content": "x" }));
        assert_eq!(model.call(&other, &()).await.unwrap_err().kind(), "no_rule", "{name}");
    }
}

#[tokio::test]
async fn a_request_without_a_rule_is_an_error_that_quotes_it() {
    let model = model(json!([{ "match": { "agent": "a" }, "reply": "x" }]));
    let error = model.call(&request("b", 3, user("what now?")), &()).await.unwrap_err();
    assert_eq!(error.kind(), "no_rule");
    let text = error.to_string();
    assert!(text.contains("agent `b`, step 3") && text.contains("(user): what now?"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_rule_answers_no_more_often_than_it_says_even_at_once() {
    let rules = json!([{ "match": { "times": 7 }, "reply": "few" }, { "reply": "rest" }]);
    let model = Arc::new(model(rules));
    let calls = (0..64).map(|n| {
        let model = model.clone();
        tokio::spawn(async move { text(&model, &request("a", n, user("x"))).await })
    });
    let mut few = 0;
    for call in calls.collect::<Vec<_>>() {
        few += usize::from(call.await.unwrap() == "few");
    }
    assert_eq!(few, 7);
}

/// CB-05: calls are written as cards write them, and as providers do.
#[tokio::test]
async fn a_call_may_be_written_in_each_of_its_ways() {
    let model = model(json!([{ "tool_calls": [
        { "id": "c", "name": "find", "arguments": { "q": 1 } },
        { "id": "c", "tool_name": "find", "arguments": { "q": 1 } },
        { "id": "c", "type": "function", "function": { "name": "find", "arguments": "{\"q\":1}" } },
        { "id": "c", "function": { "name": "find", "arguments": { "q": 1 } } },
    ] }]));
    let answer = model.call(&request("a", 1, user("x")), &()).await.unwrap();
    let call = |call: &ToolCall| (call.id.clone(), call.name.clone(), call.arguments.clone());
    let expected = ("c".to_owned(), "find".to_owned(), r#"{"q":1}"#.to_owned());
    assert_eq!(answer.tool_calls.iter().map(call).collect::<Vec<_>>(), vec![expected; 4]);
}

#[tokio::test]
async fn tool_calls_get_ids_that_are_unique_and_stable() {
    let rules = json!([{
        "reply": "looking",
        "tool_calls": [
            { "name": "find", "arguments": { "q": 1 } }, { "name": "find" },
            { "name": "x", "id": "mine", "arguments": "{bad" }, { "name": "x", "arguments": [{ "a": 1 }] },
        ],
    }]);
    let model = model(rules.clone());
    let answer = model.call(&request("a", 1, user("x")), &()).await.unwrap();
    assert_eq!((answer.text.as_str(), &answer.stop), ("looking", &StopReason::ToolCalls));
    let arguments: Vec<_> = answer.tool_calls.iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(arguments, [r#"{"q":1}"#, "{}", "{bad", r#"[{"a":1}]"#]);
    let ids = |answer: &ModelAnswer| answer.tool_calls.iter().map(|call| call.id.clone()).collect::<Vec<_>>();
    let first = ids(&answer);
    assert!(first[0].starts_with("call_") && first[0].len() == 29, "{first:?}");
    assert!(first[0] != first[1] && first[2] == "mine", "{first:?}");
    let next_step = ids(&model.call(&request("a", 2, user("x")), &()).await.unwrap());
    assert_ne!(next_step[0], first[0]);
    let again = self::model(rules).call(&request("a", 1, user("y")), &()).await.unwrap();
    assert_eq!(ids(&again), first);
}

#[tokio::test]
async fn errors_are_those_of_real_models() {
    let model = model(json!([
        { "match": { "step": 1 }, "error": "overflow" },
        { "match": { "step": 2 }, "error": { "kind": "rate_limited", "message": "slow down" } },
    ]));
    let first = model.call(&request("a", 1, user("x")), &()).await.unwrap_err();
    assert_eq!(first.kind(), "context_length");
    let second = model.call(&request("a", 2, user("x")), &()).await.unwrap_err();
    let slow = ModelError::RateLimited { message: "slow down".to_owned(), retry_after: None };
    assert_eq!(second, slow);
}

#[tokio::test]
async fn a_rule_may_fail_with_any_words() {
    let failed = |message: &str| ModelError::Failed { message: message.to_owned() };
    let long = |message: &str| ModelError::ContextLength { message: message.to_owned() };
    for (error, expected) in [
        (json!("the model exploded"), failed("the model exploded")),
        (json!({ "message": "boom" }), failed("boom")),
        (json!({ "kind": "explosion", "message": "boom" }), failed("explosion: boom")),
        (json!({ "kind": "failed", "message": "boom" }), failed("boom")),
        (json!("ContextLengthExceeded"), long("the script says so")),
        (json!({ "kind": "CONTEXT_OVERFLOW", "message": "9 > 8" }), long("9 > 8")),
    ] {
        let model = model(json!([{ "error": error }]));
        assert_eq!(model.call(&request("a", 1, user("x")), &()).await.unwrap_err(), expected, "{error}");
    }
    assert!(!failed("x").is_retryable(), "a script says the same again");
}

#[tokio::test(start_paused = true)]
async fn a_delay_passes_before_the_answer() {
    let model = model(json!([{ "reply": "x", "delay_ms": 1500 }]));
    let begun = tokio::time::Instant::now();
    text(&model, &request("a", 1, user("x"))).await;
    assert_eq!(begun.elapsed(), Duration::from_millis(1500));
}

#[tokio::test]
async fn usage_is_estimated_unless_it_is_given() {
    let model = model(json!([
        { "match": { "step": 1 }, "reply": "12345", "tool_calls": [{ "name": "f" }] },
        { "reply": "x", "usage": { "input_tokens": 7, "output_tokens": 9 } },
    ]));
    let asked = request("a", 1, user("x"));
    let input_tokens = asked.body.len().div_ceil(4) as u64;
    let estimated = Usage { input_tokens, cached_tokens: 0, output_tokens: 2 };
    assert_eq!(model.call(&asked, &()).await.unwrap().usage, estimated);
    let given = Usage { input_tokens: 7, cached_tokens: 0, output_tokens: 9 };
    assert_eq!(model.call(&request("a", 2, user("x")), &()).await.unwrap().usage, given);
}

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl ChunkSink for Heard {
    fn text(&self, delta: &str) {
        self.0.lock().unwrap().push(delta.to_owned());
    }
}

#[tokio::test]
async fn text_is_streamed_in_a_few_pieces_that_make_up_the_whole() {
    for said in ["", "x", "世界世界世", "a longer answer, in words"] {
        let mut model = model(json!([{ "reply": said }]));
        let heard = Heard::default();
        model.call(&request("a", 1, user("x")), &heard).await.unwrap();
        let pieces = heard.0.into_inner().unwrap();
        assert_eq!(pieces.concat(), said);
        assert!(pieces.len() <= PIECES && pieces.iter().all(|piece| !piece.is_empty()), "{pieces:?}");

        model.info.streams = false;
        let heard = Heard::default();
        model.call(&request("a", 1, user("x")), &heard).await.unwrap();
        assert!(heard.0.into_inner().unwrap().is_empty());
    }
}

#[test]
fn a_field_that_is_wrong_is_named() {
    for (rule, field) in [
        (json!({ "match": { "agnet": "a" }, "reply": "x" }), "rules/0/match/agnet"),
        (json!({ "replay": "x" }), "rules/0/replay"),
        (json!({ "match": { "agent": "a" } }), "rules/0"),
        (json!({ "reply": "x", "error": "server" }), "rules/0/error"),
        (json!({ "error": " " }), "rules/0/error"),
        (json!({ "error": 5 }), "rules/0/error"),
        (json!({ "error": {} }), "rules/0/error"),
        (json!({ "error": { "kind": 5 } }), "rules/0/error/kind"),
        (json!({ "error": { "kind": "server", "why": "x" } }), "rules/0/error/why"),
        (json!({ "reply": "x", "delay_ms": -1 }), "rules/0/delay_ms"),
        (json!({ "reply": "x", "delay_ms": 3_600_001 }), "rules/0/delay_ms"),
        (json!({ "match": { "contains": [1] }, "reply": "x" }), "rules/0/match/contains"),
        (json!({ "match": { "step": "1" }, "reply": "x" }), "rules/0/match/step"),
        (json!({ "match": { "times": 1_u64 << 32 }, "reply": "x" }), "rules/0/match/times"),
        (json!({ "tool_calls": { "name": "f" } }), "rules/0/tool_calls"),
        (json!({ "tool_calls": [{ "name": "" }] }), "rules/0/tool_calls/0/name"),
        (json!({ "tool_calls": [{ "name": "f", "arguments": 1 }] }), "rules/0/tool_calls/0/arguments"),
        (json!({ "tool_calls": [{ "name": "f", "args": {} }] }), "rules/0/tool_calls/0/args"),
        (json!({ "tool_calls": [{ "arguments": {} }] }), "rules/0/tool_calls/0/name"),
        (json!({ "tool_calls": [{ "name": "f", "tool_name": "g" }] }), "rules/0/tool_calls/0/tool_name"),
        (json!({ "tool_calls": [{ "function": {} }] }), "rules/0/tool_calls/0/function/name"),
        (json!({ "tool_calls": [{ "function": "f" }] }), "rules/0/tool_calls/0/function"),
        (
            json!({ "tool_calls": [{ "name": "f", "function": { "name": "f" } }] }),
            "rules/0/tool_calls/0/name",
        ),
        (
            json!({ "tool_calls": [{ "type": "x", "function": { "name": "f" } }] }),
            "rules/0/tool_calls/0/type",
        ),
        (json!({ "reply": "x", "usage": { "tokens": 1 } }), "rules/0/usage/tokens"),
        (json!("x"), "rules/0"),
    ] {
        let error = Script::parse(&json!({ "rules": [rule] })).unwrap_err();
        assert_eq!(error.field, format!("script/{field}"), "{error}");
    }
    for (script, field) in [
        (json!({}), "script/rules"),
        (json!({ "rules": [], "rule": [] }), "script/rule"),
        (json!({ "rules": vec![json!({ "reply": "x" }); 1_001] }), "script/rules"),
        (json!("rules.yaml"), "script"),
    ] {
        assert_eq!(Script::parse(&script).unwrap_err().field, field);
    }
    assert!(Script::parse(&json!({ "rules": vec![json!({ "reply": "x" }); 1_000] })).is_ok());
}
