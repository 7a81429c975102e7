//! Heads: created once, moved and nudged under their guard (DP-13, WD-01).

use super::case::{Case, assert_pages, commit, create_head};
use crate::fixtures::{agent_id, agent_row, at, idle_head, live_head, worker_target};
use cardwire_model::{
    Agent, Conflict, Head, HeadGuard, Live, LiveState, Nudge, Revision, Status, Timestamp, TurnEpoch, Write,
};
use cardwire_store::{RosterFilter, Rostered, Store};
use std::sync::Arc;

const SUSPENDED: LiveState = LiveState::Suspended { waiting: 3, resume_by: at(90) };
const STATES: [LiveState; 3] = [LiveState::Dispatched, LiveState::Running, SUSPENDED];

fn move_to(guard: HeadGuard, to: &Head, queued: i32) -> Write {
    Write::MoveHead { guard, to: Box::new(to.clone()), queued, is_copied: true }
}

/// The live turn of a head that has one.
fn live(head: &Head) -> &Live {
    head.live.as_ref().expect("a live turn")
}

/// DP-13: a head is what it was created as.
pub async fn a_head_comes_back_with_every_field(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let mut heads = vec![idle_head(agent_id("idle"))];
    for (number, state) in STATES.into_iter().enumerate() {
        heads.push(live_head(&mut case.ids, agent_id(&format!("live-{number}")), state));
    }
    let mut bare = live_head(&mut case.ids, agent_id("bare"), LiveState::Running);
    bare.epoch = TurnEpoch::new(1 << 53);
    bare.last_output_box = None;
    bare.queued = 7;
    bare.updated_at = Timestamp::from_micros(1_767_268_800_123_457);
    let turn = bare.live.as_mut().unwrap();
    (turn.parent_step, turn.rung_at, turn.deliverable, turn.open_calls, turn.marks) =
        (None, None, None, 0, 0);
    heads.push(bare);
    for head in &heads {
        case.write([create_head(head)]).await;
        assert_eq!(case.agent_head(&head.agent_id).await, *head);
    }
    assert_eq!(case.store.head(&case.project, &agent_id("absent")).await.unwrap(), None);
    // Names differ by case.
    assert_eq!(case.store.head(&case.project, &agent_id("IDLE")).await.unwrap(), None);
}

/// DP-13: an agent has one head; how many turns wait is told when it is made.
pub async fn a_head_is_created_once(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let first = Head { queued: 4, ..live_head(&mut case.ids, agent_id("a"), LiveState::Running) };
    case.write([create_head(&first)]).await;
    case.refuse_write(create_head(&first), Conflict::Head).await;
    case.refuse_write(create_head(&idle_head(agent_id("a"))), Conflict::Head).await;
    let twice = [create_head(&idle_head(agent_id("b"))), create_head(&idle_head(agent_id("b")))];
    case.refuse(case.commit(twice), Conflict::Head).await;
    assert_eq!(case.agent_head(&first.agent_id).await, first);
}

/// DP-13, WD-01: a move writes everything but the count of waiting turns, which it changes by a difference.
pub async fn a_move_writes_the_new_state_and_counts_who_waits(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let mut now = Head { queued: 2, ..idle_head(agent_id("a")) };
    case.write([create_head(&now)]).await;
    // Through every state, twice, with another turn each time.
    let none: Option<LiveState> = None;
    let states = STATES.into_iter().map(Some).chain([none]).cycle().take(8);
    for (number, state) in states.enumerate() {
        let mut to = match state {
            Some(state) => live_head(&mut case.ids, agent_id("a"), state),
            None => Head { last_output_box: Some(case.ids.card_box()), ..idle_head(agent_id("a")) },
        };
        to.epoch = TurnEpoch::new(number as u64 + 5);
        to.updated_at = at(number as i64);
        if let Some(turn) = &mut to.live {
            turn.worker_target = worker_target(&format!("target-{number}"));
            turn.marks = number as u32;
        }
        // What `to` says of the waiting turns is not written.
        to.queued = 77;
        let by = if number % 2 == 0 { 3 } else { -2 };
        case.write([move_to(now.guard_move(), &to, by)]).await;
        now = Head { queued: now.queued.checked_add_signed(by).unwrap(), ..to };
        assert_eq!(case.agent_head(&now.agent_id).await, now);
    }
}

