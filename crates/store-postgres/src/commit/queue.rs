//! Which waiting commits go next, and which of them together. Pure: no IO, no tasks.
//!
//! Commits of one realm share a transaction, hence one flush to disk and one set of statements, when they touch
//! different boxes and heads of agents, or only add to the ends of the same boxes. A commit that touches a row which
//! is being written waits here instead of on the server's row lock, where it would hold a connection.
//! Realms wait in lines of their own and are served in turn, so that one whose rows are locked holds up no other.
//! Invariant: transactions under way touch different rows, but for those that the server lets several hold, and no
//! commit overtakes an earlier one with which it cannot go.

use super::payload::{Payload, Touched, With};
use cardwire_model::Realm;
use std::collections::{HashMap, HashSet, VecDeque};
use uuid::Uuid;

/// How many commits go in one transaction, if so many wait. The more wait, the more go: a share of them, up to a bound. What
/// a transaction costs besides its commits is divided by them, while those that wait longer would have waited anyway.
const BATCH_COMMITS: usize = 32;
const BATCH_SHARE: usize = 4;
const MOST_COMMITS: usize = 128;
/// A transaction takes no further commit once it has so many bytes.
const BATCH_BYTES: usize = 512 * 1024;
/// Transactions of one realm under way at once. More would make each smaller, which costs more than it gains (see
/// docs/decisions/0015).
const REALM_BATCHES: usize = 2;
/// A further transaction of a realm goes only when so many of its commits wait: few are better kept for the next one; with
/// many, the server has work while what it has done is on its way to us.
const ENOUGH_FOR_ANOTHER: usize = 4;
/// A line of so many commits drops those that nobody waits for any more. Whoever gives up makes room for another, so that
/// a line that cannot move would grow for ever.
const SWEEP_AT: usize = 2_048;

/// Something that waits: a payload with whoever wants to know its outcome.
pub(super) trait Waiting {
    fn payload(&self) -> &Payload;
    /// Nobody waits any more.
    fn is_abandoned(&self) -> bool;
}

#[derive(Debug)]
pub(super) struct Queue<J> {
    /// What waits, by realm. No line is empty.
    lines: HashMap<Realm, Line<J>>,
    /// Realms whose lines are ready, each once.
    ready: VecDeque<Realm>,
    busy: HashMap<Realm, Busy>,
}

/// What waits of one realm.
#[derive(Debug)]
struct Line<J> {
    jobs: VecDeque<J>,
    /// Something in it may be able to go. Otherwise it waits for what its realm has under way.
    is_ready: bool,
}

impl<J> Default for Line<J> {
    fn default() -> Self {
        Self { jobs: VecDeque::new(), is_ready: false }
    }
}

/// What is under way in a realm.
#[derive(Debug, Default)]
struct Busy {
    batches: usize,
    /// Rows that no other transaction may touch.
    rows: HashSet<Uuid>,
    /// Rows that others may hold as well, and by how many commits they are held.
    held: HashMap<Uuid, usize>,
}

impl Busy {
    fn add(&mut self, touched: &Touched) {
        if touched.with == With::Any {
            *self.held.entry(touched.row).or_default() += 1;
        } else {
            self.rows.insert(touched.row);
        }
    }

    fn remove(&mut self, touched: &Touched) {
        if touched.with == With::Any {
            let left = self.held.get_mut(&touched.row).map_or(0, |count| {
                *count -= 1;
                *count
            });
            if left == 0 {
                self.held.remove(&touched.row);
            }
        } else {
            self.rows.remove(&touched.row);
        }
    }

    fn allows(&self, touched: &Touched) -> bool {
        !self.rows.contains(&touched.row)
            && (touched.with == With::Any || !self.held.contains_key(&touched.row))
    }
}

impl<J> Default for Queue<J> {
    fn default() -> Self {
        Self { lines: HashMap::new(), ready: VecDeque::new(), busy: HashMap::new() }
    }
}

