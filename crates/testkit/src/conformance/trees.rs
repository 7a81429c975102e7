//! Trees of turns: what is to be swept, what is still open, what was handed on and what was spent.

use super::{
    branches::turn_of,
    case::{Case, assert_pages, commit, enqueue, update_inbox},
};
use crate::fixtures::{agent_id, at, batch, report_item, text_card, turn_item};
use cardwire_model::{
    AgentId, BoxId, Conflict, Expect, Grant, InboxItem, InboxKind, InboxStatus, ProjectId, Sweep, TurnId,
    Write,
};
use cardwire_store::Store;
use std::{collections::HashSet, sync::Arc};

fn grant(agent: &AgentId, box_id: BoxId, second: i64) -> Write {
    Write::AddGrant(Box::new(Grant { agent_id: agent.clone(), box_id, at: at(second) }))
}

pub(super) const fn spend(root: TurnId, turns: u32, limit: u32) -> Write {
    Write::Spend { root, turns, limit }
}

/// A sweep is there or not, however often that is said; nothing of it is a conflict.
pub async fn a_sweep_is_added_and_ended_any_number_of_times(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let uuid = case.ids.uuid();
    // The same id as a turn and as a batch.
    let turn = Sweep::from_parts("turn", uuid).expect("a scope");
    let of_batch = Sweep::from_parts("batch", uuid).expect("a scope");
    let all = async |case: &Case| case.store.sweeps(None, 9).await.unwrap();
    let there = |sweep: Sweep| (case.project.clone(), sweep);
    assert_eq!(all(&case).await, []);
    case.write([Write::AddSweep(turn)]).await;
    case.write([Write::AddSweep(turn), Write::AddSweep(turn)]).await;
    assert_eq!(all(&case).await, [there(turn)]);
    case.write([Write::EndSweep(of_batch)]).await;
    assert_eq!(all(&case).await, [there(turn)]);
    case.write([Write::AddSweep(of_batch)]).await;
    assert_eq!(all(&case).await, [there(of_batch), there(turn)]);
    case.write([Write::EndSweep(turn)]).await;
    case.write([Write::EndSweep(turn), Write::EndSweep(turn)]).await;
    assert_eq!(all(&case).await, [there(of_batch)]);
    // Within one commit the order decides.
    case.write([Write::EndSweep(of_batch), Write::AddSweep(of_batch)]).await;
    case.write([Write::AddSweep(turn), Write::EndSweep(turn)]).await;
    assert_eq!(all(&case).await, [there(of_batch)]);
    // A commit that is refused neither adds nor ends one.
    let taken = text_card(case.put(&["x"]).await[0], "taken");
    for write in [Write::AddSweep(turn), Write::EndSweep(of_batch)] {
        case.refuse(case.commit([write, super::case::put(taken.clone())]), Conflict::Card).await;
    }
    assert_eq!(all(&case).await.len(), 1);
}

/// Whoever sweeps goes over all projects, by the name of what is swept and its id.
pub async fn sweeps_page_by_project_scope_and_id(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let projects =
        [case.create_project("P-upper").await, case.project.clone(), case.create_project("p2").await];
    let mut expected: Vec<(ProjectId, Sweep)> = vec![];
    for project in &projects {
        for _ in 0..3 {
            let sweeps = [Sweep::Turn(case.ids.turn()), Sweep::Batch(case.ids.batch())];
            case.apply(commit(project, sweeps.map(Write::AddSweep))).await;
            expected.extend(sweeps.map(|sweep| (project.clone(), sweep)));
        }
    }
    let place = |(project, sweep): &(ProjectId, Sweep)| (project.clone(), sweep.scope(), sweep.uuid());
    expected.sort_by_key(place);
    assert_eq!((&expected[0].0, expected[0].1.scope()), (&projects[0], "batch"));
    assert_pages("sweeps", &expected, Clone::clone, async |after, limit| {
        case.store.sweeps(after.as_ref(), limit).await
    })
    .await;
    // A key need not be of a sweep that is there, or there any more.
    for after in [Sweep::Turn(case.ids.turn()), Sweep::Batch(case.ids.batch())] {
        let after = (projects[1].clone(), after);
        let found = case.store.sweeps(Some(&after), 99).await.unwrap();
        let behind: Vec<_> = expected.iter().filter(|one| place(one) > place(&after)).cloned().collect();
        assert_eq!(found, behind);
    }
}

