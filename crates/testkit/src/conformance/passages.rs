//! Passages as rows: kept exactly, replaced, and dropped with their source.

use super::{
    case::{Case, assert_pages, commit, put},
    races::{RACERS, race},
};
use crate::fixtures::{at, passage, shelf, text_card};
use cardwire_model::{Conflict, Embedding, Hash256, Passage, PassageKind, Shelf, Write};
use cardwire_store::{SearchQuery, Store};
use std::sync::Arc;

pub(super) fn put_passage(passage: &Passage) -> Write {
    Write::PutPassage(Box::new(passage.clone()))
}

pub(super) fn drop_source(source: &str) -> Write {
    Write::DropPassages { shelf: knowledge(), source: source.to_owned() }
}

pub(super) fn knowledge() -> Shelf {
    shelf(PassageKind::Knowledge, "default")
}

pub(super) async fn all(case: &Case) -> Vec<Passage> {
    case.store.passages(&case.project, &knowledge(), None, 99_999).await.unwrap()
}

/// Sources and parts that a search for these terms finds, sorted.
pub(super) async fn found(case: &Case, terms: &[&str]) -> Vec<(String, u32)> {
    let terms = terms.iter().map(|term| (*term).to_owned()).collect();
    let query = SearchQuery { shelf: knowledge(), terms, limit: 99_999 };
    let hits = case.store.search(&case.project, &query).await.unwrap();
    let mut found: Vec<_> = hits.into_iter().map(|hit| (hit.source, hit.part)).collect();
    found.sort();
    found
}

/// What a passage is found by, its embedding and everything else come back to the bit.
pub async fn a_passage_comes_back_with_every_field(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let odd = [f32::NAN, -0.0, f32::MIN_POSITIVE / 2.0, f32::INFINITY, 1.0 / 3.0];
    let embeddings = [
        None,
        Some(Embedding::from_floats(&[])),
        Some(Embedding::from_floats(&odd)),
        Some(Embedding::from_stored(&[0, 255, 1])),
        Some(Embedding::from_floats(&vec![0.25; 3_072])),
    ];
    let mut expected = vec![];
    for (part, embedding) in (0..).zip(embeddings) {
        let mut one = passage(&mut case.ids, "文档/a 'b' \\.md", part, "上下 下文 context 42 context");
        (one.embedding, one.created_at, one.content_hash) = (embedding, at(-7), Hash256::of(&[part as u8]));
        expected.push(one);
    }
    expected.push(Passage { part: u32::MAX, terms: String::new(), ..expected[0].clone() });
    case.write(expected.iter().map(put_passage)).await;
    let listed = all(&case).await;
    assert_eq!(listed, expected);
    let bytes = |one: &Passage| one.embedding.as_ref().map(|found| found.as_bytes().to_vec());
    assert_eq!(bytes(&listed[2]), Some(odd.iter().flat_map(|float| float.to_le_bytes()).collect()));
}

/// Lists are by source and then by part, as numbers; a page goes on behind the last one.
pub async fn passages_page_by_source_and_part(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let places = [
        ("", 0),
        ("", 1),
        ("A", 10),
        ("a", 2),
        ("a", 10),
        ("a", u32::MAX),
        ("a b", 0),
        ("b", 1),
        ("é", 0),
        ("文", 3),
    ];
    let expected: Vec<_> =
        places.iter().map(|(source, part)| passage(&mut case.ids, source, *part, "x")).collect();
    case.write(expected.iter().rev().map(put_passage)).await;
    let (store, project) = (&case.store, &case.project);
    let place = |one: &Passage| (one.source.clone(), one.part);
    assert_pages("passages", &expected, place, async |after, limit| {
        store.passages(project, &knowledge(), after.as_ref(), limit).await
    })
    .await;
    assert_eq!(store.passages(project, &knowledge(), None, 0).await.unwrap(), []);
    let elsewhere = shelf(PassageKind::Knowledge, "nobody");
    assert_eq!(store.passages(project, &elsewhere, None, 9).await.unwrap(), []);
}

/// A part that is written again is the new one, in every field and in what it is found by.
pub async fn a_replaced_passage_is_found_by_its_new_terms_only(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let old = passage(&mut case.ids, "a", 3, "old both");
    let other = passage(&mut case.ids, "b", 3, "old");
    case.write([put_passage(&old), put_passage(&other)]).await;
    let embedding = Some(Embedding::from_floats(&[1.0]));
    let new = Passage { embedding, created_at: at(9), ..passage(&mut case.ids, "a", 3, "new both") };
    case.write([put_passage(&new)]).await;
    assert_eq!(all(&case).await, [new, other]);
    assert_eq!(found(&case, &["old"]).await, [("b".to_owned(), 3)]);
    assert_eq!(found(&case, &["new"]).await, [("a".to_owned(), 3)]);
    assert_eq!(found(&case, &["both"]).await, [("a".to_owned(), 3)]);
}

