//! Entries of boxes: their order, their numbers, and what they refer to.

use super::case::{Case, append};
use crate::fixtures::BoxBuilder;
use cardwire_model::{Conflict, Entry, EntrySource, Generation, Item, Write};
use cardwire_store::Store;
use std::sync::Arc;

/// CB-11, CB-12: order is the order of appends; the number of an entry is its place.
pub async fn appends_keep_order_and_number_entries(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.put(&["a", "b", "c", "d", "e"]).await;
    let box_id = case.create_box(&cards[3..4]).await;
    case.write([append(box_id, Generation::FIRST, &[cards[4], cards[0]])]).await;
    case.write([append(box_id, Generation::FIRST, &[cards[2]])]).await;
    case.write([append(box_id, Generation::FIRST, &[])]).await;
    case.write([append(box_id, Generation::FIRST, &[cards[1]])]).await;

    let order = [cards[3], cards[4], cards[0], cards[2], cards[1]];
    let head = case.head(box_id).await;
    assert_eq!((head.len, head.entries, head.depth), (5, 5, 0));
    for from in 0..7 {
        let entries = case.store.box_entries(&case.project, box_id, Generation::FIRST, from).await.unwrap();
        let rest = order.get(from as usize..).unwrap_or_default();
        assert_eq!(entries, rest.iter().copied().map(Entry::direct).collect::<Vec<_>>(), "from {from}");
    }
}

/// CB-11: a card is an entry of a generation once; who appends it again decided on old rows.
pub async fn an_entry_that_is_there_conflicts(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.put(&["a", "b", "c"]).await;
    let box_id = case.create_box(&cards[..1]).await;
    case.write([append(box_id, Generation::FIRST, &cards[1..2])]).await;
    for repeat in [vec![cards[0]], vec![cards[1]], vec![cards[2], cards[0]], vec![cards[2], cards[2]]] {
        case.refuse_write(append(box_id, Generation::FIRST, &repeat), Conflict::Entry).await;
    }
    let fresh = BoxBuilder::new(case.ids.card_box()).cards(&[cards[0], cards[1], cards[0]]).build();
    case.refuse_write(Write::CreateBox(fresh), Conflict::Entry).await;
    let next = BoxBuilder::next_of(&case.head(box_id).await).cards(&[cards[2], cards[2]]).build();
    case.refuse_write(Write::RewriteBox(next), Conflict::Entry).await;

    // Another box, and another generation of this one, may hold the card.
    case.create_box(&cards).await;
    let next = BoxBuilder::next_of(&case.head(box_id).await).build();
    case.write([Write::RewriteBox(next)]).await;
    case.write([append(box_id, Generation::new(2), &cards)]).await;
    assert_eq!(case.card_ids(box_id, Generation::new(2)).await, cards);
}

/// CB-13, X-09: an append decided on a generation that is not the current one is late.
pub async fn appends_to_another_generation_conflict(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.put(&["a", "b"]).await;
    let box_id = case.create_box(&cards[..1]).await;
    case.refuse_write(append(box_id, Generation::new(2), &cards[1..]), Conflict::Box).await;
    let next = BoxBuilder::next_of(&case.head(box_id).await).build();
    case.write([Write::RewriteBox(next)]).await;
    case.refuse_write(append(box_id, Generation::FIRST, &cards[1..]), Conflict::Box).await;
    case.write([append(box_id, Generation::new(2), &cards[1..])]).await;
}

/// CB-11: inheriting a box costs one row, which comes back as it was.
pub async fn segments_are_stored_and_read(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.put(&["a", "b", "c"]).await;
    let source = case.create_box(&cards[..2]).await;
    let source = case.head(source).await;
    let new = BoxBuilder::new(case.ids.card_box())
        .cards(&cards[2..])
        .segment(&source, 2)
        .segment(&source, 1)
        .card_from(cards[0], EntrySource::Inherited)
        .build();
    assert_eq!((new.head.len, new.head.entries, new.head.depth), (5, 4, 1));
    case.write([Write::CreateBox(new.clone())]).await;
    let box_id = new.head.box_id;
    case.write([append(box_id, Generation::FIRST, &cards[1..2])]).await;

    let entries = case.store.box_entries(&case.project, box_id, Generation::FIRST, 0).await.unwrap();
    assert_eq!(entries[..4], new.entries);
    assert_eq!(entries[4..], [Entry::direct(cards[1])]);
    let head = case.head(box_id).await;
    assert_eq!((head.len, head.entries, head.depth), (6, 5, 1));
    // A new generation can be one of segments, too; of the box's own old generation as well.
    let next = BoxBuilder::next_of(&head).segment(&head, 3).build();
    case.write([Write::RewriteBox(next.clone())]).await;
    let entries = case.store.box_entries(&case.project, box_id, Generation::new(2), 0).await.unwrap();
    assert_eq!(entries, next.entries);
    assert_eq!(case.head(box_id).await.depth, 2);
}

/// CB-11: one read gives the cards of the direct entries; segments are resolved by whoever caches them.
pub async fn box_cards_hydrates_cards_and_leaves_segments(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.put(&["a", "b", "c"]).await;
    let source = case.create_box(&cards[..1]).await;
    let source = case.head(source).await;
    let new = BoxBuilder::new(case.ids.card_box()).cards(&[cards[2]]).segment(&source, 1).cards(&[cards[1]]);
    let new = new.build();
    case.write([Write::CreateBox(new.clone())]).await;
    for from in 0..4_u32 {
        let found = case.store.box_cards(&case.project, new.head.box_id, Generation::FIRST, from).await;
        let found = found.unwrap();
        let expected = &new.entries[from as usize..];
        assert_eq!(found.iter().map(|hydrated| hydrated.entry).collect::<Vec<_>>(), expected);
        for hydrated in found {
            match hydrated.entry.item {
                Item::Card(id) => assert_eq!(hydrated.card, Some(case.card(id).await)),
                Item::Segment(_) => assert_eq!(hydrated.card, None),
            }
        }
    }
}

/// PK-19: an entry says why it is there.
pub async fn every_source_of_an_entry_is_kept(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.put(&["a", "b", "c", "d", "e", "f"]).await;
    let sources = [
        EntrySource::Direct,
        EntrySource::Argument(0),
        EntrySource::Argument(9_999),
        EntrySource::Inherited,
        EntrySource::Parent,
        EntrySource::Copied(case.ids.card_box(), Generation::new(7)),
    ];
    let mut new = BoxBuilder::new(case.ids.card_box());
    for (card, source) in cards.into_iter().zip(sources) {
        new = new.card_from(card, source);
    }
    let new = new.build();
    let box_id = new.head.box_id;
    case.write([Write::CreateBox(new.clone())]).await;
    let found = case.store.box_entries(&case.project, box_id, Generation::FIRST, 0).await.unwrap();
    assert_eq!(found, new.entries);
    let found = case.store.box_cards(&case.project, box_id, Generation::FIRST, 0).await.unwrap();
    assert_eq!(found.iter().map(|hydrated| hydrated.entry).collect::<Vec<_>>(), new.entries);
}