/// To stop what a turn has started, its open turns are found; branches are their batch's affair.
pub async fn open_children_are_open_turns_that_are_no_branches(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (forked, rows) = case.fork(1).await;
    let parent = case.turn("parent").await.turn_id;
    let mut expected = vec![];
    for status in InboxStatus::ALL.iter().chain(InboxStatus::ALL) {
        let box_id = case.ids.card_box();
        let parent_turn = Some(parent);
        let child = InboxItem { status: *status, parent_turn, ..turn_item(&mut case.ids, "a", box_id) };
        case.write([enqueue(&child)]).await;
        if status.is_open() {
            expected.push(child.turn_id);
        }
    }
    expected.sort();
    // Not children, though near: a branch, a turn of another parent, a grandchild, a report for a closed child.
    let mut of_branch = turn_of(&mut case, &rows[0], InboxStatus::Pending);
    of_branch.parent_turn = Some(parent);
    let box_id = case.ids.card_box();
    let mut near = [(); 4].map(|()| turn_item(&mut case.ids, "b", box_id));
    near[0].parent_turn = Some(case.ids.turn());
    near[1].parent_turn = Some(expected[0]);
    (near[2].parent_turn, near[2].status) = (Some(parent), InboxStatus::Consumed);
    let mut report = report_item(&mut case.ids, &near[2], InboxKind::ToolResult, "call_1");
    report.status = InboxStatus::Pending;
    case.write([&of_branch, &near[0], &near[1], &near[2], &near[3], &report].map(enqueue)).await;

    let children =
        async |case: &Case, of| case.store.open_children(&case.project, of, None, 99).await.unwrap();
    assert_pages(
        "open children",
        &expected,
        |turn| *turn,
        async |after, limit| case.store.open_children(&case.project, parent, after, limit).await,
    )
    .await;
    assert_eq!(children(&case, expected[0]).await, [near[1].turn_id]);
    let absent = case.ids.turn();
    assert_eq!(children(&case, absent).await, []);
    // A key need not be of a turn that is there; and a child that ends is open no more.
    let found = case.store.open_children(&case.project, parent, Some(absent), 99).await.unwrap();
    assert_eq!(found, expected.iter().copied().filter(|turn| *turn > absent).collect::<Vec<_>>());
    let child = case.store.turn(&case.project, expected[0]).await.unwrap().unwrap();
    let done = InboxItem { status: InboxStatus::Skipped, ..child.clone() };
    case.write([update_inbox(child.status, &done)]).await;
    assert_eq!(children(&case, parent).await, expected[1..]);
    assert_eq!(case.branches(&forked).await, rows);
}

