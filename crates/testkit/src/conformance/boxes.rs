//! Box heads: generations, seals, and what a commit may expect of them.

use super::case::{Case, append, open};
use crate::fixtures::{BoxBuilder, at};
use cardwire_model::{BoxHead, Conflict, Expect, Generation, Write};
use cardwire_store::Store;
use std::sync::Arc;

/// CB-11: a box is what it was created as.
pub async fn a_box_comes_back_with_every_field(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.put(&["a", "b"]).await;
    let plain = BoxBuilder::new(case.ids.card_box()).at(at(5)).cards(&cards).build();
    let mut full = BoxBuilder::new(case.ids.card_box()).handover(case.ids.hash()).segment(&plain.head, 2);
    full = full.at(at(-5));
    let mut full = full.build();
    full.head.sealed = true;
    let empty = BoxBuilder::new(case.ids.card_box()).build();
    for new in [plain, full, empty] {
        case.write([Write::CreateBox(new.clone())]).await;
        let found = case.store.box_head(&case.project, new.head.box_id).await.unwrap().unwrap();
        assert_eq!((found.head, found.deletions), (new.head.clone(), 0));
        let entries = case.store.box_entries(&case.project, new.head.box_id, Generation::FIRST, 0).await;
        assert_eq!(entries.unwrap(), new.entries);
    }
    let absent = case.ids.card_box();
    assert_eq!(case.store.box_head(&case.project, absent).await.unwrap(), None);
}

/// CB-11: an id names one box.
pub async fn a_taken_box_id_conflicts_and_changes_nothing(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.put(&["a", "b"]).await;
    let box_id = case.create_box(&cards).await;
    for taken in [BoxBuilder::new(box_id), BoxBuilder::new(box_id).cards(&cards)] {
        case.refuse_write(Write::CreateBox(taken.build()), Conflict::Box).await;
    }
}

/// CB-13: a rewrite is a new generation; the earlier ones stay as they were.
pub async fn a_rewrite_keeps_the_old_generation_readable(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.put(&["a", "b", "c"]).await;
    let box_id = case.create_box(&cards).await;
    let second = BoxBuilder::next_of(&case.head(box_id).await).cards(&[cards[2], cards[0]]).build();
    case.write([Write::RewriteBox(second.clone())]).await;
    assert_eq!(case.head(box_id).await, second.head);
    let third = BoxBuilder::next_of(&second.head).build();
    case.write([Write::RewriteBox(third.clone())]).await;
    assert_eq!(case.head(box_id).await, third.head);
    // The current generation grows; only it does.
    case.write([append(box_id, third.head.generation, &[cards[1]])]).await;

    assert_eq!(case.card_ids(box_id, Generation::FIRST).await, cards);
    assert_eq!(case.card_ids(box_id, Generation::new(2)).await, [cards[2], cards[0]]);
    assert_eq!(case.card_ids(box_id, Generation::new(3)).await, [cards[1]]);
    assert_eq!(case.card_ids(box_id, Generation::new(4)).await, []);
    let old = case.store.box_cards(&case.project, box_id, Generation::FIRST, 1).await.unwrap();
    assert_eq!(old.iter().map(|entry| entry.card.as_ref().unwrap().id).collect::<Vec<_>>(), cards[1..]);
}

/// CB-13: a rewrite changes what the box shows, not what it is.
pub async fn a_rewrite_keeps_seal_handover_hash_and_birth(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.put(&["a", "b"]).await;
    let (box_id, hash) = (case.ids.card_box(), case.ids.hash());
    let new = BoxBuilder::new(box_id).handover(hash).at(at(3)).cards(&cards).build();
    case.write([Write::CreateBox(new.clone()), Write::SealBox { box_id }]).await;
    // What the caller says about these fields does not count.
    let other = BoxBuilder::next_of(&new.head).at(at(99)).handover(case.ids.hash()).cards(&cards[..1]);
    case.write([Write::RewriteBox(other.build())]).await;
    let expected = BoxHead {
        generation: Generation::new(2),
        len: 1,
        entries: 1,
        sealed: true,
        handover_hash: Some(hash),
        created_at: at(3),
        ..new.head
    };
    assert_eq!(case.head(box_id).await, expected);
}

