//! The official clients against a server that writes our scripted model's answers with `wire`.

use crate::support::{Asked, Served, Server, model_with, python};
use cardwire_llm::{ModelAnswer, ModelRequest, wire};
use cardwire_model::Provider;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const CASES: [&str; 4] = ["text", "tools", "only tools", "odd arguments"];

fn script() -> Value {
    let find = |arguments: Value| json!({ "name": "find", "arguments": arguments });
    json!({ "rules": [
        { "match": { "contains": "only tools" }, "tool_calls": [find(json!({ "q": { "深": [1, 2.5, null] } }))] },
        { "match": { "contains": "tools" }, "reply": "Looking.", "tool_calls": [find(json!({ "q": "a" })), find(json!({})), { "name": "note", "arguments": { "text": "\"quoted\"\n" } }] },
        { "match": { "contains": "odd arguments" }, "tool_calls": [{ "name": "find", "arguments": "{\"q\": \"spaced\"  }" }] },
        { "match": { "contains": "text" }, "reply": "Hello, 世界!\n\nA longer answer — in several pieces.", "usage": { "input_tokens": 70, "cached_tokens": 30, "output_tokens": 9 } },
    ] })
}

/// Serves the scripted model in one format, and keeps what it answered.
async fn serve(provider: Provider) -> (Server, Arc<Mutex<Vec<ModelAnswer>>>) {
    let config =
        json!({ "provider": "scripted", "format": provider.as_str(), "model": "m-1", "script": script() });
    let model = model_with(config);
    let answers = Arc::new(Mutex::new(vec![]));
    let kept = answers.clone();
    let server = Server::start(move |asked: Asked| {
        let (model, kept) = (model.clone(), kept.clone());
        async move {
            let body: Value = serde_json::from_str(&asked.body).unwrap();
            let request = ModelRequest {
                body: asked.body,
                agent_id: "a".to_owned(),
                role: None,
                turn_id: "turn_1".to_owned(),
                call_id: "call_1".to_owned(),
                step: 1,
            };
            let answer = model.call(&request, &()).await.unwrap();
            let served = if body["stream"] == true {
                Served::stream(&wire::stream(provider, &answer))
            } else {
                Served::json(200, &wire::response(provider, &answer))
            };
            kept.lock().unwrap().push(answer);
            served
        }
    });
    (server.await, answers)
}

/// What the client is expected to have read, in the words of the provider.
fn expected(provider: Provider, answer: &ModelAnswer) -> Value {
    let calls = answer.tool_calls.iter().map(|call| {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
        json!({ "id": call.id, "name": call.name, "arguments": arguments })
    });
    let has_calls = !answer.tool_calls.is_empty();
    let stop = match provider {
        Provider::OpenAiChat => ["stop", "tool_calls"],
        Provider::AnthropicMessages => ["end_turn", "tool_use"],
    };
    json!({
        "text": answer.text,
        "tool_calls": calls.collect::<Vec<_>>(),
        "stop": stop[usize::from(has_calls)],
        "model": "m-1",
        "input_tokens": answer.usage.input_tokens,
        "cached_tokens": answer.usage.cached_tokens,
        "output_tokens": answer.usage.output_tokens,
    })
}

async fn check(provider: Provider) {
    let (server, answers) = serve(provider).await;
    let output =
        python("sdk_client.py").args([provider.as_str(), &server.url]).args(CASES).output().await.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let read: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let answers = answers.lock().unwrap();
    // Each case is asked twice: whole, then streamed.
    assert_eq!((read.len(), answers.len()), (2 * CASES.len(), 2 * CASES.len()), "{errors}");
    for ((read, answer), n) in read.iter().zip(answers.iter()).zip(0..) {
        assert_eq!(*read, expected(provider, answer), "{}, case {}", provider.as_str(), CASES[n / 2]);
    }
}

#[tokio::test]
async fn openais_client_reads_what_we_write() {
    check(Provider::OpenAiChat).await;
}

#[tokio::test]
async fn anthropics_client_reads_what_we_write() {
    check(Provider::AnthropicMessages).await;
}