impl<J: Waiting> Queue<J> {
    /// False when it has to wait for what is under way: whoever is done looks for more.
    pub(super) fn push(&mut self, job: J) -> bool {
        let realm = job.payload().realm.clone();
        let line = &mut self.lines.entry(realm.clone()).or_default().jobs;
        if line.len() >= SWEEP_AT {
            line.retain(|job| !job.is_abandoned());
        }
        line.push_back(job);
        let may_go = self.has_room(&realm);
        if may_go {
            self.make_ready(&realm);
        }
        may_go
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Whether a lane would find something to look at.
    pub(super) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Lets a commit go at once, past an empty line; false when it has to wait.
    pub(super) fn start(&mut self, payload: &Payload) -> bool {
        let nobody_waits = !self.lines.contains_key(&payload.realm);
        let goes = nobody_waits && self.has_room(&payload.realm) && self.is_free(payload);
        if goes {
            self.occupy(&payload.realm, &payload.rows);
        }
        goes
    }

    /// Takes commits that may travel together now, of the realm whose turn it is; empty when none may go.
    pub(super) fn take(&mut self) -> Vec<J> {
        while let Some(realm) = self.ready.pop_front() {
            let Some(mut line) = self.lines.remove(&realm) else { continue };
            line.is_ready = false;
            line.jobs.retain(|job| !job.is_abandoned());
            let taken =
                if self.has_room_for(&realm, line.jobs.len()) { self.choose(&line.jobs) } else { vec![] };
            let batch = remove(&mut line.jobs, &taken);
            if !line.jobs.is_empty() {
                self.lines.insert(realm.clone(), line);
            }
            if batch.is_empty() {
                // Nothing of it can go before something that it has under way is done.
                continue;
            }
            self.occupy(&realm, batch.iter().flat_map(|job| &job.payload().rows));
            self.make_ready(&realm);
            return batch;
        }
        vec![]
    }

    /// The places of those in a line that may travel together now.
    fn choose(&self, line: &VecDeque<J>) -> Vec<usize> {
        let (mut picked, mut taken) = (Picked::default(), vec![]);
        let most = (line.len() / BATCH_SHARE).clamp(BATCH_COMMITS, MOST_COMMITS);
        for (place, job) in line.iter().enumerate() {
            if picked.is_full() || taken.len() >= most {
                break;
            }
            let payload = job.payload();
            let fits = taken.is_empty() || !payload.alone;
            if fits && picked.allows(payload) && self.is_free(payload) {
                picked.add(payload);
                taken.push(place);
            } else {
                picked.pass_over(payload);
            }
        }
        taken
    }

    /// Lets the line of a realm be looked at, if it has one.
    fn make_ready(&mut self, realm: &Realm) {
        if let Some(line) = self.lines.get_mut(realm)
            && !std::mem::replace(&mut line.is_ready, true)
        {
            self.ready.push_back(realm.clone());
        }
    }

    fn occupy<'a>(&mut self, realm: &Realm, rows: impl IntoIterator<Item = &'a Touched>) {
        let busy = self.busy.entry(realm.clone()).or_default();
        busy.batches += 1;
        rows.into_iter().for_each(|touched| busy.add(touched));
    }

    fn has_room(&self, realm: &Realm) -> bool {
        self.has_room_for(realm, self.lines.get(realm).map_or(0, |line| line.jobs.len()))
    }

    /// Whether a transaction of the realm may go while so many of its commits wait.
    fn has_room_for(&self, realm: &Realm, waiting: usize) -> bool {
        let busy = self.busy.get(realm);
        busy.is_none_or(|busy| busy.batches < REALM_BATCHES && waiting >= ENOUGH_FOR_ANOTHER)
    }

    fn is_free(&self, payload: &Payload) -> bool {
        let Some(busy) = self.busy.get(&payload.realm) else { return true };
        payload.rows.iter().all(|touched| busy.allows(touched))
    }

    /// The commits of a batch are done.
    pub(super) fn release<'a>(&mut self, realm: &Realm, rows: impl IntoIterator<Item = &'a Touched>) {
        let Some(busy) = self.busy.get_mut(realm) else { return };
        busy.batches = busy.batches.saturating_sub(1);
        rows.into_iter().for_each(|touched| busy.remove(touched));
        if busy.batches == 0 {
            self.busy.remove(realm);
        }
        self.make_ready(realm);
    }
}

/// Takes the jobs at these places out of a line.
fn remove<J>(line: &mut VecDeque<J>, taken: &[usize]) -> Vec<J> {
    let last = taken.last().map_or(0, |place| place + 1);
    let (mut batch, mut kept) = (vec![], vec![]);
    for (place, job) in line.drain(..last).enumerate() {
        if taken.binary_search(&place).is_ok() {
            batch.push(job);
        } else {
            kept.push(job);
        }
    }
    kept.into_iter().rev().for_each(|job| line.push_front(job));
    batch
}

/// What a search has found so far.
#[derive(Default)]
struct Picked {
    bytes: usize,
    /// It holds a commit that travels alone.
    closed: bool,
    /// Rows of the batch that take no other commit, and those that take others like it.
    exclusive: HashSet<Uuid>,
    shared: HashSet<Uuid>,
    /// Commits that have to wait.
    passed_over: PassedOver,
}

