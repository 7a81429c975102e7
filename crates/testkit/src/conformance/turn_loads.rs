//! What a decision about a turn or an agent is given, exactly (WD-08).

use super::case::{Case, create_head, enqueue, update_inbox};
use crate::fixtures::{
    agent_id, agent_row, answered, at, edge, ended, idle_head, live_head, profile, report_item, step,
    step_id, tool_call, turn_item,
};
use cardwire_model::{
    EdgePhase, Head, InboxItem, InboxKind, InboxStatus, Keys, LiveState, Lost, Primitive, Profile, Snapshot,
    TaskStatus, TurnEpoch, TurnRows, Write, limits::POISON_ROWS,
};
use cardwire_store::Store;
use std::{collections::HashMap, sync::Arc};

/// Nothing is known of the agent.
const NOTHING: Lost =
    Lost { copy: None, highest: TurnEpoch::ZERO, open: None, last_output_box: None, queued: 0 };

fn of_turn(turn: &InboxItem) -> Keys {
    Keys { turn: Some(turn.turn_id), ..Keys::default() }
}

fn of_agent(agent: &str) -> Keys {
    Keys { agent: Some(agent_id(agent)), ..Keys::default() }
}

/// DP-13: a turn comes with its row, its agent's head and its output box.
pub async fn a_turn_is_loaded_with_its_head_and_output_box(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let turn = case.turn("a").await;
    let head = live_head(&mut case.ids, agent_id("a"), LiveState::Running);
    // An agent of the roster is loaded when it is asked for, not with its turn.
    let row = Write::PutAgent { was: None, agent: Box::new(agent_row(&mut case.ids, "a")) };
    case.write([create_head(&head), create_head(&idle_head(agent_id("b"))), row]).await;
    let output = turn.output_box.unwrap();
    let expected = Snapshot {
        head: Some(head.clone()),
        turn: Some(TurnRows::alone(turn.clone())),
        boxes: HashMap::from([(output, case.head(output).await)]),
        ..Snapshot::default()
    };
    assert_eq!(case.load(of_turn(&turn)).await, expected);

    // A box that is not there, or not named, is not loaded; a turn that is not there brings nothing.
    let box_id = case.ids.card_box();
    let gone = turn_item(&mut case.ids, "a", box_id);
    let none = InboxItem { output_box: None, ..turn_item(&mut case.ids, "a", box_id) };
    for turn in case.enqueue([gone, none]).await {
        let rows = TurnRows::alone(turn.clone());
        let expected = Snapshot { head: Some(head.clone()), turn: Some(rows), ..Snapshot::default() };
        assert_eq!(case.load(of_turn(&turn)).await, expected);
    }
    let absent = Keys { turn: Some(case.ids.turn()), ..Keys::default() };
    assert_eq!(case.load(absent).await, Snapshot::default());
    // Neither is a report a turn.
    let unknown = turn_item(&mut case.ids, "a", box_id);
    let report = report_item(&mut case.ids, &unknown, InboxKind::ToolResult, "x");
    case.enqueue([report]).await;
    assert_eq!(case.load(of_turn(&unknown)).await, Snapshot::default());
}

/// WK-08: of the calls come those without an answer and those that end the turn, by id.
pub async fn a_turn_is_loaded_with_the_calls_that_matter(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (turn, other) = (case.turn("a").await, case.turn("a").await);
    let mut calls = ["B", "_", "a", "a1", "b", "c"].map(|id| tool_call(&turn, id));
    calls[1].waiting = true;
    for (number, terminate) in [(0, true), (2, false), (4, true), (5, false)] {
        calls[number] = answered(&calls[number], case.ids.card(), terminate);
    }
    let open = |call: &_| Write::OpenCall(Box::new(cardwire_model::ToolCall::clone(call)));
    case.write(calls.iter().rev().map(open)).await;
    case.write([open(&tool_call(&other, "z"))]).await;
    let found = case.load(of_turn(&turn)).await.turn.unwrap();
    let [b, underscore, _, a1, lower_b, _] = calls;
    assert_eq!(found.calls, [b, underscore, a1, lower_b]);
}

