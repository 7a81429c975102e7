//! Full-text search: what is found, and what comes first (KN-04, EX-03).

use super::{
    case::{Case, commit},
    passages::{found, knowledge, put_passage},
};
use crate::fixtures::{passage, shelf};
use cardwire_model::{Passage, PassageKind};
use cardwire_store::{Hit, SearchQuery, Store};
use std::sync::Arc;

fn query(terms: &[&str], limit: usize) -> SearchQuery {
    let terms = terms.iter().map(|term| (*term).to_owned()).collect();
    SearchQuery { shelf: knowledge(), terms, limit }
}

async fn search(case: &Case, terms: &[&str], limit: usize) -> Vec<Hit> {
    case.store.search(&case.project, &query(terms, limit)).await.unwrap()
}

/// Writes passages with these terms as parts of one source.
async fn shelve(case: &mut Case, terms: &[&str]) -> Vec<Passage> {
    let numbered = (0..).zip(terms);
    let passages: Vec<_> = numbered.map(|(part, terms)| passage(&mut case.ids, "a", part, terms)).collect();
    case.write(passages.iter().map(put_passage)).await;
    passages
}

fn parts(hits: &[Hit]) -> Vec<u32> {
    hits.iter().map(|hit| hit.part).collect()
}

/// One term is enough, and a hit names everything that is needed to show it.
pub async fn passages_are_found_by_any_term(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let shelved = shelve(&mut case, &["context kernel", "kernel panic", "unrelated", ""]).await;
    let hits = search(&case, &["context"], 9).await;
    assert_eq!(hits.len(), 1);
    let (hit, one) = (&hits[0], &shelved[0]);
    assert_eq!((&hit.source, hit.part), (&one.source, one.part));
    assert_eq!((hit.card_id, hit.content_hash), (one.card_id, one.content_hash));
    let place = |part| ("a".to_owned(), part);
    assert_eq!(found(&case, &["kernel"]).await, [place(0), place(1)]);
    assert_eq!(found(&case, &["panic", "context", "absent"]).await, [place(0), place(1)]);
    assert_eq!(found(&case, &["absent"]).await, []);
}

/// No terms, none but empty ones, and no room for an answer: nothing.
pub async fn a_search_for_nothing_finds_nothing(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    shelve(&mut case, &["word", ""]).await;
    assert_eq!(search(&case, &[], 9).await, []);
    assert_eq!(search(&case, &["", ""], 9).await, []);
    assert_eq!(search(&case, &["word"], 0).await, []);
    assert_eq!(found(&case, &["", "word"]).await, [("a".to_owned(), 0)]);
}

/// A term is a term in every script, and no store takes it apart, folds it or takes it for an operator.
pub async fn terms_of_every_script_are_found_exactly(store: Arc<dyn Store>) {
    const LONG: usize = 1_500;
    let mut case = Case::new(store).await;
    let (long, longer) = ("长".repeat(LONG), format!("{}短", "长".repeat(LONG)));
    let terms = [
        "上下",
        "下文",
        "文内",
        "内核",
        "上",
        "kern",
        "kernel",
        "kernels",
        "e",
        "é",
        "e\u{301}",
        "and",
        "or",
        "not",
        "near",
        "42",
        "420",
        "１２",
        "हिन्दी",
        "ह",
        "עברית",
        "ⅷ",
        "²",
        "𞤢",
        "ꟁ",
        "straße",
        "strasse",
        &long,
        &longer,
    ];
    shelve(&mut case, &terms).await;
    for (part, term) in terms.iter().enumerate() {
        assert_eq!(found(&case, &[term]).await, [("a".to_owned(), part as u32)], "{term:?}");
    }
    // A text as it is cut into bigrams, and a question about part of it.
    let one = passage(&mut case.ids, "b", 0, "上下 下文 文内 内核");
    case.write([put_passage(&one)]).await;
    assert_eq!(found(&case, &["文内"]).await, [("a".to_owned(), 2), ("b".to_owned(), 0)]);
    assert_eq!(found(&case, &["内文"]).await, []);
}

/// Whoever has both terms comes before whoever has one of them, however often.
pub async fn the_best_comes_first(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let filler = ["f1 f2 f3 f4"; 12];
    let mut terms =
        vec!["red f1 f2 f3", "blue f1 f2 f3", "red blue f1 f2", "red red red f1", "blue red f1 f2"];
    terms.extend(filler);
    shelve(&mut case, &terms).await;
    let hits = search(&case, &["red", "blue"], 99).await;
    assert_eq!(hits.len(), 5);
    let mut best = parts(&hits[..2]);
    best.sort_unstable();
    assert_eq!(best, [2, 4], "{hits:#?}");
    assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score), "{hits:#?}");
    assert_eq!(parts(&search(&case, &["red", "blue"], 2).await), parts(&hits[..2]));
}