/// DP-13, DP-17: a late writer changes nothing, whichever part of its guard is wrong.
pub async fn each_part_of_a_guard_is_needed(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let other = case.create_project("p2").await;
    let head = Head { queued: 2, ..live_head(&mut case.ids, agent_id("a"), LiveState::Running) };
    let idle = Head { epoch: TurnEpoch::new(1), ..idle_head(agent_id("idle")) };
    let listed = Agent { revision: Revision::new(3), ..agent_row(&mut case.ids, "a") };
    let lists = Write::PutAgent { was: None, agent: Box::new(listed.clone()) };
    case.write([create_head(&head), create_head(&idle), lists]).await;
    let roster = Some(listed.revision);
    let right = HeadGuard { marks: Some(5), queued: (2, 2), roster, ..head.guard() };
    let wrong = [
        HeadGuard { agent_id: agent_id("b"), ..right.clone() },
        HeadGuard { epoch: TurnEpoch::ZERO, ..right.clone() },
        HeadGuard { epoch: TurnEpoch::new(2), ..right.clone() },
        HeadGuard { status: Status::Idle, ..right.clone() },
        HeadGuard { status: Status::Dispatched, ..right.clone() },
        HeadGuard { status: Status::Suspended, ..right.clone() },
        HeadGuard { marks: Some(4), ..right.clone() },
        HeadGuard { marks: Some(0), ..right.clone() },
        HeadGuard { queued: (3, u32::MAX), ..right.clone() },
        HeadGuard { queued: (0, 1), ..right.clone() },
        HeadGuard { status: Status::Running, ..idle.guard() },
        HeadGuard { marks: Some(1), ..idle.guard() },
    ];
    let to = idle_head(agent_id("a"));
    let nudge = Nudge { seen: Some(at(99)), queued: 1, ..Nudge::default() };
    for guard in wrong {
        case.refuse_write(move_to(guard.clone(), &to, 0), Conflict::Head).await;
        case.refuse_write(Write::NudgeHead { guard, nudge }, Conflict::Head).await;
    }
    let unlisted = [
        HeadGuard { roster: Some(Revision::new(2)), ..right.clone() },
        HeadGuard { roster: Some(Revision::new(4)), ..right.clone() },
        // Not in the roster.
        HeadGuard { roster, ..idle.guard() },
    ];
    for guard in unlisted {
        case.refuse_write(move_to(guard, &to, 0), Conflict::Head).await;
    }
    // The head is another project's.
    case.refuse(commit(&other, [move_to(right.clone(), &to, 0)]), Conflict::Head).await;
    case.refuse(commit(&other, [Write::NudgeHead { guard: right.clone(), nudge }]), Conflict::Head).await;
    let none = Nudge::default();
    case.write([Write::NudgeHead { guard: right.clone(), nudge: none }, move_to(right, &to, 0)]).await;
}

/// WD-01, W-04: a nudge changes what it names and nothing else.
pub async fn a_nudge_changes_only_what_it_names(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let mut now = Head { queued: 2, ..live_head(&mut case.ids, agent_id("a"), SUSPENDED) };
    case.write([create_head(&now)]).await;
    let card = case.ids.card();
    let none = Nudge::default();
    let nudges = [
        none,
        Nudge { seen: Some(at(50)), ..none },
        // Time does not go back.
        Nudge { seen: Some(at(40)), ..none },
        Nudge { rung: Some(at(8)), ..none },
        Nudge { queued: 3, ..none },
        Nudge { queued: -4, ..none },
        Nudge { deliverable: Some(card), ..none },
        Nudge { open_calls: 2, ..none },
        Nudge { open_calls: -6, ..none },
        Nudge { seen: Some(at(60)), rung: Some(at(61)), queued: 1, deliverable: Some(card), open_calls: 1 },
    ];
    for nudge in nudges {
        case.write([Write::NudgeHead { guard: now.guard(), nudge }]).await;
        now.updated_at = now.updated_at.max(nudge.seen.unwrap_or(now.updated_at));
        now.queued = now.queued.checked_add_signed(nudge.queued).unwrap();
        let turn = now.live.as_mut().unwrap();
        turn.rung_at = nudge.rung.or(turn.rung_at);
        turn.deliverable = nudge.deliverable.or(turn.deliverable);
        turn.open_calls = turn.open_calls.checked_add_signed(nudge.open_calls).unwrap();
        turn.marks += u32::from(nudge.deliverable.is_some() || nudge.open_calls != 0);
        assert_eq!(case.agent_head(&now.agent_id).await, now, "{nudge:?}");
    }
    assert_eq!((live(&now).marks, now.queued, now.updated_at), (5 + 4, 2, at(60)));
}

