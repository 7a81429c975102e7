//! Claims that stand in line: a turn that is leased while one does is claimed by the commit that leases it (DP-15).

use crate::desk::{Desk, caller};
use cardwire_kernel::{
    ClaimRequest, ContextConfig, NewTurnCard,
    protocol::turn::{
        Command, Fence, Proof,
        append::Append,
        claim::{Lease, LeaseKind},
        release::Release,
        report::{AfterExecution, Answer, Report},
        suspend::Suspend,
    },
};
use cardwire_model::{CanonicalJson, CardDraft, Hash256, InboxStatus, Status, TurnId, card::ToolStatus};
use cardwire_store::Turns as _;
use cardwire_store_sqlite::SqliteStore;
use cardwire_testkit::ReferenceStore;
use std::{sync::Arc, task::Poll, time::Duration};

fn request() -> ClaimRequest {
    Desk::request(9, Duration::ZERO)
}

async fn row_of(desk: &Desk, turn: TurnId) -> (InboxStatus, Option<String>) {
    let row = desk.store.turn(&desk.project, turn).await.unwrap().unwrap();
    (row.status, row.worker_id)
}

async fn head_of(desk: &Desk, agent: &str) -> Status {
    desk.store.head(&desk.project, &agent.parse().unwrap()).await.unwrap().unwrap().status()
}

fn fence(lease: &Lease) -> Fence {
    let proof = Proof::Lease(Hash256::of(&lease.turn.as_ref().unwrap().secret));
    Fence { turn_id: lease.turn_id, epoch: lease.epoch, proof }
}

/// As many as there is room for, and not one more: that one is left to be looked for.
#[tokio::test]
async fn dp_15_who_stands_in_line_is_given_as_many_turns_as_it_has_room_for() {
    let desk = Desk::new(&["a", "b", "c"]).await;
    let request = request();
    let place = desk.kernel.stand_in_line(&request, 2);
    let mut turns = vec![];
    for agent in ["a", "b", "c"] {
        turns.push(desk.dispatch(agent).await.turn_id);
    }
    place.served().await;
    let leases = desk.kernel.leave_line(place, &[]).await.pass_on();
    assert_eq!(leases.iter().map(|lease| lease.turn_id).collect::<Vec<_>>(), turns[..2]);
    for (turn, agent) in turns.iter().zip(["a", "b"]) {
        let worker = Some(request.worker_id.clone());
        assert_eq!(row_of(&desk, *turn).await, (InboxStatus::Processing, worker));
        assert_eq!(head_of(&desk, agent).await, Status::Running);
    }
    assert_eq!(row_of(&desk, turns[2]).await, (InboxStatus::Pending, None));
    // The secret opens the turn.
    desk.kernel
        .turn_command(&desk.project, &caller(), Command::Heartbeat(fence(&leases[0])), None)
        .await
        .unwrap();
    let found = desk.kernel.claim_now(&caller(), &request).await.unwrap();
    assert_eq!(found.iter().map(|lease| lease.turn_id).collect::<Vec<_>>(), turns[2..]);
}

#[tokio::test]
async fn a_turn_that_is_not_started_is_claimed_and_waits_for_its_start() {
    let desk = Desk::new(&["a"]).await;
    let place = desk.kernel.stand_in_line(&ClaimRequest { start: false, ..request() }, 1);
    let turn = desk.dispatch("a").await.turn_id;
    let leases = desk.kernel.leave_line(place, &[]).await.pass_on();
    assert!(!leases[0].turn.as_ref().unwrap().started);
    assert_eq!(row_of(&desk, turn).await.0, InboxStatus::Processing);
    assert_eq!(head_of(&desk, "a").await, Status::Dispatched);
    let start = Command::Start(fence(&leases[0]));
    desk.kernel.turn_command(&desk.project, &caller(), start, None).await.unwrap();
}

/// First come, first served; who serves other projects or other agents, or has gone, is passed over.
#[tokio::test]
async fn whoever_came_first_and_wants_the_turn_gets_it() {
    let desk = Desk::new(&["a"]).await;
    let elsewhere = ClaimRequest { projects: Some(vec!["q".parse().unwrap()]), ..request() };
    let other = ClaimRequest { worker_target: "other".parse().unwrap(), ..request() };
    let here = ClaimRequest { projects: Some(vec![desk.project.clone()]), ..request() };
    drop(desk.kernel.stand_in_line(&request(), 1));
    let mut places = vec![];
    for request in [&elsewhere, &other, &here, &here] {
        places.push(desk.kernel.stand_in_line(request, 1));
    }
    desk.dispatch("a").await;
    let mut given = vec![];
    for place in places {
        given.push(desk.kernel.leave_line(place, &[]).await.pass_on().len());
    }
    assert_eq!(given, [0, 0, 1, 0]);
}