/// A source goes with all its parts, and nothing else goes with it.
pub async fn a_dropped_source_is_gone(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let kept = ["", "a", "ab"].map(|source| passage(&mut case.ids, source, 0, "word"));
    let gone: Vec<_> =
        [0, 1, 9, u32::MAX].iter().map(|part| passage(&mut case.ids, "aa", *part, "word own")).collect();
    case.write(gone.iter().chain(&kept).map(put_passage)).await;
    let experience = Passage {
        shelf: shelf(PassageKind::Experience, "default"),
        ..passage(&mut case.ids, "aa", 0, "word own")
    };
    let namespaced = Passage { shelf: shelf(PassageKind::Knowledge, "Team-b"), ..experience.clone() };
    case.write([put_passage(&experience), put_passage(&namespaced)]).await;
    assert_eq!(found(&case, &["own"]).await.len(), 4);
    case.write([drop_source("aa"), drop_source("never there")]).await;
    assert_eq!(all(&case).await, kept);
    assert_eq!(found(&case, &["own"]).await, []);
    assert_eq!(found(&case, &["word"]).await.len(), 3);
    for elsewhere in [experience, namespaced] {
        let listed = case.store.passages(&case.project, &elsewhere.shelf, None, 9).await.unwrap();
        assert_eq!(listed, [elsewhere]);
    }
    // Dropping again is fine, and a source may come back.
    case.write([drop_source("aa")]).await;
    case.write([put_passage(&gone[1])]).await;
    assert_eq!(found(&case, &["own"]).await, [("aa".to_owned(), 1)]);
}

/// In one commit, a drop takes what was put before it and leaves what is put after it.
pub async fn writes_to_one_source_apply_in_order(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let [old, early, late] = ["old", "early", "late"].map(|terms| passage(&mut case.ids, "a", 0, terms));
    let further = passage(&mut case.ids, "a", 1, "early late old");
    case.write([put_passage(&old)]).await;
    case.write([put_passage(&further), put_passage(&early), drop_source("a"), put_passage(&late)]).await;
    assert_eq!(all(&case).await, std::slice::from_ref(&late));
    assert_eq!(found(&case, &["early", "old"]).await, []);
    // Of two that are put, the second stays.
    case.write([put_passage(&early), put_passage(&old)]).await;
    assert_eq!(all(&case).await, [old]);
    assert_eq!(found(&case, &["early", "late"]).await, []);
    case.write([put_passage(&late), drop_source("a")]).await;
    assert_eq!(all(&case).await, []);
    assert_eq!(found(&case, &["early", "late", "old"]).await, []);
}

/// Invariant 12: what a refused commit would have put is not found, what it would have dropped is.
pub async fn a_refused_commit_leaves_the_index_as_it_was(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let old = passage(&mut case.ids, "a", 0, "old");
    let (new, more) = (passage(&mut case.ids, "a", 0, "new"), passage(&mut case.ids, "b", 0, "new"));
    let card = text_card(case.ids.card(), "taken");
    case.write([put_passage(&old), put(card.clone())]).await;
    let refused = [drop_source("a"), put_passage(&new), put_passage(&more), put(card)];
    case.refuse(case.commit(refused), Conflict::Card).await;
    assert_eq!(all(&case).await, [old]);
    assert_eq!(found(&case, &["old"]).await, [("a".to_owned(), 0)]);
    assert_eq!(found(&case, &["new"]).await, []);
}

/// CB-08: what another project has can be neither replaced nor dropped.
pub async fn passages_of_another_project_cannot_be_changed(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let second = case.create_project("p2").await;
    let mine = passage(&mut case.ids, "a", 0, "word mine");
    let other = passage(&mut case.ids, "a", 0, "word other");
    case.write([put_passage(&mine)]).await;
    case.apply(commit(&second, [drop_source("a"), put_passage(&other)])).await;
    assert_eq!(all(&case).await, std::slice::from_ref(&mine));
    case.apply(commit(&second, [drop_source("a")])).await;
    assert_eq!(all(&case).await, [mine]);
    assert_eq!(case.store.passages(&second, &knowledge(), None, 9).await.unwrap(), []);
    assert_eq!(found(&case, &["mine"]).await.len(), 1);
}

/// Many who take in one document at once: what stays is what one of them wrote, not some of each.
pub async fn of_replacements_of_one_source_one_stays_whole(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let versions: Vec<Vec<_>> = (0..RACERS)
        .map(|number| {
            let parts = 0..(1 + number % 5) as u32;
            parts.map(|part| passage(&mut case.ids, "a", part, &format!("word v{number}"))).collect()
        })
        .collect();
    let replace = |parts: &Vec<Passage>| {
        let writes = [drop_source("a")].into_iter().chain(parts.iter().map(put_passage));
        case.commit(writes)
    };
    for outcome in race(&case.store, versions.iter().map(replace).collect()).await {
        outcome.expect("passages never conflict");
    }
    let left = all(&case).await;
    assert!(versions.contains(&left), "{left:#?}");
    assert_eq!(found(&case, &["word"]).await.len(), left.len());
}
