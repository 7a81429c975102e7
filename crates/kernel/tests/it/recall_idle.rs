//! Agents at rest that a kernel dispatches to without reading, while another kernel on the same store changes them.

use crate::desk::{Desk, caller};
use cardwire_kernel::{
    Done, Kernel, KernelError, Remember,
    protocol::{
        RefusalCode, Rejection,
        facts::{create_box::Created, rewrite_box::RewriteBox},
        roster::add_agent::AddAgent,
        turn::{
            Command,
            dispatch::{Dispatch, Dispatched, Receipt},
            stop::Stop,
        },
    },
};
use cardwire_model::{AgentId, AnswerKey, BoxId, EventKind, Hash256, TurnEpoch, limits};
use cardwire_store::Turns as _;
use std::sync::Arc;

fn agent(name: &str) -> AgentId {
    name.parse().unwrap()
}

/// A desk whose agent has had a turn.
async fn at_rest() -> Desk {
    let desk = Desk::new(&["a"]).await;
    serve(&desk, "a").await;
    desk
}

/// Gives the agent a turn, and ends it.
async fn serve(desk: &Desk, agent: &str) -> Receipt {
    let receipt = desk.dispatch(agent).await;
    end(desk, &receipt).await;
    receipt
}

async fn end(desk: &Desk, receipt: &Receipt) {
    let lease = desk.claim().await.remove(0);
    assert_eq!(lease.turn_id, receipt.turn_id);
    desk.finish(&lease).await;
    assert_eq!(desk.task_events(receipt.turn_id).await, 1);
}

async fn dispatch(desk: &Desk, command: &Dispatch) -> Result<Receipt, KernelError> {
    match desk.kernel.dispatch(&desk.project, &caller(), command, None).await? {
        Done::Fresh(Dispatched::Accepted(receipt)) => Ok(*receipt),
        other => panic!("{other:?}"),
    }
}

/// Dispatches while the profile's box cannot be read; then it is there again.
async fn unread(desk: &Desk, command: &Dispatch) -> Result<Receipt, KernelError> {
    let lost = desk.store.lose_box(&desk.project, command.profile_box.unwrap());
    let receipt = dispatch(desk, command).await;
    desk.store.find_box(&desk.project, lost);
    receipt
}

fn is_refused<T: std::fmt::Debug>(tried: &Result<T, KernelError>, code: RefusalCode) {
    let is = matches!(tried, Err(KernelError::Rejected(Rejection::Refused(refusal))) if refusal.code == code);
    assert!(is, "{tried:?}");
}

async fn new_box(kernel: &Kernel, desk: &Desk) -> BoxId {
    let created = kernel.create_box(&desk.project, &caller(), None, &[], None).await.unwrap();
    let Done::Fresh(Created::New(head)) = created else { panic!("no box") };
    head.box_id
}

/// DP-13: the turn after that waits behind it, and is read.
#[tokio::test]
async fn an_agent_at_rest_is_dispatched_to_without_reading() {
    let desk = at_rest().await;
    let command = desk.turn("a", desk.context_box);
    let second = unread(&desk, &command).await.unwrap();
    assert_eq!(second.epoch, Some(TurnEpoch::new(2)));
    is_refused(&unread(&desk, &command).await, RefusalCode::ProfileBoxNotFound);
    let behind = dispatch(&desk, &command).await.unwrap();
    assert_eq!(behind.epoch, None);
    end(&desk, &second).await;
    end(&desk, &behind).await;
    assert_eq!(unread(&desk, &command).await.unwrap().epoch, Some(TurnEpoch::new(4)));
}

/// DP-13: no two turns of an agent share an epoch, and whoever was wrong reads for a while.
#[tokio::test]
async fn dp_13_an_agent_that_another_process_has_moved_is_read() {
    let mut desk = at_rest().await;
    let here = Arc::clone(&desk.kernel);
    desk.kernel = desk.other();
    let elsewhere = serve(&desk, "a").await;
    assert_eq!(elsewhere.epoch, Some(TurnEpoch::new(2)));
    desk.kernel = here;
    assert_eq!(serve(&desk, "a").await.epoch, Some(TurnEpoch::new(3)));
    let command = desk.turn("a", desk.context_box);
    is_refused(&unread(&desk, &command).await, RefusalCode::ProfileBoxNotFound);
    desk.clock.0.advance(limits::RECALL_PAUSE_MS / 1_000);
    assert_eq!(unread(&desk, &command).await.unwrap().epoch, Some(TurnEpoch::new(4)));
}

/// WD-08: a head that was lost is rebuilt, whatever was known of it.
#[tokio::test]
async fn wd_08_an_agent_whose_head_is_lost_is_rebuilt() {
    let desk = at_rest().await;
    desk.store.lose_head(&desk.project, &agent("a"));
    assert!(serve(&desk, "a").await.epoch > Some(TurnEpoch::new(1)));
}

/// PM-02: a turn goes to the workers that the roster names now.
#[tokio::test]
async fn pm_02_an_agent_that_another_process_has_listed_anew_is_read() {
    for elsewhere in [false, true] {
        let desk = at_rest().await;
        let kernel = if elsewhere { desk.other() } else { Arc::clone(&desk.kernel) };
        kernel.put_profile(&desk.project, &caller(), Desk::profile("elsewhere")).await.unwrap();
        let command = AddAgent { refresh: true, ..Desk::agent("a") };
        kernel.add_agent(&desk.project, &caller(), &command, None).await.unwrap();
        // A dispatch from here makes no conflict, after which everything would be read, if it was listed from here.
        let command = desk.turn("a", desk.context_box);
        if !elsewhere {
            is_refused(&unread(&desk, &command).await, RefusalCode::ProfileBoxNotFound);
        }
        let receipt = desk.dispatch("a").await;
        let row = desk.store.turn(&desk.project, receipt.turn_id).await.unwrap().unwrap();
        assert_eq!(row.worker_target.as_str(), "elsewhere");
        let stop = Stop { turn_id: receipt.turn_id, epoch: None, reason: None, remains: Default::default() };
        desk.kernel.turn_command(&desk.project, &caller(), Command::Stop(stop), None).await.unwrap();
        assert_eq!(unread(&desk, &command).await.is_ok(), !elsewhere);
    }
}

