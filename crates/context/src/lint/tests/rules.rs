//! Rule by rule, as the provider sees it.

use crate::{
    fixtures::{call, history, human, listed, result, sent, system, thought, told, with_calls},
    lint::{LintError, Rule, lint},
};
use cardwire_model::{Card, Cause, Provider};
use insta::assert_snapshot;
use serde_json::json;

fn openai(cards: &[Card]) -> String {
    sent(Provider::OpenAiChat, &history(cards))
}

fn anthropic(cards: &[Card]) -> String {
    sent(Provider::AnthropicMessages, &history(cards))
}

fn refused(provider: Provider, cards: &[Card]) -> LintError {
    lint(provider, &history(cards)).unwrap_err()
}

/// OB-01
#[test]
fn calls_of_one_reply_are_one_message_and_their_results_follow_in_the_order_of_the_calls() {
    let cards =
        [human(1, "go"), call(2, "c1"), call(3, "c2"), result(4, "c2", "two"), result(5, "c1", "one")];
    assert_snapshot!(openai(&cards), @r#"
    {"content":"go","role":"user"}
    {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{\"at\":1}","name":"look"},"id":"c1","type":"function"},{"function":{"arguments":"{\"at\":1}","name":"look"},"id":"c2","type":"function"}]}
    {"content":"{\"result\":\"one\",\"status\":\"success\"}","role":"tool","tool_call_id":"c1"}
    {"content":"{\"result\":\"two\",\"status\":\"success\"}","role":"tool","tool_call_id":"c2"}
    "#);
    assert_snapshot!(anthropic(&cards), @r#"
    {"content":[{"text":"go","type":"text"}],"role":"user"}
    {"content":[{"id":"c1","input":{"at":1},"name":"look","type":"tool_use"},{"id":"c2","input":{"at":1},"name":"look","type":"tool_use"}],"role":"assistant"}
    {"content":[{"content":"{\"result\":\"one\",\"status\":\"success\"}","tool_use_id":"c1","type":"tool_result"},{"content":"{\"result\":\"two\",\"status\":\"success\"}","tool_use_id":"c2","type":"tool_result"}],"role":"user"}
    "#);
}

/// OB-01
#[test]
fn a_result_moves_up_to_its_call() {
    let cards = [
        human(1, "go"),
        call(2, "c1"),
        thought(3, "hm"),
        system(4, "be quick"),
        human(5, "well?"),
        result(6, "c1", "one"),
    ];
    assert_snapshot!(openai(&cards), @r#"
    {"content":"go","role":"user"}
    {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{\"at\":1}","name":"look"},"id":"c1","type":"function"}]}
    {"content":"{\"result\":\"one\",\"status\":\"success\"}","role":"tool","tool_call_id":"c1"}
    {"content":"hm","role":"assistant"}
    {"content":"be quick","role":"system"}
    {"content":"well?","role":"user"}
    "#);
    assert_snapshot!(anthropic(&cards), @r#"
    {"content":[{"text":"go","type":"text"}],"role":"user"}
    {"content":[{"id":"c1","input":{"at":1},"name":"look","type":"tool_use"}],"role":"assistant"}
    {"content":[{"content":"{\"result\":\"one\",\"status\":\"success\"}","tool_use_id":"c1","type":"tool_result"}],"role":"user"}
    {"content":[{"text":"hm","type":"text"}],"role":"assistant"}
    {"content":[{"text":"be quick","type":"text"},{"text":"well?","type":"text"}],"role":"user"}
    "#);
}

