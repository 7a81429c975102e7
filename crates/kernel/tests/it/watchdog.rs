//! The watchdog's rounds over damaged and lost rows.

use crate::desk::{Desk, caller};
use cardwire_kernel::protocol::turn::rebuild::Rebuilt;
use cardwire_model::{AgentId, InboxStatus, Status};

/// WD-10, WD-13: rows that were damaged are put away, and do not stop the healthy ones of the same round.
#[tokio::test]
async fn a_poisoned_row_does_not_stop_the_round() {
    let desk = Desk::new(&["a", "b", "c"]).await;
    let poisoned = [desk.dispatch("a").await, desk.dispatch("c").await];
    let healthy = desk.dispatch("b").await;
    desk.store.damage_inbox(&desk.project, poisoned[0].inbox_id, |item| item.channel = None);
    desk.store.damage_inbox(&desk.project, poisoned[1].inbox_id, |item| item.depth = None);
    desk.clock.0.advance(11);
    let report = desk.kernel.tick(None).await.unwrap();
    let done = |receipt: &cardwire_kernel::protocol::turn::dispatch::Receipt| {
        let of_turn = report.actions.iter().filter(|action| action.turn_id == Some(receipt.turn_id));
        of_turn.map(|action| (action.action, action.error.clone())).collect::<Vec<_>>()
    };
    assert_eq!(done(&healthy), [("ring", None)]);
    for (receipt, reason) in poisoned.iter().zip(["missing_channel", "invalid_replay_context"]) {
        assert!(done(receipt).contains(&("archive", None)), "{report:?}");
        let item = desk.kernel.turn(&desk.project, receipt.turn_id).await.unwrap().item;
        assert_eq!((item.status, item.reason.as_deref()), (InboxStatus::Error, Some(reason)));
        assert_eq!(desk.task_events(receipt.turn_id).await, 1);
    }
    let again = desk.kernel.tick(None).await.unwrap();
    assert!(again.actions.is_empty(), "{again:?}");
}

/// DP-14: a poisoned row in the queue is passed over by whoever leases the next turn.
#[tokio::test]
async fn a_poisoned_row_in_the_queue_is_passed_over() {
    let desk = Desk::new(&["a"]).await;
    desk.dispatch("a").await;
    let poisoned = desk.dispatch("a").await;
    let good = desk.dispatch("a").await;
    desk.store.damage_inbox(&desk.project, poisoned.inbox_id, |item| item.payload = "[]".to_owned());
    let first = desk.claim().await;
    desk.finish(&first[0]).await;
    let next = desk.claim().await;
    assert_eq!(next[0].turn_id, good.turn_id);
    let item = desk.kernel.turn(&desk.project, poisoned.turn_id).await.unwrap().item;
    assert_eq!((item.status, item.reason.as_deref()), (InboxStatus::Error, Some("invalid_payload_type")));
    assert_eq!(desk.task_events(poisoned.turn_id).await, 1);
}

/// WD-08, W-14, NF-02: a head that is lost comes back by whoever needs it next, with a higher epoch.
#[tokio::test]
async fn a_lost_head_comes_back() {
    let desk = Desk::new(&["a"]).await;
    let agent: AgentId = "a".parse().unwrap();
    desk.dispatch("a").await;
    let waiting = desk.dispatch("a").await;
    let lease = desk.claim().await.remove(0);
    let output = desk.kernel.head(&desk.project, &agent).await.unwrap().unwrap().live.unwrap().output_box;
    desk.store.lose_head(&desk.project, &agent);
    let Rebuilt::Restored(head) = desk.kernel.rebuild(&desk.project, &caller(), &agent).await.unwrap() else {
        panic!("not restored")
    };
    assert_eq!((head.status(), head.epoch.get(), head.queued), (Status::Dispatched, 2, 1));
    assert_eq!(head.live.unwrap().output_box, output);
    assert!(matches!(
        desk.kernel.rebuild(&desk.project, &caller(), &agent).await.unwrap(),
        Rebuilt::Present(_)
    ));
    // The first holder is fenced off; the second finishes, and the one that waited comes next.
    let second = desk.claim().await.remove(0);
    assert_eq!((second.turn_id, second.epoch.get()), (lease.turn_id, 2));
    desk.finish(&second).await;
    assert_eq!(desk.claim().await[0].turn_id, waiting.turn_id);

    // Lost while idle, it is found by the next dispatch.
    let desk = Desk::new(&["a"]).await;
    desk.dispatch("a").await;
    let lease = desk.claim().await.remove(0);
    desk.finish(&lease).await;
    desk.store.lose_head(&desk.project, &agent);
    assert_eq!(desk.dispatch("a").await.epoch.map(|epoch| epoch.get()), Some(2));
    // Lost with a turn that nobody has claimed, it is found by the watchdog.
    desk.store.lose_head(&desk.project, &agent);
    desk.clock.0.advance(6);
    let report = desk.kernel.tick(None).await.unwrap();
    assert!(report.actions.iter().any(|action| action.action == "rebuild"), "{report:?}");
    assert_eq!(desk.claim().await[0].epoch.get(), 3);
}

/// F-03, WD-04, DP-11: the round's answer says how often it rang, and it rings for as long as the turn waits.
#[tokio::test]
async fn rings_as_long_as_a_turn_waits() {
    let desk = Desk::new(&["a"]).await;
    let turn = desk.dispatch("a").await;
    let mut seen = vec![];
    for seconds in [11, 11, 9] {
        desk.clock.0.advance(seconds);
        let report = desk.kernel.tick(None).await.unwrap();
        seen.extend(report.actions.iter().map(|action| action.action));
    }
    assert_eq!(seen, ["ring", "ring", "ring"]);
    assert_eq!(desk.task_events(turn.turn_id).await, 0);
}