/// a box that this process has made is sealed as it is then, and its event says so.
#[tokio::test]
async fn x_09_a_new_box_is_known_and_one_that_another_process_has_rewritten_is_read() {
    let desk = at_rest().await;
    for (rewritten, generation) in [(false, 1), (true, 2)] {
        let context = new_box(&desk.kernel, &desk).await;
        let command = desk.turn("a", context);
        if rewritten {
            let rewrite = RewriteBox { project: desk.project.clone(), box_id: context, card_ids: vec![] };
            desk.other().rewrite_box(&caller(), &rewrite, None).await.unwrap();
        }
        let receipt = if rewritten { dispatch(&desk, &command).await } else { unread(&desk, &command).await };
        end(&desk, &receipt.unwrap()).await;
        let events = desk.events().await;
        let sealed = |kind, id: &str| kind == EventKind::BoxSealed && id == context.to_string();
        let data: Vec<_> = events
            .iter()
            .filter(|event| sealed(event.event.kind, &event.event.target))
            .map(|event| event.event.data.clone())
            .collect();
        let [data] = &data[..] else { panic!("{data:?}") };
        assert!(data.as_str().contains(&format!("\"generation\":{generation}")), "{data:?}");
    }
}

/// CB-14: a box that a turn elsewhere writes is not given to anybody.
#[tokio::test]
async fn cb_14_a_box_that_came_to_be_written_elsewhere_is_refused() {
    let desk = Desk::new(&["a", "b"]).await;
    serve(&desk, "a").await;
    let context = new_box(&desk.kernel, &desk).await;
    let writes = Dispatch { output_box: Some(context), ..desk.turn("b", desk.context_box) };
    desk.other().dispatch(&desk.project, &caller(), &writes, None).await.unwrap();
    is_refused(&dispatch(&desk, &desk.turn("a", context)).await, RefusalCode::OutputBoxInUse);
}

/// DP-10: names that are taken are found taken.
#[tokio::test]
async fn dp_10_a_repeat_is_a_repeat_for_an_agent_at_rest_too() {
    let desk = at_rest().await;
    let named = Dispatch { correlation_id: Some("c".to_owned()), ..desk.turn("a", desk.context_box) };
    let first = unread(&desk, &named).await.unwrap();
    end(&desk, &first).await;
    let again = desk.kernel.dispatch(&desk.project, &caller(), &named, None).await.unwrap();
    assert!(matches!(again, Done::Fresh(Dispatched::Repeated(turn)) if turn == first.turn_id), "{again:?}");
    let another = Dispatch { display_name: Some("another".to_owned()), ..named };
    is_refused(&dispatch(&desk, &another).await, RefusalCode::DuplicateCorrelation);
    let taken = Dispatch { turn_id: Some(first.turn_id), ..desk.turn("a", desk.context_box) };
    is_refused(&dispatch(&desk, &taken).await, RefusalCode::DuplicateCorrelation);
}

/// API-16: the same request again gets the answer it got, from whichever process; another under its key is refused.
#[tokio::test]
async fn api_16_a_dispatch_that_was_answered_is_answered_again() {
    let desk = at_rest().await;
    let remember = |hash: &[u8]| Remember {
        key: AnswerKey { caller: "caller".to_owned(), key: "k".to_owned(), request_hash: Hash256::of(hash) },
        render: Box::new(|_: &Dispatched| Some((201, "the answer".to_owned()))),
    };
    let command = desk.turn("a", desk.context_box);
    let lost = desk.store.lose_box(&desk.project, command.profile_box.unwrap());
    let first = desk.kernel.dispatch(&desk.project, &caller(), &command, Some(&remember(b"one"))).await;
    desk.store.find_box(&desk.project, lost);
    let Done::Fresh(Dispatched::Accepted(receipt)) = first.unwrap() else { panic!("not dispatched") };
    end(&desk, &receipt).await;
    for kernel in [desk.other(), Arc::clone(&desk.kernel)] {
        let again = kernel.dispatch(&desk.project, &caller(), &command, Some(&remember(b"one"))).await;
        assert!(matches!(&again, Ok(Done::Replayed(answer)) if answer.body == "the answer"), "{again:?}");
    }
    let wrong = desk.kernel.dispatch(&desk.project, &caller(), &command, Some(&remember(b"two"))).await;
    assert!(matches!(wrong, Err(KernelError::Rejected(_))), "{wrong:?}");
    assert_eq!(serve(&desk, "a").await.epoch, Some(TurnEpoch::new(3)), "nothing else was dispatched");
}

/// DP-09: who does not want to wait is refused, whoever has made the agent busy.
#[tokio::test]
async fn dp_09_an_agent_that_another_process_has_made_busy_is_busy() {
    let desk = at_rest().await;
    let command = desk.turn("a", desk.context_box);
    desk.other().dispatch(&desk.project, &caller(), &command, None).await.unwrap();
    let hurried = Dispatch { queue_if_busy: false, ..command };
    is_refused(&dispatch(&desk, &hurried).await, RefusalCode::AgentBusy);
}
