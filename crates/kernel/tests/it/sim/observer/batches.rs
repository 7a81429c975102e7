//! Batches as the observer knows them, and what it checks about them.

use super::{Observer, TurnModel};
use cardwire_model::{
    Batch, BatchId, BatchStatus, BranchEnd, BranchKey, BranchStatus, Card, Commit, EdgePhase, InboxItem,
    Primitive, ProjectId, TurnId, Write,
};
use std::collections::{BTreeMap, HashMap};

/// Who tells parents.
const BATCH_MANAGER: &str = "sys.pmo.batch_manager";

#[derive(Debug, Default)]
pub(super) struct Batches {
    pub(super) known: HashMap<BatchId, BatchModel>,
    /// Batches that a turn has forked.
    pub(super) of_turn: HashMap<TurnId, Vec<BatchId>>,
    /// Turns below each root.
    started: HashMap<TurnId, u32>,
}

#[derive(Debug)]
pub(super) struct BatchModel {
    pub(super) row: Batch,
    branches: BTreeMap<u32, BranchModel>,
}

#[derive(Debug)]
struct BranchModel {
    status: BranchStatus,
    /// The turn that was put into an inbox for it.
    turn: Option<TurnId>,
}

impl BatchModel {
    pub(super) fn is_closed(&self) -> bool {
        self.row.status != BatchStatus::Running
    }

    pub(super) fn turns(&self) -> impl Iterator<Item = TurnId> {
        self.branches.values().filter_map(|branch| branch.turn)
    }
}

impl Observer {
    /// A commit is about to be taken into account: what it does to batches must fit what was there before it.
    pub(super) fn batches_before(&mut self, commit: &Commit) {
        for write in &commit.writes {
            match write {
                Write::CreateBatch(batch) => self.forked(commit, batch),
                Write::CloseBatch(batch) => {
                    self.invariant_14_a_batch_is_joined_once(commit, batch);
                    self.invariant_16_what_is_called_off_is_swept(commit, batch);
                    self.joined(batch);
                }
                Write::Enqueue(item) if item.branch.is_some() => {
                    self.invariant_7_a_branch_is_dispatched_once(commit, item);
                }
                Write::EndSweep(sweep) => self.invariant_16_a_sweep_leaves_nothing(*sweep),
                Write::UpdateInbox { item, .. } if item.ended.is_some() => {
                    self.invariant_15_an_end_is_told(commit, item);
                }
                Write::EndBranch(end) => self.invariant_15_an_end_has_a_turn(commit, end),
                Write::AddEdge(edge)
                    if edge.primitive == Primitive::Join && edge.phase == EdgePhase::Response =>
                {
                    self.invariant_14_only_a_join_answers(commit);
                }
                Write::PutCard(card) if card.author_id.as_deref() == Some(BATCH_MANAGER) => {
                    self.invariant_14_only_a_join_answers(commit);
                }
                _ => {}
            }
        }
        self.invariant_16_a_stop_sweeps(commit);
        self.invariant_18_the_tree_is_counted(commit);
    }

