//! What the watchdog looks at (WD-04..WD-11). A store may give too many rows, never too few.

use super::case::{Case, commit, create_head, enqueue};
use crate::fixtures::{agent_id, at, idle_head, live_head, report_item, turn_item};
use cardwire_model::{Head, InboxItem, InboxKind, InboxStatus, LiveState, ProjectId, Timestamp};
use cardwire_store::{Horizon, Store, Watched};
use std::{fmt::Debug, sync::Arc};

/// Different in every part, so that no part can stand in for another.
const HORIZON: Horizon = Horizon {
    dispatched: at(100),
    running: at(200),
    resume: at(300),
    pending: at(400),
    processing: at(500),
    given: at(600),
};

/// Every due row must be in the list, which must be in order and without repeats, whatever the page.
async fn assert_due<K: Ord + Clone + Debug>(
    expected: &[Watched],
    key: impl Fn(&Watched) -> K,
    read: impl AsyncFn(Option<K>, usize) -> Vec<Watched>,
) {
    let mut lists = vec![];
    for limit in [1, 2, 3, 100] {
        let mut seen: Vec<Watched> = vec![];
        loop {
            let page = read(seen.last().map(&key), limit).await;
            assert!(page.len() <= limit, "a page of {} rows instead of {limit}", page.len());
            if page.is_empty() {
                break;
            }
            seen.extend(page);
            assert!(seen.windows(2).all(|pair| key(&pair[0]) < key(&pair[1])), "in order, each once");
        }
        for row in expected {
            assert!(seen.contains(row), "not found in pages of {limit}: {row:#?}\namong {seen:#?}");
        }
        lists.push(seen);
    }
    assert!(lists.windows(2).all(|pair| pair[0] == pair[1]), "the same rows, whatever the page");
}

async fn assert_due_heads(case: &Case, horizon: &Horizon, expected: &[Watched]) {
    let key = |row: &Watched| (row.project.clone(), row.head.clone().expect("a head").agent_id);
    let read =
        async |after: Option<_>, limit| case.store.due_heads(horizon, after.as_ref(), limit).await.unwrap();
    assert_due(expected, key, read).await;
}

async fn assert_due_items(case: &Case, horizon: &Horizon, expected: &[Watched]) {
    let key = |row: &Watched| (row.project.clone(), row.item.clone().expect("a row").id);
    let read =
        async |after: Option<_>, limit| case.store.due_items(horizon, after.as_ref(), limit).await.unwrap();
    assert_due(expected, key, read).await;
}

/// A head in a state since a moment.
fn since(case: &mut Case, name: &str, state: LiveState, moment: Timestamp) -> Head {
    let mut head = live_head(&mut case.ids, agent_id(name), state);
    match state {
        LiveState::Dispatched => head.live.as_mut().unwrap().dispatched_at = moment,
        LiveState::Running => head.updated_at = moment,
        LiveState::Suspended { .. } => {}
    }
    head
}

/// WD-04, WD-05, WD-11: heads are due at the horizon of their own state, and not by another's.
pub async fn live_heads_are_due_at_the_horizon_of_their_state(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let suspended = |resume_by| LiveState::Suspended { waiting: 1, resume_by };
    for (name, offset) in [("early", -1), ("now", 0)] {
        let by = |moment: Timestamp| Timestamp::from_micros(moment.micros() + offset);
        let heads = [
            since(&mut case, &format!("d-{name}"), LiveState::Dispatched, by(HORIZON.dispatched)),
            since(&mut case, &format!("r-{name}"), LiveState::Running, by(HORIZON.running)),
            since(&mut case, &format!("s-{name}"), suspended(by(HORIZON.resume)), at(999)),
        ];
        for head in heads {
            case.write([create_head(&head)]).await;
            // The row of the live turn is not there.
            let due = Watched { project: case.project.clone(), head: Some(head), item: None };
            assert_due_heads(&case, &HORIZON, &[due]).await;
        }
    }
    // Each state by itself: the others' horizons lie before everything.
    let never = at(-1_000_000);
    let none = Horizon {
        dispatched: never,
        running: never,
        resume: never,
        pending: never,
        processing: never,
        given: never,
    };
    for (letter, horizon) in [
        ("d", Horizon { dispatched: HORIZON.dispatched, ..none }),
        ("r", Horizon { running: HORIZON.running, ..none }),
        ("s", Horizon { resume: HORIZON.resume, ..none }),
    ] {
        let mut expected = vec![];
        for name in ["early", "now"] {
            let head = Some(case.agent_head(&agent_id(&format!("{letter}-{name}"))).await);
            expected.push(Watched { project: case.project.clone(), head, item: None });
        }
        assert_due_heads(&case, &horizon, &expected).await;
    }
}

