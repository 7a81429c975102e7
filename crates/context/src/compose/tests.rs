//! Where each layer goes, what is refused, and that the same input gives the same bytes.

use super::*;
use crate::{
    fixtures::{PLACEMENTS, PROVIDERS, body_of, message, sent},
    lint::lint,
};
use cardwire_model::Provider;
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::Value;

fn contexts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect()
}

/// Every layer once.
fn full() -> Input {
    Input {
        system_prompt: Some("You are A.".to_owned()),
        contexts: contexts(&[
            ("zeta__context", "Z"),
            ("alpha__context", "A"),
            ("compression__context", "C"),
            ("todo__context", " T\n"),
            ("knowledge__context", "K"),
            ("experience__context", "E"),
            ("framework__context", "F"),
            ("blank__context", " \n"),
        ]),
        checkpoint_messages: vec![
            message(Some("1"), Speaker::Human, "hi"),
            message(Some("2"), Speaker::Ai, "hello"),
        ],
        query: Some(message(None, Speaker::Human, "go on")),
    }
}

fn order(input: &Input, placement: Placement) -> Vec<&str> {
    let pieces = compose(input, placement).unwrap();
    pieces.iter().map(|piece| piece.context_key.unwrap_or(piece.layer.as_str())).collect()
}

fn said(input: &Input) -> Vec<String> {
    let pieces = compose(input, Placement::Seed).unwrap();
    let messages: Value = serde_json::from_str(&messages_json(&pieces)).unwrap();
    let text = |message: &Value| format!("{}:{}", message["role"].as_str().unwrap(), message["content"]);
    messages.as_array().unwrap().iter().map(text).collect()
}

/// CM-02, CM-04, CM-05, X-14
#[test]
fn placement_seed_is_the_order_of_the_seed_with_extras_after_compression() {
    let expected = [
        "system_prompt",
        "framework__context",
        "experience__context",
        "knowledge__context",
        "todo__context",
        "compression__context",
        "alpha__context",
        "zeta__context",
        "checkpoint",
        "checkpoint",
        "query",
    ];
    assert_eq!(order(&full(), Placement::Seed), expected);
}

/// OB-05
#[test]
fn placement_cache_has_what_changes_after_the_history_and_before_the_query() {
    let expected = [
        "system_prompt",
        "framework__context",
        "compression__context",
        "alpha__context",
        "zeta__context",
        "checkpoint",
        "checkpoint",
        "experience__context",
        "knowledge__context",
        "todo__context",
        "query",
    ];
    assert_eq!(order(&full(), Placement::Cache), expected);
}

