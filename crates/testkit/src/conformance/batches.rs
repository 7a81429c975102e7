//! Batches: forked once, closed once (BM-06).

use super::case::{Case, assert_pages, commit};
use crate::fixtures::{agent_id, at, batch, branch, full_batch};
use cardwire_model::{Batch, BatchStatus, Branch, BranchEnd, BranchStatus, CloseReason, Conflict, Write};
use cardwire_store::{BatchFilter, Store};
use std::sync::Arc;

pub(super) fn create(batch: &Batch) -> Write {
    Write::CreateBatch(Box::new(batch.clone()))
}

pub(super) fn close(batch: &Batch) -> Write {
    Write::CloseBatch(Box::new(batch.clone()))
}

pub(super) fn begin(batch: &Batch, reason: CloseReason) -> Write {
    Write::BeginClose { batch_id: batch.id, reason }
}

pub(super) fn add(branch: &Branch) -> Write {
    Write::AddBranch(Box::new(branch.clone()))
}

pub(super) fn move_from(from: BranchStatus, branch: &Branch) -> Write {
    Write::MoveBranch { from, branch: Box::new(branch.clone()) }
}

pub(super) fn end(end: &BranchEnd) -> Write {
    Write::EndBranch(Box::new(end.clone()))
}

impl Case {
    /// A running batch with branches that are all pending.
    pub(super) async fn fork(&mut self, branches: u32) -> (Batch, Vec<Branch>) {
        let batch = batch(&mut self.ids, branches);
        let rows: Vec<_> = (0..branches).map(|index| branch(&mut self.ids, &batch, index)).collect();
        let writes = [create(&batch)].into_iter().chain(rows.iter().map(add));
        self.write(writes).await;
        (batch, rows)
    }

    /// A batch, which must be there.
    pub(super) async fn batch(&self, batch: &Batch) -> Batch {
        self.store.batch(&self.project, batch.id).await.unwrap().expect("the batch is there")
    }

    /// All branches of a batch.
    pub(super) async fn branches(&self, batch: &Batch) -> Vec<Branch> {
        self.store.branches(&self.project, batch.id, 0, 100_000).await.unwrap()
    }
}

/// The batch as it is when somebody has closed it.
pub(super) fn closed(case: &mut Case, batch: &Batch, status: BatchStatus) -> Batch {
    Batch { status, result_card: Some(case.ids.card()), closed_at: Some(at(90)), ..batch.clone() }
}

const ENDS: [BatchStatus; 4] =
    [BatchStatus::Success, BatchStatus::Partial, BatchStatus::Failed, BatchStatus::Timeout];

/// BM-06: a batch is what was forked.
pub async fn a_batch_comes_back_with_every_field(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let mut batches = vec![batch(&mut case.ids, 3), full_batch(&mut case.ids)];
    for status in ENDS {
        batches.push(Batch { status, result_card: None, ..full_batch(&mut case.ids) });
    }
    for closing in CloseReason::ALL {
        batches.push(Batch { closing: Some(*closing), ..batch(&mut case.ids, 1) });
    }
    for one in &batches {
        assert_eq!(case.store.batch(&case.project, one.id).await.unwrap(), None);
        case.write([create(one)]).await;
        assert_eq!(case.batch(one).await, *one);
        assert_eq!(case.branches(one).await, []);
    }
    batches.sort_by_key(|batch| std::cmp::Reverse(batch.id));
    let all = case.store.batches(&case.project, &BatchFilter::default(), None, 99).await.unwrap();
    assert_eq!(all, batches);
}

/// BM-06: an id names one batch.
pub async fn a_taken_batch_id_conflicts_and_changes_nothing(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (first, _) = case.fork(2).await;
    let thief = Batch { id: first.id, ..full_batch(&mut case.ids) };
    case.refuse_write(create(&thief), Conflict::Batch).await;
    let fresh = batch(&mut case.ids, 1);
    case.refuse(case.commit([create(&fresh), create(&first)]), Conflict::Batch).await;
    case.refuse(case.commit([create(&fresh), create(&fresh)]), Conflict::Batch).await;
    assert_eq!(case.batch(&first).await, first);
}

