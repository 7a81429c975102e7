//! Turns that a kernel recalls instead of reading them, while another kernel on the same store changes them.

use crate::desk::{Desk, caller};
use cardwire_kernel::{
    Done, KernelError, NewCard, NewTurnCard, Remember,
    protocol::{
        Rejection,
        turn::{
            Command, Fence, Outcome, Proof,
            append::Append,
            claim::Lease,
            finish::{Deliverable, Finish},
            release::Release,
            step::{NewStep, TakeStep},
            stop::Stop,
        },
    },
};
use cardwire_model::{AnswerKey, CanonicalJson, CardDraft, Hash256, Origin, Status, TaskStatus, TurnId};
use cardwire_store::Turns as _;
use std::{sync::Arc, time::Duration};

fn json(text: &str) -> CanonicalJson {
    CanonicalJson::parse(text, "json").unwrap()
}

/// A turn that its own dispatch claimed: this kernel recalls it.
async fn recalled(desk: &Desk, agent: &str) -> Lease {
    let place = desk.kernel.stand_in_line(&Desk::request(1, Duration::ZERO), 1);
    desk.dispatch(agent).await;
    let mut leases = desk.kernel.leave_line(place, &[]).await.pass_on();
    leases.pop().unwrap()
}

fn fence(lease: &Lease) -> Fence {
    let proof = Proof::Lease(Hash256::of(&lease.turn.as_ref().unwrap().secret));
    Fence { turn_id: lease.turn_id, epoch: lease.epoch, proof }
}

fn step(lease: &Lease, status: Option<&str>) -> NewStep {
    NewStep {
        id: Some(format!("step_{}", lease.turn_id).to_lowercase().parse().unwrap()),
        phase: "call".to_owned(),
        status: status.map(str::to_owned),
        call_id: None,
        request_box: None,
        metadata: json("{}"),
    }
}

