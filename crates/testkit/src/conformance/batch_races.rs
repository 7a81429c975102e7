//! Many writers at once on batches, branches and budgets.

use super::{
    batches::{begin, close, closed, end, move_from},
    branches::ended,
    case::{Case, enqueue},
    races::{RACERS, one_wins, race},
    trees::spend,
};
use crate::fixtures::{branch_end, text_card, turn_item};
use cardwire_model::{
    Batch, BatchStatus, Branch, BranchEnd, BranchStatus, CloseReason, Commit, Conflict, Expect, InboxItem,
    TaskStatus, Write,
};
use cardwire_store::{CommitError, Store};
use std::sync::Arc;
use tokio::task::JoinSet;

/// BM-13: of many reasons to close a batch at once, one counts; and it is closed once.
pub async fn of_closers_of_one_batch_one_wins(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (forked, _) = case.fork(3).await;
    let reason = |number: usize| CloseReason::ALL[number % CloseReason::ALL.len()];
    let commits = (0..RACERS).map(|number| case.commit([begin(&forked, reason(number))])).collect();
    let winner = one_wins(&case, commits, Conflict::Batch).await;
    let closing = Batch { closing: Some(reason(winner)), ..forked };
    assert_eq!(case.batch(&closing).await, closing);
    let ends: Vec<_> = (0..RACERS).map(|_| closed(&mut case, &closing, BatchStatus::Failed)).collect();
    let commits = ends.iter().map(|one| case.commit([close(one)])).collect();
    let winner = one_wins(&case, commits, Conflict::Batch).await;
    assert_eq!(case.batch(&closing).await, ends[winner]);
}

/// BM-10: of many that dispatch a branch at once, one does.
pub async fn of_movers_of_one_branch_one_wins(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (forked, rows) = case.fork(1).await;
    let (status, was) = (BranchStatus::Dispatched, rows[0].clone());
    let moved: Vec<_> = (0..RACERS)
        .map(|number| Branch {
            status,
            attempts: number as u32,
            turn_id: Some(case.ids.turn()),
            ..was.clone()
        })
        .collect();
    let cards = case.ids.cards(RACERS);
    let moving = |(row, card): (&Branch, &_)| {
        let card = super::case::put(text_card(*card, "x"));
        case.commit([card, move_from(BranchStatus::Pending, row)])
    };
    let winner = one_wins(&case, moved.iter().zip(&cards).map(moving).collect(), Conflict::Batch).await;
    assert_eq!(case.branches(&forked).await, [moved[winner].clone()]);
    let found = case.store.cards(&case.project, &cards).await.unwrap();
    assert_eq!(found.iter().map(|card| card.id).collect::<Vec<_>>(), [cards[winner]]);
}

/// BM-12: of many ends of one branch one counts, and all are fine.
pub async fn of_ends_of_one_branch_one_counts(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (forked, rows) = case.fork(2).await;
    let told = |number: usize| TaskStatus::ALL[number % TaskStatus::ALL.len()];
    let ends: Vec<_> =
        (0..RACERS).map(|number| branch_end(&mut case.ids, rows[0].key, told(number))).collect();
    let commits = ends.iter().map(|one| case.commit([end(one)])).collect();
    for outcome in race(&case.store, commits).await {
        outcome.expect("an end is no conflict");
    }
    let found = case.branches(&forked).await;
    assert!(ends.iter().any(|one| found[0] == ended(&rows[0], one)), "{found:?}");
    assert_eq!(found[1], rows[1]);
}

/// BM-12: commits that end the same branches in different orders do not get in each other's way.
pub async fn ends_of_the_same_branches_go_together_in_any_order(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (first, rows) = case.fork(10).await;
    let (second, others) = case.fork(10).await;
    let all: Vec<_> = rows.iter().chain(&others).cloned().collect();
    let mut told: Vec<Vec<BranchEnd>> = vec![];
    for number in 0..RACERS {
        let status = TaskStatus::ALL[number % TaskStatus::ALL.len()];
        let mut ends: Vec<_> = all.iter().map(|row| branch_end(&mut case.ids, row.key, status)).collect();
        ends.rotate_left(number * 7 % 20);
        if number % 2 == 1 {
            ends.reverse();
        }
        told.push(ends);
    }
    let commits = told.iter().map(|ends| case.commit(ends.iter().map(end))).collect();
    for outcome in race(&case.store, commits).await {
        outcome.expect("ends do not conflict with each other");
    }
    let mut found = case.branches(&first).await;
    found.extend(case.branches(&second).await);
    // A commit is applied whole, so the first one ended them all.
    let of_one = |ends: &Vec<BranchEnd>| {
        let told = |row: &Branch| ends.iter().find(|one| one.key == row.key).map(|one| ended(row, one));
        all.iter().map(told).collect::<Option<Vec<_>>>() == Some(found.clone())
    };
    assert!(told.iter().any(of_one), "{found:#?}");
}

