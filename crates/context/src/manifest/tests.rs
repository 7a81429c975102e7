//! From pieces to a manifest and back to the same bytes.

use super::*;
use crate::{
    fixtures::{
        PROVIDERS, block_card, block_of, body_of, box_id, card_id, human, json_of, piece_of,
        story::any_story, thought,
    },
    lint::lint,
    piece::Body,
    render::{RequestSpec, TEMPLATE, render, sha256},
    words::Words,
};
use cardwire_model::{
    CanonicalJson, Card, CardId, Generation, Layer, Manifest, Placement, Provider, Repair, Seen, Timestamp,
};
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

fn manifest(entries: Vec<ManifestEntry>) -> Manifest {
    Manifest {
        template: TEMPLATE.to_owned(),
        provider: Provider::OpenAiChat,
        model: "m".to_owned(),
        params: Map::new(),
        tools: None,
        tool_set_hash: None,
        tokenizer: "estimate".to_owned(),
        placement: Placement::Seed,
        window: None,
        reserve: 0,
        agent_id: "a1".parse().unwrap(),
        turn_id: "turn_00000000000000000000000000000001".parse().unwrap(),
        step_id: "step_1".parse().unwrap(),
        session: None,
        entries,
        omissions: vec![],
        repairs: vec![],
        total_tokens: 1,
        request_sha256: "00".to_owned(),
        previous_call: None,
        shared_prefix_tokens: 0,
        at: Timestamp::from_micros(0),
    }
}

fn sources(entries: &[ManifestEntry]) -> Vec<String> {
    let short = |id: CardId| id.uuid().as_u128();
    let one = |entry: &ManifestEntry| match &entry.source {
        Source::Block(id) => format!("block {}", short(*id)),
        Source::Card(id) => format!("card {}", short(*id)),
        Source::Stretch(one) => format!("{}..{} of {}", one.from, one.to, entry.cards),
    };
    entries.iter().map(one).collect()
}

/// RP-01, NF-12
#[test]
fn cards_that_follow_each_other_in_a_box_are_one_entry() {
    let cards: Vec<Card> = (0..6).map(|n| human(n, "abcd")).collect();
    let place = |layer, n: usize, index| piece_of(layer, &cards[n], index);
    let prompt = block_card(9, "p");
    let pieces = [
        block_of(Layer::SystemPrompt, None, &prompt),
        place(Layer::Checkpoint, 0, 3),
        place(Layer::Checkpoint, 1, 4),
        place(Layer::Checkpoint, 2, 5),
        place(Layer::Checkpoint, 3, 7),
        place(Layer::Query, 4, 8),
        place(Layer::Turn, 5, 9),
    ];
    let found = entries(&pieces, &[]).unwrap();
    assert_eq!(sources(&found), ["block 9", "3..6 of 3", "card 3", "card 4", "card 5"]);
    assert_eq!((found[1].tokens, found[1].cause), (15, Cause::History));
    // A card that was left out by the linter parts the stretch.
    let found = entries(&pieces, &[(2, Cause::Empty)]).unwrap();
    assert_eq!(sources(&found)[1..4], ["card 0", "card 2", "card 3"]);
}

/// RP-01
#[test]
fn cards_of_another_box_or_generation_or_reason_are_another_entry() {
    let cards: Vec<Card> = (0..2).map(|n| human(n, "x")).collect();
    let (first, second) =
        (piece_of(Layer::Checkpoint, &cards[0], 0), piece_of(Layer::Checkpoint, &cards[1], 1));
    let at = |box_id, generation| Piece {
        reference: Reference::Card { id: cards[1].id, place: Some(Place { box_id, generation, index: 1 }) },
        ..second
    };
    let others = [
        at(box_id(2), Generation::FIRST),
        at(box_id(1), Generation::FIRST.next()),
        Piece { cause: Cause::Memory, ..second },
        Piece { layer: Layer::Turn, ..second },
        Piece { reference: Reference::Card { id: cards[1].id, place: None }, ..second },
    ];
    assert_eq!(entries(&[first, second], &[]).unwrap().len(), 1);
    for other in others {
        assert_eq!(entries(&[first, other], &[]).unwrap().len(), 2, "{other:?}");
    }
}

/// RP-01
#[test]
fn a_piece_that_is_kept_nowhere_has_no_entry() {
    let card = human(1, "x");
    let given = Piece { reference: Reference::Given, ..piece_of(Layer::Query, &card, 0) };
    assert_eq!(entries(&[given], &[]), Err(NotKept { index: 0 }));
    let left_out = omissions([(given, Cause::Budget)]);
    assert_eq!((left_out[0].source.clone(), left_out[0].cards, left_out[0].cause), (None, 1, Cause::Budget));
}

