//! What is left out first, what never is, and that the budget holds.

use super::*;
use crate::{
    fixtures::{block_card, block_of, call, history, human, piece_of, result, story::any_story, thought},
    lint::{Linted, Rule, lint},
};
use cardwire_model::{Card, Source};
use proptest::prelude::*;
use std::collections::HashSet;

/// Pieces that cost ten tokens each.
fn costing<'a>(pieces: Vec<Piece<'a>>) -> Vec<Piece<'a>> {
    pieces.into_iter().map(|piece| Piece { tokens: 10, ..piece }).collect()
}

fn window(tokens: u32) -> Budget {
    Budget { window: Some(tokens), reserve: 0, fixed: 0 }
}

fn numbers(pieces: &[Piece<'_>]) -> Vec<u128> {
    pieces.iter().map(|piece| piece.card_id().unwrap().uuid().as_u128()).collect()
}

fn kept(pieces: &[Piece<'_>], tokens: u32) -> Vec<u128> {
    numbers(&fit(pieces.to_vec(), window(tokens)).unwrap().kept)
}

/// OB-03: what the next request may leave out is what this one could have.
#[test]
fn what_may_go_is_what_is_left_out_first() {
    let entry = |layer, tokens| ManifestEntry {
        layer,
        context_key: None,
        source: Source::Card(cardwire_model::CardId::from_uuid(uuid::Uuid::nil())),
        cards: 1,
        tokens,
        cause: Cause::Collected,
    };
    let all: Vec<_> = Layer::ALL.iter().map(|layer| entry(*layer, 1)).collect();
    let going = [Layer::Checkpoint, Layer::Experience, Layer::Knowledge, Layer::Todo, Layer::Extra];
    assert_eq!(droppable(&all), 5);
    assert_eq!(droppable(&going.map(|layer| entry(layer, 7))), 35);
}

/// OB-02
#[test]
fn what_fits_is_left_alone() {
    let cards = [human(1, "a"), thought(2, "b")];
    let pieces = costing(history(&cards));
    let all = |budget| fit(pieces.clone(), budget).unwrap();
    assert_eq!(all(Budget::default()).kept, pieces);
    assert_eq!(all(window(20)).kept, pieces);
    assert_eq!(all(Budget { window: Some(35), reserve: 10, fixed: 5 }).tokens, 25);
    assert_eq!(all(Budget { window: Some(34), reserve: 10, fixed: 5 }).omitted.len(), 1);
}

/// OB-02
#[test]
fn the_oldest_history_goes_first_whoever_said_it() {
    let cards = [human(1, "a"), thought(2, "b"), human(3, "c"), thought(4, "d"), thought(5, "e")];
    let pieces = costing(history(&cards));
    assert_eq!(kept(&pieces, 49), [2, 3, 4, 5]);
    assert_eq!(kept(&pieces, 30), [3, 4, 5]);
    assert_eq!(kept(&pieces, 20), [4, 5]);
    assert_eq!(kept(&pieces, 19), [5]);
    let fitted = fit(pieces, window(30)).unwrap();
    let omitted: Vec<_> =
        fitted.omitted.iter().map(|(piece, cause)| (numbers(&[*piece])[0], *cause)).collect();
    assert_eq!(omitted, [(1, Cause::Budget), (2, Cause::Budget)]);
    assert_eq!(fitted.tokens, 30);
}

/// OB-02
#[test]
fn a_call_goes_with_its_result() {
    let cards = [call(1, "c1"), thought(2, "x"), result(3, "c1", "one"), thought(4, "y")];
    let pieces = costing(history(&cards));
    assert_eq!(kept(&pieces, 39), [2, 4]);
    assert_eq!(kept(&pieces, 20), [2, 4]);
    assert_eq!(kept(&pieces, 10), [4]);
}

/// OB-02
#[test]
fn a_call_whose_result_must_stay_stays() {
    let (asks, answer, old) = (call(1, "c1"), result(2, "c1", "one"), thought(3, "x"));
    let pieces = costing(vec![
        piece_of(Layer::Checkpoint, &asks, 0),
        piece_of(Layer::Checkpoint, &old, 1),
        piece_of(Layer::Turn, &answer, 2),
    ]);
    assert_eq!(kept(&pieces, 20), [1, 2]);
    assert_eq!(fit(pieces.clone(), window(19)), Err(OverBudget { needed: 20, available: 19 }));
    let mut pinned = costing(vec![pieces[0], pieces[1]]);
    pinned[1].pinned = true;
    assert_eq!(kept(&pinned, 10), [3]);
}

/// OB-02
#[test]
fn blocks_go_after_the_history_in_a_fixed_order_and_some_never() {
    let cards: Vec<Card> = (1..=9).map(|n| block_card(n, "x")).collect();
    let block = |layer, n: usize| block_of(layer, None, &cards[n - 1]);
    let said = human(10, "hi");
    let pieces = costing(vec![
        block(Layer::SystemPrompt, 1),
        block(Layer::Framework, 2),
        block(Layer::Experience, 3),
        block(Layer::Knowledge, 4),
        block(Layer::Todo, 5),
        block(Layer::Compression, 6),
        block(Layer::Extra, 7),
        piece_of(Layer::Checkpoint, &said, 0),
        piece_of(Layer::Query, &cards[7], 1),
        piece_of(Layer::Turn, &cards[8], 2),
    ]);
    let mut left = numbers(&pieces);
    for gone in [10, 3, 4, 5, 7] {
        left.retain(|n| *n != gone);
        assert_eq!(kept(&pieces, u32::try_from(left.len() * 10).unwrap()), left);
    }
    assert_eq!(left, [1, 2, 6, 8, 9]);
    let error = fit(pieces, Budget { window: Some(59), reserve: 10, fixed: 0 }).unwrap_err();
    assert_eq!(error, OverBudget { needed: 50, available: 49 });
}

/// What needs repair. The call is named by its id: a card that names it again may be the one that is blamed next.
fn broken(pieces: &[Piece<'_>]) -> Vec<(&'static str, Option<String>)> {
    let repairs = lint(Provider::OpenAiChat, pieces).map_or_else(|_| vec![], |linted| linted.repairs);
    repairs.iter().map(|repair| (repair.rule.as_str(), repair.tool_call_id.clone())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// OB-02
    #[test]
    fn what_is_sent_fits_and_nothing_that_must_stay_is_left_out(story in any_story(30), window in 0_u32..400, pinned in 0_usize..40) {
        let mut pieces = story.pieces();
        if let Some(piece) = pieces.get_mut(pinned) {
            piece.pinned = true;
        }
        let least = [Layer::SystemPrompt, Layer::Framework, Layer::Compression, Layer::Query, Layer::Turn];
        let must = |piece: &Piece<'_>| piece.pinned || least.contains(&piece.layer);
        match fit(pieces.clone(), Budget { window: Some(window), reserve: 7, fixed: 3 }) {
            Ok(fitted) => {
                let tokens = 3 + fitted.kept.iter().map(|piece| piece.tokens).sum::<u32>();
                prop_assert_eq!(tokens, fitted.tokens);
                prop_assert!(tokens <= window.saturating_sub(7));
                prop_assert!(!fitted.omitted.iter().any(|(piece, _)| must(piece)));
                prop_assert_eq!(fitted.kept.len() + fitted.omitted.len(), pieces.len());
            }
            Err(error) => {
                prop_assert!(error.needed > error.available);
                let needed = 3 + pieces.iter().filter(|piece| must(piece)).map(|piece| piece.tokens).sum::<u32>();
                prop_assert!(error.needed >= needed);
            }
        }
    }

    /// OB-01, OB-02: what the linter adds is sent too, and has its place in the budget.
    #[test]
    fn what_is_sent_fits_with_its_repairs(story in any_story(30), window in 0_u32..400, each in 0_u32..20) {
        let pieces = story.pieces();
        let budget = Budget { window: Some(window), reserve: 7, fixed: 3 };
        let added = |linted: &Linted<'_>| each * linted.repairs.len() as u32;
        let made = fit_repaired(Provider::OpenAiChat, &pieces, budget, added);
        // The least that can be sent is sent where it fits.
        let most = Budget { fixed: 3 + window.saturating_sub(7), ..budget };
        if let Err(OverBudget { needed, available }) = fit(pieces.clone(), most) {
            let least = needed - (most.fixed - 3);
            if let Some(room) = available.checked_sub(least)
                && let Ok(fitted) = fit(pieces.clone(), Budget { fixed: 3 + room, ..budget })
                && lint(Provider::OpenAiChat, &fitted.kept).is_ok_and(|linted| added(&linted) <= room)
            {
                prop_assert!(made.is_ok(), "{least} of {available} are the least: {made:?}");
            }
        }
        if let Ok((fitted, linted)) = made {
            let kept = fitted.kept.iter().map(|piece| piece.tokens).sum::<u32>();
            // What has nothing to say has its place and is not sent.
            let unsent = linted.omitted_of(&fitted.kept).map(|(piece, _)| piece.tokens).sum::<u32>();
            prop_assert_eq!(fitted.tokens, 3 + kept - unsent + added(&linted));
            prop_assert!(fitted.tokens <= window.saturating_sub(7));
            // Where there is room for all, nothing is left out.
            let all = fit(pieces.clone(), budget).unwrap();
            let needed = all.tokens + added(&lint(Provider::OpenAiChat, &all.kept).unwrap());
            if needed <= window.saturating_sub(7) {
                prop_assert_eq!(fitted.kept.len(), all.kept.len());
            }
        }
    }

    /// OB-02: no call loses its result and no result its call, where an id stands for one call.
    #[test]
    fn the_budget_makes_nothing_that_needs_repair(story in any_story(30), window in 0_u32..400) {
        let pieces = story.pieces();
        let before = broken(&pieces);
        let budget = Budget { window: Some(window), reserve: 0, fixed: 0 };
        // An id that stands for several calls is sorted out by what is between them, which may go.
        let calls = pair(Provider::OpenAiChat, &pieces).calls;
        let once = |id: &str| calls.iter().filter(|call| call.recorded_id == id).count() < 2;
        let once: HashSet<String> =
            calls.iter().map(|call| call.recorded_id.to_string()).filter(|id| once(id)).collect();
        if let Ok(fitted) = fit(pieces, budget) {
            let mut after = broken(&fitted.kept);
            after.retain(|(_, id)| id.as_ref().is_none_or(|id| once.contains(id)));
            let count = |all: &[_], one| all.iter().filter(|other| *other == one).count();
            for repair in &after {
                prop_assert!(count(&after, repair) <= count(&before, repair), "{:?}", repair);
            }
        }
    }
}

/// OB-02: what cannot be read is the linter's to tell; the budget does not stumble over it.
#[test]
fn cards_that_no_request_can_hold_are_counted_all_the_same() {
    let cards = [call(1, "c1"), result(2, "c1", "one"), result(3, "c1", "again"), thought(4, "x")];
    let pieces = costing(history(&cards));
    assert_eq!(lint(Provider::OpenAiChat, &pieces).unwrap_err().rule, Rule::DuplicateResult);
    assert_eq!(kept(&pieces, 39), [4]);
}

/// OB-02
#[test]
fn an_eighth_is_kept_free_up_to_a_bound() {
    assert_eq!([None, Some(8_000), Some(1_000_000)].map(default_reserve), [0, 1_000, 16_384]);
}