/// OB-01
#[test]
fn a_reply_may_say_something_and_call() {
    let cards = [
        human(1, "go"),
        thought(2, "I look."),
        call(3, "c1"),
        result(4, "c1", "one"),
        listed(5, "And", &["c2"]),
        result(6, "c2", "two"),
    ];
    assert_snapshot!(openai(&cards), @r#"
    {"content":"go","role":"user"}
    {"content":"I look.","role":"assistant","tool_calls":[{"function":{"arguments":"{\"at\":1}","name":"look"},"id":"c1","type":"function"}]}
    {"content":"{\"result\":\"one\",\"status\":\"success\"}","role":"tool","tool_call_id":"c1"}
    {"content":"And","role":"assistant","tool_calls":[{"function":{"arguments":"{\"at\":1}","name":"look"},"id":"c2","type":"function"}]}
    {"content":"{\"result\":\"two\",\"status\":\"success\"}","role":"tool","tool_call_id":"c2"}
    "#);
    assert_snapshot!(anthropic(&cards), @r#"
    {"content":[{"text":"go","type":"text"}],"role":"user"}
    {"content":[{"text":"I look.","type":"text"},{"id":"c1","input":{"at":1},"name":"look","type":"tool_use"}],"role":"assistant"}
    {"content":[{"content":"{\"result\":\"one\",\"status\":\"success\"}","tool_use_id":"c1","type":"tool_result"}],"role":"user"}
    {"content":[{"text":"And","type":"text"},{"id":"c2","input":{"at":1},"name":"look","type":"tool_use"}],"role":"assistant"}
    {"content":[{"content":"{\"result\":\"two\",\"status\":\"success\"}","tool_use_id":"c2","type":"tool_result"}],"role":"user"}
    "#);
}

/// OB-01, NF-05
#[test]
fn a_call_without_a_result_gets_one_that_says_so() {
    let cards = [human(1, "go"), call(2, "c1"), human(3, "never mind")];
    assert_snapshot!(openai(&cards), @r#"
    {"content":"go","role":"user"}
    {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{\"at\":1}","name":"look"},"id":"c1","type":"function"}]}
    {"content":"The call failed (no_result): no result of this call was recorded","role":"tool","tool_call_id":"c1"}
    {"content":"never mind","role":"user"}
    repair call_without_result
    "#);
    assert_snapshot!(anthropic(&cards), @r#"
    {"content":[{"text":"go","type":"text"}],"role":"user"}
    {"content":[{"id":"c1","input":{"at":1},"name":"look","type":"tool_use"}],"role":"assistant"}
    {"content":[{"content":"The call failed (no_result): no result of this call was recorded","tool_use_id":"c1","type":"tool_result"},{"text":"never mind","type":"text"}],"role":"user"}
    repair call_without_result
    "#);
    let linted = history(&cards);
    let linted = lint(Provider::OpenAiChat, &linted).unwrap();
    let repair = &linted.repairs[0];
    assert_eq!((repair.card_id, repair.tool_call_id.as_deref()), (Some(cards[1].id), Some("c1")));
}

/// OB-01
#[test]
fn a_result_without_a_call_gets_one() {
    let cards = [result(1, "c9", "nine"), human(2, "so?")];
    assert_snapshot!(openai(&cards), @r#"
    {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"look"},"id":"c9","type":"function"}]}
    {"content":"{\"result\":\"nine\",\"status\":\"success\"}","role":"tool","tool_call_id":"c9"}
    {"content":"so?","role":"user"}
    repair result_without_call
    "#);
    assert_snapshot!(anthropic(&cards), @r#"
    {"content":[{"text":"Continue.","type":"text"}],"role":"user"}
    {"content":[{"id":"c9","input":{},"name":"look","type":"tool_use"}],"role":"assistant"}
    {"content":[{"content":"{\"result\":\"nine\",\"status\":\"success\"}","tool_use_id":"c9","type":"tool_result"},{"text":"so?","type":"text"}],"role":"user"}
    repair first_not_user
    repair result_without_call
    "#);
}

/// OB-01
#[test]
fn a_second_result_of_a_call_is_an_error_that_names_the_card() {
    let cards = [call(1, "c1"), result(2, "c1", "one"), result(3, "c1", "again")];
    for provider in [Provider::OpenAiChat, Provider::AnthropicMessages] {
        let error = refused(provider, &cards);
        assert_eq!((error.rule, error.card_id), (Rule::DuplicateResult, Some(cards[2].id)));
        assert!(error.to_string().contains(&cards[2].id.to_string()), "{error}");
    }
}

/// OB-01
#[test]
fn a_list_of_calls_that_cannot_be_read_is_an_error_that_names_the_card() {
    for calls in [json!([1]), json!([{ "id": 7 }]), json!([null])] {
        let cards = [human(1, "go"), with_calls(2, &calls)];
        let error = refused(Provider::OpenAiChat, &cards);
        assert_eq!((error.rule, error.card_id), (Rule::MalformedCall, Some(cards[1].id)));
    }
}

/// OB-01
#[test]
fn an_id_that_is_used_again_belongs_to_the_latest_open_call() {
    let cards = [
        human(1, "go"),
        call(2, "c1"),
        result(3, "c1", "first"),
        human(4, "again"),
        call(5, "c1"),
        human(6, "and again"),
        call(7, "c1"),
        result(8, "c1", "third"),
    ];
    assert_snapshot!(openai(&cards), @r#"
    {"content":"go","role":"user"}
    {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{\"at\":1}","name":"look"},"id":"c1","type":"function"}]}
    {"content":"{\"result\":\"first\",\"status\":\"success\"}","role":"tool","tool_call_id":"c1"}
    {"content":"again","role":"user"}
    {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{\"at\":1}","name":"look"},"id":"c1","type":"function"}]}
    {"content":"The call failed (no_result): no result of this call was recorded","role":"tool","tool_call_id":"c1"}
    {"content":"and again","role":"user"}
    {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{\"at\":1}","name":"look"},"id":"c1","type":"function"}]}
    {"content":"{\"result\":\"third\",\"status\":\"success\"}","role":"tool","tool_call_id":"c1"}
    repair call_without_result
    "#);
    assert_snapshot!(anthropic(&cards), @r#"
    {"content":[{"text":"go","type":"text"}],"role":"user"}
    {"content":[{"id":"c1","input":{"at":1},"name":"look","type":"tool_use"}],"role":"assistant"}
    {"content":[{"content":"{\"result\":\"first\",\"status\":\"success\"}","tool_use_id":"c1","type":"tool_result"},{"text":"again","type":"text"}],"role":"user"}
    {"content":[{"id":"cw_e21d62180217a896cc7e2936f6684fb3","input":{"at":1},"name":"look","type":"tool_use"}],"role":"assistant"}
    {"content":[{"content":"The call failed (no_result): no result of this call was recorded","tool_use_id":"cw_e21d62180217a896cc7e2936f6684fb3","type":"tool_result"},{"text":"and again","type":"text"}],"role":"user"}
    {"content":[{"id":"cw_70b2b603ebc9e2d2ab32229256d302b9","input":{"at":1},"name":"look","type":"tool_use"}],"role":"assistant"}
    {"content":[{"content":"{\"result\":\"third\",\"status\":\"success\"}","tool_use_id":"cw_70b2b603ebc9e2d2ab32229256d302b9","type":"tool_result"}],"role":"user"}
    repair call_without_result
    "#);
}

