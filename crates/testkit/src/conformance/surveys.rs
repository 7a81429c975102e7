//! Reads over whole runs, boxes and cards (IN-13, IN-14).

use super::case::{Case, append, assert_pages, commit, put};
use crate::fixtures::{BoxBuilder, at, edge, report_item, step, text_card, turn_item};
use cardwire_model::{EdgePhase, Generation, InboxItem, InboxKind, Item, Primitive, Segment, Step, Write};
use cardwire_store::{EntryKey, Store};
use std::{cmp::Reverse, sync::Arc};

/// A turn that another one has sent: its row, and the edge that leads to it.
async fn send(case: &mut Case, parent: &InboxItem, agent: &str) -> InboxItem {
    let output_box = case.create_box(&[]).await;
    let item = InboxItem { parent_turn: Some(parent.turn_id), ..turn_item(&mut case.ids, agent, output_box) };
    let [item] = case.enqueue([item]).await;
    let mut edge = edge(&mut case.ids, Primitive::Enqueue, EdgePhase::Request, &item.turn_id.to_string());
    (edge.source_turn, edge.target_turn) = (Some(parent.turn_id), Some(item.turn_id));
    (edge.target_agent, edge.inbox_id) = (Some(item.agent_id.clone()), Some(item.id));
    case.write([Write::AddEdge(Box::new(edge))]).await;
    item
}

/// IN-13: a run is a turn that no other turn has sent, not a report and not a child.
pub async fn runs_are_turns_that_nobody_sent_newest_first(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let other = case.create_project("p2").await;
    let mut runs = vec![];
    for agent in ["a", "b", "a", "c"] {
        let run = case.turn(agent).await;
        send(&mut case, &run, "child").await;
        let report = report_item(&mut case.ids, &run, InboxKind::ToolResult, "c1");
        case.enqueue([report]).await;
        runs.push(run);
    }
    let box_id = case.ids.card_box();
    case.apply(commit(&other, [Write::CreateBox(BoxBuilder::new(box_id).build())])).await;
    let foreign = turn_item(&mut case.ids, "a", box_id);
    case.enqueue_in(&other, [foreign]).await;
    runs.sort_by_key(|item| Reverse(item.id));
    assert_pages(
        "runs",
        &runs,
        |item| item.id,
        async |before, limit| case.store.runs(&case.project, before, limit).await,
    )
    .await;
}

/// IN-13: the turns of a level are read together, whoever sent them.
pub async fn turns_are_found_by_those_that_sent_them(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let other = case.create_project("p2").await;
    let (first, second, childless) = (case.turn("a").await, case.turn("b").await, case.turn("c").await);
    let mut expected = vec![];
    for (parent, agent) in [(&first, "x"), (&second, "y"), (&first, "x"), (&first, "z")] {
        expected.push(send(&mut case, parent, agent).await);
    }
    let grandchild = send(&mut case, &expected[0], "w").await;
    // Edges of other primitives and phases lead to no child.
    for (primitive, phase) in
        [(Primitive::Enqueue, EdgePhase::Response), (Primitive::Join, EdgePhase::Request)]
    {
        let mut other = edge(&mut case.ids, primitive, phase, "x");
        (other.source_turn, other.target_turn) = (Some(first.turn_id), Some(childless.turn_id));
        case.write([Write::AddEdge(Box::new(other))]).await;
    }
    expected.sort_by_key(|item| item.id);
    let senders = [second.turn_id, first.turn_id, first.turn_id, childless.turn_id];
    let sent = async |turns: &[_], limit| case.store.sent_by(&case.project, turns, limit).await.unwrap();
    assert_eq!(sent(&senders, 9).await, expected);
    assert_eq!(sent(&senders, 3).await.len(), 3);
    assert_eq!(sent(&[expected[0].turn_id], 9).await, std::slice::from_ref(&grandchild));
    assert_eq!(sent(&[childless.turn_id, grandchild.turn_id], 9).await, []);
    assert_eq!(sent(&[], 9).await, []);
    assert_eq!(case.store.sent_by(&other, &senders, 9).await.unwrap(), []);
}