/// WK-08, NF-03: what a turn marked after a move was decided is not undone by it.
pub async fn a_move_with_stale_marks_conflicts(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let head = live_head(&mut case.ids, agent_id("a"), LiveState::Running);
    case.write([create_head(&head)]).await;
    let idle = Head { epoch: head.epoch, ..idle_head(agent_id("a")) };
    for nudge in [
        Nudge { open_calls: 1, ..Nudge::default() },
        Nudge { deliverable: Some(case.ids.card()), ..Nudge::default() },
    ] {
        let stale = case.agent_head(&head.agent_id).await.guard_move();
        case.write([Write::NudgeHead { guard: head.guard(), nudge }]).await;
        case.refuse_write(move_to(stale, &idle, 0), Conflict::Head).await;
    }
    // A sign of life, a ring and a turn that came to wait are no marks.
    let fresh = case.agent_head(&head.agent_id).await.guard_move();
    let nudge = Nudge { seen: Some(at(70)), rung: Some(at(71)), queued: 1, ..Nudge::default() };
    case.write([Write::NudgeHead { guard: head.guard(), nudge }]).await;
    case.write([move_to(fresh, &idle, -1)]).await;
    assert_eq!(case.agent_head(&head.agent_id).await, idle);
}

/// DP-13: marks belong to a live turn; an idle head reads and is guarded as having none.
pub async fn an_idle_head_has_no_marks(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let head = live_head(&mut case.ids, agent_id("a"), LiveState::Running);
    let idle = Head { epoch: TurnEpoch::new(2), ..idle_head(agent_id("a")) };
    case.write([create_head(&head), move_to(head.guard_move(), &idle, 0)]).await;
    let none = Some(0);
    let nudge = Nudge { deliverable: Some(case.ids.card()), open_calls: 1, ..Nudge::default() };
    case.write([Write::NudgeHead { guard: HeadGuard { marks: none, ..idle.guard() }, nudge }]).await;
    assert_eq!(case.agent_head(&idle.agent_id).await, idle);
    let mut again = live_head(&mut case.ids, agent_id("a"), LiveState::Dispatched);
    again.live.as_mut().unwrap().marks = 0;
    case.write([move_to(HeadGuard { marks: none, ..idle.guard() }, &again, 0)]).await;
    assert_eq!(case.agent_head(&idle.agent_id).await, again);
}

/// DESIGN "one idea": each write of a commit to a head sees the ones before it.
pub async fn writes_to_one_head_apply_in_order(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let idle = idle_head(agent_id("a"));
    let mut leased = live_head(&mut case.ids, agent_id("a"), LiveState::Dispatched);
    leased.live.as_mut().unwrap().marks = 0;
    let nudge = Nudge { open_calls: 1, queued: 1, ..Nudge::default() };
    let nudged = Write::NudgeHead { guard: leased.guard(), nudge };
    let marked = HeadGuard { marks: Some(1), queued: (1, 1), ..leased.guard() };
    let ended = Head { epoch: leased.epoch, ..idle.clone() };
    let chain = [
        create_head(&idle),
        move_to(idle.guard_move(), &leased, 0),
        nudged.clone(),
        move_to(marked, &ended, -1),
    ];
    // Without the nudge the last move has a stale guard.
    let mut short = chain.to_vec();
    short.remove(2);
    case.refuse(case.commit(short), Conflict::Head).await;
    case.refuse(case.commit([nudged, create_head(&leased)]), Conflict::Head).await;
    case.write(chain).await;
    assert_eq!(case.agent_head(&idle.agent_id).await, ended);
}

