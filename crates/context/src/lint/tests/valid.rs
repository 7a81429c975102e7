//! Every composed request is valid, whatever happened; nothing is lost, nothing is edited.

use crate::{
    fixtures::{PROVIDERS, body_of, story::any_story},
    lint::{check, lint},
    piece::Piece,
};
use cardwire_model::Provider;
use proptest::prelude::*;
use serde_json::{Value, json};

/// How often a piece's own text stands in the body.
fn times(body: &str, piece: &Piece<'_>) -> usize {
    let number = piece.card_id().unwrap().uuid().as_u128();
    body.matches(&format!("<{number}>")).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// OB-01, NF-05
    #[test]
    fn every_composed_request_is_valid(story in any_story(30)) {
        let pieces = story.pieces();
        for provider in PROVIDERS {
            let linted = lint(provider, &pieces).unwrap();
            let body: Value = serde_json::from_slice(&body_of(&linted)).unwrap();
            prop_assert_eq!(check(provider, &body), Ok(()), "{}", body);
        }
    }

    /// OB-01: placement, not editing.
    #[test]
    fn everything_that_is_said_is_sent_once(story in any_story(30)) {
        let pieces = story.pieces();
        for provider in PROVIDERS {
            let linted = lint(provider, &pieces).unwrap();
            let body = String::from_utf8(body_of(&linted)).unwrap();
            for piece in &pieces {
                let says = !piece.is_blank();
                prop_assert_eq!(times(&body, piece), usize::from(says), "{:?}", piece);
            }
        }
    }

    /// RP-02: what was left out can be forgotten.
    #[test]
    fn the_request_is_the_same_without_what_the_linter_left_out(story in any_story(30)) {
        let pieces = story.pieces();
        for provider in PROVIDERS {
            let linted = lint(provider, &pieces).unwrap();
            let is_sent = |index: &usize| !linted.omitted.iter().any(|(omitted, _)| omitted == index);
            let rest: Vec<_> = (0..pieces.len()).filter(is_sent).map(|index| pieces[index]).collect();
            let again = lint(provider, &rest).unwrap();
            prop_assert_eq!(body_of(&again), body_of(&linted));
            prop_assert_eq!((&again.repairs, again.omitted.len()), (&linted.repairs, 0));
        }
    }
}

/// OB-01: the checker refuses what providers refuse.
#[test]
fn the_checker_knows_a_bad_request() {
    let call = json!({ "id": "c", "type": "function", "function": { "name": "f", "arguments": "{}" } });
    let tool_use = json!({ "type": "tool_use", "id": "c", "name": "f", "input": {} });
    let tool_result = json!({ "type": "tool_result", "tool_use_id": "c" });
    let text = json!({ "type": "text", "text": "x" });
    let user = |blocks: Value| json!({ "role": "user", "content": blocks });
    let assistant = |blocks: Value| json!({ "role": "assistant", "content": blocks });
    let bad = [
        (Provider::OpenAiChat, json!([])),
        (Provider::OpenAiChat, json!([{ "role": "user", "content": " " }])),
        (Provider::OpenAiChat, json!([{ "role": "human", "content": "x" }])),
        (Provider::OpenAiChat, json!([{ "role": "assistant", "content": null, "tool_calls": [call] }])),
        (Provider::OpenAiChat, json!([{ "role": "tool", "tool_call_id": "c", "content": "x" }])),
        (
            Provider::OpenAiChat,
            json!([
                { "role": "assistant", "content": null, "tool_calls": [call] },
                { "role": "user", "content": "x" },
                { "role": "tool", "tool_call_id": "c", "content": "x" },
            ]),
        ),
        (Provider::OpenAiChat, json!([{ "role": "user", "content": "x", "metadata": {} }])),
        (Provider::AnthropicMessages, json!([assistant(json!([text]))])),
        (Provider::AnthropicMessages, json!([user(json!([text])), user(json!([text]))])),
        (Provider::AnthropicMessages, json!([user(json!([]))])),
        (Provider::AnthropicMessages, json!([user(json!([tool_result]))])),
        (Provider::AnthropicMessages, json!([user(json!([text])), assistant(json!([tool_use]))])),
        (
            Provider::AnthropicMessages,
            json!([user(json!([text])), assistant(json!([tool_use])), user(json!([text, tool_result]))]),
        ),
        (
            Provider::AnthropicMessages,
            json!([
                user(json!([text])),
                assistant(json!([tool_use])),
                user(json!([tool_result])),
                assistant(json!([tool_use])),
                user(json!([tool_result])),
            ]),
        ),
    ];
    for (provider, messages) in bad {
        let body = json!({ "model": "m", "max_tokens": 1, "tools": [{}], "messages": messages });
        assert!(check(provider, &body).is_err(), "{body}");
    }
}
