//! What becomes of a model's answers.

use super::*;
use crate::{
    fixtures::{Asked, Request, Said},
    mcp::McpServers,
};
use cardwire_egress::Door;
use cardwire_llm::{Recorded, Usage};

/// What is asked of the kernel by a turn whose model answers once.
async fn said(text: &str, calls: &[&str], stop: StopReason, settings: Value) -> Arc<Asked> {
    let asked = Asked::new(|request: &Request| match request.path.as_str() {
        path if path.contains("/boxes/") => Said::Answer(200, json!([])),
        path if path.ends_with("/calls") => {
            Said::Answer(200, json!({ "call_id": "call_1", "step_id": "step_1", "request": "{}" }))
        }
        _ => Said::Answer(200, json!({})),
    });
    let mut desk = asked.desk();
    desk.lease.runtime_config = settings;
    let call =
        |id: &&str| ToolCall { id: (*id).to_owned(), name: "t".to_owned(), arguments: "{}".to_owned() };
    let answer = ModelAnswer {
        text: text.to_owned(),
        tool_calls: calls.iter().map(call).collect(),
        stop,
        usage: Usage::default(),
        model: "m".to_owned(),
        id: None,
    };
    let door = Arc::new(Door::bare());
    let (external, mcp) = (External::new(Arc::clone(&door), None), Mcp::new(McpServers::default(), door));
    let model = Arc::new(Recorded::new(vec![Ok(answer)]));
    let (profile, required) = (Profile::of(&[]), Arc::default());
    let bench = Bench {
        desk: &desk,
        profile: &profile,
        limits: RunLimits::of(&desk.lease.runtime_config),
        required: &required,
        external: &external,
        mcp: &mcp,
        record: None,
        past: None,
    };
    let (compacted, chunks) = (AtomicBool::new(false), AtomicU64::new(0));
    let turn = Turn { bench, model, desk: &desk, compacted, chunks };
    turn.think(1, &[], &Transcript::new(vec![], "turn_1")).await.unwrap();
    asked
}

#[tokio::test]
async fn a_whole_answer_is_a_success_and_one_that_was_cut_is_not() {
    let finish = async |stop| said("words", &[], stop, json!({})).await.requests(":finish").remove(0).body;
    let whole = finish(StopReason::End).await;
    assert_eq!((&whole["status"], &whole["deliverable"]), (&json!("success"), &json!("words")));
    assert_eq!((&whole["error"], &whole["step"]["metadata"]["stop"]), (&Value::Null, &Value::Null));
    let cut = finish(StopReason::Length).await;
    assert_eq!((&cut["status"], &cut["deliverable"]), (&json!("partial"), &json!("words")));
    assert_eq!((&cut["error_code"], &cut["step"]["metadata"]["stop"]), (&json!("model_length"), &json!(CUT)));
    let withheld = finish(StopReason::Filtered).await;
    assert_eq!((&withheld["status"], &withheld["deliverable"]), (&json!("failed"), &Value::Null));
    assert_eq!(withheld["error_code"], "model_filtered");
    assert_eq!(
        (&withheld["step"]["status"], &withheld["step"]["metadata"]["model"]),
        (&json!("failed"), &json!("m"))
    );
}

/// NF-05: each call has an answer, and none is carried out that may be half of one.
#[tokio::test]
async fn the_call_in_which_a_model_was_cut_off_is_not_carried_out() {
    let cards = async |stop| {
        let asked = said("", &["c1", "c2"], stop, json!({})).await;
        asked.requests("/cards").remove(0).body["cards"].as_array().unwrap().clone()
    };
    assert_eq!(cards(StopReason::ToolCalls).await.len(), 1, "they are open");
    let cut = cards(StopReason::Length).await;
    assert_eq!((cut.len(), &cut[1]["tool_call_id"]), (2, &json!("c2")));
    assert_eq!(cut[1]["content"]["error"]["code"], "cut_off");
}

#[tokio::test]
async fn what_a_run_says_of_the_parameters_is_asked_for() {
    let settings = json!({ "llm_config": { "params": { "temperature": 0, "max_tokens": 7 } } });
    let asked = said("x", &[], StopReason::End, settings).await;
    let params = asked.requests("/calls").remove(0).body["params"].clone();
    assert_eq!(params, json!({ "temperature": 0, "max_tokens": 7 }));
}

#[test]
fn calls_that_have_the_name_of_another_are_renamed() {
    let call = |id: &str| ToolCall { id: id.to_owned(), name: "t".to_owned(), arguments: "{}".to_owned() };
    let made = json!({ "type": "agent.thought", "tool_calls": [{ "id": "call_0", "tool_name": "t", "arguments": {} }] });
    let transcript = Transcript::new(vec![made], "turn_1");
    let mut calls = [call("call_0"), call("call_1"), call("call_1")];
    make_distinct(&mut calls, &transcript, 2);
    assert_eq!(calls.map(|call| call.id), ["call_0_2_0", "call_1", "call_1_2_2"]);
    let mut calls = [call("call_2_1"), call("a\0")];
    make_distinct(&mut calls, &transcript, 2);
    assert_eq!(calls.map(|call| call.id), ["call_2_1", "call_2_1_"]);
    let long = "x".repeat(limits::NAME_CHARS - "approval_".len());
    let longer = format!("{long}x");
    let mut calls = [call(""), call("a\0"), call(&long), call(&long), call(&longer)];
    make_distinct(&mut calls, &transcript, 2);
    assert_eq!(calls.map(|call| call.id), ["_2_0", "call_2_1", &long, "call_2_3", "call_2_4"]);
}

#[test]
fn answers_go_out_in_parts_that_a_request_takes() {
    assert_eq!(fitting(&[]), 0);
    assert_eq!(fitting(&vec![json!(1); limits::TURN_CARDS + 1]), limits::TURN_CARDS);
    let quarter = json!("x".repeat(limits::BODY_BYTES / 4 - 2));
    assert_eq!(fitting(&vec![quarter; 5]), 2);
    assert_eq!(fitting(&[json!("x".repeat(limits::BODY_BYTES)), json!(1)]), 1, "never none");
}

#[test]
fn a_run_says_which_model_and_never_where_it_is() {
    let config = json!({ "provider": "openai", "model": "a", "key": "mine" });
    let other = json!({ "model": "b", "base_url": "https://elsewhere.example", "key": "yours" });
    assert_eq!(merged(&config, &other), json!({ "provider": "openai", "model": "b", "key": "mine" }));
    assert_eq!(merged(&config, &Value::Null), config);
}