    /// Takes what it does to batches into account.
    pub(super) fn batches_after(&mut self, commit: &Commit) {
        let mut touched = vec![];
        for write in &commit.writes {
            match write {
                Write::CreateBatch(batch) => {
                    let model = BatchModel { row: batch.as_ref().clone(), branches: BTreeMap::new() };
                    if let Some(turn) = batch.parent_turn {
                        self.batches.of_turn.entry(turn).or_default().push(batch.id);
                    }
                    if self.batches.known.insert(batch.id, model).is_some() {
                        self.fail(format!("invariant 14: {} was forked twice", batch.id));
                    }
                }
                Write::AddBranch(branch) => {
                    let turn = branch.turn_id.filter(|_| branch.status == BranchStatus::Dispatched);
                    let model = BranchModel { status: branch.status, turn };
                    let batch = self.batches.known.get_mut(&branch.key.batch_id);
                    if batch.is_none_or(|batch| batch.branches.insert(branch.key.index, model).is_some()) {
                        self.fail(format!("invariant 14: {:?} is out of place", branch.key));
                    }
                    touched.push(branch.key.batch_id);
                }
                Write::MoveBranch { branch, .. } => {
                    let turn = branch.turn_id.filter(|_| branch.status == BranchStatus::Dispatched);
                    self.invariant_15_the_first_end_counts(commit, branch.key);
                    if branch.error_code.as_deref() == Some("downstream_unavailable") {
                        self.count("given up");
                    }
                    if let Some(model) = self.branch_mut(branch.key) {
                        model.status = branch.status;
                        model.turn = model.turn.or(turn);
                    }
                    touched.push(branch.key.batch_id);
                }
                Write::EndBranch(end) => self.ended_branch(end),
                Write::BeginClose { batch_id, reason } => {
                    if let Some(model) = self.batches.known.get_mut(batch_id) {
                        model.row.closing = Some(*reason);
                    }
                }
                _ => {}
            }
        }
        for batch in &commit.writes {
            if let Write::CloseBatch(batch) = batch {
                self.closed(batch);
            }
        }
        touched.dedup();
        for batch in touched {
            self.invariant_17_no_more_at_once_than_allowed(batch);
        }
    }

    fn branch_mut(&mut self, key: BranchKey) -> Option<&mut BranchModel> {
        self.batches.known.get_mut(&key.batch_id)?.branches.get_mut(&key.index)
    }

    pub(super) fn turn_is_open(&self, turn: TurnId) -> bool {
        self.turns.get(&turn).is_some_and(|model| !model.ended)
    }

    /// Whether the turn is live, at whatever epoch, and has this call open.
    fn waits_for(&self, turn: TurnId, call: &str) -> bool {
        self.is_held(turn) && self.open_calls.contains(&(turn, call.to_owned()))
    }

    fn forked(&mut self, commit: &Commit, batch: &Batch) {
        if batch.depth > 1 {
            self.count("nested fork");
        }
        let indexes = commit.writes.iter().filter_map(|write| match write {
            Write::AddBranch(branch) if branch.key.batch_id == batch.id => Some(branch.key.index),
            _ => None,
        });
        if !indexes.eq(0..batch.branches) {
            self.fail(format!("invariant 14: {} was not forked with all its branches", batch.id));
        }
        if let Some(turn) = batch.parent_turn {
            self.invariant_16_only_the_living_start_others(turn);
        }
    }

    fn joined(&mut self, batch: &Batch) {
        self.count("join");
        if let Some(reason) = batch.closing {
            self.count(reason.as_str());
        }
        let reaped = |model: &TurnModel| {
            let code = model.error_code.as_deref();
            matches!(code, Some("timeout_reaped_by_watchdog" | "dispatch_timeout"))
        };
        if batch.parent_turn.and_then(|turn| self.turns.get(&turn)).is_some_and(reaped) {
            self.count("reaped parent");
        }
    }

    fn ended_branch(&mut self, end: &BranchEnd) {
        let counts = self.batches.known.get(&end.key.batch_id);
        let counts = counts.is_some_and(|batch| !batch.is_closed() && batch.row.closing.is_none());
        if let Some(branch) = self.branch_mut(end.key)
            && counts
            && branch.status.is_open()
        {
            branch.status = end.status.into();
        }
    }

    fn closed(&mut self, batch: &Batch) {
        let Some(model) = self.batches.known.get_mut(&batch.id) else { return };
        model.row.status = batch.status;
        if let Some(open) = model.branches.iter().find(|(_, branch)| branch.status.is_open()) {
            let what = format!("invariant 14: {} was closed, its branch {} was not", batch.id, open.0);
            self.fail(what);
        }
    }

