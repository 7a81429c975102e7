//! Cards: written once, read back as they were, seen by their own project only.

use super::case::{Case, commit, put};
use crate::fixtures::{CardBuilder, at, json, text_card};
use cardwire_model::{Card, Conflict, Generation, Keys, Origin, Write};
use cardwire_store::Store;
use std::{collections::BTreeSet, sync::Arc};

/// CB-02, CB-20, NF-01: what was acknowledged is what is read, byte for byte, by every read there is.
pub async fn a_card_comes_back_byte_equal_with_every_field(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let content = json(
        r#"{"text":"中文 and 😀 and e\u0301","max":9223372036854775807,"min":-9223372036854775808,
            "big":18446744073709551615,"tiny":1e-7,"nested":{"none":null,"list":[null,{"deep":null}]},
            "quotes":"\"'\\ \n\t %_ $1 ?","":""}"#,
    );
    let full = CardBuilder::content(content)
        .kind("自定义.kind")
        .author("agent_x")
        .metadata("role", "assistant".into())
        .metadata("secret", "sk-abcdefghijklmnopqrstuvwxyz".into())
        .metadata("none", serde_json::Value::Null)
        .tool_calls(r#"[{"id":"call_1","arguments":{"查询":[1,2.5,null]}}]"#)
        .tool_call_id("call_0 是")
        .ttl(3_600)
        .origin(Origin::Tool)
        .at(cardwire_model::Timestamp::from_micros(1_767_268_800_123_457))
        .build(case.ids.card());
    assert!(full.credential && full.expires_at.is_some() && full.tool_calls.is_some());
    let mut cards =
        vec![full, text_card(case.ids.card(), ""), text_card(case.ids.card(), &"长".repeat(9_000))];
    for (number, origin) in Origin::ALL.into_iter().enumerate() {
        let before_1970 = at(-1 - number as i64);
        cards.push(CardBuilder::content(json("null")).origin(origin).at(before_1970).build(case.ids.card()));
    }
    case.write(cards.iter().cloned().map(put)).await;

    let ids: Vec<_> = cards.iter().map(|card| card.id).collect();
    let box_id = case.create_box(&ids).await;
    for card in &cards {
        let found = case.card(card.id).await;
        assert_eq!(found, *card);
        assert!(found.is_intact(), "the hashes belong to the bytes that came back");
    }
    let hydrated = case.store.box_cards(&case.project, box_id, Generation::FIRST, 0).await.unwrap();
    assert_eq!(hydrated.into_iter().filter_map(|entry| entry.card).collect::<Vec<_>>(), cards);
    let scanned = case.store.scan_cards(&case.project, None, 100).await.unwrap();
    cards.sort_by_key(|card| card.id);
    assert_eq!(scanned, cards);
}

/// CB-07: a card never changes.
pub async fn a_taken_card_id_conflicts_and_changes_nothing(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let card = text_card(case.ids.card(), "x");
    case.write([put(card.clone())]).await;
    case.refuse_write(put(text_card(card.id, "y")), Conflict::Card).await;
    case.refuse_write(put(card.clone()), Conflict::Card).await;
    let fresh = case.ids.card();
    let twice = [put(text_card(fresh, "a")), put(text_card(fresh, "b"))];
    case.refuse(case.commit(twice), Conflict::Card).await;
    assert_eq!(case.card(card.id).await, card);
    // A deleted card keeps its id.
    case.write([Write::DeleteCard { card_id: card.id, at: at(1) }]).await;
    case.refuse_write(put(text_card(card.id, "z")), Conflict::Card).await;
}