/// CB-12, X-09: a box that a turn has been shown does not change any more.
pub async fn a_sealed_box_takes_no_more_cards(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.put(&["a", "b"]).await;
    let box_id = case.create_box(&cards[..1]).await;
    case.write([Write::SealBox { box_id }]).await;
    assert!(case.head(box_id).await.sealed);
    case.refuse_write(append(box_id, Generation::FIRST, &cards[1..]), Conflict::Box).await;
    let mut late = case.commit([]);
    late.expect.push(open(box_id, 0, u32::MAX));
    case.refuse(late, Conflict::Box).await;
    // Sealing again changes nothing and is no conflict.
    let before = case.dump().await;
    case.write([Write::SealBox { box_id }]).await;
    before.assert_same(&case.dump().await, "sealing twice changed something");
}

/// CB-12: there is nothing to change.
pub async fn an_absent_box_can_be_neither_rewritten_nor_sealed(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.put(&["a"]).await;
    let box_id = case.ids.card_box();
    let new = BoxBuilder::new(box_id).generation(Generation::new(2)).cards(&cards).build();
    case.refuse_write(Write::RewriteBox(new), Conflict::Box).await;
    case.refuse_write(Write::SealBox { box_id }, Conflict::Box).await;
    case.refuse_write(append(box_id, Generation::FIRST, &cards), Conflict::Box).await;
}

/// CB-12: `expected_len` and the room for more are held when the commit is applied.
pub async fn an_open_box_is_expected_at_a_generation_and_length(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.put(&["a", "b", "c"]).await;
    let box_id = case.create_box(&cards[..2]).await;
    let fresh = case.ids.card_box();
    let generation = |number| Expect::OpenBox {
        box_id,
        generation: Generation::new(number),
        min_len: 0,
        max_len: u32::MAX,
    };
    let expecting = |expect: Expect| {
        let mut commit = case.commit([append(box_id, Generation::FIRST, &cards[2..])]);
        commit.expect.push(expect);
        commit
    };
    let wrong = [open(box_id, 3, u32::MAX), open(box_id, 0, 1), open(fresh, 0, u32::MAX), generation(2)];
    for expect in wrong {
        case.refuse(expecting(expect), Conflict::Box).await;
    }
    // One that fails among some that hold.
    let mut some = expecting(open(box_id, 2, 2));
    some.expect.extend([open(box_id, 0, 9), open(box_id, 0, 1)]);
    case.refuse(some, Conflict::Box).await;

    let mut right = expecting(open(box_id, 2, 2));
    right.expect.extend([open(box_id, 0, 2), open(box_id, 2, u32::MAX), generation(1)]);
    case.apply(right).await;
    assert_eq!(case.card_ids(box_id, Generation::FIRST).await, cards);
    // A rewrite makes the first generation stale.
    let next = BoxBuilder::next_of(&case.head(box_id).await).build();
    case.write([Write::RewriteBox(next)]).await;
    case.refuse(expecting(generation(1)), Conflict::Box).await;
}

/// NF-01: verification and export see every box exactly once, whatever the page.
pub async fn box_scans_page_completely(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let mut boxes = vec![];
    for _ in 0..5 {
        boxes.push(case.create_box(&[]).await);
    }
    boxes.sort();
    for page in [1, 2, 5, 50] {
        let (mut seen, mut after) = (vec![], None);
        loop {
            let found = case.store.scan_boxes(&case.project, after, page).await.unwrap();
            assert!(found.len() <= page);
            let Some(last) = found.last() else { break };
            after = Some(last.box_id);
            seen.extend(found.iter().map(|head| head.box_id));
            assert!(seen.len() <= boxes.len(), "a scan that stands still");
        }
        assert_eq!(seen, boxes, "pages of {page}");
    }
}
