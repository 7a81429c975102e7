//! Whole turns as commits, without the rules: dispatched, claimed and finished.

use cardwire_model::{
    AgentId, BoxId, Commit, EdgePhase, Ended, Expect, Generation, Head, HeadGuard, InboxItem, InboxStatus,
    Keys, Live, LiveState, Primitive, ProjectId, Realm, Revision, TaskStatus, Write,
};
use cardwire_store::{ClaimQuery, Claimable, DecideClaim, Store, Turns};
use cardwire_store_postgres::PostgresStore;
use cardwire_testkit::{
    BoxBuilder, SeededIds,
    fixtures::{agent_row, at, channel, edge, idle_head, step, text_card, turn_item, worker_target},
};
use std::sync::{Arc, Mutex};

/// What any worker asks for.
pub(crate) fn query(projects: Option<Vec<ProjectId>>, limit: usize) -> ClaimQuery {
    ClaimQuery { worker_target: worker_target("generic"), projects, now: at(1_000), limit }
}

/// Claims rows for a worker, and answers those of the commits that were applied.
pub(crate) async fn claim(store: &PostgresStore, query: &ClaimQuery, worker: &str) -> Vec<Claimable> {
    let given = Arc::new(Mutex::new(vec![]));
    let (seen, worker) = (Arc::clone(&given), worker.to_owned());
    let decide: DecideClaim = Arc::new(move |project, rows| {
        seen.lock().unwrap().push((project.clone(), rows.clone()));
        take(&worker, project, &rows)
    });
    let applied = store.claim(query, decide).await.unwrap();
    let given = std::mem::take(&mut *given.lock().unwrap());
    given.into_iter().filter(|(project, _)| applied.contains(project)).flat_map(|(_, rows)| rows).collect()
}

fn take(worker: &str, project: &ProjectId, rows: &[Claimable]) -> Commit {
    let mut commit = Commit::new(project.clone());
    for Claimable { item, head, .. } in rows {
        let (from, status) = (item.status, InboxStatus::Processing);
        let worker_id = Some(worker.to_owned());
        let item = InboxItem { status, worker_id, processed_at: Some(at(5)), ..item.clone() };
        commit.writes.push(Write::UpdateInbox { from, item: Box::new(item) });
        if let Some(head) = head.as_ref().filter(|head| head.live.is_some()) {
            let (guard, to) = (head.guard_move(), Box::new(running(head)));
            commit.writes.push(Write::MoveHead { guard, to, queued: 0, is_copied: true });
        }
    }
    commit
}

fn running(head: &Head) -> Head {
    let mut head = head.clone();
    if let Some(live) = &mut head.live {
        live.state = LiveState::Running;
    }
    head
}

/// An agent with a head and a box to write to.
pub(crate) struct Agent {
    pub(crate) project: ProjectId,
    pub(crate) ids: SeededIds,
    pub(crate) head: Head,
    roster: Option<Revision>,
    pub(crate) output_box: BoxId,
}

impl Agent {
    pub(crate) async fn new(store: &PostgresStore, project: &ProjectId, agent: AgentId, seed: u64) -> Self {
        let mut ids = SeededIds::new(seed);
        let (head, output_box) = (idle_head(agent), ids.card_box());
        let mut commit = Commit::new(project.clone());
        commit.writes.push(Write::CreateBox(BoxBuilder::new(output_box).build()));
        commit.writes.push(Write::CreateHead(Box::new(head.clone())));
        let listed = agent_row(&mut ids, head.agent_id.as_str());
        let roster = Some(listed.revision);
        commit.writes.push(Write::PutAgent { was: None, agent: Box::new(listed) });
        store.commit(commit).await.unwrap();
        Self { project: project.clone(), ids, head, roster, output_box }
    }