/// CM-02, OB-05
#[test]
fn every_layer_in_both_placements_for_both_providers() {
    let input = full();
    let sent_as = |provider, placement| sent(provider, &compose(&input, placement).unwrap());
    assert_snapshot!(sent_as(Provider::OpenAiChat, Placement::Seed), @r#"
    {"content":"You are A.","role":"system"}
    {"content":"F","role":"system"}
    {"content":"E","role":"system"}
    {"content":"K","role":"system"}
    {"content":"T","role":"system"}
    {"content":"C","role":"system"}
    {"content":"A","role":"system"}
    {"content":"Z","role":"system"}
    {"content":"hi","role":"user"}
    {"content":"hello","role":"assistant"}
    {"content":"go on","role":"user"}
    "#);
    assert_snapshot!(sent_as(Provider::OpenAiChat, Placement::Cache), @r#"
    {"content":"You are A.","role":"system"}
    {"content":"F","role":"system"}
    {"content":"C","role":"system"}
    {"content":"A","role":"system"}
    {"content":"Z","role":"system"}
    {"content":"hi","role":"user"}
    {"content":"hello","role":"assistant"}
    {"content":"E","role":"system"}
    {"content":"K","role":"system"}
    {"content":"T","role":"system"}
    {"content":"go on","role":"user"}
    "#);
    assert_snapshot!(sent_as(Provider::AnthropicMessages, Placement::Seed), @r#"
    system {"text":"You are A.","type":"text"}
    system {"text":"F","type":"text"}
    system {"text":"E","type":"text"}
    system {"text":"K","type":"text"}
    system {"text":"T","type":"text"}
    system {"text":"C","type":"text"}
    system {"text":"A","type":"text"}
    system {"text":"Z","type":"text"}
    {"content":[{"text":"hi","type":"text"}],"role":"user"}
    {"content":[{"text":"hello","type":"text"}],"role":"assistant"}
    {"content":[{"text":"go on","type":"text"}],"role":"user"}
    "#);
    assert_snapshot!(sent_as(Provider::AnthropicMessages, Placement::Cache), @r#"
    system {"text":"You are A.","type":"text"}
    system {"text":"F","type":"text"}
    system {"text":"C","type":"text"}
    system {"text":"A","type":"text"}
    system {"text":"Z","type":"text"}
    {"content":[{"text":"hi","type":"text"}],"role":"user"}
    {"content":[{"text":"hello","type":"text"}],"role":"assistant"}
    {"content":[{"text":"E","type":"text"},{"text":"K","type":"text"},{"text":"T","type":"text"},{"text":"go on","type":"text"}],"role":"user"}
    "#);
}

/// CM-10
#[test]
fn blocks_are_tagged_with_their_key_in_the_answer_and_not_in_the_request() {
    let input = Input {
        system_prompt: Some("You are \"A\".".to_owned()),
        contexts: contexts(&[("todo__context", "T")]),
        checkpoint_messages: vec![message(Some("1"), Speaker::Ai, "hello")],
        query: None,
    };
    let pieces = compose(&input, Placement::Seed).unwrap();
    assert_snapshot!(messages_json(&pieces), @r#"[{"role":"system","content":"You are \"A\"."},{"role":"system","content":"T","metadata":{"context_key":"todo__context"}},{"id":"1","role":"ai","content":"hello"}]"#);
    for provider in PROVIDERS {
        let body = String::from_utf8(body_of(&lint(provider, &pieces).unwrap())).unwrap();
        assert!(!body.contains("context_key") && !body.contains("todo__context"), "{body}");
    }
}

/// CM-06
#[test]
fn the_input_appears_once_and_last() {
    let tail = |id: Option<&str>, speaker, text: &str| message(id, speaker, text);
    let query = |id: Option<&str>, text: &str| Some(message(id, Speaker::Human, text));
    let table = [
        // Not there yet.
        (tail(None, Speaker::Ai, "x"), query(None, "q"), vec!["ai:\"x\"", "human:\"q\""]),
        // There already: by text, by text with an id on one side only, by id.
        (tail(None, Speaker::Human, " q\n"), query(None, "q"), vec!["human:\" q\\n\""]),
        (tail(Some("1"), Speaker::Human, "q"), query(None, "q"), vec!["human:\"q\""]),
        (tail(None, Speaker::Human, "q"), query(Some("1"), "q"), vec!["human:\"q\""]),
        (tail(Some("1"), Speaker::Human, "old"), query(Some("1"), "q"), vec!["human:\"old\""]),
        // Two ids that differ are two inputs, whatever they say.
        (tail(Some("1"), Speaker::Human, "q"), query(Some("2"), "q"), vec!["human:\"q\"", "human:\"q\""]),
        // The model may say the same.
        (tail(None, Speaker::Ai, "q"), query(None, "q"), vec!["ai:\"q\"", "human:\"q\""]),
        (tail(Some("1"), Speaker::Ai, "q"), query(Some("1"), "q"), vec!["ai:\"q\"", "human:\"q\""]),
        // Nothing is asked.
        (tail(None, Speaker::Ai, "x"), query(None, " \n"), vec!["ai:\"x\""]),
        (tail(None, Speaker::Ai, "x"), None, vec!["ai:\"x\""]),
    ];
    for (tail, query, expected) in table {
        let input = Input { checkpoint_messages: vec![tail], query, ..Input::default() };
        assert_eq!(said(&input), expected, "{input:?}");
    }
}

/// CM-06, W-18
#[test]
fn an_earlier_message_with_the_same_text_is_history_and_stays() {
    let history = vec![message(None, Speaker::Human, "again"), message(None, Speaker::Ai, "done")];
    let query = Some(message(None, Speaker::Human, "again"));
    let input = Input { checkpoint_messages: history, query, ..Input::default() };
    assert_eq!(said(&input), ["human:\"again\"", "ai:\"done\"", "human:\"again\""]);
}

/// CM-06, OB-05
#[test]
fn an_input_that_the_conversation_ends_with_is_last_in_every_placement() {
    let input = Input {
        contexts: contexts(&[("todo__context", "T")]),
        checkpoint_messages: vec![message(None, Speaker::Human, "q")],
        query: Some(message(None, Speaker::Human, "q")),
        ..Input::default()
    };
    for placement in PLACEMENTS {
        assert_eq!(order(&input, placement), ["todo__context", "query"]);
    }
}

/// CM-05, CM-06, CM-07, CC-03
#[test]
fn what_cannot_be_composed_is_refused_with_its_code_and_field() {
    let block = |key: &str| Input { contexts: contexts(&[(key, "x")]), ..Input::default() };
    let history =
        |speaker| Input { checkpoint_messages: vec![message(None, speaker, "x")], ..Input::default() };
    let asked = Input { query: Some(message(None, Speaker::Ai, "x")), ..Input::default() };
    let table = [
        (block("todo_context"), "invalid_context_key", "contexts/todo_context"),
        (block("__context"), "invalid_context_key", "contexts/__context"),
        (block("system_prompt__context"), "invalid_context_key", "contexts/system_prompt__context"),
        (history(Speaker::System), "system_in_checkpoint", "checkpoint_messages/0/role"),
        (asked, "bad_request", "human_message"),
    ];
    for (input, code, field) in table {
        let error = compose(&input, Placement::Seed).unwrap_err();
        assert_eq!((error.code(), error.field().as_str()), (code, field));
    }
    // A blank block is no excuse for a bad key.
    let blank = Input { contexts: contexts(&[("todo", " ")]), ..Input::default() };
    assert!(compose(&blank, Placement::Seed).is_err());
    assert_eq!(ComposeError::DualQueryPath.code(), "dual_query_path");
}

/// CM-09
#[test]
fn simple_composition_has_prompt_blocks_and_one_human() {
    let blocks = contexts(&[("knowledge__context", "K"), ("framework__context", "F")]);
    let human = message(None, Speaker::Human, "plan it");
    let pieces = compose_simple(Some("You plan."), &blocks, &human, Placement::Seed).unwrap();
    let layers: Vec<_> = pieces.iter().map(|piece| piece.layer).collect();
    assert_eq!(layers, [Layer::SystemPrompt, Layer::Framework, Layer::Knowledge, Layer::Query]);
}

fn any_message() -> impl Strategy<Value = Message> {
    let speaker = prop_oneof![Just(Speaker::Human), Just(Speaker::Ai)];
    (proptest::option::of("[a-c]"), speaker, "[a-c \n\"中]{0,8}")
        .prop_map(|(id, speaker, text)| message(id.as_deref(), speaker, &text))
}

fn any_input() -> impl Strategy<Value = Input> {
    let key = prop_oneof![
        Just("framework__context".to_owned()),
        Just("todo__context".to_owned()),
        Just("knowledge__context".to_owned()),
        Just("compression__context".to_owned()),
        "[a-d]__context",
    ];
    let contexts = proptest::collection::btree_map(key, "[x-z \n]{0,6}", 0..6);
    let history = proptest::collection::vec(any_message(), 0..8);
    let query = "[a-c]{1,4}".prop_map(|text| message(None, Speaker::Human, &text));
    (proptest::option::of("[ pq]{0,4}"), contexts, history, query).prop_map(
        |(system_prompt, contexts, checkpoint_messages, query)| Input {
            system_prompt,
            contexts,
            checkpoint_messages,
            query: Some(query),
        },
    )
}

fn bytes(provider: Provider, pieces: &[Piece<'_>]) -> Vec<u8> {
    body_of(&lint(provider, pieces).unwrap())
}

proptest! {
    /// CM-01, NF-11
    #[test]
    fn the_same_input_gives_the_same_bytes_and_they_are_valid(input in any_input()) {
        for (provider, placement) in PROVIDERS.into_iter().zip(PLACEMENTS) {
            let body = bytes(provider, &compose(&input, placement).unwrap());
            prop_assert_eq!(&body, &bytes(provider, &compose(&input.clone(), placement).unwrap()));
            let value: Value = serde_json::from_slice(&body).unwrap();
            prop_assert_eq!(crate::lint::check(provider, &value), Ok(()));
        }
    }

    /// CM-03
    #[test]
    fn the_order_in_which_blocks_are_given_does_not_matter(
        input in any_input(), turn in 0_usize..6, cache in any::<bool>()
    ) {
        let placement = if cache { Placement::Cache } else { Placement::Seed };
        let given = blocks(&input.contexts).unwrap();
        let mut turned = given.clone();
        turned.rotate_left(turn.min(given.len()));
        let arranged = |blocks| arrange(Layers { blocks, ..Layers::default() }, placement);
        prop_assert_eq!(arranged(turned), arranged(given));
    }

    /// CM-01, CM-04, NF-11: what is not sent has no say.
    #[test]
    fn blocks_without_text_change_nothing(input in any_input(), blank in "[ \n\t]{0,3}") {
        let mut with = input.clone();
        with.contexts.insert("other__context".to_owned(), blank);
        for provider in PROVIDERS {
            let (with, without) = (compose(&with, Placement::Seed).unwrap(), compose(&input, Placement::Seed).unwrap());
            prop_assert_eq!(bytes(provider, &with), bytes(provider, &without));
        }
    }

    /// CM-06
    #[test]
    fn the_query_is_the_last_message_of_a_person(input in any_input()) {
        let pieces = compose(&input, Placement::Cache).unwrap();
        let last = pieces.last().unwrap();
        prop_assert_eq!((last.layer, last.speaker()), (Layer::Query, Speaker::Human));
        let is_query = |piece: &&Piece<'_>| piece.layer == Layer::Query;
        prop_assert_eq!(pieces.iter().filter(is_query).count(), 1);
    }
}
