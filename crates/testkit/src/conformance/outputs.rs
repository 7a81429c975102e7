//! Who writes a box: at most one agent's open turns (CB-14).

use super::case::{Case, append, commit, enqueue, open, update_inbox};
use crate::fixtures::{agent_id, report_item, turn_item};
use cardwire_model::{
    BoxId, Commit, Conflict, Expect, Generation, InboxItem, InboxKind, InboxStatus, Keys, Write,
};
use cardwire_store::Store;
use std::{collections::HashSet, sync::Arc};

/// A commit that does nothing but rely on the box being free for the agent.
fn relying(case: &Case, box_id: BoxId, agent: &str) -> Commit {
    relying_on(case, box_id, Some(agent))
}

/// The same, for the agent's turns or for nobody's.
fn relying_on(case: &Case, box_id: BoxId, agent: Option<&str>) -> Commit {
    let mut commit = case.commit([]);
    commit.expect.push(Expect::OutputFree { box_id, agent_id: agent.map(agent_id) });
    commit
}

/// CB-14: a box is free unless an open turn of another agent writes it.
pub async fn an_output_box_is_taken_by_open_turns_of_others(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let box_id = case.create_box(&[]).await;
    case.apply(relying(&case, box_id, "a")).await;
    let mut own = turn_item(&mut case.ids, "b", box_id);
    own.status = InboxStatus::Queued;
    case.write([enqueue(&own)]).await;
    for status in InboxStatus::ALL {
        let now = case.store.turn(&case.project, own.turn_id).await.unwrap().unwrap();
        case.write([update_inbox(now.status, &InboxItem { status: *status, ..now.clone() })]).await;
        case.apply(relying(&case, box_id, "b")).await;
        if status.is_open() {
            case.refuse(relying_on(&case, box_id, None), Conflict::Box).await;
            case.refuse(relying(&case, box_id, "a"), Conflict::Box).await;
            case.refuse(relying(&case, box_id, "B"), Conflict::Box).await;
        } else {
            case.apply(relying_on(&case, box_id, None)).await;
            case.apply(relying(&case, box_id, "a")).await;
        }
    }
    // Of one's own turn and somebody else's, the latter counts.
    let other = turn_item(&mut case.ids, "a", box_id);
    case.write([enqueue(&other)]).await;
    case.refuse(relying(&case, box_id, "a"), Conflict::Box).await;
    case.refuse(relying(&case, box_id, "b"), Conflict::Box).await;
}

/// what was sealed in between is nobody's to write.
pub async fn a_sealed_box_is_no_output_box(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let box_id = case.create_box(&[]).await;
    case.write([Write::SealBox { box_id }]).await;
    case.refuse(relying(&case, box_id, "a"), Conflict::Box).await;
    case.refuse(relying_on(&case, box_id, None), Conflict::Box).await;
}

/// CB-14: only turns write, only the box they name, and only in their project; and the box is there.
pub async fn only_turns_take_their_own_output_box(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let project = case.create_project("p2").await;
    let (box_id, another) = (case.create_box(&[]).await, case.create_box(&[]).await);
    let turn = turn_item(&mut case.ids, "b", another);
    let mut report = report_item(&mut case.ids, &turn, InboxKind::ToolResult, "call_1");
    report.output_box = Some(box_id);
    let nowhere = InboxItem { output_box: None, ..turn_item(&mut case.ids, "b", another) };
    case.write([&turn, &report, &nowhere].map(enqueue)).await;
    let foreign = turn_item(&mut case.ids, "b", box_id);
    case.apply(commit(&project, [enqueue(&foreign)])).await;
    case.apply(relying(&case, box_id, "a")).await;
    case.refuse(relying(&case, another, "a"), Conflict::Box).await;

    let absent = case.ids.card_box();
    case.refuse(relying(&case, absent, "a"), Conflict::Box).await;
    // A box of another project is not there, even for the agent whose turn writes it.
    let mut elsewhere = commit(&project, []);
    elsewhere.expect.push(Expect::OutputFree { box_id, agent_id: Some(agent_id("b")) });
    case.refuse(elsewhere, Conflict::Box).await;
}

/// The contract of `Store::commit`: a turn of the same commit does not count, for it comes after.
pub async fn an_output_box_is_expected_free_before_any_write(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let box_id = case.create_box(&[]).await;
    let mut commit = relying(&case, box_id, "a");
    commit.writes.push(enqueue(&turn_item(&mut case.ids, "b", box_id)));
    case.apply(commit.clone()).await;
    commit.writes = vec![enqueue(&turn_item(&mut case.ids, "a", box_id))];
    case.refuse(commit, Conflict::Box).await;
}

/// cards for a box that a turn has come to write are refused with it, and those for a free one are taken.
pub async fn cards_for_a_box_that_a_turn_writes_are_refused(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.put(&["x", "y"]).await;
    let box_id = case.create_box(&[]).await;
    let adding = |case: &Case, card| {
        let mut commit = relying_on(case, box_id, None);
        commit.expect.push(open(box_id, 0, 9));
        commit.writes.push(append(box_id, Generation::FIRST, &[card]));
        commit
    };
    case.apply(adding(&case, cards[0])).await;
    let turn = turn_item(&mut case.ids, "b", box_id);
    case.write([enqueue(&turn)]).await;
    case.refuse(adding(&case, cards[1]), Conflict::Box).await;
    assert_eq!(case.head(box_id).await.len, 1);
}

/// CB-14: a decision sees whose open turns write its boxes.
pub async fn writers_are_loaded_by_box(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let project = case.create_project("p2").await;
    let boxes = [(); 4].map(|()| case.ids.card_box());
    let mut expected = HashSet::new();
    for (number, status) in InboxStatus::ALL.iter().enumerate() {
        for (agent, box_id) in [("a", boxes[0]), ("b", boxes[1]), ("c", boxes[number % 2])] {
            let agent = format!("{agent}-{}", number / 2);
            let row = InboxItem { status: *status, ..turn_item(&mut case.ids, &agent, box_id) };
            case.write([enqueue(&row)]).await;
            if status.is_open() {
                expected.insert((box_id, row.agent_id));
            }
        }
    }
    let unasked = turn_item(&mut case.ids, "d", boxes[3]);
    let mut report = report_item(&mut case.ids, &unasked, InboxKind::Stop, "x");
    report.output_box = Some(boxes[0]);
    case.write([enqueue(&unasked), enqueue(&report)]).await;
    let foreign = turn_item(&mut case.ids, "e", boxes[0]);
    case.apply(commit(&project, [enqueue(&foreign)])).await;
    let keys = Keys { writers_of: boxes[..3].to_vec(), ..Keys::default() };
    let found = case.load(keys).await;
    assert_eq!(found.writers, expected);
    assert!(found.boxes.is_empty(), "boxes are loaded only when asked for");
    assert!(case.load(Keys::default()).await.writers.is_empty());
}