    /// BM-15, BM-16, BM-20
    fn invariant_14_a_batch_is_joined_once(&mut self, commit: &Commit, batch: &Batch) {
        let id = batch.id;
        let Some(model) = self.batches.known.get(&id) else {
            return self.fail(format!("invariant 14: {id} was joined and never forked"));
        };
        if model.is_closed() {
            return self.fail(format!("invariant 14: {id} was joined twice"));
        }
        let is_answer = |write: &&Write| matches!(write, Write::AddEdge(edge) if is_response(edge, id));
        let edges = commit.writes.iter().filter(is_answer).count();
        let told: Vec<&Card> = commit
            .writes
            .iter()
            .filter_map(|write| match write {
                Write::PutCard(card) if card.tool_call_id.as_ref() == Some(&batch.parent_call) => {
                    Some(card.as_ref())
                }
                _ => None,
            })
            .collect();
        let to_tell = batch.parent_turn.is_none_or(|turn| self.waits_for(turn, &batch.parent_call));
        if edges != 1 || told.len() != usize::from(to_tell) {
            let count = told.len();
            return self.fail(format!(
                "invariant 14: {id} was joined by {edges} edges and {count} results; its parent waits: {to_tell}"
            ));
        }
        if batch.result_card != told.first().map(|card| card.id) {
            return self.fail(format!("invariant 14: {id} names another result"));
        }
        let wrong = told.first().and_then(|card| self.misses(commit, batch, card));
        if let Some(wrong) = wrong {
            self.fail(format!("invariant 14: {id} was told with {wrong}"));
        }
    }

    /// BM-17: one entry per branch, by index, as the branches are once this is applied.
    fn misses(&self, commit: &Commit, batch: &Batch, card: &Card) -> Option<String> {
        let model = self.batches.known.get(&batch.id)?;
        let mut statuses: Vec<BranchStatus> = model.branches.values().map(|branch| branch.status).collect();
        for write in &commit.writes {
            if let Write::MoveBranch { branch, .. } = write
                && let Some(status) = statuses.get_mut(branch.key.index as usize)
            {
                *status = branch.status;
            }
        }
        wrong_entries(batch, &statuses, card)
    }

    fn invariant_14_only_a_join_answers(&mut self, commit: &Commit) {
        if !commit.writes.iter().any(|write| matches!(write, Write::CloseBatch(_))) {
            self.fail("invariant 14: the parent of a batch was told without a join");
        }
    }

    /// BM-11: what changes a branch comes before its end and before the end of its batch.
    fn invariant_15_the_first_end_counts(&mut self, commit: &Commit, key: BranchKey) {
        let closes = commit.writes.iter().find_map(|write| match write {
            Write::CloseBatch(batch) if batch.id == key.batch_id => Some(batch),
            _ => None,
        });
        let Some(batch) = self.batches.known.get(&key.batch_id) else {
            return self.fail(format!("invariant 15: {key:?} is not known"));
        };
        let was_open = batch.branches.get(&key.index).is_some_and(|branch| branch.status.is_open());
        let wrong = if batch.is_closed() {
            "changed after the end of its batch"
        } else if !was_open {
            "changed after its end"
        } else if closes.is_some_and(|batch| batch.closing.is_none()) {
            "was called off although nobody asked for it"
        } else {
            return;
        };
        self.fail(format!("invariant 15: branch {} of {} {wrong}", key.index, key.batch_id));
    }

    fn invariant_15_an_end_is_told(&mut self, commit: &Commit, item: &InboxItem) {
        let Some(key) = item.branch else { return };
        let tells = |write: &Write| matches!(write, Write::EndBranch(end) if end.key == key);
        if self.turn_is_open(item.turn_id) && !commit.writes.iter().any(tells) {
            self.fail(format!("invariant 15: {} ended and its batch was not told", item.turn_id));
        }
    }

    fn invariant_15_an_end_has_a_turn(&mut self, commit: &Commit, end: &BranchEnd) {
        let is_end = |write: &Write| match write {
            Write::UpdateInbox { item, .. } => {
                item.branch == Some(end.key)
                    && item.ended.as_ref().is_some_and(|ended| ended.status == end.status)
            }
            _ => false,
        };
        if !commit.writes.iter().any(is_end) {
            self.fail(format!("invariant 15: {:?} ended without its turn", end.key));
        }
    }