/// Equal ones are in the order of their sources and parts, and a limit leaves out the last of them.
pub async fn equal_hits_are_by_source_and_part(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let places = [("a", 2), ("a", 10), ("b", 1), ("文", 0)];
    let rows: Vec<_> =
        places.iter().map(|(source, part)| passage(&mut case.ids, source, *part, "same words")).collect();
    case.write(rows.iter().rev().map(put_passage)).await;
    for limit in [1, 2, 3, 4, 9] {
        let hits = search(&case, &["same"], limit).await;
        let expected: Vec<_> = places.iter().take(limit).copied().collect();
        let shown: Vec<_> = hits.iter().map(|hit| (hit.source.as_str(), hit.part)).collect();
        assert_eq!(shown, expected);
    }
}

/// KN-04, EX-03, CB-08: a search stays on its shelf, of its kind, in its namespace, in its project.
pub async fn shelves_never_meet(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (first, second) = (case.project.clone(), case.create_project("p2").await);
    let mut places = vec![];
    for project in [&first, &second] {
        for kind in PassageKind::ALL {
            for namespace in ["default", "Team-b"] {
                places.push((project.clone(), shelf(*kind, namespace)));
            }
        }
    }
    // The last one stays empty.
    let last = places.pop().expect("many places");
    for (project, shelf) in &places {
        let one = Passage { shelf: shelf.clone(), ..passage(&mut case.ids, "a", 0, "word") };
        case.apply(commit(project, [put_passage(&one)])).await;
    }
    for (project, shelf) in &places {
        let wanted = SearchQuery { shelf: shelf.clone(), ..query(&["word"], 99) };
        let hits = case.store.search(project, &wanted).await.unwrap();
        let listed = case.store.passages(project, shelf, None, 9).await.unwrap();
        assert_eq!((hits.len(), listed.len()), (1, 1), "{project} {shelf:?}");
        assert_eq!(hits[0].card_id, listed[0].card_id, "{project} {shelf:?}");
    }
    let wanted = SearchQuery { shelf: last.1, ..query(&["word"], 99) };
    assert_eq!(case.store.search(&last.0, &wanted).await.unwrap(), []);
}

/// Among thousands of passages exactly those with the term are found, however many terms are asked for.
pub async fn a_rare_term_finds_exactly_its_own_among_thousands(store: Arc<dyn Store>) {
    const ALL: u32 = 2_000;
    const RARE: [u32; 3] = [7, 1_000, 1_999];
    let mut case = Case::new(store).await;
    let terms = |part: u32| {
        let rare = if RARE.contains(&part) { " rare" } else { "" };
        format!("common n{part} m{}{rare}", part % 10)
    };
    for start in (0..ALL).step_by(500) {
        let rows: Vec<_> =
            (start..start + 500).map(|part| passage(&mut case.ids, "a", part, &terms(part))).collect();
        case.write(rows.iter().map(put_passage)).await;
    }
    let found = async |terms: &[&str]| {
        let mut found = parts(&search(&case, terms, 99_999).await);
        found.sort_unstable();
        found
    };
    assert_eq!(found(&["rare"]).await, RARE);
    assert_eq!(found(&["m3"]).await, (0..ALL).filter(|part| part % 10 == 3).collect::<Vec<_>>());
    assert_eq!(found(&["common"]).await.len() as u32, ALL);
    assert_eq!(search(&case, &["common", "rare"], 3).await.len(), 3);
    let many: Vec<_> = (0..ALL).step_by(2).map(|part| format!("n{part}")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    assert_eq!(found(&many).await, (0..ALL).step_by(2).collect::<Vec<_>>());
}

/// A long text is found by its last term as by its first.
pub async fn a_long_passage_is_found_by_each_of_its_terms(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let terms: Vec<_> = (0..20_000).map(|number| format!("t{number}")).collect();
    let again = "again ".repeat(30_000);
    shelve(&mut case, &[&terms.join(" "), again.trim_end()]).await;
    for term in ["t0", "t16383", "t16384", "t19999"] {
        assert_eq!(found(&case, &[term]).await, [("a".to_owned(), 0)], "{term}");
    }
    assert_eq!(found(&case, &["again"]).await, [("a".to_owned(), 1)]);
}
