//! Each rule of batches by its number.

use super::{
    args::Fork,
    branch::{self, Watch},
    fork, join,
    progress::{self, Facts, Next},
    view::View,
};
use crate::{
    Decision, Moment, RefusalCode, Rejection,
    fixtures::{agent::TestAgent, box_id, card_id, moment, project, uuid},
    pmo::{
        budget::Budget,
        calls::{Answered, Call},
        delegate::{self, Boxes, Parties, Target},
    },
    turn::Proof,
};
use cardwire_model::{
    Agent, Batch, BatchId, BatchStatus, Branch, BranchKey, BranchStatus, Channel, CloseReason, Commit,
    EdgePhase, EventKind, Head, InboxStatus, InheritMode, PmoSettings, Primitive, Profile, Revision, Sweep,
    TaskStatus, Timestamp, TurnId, Write, card::ToolStatus,
};
use serde_json::{Value, json};
use std::collections::HashSet;

fn batch_id() -> BatchId {
    uuid::<BatchId>(BatchId::PREFIX, 5)
}

pub(super) fn branch(index: u32, status: BranchStatus) -> Branch {
    Branch {
        key: BranchKey { batch_id: batch_id(), index },
        status,
        agent_id: Some("child".parse().unwrap()),
        turn_id: Some(uuid::<TurnId>(TurnId::PREFIX, 100 + u128::from(index))),
        epoch: None,
        context_box: Some(box_id(60)),
        output_box: None,
        attempts: 1,
        next_attempt_at: None,
        deliverable: None,
        error_detail: None,
        error_code: None,
        warning: None,
        created_at: Timestamp::from_micros(0),
        updated_at: Timestamp::from_micros(0),
    }
}

pub(super) fn batch() -> Batch {
    Batch {
        id: batch_id(),
        parent_agent: "a1".parse().unwrap(),
        parent_turn: None,
        parent_epoch: None,
        parent_call: "call_1".to_owned(),
        parent_step: None,
        channel: Channel::public(),
        trace_id: "t".to_owned(),
        depth: 0,
        branches: 3,
        fail_fast: false,
        enough: 0,
        parallel: 0,
        result_tokens: 1_000,
        deadline_at: None,
        created_at: Timestamp::from_micros(0),
        status: BatchStatus::Running,
        closing: None,
        result_card: None,
        closed_at: None,
    }
}

fn profile() -> Profile {
    Profile {
        name: "Helper".parse().unwrap(),
        worker_target: "generic".parse().unwrap(),
        profile_box: box_id(50),
        card_id: card_id(50),
        tags: vec![],
        revision: Revision::FIRST,
        created_at: Timestamp::from_micros(0),
        updated_at: Timestamp::from_micros(0),
        deleted_at: None,
    }
}

fn call(caller: &Agent) -> Call {
    Call {
        tool: "fork_join".to_owned(),
        caller: caller.id.clone(),
        by_turn: None,
        at_turn: None,
        epoch: None,
        proof: Proof::Operator,
        channel: Channel::public(),
        trace_id: "t".to_owned(),
        is_traced: true,
        names_channel: true,
        args: serde_json::Map::new(),
        max_depth: 20,
        acl: InheritMode::Enforce,
        pmo: PmoSettings::default(),
        require_policy: false,
        carries_out: None,
        run: Default::default(),
    }
}

/// A parent, and what it forks.
pub(super) struct Forking {
    parent: TestAgent,
    pub(super) call: Call,
    fork: Fork,
    pub(super) given: fork::Given,
    moment: Moment,
}

impl Forking {
    /// Of a parent that is at work, with so many tasks for new agents.
    pub(super) fn of(tasks: usize, more: &Value) -> Self {
        Self::by(TestAgent::running().0, tasks, more)
    }

