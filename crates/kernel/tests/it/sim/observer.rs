//! Checks every commit the moment it is applied, against a small model of its own. The model is built from applied
//! commits alone; it shares no code with `protocol`.
//!
//! The invariants have the numbers of `docs/protocol.md`.

mod author;
mod batches;
mod early;
mod sweeps;

use super::world::{Current, Shared};
use author::Author;
use batches::Batches;
pub(crate) use batches::wrong_entries;
use cardwire_kernel::protocol::turn::claim::{Lease, LeaseKind};
use cardwire_model::{
    AgentId, BoxId, CardId, Commit, EventKind, Hash256, Head, InboxItem, InboxKind, InboxStatus, NewEvent,
    Realm, Timestamp, TurnEpoch, TurnId, Write, limits,
};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

type AgentKey = (Realm, AgentId);

#[derive(Debug, Default)]
pub(super) struct Observer {
    agents: HashMap<AgentKey, AgentModel>,
    turns: HashMap<TurnId, TurnModel>,
    cards: HashSet<CardId>,
    answers: HashMap<(TurnId, String), u32>,
    results: HashMap<String, u32>,
    leases: HashMap<(TurnId, TurnEpoch), u32>,
    /// The hash of the secret that opens each lease.
    secrets: HashMap<(TurnId, TurnEpoch), Hash256>,
    /// Tool calls without an answer.
    open_calls: HashSet<(TurnId, String)>,
    /// Turns that a turn has started, without those of batches.
    children: HashMap<TurnId, Vec<TurnId>>,
    /// How often a turn was taken back from the worker that was given it.
    lost_attempts: HashMap<TurnId, u32>,
    batches: Batches,
    /// Seen before what they are about.
    early: Vec<early::Early>,
    open: usize,
    /// Turns that were put into an inbox.
    pub(super) enqueued: u64,
    /// What happened without anybody's doing, by name.
    pub(super) seen: BTreeMap<&'static str, u64>,
    /// The first thing that went wrong.
    pub(super) violation: Option<String>,
    pub(super) ended: u64,
    /// The commits of a store with threads are not seen in the order they were applied.
    pub(super) ordered: bool,
}

#[derive(Debug, Default, Clone)]
struct AgentModel {
    epoch: u64,
    live: Option<(TurnId, u64, Timestamp)>,
    queue: VecDeque<TurnId>,
}

#[derive(Debug, Clone)]
struct TurnModel {
    agent: AgentKey,
    output: Option<BoxId>,
    parent: Option<TurnId>,
    tasks: u32,
    ended: bool,
    error_code: Option<String>,
}

impl Observer {
    fn fail(&mut self, what: impl Into<String>) {
        let what = what.into();
        self.violation.get_or_insert(what);
    }