/// Heads by agent.
pub async fn heads_are_listed_by_agent(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    // In the order of their bytes.
    let names = ["-a", "0", "A", "Z", "_", "a", "a-b", "a0", "b"];
    let mut heads = vec![];
    for (number, name) in names.into_iter().enumerate() {
        let head = match STATES.get(number % 4) {
            Some(state) => live_head(&mut case.ids, agent_id(name), *state),
            None => idle_head(agent_id(name)),
        };
        heads.push(head);
    }
    case.write(heads.iter().rev().map(create_head)).await;
    assert_pages(
        "heads",
        &heads,
        |head| head.agent_id.clone(),
        async |after, limit| case.store.heads(&case.project, after.as_ref(), limit).await,
    )
    .await;
}

/// API-08: agents with what they are doing, newest first, by every part of a filter.
pub async fn the_roster_is_listed_newest_first_by_every_filter(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (mut expected, mut writes) = (vec![], vec![]);
    // Two are made at a time; of each five, one never had a turn.
    for (number, name) in ["m", "-a", "Z", "a", "0", "_", "b", "A", "a0", "z"].into_iter().enumerate() {
        let made = at(number as i64 / 2);
        let agent = Agent { created_at: made, ..agent_row(&mut case.ids, name) };
        let mut head = match number % 5 {
            4 => None,
            3 => Some(idle_head(agent_id(name))),
            state => Some(live_head(&mut case.ids, agent_id(name), STATES[state])),
        };
        if let Some(head) = &mut head {
            head.updated_at = at(10 + number as i64);
            if let Some(live) = &mut head.live {
                live.trace_id = format!("trace-{}", number % 2);
            }
        }
        writes.push(Write::PutAgent { was: None, agent: Box::new(agent.clone()) });
        writes.extend(head.as_ref().map(create_head));
        expected.push(Rostered { agent, head });
    }
    case.write(writes).await;
    let live = expected[5].head.as_ref().and_then(|head| head.live.as_ref()).expect("a live turn");
    let (turn, none) = (live.turn_id, RosterFilter::default());
    let changed = |one: &Rostered| one.head.as_ref().map_or(one.agent.created_at, |head| head.updated_at);
    expected.sort_by(|one, other| other.place().cmp(&one.place()));
    let in_trace = |one: &Rostered| {
        one.head.as_ref().and_then(|head| head.live.as_ref()).is_some_and(|live| live.trace_id == "trace-1")
    };
    let mut checks: Vec<(RosterFilter, Wanted<'_>)> = vec![
        (none.clone(), Box::new(|_| true)),
        (RosterFilter { turn_id: Some(turn), ..none.clone() }, Box::new(|one| one.agent.id == agent_id("_"))),
        (RosterFilter { trace_id: Some("trace-1".to_owned()), ..none.clone() }, Box::new(in_trace)),
        // The bounds are times of rows: the first is taken, the second is not. Who never had a turn changed when it was made.
        (RosterFilter { from: Some(at(4)), ..none.clone() }, Box::new(|one| changed(one) >= at(4))),
        (RosterFilter { until: Some(at(15)), ..none.clone() }, Box::new(|one| changed(one) < at(15))),
        (
            RosterFilter {
                status: Some(Status::Running),
                trace_id: Some("trace-1".to_owned()),
                from: Some(at(11)),
                until: Some(at(12)),
                ..none.clone()
            },
            Box::new(|one| one.agent.id == agent_id("-a")),
        ),
    ];
    for status in Status::ALL {
        let wanted: Wanted<'_> = Box::new(move |one| one.status() == status);
        checks.push((RosterFilter { status: Some(status), ..none.clone() }, wanted));
    }
    for (filter, wanted) in checks {
        let expected: Vec<_> = expected.iter().filter(|one| wanted(one)).cloned().collect();
        assert!(!expected.is_empty(), "{filter:?}");
        assert_pages(
            &format!("{filter:?}"),
            &expected,
            |one| (one.agent.created_at, one.agent.id.clone()),
            async |before, limit| case.store.roster(&case.project, &filter, before.as_ref(), limit).await,
        )
        .await;
    }
    let nothing = RosterFilter { turn_id: Some(case.ids.turn()), ..none };
    assert_eq!(case.store.roster(&case.project, &nothing, None, 9).await.unwrap(), []);
}

type Wanted<'a> = Box<dyn Fn(&Rostered) -> bool + 'a>;