    fn by(parent: TestAgent, tasks: usize, more: &Value) -> Self {
        let caller = parent.roster();
        let mut args = more.clone();
        let task = json!({ "target_strategy": "new", "target_ref": "Helper", "instruction": "Go." });
        args["tasks"] = vec![task; tasks].into();
        let fork = Fork::parse(args.as_object().unwrap(), &PmoSettings::default()).unwrap();
        let one = Self::given(&caller, parent.head.clone(), Target::New(profile()));
        let turn = parent.head.as_ref().and_then(|head| head.live.as_ref()).map(|live| live.turn_id);
        let given = fork::Given {
            tasks: vec![one; tasks],
            parent: turn.map(|turn| parent.for_turn(turn)),
            ancestors: vec![],
            left: None,
            at_most: None,
            budget: Budget::default(),
        };
        let (call, moment) = (call(&caller), parent.moment.clone());
        Self { parent, call, fork, given, moment }
    }

    fn given(caller: &Agent, head: Option<Head>, target: Target) -> delegate::Given {
        let profile_box = crate::fixtures::agent::box_head(box_id(50));
        delegate::Given {
            parties: Parties {
                caller: caller.clone(),
                caller_head: head,
                caller_step: None,
                policy: None,
                target,
            },
            inherited: vec![],
            granted: HashSet::new(),
            budget: Budget::default(),
            known: Boxes { heads: [(box_id(50), profile_box)].into(), writers: vec![] },
        }
    }

    pub(super) fn decide(&self) -> Result<Decision<Answered>, Rejection> {
        fork::decide(&project(), &self.call, "call_1".to_owned(), &self.fork, &self.given, &self.moment)
    }
}

pub(super) fn batch_of(commit: &Commit) -> Batch {
    let found = commit.writes.iter().find_map(|write| {
        if let Write::CreateBatch(batch) | Write::CloseBatch(batch) = write { Some(batch) } else { None }
    });
    found.unwrap().as_ref().clone()
}

pub(super) fn branches_of(commit: &Commit) -> Vec<Branch> {
    let found = commit.writes.iter().filter_map(|write| {
        if let Write::AddBranch(branch) | Write::MoveBranch { branch, .. } = write {
            Some(branch)
        } else {
            None
        }
    });
    found.map(|branch| branch.as_ref().clone()).collect()
}

fn count(commit: &Commit, wanted: fn(&Write) -> bool) -> usize {
    commit.writes.iter().filter(|write| wanted(write)).count()
}

