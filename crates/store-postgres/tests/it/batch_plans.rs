//! However many branches a batch has, how it stands and the ends of its branches are told by few of them. Counted in pages:
//! what an index passes over on the way to a row is no row that was read.

use crate::{
    plans::{fill, finished, pairs},
    scratch::{Scratch, create_project},
};
use cardwire_model::{
    Batch, BatchId, BatchStatus, Branch, BranchKey, BranchStatus, Commit, Expect, Grant, ProjectId,
    TaskStatus, TurnId, Write,
};
use cardwire_store::{BatchFilter, Batches, Store};
use cardwire_store_postgres::PostgresStore;
use cardwire_testkit::{
    SeededIds,
    fixtures::{agent_id, at, batch, branch, branch_end, turn_item},
};

/// Many branches of every batch there is, most of them dispatched and started, and turns and grants of others.
const FILL: &str = "
INSERT INTO state_pmo_batch_tasks (project_id, batch_id, task_index, created_at, agent_id, agent_turn_id, turn_epoch,
    attempts, status, updated_at)
    SELECT 'p1', batch_id, n, 0, 'b-' || n, gen_random_uuid(), 1, 1,
        CASE WHEN n % 1000 <> 0 THEN 'dispatched' WHEN n < 10000 THEN 'success' ELSE 'failed' END, 0
    FROM state_pmo_batches, generate_series(100, 20000) n;
INSERT INTO state_pmo_batches SELECT 'p1', gen_random_uuid(), 'parent', gen_random_uuid(), 1, 'c', 'public', 't', 1, 1,
    false, 0, 0, 100, NULL, 0, (ARRAY['success', 'running'])[1 + n % 2], NULL, NULL, 9 FROM generate_series(1, 5000) n;
INSERT INTO state_agent_inbox (project_id, inbox_id, created_at, agent_turn_id, agent_id, kind, correlation_id,
    worker_target, payload, status, retry_count, output_box_id, parent_agent_turn_id)
    SELECT (ARRAY['p1', 'p2', 'p3'])[1 + n % 3], gen_random_uuid(), 0, gen_random_uuid(), 'other-' || n, 'turn', 'c' || n,
        'another', '{}', (ARRAY['queued', 'pending', 'processing', 'consumed'])[1 + n % 4], 0, gen_random_uuid(),
        gen_random_uuid()
    FROM generate_series(1, 20000) n;
INSERT INTO state_box_grants SELECT 'p1', 'a', gen_random_uuid(), 0 FROM generate_series(1, 20000);
INSERT INTO state_pmo_trees SELECT 'p1', gen_random_uuid(), 1 FROM generate_series(1, 20000)";

/// A batch of a turn, with a few branches, a child and a grant.
struct Fork {
    project: ProjectId,
    batch: Batch,
    rows: Vec<Branch>,
    turn: TurnId,
    grant: Grant,
}

impl Fork {
    async fn new(store: &PostgresStore) -> Self {
        let project = create_project(store, "p1").await;
        let mut ids = SeededIds::new(1);
        let (turn, box_id) = (ids.turn(), ids.card_box());
        let batch = Batch { parent_turn: Some(turn), enough: 5, parallel: 5, ..batch(&mut ids, 60) };
        let rows: Vec<_> = (0..60).map(|index| branch(&mut ids, &batch, index)).collect();
        let grant = Grant { agent_id: agent_id("a"), box_id, at: at(1) };
        let mut child = turn_item(&mut ids, "child", box_id);
        child.parent_turn = Some(turn);
        let mut commit = Commit::new(project.clone());
        commit.writes = vec![
            Write::CreateBatch(Box::new(batch.clone())),
            Write::AddGrant(Box::new(grant.clone())),
            Write::Enqueue(Box::new(child)),
        ];
        commit.writes.extend(rows.iter().map(|row| Write::AddBranch(Box::new(row.clone()))));
        store.commit(commit).await.unwrap();
        Self { project, batch, rows, turn, grant }
    }

    /// A branch is dispatched and another one ends, and everything is looked at.
    async fn go_on(&self, store: &PostgresStore, round: usize) {
        let (project, id) = (&self.project, self.batch.id);
        let moved = Branch { status: BranchStatus::Dispatched, ..self.rows[round].clone() };
        let mut commit = Commit::new(project.clone());
        commit.writes = vec![
            Write::MoveBranch { from: BranchStatus::Pending, branch: Box::new(moved) },
            self.end(59 - round as u32),
            Write::Spend { root: self.turn, turns: 1, limit: 1_000 },
            Write::AddGrant(Box::new(self.grant.clone())),
        ];
        store.commit(commit).await.unwrap();
        let standing = store.standing(project, id, at(99), at(99), 2).await.unwrap().unwrap();
        assert_eq!((standing.open, standing.pending.len(), standing.unleased[0].key.index), (true, 2, 0));
        let filter = BatchFilter { parent_turn: Some(self.turn), ..BatchFilter::default() };
        assert_eq!(store.batches(project, &filter, None, 5).await.unwrap()[0], self.batch);
        assert_eq!(store.branches(project, id, 20, 2).await.unwrap().len(), 2);
        assert_eq!(store.open_children(project, self.turn, None, 5).await.unwrap().len(), 1);
        assert_eq!(
            store.granted(project, &self.grant.agent_id, &[self.grant.box_id]).await.unwrap().len(),
            1
        );
        assert_eq!(store.spent(project, self.turn).await.unwrap() as usize, round + 1);
        assert!(store.open_turns(project, 3).await.unwrap() > 0);
        let mut counted = Commit::new(project.clone());
        counted.expect.push(Expect::OpenTurns { at_most: 3 });
        assert_eq!(store.commit(counted).await.is_err(), round > 0, "the child, and then thousands");
        let after = (project.clone(), BatchId::from_uuid(uuid::Uuid::max()));
        assert_eq!(store.running_batches(Some(&after), 5).await.unwrap(), []);
    }

    fn end(&self, index: u32) -> Write {
        let key = BranchKey { batch_id: self.batch.id, index };
        Write::EndBranch(Box::new(branch_end(&mut SeededIds::new(9), key, TaskStatus::Success)))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_is_gone_on_with_by_looking_at_few_of_its_branches() {
    const ROUNDS: usize = 20;
    let scratch = Scratch::new().await;
    let mut config = scratch.config();
    (config.app_connections, config.system_connections) = (1, 1);
    let store = PostgresStore::open(config).await.unwrap();
    let fork = Fork::new(&store).await;
    // The plans are made now.
    fork.go_on(&store, 0).await;
    fill(&scratch, FILL).await;
    for round in 1..=ROUNDS {
        fork.go_on(&store, round).await;
    }
    assert_eq!(fork.batch.status, BatchStatus::Running);
    finished(&scratch, store).await;
    let pages = "SELECT relname || ' ' ||
            coalesce(heap_blks_hit + heap_blks_read, 0) + coalesce(idx_blks_hit + idx_blks_read, 0)
        FROM pg_statio_user_tables WHERE relname LIKE 'state%'";
    let read = pairs(&scratch.column(pages).await);
    assert!(read.iter().any(|(name, pages)| name == "state_pmo_batch_tasks" && *pages > 0), "{read:?}");
    for (name, pages) in read {
        // The index of all branches of the batch alone has more than 100.
        assert!(pages < 120 * ROUNDS as i64, "{pages} pages of {name} in {ROUNDS} rounds");
    }
}