/// IN-13: the steps of many turns are read together.
pub async fn steps_of_many_turns_come_oldest_first(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let other = case.create_project("p2").await;
    let turns = [case.turn("a").await, case.turn("b").await, case.turn("c").await];
    let mut steps = vec![];
    for (number, second) in [5, 1, 5, 3, 4, 1].into_iter().enumerate() {
        let plain = step(&format!("step_{}", 9 - number), &turns[number % 3]);
        steps.push(Step { created_at: at(second), ..plain });
    }
    case.write(steps.iter().map(|step| Write::CreateStep(Box::new(step.clone())))).await;
    steps.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
    let of = async |turns: &[&InboxItem], limit| {
        let turns: Vec<_> = turns.iter().map(|turn| turn.turn_id).collect();
        case.store.steps_of(&case.project, &turns, limit).await.unwrap()
    };
    assert_eq!(of(&[&turns[2], &turns[0], &turns[1], &turns[0]], 9).await, steps);
    let expected: Vec<_> = steps.iter().filter(|step| step.turn_id != turns[1].turn_id).cloned().collect();
    assert_eq!(of(&[&turns[0], &turns[2]], 9).await, expected);
    assert_eq!(of(&[&turns[0], &turns[1]], 3).await.len(), 3);
    assert_eq!(of(&[], 9).await, []);
    let all: Vec<_> = turns.iter().map(|turn| turn.turn_id).collect();
    assert_eq!(case.store.steps_of(&other, &all, 9).await.unwrap(), []);
}

/// IN-14: lists begin with what is newest.
pub async fn cards_and_boxes_page_from_the_greatest_id(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let other = case.create_project("p2").await;
    let (mut cards, mut boxes) = (vec![], vec![]);
    for number in 0..7 {
        let card = text_card(case.ids.card(), &format!("text {number}"));
        case.write([put(card.clone())]).await;
        let box_id = case.create_box(&[card.id]).await;
        boxes.push(case.head(box_id).await);
        cards.push(card.id);
    }
    case.write([Write::DeleteCard { card_id: cards[3], at: at(9) }]).await;
    let foreign = [put(text_card(case.ids.card(), "foreign"))];
    case.apply(commit(&other, foreign)).await;
    cards.sort_by_key(|id| Reverse(*id));
    boxes.sort_by_key(|head| Reverse(head.box_id));
    let (store, project) = (&case.store, &case.project);
    assert_pages(
        "cards",
        &cards,
        |id| *id,
        async |before, limit| store.latest_card_ids(project, before, limit).await,
    )
    .await;
    assert_pages(
        "boxes",
        &boxes,
        |head| head.box_id,
        async |before, limit| store.latest_boxes(project, before, limit).await,
    )
    .await;
}

/// IN-14: a card is found in every box and generation, beside all segments, however the entries are paged.
pub async fn entries_that_may_hold_a_card_are_found_page_by_page(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let other = case.create_project("p2").await;
    let cards = case.put(&["a", "b", "c"]).await;
    let plain = case.create_box(&cards).await;
    let without = case.create_box(&cards[1..]).await;
    let source = case.head(plain).await;
    let inheriting = BoxBuilder::new(case.ids.card_box()).cards(&cards[2..]).segment(&source, 2).build();
    let inherits = inheriting.head.box_id;
    case.write([Write::CreateBox(inheriting)]).await;
    let next = BoxBuilder::next_of(&case.head(without).await).cards(&cards[1..2]).build();
    case.write([Write::RewriteBox(next)]).await;
    case.write([append(without, Generation::new(2), &cards[..1])]).await;

    let (first, second) = (Generation::FIRST, Generation::new(2));
    let segment = Segment { box_id: plain, generation: first, len: 2 };
    let mut expected: Vec<(EntryKey, Item)> = vec![
        ((plain, first, 0), Item::Card(cards[0])),
        ((without, second, 1), Item::Card(cards[0])),
        ((inherits, first, 1), Item::Segment(segment)),
    ];
    expected.sort_by_key(|(key, _)| *key);
    for limit in [1, 2, 3, 8, 9, 99] {
        let (mut found, mut after, mut pages) = (vec![], None, 0);
        loop {
            let page = case.store.holders(&case.project, cards[0], after, limit).await.unwrap();
            found.extend(page.entries.iter().map(|(key, entry)| (*key, entry.item)));
            pages += 1;
            match page.last {
                Some(last) => after = Some(last),
                None => break,
            }
        }
        assert_eq!(found, expected, "pages of {limit}");
        // Nine entries in all.
        assert_eq!(pages, 9 / limit + 1, "pages of {limit}");
    }
    let found = case.store.holders(&other, cards[0], None, 99).await.unwrap();
    assert_eq!((found.entries, found.last), (vec![], None));
}
