//! What every store must hold of a head that is lost: the copy written with its last move (WD-08).
//!
//! No commit removes a head, so a backend's own test says how its head is lost; the rest is the same for all.

use crate::fixtures::{
    ProjectBuilder, SeededIds, agent_id, at, idle_head, live_head, project_id, turn_item, worker_target,
};
use cardwire_model::{
    AgentId, Commit, Conflict, Head, InboxId, InboxItem, InboxStatus, Keys, Live, LiveState, Lost, Nudge,
    ProjectId, Realm, TurnEpoch, Write,
};
use cardwire_store::{ClaimQuery, CommitError, DecideClaim, Horizon, Store};
use std::sync::{Arc, Mutex};

/// Loses the heads of an empty store with `lose`, and checks what is left of them: the head as it was last created or
/// moved, without what nudges changed since, and with no turns waiting; and that it keeps out an older one.
pub async fn assert_copies_survive(store: &dyn Store, lose: impl AsyncFn(&ProjectId, &AgentId)) {
    let (project, agent) = (project_id("p1"), agent_id("a"));
    let write = async |writes: Vec<Write>| {
        let commit = Commit { writes, ..Commit::new(project.clone()) };
        store.commit(commit).await
    };
    let lost = async || {
        let keys = Keys { agent: Some(agent.clone()), ..Keys::default() };
        let found = store.load(&Realm::from(project.clone()), &keys).await.unwrap();
        assert_eq!(found.head, None, "the head is lost");
        found.lost.expect("something is always told of a lost head")
    };
    write(vec![Write::CreateProject(ProjectBuilder::new(project.clone()).build())]).await.unwrap();

    let mut ids = SeededIds::new(11);
    let created = Head { queued: 3, ..idle_head(agent.clone()) };
    write(vec![Write::CreateHead(Box::new(created.clone()))]).await.unwrap();
    lose(&project, &agent).await;
    let nothing = Lost { copy: None, highest: TurnEpoch::ZERO, open: None, last_output_box: None, queued: 0 };
    let left = |head: &Head| Lost { copy: Some(Head { queued: 0, ..head.clone() }), ..nothing.clone() };
    assert_eq!(lost().await, left(&created));

    // It can be created anew, and a move and its nudges leave the copy of the move.
    write(vec![Write::CreateHead(Box::new(created.clone()))]).await.unwrap();
    let moved = live_head(&mut ids, agent.clone(), LiveState::Suspended { waiting: 2, resume_by: at(90) });
    let (guard, to) = (created.guard(), Box::new(moved.clone()));
    write(vec![Write::MoveHead { guard, to, queued: 2, is_copied: true }]).await.unwrap();
    let card = Some(ids.card());
    let seen = Some(at(500));
    let nudge = Nudge { seen, rung: seen, queued: 1, deliverable: card, open_calls: 1 };
    write(vec![Write::NudgeHead { guard: moved.guard(), nudge }]).await.unwrap();
    // A refused move is none.
    let stale = moved_to(&created, &idle_head(agent.clone()), true);
    assert!(matches!(write(vec![stale]).await, Err(CommitError::Conflict(Conflict::Head))));
    let found = store.head(&project, &agent).await.unwrap().expect("the head is there");
    assert_eq!((found.queued, found.updated_at), (6, at(500)));
    // Nor is one copied that is not to be.
    let running = with_live(&moved, |live| (live.state, live.deliverable) = (LiveState::Running, None));
    write(vec![moved_to(&moved, &running, false)]).await.unwrap();
    let found = store.head(&project, &agent).await.unwrap();
    assert_eq!(found, Some(Head { queued: 6, ..running.clone() }));
    write(vec![moved_to(&running, &idle_at(&running), false)]).await.unwrap();
    lose(&project, &agent).await;
    assert_eq!(lost().await, left(&moved));

    // Nothing can be moved or nudged that is lost, nor be rebuilt from something older than the copy.
    let again = |epoch: u64| Head { epoch: TurnEpoch::new(epoch), ..moved.clone() };
    let idle = |epoch: u64| Head { epoch: TurnEpoch::new(epoch), ..idle_head(agent.clone()) };
    let create = |head: Head| Write::CreateHead(Box::new(head));
    let nudged = Write::NudgeHead { guard: moved.guard(), nudge };
    for refused in [nudged, create(idle(0)), create(again(0)), create(again(1))] {
        let outcome = write(vec![refused.clone()]).await;
        assert!(matches!(outcome, Err(CommitError::Conflict(Conflict::Head))), "{refused:?}: {outcome:?}");
        assert_eq!(lost().await, left(&moved));
    }
    // The same epoch without a turn, or a later one, is as new as can be.
    for rebuilt in [idle(1), again(2), idle(7)] {
        write(vec![create(rebuilt.clone())]).await.unwrap();
        assert_eq!(store.head(&project, &agent).await.unwrap().as_ref(), Some(&rebuilt));
        lose(&project, &agent).await;
        assert_eq!(lost().await, left(&rebuilt));
    }
    // One is copied beside one that is not, and in one commit with another move of the same head.
    let other = agent_id("b");
    let (held, ended) = (again(8), with_live(&again(8), |live| live.deliverable = card));
    let beside = live_head(&mut ids, other.clone(), LiveState::Running);
    write(vec![create(held.clone()), create(beside.clone())]).await.unwrap();
    let idle_beside = idle_at(&beside);
    write(vec![moved_to(&held, &ended, true), moved_to(&beside, &idle_beside, false)]).await.unwrap();
    lose(&project, &agent).await;
    assert_eq!(lost().await, left(&ended));
    write(vec![create(again(9))]).await.unwrap();
    let later = with_live(&again(10), |live| live.state = LiveState::Dispatched);
    let idle = idle_at(&again(9));
    write(vec![moved_to(&again(9), &idle, false), moved_to(&idle, &later, true)]).await.unwrap();
    lose(&project, &agent).await;
    assert_eq!(lost().await, left(&later));
    lose(&project, &other).await;
    let keys = Keys { agent: Some(other), ..Keys::default() };
    let found = store.load(&Realm::from(project.clone()), &keys).await.unwrap();
    assert_eq!(found.lost.and_then(|lost| lost.copy), Some(beside));
}