/// Rows of commits that have to wait.
#[derive(Default)]
struct PassedOver {
    rows: HashSet<Uuid>,
    /// Those that transactions may hold together.
    held: HashSet<Uuid>,
}

impl PassedOver {
    fn allows(&self, touched: &Touched) -> bool {
        !self.rows.contains(&touched.row) && (touched.with == With::Any || !self.held.contains(&touched.row))
    }
}

impl Picked {
    fn is_full(&self) -> bool {
        self.closed || self.bytes >= BATCH_BYTES
    }

    fn allows(&self, payload: &Payload) -> bool {
        payload.rows.iter().all(|touched| {
            !self.exclusive.contains(&touched.row)
                && (touched.with != With::None || !self.shared.contains(&touched.row))
                && self.passed_over.allows(touched)
        })
    }

    fn add(&mut self, payload: &Payload) {
        self.bytes += payload.size();
        self.closed |= payload.alone;
        for touched in &payload.rows {
            let rows = if touched.with == With::None { &mut self.exclusive } else { &mut self.shared };
            rows.insert(touched.row);
        }
    }

    fn pass_over(&mut self, payload: &Payload) {
        let PassedOver { rows, held } = &mut self.passed_over;
        for touched in &payload.rows {
            let rows = if touched.with == With::Any { &mut *held } else { &mut *rows };
            rows.insert(touched.row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_model::{BatchId, BoxId, BranchEnd, BranchKey, CloseReason, Commit, Write};

    struct Job(Payload, bool);

    impl Waiting for Job {
        fn payload(&self) -> &Payload {
            &self.0
        }

        fn is_abandoned(&self) -> bool {
            self.1
        }
    }

    fn job(project: &str, boxes: &[u128]) -> Job {
        let mut commit = Commit::new(project.parse::<cardwire_model::ProjectId>().unwrap());
        for number in boxes {
            let box_id = BoxId::from_uuid(Uuid::from_u128(*number));
            commit.writes.push(Write::SealBox { box_id });
        }
        Job(Payload::new(commit), false)
    }

    fn queue(jobs: impl IntoIterator<Item = Job>) -> Queue<Job> {
        let mut queue = Queue::default();
        wait(&mut queue, jobs);
        queue
    }

    fn wait(queue: &mut Queue<Job>, jobs: impl IntoIterator<Item = Job>) {
        for job in jobs {
            queue.push(job);
        }
    }

    fn boxes(batch: &[Job]) -> Vec<u128> {
        batch.iter().flat_map(|job| &job.0.boxes).map(Uuid::as_u128).collect()
    }

    fn release(queue: &mut Queue<Job>, batch: &[Job]) {
        queue.release(&batch[0].0.realm, batch.iter().flat_map(|job| &job.0.rows));
    }

    #[test]
    fn independent_commits_of_one_realm_go_together() {
        let mut queue = queue([job("p", &[1]), job("q", &[1]), job("p", &[2]), job("p", &[])]);
        assert_eq!(queue.take().len(), 3);
        assert_eq!(queue.take().len(), 1);
    }

    #[test]
    fn commits_on_one_box_go_one_after_the_other() {
        let mut queue = queue([job("p", &[1]), job("p", &[1]), job("p", &[2])]);
        let first = queue.take();
        assert_eq!(boxes(&first), [1, 2]);
        assert!(queue.take().is_empty());
        release(&mut queue, &first);
        assert_eq!(boxes(&queue.take()), [1]);
    }

    fn appending(boxes: &[u128]) -> Job {
        let mut job = job("p", &[]);
        let mut commit = Commit::new(job.0.realm.clone());
        commit.writes.extend(boxes.iter().map(|number| Write::AppendCards {
            box_id: BoxId::from_uuid(Uuid::from_u128(*number)),
            generation: cardwire_model::Generation::FIRST,
            cards: vec![],
        }));
        job.0 = Payload::new(commit);
        job
    }

    #[test]
    fn appends_to_one_box_go_together_but_not_with_other_writes_to_it() {
        let mut queue =
            queue([appending(&[1]), appending(&[1, 2]), job("p", &[2]), appending(&[2]), appending(&[1])]);
        let first = queue.take();
        assert_eq!(boxes(&first), [1, 1, 2, 1]);
        assert!(queue.take().is_empty());
        release(&mut queue, &first);
        assert_eq!(queue.take().len(), 1);
    }

    /// Appends to the box, and nudges the head.
    fn nudging(agent: &str, box_id: u128) -> Job {
        let mut job = appending(&[]);
        let guard = cardwire_model::HeadGuard {
            agent_id: agent.parse().unwrap(),
            epoch: cardwire_model::TurnEpoch::ZERO,
            status: cardwire_model::Status::Idle,
            marks: None,
            queued: (0, 9),
            roster: None,
        };
        let mut commit = Commit::new(job.0.realm.clone());
        commit.writes.push(Write::NudgeHead { guard, nudge: cardwire_model::Nudge::default() });
        commit.writes.push(Write::AppendCards {
            box_id: BoxId::from_uuid(Uuid::from_u128(box_id)),
            generation: cardwire_model::Generation::FIRST,
            cards: vec![],
        });
        job.0 = Payload::new(commit);
        job
    }

    #[test]
    fn commits_on_one_head_go_one_after_the_other_whatever_else_they_share() {
        let mut queue = queue([nudging("a", 1), nudging("a", 2), nudging("b", 1), nudging("c", 2)]);
        let first = queue.take();
        assert_eq!(boxes(&first), [1, 1], "the box is shared; the third may not overtake on box 2");
        assert!(queue.take().is_empty());
        release(&mut queue, &first);
        assert_eq!(boxes(&queue.take()), [2, 2]);
    }

    const BATCH: BatchId = BatchId::from_uuid(Uuid::from_u128(7_000));

    /// Ends a branch, with the turn of its agent.
    fn ending(index: u32) -> Job {
        let mut job = nudging(&format!("agent-{index}"), u128::from(index));
        let end = BranchEnd {
            key: BranchKey { batch_id: BATCH, index },
            status: cardwire_model::TaskStatus::Success,
            deliverable: None,
            error_detail: None,
            error_code: None,
            at: cardwire_model::Timestamp::from_micros(0),
        };
        let mut commit = Commit::new(job.0.realm.clone());
        commit.writes.push(Write::EndBranch(Box::new(end)));
        job.0.rows.extend(Payload::new(commit).rows);
        job
    }

    fn closing() -> Job {
        let mut job = job("p", &[]);
        let mut commit = Commit::new(job.0.realm.clone());
        commit.writes.push(Write::BeginClose { batch_id: BATCH, reason: CloseReason::Deadline });
        job.0 = Payload::new(commit);
        job
    }

    #[test]
    fn branches_of_a_batch_end_in_several_transactions_but_not_while_it_is_closed() {
        let mut queue = queue((0..4).map(ending));
        let first = queue.take();
        assert_eq!(first.len(), 4);
        wait(&mut queue, (4..8).map(ending));
        let second = queue.take();
        assert_eq!(boxes(&second), [4, 5, 6, 7], "the batch is held by both");
        queue.push(closing());
        wait(&mut queue, (8..12).map(ending));
        release(&mut queue, &first);
        assert!(queue.take().is_empty(), "it closes after the second, and nobody overtakes it");
        release(&mut queue, &second);
        let close = queue.take();
        assert_eq!((close.len(), boxes(&close)), (1, vec![]));
        assert!(queue.take().is_empty());
        release(&mut queue, &close);
        assert_eq!(boxes(&queue.take()), [8, 9, 10, 11]);
    }

    #[test]
    fn an_end_that_has_to_wait_holds_up_its_own_branch_alone() {
        let mut queue = queue([nudging("agent-1", 99)]);
        let first = queue.take();
        wait(&mut queue, (1..5).map(ending));
        let second = queue.take();
        assert_eq!(boxes(&second), [2, 3, 4]);
        // Its branch, not its agent, is what another end of it waits for.
        let mut again = ending(1);
        again
            .0
            .rows
            .retain(|touched| touched.row == Touched::branch(BranchKey { batch_id: BATCH, index: 1 }).row);
        queue.push(again);
        release(&mut queue, &first);
        release(&mut queue, &second);
        assert_eq!(boxes(&queue.take()), [1, 1], "together, in their order");
    }

    #[test]
    fn nobody_overtakes_a_commit_with_which_it_shares_a_box() {
        let mut queue = queue([job("p", &[1]), job("p", &[1, 2]), job("p", &[2]), job("p", &[3])]);
        let first = queue.take();
        assert_eq!(boxes(&first), [1, 3]);
        release(&mut queue, &first);
        assert_eq!(boxes(&queue.take()), [1, 2]);
        assert_eq!(queue.lines.values().map(|line| line.jobs.len()).sum::<usize>(), 1);
    }

    #[test]
    fn a_realm_has_few_transactions_under_way_and_another_only_when_enough_wait() {
        let mut queue: Queue<Job> = Queue::default();
        let mut number = 0;
        let mut wait = |queue: &mut Queue<Job>, count: usize| {
            for _ in 0..count {
                number += 1;
                queue.push(job("p", &[number]));
            }
            queue.take()
        };
        let first = wait(&mut queue, 1);
        assert_eq!(first.len(), 1);
        for _ in 1..REALM_BATCHES {
            assert!(wait(&mut queue, ENOUGH_FOR_ANOTHER - 1).is_empty());
            assert_eq!(wait(&mut queue, 1).len(), ENOUGH_FOR_ANOTHER);
        }
        assert!(wait(&mut queue, 2 * ENOUGH_FOR_ANOTHER).is_empty(), "enough under way");
        release(&mut queue, &first);
        assert_eq!(queue.take().len(), 2 * ENOUGH_FOR_ANOTHER);
    }

    #[test]
    fn a_transaction_takes_a_share_of_what_waits_within_bounds() {
        for (waiting, taken) in [(31, 31), (32, 32), (131, 32), (132, 33), (511, 127), (512, 128), (900, 128)]
        {
            let mut queue = queue((1..=waiting).map(|number| job("p", &[number])));
            assert_eq!(queue.take().len(), taken, "of {waiting}");
        }
    }

    #[test]
    fn who_comes_last_of_those_that_are_enough_says_so() {
        let mut queue = queue([job("p", &[1])]);
        let first = queue.take();
        let mut tells = |number: usize| queue.push(job("p", &[number as u128]));
        assert!((1..ENOUGH_FOR_ANOTHER).all(|number| !tells(number + 1)));
        assert!(tells(ENOUGH_FOR_ANOTHER + 1));
        release(&mut queue, &first);
        assert_eq!(queue.take().len(), ENOUGH_FOR_ANOTHER);
    }

    #[test]
    fn a_commit_goes_at_once_only_past_an_empty_queue() {
        let mut queue: Queue<Job> = Queue::default();
        assert!(queue.start(&job("p", &[1]).0));
        assert!(!queue.start(&job("p", &[2]).0), "enough under way");
        assert!(queue.start(&job("q", &[1]).0));
        queue.push(job("r", &[1]));
        assert!(!queue.start(&job("r", &[2]).0), "somebody waits");
    }

    /// F-22: one whose rows are locked has thousands waiting; another is served as if it were alone.
    #[test]
    fn a_realm_with_a_long_line_holds_up_no_other() {
        let mut queue = queue((0..3_000).map(|_| job("locked", &[1])));
        let under_way = queue.take();
        assert_eq!(under_way.len(), 1, "all want the same box");
        assert!(queue.take().is_empty());
        assert!(queue.start(&job("other", &[1]).0), "past the line of its own realm, which is empty");
        wait(&mut queue, (2..6).map(|number| job("other", &[number])));
        assert_eq!(boxes(&queue.take()), [2, 3, 4, 5]);
    }

    #[test]
    fn realms_are_served_in_turn() {
        let of = |project| (0..3).map(move |_| job(project, &[1]));
        let mut queue = queue(of("p").chain(of("q")));
        let mut served = vec![];
        for _ in 0..6 {
            let batch = queue.take();
            served.push(batch[0].0.realm.key().to_owned());
            release(&mut queue, &batch);
        }
        assert_eq!(served, ["p", "q", "p", "q", "p", "q"]);
    }

    /// Thousands gave up behind a locked row; who came after them is served when the row is free.
    #[test]
    fn any_number_of_those_who_gave_up_hold_up_nobody() {
        let mut queue = queue([job("p", &[1])]);
        let under_way = queue.take();
        let gave_up = || Job(job("p", &[1]).0, true);
        wait(&mut queue, (0..5_000).map(|_| gave_up()));
        assert!(queue.lines.values().all(|line| line.jobs.len() <= SWEEP_AT), "they are not kept for ever");
        queue.push(job("p", &[1]));
        release(&mut queue, &under_way);
        assert_eq!(queue.take().len(), 1);
        assert!(queue.is_empty());
    }

    #[test]
    fn what_nobody_waits_for_is_dropped_before_it_is_sent() {
        let mut abandoned = job("p", &[1]);
        abandoned.1 = true;
        let mut queue = queue([abandoned, job("p", &[1])]);
        assert_eq!(queue.take().len(), 1);
        assert!(queue.is_empty());
    }
}