    /// The commit of a dispatch to the idle agent; its row, and the head as it will be.
    pub(crate) fn dispatch(&mut self) -> (Commit, InboxItem, Head) {
        let agent_id = self.head.agent_id.clone();
        let item = turn_item(&mut self.ids, agent_id.as_str(), self.output_box);
        let live = Live {
            turn_id: item.turn_id,
            inbox_id: item.id,
            state: LiveState::Dispatched,
            channel: channel("public"),
            worker_target: item.worker_target.clone(),
            profile_box: self.output_box,
            context_box: self.output_box,
            output_box: self.output_box,
            watermark: 0,
            depth: 0,
            trace_id: "trace-1".to_owned(),
            parent_step: None,
            dispatched_at: at(1),
            rung_at: None,
            deliverable: None,
            open_calls: 0,
            marks: 0,
        };
        let to = Head { epoch: self.head.epoch.next(), live: Some(Box::new(live)), ..self.head.clone() };
        let item = InboxItem { epoch: Some(to.epoch), ..item };
        let mut sent = edge(&mut self.ids, Primitive::Enqueue, EdgePhase::Request, &item.correlation_id);
        (sent.target_agent, sent.target_turn) = (Some(agent_id.clone()), Some(item.turn_id));
        let mut commit = Commit::new(self.project.clone());
        commit.expect.push(Expect::OutputFree { box_id: self.output_box, agent_id: Some(agent_id) });
        commit.writes = vec![
            Write::MoveHead {
                guard: HeadGuard { roster: self.roster, ..self.head.guard_move() },
                to: Box::new(to.clone()),
                queued: 0,
                is_copied: true,
            },
            Write::AddEdge(Box::new(sent)),
            Write::Enqueue(Box::new(item.clone())),
        ];
        (commit, item, to)
    }

    /// The commit that ends a turn which was claimed.
    pub(crate) fn finish(&mut self, claimed: &Claimable) -> Commit {
        let card = text_card(self.ids.card(), "done");
        let head = running(claimed.head.as_ref().expect("a head"));
        let idle = Head { live: None, last_output_box: Some(self.output_box), ..head.clone() };
        let ended = Ended {
            status: TaskStatus::Success,
            deliverable: card.id,
            error: None,
            error_code: None,
            output: (0, 1),
            at: at(9),
        };
        let item = InboxItem { status: InboxStatus::Consumed, ended: Some(ended), ..claimed.item.clone() };
        let (box_id, generation) = (self.output_box, Generation::FIRST);
        let mut commit = Commit::new(self.project.clone());
        commit.expect.push(Expect::OpenBox { box_id, generation, min_len: 0, max_len: 1_000 });
        commit.writes = vec![
            Write::AppendCards { box_id, generation, cards: vec![card.id] },
            Write::PutCard(Box::new(card)),
            Write::CreateStep(Box::new(step(&format!("step_{}", claimed.item.turn_id), &claimed.item))),
            Write::UpdateInbox { from: InboxStatus::Processing, item: Box::new(item) },
            Write::MoveHead {
                guard: head.guard_move(),
                to: Box::new(idle.clone()),
                queued: 0,
                is_copied: true,
            },
        ];
        self.head = idle;
        commit
    }

    /// One turn from end to end, with the loads that a kernel would do.
    pub(crate) async fn turn(&mut self, store: &PostgresStore) {
        let realm = Realm::from(self.project.clone());
        let (agent, box_id, card) = (self.head.agent_id.clone(), self.output_box, self.ids.card());
        let keys = Keys {
            project: true,
            cards: vec![card],
            boxes: vec![box_id],
            members: Some((box_id, vec![card])),
            agent: Some(agent),
            writers_of: vec![box_id],
            ..Keys::default()
        };
        let loaded = store.load(&realm, &keys).await.unwrap();
        assert_eq!(loaded.head.as_ref(), Some(&self.head));
        let (commit, item, to) = self.dispatch();
        store.commit(commit).await.unwrap();
        let claimed = claim(store, &query(Some(vec![self.project.clone()]), 1), "worker").await;
        assert_eq!(claimed[0].head.as_ref(), Some(&to));
        let keys = Keys { turn: Some(item.turn_id), depth_of: Some(item.turn_id), ..Keys::default() };
        let loaded = store.load(&realm, &keys).await.unwrap();
        assert_eq!(loaded.head, Some(running(&to)));
        let commit = self.finish(&claimed[0]);
        store.commit(commit).await.unwrap();
    }
}
