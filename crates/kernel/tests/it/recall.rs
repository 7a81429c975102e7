//! Turns that a kernel recalls instead of reading them, while another kernel on the same store changes them.

use crate::desk::{Desk, caller};
use cardwire_kernel::{
    Kernel, KernelConfig, KernelError, NewCard, NewTurnCard,
    protocol::{
        Rejection,
        turn::{
            Command, Fence, Proof,
            append::Append,
            claim::Lease,
            finish::{Deliverable, Finish},
            step::{NewStep, TakeStep},
            stop::Stop,
        },
    },
};
use cardwire_model::{CanonicalJson, CardDraft, Hash256, Origin, Status, TaskStatus, TurnId};
use cardwire_store::Turns as _;
use std::{sync::Arc, time::Duration};

fn json(text: &str) -> CanonicalJson {
    CanonicalJson::parse(text, "json").unwrap()
}

/// A turn that its own dispatch claimed: this kernel recalls it.
async fn recalled(desk: &Desk, agent: &str) -> Lease {
    let place = desk.kernel.stand_in_line(&Desk::request(1, Duration::ZERO), 1);
    desk.dispatch(agent).await;
    let mut leases = desk.kernel.leave_line(place, &[]).await;
    leases.pop().unwrap()
}

/// Another process on the same store.
fn other(desk: &Desk) -> Arc<Kernel> {
    let config = KernelConfig {
        clock: Arc::clone(&desk.clock) as _,
        ..KernelConfig::new(Arc::clone(&desk.store) as _)
    };
    Kernel::idle(config)
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
    let desk = Desk::new(&["a"]).await;
    let lease = recalled(&desk, "a").await;
    let take = TakeStep { fence: fence(&lease), step: step(&lease, None), records: vec![] };
    desk.kernel.turn_command(&desk.project, &caller(), Command::Step(take), None).await.unwrap();
    // Whoever read this row would refuse its holder.
    let id = desk.store.turn(&desk.project, lease.turn_id).await.unwrap().unwrap().id;
    desk.store.damage_inbox(&desk.project, id, |item| item.token_hash = None);
    let end = finish(&lease, Some(step(&lease, Some("done"))));
    desk.kernel.turn_command(&desk.project, &caller(), end.clone(), None).await.unwrap();
    assert_eq!(desk.task_events(lease.turn_id).await, 1);
    let steps = desk.store.steps(&desk.project, &Default::default(), None, 9).await.unwrap();
    assert_eq!(steps.iter().map(|step| step.status.as_deref()).collect::<Vec<_>>(), [Some("done")]);
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
    other(&desk).turn_command(&desk.project, &caller(), Command::Stop(stop), None).await.unwrap();
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
            desk.kernel = other(&desk);
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
    let kernels = [("a", Arc::clone(&desk.kernel)), ("b", other(&desk))];
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

/// Nobody is refused on recalled rows: they do not tell of a card that somebody else wrote.
#[tokio::test]
async fn what_a_recalled_turn_does_not_know_of_is_read() {
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
