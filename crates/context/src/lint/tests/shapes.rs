//! Calls, ids and names in every shape in which they are recorded.

use crate::{
    fixtures::{history, human, json_of, message, sent, told, with_calls},
    lint::{Rule, lint},
    piece::{Body, Piece, Reference},
};
use cardwire_model::{Card, Cause, Layer, Provider, Speaker};
use insta::assert_snapshot;
use serde_json::json;

fn openai(cards: &[Card]) -> String {
    sent(Provider::OpenAiChat, &history(cards))
}

fn anthropic(cards: &[Card]) -> String {
    sent(Provider::AnthropicMessages, &history(cards))
}

/// OB-01
#[test]
fn calls_are_read_in_every_shape_that_is_written() {
    let calls = json!([
        { "id": "a", "type": "function", "function": { "name": "f", "arguments": "{\"x\":1}" } },
        { "id": "b", "name": "f", "args": { "x": 1 } },
        { "id": "c", "name": "f", "input": { "x": 1 } },
        { "id": "d", "tool_name": "f", "arguments": { "x": 1 } },
        { "id": "e", "function": { "name": "f", "arguments": "" } },
        { "id": "f", "function": { "name": "f", "arguments": "no json" } },
        { "id": "g", "name": "f", "args": [1] },
        { "id": "h" },
        { "name": "f" },
    ]);
    let cards = [human(1, "go"), with_calls(2, &calls)];
    assert_snapshot!(openai(&cards).lines().nth(1).unwrap().replace("},{", "},\n{"), @r#"
    {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{\"x\":1}","name":"f"},"id":"a","type":"function"},
    {"function":{"arguments":"{\"x\":1}","name":"f"},"id":"b","type":"function"},
    {"function":{"arguments":"{\"x\":1}","name":"f"},"id":"c","type":"function"},
    {"function":{"arguments":"{\"x\":1}","name":"f"},"id":"d","type":"function"},
    {"function":{"arguments":"{}","name":"f"},"id":"e","type":"function"},
    {"function":{"arguments":"no json","name":"f"},"id":"f","type":"function"},
    {"function":{"arguments":"[1]","name":"f"},"id":"g","type":"function"},
    {"function":{"arguments":"{}","name":"unknown"},"id":"h","type":"function"},
    {"function":{"arguments":"{}","name":"f"},"id":"cw_00000000000000000000000000000002_8","type":"function"}]}
    "#);
    assert_snapshot!(anthropic(&cards).lines().nth(1).unwrap().replace("},{", "},\n{"), @r#"
    {"content":[{"id":"a","input":{"x":1},"name":"f","type":"tool_use"},
    {"id":"b","input":{"x":1},"name":"f","type":"tool_use"},
    {"id":"c","input":{"x":1},"name":"f","type":"tool_use"},
    {"id":"d","input":{"x":1},"name":"f","type":"tool_use"},
    {"id":"e","input":{},"name":"f","type":"tool_use"},
    {"id":"f","input":{"arguments":"no json"},"name":"f","type":"tool_use"},
    {"id":"g","input":{"arguments":[1]},"name":"f","type":"tool_use"},
    {"id":"h","input":{},"name":"unknown","type":"tool_use"},
    {"id":"cw_00000000000000000000000000000002_8","input":{},"name":"f","type":"tool_use"}],"role":"assistant"}
    "#);
}

/// OB-01
#[test]
fn ids_and_names_that_a_provider_refuses_are_replaced_on_both_sides() {
    let long = "x".repeat(70);
    let calls = json!([
        { "id": "functions.look:0", "name": "web search/深" },
        { "id": long, "name": "n".repeat(70) },
    ]);
    let cards = [
        human(1, "go"),
        with_calls(2, &calls),
        told(3, Some("functions.look:0"), "a"),
        told(4, Some(&long), "b"),
    ];
    assert_snapshot!(openai(&cards), @r#"
    {"content":"go","role":"user"}
    {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"web_search__"},"id":"functions.look:0","type":"function"},{"function":{"arguments":"{}","name":"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"},"id":"cw_c71bd109227e23434ecf71fd0a344a20","type":"function"}]}
    {"content":"a","role":"tool","tool_call_id":"functions.look:0"}
    {"content":"b","role":"tool","tool_call_id":"cw_c71bd109227e23434ecf71fd0a344a20"}
    "#);
    assert_snapshot!(anthropic(&cards), @r#"
    {"content":[{"text":"go","type":"text"}],"role":"user"}
    {"content":[{"id":"cw_2db105c943f1a40b5ac43d9f4ddeb3a5","input":{},"name":"web_search__","type":"tool_use"},{"id":"cw_38e56a1816da15ab73d6f6f2b10d3a76","input":{},"name":"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn","type":"tool_use"}],"role":"assistant"}
    {"content":[{"content":"a","tool_use_id":"cw_2db105c943f1a40b5ac43d9f4ddeb3a5","type":"tool_result"},{"content":"b","tool_use_id":"cw_38e56a1816da15ab73d6f6f2b10d3a76","type":"tool_result"}],"role":"user"}
    "#);
}

/// OB-01
#[test]
fn a_tool_that_answers_no_call_by_id_is_heard() {
    let cards = [human(1, "go"), told(2, None, "by the way")];
    assert_snapshot!(openai(&cards), @r#"
    {"content":"go","role":"user"}
    {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"unknown"},"id":"cw_00000000000000000000000000000002","type":"function"}]}
    {"content":"by the way","role":"tool","tool_call_id":"cw_00000000000000000000000000000002"}
    repair result_without_call
    "#);
}

/// OB-01: messages that are not cards obey the same rules and are named by their id.
#[test]
fn messages_are_linted_like_cards() {
    let mut answer = message(Some("m2"), Speaker::Tool, "one");
    answer.tool_call_id = Some("c1".to_owned());
    let mut asks = message(Some("m1"), Speaker::Ai, "");
    asks.tool_calls = Some(json_of(&json!([{ "id": "c1", "name": "look" }])));
    asks.name = Some("bob".to_owned());
    let again = answer.clone();
    let messages = [asks, answer, again];
    let piece = |message| Piece {
        layer: Layer::Checkpoint,
        context_key: None,
        cause: Cause::Memory,
        body: Body::Message(message),
        reference: Reference::Given,
        tokens: 1,
        pinned: false,
    };
    let pieces: Vec<_> = messages.iter().map(piece).collect();
    let error = lint(Provider::OpenAiChat, &pieces).unwrap_err();
    assert_eq!((error.rule, error.message_id.as_deref()), (Rule::DuplicateResult, Some("m2")));
    assert_snapshot!(sent(Provider::OpenAiChat, &pieces[..2]), @r#"
    {"content":null,"name":"bob","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"look"},"id":"c1","type":"function"}]}
    {"content":"one","role":"tool","tool_call_id":"c1"}
    "#);
}
