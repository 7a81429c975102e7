//! Where each byte of a request comes from (IN-12).

use super::{call, on, request, show};
use crate::support::{Api, on_both};
use cardwire_model::Hash256;
use serde_json::{Value, json};

on_both! {
    in_12_spans_are_the_request_byte_for_byte;
}

/// The spans of a call as `(source, index, bytes)`; together they are the request, whose hash holds.
fn spans(shown: &Value) -> Vec<(String, Option<u64>, String)> {
    let body = shown["request"].as_str().unwrap();
    let mut at = 0;
    let cut = |span: &Value| {
        let (from, to) = (span["from"].as_u64().unwrap() as usize, span["to"].as_u64().unwrap() as usize);
        assert!(from == at && to > from, "{span} after {at}");
        at = to;
        (span["source"].as_str().unwrap().to_owned(), span["index"].as_u64(), body[from..to].to_owned())
    };
    let spans: Vec<_> = shown["spans"].as_array().unwrap().iter().map(cut).collect();
    let joined: String = spans.iter().map(|(.., bytes)| bytes.as_str()).collect();
    assert_eq!(shown["manifest"]["request_sha256"], json!(Hash256::of(joined.as_bytes()).to_string()));
    assert_eq!((&shown["hash_ok"], joined.as_str()), (&json!(true), body));
    spans
}

async fn in_12_spans_are_the_request_byte_for_byte(api: Api) {
    let question = api.card("p1", "look up the \"red\" boat").await;
    let leased = on(&api, "a1", std::slice::from_ref(&question), json!({})).await;
    // A call that nobody has answered: the linter adds a result.
    let open = json!({
        "content": { "tool_name": "look", "arguments": { "at": 1 } }, "tool_call_id": "c1",
        "metadata": { "type": "tool.call" },
    });
    api.verb(&leased, "/cards", open).await.expect(200);
    let tools = json!([{ "type": "function", "function": { "name": "look" } }]);
    for provider in ["openai-chat", "anthropic-messages"] {
        let made = call(&api, &leased, json!({ "provider": provider, "tools": tools })).await;
        let shown = show(&api, &made, "?spans=true").await;
        assert_eq!(shown["request"], made["request"]);
        let spans = spans(&shown);
        let of = |source: &str| spans.iter().filter(move |(found, ..)| found == source).collect::<Vec<_>>();
        let [(_, _, listed)] = &of("tools")[..] else { panic!("{spans:#?}") };
        assert_eq!(serde_json::from_str::<Value>(listed).unwrap(), request(&made)["tools"]);
        let [(_, _, repaired)] = &of("repair")[..] else { panic!("{spans:#?}") };
        assert!(repaired.contains("no result of this call was recorded"), "{repaired}");
        let entries = shown["entries"].as_array().unwrap();
        let place = entries.iter().position(|entry| entry["card_id"] == json!(question)).unwrap();
        let found: Vec<_> =
            of("entry").into_iter().filter(|(_, index, _)| *index == Some(place as u64)).collect();
        let [(_, _, said)] = &found[..] else { panic!("{spans:#?}") };
        assert_eq!(serde_json::from_str::<String>(said).unwrap(), "look up the \"red\" boat");
        // The list of tools and what was added are entries, too, and have spans of their own.
        let is_sent = |entry: &&Value| entry["layer"] != "tools" && entry["reason"] != "repair";
        for index in 0..entries.iter().filter(is_sent).count() as u64 {
            assert!(of("entry").iter().any(|(_, found, _)| *found == Some(index)), "{index}: {spans:#?}");
        }
        assert!(show(&api, &made, "?render=true").await.get("spans").is_none());
    }
}
