//! Branches: each ends once, and not at all once its batch is being closed (BM-10, BM-13).

use super::{
    batches::{add, begin, close, closed, create, end, move_from},
    case::{Case, enqueue, update_inbox},
};
use crate::fixtures::{agent_id, at, batch, branch, branch_end, full_branch, report_item, turn_item};
use cardwire_model::{
    Batch, BatchStatus, Branch, BranchEnd, BranchKey, BranchStatus, CloseReason, Conflict, InboxItem,
    InboxKind, InboxStatus, TaskStatus, TurnEpoch, TurnId, limits,
};
use cardwire_store::Store;
use std::sync::Arc;

/// The branch as it is after its end.
pub(super) fn ended(branch: &Branch, end: &BranchEnd) -> Branch {
    Branch {
        status: end.status.into(),
        deliverable: end.deliverable,
        error_detail: end.error_detail.clone(),
        error_code: end.error_code.clone(),
        updated_at: end.at,
        ..branch.clone()
    }
}

/// BM-06: a branch is what was written.
pub async fn a_branch_comes_back_with_every_field(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let forked = batch(&mut case.ids, 20);
    case.write([create(&forked)]).await;
    // One that failed before anything was settled.
    let bare = Branch {
        status: BranchStatus::Failed,
        agent_id: None,
        turn_id: None,
        context_box: None,
        output_box: None,
        ..branch(&mut case.ids, &forked, 0)
    };
    let mut rows = vec![bare, branch(&mut case.ids, &forked, 1), full_branch(&mut case.ids, &forked, 2)];
    for (index, status) in (3..).zip(BranchStatus::ALL) {
        rows.push(Branch { status: *status, ..full_branch(&mut case.ids, &forked, index) });
    }
    for row in &rows {
        case.write([add(row)]).await;
    }
    assert_eq!(case.branches(&forked).await, rows);
    assert_eq!(case.batch(&forked).await, forked);
}

/// BM-06: a key names one branch.
pub async fn a_taken_branch_key_conflicts_and_changes_nothing(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (forked, rows) = case.fork(2).await;
    let thief = full_branch(&mut case.ids, &forked, 1);
    case.refuse_write(add(&thief), Conflict::Batch).await;
    let fresh = branch(&mut case.ids, &forked, 2);
    case.refuse(case.commit([add(&fresh), add(&thief)]), Conflict::Batch).await;
    case.refuse(case.commit([add(&fresh), add(&fresh)]), Conflict::Batch).await;
    assert_eq!(case.branches(&forked).await, rows);
    // The same index in another batch is another branch.
    let (other, _) = case.fork(1).await;
    let own = branch(&mut case.ids, &other, 1);
    case.write([add(&own)]).await;
    assert_eq!(case.branches(&forked).await, rows);
}

/// BM-10: a branch moves from the state it was seen in, or not at all.
pub async fn a_branch_moves_only_from_the_expected_state(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (forked, rows) = case.fork(2).await;
    let mut now = rows[0].clone();
    for to in BranchStatus::ALL {
        let mut new = Branch { status: *to, ..full_branch(&mut case.ids, &forked, 0) };
        (new.created_at, new.attempts) = (now.created_at, *to as u32);
        for from in BranchStatus::ALL.iter().filter(|from| **from != now.status) {
            let fresh = batch(&mut case.ids, 1);
            let late = [create(&fresh), move_from(*from, &new)];
            case.refuse(case.commit(late), Conflict::Batch).await;
        }
        case.write([move_from(now.status, &new)]).await;
        assert_eq!(case.branches(&forked).await, [new.clone(), rows[1].clone()]);
        now = new;
    }
    // Every field can be cleared.
    let cleared = Branch {
        status: BranchStatus::Pending,
        agent_id: None,
        turn_id: None,
        epoch: None,
        context_box: None,
        output_box: None,
        next_attempt_at: None,
        deliverable: None,
        error_detail: None,
        error_code: None,
        warning: None,
        ..now.clone()
    };
    case.write([move_from(now.status, &cleared)]).await;
    assert_eq!(case.branches(&forked).await[0], cleared);
    // From what an earlier write of the same commit has made of it.
    let again = [move_from(BranchStatus::Pending, &now), move_from(now.status, &cleared)];
    case.write(again).await;
    assert_eq!(case.branches(&forked).await[0], cleared);
    let absent = branch(&mut case.ids, &forked, 2);
    case.refuse_write(move_from(BranchStatus::Pending, &absent), Conflict::Batch).await;
}

