//! Many writers at once: whatever they race for, nothing is lost and exactly one wins.

use super::case::{Case, append, commit, open, put};
use crate::{
    chain::{follow, seal},
    fixtures::{BoxBuilder, ProjectBuilder, SeededIds, answer, at, audit, event, text_card},
};
use cardwire_model::{CardId, ChainHead, Commit, Conflict, Expect, Generation, Revision, Write};
use cardwire_store::{CommitError, RowFilter, Store};
use std::{collections::BTreeMap, sync::Arc};
use tokio::task::JoinSet;

/// Commits all at once, from tasks of their own; outcomes in the order of the commits.
pub(super) async fn race(store: &Arc<dyn Store>, commits: Vec<Commit>) -> Vec<Result<(), CommitError>> {
    let mut tasks = JoinSet::new();
    for (number, commit) in commits.into_iter().enumerate() {
        let store = Arc::clone(store);
        tasks.spawn(async move { (number, store.commit(commit).await) });
    }
    let outcomes: BTreeMap<_, _> = tasks.join_all().await.into_iter().collect();
    outcomes.into_values().collect()
}

/// Races the commits and answers which one was applied: exactly one, the others with this conflict.
pub(super) async fn one_wins(case: &Case, commits: Vec<Commit>, conflict: Conflict) -> usize {
    let outcomes = race(&case.store, commits).await;
    let mut winners = vec![];
    for (number, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Ok(()) => winners.push(number),
            Err(CommitError::Conflict(found)) if found == conflict => {}
            Err(error) => panic!("expected a {conflict:?} conflict, got {error:?}"),
        }
    }
    assert_eq!(winners.len(), 1, "exactly one wins");
    winners[0]
}

pub(super) const RACERS: usize = 12;

/// CB-12: concurrent appends never lose ids, and each call's ids stay together, in their order.
pub async fn concurrent_appends_lose_nothing_and_stay_contiguous(store: Arc<dyn Store>) {
    const TASKS: usize = 50;
    let mut case = Case::new(store).await;
    let calls: Vec<Vec<CardId>> = (0..TASKS).map(|_| case.ids.cards(3)).collect();
    case.write(calls.iter().flatten().map(|id| put(text_card(*id, "x")))).await;
    let box_id = case.create_box(&[]).await;
    let appending = |cards: &Vec<CardId>| {
        let mut commit = case.commit([append(box_id, Generation::FIRST, cards)]);
        commit.expect.push(open(box_id, 0, 100_000));
        commit
    };
    for outcome in race(&case.store, calls.iter().map(appending).collect()).await {
        outcome.expect("appends do not conflict with each other");
    }
    let found = case.card_ids(box_id, Generation::FIRST).await;
    assert_eq!(found.len(), 3 * TASKS);
    for call in &calls {
        assert!(found.chunks(3).any(|chunk| chunk == call), "the ids of a call are together, in order");
    }
    let head = case.head(box_id).await;
    assert_eq!((head.len, head.entries), (3 * TASKS as u32, 3 * TASKS as u32));
    let tail = case.store.box_entries(&case.project, box_id, Generation::FIRST, head.entries - 1).await;
    assert_eq!(tail.unwrap().len(), 1, "entries are numbered without gaps");
}

/// CB-12: `expected_len` holds at the moment of the append, not a moment before.
pub async fn of_appends_that_rely_on_a_length_one_wins(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let texts = ["x"; RACERS];
    let cards = case.put(&texts).await;
    let box_id = case.create_box(&[]).await;
    let relying = |card: &CardId| {
        let mut commit = case.commit([append(box_id, Generation::FIRST, &[*card])]);
        commit.expect.push(open(box_id, 0, 0));
        commit
    };
    let winner = one_wins(&case, cards.iter().map(relying).collect(), Conflict::Box).await;
    assert_eq!(case.card_ids(box_id, Generation::FIRST).await, [cards[winner]]);

    // The same for rewrites: one makes the next generation.
    let head = case.head(box_id).await;
    let rewriting = |card: &CardId| {
        let next = BoxBuilder::next_of(&head).cards(&[*card]).build();
        let mut commit = case.commit([Write::RewriteBox(next)]);
        commit.expect.push(open(box_id, 1, 1));
        commit
    };
    let winner = one_wins(&case, cards.iter().map(rewriting).collect(), Conflict::Box).await;
    assert_eq!(case.card_ids(box_id, Generation::new(2)).await, [cards[winner]]);
}

/// CB-07: whoever is first, the card has one content.
pub async fn of_writers_of_one_card_id_one_wins(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let id = case.ids.card();
    let cards: Vec<_> = (0..RACERS).map(|number| text_card(id, &format!("text {number}"))).collect();
    let commits = cards.iter().map(|card| case.commit([put(card.clone())])).collect();
    let winner = one_wins(&case, commits, Conflict::Card).await;
    assert_eq!(case.card(id).await, cards[winner]);
}

/// CB-11: a card is an entry once, also when many append it at once; what the losers brought is not there.
pub async fn of_appenders_of_one_card_one_wins(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let card = case.put(&["shared"]).await[0];
    let box_id = case.create_box(&[]).await;
    let own = case.ids.cards(RACERS);
    let appending = |id: &CardId| {
        case.commit([put(text_card(*id, "own")), append(box_id, Generation::FIRST, &[*id, card])])
    };
    let winner = one_wins(&case, own.iter().map(appending).collect(), Conflict::Entry).await;
    assert_eq!(case.card_ids(box_id, Generation::FIRST).await, [own[winner], card]);
    assert_eq!(case.store.cards(&case.project, &own).await.unwrap().len(), 1);
    assert_eq!(case.head(box_id).await.entries, 2);
}

