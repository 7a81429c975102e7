//! Sessions and turns: additions at once, and the input that appears once.

use super::{append, draft, fence, key, message, sent};
use crate::desk::{Desk, caller};
use cardwire_kernel::{
    Earlier, Kernel, KernelConfig,
    protocol::{
        Rejection,
        session::patch::Patch,
        turn::{
            Command, Remains,
            finish::{Deliverable, Finish},
        },
    },
};
use cardwire_model::{CanonicalJson, Speaker, TaskStatus, limits};
use serde_json::json;
use std::{collections::HashSet, sync::Arc};

/// ST-16: additions by many writers, in two processes, all survive.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn st_16_additions_at_once_all_survive() {
    let desk = Desk::new(&[]).await;
    let other = Kernel::idle(KernelConfig::new(Arc::clone(&desk.store) as _));
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..8 {
        let kernel = Arc::clone(if writer % 2 == 0 { &desk.kernel } else { &other });
        let project = desk.project.clone();
        writers.spawn(async move {
            for n in 0..25 {
                let patch = append(vec![message(&format!("w{writer}n{n}"), Speaker::Human, "x")]);
                loop {
                    // Two processes may wear each other out; nothing is lost by trying again.
                    match kernel.patch_session(&project, &caller(), &key("s"), &patch, None).await {
                        Ok(_) => break,
                        Err(cardwire_kernel::KernelError::Contended) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        });
    }
    writers.join_all().await;
    let view = desk.session("s").await;
    let ids: HashSet<_> = view.messages.iter().map(|card| card.id).collect();
    assert_eq!((view.messages.len(), ids.len(), view.version), (200, 200, 200));
}

/// ST-07, CM-06: the input is asked while the turn runs, and remembered with its answer when it ends.
#[tokio::test]
async fn st_07_the_input_appears_once_while_the_turn_runs_and_after_it() {
    let desk = Desk::new(&["a"]).await;
    desk.patch("s", &append(vec![message("m0", Speaker::Human, "hello")])).await;
    let lease = desk.turn_of("a", "s", "What is new?").await;
    let call = desk.call(&lease, None).await.unwrap();
    let human: Vec<_> =
        sent(&call).into_iter().filter(|(role, _)| role == "user").map(|(_, text)| text).collect();
    assert_eq!(human, ["hello", "What is new?"]);
    assert_eq!(desk.texts("s").await, ["hello"], "nothing of a turn is in memory before it ends");
    desk.finish(&lease).await;
    let texts = desk.texts("s").await;
    assert_eq!((texts.len(), texts[1].as_str()), (3, "What is new?"));
    let names: Vec<_> = desk.session("s").await.messages[1..]
        .iter()
        .map(|card| card.metadata.to_value()["message_id"].clone())
        .collect();
    assert_eq!(names, [json!(lease.turn_id.to_string()), json!(format!("{}_reply", lease.turn_id))]);
    // The next turn sees both once.
    let next = desk.turn_of("a", "s", "What is new?").await;
    let call = desk.call(&next, None).await.unwrap();
    let asked = sent(&call).iter().filter(|(role, text)| role == "user" && text == "What is new?").count();
    assert_eq!(asked, 2, "a question that was asked before is history; the new one is asked (W-18)");
}

/// ST-07: a turn that ends badly, or whose end is refused, leaves memory alone.
#[tokio::test]
async fn st_07_a_turn_that_fails_leaves_memory_alone() {
    let desk = Desk::new(&["a"]).await;
    let lease = desk.turn_of("a", "s", "Try").await;
    let mut stale = fence(&lease);
    stale.epoch = cardwire_model::TurnEpoch::new(99);
    for (fence, status) in [(stale, TaskStatus::Success), (fence(&lease), TaskStatus::Failed)] {
        let finish = Finish {
            fence,
            status,
            deliverable: Deliverable::Content(CanonicalJson::string("no").unwrap()),
            error: None,
            error_code: None,
            cards: vec![],
            step: None,
            replies: vec![],
            calls: vec![],
            remains: Remains::default(),
        };
        let _ =
            desk.kernel.turn_command(&desk.project, &caller(), Command::Finish(Box::new(finish)), None).await;
    }
    let missing = desk.kernel.session(&desk.project, &key("s"), None).await.unwrap_err();
    assert!(matches!(missing, cardwire_kernel::KernelError::Rejected(Rejection::NotFound { .. })));
}

/// ST-07: turns of several agents that end at the same time all find their way into one memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn st_07_turns_that_end_together_are_all_remembered() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let desk = Arc::new(Desk::new(&names).await);
    let mut leases = vec![];
    for name in names {
        leases.push(desk.turn_of(name, "s", &format!("ask {name}")).await);
    }
    let mut ends = tokio::task::JoinSet::new();
    for lease in leases {
        let desk = Arc::clone(&desk);
        ends.spawn(async move { desk.finish(&lease).await });
    }
    ends.join_all().await;
    let texts = desk.texts("s").await;
    assert_eq!(texts.len(), 2 * names.len());
    for name in names {
        assert_eq!(texts.iter().filter(|text| **text == format!("ask {name}")).count(), 1);
    }
}

/// RP-02: what is deleted after a call is named when the request cannot be rendered again.
#[tokio::test]
async fn rp_02_a_card_that_is_gone_is_named() {
    let desk = Desk::new(&["a"]).await;
    let lease = desk.turn_of("a", "s", "Remember").await;
    let thought = desk.write(&lease, vec![draft("agent.thought", &json!("a thought"), None)]).await[0];
    let call = desk.call(&lease, None).await.unwrap();
    let rendered = desk.kernel.render_call(&desk.project, call.call_id).await.unwrap();
    assert_eq!((rendered.body.as_deref(), rendered.hash_ok), (Some(call.body.as_str()), true));
    desk.kernel.delete_card(&desk.project, &caller(), thought).await.unwrap();
    let rendered = desk.kernel.render_call(&desk.project, call.call_id).await.unwrap();
    assert!(!rendered.hash_ok && rendered.missing.unwrap().contains(&thought.to_string()));
}

/// NF-12, ST-09: a checkpoint is restored without what came later, and the session goes on from there.
#[tokio::test]
async fn st_09_a_restored_session_goes_on_without_what_came_later() {
    let desk = Desk::new(&[]).await;
    desk.patch("s", &append(vec![message("a", Speaker::Human, "one")])).await;
    let then = desk.session("s").await.session.checkpoint;
    desk.patch("s", &append(vec![message("b", Speaker::Human, "two")])).await;
    let set = Patch { set: [("goal".to_owned(), json!("g"))].into(), ..Patch::default() };
    desk.patch("s", &set).await;
    desk.kernel.restore_session(&desk.project, &caller(), &key("s"), then, None).await.unwrap();
    desk.patch("s", &append(vec![message("c", Speaker::Human, "three")])).await;
    assert_eq!(desk.texts("s").await, ["one", "three"]);
    let checkpoints = desk.kernel.list_checkpoints(&desk.project, &key("s"), None, 50).await.unwrap();
    let versions: Vec<_> = checkpoints.iter().map(|checkpoint| checkpoint.checkpoint.version).collect();
    assert_eq!(versions, [5, 4, 3, 2, 1]);
    let old = desk.kernel.session(&desk.project, &key("s"), Some(checkpoints[2].id)).await.unwrap();
    assert_eq!((old.messages.len(), old.fields["goal"].as_str()), (2, Some("g")));
    // A session of the same name that comes after it cannot be put back to what was deleted.
    desk.kernel.delete_session(&desk.project, &caller(), &key("s")).await.unwrap();
    desk.patch("s", &append(vec![message("n", Speaker::Human, "new")])).await;
    assert!(desk.kernel.session(&desk.project, &key("s"), Some(then)).await.is_err());
    assert!(desk.kernel.restore_session(&desk.project, &caller(), &key("s"), then, None).await.is_err());
    assert_eq!(desk.texts("s").await, ["new"]);
}

/// SEC-07: as many messages as one answer shows are shown, and of one more the newest.
#[tokio::test]
async fn a_session_shows_the_newest_of_its_messages() {
    let desk = Desk::new(&[]).await;
    let say = |n: usize| message(&format!("m{n}"), Speaker::Human, &format!("text {n}"));
    for from in (0..limits::SESSION_ITEMS).step_by(limits::PATCH_ITEMS) {
        desk.patch("s", &append((from..from + limits::PATCH_ITEMS).map(say).collect())).await;
    }
    let view = desk.session("s").await;
    assert_eq!((view.messages.len(), view.earlier), (limits::SESSION_ITEMS, Earlier::default()));
    desk.patch("s", &append(vec![say(limits::SESSION_ITEMS)])).await;
    let view = desk.session("s").await;
    assert_eq!((view.messages.len(), view.earlier.messages), (limits::SESSION_ITEMS, 1));
    let texts = desk.texts("s").await;
    assert_eq!(texts[0], "text 1");
}
