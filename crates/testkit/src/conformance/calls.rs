//! Tool calls: made once per turn, answered once (NF-05, WK-08).

use super::case::{Case, commit};
use crate::fixtures::{agent_id, answered, at, tool_call};
use cardwire_model::{Conflict, ToolAnswer, ToolCall, Write, card::ToolStatus};
use cardwire_store::Store;
use std::sync::Arc;

fn open(call: &ToolCall) -> Write {
    Write::OpenCall(Box::new(call.clone()))
}

fn update(call: &ToolCall) -> Write {
    Write::UpdateCall(Box::new(call.clone()))
}

/// WK-08: calls are what they were written as, by id in the order of its bytes.
pub async fn tool_calls_come_back_by_id_with_every_field(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (turn, other) = (case.turn("a").await, case.turn("b").await);
    let mut calls = vec![];
    for id in ["", "Z", "call-1", "call_1", "call_10", "call_2", "zz", "é", "电话 '\"\\", "😀"] {
        let call_card = Some(case.ids.card());
        calls.push(ToolCall { call_card, waiting: true, created_at: at(-3), ..tool_call(&turn, id) });
    }
    calls[3] = tool_call(&turn, "call_1");
    for (number, status) in ToolStatus::ALL.into_iter().enumerate() {
        let (terminate, card) = (number % 2 == 0, case.ids.card());
        calls[number].answer = Some(ToolAnswer { status, terminate, card, at: at(number as i64) });
    }
    case.write(calls.iter().rev().map(open)).await;
    case.write([open(&tool_call(&other, "call_1"))]).await;
    assert_eq!(case.store.calls(&case.project, turn.turn_id).await.unwrap(), calls);
    let absent = case.ids.turn();
    assert_eq!(case.store.calls(&case.project, absent).await.unwrap(), []);
}

/// WK-08: an id is taken within its turn.
pub async fn a_tool_call_is_opened_once_per_turn(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let project = case.create_project("p2").await;
    let (turn, other) = (case.turn("a").await, case.turn("b").await);
    let call = tool_call(&turn, "call_1");
    case.write([open(&call)]).await;
    case.refuse_write(open(&call), Conflict::Call).await;
    case.refuse_write(open(&ToolCall { agent_id: agent_id("z"), ..call.clone() }), Conflict::Call).await;
    case.write([open(&tool_call(&turn, "Call_1")), open(&tool_call(&other, "call_1"))]).await;
    case.apply(commit(&project, [open(&call)])).await;
}

/// NF-05: the first answer stands; until then a call changes freely.
pub async fn a_tool_call_is_answered_once(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let project = case.create_project("p2").await;
    let turn = case.turn("a").await;
    let call = ToolCall { created_at: at(1), ..tool_call(&turn, "call_1") };
    case.refuse_write(update(&call), Conflict::Call).await;
    case.write([open(&call)]).await;
    let waiting = ToolCall { waiting: true, call_card: Some(case.ids.card()), ..call.clone() };
    case.write([update(&waiting)]).await;
    assert_eq!(case.store.calls(&case.project, turn.turn_id).await.unwrap(), std::slice::from_ref(&waiting));

    let answer = answered(&waiting, case.ids.card(), true);
    case.refuse(commit(&project, [update(&answer)]), Conflict::Call).await;
    let absent = tool_call(&turn, "call_2");
    case.refuse_write(update(&absent), Conflict::Call).await;
    // Whose call it is and its birth are left alone.
    let written = ToolCall { agent_id: agent_id("z"), created_at: at(9), waiting: false, ..answer.clone() };
    case.write([update(&written)]).await;
    let expected = ToolCall { waiting: false, ..answer };
    assert_eq!(case.store.calls(&case.project, turn.turn_id).await.unwrap(), std::slice::from_ref(&expected));
    // Neither another answer nor none.
    let again = answered(&waiting, case.ids.card(), false);
    case.refuse_write(update(&again), Conflict::Call).await;
    case.refuse_write(update(&expected), Conflict::Call).await;
    case.refuse_write(update(&waiting), Conflict::Call).await;
    let call = tool_call(&turn, "call_3");
    let twice = [open(&call), update(&answered(&call, case.ids.card(), true)), update(&call)];
    case.refuse(case.commit(twice), Conflict::Call).await;
}