/// Makes the heads of two of five agents unreadable with `damage`, and checks that the watchdog and claims still find the
/// others, page by page (NF-09, WD-13).
pub async fn assert_an_unreadable_head_stops_nobody(
    store: &dyn Store,
    damage: impl AsyncFn(&ProjectId, &AgentId),
) {
    let (project, mut ids) = (project_id("p1"), SeededIds::new(12));
    let mut commit = Commit::new(project.clone());
    commit.writes.push(Write::CreateProject(ProjectBuilder::new(project.clone()).build()));
    for name in ["a", "b", "c", "d", "e"] {
        let box_id = ids.card_box();
        let item = turn_item(&mut ids, name, box_id);
        let mut head = live_head(&mut ids, agent_id(name), LiveState::Dispatched);
        if let Some(live) = &mut head.live {
            (live.turn_id, live.inbox_id) = (item.turn_id, item.id);
        }
        commit.writes.extend([Write::CreateHead(Box::new(head)), Write::Enqueue(Box::new(item))]);
    }
    store.commit(commit).await.unwrap();
    for name in ["a", "c"] {
        damage(&project, &agent_id(name)).await;
    }

    let now = at(1_000);
    let horizon =
        Horizon { dispatched: now, running: now, resume: now, pending: now, processing: now, given: now };
    let expected = ["b", "d", "e"].map(agent_id);
    for limit in 1..=6 {
        let (mut heads, mut after) = (vec![], None);
        loop {
            let page = store.due_heads(&horizon, after.as_ref(), limit).await.unwrap();
            let found = page.iter().filter_map(|row| row.head.as_ref());
            heads.extend(found.map(|head| head.agent_id.clone()));
            after = heads.last().map(|agent| (project.clone(), agent.clone()));
            if page.len() < limit {
                break;
            }
        }
        assert_eq!(heads, expected, "{limit}");
        let (mut items, mut after) = (vec![], None);
        loop {
            let page = store.due_items(&horizon, after.as_ref(), limit).await.unwrap();
            items.extend(page.iter().filter_map(|row| row.item.clone()));
            after = items.last().map(|item| (project.clone(), item.id));
            if page.len() < limit {
                break;
            }
        }
        assert_eq!(
            items.iter().map(|item| &item.agent_id).collect::<Vec<_>>(),
            expected.each_ref(),
            "{limit}"
        );
    }

    for limit in 1..=6 {
        let given = Arc::new(Mutex::new(vec![]));
        let seen = Arc::clone(&given);
        let look: DecideClaim = Arc::new(move |project, rows| {
            seen.lock().unwrap().extend(rows.into_iter().map(|row| row.item.agent_id));
            Commit::new(project.clone())
        });
        let query = ClaimQuery { worker_target: worker_target("generic"), projects: None, now, limit };
        store.claim(&query, look).await.unwrap();
        assert_eq!(*given.lock().unwrap(), expected[..limit.min(expected.len())], "{limit}");
    }
}

/// Makes the first of two turns that wait behind a live one unreadable with `damage`, and checks that the live one is still
/// loaded, with the other behind it (NF-09, WD-13).
pub async fn assert_an_unreadable_turn_stops_nobody(
    store: &dyn Store,
    damage: impl AsyncFn(&ProjectId, InboxId),
) {
    let (project, mut ids) = (project_id("p1"), SeededIds::new(13));
    let box_id = ids.card_box();
    let turns = [InboxStatus::Processing, InboxStatus::Queued, InboxStatus::Queued]
        .map(|status| InboxItem { status, ..turn_item(&mut ids, "a", box_id) });
    let mut commit = Commit::new(project.clone());
    commit.writes.push(Write::CreateProject(ProjectBuilder::new(project.clone()).build()));
    commit.writes.extend(turns.iter().map(|item| Write::Enqueue(Box::new(item.clone()))));
    store.commit(commit).await.unwrap();
    let keys = Keys { turn: Some(turns[0].turn_id), ..Keys::default() };
    let waiting = async || {
        let loaded = store.load(&Realm::from(project.clone()), &keys).await.unwrap().turn.unwrap();
        loaded.next.iter().map(|item| item.id).collect::<Vec<_>>()
    };
    assert_eq!(waiting().await, [turns[1].id, turns[2].id]);
    damage(&project, turns[1].id).await;
    assert_eq!(waiting().await, [turns[2].id]);
}

fn moved_to(from: &Head, to: &Head, is_copied: bool) -> Write {
    Write::MoveHead { guard: from.guard(), to: Box::new(to.clone()), queued: 0, is_copied }
}

fn with_live(head: &Head, change: impl FnOnce(&mut Live)) -> Head {
    let mut head = head.clone();
    change(head.live.as_mut().expect("a live turn"));
    head
}

/// The head after its turn, at the same epoch.
fn idle_at(head: &Head) -> Head {
    Head { live: None, ..head.clone() }
}