/// BM-13, BM-18: of all reasons to close a batch, the first one counts.
pub async fn a_batch_begins_to_close_once(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    for reason in CloseReason::ALL {
        let (going, branches) = case.fork(2).await;
        case.write([begin(&going, *reason)]).await;
        let closing = Batch { closing: Some(*reason), ..going.clone() };
        assert_eq!(case.batch(&going).await, closing);
        assert_eq!(case.branches(&going).await, branches);
        for other in CloseReason::ALL {
            case.refuse_write(begin(&going, *other), Conflict::Batch).await;
        }
        let other = batch(&mut case.ids, 1);
        let late = [create(&other), begin(&going, *reason)];
        case.refuse(case.commit(late), Conflict::Batch).await;
    }
    for status in ENDS {
        let (going, _) = case.fork(1).await;
        let done = closed(&mut case, &going, status);
        case.write([close(&done)]).await;
        case.refuse_write(begin(&going, CloseReason::Canceled), Conflict::Batch).await;
    }
    let absent = batch(&mut case.ids, 1);
    case.refuse_write(begin(&absent, CloseReason::Canceled), Conflict::Batch).await;
    // In the commit that forks it, too.
    case.write([create(&absent), begin(&absent, CloseReason::Enough)]).await;
    assert_eq!(case.batch(&absent).await.closing, Some(CloseReason::Enough));
}

/// BM-06: a batch is closed once, by who knows why; what was forked stays as it was written.
pub async fn a_batch_closes_from_the_closing_it_was_seen_in(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let reasons = || [None].into_iter().chain(CloseReason::ALL.iter().copied().map(Some));
    for (number, closing) in reasons().enumerate() {
        let (mut going, branches) = case.fork(2).await;
        if let Some(reason) = closing {
            case.write([begin(&going, reason)]).await;
            going.closing = closing;
        }
        // Every other field says something else, and is not written.
        let done = Batch {
            id: going.id,
            status: ENDS[number % ENDS.len()],
            closing,
            result_card: (number % 2 == 0).then(|| case.ids.card()),
            closed_at: Some(at(70)),
            ..full_batch(&mut case.ids)
        };
        for other in reasons().filter(|other| *other != closing) {
            let stale = Batch { closing: other, ..done.clone() };
            let fresh = batch(&mut case.ids, 1);
            case.refuse(case.commit([create(&fresh), close(&stale)]), Conflict::Batch).await;
        }
        case.write([close(&done)]).await;
        let Batch { status, result_card, closed_at, .. } = done;
        let expected = Batch { status, result_card, closed_at, ..going };
        assert_eq!(case.batch(&expected).await, expected);
        assert_eq!(case.branches(&expected).await, branches, "branches are moved by who closes");
        case.refuse_write(close(&expected), Conflict::Batch).await;
    }
    let absent = full_batch(&mut case.ids);
    case.refuse_write(close(&absent), Conflict::Batch).await;
    // Writes of one commit see each other.
    let (going, _) = case.fork(1).await;
    let closing = Batch { closing: Some(CloseReason::Deadline), ..going.clone() };
    let done = closed(&mut case, &closing, BatchStatus::Timeout);
    case.write([begin(&going, CloseReason::Deadline), close(&done)]).await;
    assert_eq!(case.batch(&going).await, done);
}

/// What a reader asks for, and which batches that means.
type Wanted = (BatchFilter, Box<dyn Fn(&Batch) -> bool>);

