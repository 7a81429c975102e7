//! Fusion and choice.

use super::*;
use proptest::prelude::*;
use uuid::Uuid;

/// The `part`th part of a document: in a section of its own, with a text of its own.
fn candidate(source: &str, part: u32, score: f64) -> Candidate {
    let name = format!("{source}/{part}");
    let id = name.bytes().fold(0_u128, |id, byte| id << 8 | u128::from(byte));
    Candidate {
        source_id: source.to_owned(),
        part,
        card_id: CardId::from_uuid(Uuid::from_u128(id)),
        content_hash: Hash256::of(name.as_bytes()),
        embedding: None,
        score,
    }
}

fn names(chosen: &[Candidate]) -> Vec<String> {
    chosen.iter().map(|one| format!("{}{}", one.source_id, one.part)).collect()
}

/// KN-02, CC-07
#[test]
fn a_method_that_nobody_can_serve_is_an_error() {
    for (name, embeds) in [("full_text", false), ("fulltext", false), ("semantic", true), ("hybrid", true)] {
        let method = Method::parse(name).unwrap();
        assert_eq!(method.needs_embedder(), embeds, "{name}");
        assert_eq!(method.check(false).is_err(), embeds, "{name}");
        assert!(method.check(true).is_ok());
    }
    for name in ["", "bm25", "Hybrid"] {
        assert_eq!(Method::parse(name).unwrap_err().field_name(), "method", "{name}");
    }
    assert_eq!(Method::Hybrid.check(false).unwrap_err().field_name(), "method");
    assert!(
        Method::FullText.needs_terms() && Method::Hybrid.needs_terms() && !Method::Semantic.needs_terms()
    );
}

/// KN-02
#[test]
fn the_pool_is_four_times_what_is_shown() {
    assert_eq!((pool(0), pool(1), pool(8)), (0, 4, 32));
    assert_eq!(pool(usize::MAX), usize::MAX);
}

/// KN-02
#[test]
fn lists_are_joined_by_rank() {
    let joined = rrf(&[&["a", "b", "c"], &["c", "a"]], RRF_K);
    let expected = [("a", 1.0 / 61.0 + 1.0 / 62.0), ("c", 1.0 / 63.0 + 1.0 / 61.0), ("b", 1.0 / 62.0)];
    assert_eq!(joined, expected);
    assert_eq!(rrf::<u8>(&[], RRF_K), []);
    assert_eq!(rrf::<u8>(&[&[], &[]], RRF_K), []);
}

/// NF-11
#[test]
fn equal_ranks_are_in_the_order_of_their_keys() {
    let joined = rrf(&[&["z", "m"], &["a", "n"]], RRF_K);
    assert_eq!(joined.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["a", "z", "m", "n"]);
}

#[test]
fn a_repeat_within_a_list_counts_once() {
    assert_eq!(rrf(&[&["a", "a", "b"]], RRF_K), [("a", 1.0 / 61.0), ("b", 1.0 / 62.0)]);
}

/// KN-02
#[test]
fn at_most_two_are_of_one_document() {
    let all = vec![
        candidate("a", 1, 0.9),
        candidate("a", 2, 0.8),
        candidate("a", 3, 0.7),
        candidate("b", 1, 0.6),
        candidate("a", 4, 0.5),
    ];
    assert_eq!(names(&choose(all, &Options::default())), ["a1", "a2", "b1"]);
}

/// KN-02
#[test]
fn equal_texts_are_shown_once() {
    let original = candidate("a", 1, 0.9);
    let copy = Candidate { content_hash: original.content_hash, ..candidate("b", 1, 0.8) };
    assert_eq!(names(&choose(vec![copy, original], &Options::default())), ["a1"]);
}

/// KN-02
#[test]
fn texts_of_the_same_meaning_are_shown_once() {
    let meaning = |source: &str, score: f64, cosine: f32| Candidate {
        embedding: Some(vec![cosine, (1.0 - cosine * cosine).sqrt()]),
        ..candidate(source, 1, score)
    };
    let all = vec![meaning("a", 0.9, 1.0), meaning("b", 0.8, 0.93), meaning("c", 0.7, 0.91)];
    assert_eq!(names(&choose(all, &Options::default())), ["a1", "c1"]);
    let exact = |source, score| Candidate { embedding: Some(vec![1.0, 0.0]), ..candidate(source, 1, score) };
    let options = Options { same: Same::Text { cosine: 1.0 }, ..Options::default() };
    assert_eq!(names(&choose(vec![exact("a", 0.2), exact("b", 0.1)], &options)), ["a1"]);
}