#[test]
fn bm_05_bm_06_one_commit_makes_the_batch_its_agents_contexts_and_turns() {
    let forked = Forking::of(3, &json!({})).decide().unwrap();
    let commit = &forked.commit;
    let made = batch_of(commit);
    assert_eq!((made.branches, made.status, made.depth), (3, BatchStatus::Running, 1));
    let rows = branches_of(commit);
    assert_eq!(rows.iter().map(|row| row.key.index).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(rows.iter().all(|row| row.status == BranchStatus::Dispatched && row.epoch.is_some()));
    let contexts: HashSet<_> = rows.iter().map(|row| row.context_box).collect();
    let agents: HashSet<_> = rows.iter().map(|row| row.agent_id.clone()).collect();
    assert_eq!((contexts.len(), agents.len()), (3, 3));
    assert_eq!(count(commit, |write| matches!(write, Write::PutAgent { .. })), 3);
    assert_eq!(count(commit, |write| matches!(write, Write::Enqueue(item) if item.branch.is_some())), 3);
    assert_eq!(commit.events.iter().filter(|event| event.kind == EventKind::BatchState).count(), 1);
}

#[test]
fn bm_07_the_join_is_asked_for_before_any_child_is_sent() {
    let forked = Forking::of(3, &json!({})).decide().unwrap();
    let mut edges: Vec<_> = forked
        .commit
        .writes
        .iter()
        .filter_map(|write| if let Write::AddEdge(edge) = write { Some(edge) } else { None })
        .collect();
    // API-08: whoever lists them by id finds them in the order of their times.
    edges.sort_by_key(|edge| edge.id);
    assert!(edges.is_sorted_by_key(|edge| edge.created_at));
    edges.retain(|edge| edge.primitive != Primitive::ToolCall);
    assert_eq!((edges[0].primitive, edges[0].phase), (Primitive::Join, EdgePhase::Request));
    assert_eq!(edges[0].correlation_id, batch_of(&forked.commit).id.to_string());
    assert!(edges[1..].iter().all(|edge| edge.primitive == Primitive::Enqueue && edge.id > edges[0].id));
    assert!(edges[1..].iter().all(|edge| edge.created_at > edges[0].created_at));
    assert_eq!(edges.len(), 4);
}

#[test]
fn bm_08_only_so_many_are_sent_at_once() {
    let forked = Forking::of(5, &json!({ "max_parallel": 2 })).decide().unwrap();
    let rows = branches_of(&forked.commit);
    let status = |index: usize| rows[index].status;
    assert!((0..2).all(|index| status(index) == BranchStatus::Dispatched));
    assert!((2..5).all(|index| status(index) == BranchStatus::Pending && rows[index].context_box.is_some()));
    assert_eq!(count(&forked.commit, |write| matches!(write, Write::Enqueue(_))), 2);
    let batch = Batch { parallel: 2, ..batch() };
    let next = |dispatched, pending| {
        let facts = Facts { batch: &batch, open: true, failed: false, succeeded: 0, dispatched, pending };
        progress::next(&facts, batch.created_at)
    };
    assert_eq!((next(1, 3), next(2, 3), next(0, 1)), (Next::Dispatch(1), Next::Nothing, Next::Dispatch(1)));
}

#[test]
fn bm_09_the_caller_is_told_that_it_was_accepted_and_has_the_call_open() {
    let mut forking = Forking::of(2, &json!({}));
    let forked = forking.decide().unwrap();
    let batch = batch_of(&forked.commit);
    assert_eq!(
        forked.outcome.result,
        json!({ "status": "accepted", "batch_id": batch.id.to_string(), "task_count": 2 })
    );
    assert_eq!((forked.outcome.result_card, forked.outcome.batch), (None, Some(batch.id)));
    assert_eq!(
        count(
            &forked.commit,
            |write| matches!(write, Write::OpenCall(call) if call.tool_call_id == "call_1")
        ),
        1
    );
    let cards = forked
        .commit
        .writes
        .iter()
        .filter(|write| matches!(write, Write::PutCard(card) if card.kind.as_str() == "tool.result"));
    assert_eq!(cards.count(), 0);
    // Without a turn there is nothing to keep open.
    forking = Forking::by(TestAgent::new(), 2, &json!({}));
    let forked = forking.decide().unwrap();
    assert_eq!(count(&forked.commit, |write| matches!(write, Write::OpenCall(_))), 0);
    assert_eq!(batch_of(&forked.commit).parent_turn, None);
}

#[test]
fn bm_10_a_busy_target_is_asked_again_and_any_other_refusal_is_the_end() {
    let refused = |code: RefusalCode, attempts| {
        let Rejection::Refused(refusal) = Rejection::refused(code, "no") else { unreachable!() };
        branch::refused(&Branch { attempts, ..branch(0, BranchStatus::Pending) }, &refusal, &moment())
    };
    let failed = refused(RefusalCode::WorkerTargetMissing, 0);
    assert_eq!(failed.error_detail.as_deref(), Some("dispatch_error:worker_target_missing"));
    let failed = refused(RefusalCode::OutputBoxInUse, 0);
    assert_eq!(failed.error_detail.as_deref(), Some("dispatch_rejected:output_box_in_use"));
    assert_eq!(failed.status, BranchStatus::Failed);
    let now = moment().now;
    for (attempts, seconds) in [(0, 2), (1, 4), (2, 8), (3, 16)] {
        let again = refused(RefusalCode::InboxFull, attempts);
        assert_eq!(
            (again.status, again.next_attempt_at),
            (BranchStatus::Pending, Some(now.plus_seconds(seconds)))
        );
    }
    let given_up = refused(RefusalCode::InboxFull, 4);
    assert_eq!(given_up.error_detail.as_deref(), Some("dispatch_retry_exhausted"));
}

#[test]
fn a_fork_is_looked_after_at_once_only_if_something_is_to_be_done() {
    let is_due = |more: Value, unsent: usize| {
        let mut forking = Forking::of(3, &more);
        // Who has no profile box cannot be sent anything.
        forking.given.tasks.iter_mut().take(unsent).for_each(|task| task.known.heads.clear());
        forking.decide().unwrap().outcome.is_due
    };
    assert_eq!([is_due(json!({}), 0), is_due(json!({}), 2), is_due(json!({}), 3)], [false, false, true]);
    let one_by_one = || json!({ "max_parallel": 1 });
    assert_eq!([is_due(one_by_one(), 0), is_due(one_by_one(), 1)], [false, true]);
    let fail_fast = || json!({ "fail_fast": true });
    assert_eq!([is_due(fail_fast(), 0), is_due(fail_fast(), 1)], [false, true]);
}

#[test]
fn bm_11_the_end_of_a_turn_ends_its_branch_in_the_same_commit() {
    let (mut agent, fence) = TestAgent::running();
    let key = BranchKey { batch_id: batch_id(), index: 2 };
    for row in &mut agent.inbox {
        row.branch = Some(key);
    }
    let ended = agent.decide(&TestAgent::finish(&fence)).unwrap();
    let ends: Vec<_> = ended
        .commit
        .writes
        .iter()
        .filter_map(|write| if let Write::EndBranch(end) = write { Some(end) } else { None })
        .collect();
    assert_eq!((ends.len(), ends[0].key, ends[0].status), (1, key, TaskStatus::Success));
    let told = ended.commit.events.iter().find(|event| event.kind == EventKind::AgentTask).unwrap();
    assert_eq!(told.batch_id, Some(batch_id()));
}

fn closing(reason: Option<CloseReason>) -> Batch {
    Batch { closing: reason, ..batch() }
}

#[test]
fn bm_13_bm_18_one_failure_or_the_deadline_closes_the_batch() {
    let now = Timestamp::from_micros(10_000_000);
    let next = |batch: &Batch, open, failed| {
        progress::next(&Facts { batch, open, failed, succeeded: 0, dispatched: 0, pending: 0 }, now)
    };
    let fail_fast = Batch { fail_fast: true, ..batch() };
    assert_eq!(next(&fail_fast, true, true), Next::BeginClose(CloseReason::FailFast));
    assert_eq!(next(&fail_fast, true, false), Next::Nothing);
    assert_eq!(next(&batch(), true, true), Next::Nothing);
    let due = |micros| Batch { deadline_at: Some(Timestamp::from_micros(micros)), ..batch() };
    assert_eq!(next(&due(9_999_999), true, false), Next::BeginClose(CloseReason::Deadline));
    assert_eq!(next(&due(10_000_000), true, false), Next::Nothing);
    // What all branches have done already counts before the time that is up.
    assert_eq!(next(&due(1), false, false), Next::Join);
    assert_eq!(next(&closing(Some(CloseReason::Canceled)), true, false), Next::Join);
    let closed = Batch { status: BatchStatus::Failed, ..batch() };
    assert_eq!(next(&closed, false, true), Next::Nothing);
    // Doing some of what was asked is no failure.
    assert!(!BranchStatus::Partial.is_failure());
}

#[test]
fn bm_14_the_final_status_table() {
    use BranchStatus::{Canceled as C, Failed as F, Partial as P, Success as S, Timeout as T};
    for (statuses, expected) in [
        (vec![S, S], BatchStatus::Success),
        (vec![S, F], BatchStatus::Partial),
        (vec![S, P], BatchStatus::Partial),
        (vec![F, T], BatchStatus::Failed),
        (vec![T, C], BatchStatus::Timeout),
        (vec![P, P], BatchStatus::Partial),
        (vec![P, C], BatchStatus::Partial),
        (vec![C, C], BatchStatus::Failed),
    ] {
        assert_eq!(join::final_status(&batch(), &statuses), expected, "{statuses:?}");
        assert_eq!(join::final_status(&closing(Some(CloseReason::Canceled)), &statuses), expected);
        assert_eq!(
            join::final_status(&closing(Some(CloseReason::Deadline)), &statuses),
            BatchStatus::Timeout
        );
        assert_eq!(join::final_status(&closing(Some(CloseReason::FailFast)), &statuses), BatchStatus::Failed);
    }
    let fail_fast = Batch { fail_fast: true, ..batch() };
    assert_eq!(join::final_status(&fail_fast, &[S, F]), BatchStatus::Failed);
    assert_eq!(join::final_status(&fail_fast, &[S, P]), BatchStatus::Partial);
    let any = Batch { enough: 1, ..batch() };
    assert_eq!(join::final_status(&any, &[S, F]), BatchStatus::Success);
    assert_eq!(join::final_status(&any, &[P, F]), BatchStatus::Failed);
}

#[test]
fn enough_successes_close_the_batch() {
    let quorum = Batch { enough: 2, ..batch() };
    let next = |succeeded| {
        let facts = Facts { batch: &quorum, open: true, failed: true, succeeded, dispatched: 0, pending: 0 };
        progress::next(&facts, quorum.created_at)
    };
    assert_eq!((next(1), next(2)), (Next::Nothing, Next::BeginClose(CloseReason::Enough)));
}

fn ended(index: u32, status: BranchStatus, summary: Option<&str>, error: Option<&str>) -> (Branch, View) {
    let row = Branch {
        output_box: Some(box_id(200 + u128::from(index))),
        error_detail: error.map(str::to_owned),
        ..branch(index, status)
    };
    (row, View { summary: summary.map(str::to_owned), error_code: None })
}

/// A parent that waits for the call of a batch, and that batch.
fn waiting() -> (TestAgent, Batch) {
    let mut forking = Forking::of(2, &json!({}));
    let forked = forking.decide().unwrap();
    let batch = batch_of(&forked.commit);
    // What concerns the parent alone.
    let of_parent = |write: &Write| {
        matches!(write, Write::PutCard(card) if card.kind.as_str() == "tool.call")
            || matches!(write, Write::NudgeHead { .. } | Write::AppendCards { .. } | Write::OpenCall(_))
    };
    let mut commit = Commit::new(project());
    commit.writes = forked.commit.writes.into_iter().filter(of_parent).collect();
    forking.parent.apply(commit);
    let fence = forking.parent.fence();
    forking.parent.run(&TestAgent::suspend(&fence, &["call_1"])).unwrap();
    (forking.parent, batch)
}

#[test]
fn bm_16_bm_17_the_join_answers_the_call_once_and_in_order() {
    let (parent, batch) = waiting();
    let rows = vec![
        ended(1, BranchStatus::Failed, None, Some("it broke")),
        ended(0, BranchStatus::Success, Some("done"), None),
    ];
    let snapshot = parent.for_turn(batch.parent_turn.unwrap());
    let joined = join::decide(Some(&snapshot), &project(), &batch, rows, 1_000, &moment()).unwrap();
    let place = |wanted: fn(&Write) -> bool| joined.commit.writes.iter().position(wanted).unwrap();
    let closed = place(|write| matches!(write, Write::CloseBatch(_)));
    let edge = place(
        |write| matches!(write, Write::AddEdge(edge) if edge.primitive == Primitive::Join && edge.phase == EdgePhase::Response),
    );
    let row = place(|write| matches!(write, Write::Enqueue(_)));
    assert!(closed < edge && edge < row);
    let Write::Enqueue(item) = &joined.commit.writes[row] else { unreachable!() };
    assert_eq!((item.status, &*item.correlation_id), (InboxStatus::Pending, "call_1"));
    let mut cards = joined
        .commit
        .writes
        .iter()
        .filter_map(|write| if let Write::PutCard(card) = write { Some(card) } else { None });
    let card = cards.find(|card| card.kind.as_str() == "tool.result").unwrap();
    assert_eq!(card.author_id.as_deref(), Some("sys.pmo.batch_manager"));
    let content = card.content.to_value();
    assert_eq!(
        content,
        json!({
            "status": "partial",
            "after_execution": "suspend",
            "result": { "status": "partial", "results": [
                { "task_index": 0, "status": "success", "summary": "done", "output_box_id": box_id(200).to_string() },
                { "task_index": 1, "status": "failed", "output_box_id": box_id(201).to_string(), "error": "it broke" },
            ]},
            "error": {
                "code": "batch_failed",
                "message": "batch finished with status=partial",
                "detail": { "batch_id": batch.id.to_string(), "status": "partial" },
            },
        })
    );
    let closed = batch_of(&joined.commit);
    assert_eq!((closed.status, closed.result_card), (BatchStatus::Partial, Some(card.id)));
    // what the result names may be handed on.
    assert_eq!(count(&joined.commit, |write| matches!(write, Write::AddGrant(_))), 2);
    let mut parent = parent;
    let mut of_parent = joined.commit;
    of_parent.writes.retain(|write| !matches!(write, Write::CloseBatch(_) | Write::AddGrant(_)));
    parent.apply(of_parent);
    assert_eq!(parent.calls[0].answer.as_ref().unwrap().status, ToolStatus::Partial);
}

#[test]
fn bm_13_what_has_not_ended_is_canceled_and_swept() {
    let (parent, batch) = waiting();
    let batch = Batch { closing: Some(CloseReason::FailFast), branches: 3, ..batch };
    let rows = vec![
        ended(0, BranchStatus::Failed, None, Some("no")),
        ended(1, BranchStatus::Dispatched, None, None),
        ended(2, BranchStatus::Pending, None, None),
    ];
    let snapshot = parent.for_turn(batch.parent_turn.unwrap());
    let joined = join::decide(Some(&snapshot), &project(), &batch, rows, 1_000, &moment()).unwrap();
    assert_eq!(joined.outcome.batch.status, BatchStatus::Failed);
    let statuses: Vec<_> = joined.outcome.result["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["status"].clone())
        .collect();
    assert_eq!(statuses, ["failed", "canceled", "canceled"]);
    let moved = branches_of(&joined.commit);
    assert!(moved.len() == 2 && moved.iter().all(|row| row.status == BranchStatus::Canceled));
    let swept = |write: &Write| matches!(write, Write::AddSweep(Sweep::Batch(_)));
    assert_eq!(count(&joined.commit, swept), 1);
}

#[test]
fn bm_19_a_branch_that_waits_long_is_noted_woken_once_and_given_up_only_under_pressure() {
    let mut agent = TestAgent::new();
    agent.dispatch();
    let mut item = agent.inbox[0].clone();
    (item.status, item.epoch) = (InboxStatus::Queued, None);
    let row = branch(0, BranchStatus::Dispatched);
    let after = |seconds: i64| item.created_at.plus_seconds(seconds);
    assert_eq!(branch::watch(&batch(), &row, &item, after(2)), Watch::Nothing);
    let Watch::Note { branch: noted, wake: true } = branch::watch(&batch(), &row, &item, after(3)) else {
        panic!("noted")
    };
    assert_eq!(noted.warning.as_deref(), Some("ack_pending_window_exceeded"));
    assert_eq!(branch::watch(&batch(), &noted, &item, after(4)), Watch::Nothing);
    // Never without pressure, however long it takes.
    assert_eq!(branch::watch(&batch(), &noted, &item, after(3_600)), Watch::Nothing);
    let pressed = Batch { fail_fast: true, ..batch() };
    assert_eq!(branch::watch(&pressed, &noted, &item, after(60)), Watch::Nothing);
    let Watch::Note { branch: failed, .. } = branch::watch(&pressed, &noted, &item, after(61)) else {
        panic!("given up")
    };
    assert_eq!(
        (failed.status, failed.error_detail.as_deref()),
        (BranchStatus::Failed, Some("downstream_unavailable"))
    );
    // Once it is leased, that is noted.
    let leased = agent.inbox[0].clone();
    let Watch::Note { branch: seen, wake: false } = branch::watch(&batch(), &row, &leased, after(3)) else {
        panic!("seen")
    };
    assert_eq!(seen.epoch, leased.epoch);
}

#[test]
fn bm_20_a_parent_that_is_gone_is_told_nothing_and_the_batch_ends_all_the_same() {
    let (mut parent, batch) = waiting();
    let turn = batch.parent_turn.unwrap();
    let stop =
        crate::turn::stop::Stop { turn_id: turn, epoch: None, reason: None, remains: Default::default() };
    parent.run(&crate::turn::Command::Stop(stop)).unwrap();
    let rows = vec![ended(0, BranchStatus::Success, None, None), ended(1, BranchStatus::Success, None, None)];
    let joined =
        join::decide(Some(&parent.for_turn(turn)), &project(), &batch, rows, 1_000, &moment()).unwrap();
    assert_eq!((joined.outcome.batch.status, joined.outcome.batch.result_card), (BatchStatus::Success, None));
    let told = |write: &Write| matches!(write, Write::Enqueue(_) | Write::PutCard(_) | Write::AddGrant(_));
    assert_eq!(count(&joined.commit, told), 0);
    assert_eq!(count(&joined.commit, |write| matches!(write, Write::AddEdge(_))), 1);
}

#[test]
fn bm_21_batches_nest_as_deep_as_turns_may() {
    let mut forking = Forking::of(1, &json!({}));
    forking.call.max_depth = 2;
    let forked = forking.decide().unwrap();
    let depths = forked
        .commit
        .writes
        .iter()
        .filter_map(|write| if let Write::Enqueue(item) = write { item.depth } else { None });
    assert_eq!(depths.collect::<Vec<_>>(), [1]);
    forking.call.max_depth = 1;
    let refused = forking.decide().unwrap_err();
    assert!(
        matches!(&refused, Rejection::Refused(refusal) if refusal.code == RefusalCode::RecursionDepthExceeded)
    );
    assert!(refused.to_string().contains("depth 1 reaches the limit of 1"));
}

#[test]
fn a_fork_whose_branch_would_wait_for_the_caller_is_refused() {
    let mut forking = Forking::of(1, &json!({}));
    let caller = forking.given.tasks[0].parties.caller.clone();
    forking.fork.tasks[0].strategy = delegate::Strategy::Reuse;
    forking.fork.tasks[0].target_ref = caller.id.to_string();
    forking.given.tasks[0] = Forking::given(
        &caller,
        forking.parent.head.clone(),
        Target::Reuse(caller.clone(), forking.parent.head.clone()),
    );
    assert!(forking.decide().is_ok());
    forking.given.ancestors = vec![caller.id];
    let refused = forking.decide().unwrap_err();
    assert!(matches!(refused, Rejection::Refused(refusal) if refusal.code == RefusalCode::AncestorCycle));
}

#[test]
fn a_fork_inherits_a_bounded_number_of_cards() {
    assert!(fork::check_inherited(cardwire_model::limits::FORK_CARDS).is_ok());
    assert!(fork::check_inherited(cardwire_model::limits::FORK_CARDS + 1).is_err());
}