    fn count(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    /// Whether a holder of this lease could still write now.
    pub(super) fn is_live(&self, turn: TurnId, epoch: TurnEpoch) -> bool {
        let agent = self.turns.get(&turn).and_then(|model| self.agents.get(&model.agent));
        agent.and_then(|agent| agent.live).is_some_and(|(live, at, _)| live == turn && at == epoch.get())
    }

    /// Whether the turn is live, at whatever epoch.
    pub(super) fn is_held(&self, turn: TurnId) -> bool {
        let agent = self.turns.get(&turn).and_then(|model| self.agents.get(&model.agent));
        agent.and_then(|agent| agent.live).is_some_and(|(live, _, _)| live == turn)
    }

    /// A commit was applied.
    pub(super) fn applied(&mut self, commit: &Commit, shared: &Shared) {
        let current = shared.current.lock().unwrap().clone();
        if !self.ordered && self.is_early(commit, &current) {
            self.early.push(early::Early { commit: commit.clone(), current });
            return;
        }
        self.check(commit, &current);
        while let Some(early) = self.next_early() {
            self.check(&early.commit, &early.current);
        }
    }

    fn check(&mut self, commit: &Commit, current: &Current) {
        let author = author::of(commit);
        if self.ordered {
            self.batches_before(commit);
            self.invariant_3_a_stale_holder_changes_nothing(commit, author, current);
        }
        self.invariants_2_and_21_a_turn_that_is_taken_back(commit);
        let mut replaced = vec![];
        let mut ended_now = HashSet::new();
        for write in &commit.writes {
            self.write(&commit.realm, write, author, current, &mut replaced, &mut ended_now);
        }
        if self.ordered {
            self.batches_after(commit);
        }
        for event in &commit.events {
            self.event(event, &ended_now);
        }
        for turn in replaced {
            self.invariant_1_one_live_turn(turn);
        }
    }

    fn write(
        &mut self,
        realm: &Realm,
        write: &Write,
        author: Author,
        current: &Current,
        replaced: &mut Vec<TurnId>,
        ended_now: &mut HashSet<TurnId>,
    ) {
        match write {
            Write::PutCard(card) => {
                self.cards.insert(card.id);
                if card.kind.as_str() == "tool.result"
                    && let Some(call) = &card.tool_call_id
                {
                    self.invariant_5_one_result_per_call(call);
                }
            }
            Write::AppendCards { box_id, .. } => {
                self.invariant_6_one_writer_per_output_box(*box_id, author, current);
            }
            Write::Enqueue(item) => self.enqueued(realm, item, current),
            Write::UpdateInbox { item, .. } => self.updated(realm, item, ended_now),
            Write::CreateHead(head) => self.moved(realm, head, replaced),
            Write::MoveHead { guard, to, .. } => {
                if guard.roster.is_some() {
                    self.count("dispatch unread");
                }
                self.moved(realm, to, replaced);
            }
            Write::UpdateCall(call) if call.answer.is_some() => {
                self.open_calls.remove(&(call.turn_id, call.tool_call_id.clone()));
                let count = self.answers.entry((call.turn_id, call.tool_call_id.clone())).or_default();
                *count += 1;
                if *count > 1 {
                    self.fail(format!("invariant 5: call {} was answered twice", call.tool_call_id));
                }
            }
            Write::OpenCall(call) => {
                self.open_calls.insert((call.turn_id, call.tool_call_id.clone()));
            }
            Write::UpdateCall(_)
            | Write::NudgeHead { .. }
            | Write::DeleteCard { .. }
            | Write::CreateBox(_)
            | Write::RewriteBox(_)
            | Write::SealBox { .. }
            | Write::CreateProject(_)
            | Write::UpdateProject(_)
            | Write::CreateToken(_)
            | Write::RevokeToken { .. }
            | Write::RememberAnswer(_)
            | Write::SealAudit { .. }
            | Write::AddEdge(_)
            | Write::CreateStep(_)
            | Write::UpdateStep(_)
            | Write::PutProfile { .. }
            | Write::PutResource { .. }
            | Write::PutSession { .. }
            | Write::PutPassage(_)
            | Write::DropPassages { .. }
            | Write::PutAgent { .. }
            | Write::AddIdentityEdge(_)
            | Write::CreateBatch(_)
            | Write::BeginClose { .. }
            | Write::CloseBatch(_)
            | Write::AddBranch(_)
            | Write::MoveBranch { .. }
            | Write::EndBranch(_)
            | Write::AddSweep(_)
            | Write::EndSweep(_)
            | Write::AddGrant(_)
            | Write::Spend { .. } => {}
        }
    }

    fn enqueued(&mut self, realm: &Realm, item: &InboxItem, current: &Current) {
        if item.kind != InboxKind::Turn {
            return;
        }
        // Branches that waited for room come with their branch.
        if current.watchdog && item.branch.is_none() {
            self.fail("invariant 7: the watchdog inserted a turn");
        }
        if let Some(parent) = item.parent_turn.filter(|_| item.branch.is_none()) {
            self.delegated(parent, item.turn_id);
        }
        let agent = (realm.clone(), item.agent_id.clone());
        let model = TurnModel {
            agent: agent.clone(),
            output: item.output_box,
            parent: item.parent_turn,
            tasks: 0,
            ended: false,
            error_code: None,
        };
        self.open += 1;
        self.enqueued += 1;
        if self.turns.insert(item.turn_id, model).is_some() {
            self.fail(format!("invariant 7: {} was enqueued twice", item.turn_id));
        }
        self.claimed(item);
        if item.status == InboxStatus::Queued {
            self.agents.entry(agent).or_default().queue.push_back(item.turn_id);
        }
    }

    /// A turn has started another.
    fn delegated(&mut self, parent: TurnId, child: TurnId) {
        if self.ordered {
            self.invariant_16_only_the_living_start_others(parent);
        }
        self.children.entry(parent).or_default().push(child);
    }

    fn updated(&mut self, realm: &Realm, item: &InboxItem, ended_now: &mut HashSet<TurnId>) {
        if item.kind != InboxKind::Turn {
            return;
        }
        if item.status == InboxStatus::Pending
            && let Some(epoch) = item.epoch
        {
            // Put back: it may be handed out again.
            self.leases.remove(&(item.turn_id, epoch));
            self.secrets.remove(&(item.turn_id, epoch));
        }
        self.claimed(item);
        let Some(ended) = &item.ended else { return };
        ended_now.insert(item.turn_id);
        if !self.cards.contains(&ended.deliverable) {
            self.fail(format!("invariant 4: {} ended without its deliverable", item.turn_id));
        }
        if let Some(turn) = self.turns.get_mut(&item.turn_id)
            && !turn.ended
        {
            turn.ended = true;
            turn.error_code.clone_from(&ended.error_code);
            self.open -= 1;
        }
        let agent = self.agents.entry((realm.clone(), item.agent_id.clone())).or_default();
        agent.queue.retain(|waiting| *waiting != item.turn_id);
    }

    fn claimed(&mut self, item: &InboxItem) {
        if let (InboxStatus::Processing, Some(epoch), Some(hash)) = (item.status, item.epoch, item.token_hash)
        {
            self.secrets.insert((item.turn_id, epoch), hash);
        }
    }

    fn moved(&mut self, realm: &Realm, to: &Head, replaced: &mut Vec<TurnId>) {
        let key = (realm.clone(), to.agent_id.clone());
        let old = self.agents.entry(key.clone()).or_default().clone();
        let epoch = to.epoch.get();
        if self.ordered && epoch < old.epoch {
            self.fail(format!(
                "invariant 2: the epoch of {} went from {} to {epoch}",
                to.agent_id, old.epoch
            ));
        }
        let new = to.live.as_ref().map(|live| (live.turn_id, epoch, live.dispatched_at));
        match (old.live, new) {
            (Some((was, at, dispatched)), Some((is, now, redispatched))) if was == is => {
                if at == now && dispatched != redispatched {
                    self.fail(format!("invariant 8: the lease of {is} at {now} was made younger: {dispatched} {redispatched} {:?}", to.live));
                }
            }
            (was, Some((is, now, _))) => {
                replaced.extend(was.map(|(turn, _, _)| turn));
                if self.ordered {
                    if now <= old.epoch {
                        self.fail(format!(
                            "invariant 2: {is} was leased at epoch {now}, not above {}",
                            old.epoch
                        ));
                    }
                    self.invariant_9_first_come_first_served(&key, is);
                }
            }
            (was, None) => {
                replaced.extend(was.map(|(turn, _, _)| turn));
                // Whoever loses a turn must lose the epoch with it, unless the turn's own holder ended it.
            }
        }
        let agent = self.agents.entry(key).or_default();
        agent.epoch = agent.epoch.max(epoch);
        agent.live = new;
        if let Some((turn, _, _)) = new {
            agent.queue.retain(|waiting| *waiting != turn);
        }
    }

    fn event(&mut self, event: &NewEvent, ended_now: &HashSet<TurnId>) {
        if event.kind != EventKind::AgentTask {
            return;
        }
        let Some(turn) = event.turn_id else { return self.fail("a task event without a turn") };
        self.ended += 1;
        if !ended_now.contains(&turn) {
            self.fail(format!("invariant 4: the task event of {turn} came without its end"));
        }
        let Some(model) = self.turns.get_mut(&turn) else {
            return self.fail(format!("invariant 4: a task event for {turn}, which nobody enqueued"));
        };
        model.tasks += 1;
        if model.tasks > 1 {
            self.fail(format!("invariant 4: {turn} has two task events"));
        }
    }

    /// WD-04, WD-05: its epoch rises, or its old holder could still write; and it is not given away for ever.
    fn invariants_2_and_21_a_turn_that_is_taken_back(&mut self, commit: &Commit) {
        let taken_back = |write: &Write| match write {
            Write::UpdateInbox { from: InboxStatus::Processing, item }
                if item.status == InboxStatus::Pending =>
            {
                let why = ["claim_not_started", "worker_lost"];
                let why = why.into_iter().find(|why| item.reason.as_deref() == Some(why));
                why.map(|why| (item.turn_id, why))
            }
            _ => None,
        };
        let moved = |write: &Write| match write {
            Write::MoveHead { guard, to, .. } => Some(to.epoch > guard.epoch),
            _ => None,
        };
        let Some((turn, why)) = commit.writes.iter().find_map(taken_back) else { return };
        // A head that was lost is made anew, with rows as they were.
        let Some(has_risen) = commit.writes.iter().find_map(moved) else { return };
        self.count(why);
        if !has_risen {
            self.fail(format!("invariant 2: {turn} was taken back, and its epoch stays"));
        }
        let lost = self.lost_attempts.entry(turn).or_default();
        *lost += 1;
        if *lost >= limits::TURN_ATTEMPTS {
            self.fail(format!(
                "invariant 21: {turn} is offered again after {} attempts",
                limits::TURN_ATTEMPTS
            ));
        }
    }

    /// NF-02
    fn invariant_1_one_live_turn(&mut self, replaced: TurnId) {
        let ended = self.turns.get(&replaced).is_none_or(|turn| turn.ended && turn.tasks == 1);
        if self.ordered && !ended {
            self.fail(format!("invariant 1: {replaced} was replaced while it was live"));
        }
    }

    /// NF-03, DP-17
    fn invariant_3_a_stale_holder_changes_nothing(
        &mut self,
        commit: &Commit,
        author: Author,
        current: &Current,
    ) {
        let (turn, live) = match (author, current.fence) {
            (Author::Operation, Some((turn, epoch))) => (turn, self.is_live(turn, epoch)),
            // What is done about a turn without its holder is done while it is live, too.
            (Author::Turn(turn), _) => {
                let is_allowed = self.is_held(turn) || !writes_a_box(commit) || ends_waiting(commit, turn);
                (turn, is_allowed)
            }
            (Author::Operation, None) | (Author::Kernel, _) => return,
        };
        let writes = commit.writes.iter().any(|write| !matches!(write, Write::CreateHead(_)));
        if writes && !live {
            self.fail(format!("invariant 3: {turn} wrote although it is not live: {current:?}"));
        }
    }

    /// NF-05
    fn invariant_5_one_result_per_call(&mut self, call: &str) {
        let count = self.results.entry(call.to_owned()).or_default();
        *count += 1;
        if *count > 1 {
            self.fail(format!("invariant 5: call {call} has two results"));
        }
    }

    /// CB-14
    fn invariant_6_one_writer_per_output_box(&mut self, box_id: BoxId, author: Author, current: &Current) {
        let writer = match author {
            Author::Operation => current.fence.map(|(turn, _)| turn),
            Author::Turn(turn) => Some(turn),
            Author::Kernel => return self.fail("invariant 6: the kernel wrote a box that is nobody's"),
        };
        let Some(writer) = writer else { return };
        let own = self.turns.get(&writer).and_then(|turn| turn.output);
        if own != Some(box_id) {
            self.fail(format!("invariant 6: {writer} wrote a box that is not its own"));
        }
    }

    /// NF-10
    fn invariant_9_first_come_first_served(&mut self, key: &AgentKey, leased: TurnId) {
        let queue = self.agents.get(key).map(|agent| agent.queue.clone()).unwrap_or_default();
        let first = queue.front().copied();
        if first.is_some_and(|first| first != leased) {
            self.fail(format!("invariant 9: {leased} was leased before {}", first.unwrap()));
        }
    }

    /// DP-15: a worker was given a lease. One whose row was put back before its worker came for it is nobody's:
    /// what it still opens is opened by whoever claims next, or by its own start.
    pub(super) fn invariant_10_a_lease_is_given_once(&mut self, lease: &Lease) {
        let (key, hash) =
            ((lease.turn_id, lease.epoch), lease.turn.as_ref().map(|turn| Hash256::of(&turn.secret)));
        if lease.kind != LeaseKind::Turn || self.secrets.get(&key).copied() != hash {
            return;
        }
        let count = self.leases.entry(key).or_default();
        *count += 1;
        if *count > 1 {
            self.fail(format!("invariant 10: {} was given to two workers", lease.turn_id));
        }
    }

    pub(super) fn has_ended(&self, turn: TurnId) -> bool {
        self.turns.get(&turn).is_some_and(|model| model.ended)
    }

    pub(super) fn turn_ids(&self) -> Vec<TurnId> {
        self.turns.keys().copied().collect()
    }

    /// How many results a call has.
    pub(super) fn results_of(&self, call: &str) -> u32 {
        self.results.get(call).copied().unwrap_or(0)
    }

    pub(super) fn open_turns(&self) -> usize {
        self.open
    }
}

/// Whether a turn that never ran ends here: its deliverable is written all the same (WK-06).
fn ends_waiting(commit: &Commit, turn: TurnId) -> bool {
    commit.writes.iter().any(|write| {
        matches!(write, Write::UpdateInbox { from: InboxStatus::Queued, item }
            if item.turn_id == turn && item.ended.is_some())
    })
}

fn writes_a_box(commit: &Commit) -> bool {
    commit.writes.iter().any(|write| matches!(write, Write::AppendCards { .. }))
}