/// BM-12: whoever moves a branch meanwhile comes before its end, or not at all.
pub async fn an_end_is_not_overwritten_by_a_mover(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (forked, rows) = case.fork(RACERS as u32).await;
    let (mut commits, mut expected) = (vec![], vec![]);
    for (number, row) in rows.iter().enumerate() {
        let moved = Branch { status: BranchStatus::Dispatched, attempts: 7, ..row.clone() };
        let one = branch_end(&mut case.ids, row.key, TaskStatus::Success);
        let writes = [move_from(BranchStatus::Pending, &moved), end(&one)];
        expected.push([ended(row, &one), ended(&moved, &one)]);
        commits.extend(writes.map(|write| case.commit([write])));
        let len = commits.len();
        if number % 2 == 1 {
            commits.swap(len - 2, len - 1);
        }
    }
    for outcome in race(&case.store, commits).await {
        assert!(matches!(outcome, Ok(()) | Err(CommitError::Conflict(Conflict::Batch))), "{outcome:?}");
    }
    for (found, expected) in case.branches(&forked).await.iter().zip(expected) {
        assert!(expected.contains(found), "{found:?} is neither of {expected:?}");
    }
}

/// BM-13: an end is either before the close has begun, and then whoever closes sees it, or it changes nothing.
pub async fn once_a_close_has_begun_no_branch_changes(store: Arc<dyn Store>) {
    const BRANCHES: u32 = 40;
    let mut case = Case::new(store).await;
    for round in 0..4 {
        let (forked, rows) = case.fork(BRANCHES).await;
        let mut ending = JoinSet::new();
        let start = Arc::new(tokio::sync::Barrier::new(BRANCHES as usize + 1));
        for row in &rows {
            let one = branch_end(&mut case.ids, row.key, TaskStatus::Success);
            let (store, start) = (Arc::clone(&case.store), Arc::clone(&start));
            let commit = case.commit([end(&one)]);
            ending.spawn(async move {
                start.wait().await;
                store.commit(commit).await.expect("an end is no conflict");
            });
        }
        start.wait().await;
        for _ in 0..round {
            tokio::task::yield_now().await;
        }
        case.write([begin(&forked, CloseReason::Deadline)]).await;
        let seen = case.branches(&forked).await;
        while let Some(done) = ending.join_next().await {
            done.expect("no task fails");
        }
        assert_eq!(case.branches(&forked).await, seen, "a branch changed after the close had begun");
    }
}

/// SEC-07: a tree does not grow past its limit, however many start turns at once; what was refused left nothing.
pub async fn no_more_turns_are_spent_than_the_limit(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let root = case.ids.turn();
    let cards = case.ids.cards(RACERS);
    let spending = |card: &_| -> Commit {
        let writes: [Write; 2] = [super::case::put(text_card(*card, "x")), spend(root, 2, 11)];
        case.commit(writes)
    };
    let outcomes = race(&case.store, cards.iter().map(spending).collect()).await;
    let applied = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    let refused =
        |outcome: &&Result<(), CommitError>| matches!(outcome, Err(CommitError::Conflict(Conflict::Tree)));
    assert_eq!((applied, outcomes.iter().filter(refused).count()), (5, RACERS - 5), "{outcomes:?}");
    assert_eq!(case.store.spent(&case.project, root).await.unwrap(), 10);
    assert_eq!(case.store.cards(&case.project, &cards).await.unwrap().len(), 5);
}

/// SEC-07: a project does not have more open turns than its limit, however many are opened at once by whoever counts them.
pub async fn no_more_turns_are_open_than_is_expected(store: Arc<dyn Store>) {
    const LIMIT: u32 = 5;
    let mut case = Case::new(store).await;
    let output = case.ids.card_box();
    let items: Vec<_> = (0..RACERS).map(|_| turn_item(&mut case.ids, "a", output)).collect();
    let opening = |item: &InboxItem| -> Commit {
        let mut commit = case.commit([enqueue(item)]);
        commit.expect.push(Expect::OpenTurns { at_most: LIMIT - 1 });
        commit
    };
    let outcomes = race(&case.store, items.iter().map(opening).collect()).await;
    let applied = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    let refused = |outcome: &&Result<(), CommitError>| {
        matches!(outcome, Err(CommitError::Conflict(Conflict::OpenTurns)))
    };
    let expected = (LIMIT as usize, RACERS - LIMIT as usize);
    assert_eq!((applied, outcomes.iter().filter(refused).count()), expected, "{outcomes:?}");
    assert_eq!(case.store.open_turns(&case.project, 100).await.unwrap(), LIMIT);
}
