//! What a model does with a provider that is slow, broken, endless or hostile.

use crate::support::{Asked, Heard, KEY, Served, Server, model, model_with, request};
use cardwire_egress::{Asker, Door};
use cardwire_llm::{ModelAnswer, ModelError, StopReason, ToolCall, Usage, wire};
use cardwire_model::{Provider, limits};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

fn answer(text: &str) -> ModelAnswer {
    let usage = Usage { input_tokens: 3, cached_tokens: 1, output_tokens: 2 };
    ModelAnswer {
        text: text.to_owned(),
        tool_calls: vec![],
        stop: StopReason::End,
        usage,
        model: "m-1".to_owned(),
        id: Some("answer-1".to_owned()),
    }
}

fn whole(text: &str) -> Served {
    Served::json(200, &wire::response(Provider::OpenAiChat, &answer(text)))
}

/// The kind and the whole text of the error that a provider's one answer leads to.
async fn failure(served: Served) -> (&'static str, String) {
    let (server, _) = Server::saying(vec![served]).await;
    let error = model("openai", &server.url).call(&request(&json!({})), &()).await.unwrap_err();
    (error.kind(), error.to_string())
}

#[tokio::test]
async fn the_body_is_sent_byte_for_byte_with_the_headers_of_the_provider() {
    let body = "{ \"z\":1.0,\t\"a\" : \"\\u4e16界\" ,\"a\":2}\n";
    for (provider, format, path, header, value) in [
        ("openai", Provider::OpenAiChat, "/chat/completions", "authorization", format!("Bearer {KEY}")),
        ("anthropic", Provider::AnthropicMessages, "/v1/messages", "x-api-key", KEY.to_owned()),
    ] {
        let served = Served::json(200, &wire::response(format, &answer("x")));
        let (server, log) = Server::saying(vec![served]).await;
        let mut request = request(&json!({}));
        request.body = body.to_owned();
        model(provider, &server.url).call(&request, &()).await.unwrap();
        let Asked { path: asked, headers, body: sent } = log.lock().unwrap()[0].clone();
        assert_eq!((asked.as_str(), sent.as_str()), (path, body));
        assert_eq!(headers.get(header), Some(&value));
        assert_eq!(headers["content-type"], "application/json");
        let version = headers.get("anthropic-version").map(String::as_str);
        assert_eq!(version, (provider == "anthropic").then_some("2023-06-01"));
    }
}

#[tokio::test]
async fn text_is_heard_exactly_when_a_stream_was_asked_for() {
    let (server, _) = Server::saying(vec![whole("Hello")]).await;
    let model = model("openai", &server.url);
    for (stream, said) in [(true, "Hello"), (false, "")] {
        let heard = Heard::default();
        let answered = model.call(&request(&json!({ "stream": stream })), &heard).await.unwrap();
        assert_eq!(answered, answer("Hello"));
        assert_eq!(heard.all(), said);
    }
}

#[tokio::test]
async fn calls_without_ids_get_some() {
    let call = |id: &str| ToolCall { id: id.to_owned(), name: "f".to_owned(), arguments: "{}".to_owned() };
    let tool_calls = vec![call(""), call("theirs"), call("")];
    let said = ModelAnswer { tool_calls, stop: StopReason::ToolCalls, ..answer("") };
    let served = Served::json(200, &wire::response(Provider::OpenAiChat, &said));
    let (server, _) = Server::saying(vec![served]).await;
    let calls = model("openai", &server.url).call(&request(&json!({})), &()).await.unwrap().tool_calls;
    let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
    assert!(ids[0].starts_with("call_") && ids[0] != ids[2] && ids[1] == "theirs", "{ids:?}");
}

