//! Our client against a provider whose answers are made with the official libraries' own types.

use crate::support::{Heard, model, reference_server, request};
use cardwire_llm::{ModelAnswer, ModelError, StopReason, ToolCall, Usage};
use serde_json::{Value, json};

const PROVIDERS: [&str; 2] = ["openai", "anthropic"];

/// A request with a history of calls. What the provider does is chosen by the name of the model.
fn body(provider: &str, does: &str, stream: bool) -> Value {
    let schema = json!({ "type": "object", "properties": { "q": { "type": "string" } } });
    if provider == "openai" {
        let call =
            json!({ "id": "c1", "type": "function", "function": { "name": "find", "arguments": "{}" } });
        let mut body = json!({
            "model": does,
            "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": "hi" },
                { "role": "assistant", "content": null, "tool_calls": [call] },
                { "role": "tool", "tool_call_id": "c1", "content": "42" },
            ],
            "tools": [{ "type": "function", "function": { "name": "find", "parameters": schema } }],
        });
        if stream {
            body["stream"] = json!(true);
            body["stream_options"] = json!({ "include_usage": true });
        }
        return body;
    }
    let text = json!([{ "type": "text", "text": "hi" }]);
    let mut body = json!({
        "model": does,
        "system": [{ "type": "text", "text": "Be brief." }],
        "messages": [
            { "role": "user", "content": text },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "c1", "name": "find", "input": {} }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c1", "content": "42" }] },
        ],
        "tools": [{ "name": "find", "input_schema": schema }],
        "max_tokens": 100,
    });
    if stream {
        body["stream"] = json!(true);
    }
    body
}

fn call(id: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: "find".to_owned(), arguments: arguments.to_owned() }
}

fn expected(id: &str, does: &str) -> ModelAnswer {
    let usage = Usage { input_tokens: 12, cached_tokens: 4, output_tokens: 5 };
    let (text, tool_calls, stop) = match does {
        "text" => ("Hello, 世界!\nBye.", vec![], StopReason::End),
        "tools" => {
            let calls = vec![call("call_a", r#"{"q":"é"}"#), call("call_b", "{}")];
            ("Looking.", calls, StopReason::ToolCalls)
        }
        "only-tools" => ("", vec![call("call_a", r#"{"q":1}"#)], StopReason::ToolCalls),
        "length" => ("Hel", vec![], StopReason::Length),
        "filtered" => ("", vec![], StopReason::Filtered),
        other => panic!("{other}"),
    };
    ModelAnswer {
        text: text.to_owned(),
        tool_calls,
        stop,
        usage,
        model: format!("{does}-1"),
        id: Some(id.to_owned()),
    }
}

#[tokio::test]
async fn answers_are_read_whole_and_streamed() {
    let (_server, url) = reference_server().await;
    for provider in PROVIDERS {
        let model = model(provider, &format!("{url}/v1"));
        for does in ["text", "tools", "only-tools", "length", "filtered"] {
            for stream in [false, true] {
                let heard = Heard::default();
                let answer = model.call(&request(&body(provider, does, stream)), &heard).await;
                let expected = expected(if provider == "openai" { "chatcmpl-1" } else { "msg_1" }, does);
                assert_eq!(answer.as_ref(), Ok(&expected), "{provider}, {does}, stream: {stream}");
                let said = if stream { expected.text.as_str() } else { "" };
                assert_eq!(heard.all(), said, "{provider}, {does}, stream: {stream}");
            }
        }
    }
}

#[tokio::test]
async fn errors_are_told_apart() {
    let (_server, url) = reference_server().await;
    for provider in PROVIDERS {
        let model = model(provider, &url_of(provider, &url));
        for (does, kind) in [
            ("status-400", "bad_request"),
            ("status-401", "authentication"),
            ("status-403", "authentication"),
            ("status-404", "bad_request"),
            ("status-429", "rate_limited"),
            ("status-500", "server"),
            ("status-503", "overloaded"),
            ("status-529", "overloaded"),
            ("too-long", "context_length"),
        ] {
            let error = model.call(&request(&body(provider, does, true)), &()).await.unwrap_err();
            assert_eq!(error.kind(), kind, "{provider}, {does}: {error}");
            if let ModelError::RateLimited { retry_after, .. } = error {
                assert_eq!(retry_after.map(|wait| wait.as_secs()), Some(3), "{provider}");
            }
        }
        for (does, kind) in [("cut", "network"), ("fails-midway", "overloaded")] {
            let heard = Heard::default();
            let error = model.call(&request(&body(provider, does, true)), &heard).await.unwrap_err();
            assert_eq!(error.kind(), kind, "{provider}, {does}: {error}");
            assert_eq!(heard.all(), "Hello", "{provider}, {does}");
        }
    }
}

/// The server refuses bodies that the libraries' types do not allow, so that the tests above prove that ours are sent
/// unharmed.
#[tokio::test]
async fn the_reference_refuses_what_is_no_request() {
    let (_server, url) = reference_server().await;
    for provider in PROVIDERS {
        let model = model(provider, &url_of(provider, &url));
        for (field, wrong) in
            [("messages", json!([{ "role": "nobody", "content": 7 }])), ("tools", json!([{}]))]
        {
            let mut body = body(provider, "text", false);
            body[field] = wrong;
            let error = model.call(&request(&body), &()).await.unwrap_err();
            assert_eq!(error.kind(), "bad_request", "{provider}, {field}: {error}");
        }
    }
}

/// With and without the version, both of which Anthropic's address may have.
fn url_of(provider: &str, url: &str) -> String {
    if provider == "openai" { format!("{url}/v1") } else { url.to_owned() }
}