/// DP-15: a turn comes with what was reported to it and is still open, in order.
pub async fn a_turn_is_loaded_with_its_open_reports(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (turn, other) = (case.turn("a").await, case.turn("a").await);
    let mut expected = vec![];
    for kind in [InboxKind::ToolResult, InboxKind::Timeout, InboxKind::Stop] {
        for status in InboxStatus::ALL {
            let report = report_item(&mut case.ids, &turn, kind, "call_1");
            let of_other = report_item(&mut case.ids, &other, kind, "call_1");
            let [row, _] = case.enqueue([InboxItem { status: *status, ..report }, of_other]).await;
            expected.extend(status.is_open().then_some(row));
        }
    }
    let whole = case.load(of_turn(&turn)).await;
    assert_eq!(whole.turn.as_ref().unwrap().reports, expected);
    // Asked for alone, it is the same without these.
    let rows = TurnRows::alone(turn.clone());
    let alone = Keys { turn_alone: true, ..of_turn(&turn) };
    assert_eq!(case.load(alone).await, Snapshot { turn: Some(rows), ..whole });
}

/// DP-14, DP-15: the turns that wait come oldest first, and not more than can be looked at.
pub async fn a_turn_is_loaded_with_the_first_turns_that_wait(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let turn = case.turn("a").await;
    let mut waiting = vec![];
    for _ in 0..POISON_ROWS + 3 {
        let found = case.load(of_turn(&turn)).await.turn.unwrap();
        assert_eq!(found.next, waiting[..waiting.len().min(POISON_ROWS + 1)]);
        let box_id = case.ids.card_box();
        let queued = InboxItem { status: InboxStatus::Queued, ..turn_item(&mut case.ids, "a", box_id) };
        let of_other = InboxItem { status: InboxStatus::Queued, ..turn_item(&mut case.ids, "b", box_id) };
        let mut report = report_item(&mut case.ids, &turn, InboxKind::ToolResult, "x");
        report.status = InboxStatus::Queued;
        let pending = turn_item(&mut case.ids, "a", box_id);
        let [row, ..] = case.enqueue([queued, of_other, report, pending]).await;
        waiting.push(row);
    }
    // A row that ceases to wait makes room.
    let gone = InboxItem { status: InboxStatus::Error, ..waiting.remove(0) };
    case.write([update_inbox(InboxStatus::Queued, &gone)]).await;
    assert_eq!(case.load(of_turn(&turn)).await.turn.unwrap().next, waiting[..=POISON_ROWS]);
    // A turn that waits itself is among them.
    let found = case.load(of_turn(&waiting[0])).await.turn.unwrap();
    assert_eq!((found.item, found.next), (waiting[0].clone(), waiting[..=POISON_ROWS].to_vec()));
}

/// PM-02, DP-13: an agent comes with its row of the roster and its head, each if it is there.
pub async fn an_agent_is_loaded_with_its_row_and_its_head(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let row = agent_row(&mut case.ids, "a");
    let head = live_head(&mut case.ids, agent_id("a"), LiveState::Dispatched);
    let put = Write::PutAgent { was: None, agent: Box::new(row.clone()) };
    case.write([put, create_head(&head), create_head(&idle_head(agent_id("b")))]).await;
    let (agent, none) = (Some(row), Snapshot::default());
    assert_eq!(case.load(of_agent("a")).await, Snapshot { agent, head: Some(head), ..none.clone() });
    let head = Some(idle_head(agent_id("b")));
    assert_eq!(case.load(of_agent("b")).await, Snapshot { head, ..none.clone() });
    // Of an agent that never was, it is known that nothing is left.
    assert_eq!(case.load(of_agent("A")).await, Snapshot { lost: Some(NOTHING), ..none });
}

