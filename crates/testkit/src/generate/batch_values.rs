//! Random contents of batches and branches.

use super::Generator;
use cardwire_model::{
    AgentId, Batch, BatchId, BatchStatus, BoxId, Branch, BranchEnd, BranchKey, BranchStatus, ProjectId,
    Realm, Sweep, TaskStatus, TurnEpoch, TurnId,
};
use cardwire_store::BatchFilter;

impl Generator {
    /// A batch that has just been forked.
    pub(super) fn batch_row(&mut self, realm: &Realm) -> Batch {
        let parent = self.rng.chance(70);
        let bound = |this: &mut Self| if this.rng.chance(50) { this.rng.below(6) as u32 } else { 0 };
        let (enough, parallel) = (bound(self), bound(self));
        let deadline_at = self.maybe_lately();
        Batch {
            id: self.elsewhere(|known| &known.batches).unwrap_or_else(|| self.ids.batch()),
            parent_agent: self.any_agent(realm),
            parent_turn: if parent { Some(self.any_turn(realm)) } else { None },
            parent_epoch: if parent { Some(TurnEpoch::new(self.rng.below(30) as u64)) } else { None },
            parent_call: self.call_name(),
            parent_step: if parent { self.some(realm, |known| &known.steps) } else { None },
            channel: self.channel(),
            trace_id: self.trace(),
            depth: self.rng.below(20) as u32,
            branches: self.rng.below(1_000) as u32,
            fail_fast: self.rng.chance(50),
            enough,
            parallel,
            result_tokens: self.rng.below(100_000) as u32,
            deadline_at,
            created_at: self.lately(),
            status: BatchStatus::Running,
            closing: None,
            result_card: None,
            closed_at: None,
        }
    }

    /// The batch with an end.
    pub(super) fn closed(&mut self, realm: &Realm, batch: Batch) -> Batch {
        let ends = &BatchStatus::ALL[1..];
        Batch {
            status: *self.rng.pick(ends).expect("some ends"),
            result_card: self.some_card(realm),
            closed_at: Some(self.lately()),
            ..batch
        }
    }

    pub(super) fn branch_row(&mut self, realm: &Realm, key: BranchKey) -> Branch {
        let settled = self.rng.chance(90);
        let created_at = self.lately();
        let branch = Branch {
            key,
            status: BranchStatus::Pending,
            agent_id: None,
            turn_id: if settled { Some(self.ids.turn()) } else { None },
            epoch: None,
            context_box: None,
            output_box: None,
            attempts: 0,
            next_attempt_at: None,
            deliverable: None,
            error_detail: None,
            error_code: None,
            warning: None,
            created_at,
            updated_at: created_at,
        };
        if self.rng.chance(30) { branch } else { self.changed_branch(realm, &branch) }
    }

    /// The branch with new values in everything but its turn and its birth.
    pub(super) fn changed_branch(&mut self, realm: &Realm, old: &Branch) -> Branch {
        // Half of them stay open, so that there is something to end.
        let open = [BranchStatus::Pending, BranchStatus::Dispatched];
        let statuses = if self.rng.chance(50) { &open } else { BranchStatus::ALL };
        let maybe_box =
            |this: &mut Self| if this.rng.chance(80) { Some(this.output_box(realm)) } else { None };
        let (context_box, output_box) = (maybe_box(self), maybe_box(self));
        Branch {
            key: old.key,
            status: *self.rng.pick(statuses).expect("some statuses"),
            agent_id: if self.rng.chance(90) { Some(self.any_agent(realm)) } else { None },
            turn_id: old.turn_id,
            epoch: self.rng.chance(40).then(|| TurnEpoch::new(self.rng.below(30) as u64)),
            context_box,
            output_box,
            attempts: self.rng.below(9) as u32,
            next_attempt_at: self.maybe_lately(),
            deliverable: if self.rng.chance(30) { self.some_card(realm) } else { None },
            error_detail: self.maybe_text(),
            error_code: self.maybe_text(),
            warning: self.maybe_text(),
            created_at: old.created_at,
            updated_at: self.lately(),
        }
    }

    pub(super) fn branch_end(&mut self, realm: &Realm, key: BranchKey) -> BranchEnd {
        BranchEnd {
            key,
            status: *self.rng.pick(&TaskStatus::ALL).expect("some statuses"),
            deliverable: if self.rng.chance(70) { self.some_card(realm) } else { None },
            error_detail: self.maybe_text(),
            error_code: self.maybe_text(),
            at: self.lately(),
        }
    }

    /// A batch, or an id that is none.
    pub fn any_batch(&mut self, realm: &Realm) -> BatchId {
        let batch = self.some(realm, |known| &known.batches);
        batch.unwrap_or_else(|| self.ids.batch())
    }

    /// A root of a tree, or a turn that is none.
    pub fn any_root(&mut self, realm: &Realm) -> TurnId {
        let known = if self.rng.chance(60) { self.some(realm, |known| &known.roots) } else { None };
        known.unwrap_or_else(|| self.any_turn(realm))
    }

    /// An agent, and boxes of which some may have been handed to it.
    pub fn any_grants(&mut self, realm: &Realm) -> (AgentId, Vec<BoxId>) {
        let mut boxes = vec![self.ids.card_box()];
        let given = self.some(realm, |known| &known.grants);
        let agent = given.as_ref().map_or_else(|| self.any_agent(realm), |(agent, _)| agent.clone());
        boxes.extend(given.map(|(_, box_id)| box_id));
        for _ in 0..4 {
            boxes.extend(self.some(realm, |known| &known.grants).map(|(_, box_id)| box_id));
        }
        (agent, boxes)
    }

    /// A key from which the list of sweeps may go on.
    pub fn any_sweep(&mut self) -> Option<(ProjectId, Sweep)> {
        let project = self.any_project()?;
        let sweep = self.some(&project.clone().into(), |known| &known.sweeps);
        let sweep = sweep.unwrap_or_else(|| Sweep::Batch(self.ids.batch()));
        self.rng.chance(70).then_some((project, sweep))
    }

    /// What a reader of batches may want.
    pub fn batch_filter(&mut self, realm: &Realm) -> BatchFilter {
        let mut filter = BatchFilter::default();
        for _ in 0..self.rng.below(3) {
            let like = self.some_batch(realm);
            match self.rng.below(5) {
                0 => filter.parent_agent = like.map(|batch| batch.parent_agent),
                1 => filter.parent_turn = like.and_then(|batch| batch.parent_turn),
                2 => filter.trace_id = Some(self.trace()),
                3 => filter.status = self.rng.pick(BatchStatus::ALL).copied(),
                _ => {
                    let from = self.some_time_ago();
                    filter.from = Some(from);
                    filter.until = self.rng.chance(50).then(|| from.plus_seconds(300));
                }
            }
        }
        filter
    }

    /// Every batch there is.
    pub fn all_batches(&self) -> Vec<(ProjectId, BatchId)> {
        self.of_projects(|known| &known.batches)
    }

    /// Every grant there is, some more than once.
    pub fn all_grants(&self) -> Vec<(ProjectId, (AgentId, BoxId))> {
        self.of_projects(|known| &known.grants)
    }

    /// Every root that something was spent below, some more than once.
    pub fn all_roots(&self) -> Vec<(ProjectId, TurnId)> {
        self.of_projects(|known| &known.roots)
    }
}