/// BM-13: whoever closes a batch moves its branches; that it is being closed does not hinder that.
pub async fn branches_of_a_closing_batch_are_moved(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (forked, rows) = case.fork(2).await;
    let canceled: Vec<_> =
        rows.iter().map(|row| Branch { status: BranchStatus::Canceled, ..row.clone() }).collect();
    case.write([begin(&forked, CloseReason::FailFast)]).await;
    case.write([move_from(BranchStatus::Pending, &canceled[0])]).await;
    case.refuse_write(move_from(BranchStatus::Pending, &canceled[0]), Conflict::Batch).await;
    let closing = case.batch(&forked).await;
    let done = closed(&mut case, &closing, BatchStatus::Failed);
    case.write([move_from(BranchStatus::Pending, &canceled[1]), close(&done)]).await;
    assert_eq!(case.branches(&forked).await, canceled);
}

/// BM-12: the first end of a branch counts, however often it is told; a later one is no conflict.
pub async fn the_first_end_of_a_branch_counts(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (forked, mut rows) = case.fork(7).await;
    // Dispatched or not, and whatever was noted before: the end says what came out.
    for row in rows.iter_mut().skip(1) {
        *row = Branch {
            status: BranchStatus::Dispatched,
            created_at: row.created_at,
            ..full_branch(&mut case.ids, &forked, row.key.index)
        };
        case.write([move_from(BranchStatus::Pending, row)]).await;
    }
    for (row, status) in rows.iter_mut().zip(TaskStatus::ALL) {
        let first = branch_end(&mut case.ids, row.key, status);
        case.write([end(&first)]).await;
        *row = ended(row, &first);
        for later in TaskStatus::ALL {
            let late = branch_end(&mut case.ids, row.key, later);
            let card = crate::fixtures::text_card(case.ids.card(), "what else the commit brings");
            case.write([end(&late), super::case::put(card.clone())]).await;
            assert_eq!(case.card(card.id).await, card);
        }
    }
    let bare = BranchEnd {
        deliverable: None,
        error_detail: None,
        error_code: None,
        ..branch_end(&mut case.ids, rows[5].key, TaskStatus::Failed)
    };
    case.write([end(&bare)]).await;
    rows[5] = ended(&rows[5], &bare);
    // Twice in one commit, and after it was moved in the same commit.
    let [first, late] = [TaskStatus::Partial, TaskStatus::Success]
        .map(|status| branch_end(&mut case.ids, rows[6].key, status));
    rows[6].epoch = Some(TurnEpoch::new(9));
    case.write([move_from(BranchStatus::Dispatched, &rows[6]), end(&first), end(&late)]).await;
    rows[6] = ended(&rows[6], &first);
    assert_eq!(case.branches(&forked).await, rows);
    assert_eq!(case.batch(&forked).await, forked);
}

/// Ends of these branches change nothing.
async fn assert_ends_do_nothing(case: &mut Case, forked: &Batch, rows: &[Branch]) {
    for row in rows {
        let late = branch_end(&mut case.ids, row.key, TaskStatus::Success);
        case.write([end(&late)]).await;
    }
    assert_eq!(case.branches(forked).await, rows);
}

