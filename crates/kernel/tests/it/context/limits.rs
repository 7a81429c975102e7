//! Limits of reading and searching, each at n and n + 1 (SEC-07).

use super::{draft, plugged::request};
use crate::desk::{Desk, caller};
use async_trait::async_trait;
use cardwire_kernel::{
    CollectRequest, ContextConfig, CostBy, CostQuery, Done, Embedder, KernelError, KnowledgeQuery, NewCard,
    composer::{
        blocks::experience::{Outcome, Record},
        search::rank::Method,
    },
    protocol::{
        Rejection,
        facts::{create_box::Created, put_card::Put},
        knowledge,
    },
};
use cardwire_model::{
    BoxId, Card, CardId, Cause, Commit, Embedding, Grant, Hash256, Invalid, Namespace, Origin, Passage,
    PassageKind, Shelf, Step, Timestamp, TurnEpoch, TurnId, Write, limits,
};
use cardwire_store::{RowFilter, Store};
use cardwire_store_sqlite::SqliteStore;
use cardwire_testkit::ReferenceStore;
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

/// A desk on a store that finds its way through many rows.
async fn large(context: ContextConfig) -> (Desk, Arc<SqliteStore>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(&folder.path().join("large.db")).unwrap());
    let desk = Desk::on(Arc::clone(&store) as _, Arc::new(ReferenceStore::new()), &["a"], context).await;
    (desk, store, folder)
}

async fn write(store: &dyn Store, desk: &Desk, writes: Vec<Write>) {
    store.commit(Commit { writes, ..Commit::new(desk.project.clone()) }).await.unwrap();
}

/// Steps of a turn, each of which called a model or none.
async fn steps(
    store: &dyn Store,
    desk: &Desk,
    turn_id: TurnId,
    numbers: std::ops::Range<usize>,
    asked: bool,
) {
    let metadata = if asked { json!({ "usage": { "input_tokens": 1 } }) } else { json!({}) };
    let metadata = cardwire_model::CanonicalJson::from_value(&metadata).unwrap();
    let step = |n: usize| Step {
        id: format!("step_{n}").parse().unwrap(),
        agent_id: "a".parse().unwrap(),
        turn_id,
        epoch: TurnEpoch::new(1),
        phase: "started".to_owned(),
        status: None,
        call_id: None,
        request_box: None,
        output_len: 0,
        trace_id: "t".to_owned(),
        metadata: metadata.clone(),
        created_at: Timestamp::from_micros(n as i64),
        updated_at: Timestamp::from_micros(n as i64),
    };
    let numbers: Vec<usize> = numbers.collect();
    for some in numbers.chunks(5_000) {
        write(store, desk, some.iter().map(|n| Write::CreateStep(Box::new(step(*n)))).collect()).await;
    }
}

async fn sum(desk: &Desk, by: CostBy, turn_id: TurnId) -> Result<u64, KernelError> {
    let filter = RowFilter { turn_id: Some(turn_id), ..RowFilter::default() };
    let query = CostQuery { by, filter, subtree_of: None, batch: None };
    desk.kernel.cost(&desk.project, &query).await.map(|(total, _)| total.calls)
}

fn is_too_large(outcome: &Result<u64, KernelError>) -> bool {
    matches!(outcome, Err(KernelError::Rejected(Rejection::Invalid(Invalid::TooLarge { .. }))))
}

#[tokio::test]
async fn ob_04_a_sum_goes_through_so_many_steps() {
    let (desk, store, _folder) = large(ContextConfig::default()).await;
    let turn = desk.dispatch("a").await.turn_id;
    steps(store.as_ref(), &desk, turn, 0..limits::COST_STEPS, false).await;
    assert_eq!(sum(&desk, CostBy::Agent, turn).await.unwrap(), 0);
    steps(store.as_ref(), &desk, turn, limits::COST_STEPS..limits::COST_STEPS + 1, false).await;
    assert!(is_too_large(&sum(&desk, CostBy::Agent, turn).await));
}

#[tokio::test]
async fn ob_04_a_sum_by_layer_or_card_goes_through_so_many_calls() {
    let (desk, store, _folder) = large(ContextConfig::default()).await;
    let turn = desk.dispatch("a").await.turn_id;
    steps(store.as_ref(), &desk, turn, 0..limits::COST_CALLS, true).await;
    for by in [CostBy::Layer, CostBy::Card] {
        assert_eq!(sum(&desk, by, turn).await.unwrap(), limits::COST_CALLS as u64);
    }
    steps(store.as_ref(), &desk, turn, limits::COST_CALLS..limits::COST_CALLS + 1, true).await;
    for by in [CostBy::Layer, CostBy::Card] {
        assert!(is_too_large(&sum(&desk, by, turn).await));
    }
    assert_eq!(sum(&desk, CostBy::Model, turn).await.unwrap(), limits::COST_CALLS as u64 + 1);
}

/// One meaning is asked for; the other is everywhere else.
struct Compass;

fn meaning(north: bool) -> Embedding {
    Embedding::from_floats(if north { &[1.0, 0.0] } else { &[0.0, 1.0] })
}

#[async_trait]
impl Embedder for Compass {
    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, String> {
        Ok(texts.iter().map(|_| meaning(true)).collect())
    }
}