/// RP-01, API-17
#[test]
fn a_manifest_is_kept_as_json_and_read_back() {
    let stretch = Stretch { box_id: box_id(1), generation: Generation::FIRST, from: 2, to: 5 };
    let entry = |layer, source, cards| ManifestEntry {
        layer,
        context_key: None,
        source,
        cards,
        tokens: 9,
        cause: Cause::History,
    };
    let todo = ManifestEntry {
        context_key: Some("todo__context".to_owned()),
        ..entry(Layer::Todo, Source::Block(card_id(2)), 1)
    };
    let mut full = manifest(vec![
        todo,
        entry(Layer::Checkpoint, Source::Stretch(stretch), 3),
        entry(Layer::Query, Source::Card(card_id(3)), 1),
    ]);
    full.omissions = omissions([(piece_of(Layer::Checkpoint, &human(4, "x"), 0), Cause::Budget)]);
    full.omissions.push(Omission {
        source: None,
        context_key: Some("knowledge__context".to_owned()),
        ..full.omissions[0].clone()
    });
    full.repairs =
        vec![Repair { rule: "call_without_result".to_owned(), card_id: Some(card_id(5)), added: card_id(6) }];
    full.tools = Some(card_id(7));
    full.tool_set_hash = Some("ab".to_owned());
    full.window = Some(8000);
    full.previous_call = Some(card_id(8));
    full.session = Some(Seen::Checkpoint(card_id(9)));
    full.params.insert("temperature".to_owned(), json!(0.5));
    let content = to_json(&full).unwrap();
    assert_eq!(from_json(&content).as_ref(), Some(&full));
    assert_snapshot!(content.as_str().replace(",\"", ",\n\""), @r#"
    {"agent_id":"a1",
    "agent_turn_id":"turn_00000000000000000000000000000001",
    "created_at":"1970-01-01T00:00:00.000000Z",
    "entries":[{"block_card_id":"00000000000000000000000000000002",
    "cards":1,
    "context_key":"todo__context",
    "layer":"todo",
    "reason":"history",
    "tokens":9},{"box":{"box_id":"00000000000000000000000000000001",
    "from":2,
    "generation":1,
    "to":5},
    "cards":3,
    "layer":"checkpoint",
    "reason":"history",
    "tokens":9},{"card_id":"00000000000000000000000000000003",
    "cards":1,
    "layer":"query",
    "reason":"history",
    "tokens":9}],
    "model":"m",
    "omissions":[{"card_id":"00000000000000000000000000000004",
    "cards":1,
    "layer":"checkpoint",
    "reason":"budget",
    "tokens":5},{"cards":1,
    "context_key":"knowledge__context",
    "layer":"checkpoint",
    "reason":"budget",
    "tokens":5}],
    "params":{"temperature":0.5},
    "placement":"seed",
    "previous_call_id":"00000000000000000000000000000008",
    "provider":"openai-chat",
    "repairs":[{"added_card_id":"00000000000000000000000000000006",
    "card_id":"00000000000000000000000000000005",
    "rule":"call_without_result"}],
    "request_sha256":"00",
    "reserve":0,
    "session_checkpoint":"00000000000000000000000000000009",
    "shared_prefix_tokens":0,
    "step_id":"step_1",
    "template":"cw-2",
    "tokenizer":"estimate",
    "tool_set_hash":"ab",
    "tools_card_id":"00000000000000000000000000000007",
    "total_tokens":1,
    "window":8000}
    "#);
    let bare = manifest(vec![]);
    assert_eq!(from_json(&to_json(&bare).unwrap()), Some(bare.clone()));
    let began = Manifest { session: Some(Seen::Nothing), ..bare };
    assert_eq!(
        from_json(&to_json(&began).unwrap()),
        Some(began),
        "there was no session is not: there is none"
    );
}

/// RP-01
#[test]
fn content_that_is_no_manifest_is_not_read_as_one() {
    let good = to_json(&manifest(vec![])).unwrap().to_value();
    let broken = |key: &str, value: Value| {
        let mut broken = good.clone();
        broken[key] = value;
        json_of(&broken)
    };
    let cases = [
        CanonicalJson::empty_object(),
        json_of(&json!("x")),
        broken("provider", json!("cohere")),
        broken("reserve", json!(-1)),
        broken("window", json!("many")),
        broken("session_checkpoint", json!("many")),
        broken("agent_turn_id", json!("a1")),
        broken("entries", json!([{ "layer": "turn", "cards": 1, "tokens": 1, "reason": "own" }])),
        broken(
            "entries",
            json!([{ "layer": "attic", "card_id": "x", "cards": 1, "tokens": 1, "reason": "own" }]),
        ),
        broken("entries", Value::Null),
    ];
    for content in cases {
        assert_eq!(from_json(&content), None, "{content:?}");
    }
}

/// RP-02
#[test]
fn a_missing_card_box_or_place_is_named() {
    let words = Words::as_kept();
    let cards: Vec<Card> = (0..3).map(|n| human(n, "x")).collect();
    let pieces: Vec<_> =
        cards.iter().enumerate().map(|(n, card)| piece_of(Layer::Checkpoint, card, n)).collect();
    let kept = manifest(entries(&pieces, &[]).unwrap());
    let ids: Vec<_> = cards.iter().map(|card| card.id).collect();
    let gone = expand(&kept, |_, _| None::<Vec<CardId>>).unwrap_err();
    assert_eq!(gone.missing, Missing::Box { box_id: box_id(1), generation: Generation::FIRST });
    let short = expand(&kept, |_, _| Some(&ids[..2])).unwrap_err();
    assert_eq!(short.missing, Missing::Places { box_id: box_id(1), generation: Generation::FIRST, to: 3 });
    let all = expand(&kept, |_, _| Some(&ids[..])).unwrap();
    let lost =
        rebuild(&all, &words, |id| cards.iter().find(|card| card.id == id && id != card_id(1))).unwrap_err();
    assert_eq!((lost.entry, lost.missing), (0, Missing::Card(card_id(1))));
    assert_eq!(
        lost.to_string(),
        format!("entry 0 of the manifest (checkpoint): card {} is missing", card_id(1))
    );
}

/// OB-05
#[test]
fn the_shared_prefix_ends_where_the_first_difference_is() {
    let (one, two) = (block_card(1, "p"), block_card(2, "k"));
    let (three, four) = (human(3, "abcdefgh"), thought(4, "x"));
    let (prompt, said) = (block_of(Layer::SystemPrompt, None, &one), piece_of(Layer::Checkpoint, &three, 0));
    let before = manifest(entries(&[prompt, said], &[]).unwrap());
    let before = expand(&before, |_, _| None::<Vec<CardId>>).unwrap();
    let knowledge = block_of(Layer::Knowledge, None, &two);
    let more = piece_of(Layer::Turn, &four, 1);
    assert_eq!(shared_prefix(&before, &[prompt, said, more]), prompt.tokens + said.tokens);
    assert_eq!(shared_prefix(&before, &[prompt, knowledge, said, more]), prompt.tokens);
    assert_eq!(shared_prefix(&before, &[said]), 0);
    assert_eq!(shared_prefix(&[], &[prompt]), 0);
    // The same card as a block and as a message are two things.
    assert_eq!(shared_prefix(&before, &[piece_of(Layer::Turn, &one, 0)]), 0);
}

/// RP-01
#[test]
fn an_outline_names_what_has_no_card_by_its_hash() {
    let card = human(1, "x");
    let given = Piece {
        reference: Reference::Given,
        body: crate::piece::Body::Text { speaker: cardwire_model::Speaker::System, text: "F" },
        context_key: Some("framework__context"),
        ..block_of(Layer::Framework, None, &card)
    };
    let shown = outline(&[given, piece_of(Layer::Query, &card, 0)]);
    assert_eq!(shown[0]["content_sha256"], json!(sha256(b"F")));
    assert_eq!(
        (&shown[0]["context_key"], &shown[0]["reason"]),
        (&json!("framework__context"), &json!("collected"))
    );
    assert_eq!((&shown[1]["card_id"], &shown[1]["layer"]), (&json!(card.id.to_string()), &json!("query")));
    assert_eq!(outline_omissions([(given, Cause::Budget)])[0]["reason"], json!("budget"));
}

/// RP-02: parameters are written as a manifest keeps them.
#[test]
fn parameters_render_the_same_after_they_were_kept() {
    let params = json!({ "temperature": 1.0, "top_p": 0.10, "seed": 10_000_000_000_000_000_000_u64, "stop": ["\u{7f}é"] });
    let mut kept = manifest(vec![]);
    kept.params = params.as_object().unwrap().clone();
    let read = from_json(&to_json(&kept).unwrap()).unwrap();
    let cards = [human(1, "x")];
    let pieces = [piece_of(Layer::Query, &cards[0], 0)];
    for provider in PROVIDERS {
        let linted = lint(provider, &pieces).unwrap();
        let body = |params| render(&linted, &RequestSpec { provider, model: "m", params, tools: None });
        assert_eq!(body(&kept.params), body(&read.params));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// RP-02, NF-11
    #[test]
    fn a_manifest_renders_to_the_same_bytes(story in any_story(30)) {
        let words = Words::of(story.all_cards());
        let mut pieces = story.pieces();
        for piece in &mut pieces {
            if let (Reference::Card { .. }, Body::Card(card)) = (piece.reference, piece.body) {
                piece.body = words.body(card);
            }
        }
        let cards: HashMap<CardId, &Card> = story.all_cards().map(|card| (card.id, card)).collect();
        let ids: Vec<CardId> = story.cards.iter().map(|card| card.id).collect();
        for provider in PROVIDERS {
            let linted = lint(provider, &pieces).unwrap();
            let recorded = manifest(entries(&pieces, &linted.omitted).unwrap());
            let recorded = from_json(&to_json(&recorded).unwrap()).unwrap();
            let expanded = expand(&recorded, |_, _| Some(&ids[..])).unwrap();
            let rebuilt = rebuild(&expanded, &words, |id| cards.get(&id).copied()).unwrap();
            let again = lint(provider, &rebuilt).unwrap();
            prop_assert_eq!(body_of(&again), body_of(&linted));
            prop_assert_eq!(&again.repairs, &linted.repairs);
            // The next call of the agent begins with the whole of this one.
            let all: u32 = linted.sent(&pieces).map(|piece| piece.tokens).sum();
            prop_assert_eq!(shared_prefix(&expanded, linted.sent(&pieces)), all);
        }
    }
}
