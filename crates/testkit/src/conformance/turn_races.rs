//! Many writers at once on heads, inboxes, tool calls and boxes: exactly one wins, or all go together.

use super::{
    case::{Case, create_head, enqueue, update_inbox},
    races::{RACERS, one_wins, race},
};
use crate::fixtures::{
    agent_id, answered, at, full_edge, idle_head, live_head, profile, tool_call, turn_item,
};
use cardwire_model::{
    Commit, Conflict, EdgePhase, Expect, Head, InboxItem, InboxStatus, LiveState, Nudge, Primitive, Profile,
    Revision, TurnEpoch, Write,
};
use cardwire_store::Store;
use std::sync::Arc;

/// NF-02: of many leases of one agent, one is given.
pub async fn of_leases_of_one_agent_one_wins(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let idle = idle_head(agent_id("a"));
    case.write([create_head(&idle)]).await;
    let turns: Vec<_> =
        (0..RACERS).map(|_| live_head(&mut case.ids, agent_id("a"), LiveState::Dispatched)).collect();
    let lease = |to: &Head| {
        case.commit([Write::MoveHead {
            guard: idle.guard_move(),
            to: Box::new(to.clone()),
            queued: 0,
            is_copied: true,
        }])
    };
    let winner = one_wins(&case, turns.iter().map(lease).collect(), Conflict::Head).await;
    assert_eq!(case.agent_head(&idle.agent_id).await, turns[winner]);
    // And of many first turns of an agent.
    let heads: Vec<_> =
        (0..RACERS).map(|_| live_head(&mut case.ids, agent_id("b"), LiveState::Dispatched)).collect();
    let first = heads.iter().map(|head| case.commit([create_head(head)])).collect();
    let winner = one_wins(&case, first, Conflict::Head).await;
    assert_eq!(case.agent_head(&agent_id("b")).await, heads[winner]);
}

/// DP-13: nudges to one head go together in any order; a move that was decided before them does not.
pub async fn nudges_to_one_head_go_together_in_any_order(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let mut head = live_head(&mut case.ids, agent_id("a"), LiveState::Running);
    head.queued = 20;
    case.write([create_head(&head)]).await;
    let cards = case.ids.cards(RACERS);
    let nudge = |number: usize| Nudge {
        seen: Some(at(100 + number as i64)),
        queued: if number.is_multiple_of(2) { 1 } else { -1 },
        deliverable: (number.is_multiple_of(3)).then(|| cards[number]),
        open_calls: if number % 4 == 1 { 2 } else { 0 },
        ..Nudge::default()
    };
    let nudges: Vec<_> = (0..RACERS).map(nudge).collect();
    let commits =
        nudges.iter().map(|nudge| case.commit([Write::NudgeHead { guard: head.guard(), nudge: *nudge }]));
    for outcome in race(&case.store, commits.collect()).await {
        outcome.expect("nudges do not conflict with each other");
    }
    let found = case.agent_head(&head.agent_id).await;
    let marks = nudges.iter().filter(|nudge| nudge.is_mark()).count() as u32;
    let calls: i32 = nudges.iter().map(|nudge| nudge.open_calls).sum();
    let live = found.live.as_ref().unwrap();
    assert_eq!((found.queued, found.updated_at), (20, at(100 + RACERS as i64 - 1)));
    assert_eq!((live.marks, live.open_calls), (5 + marks, 4 + calls as u32));
    assert!(nudges.iter().any(|nudge| nudge.deliverable == live.deliverable));
    let to = Box::new(idle_head(agent_id("a")));
    let stale = Write::MoveHead { guard: head.guard_move(), to, queued: 0, is_copied: true };
    case.refuse_write(stale, Conflict::Head).await;
}

/// SEC-07: turns that come to wait never get past the limit that each of them relies on.
pub async fn no_more_turns_wait_than_the_guard_allows(store: Arc<dyn Store>) {
    let case = Case::new(store).await;
    let head = idle_head(agent_id("a"));
    case.write([create_head(&head)]).await;
    let guard = cardwire_model::HeadGuard { queued: (0, 4), ..head.guard() };
    let nudge = Nudge { queued: 1, ..Nudge::default() };
    let wait = |_| case.commit([Write::NudgeHead { guard: guard.clone(), nudge }]);
    let outcomes = race(&case.store, (0..RACERS).map(wait).collect()).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 5);
    assert_eq!(case.agent_head(&head.agent_id).await.queued, 5);
}

/// NF-05: a turn that is sent many times at once is put into the inbox once.
pub async fn of_enqueues_of_one_turn_one_wins(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let box_id = case.ids.card_box();
    let turn = turn_item(&mut case.ids, "a", box_id);
    let rows: Vec<_> = (0..RACERS).map(|_| InboxItem { id: case.ids.inbox(), ..turn.clone() }).collect();
    let commits = rows.iter().map(|row| case.commit([enqueue(row)])).collect();
    let winner = one_wins(&case, commits, Conflict::Inbox).await;
    let found = case.store.turn(&case.project, turn.turn_id).await.unwrap().unwrap();
    assert_eq!(found, InboxItem { seq: found.seq, ..rows[winner].clone() });
    // The same for the edge that comes with it.
    let edges: Vec<_> = (0..RACERS)
        .map(|_| full_edge(&mut case.ids, Primitive::Enqueue, EdgePhase::Request, "corr"))
        .collect();
    let commits = edges.iter().map(|edge| case.commit([Write::AddEdge(Box::new(edge.clone()))])).collect();
    let winner = one_wins(&case, commits, Conflict::Edge).await;
    let found = case.store.edges(&case.project, &cardwire_store::RowFilter::default(), None, 9).await;
    assert_eq!(found.unwrap(), [edges[winner].clone()]);
}