fn finish(lease: &Lease, step: Option<NewStep>) -> Command {
    Command::Finish(Box::new(Finish {
        fence: fence(lease),
        status: TaskStatus::Success,
        deliverable: Deliverable::Content(json(r#""done""#)),
        error: None,
        error_code: None,
        cards: vec![],
        step,
        replies: vec![],
        calls: vec![],
        remains: Default::default(),
    }))
}

fn draft(kind: &str) -> CardDraft {
    CardDraft {
        content: json(r#""text""#),
        metadata: json(&format!(r#"{{"type":"{kind}"}}"#)),
        tool_calls: None,
        tool_call_id: None,
        ttl_seconds: None,
    }
}

async fn output(desk: &Desk, turn: TurnId) -> (u32, u32) {
    desk.store.turn(&desk.project, turn).await.unwrap().unwrap().ended.unwrap().output
}

/// Steps of the turn are recalled with it, so that its end changes the one it names.
#[tokio::test]
async fn a_recalled_turn_is_ended_without_reading_it() {
    let desk = Desk::new(&["a", "b"]).await;
    let at_once = recalled(&desk, "a").await;
    ends_unread(&desk, &at_once).await;
    desk.dispatch("b").await;
    let by_looking = desk.claim().await.remove(0);
    assert_ne!(by_looking.agent_id, at_once.agent_id);
    ends_unread(&desk, &by_looking).await;
}

async fn ends_unread(desk: &Desk, lease: &Lease) {
    let take = TakeStep { fence: fence(lease), step: step(lease, None), records: vec![] };
    desk.kernel.turn_command(&desk.project, &caller(), Command::Step(take), None).await.unwrap();
    // Whoever read this row would refuse its holder.
    let id = desk.store.turn(&desk.project, lease.turn_id).await.unwrap().unwrap().id;
    desk.store.damage_inbox(&desk.project, id, |item| item.token_hash = None);
    let end = finish(lease, Some(step(lease, Some("done"))));
    desk.kernel.turn_command(&desk.project, &caller(), end.clone(), None).await.unwrap();
    assert_eq!(desk.task_events(lease.turn_id).await, 1);
    let steps = desk.store.steps(&desk.project, &Default::default(), None, 9).await.unwrap();
    let steps = steps.iter().filter(|step| step.turn_id == lease.turn_id);
    assert_eq!(steps.map(|step| step.status.as_deref()).collect::<Vec<_>>(), [Some("done")]);
    // It is recalled no longer.
    let again = desk.kernel.turn_command(&desk.project, &caller(), end, None).await;
    assert!(matches!(again, Err(KernelError::Rejected(Rejection::StaleTurn(..)))), "{again:?}");
}

/// NF-03: a turn that was stopped elsewhere stays stopped, and its holder is told.
#[tokio::test]
async fn nf_03_a_turn_that_another_process_stopped_is_not_ended_again() {
    let desk = Desk::new(&["a"]).await;
    let lease = recalled(&desk, "a").await;
    let stop = Stop { turn_id: lease.turn_id, epoch: None, reason: None, remains: Default::default() };
    desk.other().turn_command(&desk.project, &caller(), Command::Stop(stop), None).await.unwrap();
    let ended = desk.kernel.turn_command(&desk.project, &caller(), finish(&lease, None), None).await;
    assert!(matches!(ended, Err(KernelError::Rejected(Rejection::StaleTurn(..)))), "{ended:?}");
    assert_eq!(desk.task_events(lease.turn_id).await, 1);
    let row = desk.store.turn(&desk.project, lease.turn_id).await.unwrap().unwrap();
    assert_ne!(row.ended.unwrap().status, TaskStatus::Success);
}

/// NF-10: what came to wait behind it, here or elsewhere, is leased when it ends.
#[tokio::test]
async fn nf_10_what_waits_behind_a_recalled_turn_is_leased_when_it_ends() {
    let mut desk = Desk::new(&["a"]).await;
    let here = Arc::clone(&desk.kernel);
    for elsewhere in [false, true] {
        let lease = recalled(&desk, "a").await;
        if elsewhere {
            desk.kernel = desk.other();
        }
        let behind = desk.dispatch("a").await;
        here.turn_command(&desk.project, &caller(), finish(&lease, None), None).await.unwrap();
        let head = desk.store.head(&desk.project, &"a".parse().unwrap()).await.unwrap().unwrap();
        assert_eq!(head.live.as_ref().unwrap().turn_id, behind.turn_id);
        assert_eq!((head.status(), head.queued), (Status::Dispatched, 0));
        let next = desk.claim().await.remove(0);
        assert_eq!(next.turn_id, behind.turn_id);
        desk.finish(&next).await;
    }
}

/// CB-14, WK-03: what the turn wrote meanwhile, here or elsewhere, counts.
#[tokio::test]
async fn wk_03_a_recalled_turn_ends_with_all_that_it_wrote() {
    let desk = Desk::new(&["a", "b"]).await;
    let kernels = [("a", Arc::clone(&desk.kernel)), ("b", desk.other())];
    for (agent, kernel) in kernels {
        let lease = recalled(&desk, agent).await;
        let new = NewTurnCard { id: None, draft: draft("agent.thought") };
        let cards = kernel.turn_cards(vec![new]).unwrap();
        let append = Append { fence: fence(&lease), cards, step: None, calls: vec![] };
        kernel.turn_command(&desk.project, &caller(), Command::Append(append), None).await.unwrap();
        desk.kernel.turn_command(&desk.project, &caller(), finish(&lease, None), None).await.unwrap();
        assert_eq!(output(&desk, lease.turn_id).await, (0, 2), "{agent}");
    }
}

/// Nobody is refused on recalled rows: a turn that was given back elsewhere, and claimed there, is ended by its new holder here.
#[tokio::test]
async fn a_turn_that_has_a_new_holder_is_read() {
    let desk = Desk::new(&["a"]).await;
    let lease = recalled(&desk, "a").await;
    let there = desk.other();
    let release = Release { fence: fence(&lease), defer_seconds: None, reason: None, keep_calls: false };
    there.turn_command(&desk.project, &caller(), Command::Release(release), None).await.unwrap();
    let request = Desk::request(1, Duration::ZERO);
    let again = there.claim_now(&caller(), &request).await.unwrap().remove(0);
    assert_eq!(again.turn_id, lease.turn_id);
    desk.kernel.turn_command(&desk.project, &caller(), finish(&again, None), None).await.unwrap();
    let old = desk.kernel.turn_command(&desk.project, &caller(), finish(&lease, None), None).await;
    assert!(matches!(old, Err(KernelError::Rejected(Rejection::Unauthenticated))), "{old:?}");
    assert_eq!(desk.task_events(again.turn_id).await, 1);
}

/// A card that is there already is delivered.
#[tokio::test]
async fn a_recalled_turn_delivers_a_card_that_somebody_else_wrote() {
    let desk = Desk::new(&["a"]).await;
    let lease = recalled(&desk, "a").await;
    let id = desk.kernel.card_id();
    let new = NewCard { id: Some(id), draft: draft("task.deliverable"), origin: Origin::Operator };
    desk.kernel.put_card(&desk.project, &caller(), new, None).await.unwrap();
    let Command::Finish(mut end) = finish(&lease, None) else { unreachable!() };
    end.deliverable = Deliverable::Card(id);
    desk.kernel.turn_command(&desk.project, &caller(), Command::Finish(end), None).await.unwrap();
    let row = desk.store.turn(&desk.project, lease.turn_id).await.unwrap().unwrap();
    assert_eq!(row.ended.map(|ended| ended.deliverable), Some(id));
}

/// API-16: an end that was told twice, under one key and to two processes, is answered twice and done once.
#[tokio::test]
async fn api_16_an_end_that_another_process_has_done_is_replayed() {
    let desk = Desk::new(&["a"]).await;
    let lease = recalled(&desk, "a").await;
    let remember = Remember {
        key: AnswerKey {
            caller: "worker".to_owned(),
            key: "k".to_owned(),
            request_hash: Hash256::of(b"the same request"),
        },
        render: Box::new(|_: &Outcome| Some((200, "the answer".to_owned()))),
    };
    let end = || finish(&lease, None);
    let first = desk.other().turn_command(&desk.project, &caller(), end(), Some(&remember)).await.unwrap();
    assert!(matches!(first, Done::Fresh(_)), "{first:?}");
    let again = desk.kernel.turn_command(&desk.project, &caller(), end(), Some(&remember)).await.unwrap();
    assert!(matches!(&again, Done::Replayed(answer) if answer.body == "the answer"), "{again:?}");
    assert_eq!(desk.task_events(lease.turn_id).await, 1);
}

/// OB-01, NF-03: a call is composed for whoever holds the turn. Others are told that they do not, whatever else is wrong.
#[tokio::test]
async fn nf_03_a_call_of_a_recalled_turn_is_composed_for_its_holder_only() {
    let desk = Desk::new(&["a", "b", "c", "d"]).await;
    let lease = recalled(&desk, "a").await;
    let composed = desk.call(&lease, None).await.unwrap();
    let all = Default::default();
    let steps = || desk.store.steps(&desk.project, &all, None, 9);
    assert_eq!(steps().await.unwrap()[0].call_id, Some(composed.call_id.to_string()));
    let too_long = desk.call(&recalled(&desk, "b").await, Some(1)).await;
    let is_stale = matches!(too_long, Err(KernelError::Rejected(Rejection::StaleTurn(..))));
    assert!(too_long.is_err() && !is_stale, "{too_long:?}");
    for (agent, window) in [("c", None), ("d", Some(1))] {
        let lease = recalled(&desk, agent).await;
        let stop = Stop { turn_id: lease.turn_id, epoch: None, reason: None, remains: Default::default() };
        desk.other().turn_command(&desk.project, &caller(), Command::Stop(stop), None).await.unwrap();
        let refused = desk.call(&lease, window).await;
        assert!(matches!(refused, Err(KernelError::Rejected(Rejection::StaleTurn(..)))), "{refused:?}");
    }
    assert_eq!(steps().await.unwrap().len(), 1, "nothing was written for those");
}