/// WD-08: of an agent without a head, everything is told that inbox and steps still know.
pub async fn what_is_left_of_a_head_is_loaded(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let boxes = [(); 3].map(|()| case.ids.card_box());
    let turn =
        |case: &mut Case, status, box_id| InboxItem { status, ..turn_item(&mut case.ids, "a", box_id) };
    let lost = async |case: &Case| case.load(of_agent("a")).await.lost.expect("no head");

    let done = turn(&mut case, InboxStatus::Consumed, boxes[0]);
    let end = Some(ended(&mut case.ids, TaskStatus::Success));
    let [done] = case.enqueue([InboxItem { ended: end, epoch: Some(TurnEpoch::new(3)), ..done }]).await;
    let expected = Lost { highest: TurnEpoch::new(3), last_output_box: Some(boxes[0]), ..NOTHING };
    assert_eq!(lost(&case).await, expected);

    // The newest ended turn counts; one that was put away without an end does not.
    let canceled = turn(&mut case, InboxStatus::Skipped, boxes[1]);
    let end = Some(ended(&mut case.ids, TaskStatus::Canceled));
    let skipped = turn(&mut case, InboxStatus::Skipped, boxes[2]);
    case.enqueue([InboxItem { ended: end, ..canceled }, skipped]).await;
    let expected = Lost { last_output_box: Some(boxes[1]), ..expected };
    assert_eq!(lost(&case).await, expected);

    // The newest turn that is open and does not wait was the live one.
    let older = turn(&mut case, InboxStatus::Processing, boxes[2]);
    let newer = turn(&mut case, InboxStatus::Deferred, boxes[2]);
    let waiting = turn(&mut case, InboxStatus::Queued, boxes[2]);
    let waiting_too = turn(&mut case, InboxStatus::Queued, boxes[2]);
    let report = report_item(&mut case.ids, &done, InboxKind::ToolResult, "x");
    let [older, newer, _, _, _] = case.enqueue([older, newer, waiting, waiting_too, report]).await;
    let expected = Lost { open: Some(newer.clone()), queued: 2, ..expected };
    assert_eq!(lost(&case).await, expected);
    let closed = InboxItem { status: InboxStatus::Error, ..newer };
    case.write([update_inbox(InboxStatus::Deferred, &closed)]).await;
    let expected = Lost { open: Some(older.clone()), ..expected };
    assert_eq!(lost(&case).await, expected);
    let pending = InboxItem { status: InboxStatus::Pending, ..older };
    case.write([update_inbox(InboxStatus::Processing, &pending)]).await;
    let expected = Lost { open: Some(pending), ..expected };
    assert_eq!(lost(&case).await, expected);

    // Reports and steps may know a higher epoch; those of other agents do not count.
    let mut stop = report_item(&mut case.ids, &done, InboxKind::Stop, "x");
    stop.epoch = Some(TurnEpoch::new(7));
    let mut of_other = turn_item(&mut case.ids, "b", boxes[0]);
    of_other.epoch = Some(TurnEpoch::new(99));
    let [_, of_other] = case.enqueue([stop, of_other]).await;
    assert_eq!(lost(&case).await, Lost { highest: TurnEpoch::new(7), ..expected.clone() });
    let mut own = step("step_1", &done);
    own.epoch = TurnEpoch::new(8);
    let mut foreign = step("step_2", &of_other);
    foreign.epoch = TurnEpoch::new(100);
    case.write([own, foreign].map(|step| Write::CreateStep(Box::new(step)))).await;
    let expected = Lost { highest: TurnEpoch::new(8), ..expected };
    assert_eq!(lost(&case).await, expected);

    // The same through a turn; and no more once there is a head.
    assert_eq!(case.load(of_turn(&done)).await.lost, Some(expected));
    case.write([create_head(&idle_head(agent_id("a")))]).await;
    assert_eq!(case.load(of_turn(&done)).await.lost, None);
    assert_eq!(case.load(of_agent("a")).await.lost, None);
}