/// CB-08: the same id in two projects is two unrelated rows, and no read crosses.
pub async fn projects_are_walls(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let other = case.create_project("p2").await;
    let (card_id, box_id) = (case.ids.card(), case.ids.card_box());
    let mine = text_card(card_id, "mine");
    let new = crate::fixtures::BoxBuilder::new(box_id).cards(&[card_id]).build();
    case.write([put(mine.clone()), Write::CreateBox(new.clone())]).await;

    // Before the other project has anything, it sees nothing.
    let keys = Keys {
        cards: vec![card_id],
        boxes: vec![box_id],
        members: Some((box_id, vec![card_id])),
        ..Keys::default()
    };
    let seen = case.store.load(&other.clone().into(), &keys).await.unwrap();
    assert_eq!(seen, cardwire_model::Snapshot::default());
    assert_eq!(case.store.cards(&other, &[card_id]).await.unwrap(), []);
    assert_eq!(case.store.scan_cards(&other, None, 10).await.unwrap(), []);
    assert_eq!(case.store.scan_boxes(&other, None, 10).await.unwrap(), []);
    assert_eq!(case.store.box_head(&other, box_id).await.unwrap(), None);
    assert_eq!(case.store.box_entries(&other, box_id, Generation::FIRST, 0).await.unwrap(), []);
    assert_eq!(case.store.box_cards(&other, box_id, Generation::FIRST, 0).await.unwrap(), []);
    case.refuse(commit(&other, [Write::DeleteCard { card_id, at: at(1) }]), Conflict::Card).await;
    case.refuse(commit(&other, [Write::SealBox { box_id }]), Conflict::Box).await;

    // The same ids there are other rows.
    let theirs = text_card(card_id, "theirs");
    case.apply(commit(&other, [put(theirs.clone()), Write::CreateBox(new)])).await;
    let changes = [Write::DeleteCard { card_id, at: at(1) }, Write::SealBox { box_id }];
    case.apply(commit(&other, changes)).await;
    assert_eq!(case.card(card_id).await, mine);
    assert!(!case.head(box_id).await.sealed);
    assert_eq!(case.deletions().await, 0);
    let theirs_now = case.store.cards(&other, &[card_id]).await.unwrap();
    assert_eq!(theirs_now, [Card { deleted_at: Some(at(1)), ..theirs }]);
    // Hydrating joins two tables: it must not find the card of the other project as well.
    let hydrated = case.store.box_cards(&case.project, box_id, Generation::FIRST, 0).await.unwrap();
    assert_eq!(hydrated.into_iter().map(|entry| entry.card).collect::<Vec<_>>(), [Some(mine)]);
    // Neither does anybody in the system's own realm see them.
    assert_eq!(case.store.load(&cardwire_model::Realm::System, &keys).await.unwrap(), Default::default());
}

/// CB-10: deletion is a mark. Boxes keep the entry, caches learn of it by the count.
pub async fn a_deleted_card_is_marked_and_counted_and_stays_in_its_boxes(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.put(&["c1", "c2", "c3"]).await;
    let box_id = case.create_box(&cards).await;
    let before = case.card(cards[1]).await;
    case.write([Write::DeleteCard { card_id: cards[1], at: at(9) }]).await;

    assert_eq!(case.card(cards[1]).await, Card { deleted_at: Some(at(9)), ..before });
    assert_eq!(case.card_ids(box_id, Generation::FIRST).await, cards);
    let found = case.store.box_head(&case.project, box_id).await.unwrap().unwrap();
    assert_eq!((found.head.len, found.deletions), (3, 1));
    assert_eq!(case.deletions().await, 1);
    let hydrated = case.store.box_cards(&case.project, box_id, Generation::FIRST, 0).await.unwrap();
    let marks: Vec<_> = hydrated.iter().map(|entry| entry.card.as_ref().unwrap().deleted_at).collect();
    assert_eq!(marks, [None, Some(at(9)), None]);
    let both = [cards[0], cards[2]].map(|card_id| Write::DeleteCard { card_id, at: at(10) });
    case.write(both).await;
    assert_eq!(case.deletions().await, 3);
}

/// CB-10: the second deletion finds nothing to delete, so the count tells of each card once.
pub async fn a_card_is_deleted_once(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let card_id = case.put(&["x"]).await[0];
    let absent = case.ids.card();
    case.refuse_write(Write::DeleteCard { card_id: absent, at: at(1) }, Conflict::Card).await;
    case.write([Write::DeleteCard { card_id, at: at(1) }]).await;
    case.refuse_write(Write::DeleteCard { card_id, at: at(2) }, Conflict::Card).await;
    assert_eq!(case.card(card_id).await.deleted_at, Some(at(1)));
    assert_eq!(case.deletions().await, 1);
}

/// CB-21: a batch read is on distinct ids; what is missing is left out.
pub async fn cards_are_given_once_each_and_unknown_ids_left_out(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.put(&["a", "b"]).await;
    let asked = [cards[0], case.ids.card(), cards[1], cards[0], cards[0]];
    let found = case.store.cards(&case.project, &asked).await.unwrap();
    assert_eq!(found.len(), 2);
    let found: BTreeSet<_> = found.into_iter().map(|card| card.id).collect();
    assert_eq!(found, cards.into_iter().collect());
    assert_eq!(case.store.cards(&case.project, &[]).await.unwrap(), []);
}

/// NF-01: verification and export see every card exactly once, whatever the page.
pub async fn card_scans_page_completely(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let mut cards = case.put(&["a", "b", "c", "d", "e", "f", "g"]).await;
    cards.sort();
    for page in [1, 2, 3, 7, 50] {
        let (mut seen, mut after) = (vec![], None);
        loop {
            let found = case.store.scan_cards(&case.project, after, page).await.unwrap();
            assert!(found.len() <= page);
            let ids = case.store.card_ids(&case.project, after, page).await.unwrap();
            assert_eq!((ids.ids, ids.unreadable), (found.iter().map(|card| card.id).collect(), 0));
            let Some(last) = found.last() else { break };
            after = Some(last.id);
            seen.extend(found.iter().map(|card| card.id));
            assert!(seen.len() <= cards.len(), "a scan that stands still");
        }
        assert_eq!(seen, cards, "pages of {page}");
    }
}