/// EX-02
#[test]
fn experiences_of_the_same_words_are_all_shown() {
    let meant = |source: &str, score: f64| Candidate {
        content_hash: Hash256::of(b"sail"),
        embedding: Some(vec![1.0, 0.0]),
        ..candidate(source, 0, score)
    };
    let all = || vec![meant("s1", 0.9), meant("s2", 0.8), meant("s3", 0.7), meant("s1", 0.6)];
    let once = |kind| names(&choose(all(), &Options { same: Same::of(kind), ..Options::default() }));
    assert_eq!(once(PassageKind::Experience), ["s10", "s20", "s30"]);
    assert_eq!(once(PassageKind::Knowledge), ["s10"]);
}

/// KN-02
#[test]
fn a_section_is_shown_once_for_all_of_its_parts() {
    let first = candidate("a", 1, 0.9);
    let sibling = Candidate { card_id: first.card_id, ..candidate("a", 2, 0.8) };
    let all = vec![first, sibling, candidate("a", 3, 0.7), candidate("a", 4, 0.6)];
    // The sibling takes no place of its document.
    assert_eq!(names(&choose(all, &Options::default())), ["a1", "a3"]);
}

/// KN-02
#[test]
fn what_fits_less_well_than_the_threshold_is_not_shown() {
    let all = || {
        vec![
            candidate("a", 1, 0.9),
            candidate("b", 1, 0.5),
            candidate("c", 1, 0.49),
            candidate("d", 1, f64::NAN),
        ]
    };
    let options = Options { score_threshold: Some(0.5), ..Options::default() };
    assert_eq!(names(&choose(all(), &options)), ["a1", "b1"]);
    assert_eq!(names(&choose(all(), &Options::default())), ["a1", "b1", "c1"]);
}

/// KN-02
#[test]
fn at_most_eight_are_shown_and_the_best_ones() {
    let all: Vec<_> = (0..20_u32).map(|n| candidate(&format!("d{n:02}"), 1, f64::from(n))).collect();
    let chosen = choose(all, &Options::default());
    assert_eq!(chosen.len(), 8);
    assert_eq!(names(&chosen)[0], "d191");
}

#[test]
fn what_cannot_be_compared_is_not_close() {
    assert_eq!(cosine(&[1.0, 0.0], &[2.0, 0.0]), 1.0);
    assert_eq!(cosine(&[1.0, 0.0], &[-3.0, 0.0]), -1.0);
    assert_eq!(cosine(&[1.0, 0.0], &[0.0, 1.0]), 0.0);
    for (a, b) in
        [(vec![], vec![]), (vec![0.0], vec![1.0]), (vec![1.0], vec![1.0, 0.0]), (vec![f32::NAN], vec![1.0])]
    {
        assert_eq!(cosine(&a, &b), 0.0, "{a:?} {b:?}");
    }
}

proptest! {
    /// KN-02, NF-11
    #[test]
    fn fusion_loses_nothing_and_prefers_what_is_better_in_every_list(
        keys in prop::collection::vec(0_u8..20, 0..20), others in prop::collection::vec(0_u8..20, 0..20),
    ) {
        let joined = rrf(&[&keys, &others], RRF_K);
        let distinct: HashSet<u8> = keys.iter().chain(&others).copied().collect();
        prop_assert_eq!(joined.len(), distinct.len());
        prop_assert!(joined.iter().all(|(key, score)| distinct.contains(key) && *score > 0.0));
        prop_assert!(joined.windows(2).all(|pair| pair[0].1 >= pair[1].1));
        prop_assert_eq!(&rrf(&[&others, &keys], RRF_K), &joined, "two lists may stand in either order");
        if let (Some(first), Some(other)) = (keys.first(), others.first()) && first == other {
            prop_assert_eq!(joined[0].0, *first);
        }
    }

    /// KN-02
    #[test]
    fn a_choice_keeps_all_of_its_rules(
        parts in prop::collection::vec((0_u8..5, 0_u32..9, 0_u8..6, 0_u8..9), 0..60), top_k in 0_usize..10,
    ) {
        let make = |(source, part, card, score): &(u8, u32, u8, u8)| Candidate {
            card_id: CardId::from_uuid(Uuid::from_u128(u128::from(*source) << 8 | u128::from(*card))),
            ..candidate(&source.to_string(), *part, f64::from(*score))
        };
        let all: Vec<_> = parts.iter().map(make).collect();
        let options = Options { top_k, ..Options::default() };
        let chosen = choose(all.clone(), &options);
        let mut backwards = all;
        backwards.reverse();
        prop_assert_eq!(&choose(backwards, &options), &chosen, "the order of the hits does not matter");
        prop_assert!(chosen.len() <= top_k && chosen.windows(2).all(|pair| pair[0].score >= pair[1].score));
        let cards: HashSet<_> = chosen.iter().map(|one| one.card_id).collect();
        let texts: HashSet<_> = chosen.iter().map(|one| one.content_hash).collect();
        prop_assert_eq!((cards.len(), texts.len()), (chosen.len(), chosen.len()));
        for one in &chosen {
            prop_assert!(chosen.iter().filter(|other| other.source_id == one.source_id).count() <= 2);
        }
    }
}