/// API-08: batches newest first, by every part of a filter and by several at once.
pub async fn batches_are_listed_newest_first_by_every_filter(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let mut rows = vec![];
    let turns = [case.ids.turn(), case.ids.turn(), case.ids.turn()];
    for number in 0..12_usize {
        let mut row = Batch {
            parent_agent: agent_id(["a", "A", "b"][number % 3]),
            parent_turn: (number % 4 != 3).then(|| turns[number % 2]),
            trace_id: format!("trace-{}", number % 2),
            created_at: at(100 - number as i64 / 2),
            ..batch(&mut case.ids, 1)
        };
        row.status = BatchStatus::ALL[number % 5];
        if row.status != BatchStatus::Running {
            row.closed_at = Some(at(200));
        }
        case.write([create(&row)]).await;
        rows.push(row);
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.id));
    let none = BatchFilter::default();
    let trace = |name: &str| Some(name.to_owned());
    let mut checks: Vec<Wanted> = vec![
        (none.clone(), Box::new(|_| true)),
        (
            BatchFilter { parent_agent: Some(agent_id("a")), ..none.clone() },
            Box::new(|row| row.parent_agent.as_str() == "a"),
        ),
        (
            BatchFilter { parent_turn: Some(turns[1]), ..none.clone() },
            Box::new(move |row| row.parent_turn == Some(turns[1])),
        ),
        (BatchFilter { parent_turn: Some(turns[2]), ..none.clone() }, Box::new(|_| false)),
        (
            BatchFilter { trace_id: trace("trace-1"), ..none.clone() },
            Box::new(|row| row.trace_id == "trace-1"),
        ),
        (BatchFilter { trace_id: trace("Trace-1"), ..none.clone() }, Box::new(|_| false)),
        // At or after, and before.
        (BatchFilter { from: Some(at(97)), ..none.clone() }, Box::new(|row| row.created_at >= at(97))),
        (BatchFilter { until: Some(at(97)), ..none.clone() }, Box::new(|row| row.created_at < at(97))),
        (
            BatchFilter {
                parent_agent: Some(agent_id("A")),
                parent_turn: Some(turns[1]),
                trace_id: trace("trace-1"),
                status: Some(BatchStatus::Success),
                from: Some(at(100)),
                until: Some(at(101)),
            },
            Box::new(|row| row.created_at == at(100) && row.trace_id == "trace-1"),
        ),
    ];
    for status in BatchStatus::ALL {
        let filter = BatchFilter { status: Some(*status), ..none.clone() };
        checks.push((filter, Box::new(|row| row.status == *status)));
    }
    for (filter, wanted) in checks {
        let expected: Vec<_> = rows.iter().filter(|row| wanted(row)).cloned().collect();
        assert_pages(
            &format!("{filter:?}"),
            &expected,
            |row| row.id,
            async |before, limit| case.store.batches(&case.project, &filter, before, limit).await,
        )
        .await;
    }
    // A key need not be of a batch that is there.
    let before = case.ids.batch();
    let found = case.store.batches(&case.project, &none, Some(before), 99).await.unwrap();
    assert_eq!(found, rows.into_iter().filter(|row| row.id < before).collect::<Vec<_>>());
}

/// BM-18: whoever looks after batches finds all that are running, also those that are being closed.
pub async fn running_batches_are_listed_over_all_projects(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    assert_eq!(case.store.running_batches(None, 9).await.unwrap(), []);
    let projects =
        [case.create_project("P-upper").await, case.project.clone(), case.create_project("p2").await];
    let mut expected = vec![];
    for project in &projects {
        for number in 0..4 {
            let one = batch(&mut case.ids, 1);
            case.apply(commit(project, [create(&one)])).await;
            match number {
                0 => {
                    let done = closed(&mut case, &one, BatchStatus::Success);
                    case.apply(commit(project, [close(&done)])).await;
                    continue;
                }
                1 => case.apply(commit(project, [begin(&one, CloseReason::FailFast)])).await,
                _ => {}
            }
            expected.push((project.clone(), one.id));
        }
    }
    expected.sort();
    assert_eq!(expected[0].0, projects[0]);
    assert_pages("running batches", &expected, Clone::clone, async |after, limit| {
        case.store.running_batches(after.as_ref(), limit).await
    })
    .await;
    // A key need not be of a batch that is there, or that is running any more.
    let after = (projects[1].clone(), case.ids.batch());
    let found = case.store.running_batches(Some(&after), 99).await.unwrap();
    assert_eq!(found, expected.into_iter().filter(|key| *key > after).collect::<Vec<_>>());
}