/// BM-13: once a batch is being closed or is closed, the end of a turn changes nothing.
pub async fn an_end_does_nothing_when_its_batch_is_closing_or_closed(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    for reason in CloseReason::ALL {
        let (forked, mut rows) = case.fork(2).await;
        rows[1].status = BranchStatus::Dispatched;
        case.write([move_from(BranchStatus::Pending, &rows[1])]).await;
        case.write([begin(&forked, *reason)]).await;
        assert_ends_do_nothing(&mut case, &forked, &rows).await;
        let closing = case.batch(&forked).await;
        let done = closed(&mut case, &closing, BatchStatus::Partial);
        case.write([close(&done)]).await;
        assert_ends_do_nothing(&mut case, &forked, &rows).await;
    }
    // Closed without having been closing.
    for status in [BatchStatus::Success, BatchStatus::Partial, BatchStatus::Failed, BatchStatus::Timeout] {
        let (forked, rows) = case.fork(1).await;
        let done = closed(&mut case, &forked, status);
        case.write([close(&done)]).await;
        assert_ends_do_nothing(&mut case, &forked, &rows).await;
    }
    // Within one commit the order decides.
    let (forked, mut rows) = case.fork(2).await;
    let [early, late] = [0, 1].map(|index| branch_end(&mut case.ids, rows[index].key, TaskStatus::Failed));
    case.write([end(&early), begin(&forked, CloseReason::FailFast), end(&late)]).await;
    rows[0] = ended(&rows[0], &early);
    assert_eq!(case.branches(&forked).await, rows);
}

/// BM-12: the end of a branch that is not there is no conflict and makes none.
pub async fn an_end_of_an_unknown_branch_does_nothing(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (forked, rows) = case.fork(1).await;
    let nowhere = BranchKey { batch_id: case.ids.batch(), index: 0 };
    let unknown = [BranchKey { index: 1, ..rows[0].key }, nowhere];
    let ends = unknown.map(|key| branch_end(&mut case.ids, key, TaskStatus::Success));
    let before = case.dump().await;
    case.write(ends.iter().map(end)).await;
    before.assert_same(&case.dump().await, "ends of unknown branches");
    // It does not end a branch that comes later, either.
    let late = branch(&mut case.ids, &forked, 1);
    case.write([end(&ends[0]), add(&late)]).await;
    assert_eq!(case.branches(&forked).await, [rows[0].clone(), late]);
}

/// BM-12: one commit ends many branches, also of several batches, some of which have ended or are being closed.
pub async fn many_branches_end_in_one_commit(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (first, mut rows) = case.fork(60).await;
    let (second, mut others) = case.fork(3).await;
    let (closing, still) = case.fork(2).await;
    let before = branch_end(&mut case.ids, rows[7].key, TaskStatus::Timeout);
    case.write([end(&before), begin(&closing, CloseReason::Canceled)]).await;
    rows[7] = ended(&rows[7], &before);
    let mut writes = vec![];
    // Not in order.
    for row in rows.iter_mut().rev().chain(&mut others) {
        let status = TaskStatus::ALL[row.key.index as usize % 5];
        let one = branch_end(&mut case.ids, row.key, status);
        writes.push(end(&one));
        if row.status.is_open() {
            *row = ended(row, &one);
        }
    }
    for row in &still {
        writes.insert(30, end(&branch_end(&mut case.ids, row.key, TaskStatus::Success)));
    }
    case.write(writes).await;
    assert_eq!(case.branches(&first).await, rows);
    assert_eq!(case.branches(&second).await, others);
    assert_eq!(case.branches(&closing).await, still);
}

/// API-08: branches by index, from one on.
pub async fn branches_page_by_index(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (forked, mut rows) = case.fork(12).await;
    let (_, _) = case.fork(3).await;
    // An index need not follow the one before it, nor come in order.
    for index in [300, 100] {
        let row = branch(&mut case.ids, &forked, index);
        case.write([add(&row)]).await;
        rows.insert(12, row);
    }
    for limit in [1, 5, 14, 99] {
        let (mut seen, mut from) = (vec![], 0);
        loop {
            let page = case.store.branches(&case.project, forked.id, from, limit).await.unwrap();
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            from = last.key.index + 1;
            seen.extend(page);
        }
        assert_eq!(seen, rows, "in pages of {limit}");
    }
    let from = async |from| case.store.branches(&case.project, forked.id, from, 99).await.unwrap();
    assert_eq!(from(11).await, rows[11..]);
    assert_eq!(from(13).await, rows[12..]);
    assert_eq!(from(301).await, []);
    let absent = case.ids.batch();
    assert_eq!(case.store.branches(&case.project, absent, 0, 9).await.unwrap(), []);
}