/// F-27, KN-02
#[tokio::test]
async fn kn_02_so_many_passages_are_compared_by_meaning() {
    let context = ContextConfig { embedder: Some(Arc::new(Compass)), ..ContextConfig::default() };
    let (desk, store, _folder) = large(context).await;
    let shelf = knowledge::shelf(&Namespace::default());
    let draft = draft("note", &json!("north"), None);
    let card = NewCard { id: None, draft, origin: Origin::Operator };
    let put = desk.kernel.put_card(&desk.project, &caller(), card, None).await.unwrap();
    let Done::Fresh(Put::Created(card)) = put else { panic!("no card") };
    let card_id = card.id;
    let passage = |n: usize, north: bool| {
        Write::PutPassage(Box::new(Passage {
            shelf: shelf.clone(),
            source: format!("{n:06}"),
            part: 0,
            card_id,
            content_hash: Hash256::of(&n.to_be_bytes()),
            terms: String::new(),
            embedding: Some(meaning(north)),
            created_at: Timestamp::from_micros(0),
        }))
    };
    let last = limits::VECTOR_SCAN - 1;
    let numbers: Vec<usize> = (0..last).collect();
    for some in numbers.chunks(5_000) {
        write(store.as_ref(), &desk, some.iter().map(|n| passage(*n, false)).collect()).await;
    }
    let query = KnowledgeQuery {
        shelf: shelf.clone(),
        text: "north".to_owned(),
        method: Some(Method::Semantic),
        top_k: 1,
        score_threshold: Some(0.5),
    };
    let found = async || {
        let found = desk.kernel.search_sections(&desk.project, &query).await.unwrap();
        (found.sections.len(), found.is_cut)
    };
    write(store.as_ref(), &desk, vec![passage(last, true)]).await;
    assert_eq!(found().await, (1, false), "the last one that is looked at");
    write(store.as_ref(), &desk, vec![passage(last, false), passage(last + 1, true)]).await;
    assert_eq!(found().await, (0, true), "one more is not, and the answer says so");
}

#[tokio::test]
async fn ex_02_so_many_experiences_are_looked_through_for_successes() {
    let desk = Desk::new(&[]).await;
    let put = async |session: &str, outcome: Outcome| {
        let record = Record { outcome, ..Record::new(session, "move hippo") };
        let card =
            NewCard { id: None, draft: draft("note", &record.to_value(), None), origin: Origin::Operator };
        let put = desk.kernel.put_card(&desk.project, &caller(), card, None).await.unwrap();
        let Done::Fresh(Put::Created(card)) = put else { panic!("no card") };
        card
    };
    let (failed, succeeded) = (put("f", Outcome::Failure).await, put("won", Outcome::Success).await);
    let passage = |source: String, card_id: CardId, terms: &str| {
        Write::PutPassage(Box::new(Passage {
            shelf: Shelf { kind: PassageKind::Experience, namespace: Namespace::default() },
            content_hash: Hash256::of(source.as_bytes()),
            source,
            part: 0,
            card_id,
            terms: terms.to_owned(),
            embedding: None,
            created_at: Timestamp::from_micros(0),
        }))
    };
    let fits_better = |n: usize| {
        let id = CardId::from_uuid(Uuid::from_u128(n as u128));
        let card = Card { id, ..Card::clone(&failed) };
        [Write::PutCard(Box::new(card)), passage(n.to_string(), id, "move hippo")]
    };
    let last = limits::EXPERIENCE_CANDIDATES - 1;
    let mut writes: Vec<Write> = (0..last).flat_map(fits_better).collect();
    writes.push(passage("won".to_owned(), succeeded.id, "hippo"));
    write(desk.store.as_ref(), &desk, writes).await;
    let finds_it = async || {
        let request = CollectRequest { query: Some("move hippo".to_owned()), ..request(true) };
        let collected = desk.kernel.collect(&desk.project, &request).await.unwrap();
        collected.contexts["experience__context"].contains("- Outcome: success")
    };
    assert!(finds_it().await, "the last one that is looked at");
    write(desk.store.as_ref(), &desk, fits_better(last).into()).await;
    assert!(!finds_it().await, "one more is not");
}

#[tokio::test]
async fn rp_04_so_many_grants_are_looked_into() {
    let desk = Desk::new(&["a"]).await;
    let lease = desk.turn_of("a", "s", "Why?").await;
    let call = desk.call(&lease, None).await.unwrap().call_id;
    let mut boxes: Vec<BoxId> = vec![];
    for _ in 0..=limits::SEARCHED_GRANTS {
        let created = desk.kernel.create_box(&desk.project, &caller(), None, &[], None).await.unwrap();
        let Done::Fresh(Created::New(head)) = created else { panic!("no box") };
        boxes.push(head.box_id);
    }
    boxes.sort();
    let at = Timestamp::from_micros(0);
    let grant = |box_id: &BoxId| Grant { agent_id: "a".parse().unwrap(), box_id: *box_id, at };
    let grants = boxes.iter().map(|box_id| Write::AddGrant(Box::new(grant(box_id)))).collect();
    write(desk.store.as_ref(), &desk, grants).await;
    let put = async |place: usize| -> CardId {
        let drafts = vec![(draft("x", &Value::from(place), None), Origin::Operator)];
        let appended =
            desk.kernel.put_and_append(&desk.project, &caller(), boxes[place], drafts).await.unwrap();
        appended.added[0]
    };
    let (last, beyond) = (put(limits::SEARCHED_GRANTS - 1).await, put(limits::SEARCHED_GRANTS).await);
    for (card, cause) in [(last, Cause::NotVisible), (beyond, Cause::NotGranted)] {
        let answer = desk.kernel.why(&desk.project, call, card).await.unwrap();
        assert_eq!(answer.why.cause, cause);
    }
}