/// CB-10: the count of deletions tells of each card once.
pub async fn of_deleters_of_one_card_one_wins(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let card_id = case.put(&["x"]).await[0];
    let deleting = |second| case.commit([Write::DeleteCard { card_id, at: at(second as i64) }]);
    let winner = one_wins(&case, (0..RACERS).map(deleting).collect(), Conflict::Card).await;
    assert_eq!(case.card(card_id).await.deleted_at, Some(at(winner as i64)));
    assert_eq!(case.deletions().await, 1);
}

/// API-07: nobody's change of a project is overwritten unread.
pub async fn of_updates_of_one_revision_one_wins(store: Arc<dyn Store>) {
    let case = Case::new(store).await;
    let updating = |number: usize| {
        let new = ProjectBuilder::new(case.project.clone())
            .revision(Revision::new(2))
            .title(&format!("title {number}"))
            .build();
        let mut commit = case.commit([Write::UpdateProject(new)]);
        commit.expect.push(Expect::ProjectAt(Revision::FIRST));
        commit
    };
    let winner = one_wins(&case, (0..RACERS).map(updating).collect(), Conflict::Project).await;
    let found = case.store.project(&case.project).await.unwrap().unwrap();
    assert_eq!(found.title, Some(format!("title {winner}")));
}

/// API-16: a request that comes many times at once has one effect.
pub async fn of_repeated_requests_one_is_answered(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.ids.cards(RACERS);
    let answering = |card: &CardId| {
        let remembered = answer("tok_a", "once", &card.to_string(), at(1));
        let mut commit = case.commit([put(text_card(*card, "x")), Write::RememberAnswer(remembered)]);
        commit.audit.push(audit(&card.to_string()));
        commit
    };
    let winner = one_wins(&case, cards.iter().map(answering).collect(), Conflict::Answer).await;
    let found = case.store.cards(&case.project, &cards).await.unwrap();
    assert_eq!(found.iter().map(|card| card.id).collect::<Vec<_>>(), [cards[winner]]);
    let key = answer("tok_a", "once", "", at(1)).key;
    let body = case.answer(&case.realm, &key).await.map(|answer| answer.body);
    assert_eq!(body, Some(cards[winner].to_string()));
    assert_eq!(case.store.audit(&case.realm, &RowFilter::default(), None, 100).await.unwrap().len(), 1);
}

/// DESIGN "Speed": backends apply several commits in one transaction; each one's outcome stays its own.
pub async fn concurrent_commits_each_get_their_own_outcome(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let taken = case.put(&["taken"]).await[0];
    let box_id = case.create_box(&[]).await;
    let mut ids = SeededIds::new(70);
    let mut commits = vec![];
    for number in 0..60 {
        let id = ids.card();
        // Every third brings a card, an entry and an event, and then asks for an id that is taken.
        let last = if number % 3 == 0 { taken } else { ids.card() };
        let writes = [
            put(text_card(id, "first")),
            append(box_id, Generation::FIRST, &[id]),
            put(text_card(last, "last")),
        ];
        let mut commit = case.commit(writes);
        commit.events.push(event(ids.event(), &id.to_string(), None));
        commits.push((id, commit));
    }
    let outcomes = race(&case.store, commits.iter().map(|(_, commit)| commit.clone()).collect()).await;
    let mut expected = vec![];
    for (number, ((id, _), outcome)) in commits.iter().zip(outcomes).enumerate() {
        match outcome {
            Ok(()) if number % 3 != 0 => expected.push(*id),
            Err(CommitError::Conflict(Conflict::Card)) if number % 3 == 0 => {}
            outcome => panic!("commit {number} ended with {outcome:?}"),
        }
    }
    let dump = case.dump().await;
    let mut entries = case.card_ids(box_id, Generation::FIRST).await;
    let mut told: Vec<_> = dump.events.values().map(|event| event.target.clone()).collect();
    entries.sort();
    expected.sort();
    told.sort();
    assert_eq!(entries, expected);
    assert_eq!(told, expected.iter().map(CardId::to_string).collect::<Vec<_>>());
    assert_eq!(dump.cards.len(), 1 + 2 * expected.len());
}

/// SEC-05: rows recorded at once, while a sealer is at work, end up in one chain without gaps.
pub async fn concurrent_audit_rows_are_sealed_into_one_chain(store: Arc<dyn Store>) {
    const ROWS: usize = 40;
    let case = Case::new(store).await;
    let mut writers = JoinSet::new();
    for number in 0..ROWS {
        let (store, project) = (Arc::clone(&case.store), case.project.clone());
        writers.spawn(async move {
            let mut recording = commit(&project, []);
            recording.audit.push(audit(&format!("row {number}")));
            store.commit(recording).await.unwrap();
        });
    }
    let sealed = async || {
        for work in case.store.unsealed_audit(7).await.unwrap() {
            case.apply(seal(&work.realm, work.head, &work.rows)).await;
        }
    };
    while !writers.is_empty() {
        sealed().await;
        while writers.try_join_next().is_some() {}
        tokio::task::yield_now().await;
    }
    while case.store.health().await.unwrap().unsealed_audit > 0 {
        sealed().await;
    }
    let chain = case.store.audit_chain(&case.realm, 0, 1_000).await.unwrap();
    let end = follow(&case.realm, ChainHead::START, &chain).expect("the chain holds");
    assert_eq!((end.position, chain.len()), (ROWS as u64, ROWS));
    let mut subjects: Vec<_> = chain.iter().map(|row| row.audit.subject.clone()).collect();
    subjects.sort();
    subjects.dedup();
    assert_eq!(subjects.len(), ROWS, "every row is sealed once");
}
