//! Tool calls and their answers in memory: no call can be left open that nobody can answer (F-04).

use super::{World, append, human, message};
use crate::{
    Rejection,
    session::patch::{MessagesOp, Patch},
};
use cardwire_model::{CanonicalJson, Message, Speaker};

fn calling(id: &str, calls: &[&str]) -> Message {
    let calls: Vec<_> = calls.iter().map(|call| serde_json::json!({ "id": call, "name": "f" })).collect();
    let calls = CanonicalJson::from_value(&calls.into()).unwrap();
    Message { tool_calls: Some(calls), ..message(Some(id), Speaker::Ai, "") }
}

fn answer(id: &str, call: &str) -> Message {
    Message { tool_call_id: Some(call.to_owned()), ..message(Some(id), Speaker::Tool, "42") }
}

/// The field of what is refused.
fn refused(world: &mut World, patch: &Patch) -> String {
    let texts = world.state.row.as_ref().map(|_| world.texts());
    let error = world.try_patch(patch).map(|done| done.session.version).unwrap_err();
    assert_eq!(world.state.row.as_ref().map(|_| world.texts()), texts, "nothing is written");
    let Rejection::Invalid(invalid) = error else { panic!("{error:?}") };
    invalid.field_name().to_owned()
}

/// F-04: an id may be used again once its call is answered, as models do that count their calls anew; the second call
/// has an answer of its own.
#[test]
fn an_id_may_be_used_again_once_its_call_is_answered() {
    let mut world = World::new();
    world.patch(&append(vec![human("h1", "one"), calling("a1", &["c1"]), answer("t1", "c1")]));
    world.patch(&append(vec![calling("a2", &["c1"])]));
    world.patch(&append(vec![answer("t2", "c1")]));
    assert_eq!(refused(&mut world, &append(vec![answer("t3", "c1")])), "messages/0/tool_call_id");
    world.patch(&append(vec![human("h2", "two"), calling("a3", &["c1", "c2"]), answer("t4", "c2")]));
    world.patch(&append(vec![answer("t5", "c1")]));
    assert_eq!(world.texts().len(), 9);
}

/// F-04: else nobody could say which of the two calls an answer is of.
#[test]
fn the_id_of_an_open_call_is_refused() {
    let mut world = World::new();
    world.patch(&append(vec![human("h1", "one"), calling("a1", &["c1"])]));
    assert_eq!(
        refused(&mut world, &append(vec![calling("a2", &["c0", "c1"])])),
        "messages/0/tool_calls/1/id"
    );
    let behind_a_person = append(vec![human("h2", "two"), calling("a2", &["c1"])]);
    assert_eq!(refused(&mut world, &behind_a_person), "messages/1/tool_calls/0/id");
    let twice = append(vec![calling("a2", &["c2", "c2"])]);
    assert_eq!(refused(&mut world, &twice), "messages/0/tool_calls/1/id");
    let replaced = vec![calling("a1", &["c1"]), calling("a2", &["c1"])];
    let replaced = Patch { messages: Some(MessagesOp::Replace(replaced)), ..Patch::default() };
    assert_eq!(refused(&mut world, &replaced), "messages/1/tool_calls/0/id");
    world.patch(&append(vec![answer("t1", "c1"), calling("a2", &["c1"]), answer("t2", "c1")]));
    assert_eq!(world.texts().len(), 5);
}

/// ST-03, F-04: a repeat says it once, also of calls.
#[test]
fn the_same_calls_and_answers_again_change_nothing() {
    let mut world = World::new();
    let said = append(vec![calling("a1", &["c1"]), answer("t1", "c1"), calling("a2", &["c1"])]);
    world.patch(&said);
    assert!(!world.patch(&said).changed);
    assert!(!world.patch(&append(vec![calling("a1", &["c1"])])).changed);
    world.patch(&append(vec![answer("t2", "c1")]));
    assert!(!world.patch(&said).changed);
}

/// F-04: a message that takes the place of another one takes no answered call away: its answer would be an answer to nothing.
#[test]
fn a_message_that_is_replaced_keeps_its_answered_calls() {
    let mut world = World::new();
    world.patch(&append(vec![calling("a1", &["c1"]), answer("t1", "c1")]));
    assert_eq!(refused(&mut world, &append(vec![calling("a1", &["c2"])])), "messages/0/tool_calls");
    let other = append(vec![calling("a1", &["c2"]), answer("t1", "c2")]);
    assert!(world.patch(&other).changed, "with another answer it may");
}