/// a box is handed to one agent, once or more often.
pub async fn a_grant_is_of_one_agent_and_may_be_given_again(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let boxes: Vec<_> = (0..4).map(|_| case.ids.card_box()).collect();
    let (agent, other) = (agent_id("a"), agent_id("A"));
    let granted = async |case: &Case, agent: &AgentId, boxes: &[BoxId]| {
        case.store.granted(&case.project, agent, boxes).await.unwrap()
    };
    assert_eq!(granted(&case, &agent, &boxes).await, HashSet::new());
    case.write([grant(&agent, boxes[0], 1), grant(&agent, boxes[1], 1)]).await;
    case.write([grant(&agent, boxes[1], 2), grant(&agent, boxes[1], 3), grant(&other, boxes[2], 3)]).await;
    assert_eq!(granted(&case, &agent, &boxes).await, HashSet::from([boxes[0], boxes[1]]));
    assert_eq!(granted(&case, &other, &boxes).await, HashSet::from([boxes[2]]));
    let mut listed = boxes[..2].to_vec();
    listed.sort();
    let page = async |after: Option<BoxId>, limit: usize| {
        case.store.grants(&case.project, &agent, after, limit).await.unwrap()
    };
    assert_eq!(page(None, 10).await, listed);
    assert_eq!(page(None, 1).await, listed[..1]);
    assert_eq!(page(Some(listed[0]), 10).await, listed[1..]);
    assert_eq!(page(Some(listed[1]), 10).await, []);
    assert_eq!(granted(&case, &agent_id("b"), &boxes).await, HashSet::new());
    // Only what is asked for, and asked twice is fine.
    assert_eq!(granted(&case, &agent, &[boxes[1], boxes[3], boxes[1]]).await, HashSet::from([boxes[1]]));
    assert_eq!(granted(&case, &agent, &[]).await, HashSet::new());
    let taken = text_card(case.put(&["x"]).await[0], "taken");
    let refused = case.commit([grant(&agent, boxes[3], 4), super::case::put(taken)]);
    case.refuse(refused, Conflict::Card).await;
    assert_eq!(granted(&case, &agent, &boxes[3..]).await, HashSet::new());
    // As many as one may ask for at once.
    let many: Vec<_> = (0..1_000).map(|_| case.ids.card_box()).collect();
    case.write(many.iter().step_by(2).map(|box_id| grant(&agent, *box_id, 5))).await;
    let expected: HashSet<_> = many.iter().step_by(2).copied().collect();
    assert_eq!(granted(&case, &agent, &many).await, expected);
}

/// SEC-07: a tree grows up to its limit and not a turn further.
pub async fn a_tree_is_spent_up_to_its_limit(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (root, other) = (case.ids.turn(), case.ids.turn());
    let spent = async |case: &Case, root| case.store.spent(&case.project, root).await.unwrap();
    assert_eq!(spent(&case, root).await, 0);
    let fresh = batch(&mut case.ids, 1);
    let create = || super::batches::create(&fresh);
    case.refuse(case.commit([create(), spend(root, 11, 10)]), Conflict::Tree).await;
    assert_eq!(spent(&case, root).await, 0);
    case.write([spend(root, 7, 10)]).await;
    case.refuse(case.commit([create(), spend(root, 4, 10)]), Conflict::Tree).await;
    assert_eq!(spent(&case, root).await, 7);
    case.write([spend(root, 3, 10)]).await;
    case.refuse(case.commit([create(), spend(root, 1, 10)]), Conflict::Tree).await;
    assert_eq!(spent(&case, root).await, 10);
    // The limit is the one that the commit names, and another root has its own tree.
    case.write([spend(root, 1, 11), spend(other, 2, 10)]).await;
    assert_eq!((spent(&case, root).await, spent(&case, other).await), (11, 2));
    case.refuse(case.commit([create(), spend(root, 1, 5)]), Conflict::Tree).await;
    // Writes of one commit add up.
    case.refuse(case.commit([spend(other, 4, 10), spend(other, 5, 10)]), Conflict::Tree).await;
    assert_eq!(spent(&case, other).await, 2);
    case.write([spend(other, 4, 10), spend(other, 4, 10)]).await;
    assert_eq!(spent(&case, other).await, 10);
    // What is refused later is not spent.
    let taken = text_card(case.put(&["x"]).await[0], "taken");
    let refused = case.commit([spend(root, 1, 100), super::case::put(taken)]);
    case.refuse(refused, Conflict::Card).await;
    assert_eq!(spent(&case, root).await, 11);
}

