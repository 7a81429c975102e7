//! A session that is deleted is gone with everything it ever showed (ST-09).

use super::{append, key, message};
use crate::desk::{Desk, caller};
use cardwire_kernel::{
    CompactRequest, KernelError,
    protocol::{Rejection, session::patch::MessagesOp, session::patch::Patch},
};
use cardwire_model::{AuditAction, Card, Commit, Message, Realm, Session, Speaker, Write, limits};
use cardwire_store::{Catalog, RowFilter, Sessions, Store};

impl Desk {
    /// Cards of sessions that a reader still finds.
    async fn session_cards(&self) -> Vec<Card> {
        let cards = self.store.scan_cards(&self.project, None, 100_000).await.unwrap();
        cards.into_iter().filter(|card| card.kind.is_of_session() && card.deleted_at.is_none()).collect()
    }

    async fn compact_by_hand(&self, summary: &str) {
        let request = CompactRequest { min_keep: Some(1), summary: Some(summary.to_owned()), follows: None };
        self.kernel.compact_session(&self.project, &caller(), &key("s"), &request, None).await.unwrap();
    }

    async fn delete(&self) -> Result<(), KernelError> {
        self.kernel.delete_session(&self.project, &caller(), &key("s")).await
    }

    /// How many cards each commit of the deletions so far took, newest first.
    async fn audited(&self) -> Vec<u64> {
        let (realm, all) = (Realm::from(self.project.clone()), RowFilter::default());
        let rows = self.store.audit(&realm, &all, None, 100).await.unwrap();
        let of_session = rows.iter().filter(|row| row.audit.action == AuditAction::SessionDelete);
        of_session.map(|row| row.audit.detail.to_value()["cards"].as_u64().unwrap()).collect()
    }

    /// Marks the row as a deletion does that gets no further.
    async fn mark(&self) {
        let row = self.store.session(&self.project, &key("s")).await.unwrap().unwrap();
        let at = Some(self.clock.0.now());
        let session = Session { version: row.version.next(), deleted_at: at, ..row.clone() };
        let mut commit = Commit::new(self.project.clone());
        commit.writes.push(Write::PutSession { was: Some(row.version), session: Box::new(session) });
        self.store.commit(commit).await.unwrap();
    }
}

fn said(from: usize, count: usize) -> Patch {
    let speaker = |n: usize| if n.is_multiple_of(2) { Speaker::Human } else { Speaker::Ai };
    let say = |n: usize| message(&format!("m{n}"), speaker(n), &format!("text {n}"));
    append((from..from + count).map(say).collect::<Vec<Message>>())
}

fn is_missing(outcome: Result<impl Sized, KernelError>) -> bool {
    matches!(outcome, Err(KernelError::Rejected(Rejection::NotFound { .. })))
}

#[tokio::test]
async fn st_09_what_was_compacted_and_replaced_goes_too() {
    let desk = Desk::new(&[]).await;
    desk.patch("s", &said(0, 8)).await;
    desk.compact_by_hand("first summary").await;
    let summary = desk.session("s").await.checkpoint.summary.unwrap();
    desk.patch("s", &said(8, 6)).await;
    desk.compact_by_hand("second summary").await;
    let replace = MessagesOp::Replace(vec![message("z", Speaker::Human, "zed")]);
    desk.patch("s", &Patch { messages: Some(replace), ..Patch::default() }).await;
    desk.patch("other", &said(0, 2)).await;
    assert!(desk.kernel.expand_summary(&desk.project, summary).await.is_ok());
    let before = desk.session_cards().await.len();
    desk.delete().await.unwrap();
    // Two messages and a checkpoint of the other session.
    let left = desk.session_cards().await;
    assert_eq!((left.len(), desk.texts("other").await.len()), (3, 2));
    assert_eq!(desk.audited().await, [before as u64 - 3]);
    assert!(is_missing(desk.kernel.expand_summary(&desk.project, summary).await));
    assert!(is_missing(desk.delete().await), "it is gone");
}

/// SEC-07: as many cards as one commit takes go in one, and one more does not.
#[tokio::test]
async fn st_09_a_large_session_goes_in_several_commits() {
    // Each patch makes a checkpoint besides its messages.
    for (messages, audited) in [(999, vec![1_000]), (1_000, vec![1, 1_000, 0])] {
        assert_eq!(limits::DELETED_CARDS, 1_000);
        let desk = Desk::new(&[]).await;
        desk.patch("s", &said(0, messages)).await;
        desk.delete().await.unwrap();
        assert_eq!((desk.audited().await, desk.session_cards().await.len()), (audited, 0));
    }
    // The same for many versions.
    let desk = Desk::new(&[]).await;
    for n in 0..limits::DELETED_CARDS / 2 + 1 {
        desk.patch("s", &said(n, 1)).await;
    }
    desk.delete().await.unwrap();
    assert_eq!((desk.audited().await, desk.session_cards().await.len()), (vec![2, 1_000, 0], 0));
}

/// NF-13: whoever deletes it again finishes what a crash has left.
#[tokio::test]
async fn st_09_a_deletion_that_broke_off_is_finished() {
    let desk = Desk::new(&[]).await;
    desk.patch("s", &said(0, 3)).await;
    desk.mark().await;
    assert!(is_missing(desk.kernel.session(&desk.project, &key("s"), None).await), "nobody sees half of it");
    assert_eq!(desk.session_cards().await.len(), 4);
    desk.delete().await.unwrap();
    assert!(desk.session_cards().await.is_empty());
    assert!(is_missing(desk.delete().await));
    // A new session of the name takes with it what the old one left.
    desk.patch("s", &said(0, 3)).await;
    desk.mark().await;
    desk.patch("s", &said(0, 1)).await;
    assert_eq!((desk.session_cards().await.len(), desk.texts("s").await.len()), (6, 1));
    desk.delete().await.unwrap();
    assert!(desk.session_cards().await.is_empty());
    assert!(is_missing(desk.delete().await));
}

/// A turn that was under way ends as it would have, and its session stays deleted.
#[tokio::test]
async fn st_09_a_turn_under_way_does_not_bring_its_session_back() {
    let desk = Desk::new(&["a"]).await;
    desk.patch("s", &said(0, 2)).await;
    let lease = desk.turn_of("a", "s", "What is new?").await;
    desk.clock.0.advance(1);
    desk.delete().await.unwrap();
    desk.finish(&lease).await;
    assert!(is_missing(desk.kernel.session(&desk.project, &key("s"), None).await));
    assert!(desk.session_cards().await.is_empty());
    let note = serde_json::json!({ "goal": "late" });
    assert!(is_missing(desk.kernel.note_experience(&desk.project, &caller(), &key("s"), &note, None).await));
    // A turn that begins now makes a new one.
    let lease = desk.turn_of("a", "s", "Anything?").await;
    desk.finish(&lease).await;
    assert_eq!(desk.texts("s").await[0], "Anything?");
}