#[tokio::test]
async fn a_stream_that_breaks_is_asked_for_again_unless_text_was_heard() {
    let events = wire::stream(Provider::OpenAiChat, &answer("Hello"));
    let before_text = Served::stream(&events[..1]);
    let after_text = Served::stream(&events[..3]);
    let complete = Served::stream(&events);
    let config = |url: &str| json!({ "provider": "openai", "base_url": url, "model": "m", "retries": 1 });

    let (server, log) = Server::saying(vec![before_text, complete.clone()]).await;
    let heard = Heard::default();
    let answered = model_with(config(&server.url)).call(&request(&json!({ "stream": true })), &heard).await;
    assert_eq!((answered.unwrap(), heard.all().as_str()), (answer("Hello"), "Hello"));
    assert_eq!(log.lock().unwrap().len(), 2);

    let (server, log) = Server::saying(vec![after_text, complete]).await;
    let heard = Heard::default();
    let broken = model_with(config(&server.url)).call(&request(&json!({ "stream": true })), &heard).await;
    assert_eq!(broken.unwrap_err().kind(), "network");
    assert!(!heard.all().is_empty() && "Hello".starts_with(&heard.all()), "{}", heard.all());
    assert_eq!(log.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn an_answer_that_takes_too_long_is_a_timeout() {
    let events = wire::stream(Provider::OpenAiChat, &answer("Hello"));
    let stuck = Served { hangs: true, ..Served::stream(&events[..2]) };
    for served in [Served { parts: vec![], hangs: true }, stuck] {
        let (server, _) = Server::saying(vec![served]).await;
        let model = model_with(json!({
            "provider": "openai", "base_url": server.url, "model": "m", "retries": 0, "timeout_seconds": 1,
        }));
        let error = model.call(&request(&json!({ "stream": true })), &()).await.unwrap_err();
        assert_eq!(error.to_string(), "timeout: no whole answer in 1 s");
    }
}

#[tokio::test]
async fn nobody_at_the_address_is_a_network_error_that_names_it_and_no_secret() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let url = format!("http://127.0.0.1:{port}/v1?secret={KEY}");
    let error = model("openai", &url).call(&request(&json!({})), &()).await.unwrap_err();
    assert_eq!(error.kind(), "network");
    // F-13: where it led, why it failed, what to look at.
    let told = error.to_string();
    let place = format!("cannot reach http://127.0.0.1:{port}/v1/chat/completions: ");
    assert!(told.contains(&place) && told.contains("refused") && told.contains("`base_url`"), "{told}");
    assert!(!told.contains(KEY), "{told}");
}

#[tokio::test]
async fn a_refusal_without_end_is_not_waited_for() {
    let error = format!("{{\"error\":{{\"code\":\"context_length_exceeded\"}}}}{}", " ".repeat(128 << 10));
    let mut served = Served::with(400, "", error);
    served.parts[0] = b"HTTP/1.1 400 X\r\ncontent-length: 1000000000\r\n\r\n".to_vec();
    served.hangs = true;
    let failed = tokio::time::timeout(Duration::from_secs(30), failure(served)).await.unwrap();
    assert_eq!(failed.0, "context_length");
}

#[tokio::test]
async fn an_answer_without_end_is_refused() {
    let delta = json!({ "choices": [{ "index": 0, "delta": { "content": "x".repeat(1 << 20) } }] });
    let endless = vec![format!("data: {delta}\n\n"); 9];
    let (_, text) = failure(Served { hangs: true, ..Served::stream(&endless) }).await;
    assert_eq!(text, "malformed answer: the answer is longer than 8388608 bytes");

    let mut whole = Served::with(200, "", " ".repeat(33 << 20));
    whole.hangs = true;
    assert_eq!(failure(whole).await.1, "malformed answer: the answer has no end");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (other, log) = Server::saying(vec![whole("x")]).await;
    let moved = Served::with(307, &format!("location: {}/chat/completions\r\n", other.url), String::new());
    assert_eq!(failure(moved).await.0, "bad_request");
    assert!(log.lock().unwrap().is_empty());
}

/// SEC-09
#[tokio::test]
async fn an_error_holds_neither_the_key_nor_the_request() {
    let quoting =
        json!({ "error": { "message": format!("{KEY}: the secret plan"), "code": KEY, "type": "x" } });
    for status in [400, 401, 429, 500] {
        let (_, text) = failure(Served::json(status, &quoting)).await;
        assert!(!text.contains(KEY) && !text.contains("secret plan"), "{text}");
    }
    let said = json!({ "choices": [{ "message": { "content": "x", "tool_calls": "the secret plan" } }] });
    let (kind, text) = failure(Served::json(200, &said)).await;
    assert!(kind == "malformed" && !text.contains("secret plan"), "{text}");
}

#[tokio::test]
async fn a_wait_that_is_asked_for_is_passed_on() {
    let served = Served::with(429, "retry-after: 17\r\n", "slow down".to_owned());
    let (server, _) = Server::saying(vec![served]).await;
    let error = model("openai", &server.url).call(&request(&json!({})), &()).await.unwrap_err();
    let message = "the provider answered 429".to_owned();
    assert_eq!(error, ModelError::RateLimited { message, retry_after: Some(Duration::from_secs(17)) });
}

/// F-27
#[tokio::test]
async fn a_provider_with_too_much_to_do_may_say_when_as_well() {
    let served = Served::with(529, "retry-after: 17\r\n", "busy".to_owned());
    let (server, _) = Server::saying(vec![served]).await;
    let error = model("openai", &server.url).call(&request(&json!({})), &()).await.unwrap_err();
    assert_eq!((error.kind(), error.retry_after()), ("overloaded", Some(Duration::from_secs(17))));
}

/// F-27, SEC-07: a wait is honoured up to the bound, and refused beyond it without another request.
#[tokio::test(start_paused = true)]
async fn a_call_waits_as_long_as_it_is_asked_to_or_not_at_all() {
    let most = limits::RETRY_AFTER_SECONDS;
    for (seconds, requests) in [(most, 2), (most + 1, 1)] {
        let busy = Served::with(429, &format!("retry-after: {seconds}\r\n"), "slow down".to_owned());
        let (server, log) = Server::saying(vec![busy, whole("Hello")]).await;
        let config = json!({
            "provider": "openai", "base_url": server.url, "model": "m", "retries": 1, "timeout_seconds": 3600,
        });
        let begun = tokio::time::Instant::now();
        let answered = model_with(config).call(&request(&json!({})), &()).await;
        assert_eq!(log.lock().unwrap().len(), requests, "{answered:?}");
        if requests == 2 {
            assert_eq!(answered, Ok(answer("Hello")));
            assert!(begun.elapsed() >= Duration::from_secs(most), "{:?}", begun.elapsed());
        } else {
            let error = answered.unwrap_err();
            assert!(error.to_string().contains(&format!("no call waits longer than {most} s")), "{error}");
        }
    }
}

/// F-39: a name that leads inside is no failure that passes, so it is asked for once.
#[tokio::test]
async fn a_model_whose_name_leads_inside_is_not_asked() {
    let (server, log) = Server::saying(vec![whole("x")]).await;
    let url = server.url.replace("127.0.0.1", "localhost");
    let config = json!({ "provider": "openai", "base_url": url, "model": "m", "retries": 5 });
    let model = cardwire_llm::build(&config, &Door::bare(), Asker::Project("p1")).unwrap();
    let error = model.call(&request(&json!({})), &()).await.unwrap_err();
    assert!(error.kind() == "failed" && error.to_string().contains("CARDWIRE_EGRESS_ALLOW"), "{error}");
    assert!(log.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_call_that_is_dropped_closes_its_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let model = model("openai", &format!("http://{}", listener.local_addr().unwrap()));
    let called = Arc::clone(&model);
    let call = tokio::spawn(async move { called.call(&request(&json!({ "n": 1 })), &()).await });
    let (mut connection, _) = listener.accept().await.unwrap();
    let mut asked = vec![];
    while !asked.ends_with(b"{\"n\":1}") {
        assert_ne!(connection.read_buf(&mut asked).await.unwrap(), 0);
    }
    connection
        .write_all(b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n\r\n: wait\n\n")
        .await
        .unwrap();
    call.abort();
    let left = tokio::time::timeout(Duration::from_secs(30), connection.read_u8()).await.unwrap();
    assert!(left.is_err(), "the connection is still used");
}

/// This very program, with an environment that names a proxy which is not there.
#[tokio::test]
async fn the_environments_proxy_is_not_used() {
    let nowhere = "http://127.0.0.1:9";
    let test = "remote::the_body_is_sent_byte_for_byte_with_the_headers_of_the_provider";
    let run = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .envs([("http_proxy", nowhere), ("HTTP_PROXY", nowhere), ("ALL_PROXY", nowhere)])
        .env_remove("no_proxy")
        .env_remove("NO_PROXY")
        .output()
        .await
        .unwrap();
    let output = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && output.contains("1 passed"), "{output}");
}