/// PR-10: what is open of a trace is found, whatever else there is.
pub async fn open_turns_of_a_trace_are_found(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let mut expected = vec![];
    for (number, status) in InboxStatus::ALL.iter().cycle().take(28).enumerate() {
        let box_id = case.ids.card_box();
        let item = turn_item(&mut case.ids, &format!("agent-{}", number % 3), box_id);
        let trace_id = Some(format!("trace-{}", number % 2));
        let item = InboxItem { status: *status, trace_id: trace_id.clone(), ..item };
        let mut report = report_item(&mut case.ids, &item, InboxKind::ToolResult, "call_1");
        (report.status, report.trace_id) = (InboxStatus::Pending, trace_id);
        case.write([enqueue(&item), enqueue(&report)]).await;
        if status.is_open() && number % 2 == 1 {
            expected.push(item.id);
        }
    }
    expected.sort();
    for limit in [0, 1, 3, expected.len(), expected.len() + 1] {
        let found = case.store.open_turns_in_trace(&case.project, "trace-1", limit).await.unwrap();
        let ids: Vec<_> = found.iter().map(|item| item.id).collect();
        assert_eq!(ids, expected[..limit.min(expected.len())]);
    }
    assert_eq!(case.store.open_turns_in_trace(&case.project, "trace", 9).await.unwrap(), []);
    let other = case.create_project("other").await;
    assert_eq!(case.store.open_turns_in_trace(&other, "trace-1", 9).await.unwrap(), []);
}

/// SEC-07: whether a project has room is known without counting all its turns.
pub async fn open_turns_are_counted_up_to_a_limit(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let count = async |case: &Case, limit| case.store.open_turns(&case.project, limit).await.unwrap();
    assert_eq!(count(&case, 9).await, 0);
    let mut open = 0;
    for (number, status) in InboxStatus::ALL.iter().cycle().take(14).enumerate() {
        let box_id = case.ids.card_box();
        let item = turn_item(&mut case.ids, &format!("agent-{}", number % 3), box_id);
        let item = InboxItem { status: *status, ..item };
        let mut report = report_item(&mut case.ids, &item, InboxKind::ALL[1 + number % 3], "call_1");
        report.status = InboxStatus::Pending;
        case.write([enqueue(&item), enqueue(&report)]).await;
        open += u32::from(status.is_open());
    }
    // Branches are turns as well.
    let (_, rows) = case.fork(2).await;
    for row in &rows {
        let item = turn_of(&mut case, row, InboxStatus::Queued);
        case.write([enqueue(&item)]).await;
        open += 1;
    }
    for limit in 0..open + 3 {
        assert_eq!(count(&case, limit).await, limit.min(open));
    }
    assert_eq!(count(&case, u32::MAX).await, open);
}

/// SEC-07: open turns of a project are counted by whoever expects that there are no more, queued ones too, and no others.
pub async fn open_turns_are_counted_up_to_what_is_expected(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let elsewhere = case.create_project("p2").await;
    let output = case.ids.card_box();
    let relying = |case: &Case, at_most| {
        let mut commit = case.commit([]);
        commit.expect.push(Expect::OpenTurns { at_most });
        commit
    };
    case.apply(relying(&case, 0)).await;
    let foreign = turn_item(&mut case.ids, "a", output);
    case.apply(commit(&elsewhere, [enqueue(&foreign)])).await;
    let turn = turn_item(&mut case.ids, "a", output);
    let report = report_item(&mut case.ids, &turn, InboxKind::ToolResult, "call_1");
    case.write([enqueue(&turn), enqueue(&report)]).await;
    for status in InboxStatus::ALL {
        let now = case.store.turn(&case.project, turn.turn_id).await.unwrap().unwrap();
        case.write([update_inbox(now.status, &InboxItem { status: *status, ..now.clone() })]).await;
        case.apply(relying(&case, 1)).await;
        match status.is_open() {
            true => case.refuse(relying(&case, 0), Conflict::OpenTurns).await,
            false => case.apply(relying(&case, 0)).await,
        }
    }
    let now = case.store.turn(&case.project, turn.turn_id).await.unwrap().unwrap();
    case.write([update_inbox(now.status, &InboxItem { status: InboxStatus::Consumed, ..now.clone() })]).await;
    let open = [InboxStatus::Queued, InboxStatus::Pending, InboxStatus::Processing, InboxStatus::Deferred];
    let turns = open.map(|status| InboxItem { status, ..turn_item(&mut case.ids, "b", output) });
    // What the commit itself opens is not counted.
    let mut opening = case.commit(turns.iter().map(enqueue));
    opening.expect.push(Expect::OpenTurns { at_most: 0 });
    case.apply(opening).await;
    case.apply(relying(&case, 4)).await;
    case.refuse(relying(&case, 3), Conflict::OpenTurns).await;
}