    /// BM-19: the turn of a branch comes with the branch, and there is only one.
    fn invariant_7_a_branch_is_dispatched_once(&mut self, commit: &Commit, item: &InboxItem) {
        let Some(key) = item.branch else { return };
        let moved = commit.writes.iter().any(|write| match write {
            Write::AddBranch(branch) | Write::MoveBranch { from: BranchStatus::Pending, branch } => {
                branch.key == key
                    && branch.status == BranchStatus::Dispatched
                    && branch.turn_id == Some(item.turn_id)
            }
            _ => false,
        });
        let before = self.batches.known.get(&key.batch_id).and_then(|batch| batch.branches.get(&key.index));
        if !moved || before.is_some_and(|branch| branch.turn.is_some()) {
            self.fail(format!("invariant 7: {} is not the turn of {key:?}", item.turn_id));
        }
    }

    /// BM-08
    fn invariant_17_no_more_at_once_than_allowed(&mut self, id: BatchId) {
        let Some(batch) = self.batches.known.get(&id) else { return };
        let dispatched =
            batch.branches.values().filter(|branch| branch.status == BranchStatus::Dispatched).count();
        let allowed = batch.row.parallel as usize;
        if allowed > 0 && dispatched > allowed {
            self.fail(format!("invariant 17: {id} has {dispatched} branches under way, not {allowed}"));
        }
    }

    /// What is started below a root is counted in the commit that starts it.
    fn invariant_18_the_tree_is_counted(&mut self, commit: &Commit) {
        let (mut counted, mut started) = (BTreeMap::new(), BTreeMap::new());
        for write in &commit.writes {
            let (list, turn, turns) = match write {
                Write::Spend { root, turns, .. } => (&mut counted, Some(*root), *turns),
                Write::CreateBatch(batch) => (&mut started, batch.parent_turn, batch.branches),
                Write::Enqueue(item)
                    if item.kind == cardwire_model::InboxKind::Turn && item.branch.is_none() =>
                {
                    (&mut started, item.parent_turn, 1)
                }
                _ => continue,
            };
            if let Some(turn) = turn {
                *list.entry(self.root(turn)).or_insert(0_u32) += turns;
            }
        }
        if counted != started {
            self.fail(format!("invariant 18: {started:?} were started, {counted:?} were counted"));
        }
        for (root, turns) in started {
            *self.batches.started.entry(root).or_default() += turns;
        }
    }

    fn root(&self, mut turn: TurnId) -> TurnId {
        while let Some(parent) = self.turns.get(&turn).and_then(|model| model.parent) {
            turn = parent;
        }
        turn
    }

    /// The turns of a project that nobody has started, each with how many were started below it.
    pub(crate) fn roots(&self, project: &ProjectId) -> Vec<(TurnId, u32)> {
        let of_project = |model: &TurnModel| model.agent.0.project() == Some(project);
        let roots = self.turns.iter().filter(|(_, model)| model.parent.is_none() && of_project(model));
        roots.map(|(turn, _)| (*turn, self.batches.started.get(turn).copied().unwrap_or(0))).collect()
    }

    /// How a branch ended, as far as it was seen.
    pub(crate) fn branch_status(&self, key: BranchKey) -> Option<BranchStatus> {
        Some(self.batches.known.get(&key.batch_id)?.branches.get(&key.index)?.status)
    }
}

fn is_response(edge: &cardwire_model::Edge, batch: BatchId) -> bool {
    edge.primitive == Primitive::Join
        && edge.phase == EdgePhase::Response
        && edge.correlation_id == batch.to_string()
}

/// What is wrong with what the parent of a batch was told, if its branches are these.
pub(crate) fn wrong_entries(batch: &Batch, branches: &[BranchStatus], card: &Card) -> Option<String> {
    let content = card.content.to_value();
    let result = &content["result"];
    let entries = result["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    if entries.len() != batch.branches as usize || branches.len() != entries.len() {
        return Some(format!("{} entries for {} branches", entries.len(), batch.branches));
    }
    if result["status"] != batch.status.as_str() {
        return Some(format!("status {}, not {}", result["status"], batch.status.as_str()));
    }
    let fits = |(index, (entry, status)): (usize, (&serde_json::Value, &BranchStatus))| {
        (entry["task_index"] != index || entry["status"] != status.as_str())
            .then(|| format!("{entry} for branch {index}, which is {}", status.as_str()))
    };
    entries.iter().zip(branches).enumerate().find_map(fits)
}
