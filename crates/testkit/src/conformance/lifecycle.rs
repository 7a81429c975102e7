//! What a store says of itself, and its end.

use super::case::Case;
use crate::fixtures::{agent_id, at, audit, event, session_key, shelf, step_id, worker_target};
use cardwire_model::{Commit, Generation, Hash256, Keys, PassageKind, Realm, ResourceKind};
use cardwire_store::{
    BatchFilter, ClaimQuery, CommitError, EventFilter, Horizon, RosterFilter, RowFilter, SearchQuery, Store,
    StoreError,
};
use std::{fmt::Debug, sync::Arc};

/// API-14, F-23: health says what the store is and what it has not come round to; a healthy store is ready.
pub async fn health_names_the_backend_and_counts_the_backlog(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    case.store.ready().await.unwrap();
    let idle = case.store.health().await.unwrap();
    assert!(["reference", "sqlite", "postgres"].contains(&idle.backend), "{idle:?}");
    assert!(!idle.version.is_empty());
    // The reference store has no schema.
    assert!(idle.backend == "reference" || idle.schema > 0, "{idle:?}");
    assert_eq!((idle.unnumbered_events, idle.unsealed_audit), (0, 0));

    let mut commit = case.commit([]);
    commit.events.push(event(case.ids.event(), "x", None));
    commit.audit.extend([audit("a"), audit("b")]);
    case.apply(commit).await;
    let busy = case.store.health().await.unwrap();
    assert_eq!(busy.unsealed_audit, 2);
    // Numbered while committing, or waiting to be numbered, but never both or neither.
    let position = case.store.last_position(&case.project).await.unwrap();
    assert_eq!(busy.unnumbered_events + position, 1);
    crate::differential::settle(case.store.as_ref()).await;
    assert_eq!(case.store.last_position(&case.project).await.unwrap(), 1);
    assert_eq!(case.store.number_events().await.unwrap(), 0);
}

fn unavailable<T: Debug>(call: &str, answer: Result<T, StoreError>) {
    assert!(matches!(answer, Err(StoreError::Unavailable(_))), "{call} after close: {answer:?}");
}

/// CB-18: a store that was closed says so, to every call, and can be closed again.
pub async fn after_close_every_call_answers_unavailable(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let card = case.put(&["x"]).await[0];
    let box_id = case.create_box(&[card]).await;
    let token = case.ids.token();
    let (store, project, realm) = (case.store.as_ref(), &case.project, &case.realm);
    store.close().await;

    let outcome = store.commit(case.commit([])).await;
    assert!(matches!(outcome, Err(CommitError::Store(StoreError::Unavailable(_)))), "{outcome:?}");
    unavailable("load", store.load(realm, &Keys { project: true, ..Keys::default() }).await);
    unavailable("number_events", store.number_events().await);
    unavailable("unsealed_audit", store.unsealed_audit(9).await);
    unavailable("forget_answers", store.forget_answers(at(0)).await);
    unavailable("box_head", store.box_head(project, box_id).await);
    unavailable("box_entries", store.box_entries(project, box_id, Generation::FIRST, 0).await);
    unavailable("box_cards", store.box_cards(project, box_id, Generation::FIRST, 0).await);
    unavailable("cards", store.cards(project, &[card]).await);
    unavailable("ready", store.ready().await);
    unavailable("card_ids", store.card_ids(project, None, 9).await);
    unavailable("scan_cards", store.scan_cards(project, None, 9).await);
    unavailable("scan_boxes", store.scan_boxes(project, None, 9).await);
    unavailable("project", store.project(project).await);
    unavailable("projects", store.projects(None, 9).await);
    unavailable("token_by_hash", store.token_by_hash(Hash256::ZERO).await);
    unavailable("token_by_id", store.token_by_id(token).await);
    unavailable("tokens", store.tokens(None, None, 9).await);
    unavailable("events", store.events(project, 0, &EventFilter::default(), 9).await);
    unavailable("last_position", store.last_position(project).await);
    unavailable("audit", store.audit(&Realm::System, &RowFilter::default(), None, 9).await);
    unavailable("audit_chain", store.audit_chain(realm, 0, 9).await);
    unavailable("health", store.health().await);
    let (turn, step, agent) = (case.ids.turn(), step_id("step_1"), agent_id("a"));
    let (all, now) = (RowFilter::default(), at(0));
    let horizon =
        Horizon { dispatched: now, running: now, resume: now, pending: now, processing: now, given: now };
    let query = ClaimQuery { worker_target: worker_target("generic"), projects: None, now, limit: 9 };
    let claimed = store.claim(&query, Arc::new(|project, _| Commit::new(project.clone()))).await;
    assert!(matches!(claimed, Err(CommitError::Store(StoreError::Unavailable(_)))), "{claimed:?}");
    unavailable("due_heads", store.due_heads(&horizon, None, 9).await);
    unavailable("due_items", store.due_items(&horizon, None, 9).await);
    unavailable("heads", store.heads(project, None, 9).await);
    unavailable("roster", store.roster(project, &RosterFilter::default(), None, 9).await);
    unavailable("head", store.head(project, &agent).await);
    unavailable("inbox", store.inbox(project, &all, None, 9).await);
    unavailable("turn", store.turn(project, turn).await);
    unavailable("calls", store.calls(project, turn).await);
    unavailable("steps", store.steps(project, &all, None, 9).await);
    unavailable("step", store.step(project, &step).await);
    unavailable("edges", store.edges(project, &all, None, 9).await);
    unavailable("identity_edges", store.identity_edges(project, &all, None, 9).await);
    unavailable("agents", store.agents(project, None, 9).await);
    unavailable("agent", store.agent(project, &agent).await);
    unavailable("profiles", store.profiles(project, None, 9).await);
    unavailable("resources", store.resources(project, ResourceKind::Tool, None, 9).await);
    let batch = case.ids.batch();
    unavailable("batch", store.batch(project, batch).await);
    unavailable("batches", store.batches(project, &BatchFilter::default(), None, 9).await);
    unavailable("branches", store.branches(project, batch, 0, 9).await);
    unavailable("standing", store.standing(project, batch, now, now, 9).await);
    unavailable("running_batches", store.running_batches(None, 9).await);
    unavailable("sweeps", store.sweeps(None, 9).await);
    unavailable("open_children", store.open_children(project, turn, None, 9).await);
    unavailable("open_branches", store.open_branches(project, batch, 0, 9).await);
    unavailable("grants", store.grants(project, &agent, None, 1).await);
    unavailable("granted", store.granted(project, &agent, &[box_id]).await);
    unavailable("spent", store.spent(project, turn).await);
    unavailable("open_turns", store.open_turns(project, 9).await);
    unavailable("open_turns_in_trace", store.open_turns_in_trace(project, "t", 9).await);
    let (key, shelf) = (session_key("default", "s"), shelf(PassageKind::Knowledge, "default"));
    unavailable("session", store.session(project, &key).await);
    unavailable("sessions", store.sessions(project, &key.namespace, None, 9).await);
    unavailable("passages", store.passages(project, &shelf, None, 9).await);
    let query = SearchQuery { shelf, terms: vec!["x".to_owned()], limit: 9 };
    unavailable("search", store.search(project, &query).await);
    store.close().await;
}