/// BM-02: as many branches as a fork may have are written by one commit, and ended by one.
pub async fn a_thousand_branches_are_written_at_once(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (forked, mut rows) = case.fork(limits::FORK_TASKS as u32).await;
    assert_eq!(rows.len(), 1_000);
    assert_eq!(case.branches(&forked).await, rows);
    let standing = case.store.standing(&case.project, forked.id, at(0), at(0), 100).await.unwrap().unwrap();
    assert_eq!(standing.pending, rows[..100]);
    let ends: Vec<_> =
        rows.iter().map(|row| branch_end(&mut case.ids, row.key, TaskStatus::Success)).collect();
    case.write(ends.iter().map(end)).await;
    rows = rows.iter().zip(&ends).map(|(row, one)| ended(row, one)).collect();
    assert_eq!(case.branches(&forked).await, rows);
    let standing = case.store.standing(&case.project, forked.id, at(0), at(0), 100).await.unwrap().unwrap();
    assert!(!standing.open && standing.pending.is_empty());
}

/// BM-13: to stop the branches of a batch, their open turns are found, whatever became of the branches.
pub async fn branches_with_open_turns_are_listed_by_index(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (forked, rows) = case.fork(10).await;
    let (other, others) = case.fork(1).await;
    let mut expected = vec![];
    let statuses = InboxStatus::ALL;
    for (row, status) in rows.iter().zip(statuses).rev() {
        let item = turn_of(&mut case, row, *status);
        case.write([enqueue(&item)]).await;
        if status.is_open() {
            expected.insert(0, (row.key, item.turn_id));
        }
    }
    // The last but one is not in any inbox, and the last one names no turn.
    let nobody = Branch { agent_id: None, turn_id: None, status: BranchStatus::Failed, ..rows[9].clone() };
    let gone = Branch { status: BranchStatus::Canceled, ..rows[0].clone() };
    let pending = BranchStatus::Pending;
    case.write([move_from(pending, &nobody), move_from(pending, &gone)]).await;
    let foreign = turn_of(&mut case, &others[0], InboxStatus::Pending);
    // Other rows of a turn do not count.
    let closed = turn_of(&mut case, &rows[7], InboxStatus::Consumed);
    let stop = report_item(&mut case.ids, &closed, InboxKind::Stop, "x");
    case.write([enqueue(&foreign), enqueue(&closed), enqueue(&stop)]).await;

    let open = async |case: &Case, from, limit| -> Vec<(BranchKey, TurnId)> {
        case.store.open_branches(&case.project, forked.id, from, limit).await.unwrap()
    };
    for limit in [1, 2, 4, 99] {
        let (mut seen, mut from) = (vec![], 0);
        loop {
            let page = open(&case, from, limit).await;
            assert!(page.len() <= limit);
            let Some((last, _)) = page.last() else { break };
            from = last.index + 1;
            seen.extend(page);
        }
        assert_eq!(seen, expected, "in pages of {limit}");
    }
    let of_other = case.store.open_branches(&case.project, other.id, 0, 9).await.unwrap();
    assert_eq!(of_other, [(others[0].key, foreign.turn_id)]);
    // A turn that has ended is open no more.
    let first = case.store.turn(&case.project, expected[0].1).await.unwrap().unwrap();
    let done = InboxItem { status: InboxStatus::Consumed, ..first.clone() };
    case.write([update_inbox(first.status, &done)]).await;
    assert_eq!(open(&case, 0, 99).await, expected[1..]);
    let begun = begin(&forked, CloseReason::Canceled);
    case.write([begun]).await;
    assert_eq!(open(&case, 0, 99).await, expected[1..]);
}

/// The inbox row of a branch's turn.
pub(super) fn turn_of(case: &mut Case, branch: &Branch, status: InboxStatus) -> InboxItem {
    let box_id = case.ids.card_box();
    InboxItem {
        status,
        agent_id: branch.agent_id.clone().unwrap_or_else(|| agent_id("nobody")),
        turn_id: branch.turn_id.expect("a branch with a turn"),
        branch: Some(branch.key),
        ..turn_item(&mut case.ids, "x", box_id)
    }
}