/// WK-08: a tool call that is answered many times at once has one answer, and a row is taken from its state once.
pub async fn of_answers_to_one_call_one_wins(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let turn = case.turn("a").await;
    let call = tool_call(&turn, "call_1");
    case.write([Write::OpenCall(Box::new(call.clone()))]).await;
    let answers: Vec<_> =
        (0..RACERS).map(|number| answered(&call, case.ids.card(), number.is_multiple_of(2))).collect();
    let commits = answers.iter().map(|call| case.commit([Write::UpdateCall(Box::new(call.clone()))]));
    let winner = one_wins(&case, commits.collect(), Conflict::Call).await;
    assert_eq!(case.store.calls(&case.project, turn.turn_id).await.unwrap(), [answers[winner].clone()]);

    let taken = |number: usize| InboxItem {
        status: InboxStatus::Processing,
        worker_id: Some(format!("worker-{number}")),
        ..turn.clone()
    };
    let commits = (0..RACERS).map(|number| case.commit([update_inbox(InboxStatus::Pending, &taken(number))]));
    let winner = one_wins(&case, commits.collect(), Conflict::Inbox).await;
    assert_eq!(case.store.turn(&case.project, turn.turn_id).await.unwrap(), Some(taken(winner)));
}

/// CB-14: of many agents that want to write one box at once, one may.
pub async fn of_agents_that_want_one_output_box_one_wins(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let box_id = case.create_box(&[]).await;
    let commits: Vec<Commit> = (0..RACERS)
        .map(|number| {
            let item = turn_item(&mut case.ids, &format!("agent-{number}"), box_id);
            let mut commit = case.commit([enqueue(&item)]);
            commit.expect.push(Expect::OutputFree { box_id, agent_id: Some(item.agent_id) });
            commit
        })
        .collect();
    let winner = one_wins(&case, commits, Conflict::Box).await;
    let writers =
        case.load(cardwire_model::Keys { writers_of: vec![box_id], ..Default::default() }).await.writers;
    assert_eq!(writers, [(box_id, agent_id(&format!("agent-{winner}")))].into());
}

/// CB-14, X-09: a box is sealed as what somebody is given, or written by a turn, never both.
pub async fn of_those_that_write_a_box_and_those_that_seal_it_one_wins(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let box_id = case.create_box(&[]).await;
    let commits: Vec<Commit> = (0..RACERS)
        .map(|number| {
            let item = turn_item(&mut case.ids, &format!("agent-{number}"), box_id);
            let writes = number % 2 == 0;
            let write = if writes { enqueue(&item) } else { Write::SealBox { box_id } };
            let mut commit = case.commit([write]);
            let agent_id = writes.then_some(item.agent_id);
            commit.expect.push(Expect::OutputFree { box_id, agent_id });
            commit
        })
        .collect();
    let winner = one_wins(&case, commits, Conflict::Box).await;
    let keys = cardwire_model::Keys { writers_of: vec![box_id], ..Default::default() };
    assert_eq!(case.load(keys).await.writers.is_empty(), winner % 2 == 1);
    assert_eq!(case.head(box_id).await.sealed, winner % 2 == 1);
}

/// API-07: of many changes of one row of the roster, one is made.
pub async fn of_changes_of_one_profile_one_wins(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let old = profile(&mut case.ids, "p");
    case.write([Write::PutProfile { was: None, profile: Box::new(old.clone()) }]).await;
    let new = |number: usize| Profile {
        revision: Revision::new(2),
        tags: vec![format!("tag-{number}")],
        ..old.clone()
    };
    let put = |number| Write::PutProfile { was: Some(Revision::FIRST), profile: Box::new(new(number)) };
    let commits = (0..RACERS).map(|number| case.commit([put(number)])).collect();
    let winner = one_wins(&case, commits, Conflict::Roster).await;
    assert_eq!(case.store.profiles(&case.project, None, 9).await.unwrap(), [new(winner)]);
}

/// NF-03: while a turn is reaped, whatever it still tries is either before the reaping or refused.
pub async fn a_reaped_turn_writes_nothing_afterwards(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let head = live_head(&mut case.ids, agent_id("a"), LiveState::Running);
    let reaped = Head { epoch: head.epoch.next(), ..idle_head(agent_id("a")) };
    case.write([create_head(&head)]).await;
    let texts = ["x"; RACERS];
    let cards = case.put(&texts).await;
    let box_id = case.create_box(&[]).await;
    let nudge = Nudge { seen: Some(at(50)), ..Nudge::default() };
    let mut commits: Vec<_> = cards
        .iter()
        .map(|card| {
            let fence = Write::NudgeHead { guard: head.guard(), nudge };
            case.commit([fence, super::case::append(box_id, cardwire_model::Generation::FIRST, &[*card])])
        })
        .collect();
    let to = Box::new(reaped.clone());
    let reap = case.commit([Write::MoveHead { guard: head.guard_move(), to, queued: 0, is_copied: true }]);
    commits.insert(RACERS / 2, reap);
    let outcomes = race(&case.store, commits).await;
    let written = outcomes.iter().filter(|outcome| outcome.is_ok()).count() - 1;
    assert!(outcomes[RACERS / 2].is_ok(), "signs of life do not hold up the watchdog: {outcomes:?}");
    assert_eq!(case.head(box_id).await.len as usize, written, "each refused write left nothing");
    assert_eq!(case.agent_head(&head.agent_id).await, reaped);
    assert_eq!(reaped.epoch, TurnEpoch::new(2));
    let late = Write::NudgeHead { guard: head.guard(), nudge };
    case.refuse_write(late, Conflict::Head).await;
}