/// OB-01
#[test]
fn two_open_calls_of_one_id_are_answered_from_the_latest_back() {
    let cards = [
        call(1, "c1"),
        human(2, "again"),
        call(3, "c1"),
        told(4, Some("c1"), "of the second"),
        told(5, Some("c1"), "of the first"),
    ];
    let order: Vec<_> = openai(&cards).lines().map(|line| line.contains("of the first")).collect();
    assert_eq!(order, [false, true, false, false, false]);
    assert_eq!(lint(Provider::OpenAiChat, &history(&cards)).unwrap().repairs, []);
}

/// OB-01
#[test]
fn the_card_of_a_listed_call_is_the_record_of_that_call() {
    let cards = [
        human(1, "go"),
        listed(2, "I look.", &["c1", "c2"]),
        call(3, "c1"),
        result(4, "c1", "one"),
        call(5, "c2"),
        result(6, "c2", "two"),
    ];
    assert_snapshot!(openai(&cards), @r#"
    {"content":"go","role":"user"}
    {"content":"I look.","role":"assistant","tool_calls":[{"function":{"arguments":"{\"at\":1}","name":"look"},"id":"c1","type":"function"},{"function":{"arguments":"{\"at\":1}","name":"look"},"id":"c2","type":"function"}]}
    {"content":"{\"result\":\"one\",\"status\":\"success\"}","role":"tool","tool_call_id":"c1"}
    {"content":"{\"result\":\"two\",\"status\":\"success\"}","role":"tool","tool_call_id":"c2"}
    "#);
    let pieces = history(&cards);
    let linted = lint(Provider::OpenAiChat, &pieces).unwrap();
    assert_eq!(linted.omitted, [(2, Cause::NotAMessage), (4, Cause::NotAMessage)]);
    let omitted: Vec<_> = linted.omitted_of(&pieces).map(|(piece, _)| piece.card_id()).collect();
    assert_eq!(omitted, [Some(cards[2].id), Some(cards[4].id)]);
}

/// OB-01
#[test]
fn what_says_nothing_is_left_out() {
    let cards = [
        human(1, " \n"),
        human(2, "go"),
        thought(3, ""),
        thought(4, "\u{3000}"),
        system(5, "\t"),
        listed(6, "", &[]),
    ];
    for provider in [Provider::OpenAiChat, Provider::AnthropicMessages] {
        let pieces = history(&cards);
        let linted = lint(provider, &pieces).unwrap();
        let omitted: Vec<_> = linted.omitted.iter().map(|(index, _)| *index).collect();
        assert_eq!((omitted, linted.messages.len()), (vec![0, 2, 3, 4, 5], 1));
        assert!(linted.omitted.iter().all(|(_, cause)| *cause == Cause::Empty));
    }
}

/// OB-01
#[test]
fn a_tool_may_answer_nothing() {
    let cards = [human(1, "go"), call(2, "c1"), told(3, Some("c1"), "")];
    assert_snapshot!(openai(&cards), @r#"
    {"content":"go","role":"user"}
    {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{\"at\":1}","name":"look"},"id":"c1","type":"function"}]}
    {"content":"","role":"tool","tool_call_id":"c1"}
    "#);
    assert_snapshot!(anthropic(&cards), @r#"
    {"content":[{"text":"go","type":"text"}],"role":"user"}
    {"content":[{"id":"c1","input":{"at":1},"name":"look","type":"tool_use"}],"role":"assistant"}
    {"content":[{"tool_use_id":"c1","type":"tool_result"}],"role":"user"}
    "#);
}

/// OB-01
#[test]
fn anthropic_has_leading_system_texts_apart_and_later_ones_as_text() {
    let cards = [
        system(1, "one"),
        system(2, "two"),
        human(3, "go"),
        system(4, "three"),
        thought(5, "ok"),
        thought(6, "done"),
    ];
    assert_snapshot!(anthropic(&cards), @r#"
    system {"text":"one","type":"text"}
    system {"text":"two","type":"text"}
    {"content":[{"text":"go","type":"text"},{"text":"three","type":"text"}],"role":"user"}
    {"content":[{"text":"ok","type":"text"},{"text":"done","type":"text"}],"role":"assistant"}
    "#);
}

/// OB-01
#[test]
fn anthropic_wants_a_person_to_begin() {
    assert_snapshot!(anthropic(&[system(1, "one"), thought(2, "I begin.")]), @r#"
    system {"text":"one","type":"text"}
    {"content":[{"text":"Continue.","type":"text"}],"role":"user"}
    {"content":[{"text":"I begin.","type":"text"}],"role":"assistant"}
    repair first_not_user
    "#);
    assert_snapshot!(anthropic(&[system(1, "one")]), @r#"
    system {"text":"one","type":"text"}
    {"content":[{"text":"Continue.","type":"text"}],"role":"user"}
    repair first_not_user
    "#);
}

/// OB-01
#[test]
fn nothing_at_all_cannot_be_sent() {
    for provider in [Provider::OpenAiChat, Provider::AnthropicMessages] {
        assert_eq!(refused(provider, &[human(1, " ")]).rule, Rule::NothingToSend);
        assert_eq!(lint(provider, &[]).unwrap_err().rule, Rule::NothingToSend);
    }
}