/// DP-13: when a turn and an agent are asked for, the head is the one of the turn's agent if the turn is there.
pub async fn of_a_turn_and_an_agent_the_turn_names_the_head(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let turn = case.turn("a").await;
    let head = |name: &str, updated_at| Head { updated_at, ..idle_head(agent_id(name)) };
    let [of_a, of_b] = [head("a", at(1)), head("b", at(2))];
    let row = agent_row(&mut case.ids, "b");
    let put = Write::PutAgent { was: None, agent: Box::new(row.clone()) };
    case.write([put, create_head(&of_b)]).await;
    let both = Keys { turn: Some(turn.turn_id), ..of_agent("b") };
    // The head that is missing is the one of the turn's agent.
    let found = case.load(both.clone()).await;
    assert_eq!((found.agent, found.head), (Some(row.clone()), None));
    assert_eq!(found.lost.map(|lost| lost.open), Some(Some(turn)));
    case.write([create_head(&of_a)]).await;
    let found = case.load(both).await;
    assert_eq!((found.agent, found.head, found.lost), (Some(row.clone()), Some(of_a), None));

    let without_turn = Keys { turn: Some(case.ids.turn()), ..of_agent("b") };
    let expected = Snapshot { agent: Some(row), head: Some(of_b), ..Snapshot::default() };
    assert_eq!(case.load(without_turn).await, expected);
    let nothing = Keys { turn: Some(case.ids.turn()), ..of_agent("c") };
    let expected = Snapshot { lost: Some(NOTHING), ..Snapshot::default() };
    assert_eq!(case.load(nothing).await, expected);
}

/// The contract of `Store::load` for the rows around a turn: what is there of what was named, and nothing else.
pub async fn rows_around_a_turn_are_loaded_by_their_keys(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let box_id = case.ids.card_box();
    let turn = InboxItem { depth: Some(7), ..turn_item(&mut case.ids, "a", box_id) };
    let report = report_item(&mut case.ids, &turn, InboxKind::Stop, "x");
    let [turn, report] = case.enqueue([turn, report]).await;
    let known = edge(&mut case.ids, Primitive::Join, EdgePhase::Response, "corr");
    let first = step("step_1", &turn);
    let deleted = Profile { deleted_at: Some(at(3)), ..profile(&mut case.ids, "gone") };
    case.write([
        Write::AddEdge(Box::new(known.clone())),
        Write::CreateStep(Box::new(first.clone())),
        Write::PutProfile { was: None, profile: Box::new(deleted.clone()) },
    ])
    .await;
    let keys = Keys {
        depth_of: Some(turn.turn_id),
        inbox: Some(report.id),
        edge: Some((Primitive::Join, EdgePhase::Response, "corr".to_owned())),
        step: Some(first.id.clone()),
        writers_of: vec![turn.output_box.unwrap()],
        profile: Some(deleted.name.clone()),
        ..Keys::default()
    };
    let expected = Snapshot {
        depth: Some(7),
        inbox: Some(report),
        edge: Some(known),
        step: Some(first),
        writers: [(turn.output_box.unwrap(), agent_id("a"))].into(),
        profile: Some(deleted),
        ..Snapshot::default()
    };
    assert_eq!(case.load(keys).await, expected);

    // Nothing for what is not there; a damaged row has no depth; a report is not the turn.
    let shallow = InboxItem { depth: None, ..turn_item(&mut case.ids, "a", box_id) };
    case.write([enqueue(&shallow)]).await;
    let unknown = Keys {
        depth_of: Some(shallow.turn_id),
        inbox: Some(case.ids.inbox()),
        edge: Some((Primitive::Join, EdgePhase::Request, "corr".to_owned())),
        step: Some(step_id("step_2")),
        writers_of: vec![case.ids.card_box()],
        profile: Some(crate::fixtures::profile_name("absent")),
        ..Keys::default()
    };
    assert_eq!(case.load(unknown).await, Snapshot::default());
}