/// DP-14: an idle agent with turns waiting is due at any time.
pub async fn idle_heads_with_turns_waiting_are_due(store: Arc<dyn Store>) {
    let case = Case::new(store).await;
    let waiting = Head { queued: 1, updated_at: at(9_999), ..idle_head(agent_id("waiting")) };
    case.write([create_head(&waiting), create_head(&idle_head(agent_id("resting")))]).await;
    let due = Watched { project: case.project.clone(), head: Some(waiting), item: None };
    assert_due_heads(&case, &HORIZON, &[due]).await;
}

/// WD-04, WD-09, WD-10: rows are due at the horizon of their own state; claimed ones that are no turns at one of their own.
pub async fn rows_are_due_at_the_horizon_of_their_state(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let far = at(9_999);
    for offset in [-1, 0] {
        let by = |moment: Timestamp| Timestamp::from_micros(moment.micros() + offset);
        let rows = [
            (InboxStatus::Pending, by(HORIZON.pending), None, None),
            (InboxStatus::Deferred, far, Some(by(HORIZON.resume)), None),
            (InboxStatus::Processing, far, None, Some(by(HORIZON.processing))),
        ];
        for (status, created_at, next_retry_at, processed_at) in rows {
            for kind in InboxKind::ALL {
                let is_given = processed_at.is_some() && *kind != InboxKind::Turn;
                let processed_at = if is_given { Some(by(HORIZON.given)) } else { processed_at };
                let box_id = case.ids.card_box();
                let times = turn_item(&mut case.ids, "a", box_id);
                let item =
                    InboxItem { kind: *kind, status, created_at, next_retry_at, processed_at, ..times };
                let [item] = case.enqueue([item]).await;
                let due = Watched { project: case.project.clone(), head: None, item: Some(item) };
                assert_due_items(&case, &HORIZON, &[due]).await;
            }
        }
    }
}

/// WD-04, WD-10: what is due comes with what a decision needs: the live turn's row, the agent's head.
pub async fn due_rows_come_with_their_other_half(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let other = case.create_project("p2").await;
    let project = case.project.clone();
    let turn = case.turn("a").await;
    let mut head = since(&mut case, "a", LiveState::Running, at(0));
    let live = head.live.as_mut().unwrap();
    (live.turn_id, live.inbox_id) = (turn.turn_id, turn.id);
    case.write([create_head(&head)]).await;
    // The same ids elsewhere mean other rows.
    let foreign = InboxItem { created_at: at(77), ..turn.clone() };
    case.apply(commit(&other, [enqueue(&foreign), create_head(&idle_head(agent_id("a")))])).await;
    let report = report_item(&mut case.ids, &turn, InboxKind::ToolResult, "x");
    let [report] = case.enqueue([report]).await;

    let due = Watched { project: project.clone(), head: Some(head.clone()), item: Some(turn.clone()) };
    assert_due_heads(&case, &HORIZON, std::slice::from_ref(&due)).await;
    let due_report = Watched { project, head: Some(head), item: Some(report) };
    assert_due_items(&case, &HORIZON, &[due, due_report]).await;
}

/// WD-13: the watchdog sees all projects, page by page.
pub async fn due_rows_page_over_all_projects(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let projects: [ProjectId; 3] =
        [case.create_project("P-upper").await, case.project.clone(), case.create_project("p2").await];
    let (mut heads, mut rows) = (vec![], vec![]);
    for project in &projects {
        for name in ["B", "_", "a"] {
            let head = Head { queued: 2, ..idle_head(agent_id(name)) };
            let box_id = case.ids.card_box();
            let item = turn_item(&mut case.ids, name, box_id);
            case.apply(commit(project, [create_head(&head)])).await;
            let [item] = case.enqueue_in(project, [item]).await;
            heads.push(Watched { project: project.clone(), head: Some(head.clone()), item: None });
            rows.push(Watched { project: project.clone(), head: Some(head), item: Some(item) });
        }
    }
    assert_due_heads(&case, &HORIZON, &heads).await;
    assert_due_items(&case, &HORIZON, &rows).await;
    // A key need not be of a row that is there, or there any more.
    let after = (projects[1].clone(), agent_id("ZZ"));
    let found = case.store.due_heads(&HORIZON, Some(&after), 3).await.unwrap();
    assert_eq!(found, heads[4..7]);
}