/// NF-10: what waits behind a turn is claimed when that ends.
#[tokio::test]
async fn the_next_turn_of_an_agent_is_claimed_by_the_end_of_the_one_before() {
    let desk = Desk::new(&["a"]).await;
    desk.dispatch("a").await;
    let second = desk.dispatch("a").await.turn_id;
    let first = desk.kernel.claim_now(&caller(), &request()).await.unwrap().remove(0);
    let place = desk.kernel.stand_in_line(&request(), 1);
    desk.finish(&first).await;
    let leases = desk.kernel.leave_line(place, &[]).await.pass_on();
    assert_eq!((leases[0].turn_id, leases[0].epoch), (second, first.epoch.next()));
}

/// DP-16: the answer that a suspended turn waits for is claimed with the turn, and opens it anew.
#[tokio::test]
async fn a_turn_goes_on_with_whoever_stands_in_line_when_its_tool_answers() {
    let desk = Desk::new(&["a"]).await;
    desk.dispatch("a").await;
    let lease = desk.kernel.claim_now(&caller(), &request()).await.unwrap().remove(0);
    let run = async |command| desk.kernel.turn_command(&desk.project, &caller(), command, None).await;
    let json = |text: &str| CanonicalJson::parse(text, "json").unwrap();
    let draft = CardDraft {
        content: json(r#"{"tool_name":"t","arguments":{}}"#),
        metadata: json(r#"{"type":"tool.call"}"#),
        tool_calls: None,
        tool_call_id: Some("c1".to_owned()),
        ttl_seconds: None,
    };
    let cards = desk.kernel.turn_cards(vec![NewTurnCard { id: None, draft }]).unwrap();
    let call = Append { fence: fence(&lease), cards, calls: vec![], step: None };
    run(Command::Append(call)).await.unwrap();
    let waiting = vec!["c1".to_owned()];
    let suspend = Suspend { fence: fence(&lease), waiting, resume_seconds: 60, calls: vec![] };
    run(Command::Suspend(suspend)).await.unwrap();
    // Who does not start what it is given is passed over.
    let passive = desk.kernel.stand_in_line(&ClaimRequest { start: false, ..request() }, 1);
    let place = desk.kernel.stand_in_line(&ClaimRequest { worker_id: "other".to_owned(), ..request() }, 1);
    let report = Report {
        fence: fence(&lease),
        agent_id: lease.agent_id.clone(),
        tool_call_id: "c1".to_owned(),
        status: ToolStatus::Success,
        answer: Answer::Value { result: json("1"), error: None },
        after: Some(AfterExecution::Suspend),
        author_id: None,
        calls: vec![],
        tool_after: None,
        card_status: None,
    };
    run(Command::Report(Box::new(report))).await.unwrap();
    assert!(desk.kernel.leave_line(passive, &[]).await.pass_on().is_empty());
    let resumed = desk.kernel.leave_line(place, &[]).await.pass_on().remove(0);
    assert_eq!(
        (resumed.kind, resumed.turn_id, resumed.epoch),
        (LeaseKind::Resume, lease.turn_id, lease.epoch)
    );
    assert_eq!(row_of(&desk, lease.turn_id).await, (InboxStatus::Processing, Some("other".to_owned())));
    assert_eq!(head_of(&desk, "a").await, Status::Running);
    assert!(desk.kernel.claim_now(&caller(), &request()).await.unwrap().is_empty());
    // Whoever held it before holds it no more.
    assert!(run(Command::Heartbeat(fence(&lease))).await.is_err());
    desk.finish(&resumed).await;
}

/// Whoever gives a turn back is not given it again in the same breath.
#[tokio::test]
async fn a_turn_that_is_given_back_is_left_to_be_looked_for() {
    let desk = Desk::new(&["a"]).await;
    let turn = desk.dispatch("a").await.turn_id;
    let lease = desk.kernel.claim_now(&caller(), &request()).await.unwrap().remove(0);
    let place = desk.kernel.stand_in_line(&request(), 1);
    let release = Release { fence: fence(&lease), defer_seconds: None, reason: None, keep_calls: false };
    desk.kernel.turn_command(&desk.project, &caller(), Command::Release(release), None).await.unwrap();
    assert!(desk.kernel.leave_line(place, &[]).await.pass_on().is_empty());
    assert_eq!(row_of(&desk, turn).await.0, InboxStatus::Pending);
}

/// A turn that waits behind another takes no place in line.
#[tokio::test]
async fn who_waits_behind_a_live_turn_is_not_given_to_anybody() {
    let desk = Desk::new(&["a", "b"]).await;
    let place = desk.kernel.stand_in_line(&request(), 2);
    for agent in ["a", "a", "b"] {
        desk.dispatch(agent).await;
    }
    let leases = desk.kernel.leave_line(place, &[]).await.pass_on();
    let agents: Vec<_> = leases.iter().map(|lease| lease.agent_id.to_string()).collect();
    assert_eq!(agents, ["a", "b"]);
}

/// A claim that goes away with a turn in its hands: the next claim, or the watchdog, gives it to somebody else.
#[tokio::test]
async fn what_was_claimed_for_one_who_has_gone_is_given_back() {
    for started in [true, false] {
        let desk = Desk::new(&["a"]).await;
        let place = desk.kernel.stand_in_line(&ClaimRequest { start: started, ..request() }, 1);
        let turn = desk.dispatch("a").await;
        place.served().await;
        drop(place);
        assert_eq!(row_of(&desk, turn.turn_id).await.0, InboxStatus::Processing);
        if started {
            desk.kernel.tick(None).await.unwrap();
            assert_eq!(row_of(&desk, turn.turn_id).await.0, InboxStatus::Pending);
        }
        let leases = desk.kernel.claim(&caller(), &request()).await.unwrap();
        assert_eq!((leases[0].turn_id, leases[0].epoch), (turn.turn_id, turn.epoch.unwrap().next()));
    }
}

/// The same where a claim found its turn by looking: it was not told of it, or went away before it was.
#[tokio::test]
async fn what_was_found_for_one_who_was_not_told_is_given_back() {
    let desk = Desk::new(&["a"]).await;
    let turn = desk.dispatch("a").await;
    desk.store.lose_claim_answer();
    assert!(desk.kernel.claim(&caller(), &request()).await.is_err());
    assert_eq!(row_of(&desk, turn.turn_id).await.0, InboxStatus::Processing);
    let leases = desk.kernel.claim(&caller(), &request()).await.unwrap();
    assert_eq!((leases[0].turn_id, leases[0].epoch), (turn.turn_id, turn.epoch.unwrap().next()));
    // One that is held for somebody else.
    drop(desk.kernel.hold(leases));
    let leases = desk.kernel.claim(&caller(), &request()).await.unwrap();
    assert_eq!((leases[0].turn_id, leases[0].epoch), (turn.turn_id, turn.epoch.unwrap().next().next()));
}

#[tokio::test]
async fn a_claim_that_is_cut_off_while_the_store_is_at_it_loses_nothing() {
    // A writer that is quick has answered before anybody can go away.
    for _ in 0..50 {
        if is_cut_off_and_loses_nothing().await {
            return;
        }
    }
    panic!("every claim was answered before it could be cut off");
}

/// Whether the claim was still waiting for the store when it was dropped.
async fn is_cut_off_and_loses_nothing() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(&folder.path().join("claims.db")).unwrap());
    let unused = Arc::new(ReferenceStore::new());
    let desk = Desk::on(Arc::clone(&store) as _, unused, &["a"], ContextConfig::default()).await;
    let turn = desk.dispatch("a").await;
    let (by, request) = (caller(), request());
    let mut claim = Box::pin(desk.kernel.claim(&by, &request));
    // It sees that there is something, and asks the writer for it.
    let mut polls = 0;
    let is_waiting = std::future::poll_fn(|context| {
        polls += 1;
        match claim.as_mut().poll(context) {
            Poll::Ready(_) => Poll::Ready(false),
            Poll::Pending if polls == 2 => Poll::Ready(true),
            Poll::Pending => Poll::Pending,
        }
    })
    .await;
    if !is_waiting {
        return false;
    }
    // The store gives the turn, and nobody hears of it.
    while store.turn(&desk.project, turn.turn_id).await.unwrap().unwrap().status == InboxStatus::Pending {
        tokio::task::yield_now().await;
    }
    drop(claim);
    let leases = desk.kernel.claim(&by, &request).await.unwrap();
    assert_eq!((leases[0].turn_id, leases[0].epoch), (turn.turn_id, turn.epoch.unwrap().next()));
    true
}

/// SEC-07, DP-15: a claim that waits takes all that is there, and no more than it asked for.
#[tokio::test]
async fn a_claim_that_waits_is_given_at_most_what_it_asked_for() {
    let agents = ["a", "b", "c", "d", "e"];
    let desk = Desk::new(&agents).await;
    let mut turns = vec![];
    for agent in agents {
        turns.push(desk.dispatch(agent).await.turn_id);
    }
    let request = Desk::request(4, Duration::from_secs(1));
    let mut given = vec![];
    for most in [4, 1] {
        let leases = desk.kernel.claim(&caller(), &request).await.unwrap();
        assert_eq!(leases.len(), most);
        given.extend(leases.iter().map(|lease| lease.turn_id));
    }
    assert_eq!(given, turns);
    let nothing = Desk::request(0, Duration::from_secs(1));
    assert!(desk.kernel.claim(&caller(), &nothing).await.unwrap().is_empty());
}
