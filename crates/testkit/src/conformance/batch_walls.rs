//! CB-08 for batches and what belongs to them: the same ids in two projects are unrelated rows.

use super::{
    batches::{add, begin, close, create, end, move_from},
    case::{Case, commit, enqueue},
    trees::spend,
};
use crate::fixtures::{agent_id, at, batch, branch, branch_end, turn_item};
use cardwire_model::{
    Batch, BatchStatus, BoxId, Branch, BranchStatus, CloseReason, Commit, Conflict, Grant, InboxItem,
    ProjectId, Sweep, TaskStatus, TurnId, Write,
};
use cardwire_store::{BatchFilter, Store};
use std::{collections::HashSet, sync::Arc};

/// One of everything.
#[derive(Debug, Clone, PartialEq)]
struct Rows {
    batch: Batch,
    branch: Branch,
    /// The turn of the branch.
    turn: InboxItem,
    /// A turn that the parent has started.
    child: InboxItem,
    sweep: Sweep,
    granted: BoxId,
    spent: u32,
}

impl Rows {
    fn new(case: &mut Case) -> Self {
        let parent = case.ids.turn();
        let batch = Batch { parent_turn: Some(parent), ..batch(&mut case.ids, 1) };
        let branch = branch(&mut case.ids, &batch, 0);
        let box_id = case.ids.card_box();
        let turn_id = branch.turn_id.expect("a branch with a turn");
        let key = Some(branch.key);
        let turn = InboxItem { turn_id, branch: key, ..turn_item(&mut case.ids, "branch-0", box_id) };
        let child = InboxItem { parent_turn: Some(parent), ..turn_item(&mut case.ids, "child", box_id) };
        let (sweep, granted) = (Sweep::Batch(batch.id), box_id);
        Self { batch, branch, turn, child, sweep, granted, spent: 3 }
    }

    fn parent(&self) -> TurnId {
        self.batch.parent_turn.expect("a parent")
    }

    fn create(&self, project: &ProjectId) -> Commit {
        let grant = Grant { agent_id: agent_id("child"), box_id: self.granted, at: at(1) };
        commit(
            project,
            [
                create(&self.batch),
                add(&self.branch),
                enqueue(&self.turn),
                enqueue(&self.child),
                Write::AddSweep(self.sweep),
                Write::AddGrant(Box::new(grant)),
                spend(self.parent(), self.spent, 10),
            ],
        )
    }

    /// What every read of a project shows; none when it shows nothing, and never a part.
    async fn read(&self, case: &Case, project: &ProjectId) -> Option<Self> {
        let (store, id, parent) = (case.store.as_ref(), self.batch.id, self.parent());
        let batch = store.batch(project, id).await.unwrap();
        let listed = store.batches(project, &BatchFilter::default(), None, 9).await.unwrap();
        assert_eq!(listed, Vec::from_iter(batch.clone()));
        let branches = store.branches(project, id, 0, 9).await.unwrap();
        let standing = store.standing(project, id, at(99), at(99), 9).await.unwrap();
        assert_eq!(standing.as_ref().map(|found| &found.batch), batch.as_ref());
        assert_eq!(standing.map(|found| found.pending).unwrap_or_default(), branches);
        let running = store.running_batches(None, 9).await.unwrap();
        assert_eq!(running.contains(&(project.clone(), id)), batch.is_some());
        let children = store.open_children(project, parent, None, 9).await.unwrap();
        let open = store.open_branches(project, id, 0, 9).await.unwrap();
        let sweeps = store.sweeps(None, 9).await.unwrap();
        let granted = store.granted(project, &agent_id("child"), &[self.granted]).await.unwrap();
        let listed = store.grants(project, &agent_id("child"), None, 10).await.unwrap();
        assert_eq!(listed, granted.iter().copied().collect::<Vec<_>>());
        let spent = store.spent(project, parent).await.unwrap();
        let open_turns = store.open_turns(project, 9).await.unwrap();
        if batch.is_none() {
            assert_eq!((branches, children, open, granted), (vec![], vec![], vec![], HashSet::new()));
            assert_eq!((spent, open_turns), (0, 0));
            assert!(sweeps.iter().all(|(of, _)| of != project));
            return None;
        }
        assert_eq!(children, [self.child.turn_id]);
        assert_eq!(open, [(self.branch.key, self.turn.turn_id)]);
        assert_eq!(sweeps.iter().filter(|(of, _)| of == project).count(), 1);
        assert_eq!((granted, open_turns), (HashSet::from([self.granted]), 2));
        let item = async |turn| {
            let found = store.turn(project, turn).await.unwrap().expect("the turn is there");
            InboxItem { seq: 0, ..found }
        };
        let (turn, child) = (item(self.turn.turn_id).await, item(self.child.turn_id).await);
        let branch = branches.into_iter().next()?;
        Some(Self { batch: batch?, branch, turn, child, spent, ..self.clone() })
    }
}

/// CB-08: rows of two projects with the same keys do not meet in any read.
pub async fn the_same_batch_in_two_projects_is_unrelated_rows(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (first, second) = (case.project.clone(), case.create_project("p2").await);
    let rows = Rows::new(&mut case);
    let mut other = rows.clone();
    other.batch.trace_id = "other".to_owned();
    other.branch.warning = Some("other".to_owned());
    other.turn.reason = Some("other".to_owned());
    other.spent = 5;
    case.apply(rows.create(&first)).await;
    assert_eq!(rows.read(&case, &second).await, None);
    case.apply(other.create(&second)).await;
    assert_eq!(rows.read(&case, &first).await, Some(rows.clone()));
    assert_eq!(rows.read(&case, &second).await, Some(other));
}

/// CB-08: what another project has can be neither changed nor ended.
pub async fn batches_of_another_project_cannot_be_changed(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (first, second) = (case.project.clone(), case.create_project("p2").await);
    let rows = Rows::new(&mut case);
    case.apply(rows.create(&first)).await;
    let done = Batch { status: BatchStatus::Failed, closed_at: Some(at(5)), ..rows.batch.clone() };
    let moved = Branch { status: BranchStatus::Canceled, ..rows.branch.clone() };
    for write in
        [begin(&rows.batch, CloseReason::Canceled), close(&done), move_from(BranchStatus::Pending, &moved)]
    {
        case.refuse(commit(&second, [write]), Conflict::Batch).await;
    }
    let told = branch_end(&mut case.ids, rows.branch.key, TaskStatus::Failed);
    case.apply(commit(&second, [end(&told), Write::EndSweep(rows.sweep)])).await;
    // The budget of the other project is untouched.
    case.apply(commit(&second, [spend(rows.parent(), 10, 10)])).await;
    assert_eq!(rows.read(&case, &first).await, Some(rows));
}
