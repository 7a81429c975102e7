//! Claims: the one write that finds its own rows (DP-15, API-10).

use super::case::{Case, commit, create_head, enqueue, update_inbox};
use crate::fixtures::{agent_id, at, event, idle_head, live_head, report_item, turn_item, worker_target};
use cardwire_model::{
    Commit, HeadGuard, InboxId, InboxItem, InboxKind, InboxStatus, LiveState, Project, ProjectId, TurnEpoch,
    Write,
};
use cardwire_store::{ClaimQuery, Claimable, DecideClaim, HeldQuery, HeldRow, Store};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};
use tokio::task::JoinSet;

fn query(limit: usize) -> ClaimQuery {
    ClaimQuery { worker_target: worker_target("generic"), projects: None, now: at(100), limit }
}

/// What becomes of a row that is claimed.
fn claimed(worker: &str, row: &InboxItem) -> InboxItem {
    InboxItem {
        status: InboxStatus::Processing,
        worker_id: Some(worker.to_owned()),
        processed_at: Some(at(100)),
        ..row.clone()
    }
}

/// The commit that claims every row it is given.
fn take(worker: &str, project: &ProjectId, rows: &[Claimable]) -> Commit {
    let write = |row: &Claimable| update_inbox(row.item.status, &claimed(worker, &row.item));
    commit(project, rows.iter().map(write))
}

/// How a claim ended.
#[derive(Debug, PartialEq, Eq)]
struct Claim {
    /// Whose commits were applied, according to the store.
    applied: BTreeSet<ProjectId>,
    /// What the decision was given, the last time it was asked.
    given: BTreeMap<ProjectId, Vec<Claimable>>,
}

impl Claim {
    /// Nothing was claimable.
    const NOTHING: Self = Self { applied: BTreeSet::new(), given: BTreeMap::new() };

    /// The rows that were given to applied commits, oldest first.
    fn ids(&self) -> Vec<InboxId> {
        let applied = self.given.iter().filter(|(project, _)| self.applied.contains(project));
        let rows = applied.flat_map(|(_, rows)| rows);
        let by_place: BTreeMap<_, _> = rows.map(|row| (row.item.seq, row.item.id)).collect();
        by_place.into_values().collect()
    }
}

/// Claims with a decision of its own.
async fn claim_with(
    store: &Arc<dyn Store>,
    query: &ClaimQuery,
    decide: impl Fn(&ProjectId, &[Claimable]) -> Commit + Send + Sync + 'static,
) -> Claim {
    let given = Arc::new(Mutex::new(BTreeMap::new()));
    let seen = Arc::clone(&given);
    let decide: DecideClaim = Arc::new(move |project, rows| {
        let commit = decide(project, &rows);
        // A store may ask again: the last time counts.
        seen.lock().unwrap().insert(project.clone(), rows);
        commit
    });
    let told = store.claim(query, decide).await.unwrap();
    let applied: BTreeSet<_> = told.iter().cloned().collect();
    assert_eq!(applied.len(), told.len(), "each project once: {told:?}");
    let given = given.lock().unwrap().clone();
    Claim { applied, given }
}

/// The same, claiming everything that is given.
async fn claim(case: &Case, query: &ClaimQuery) -> Claim {
    claim_with(&case.store, query, |project, rows| take("worker", project, rows)).await
}

/// One pending turn of each of these agents, in this order, in boxes of their own.
async fn pending(case: &mut Case, project: &ProjectId, agents: &[&str]) -> Vec<InboxItem> {
    let mut rows = vec![];
    for agent in agents {
        let box_id = case.ids.card_box();
        let item = turn_item(&mut case.ids, agent, box_id);
        rows.extend(case.enqueue_in(project, [item]).await);
    }
    rows
}

/// DP-15: the oldest rows first, whosever they are, and not more than asked for.
pub async fn the_oldest_rows_are_claimed_first_over_all_projects(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (first, second) = (case.project.clone(), case.create_project("p2").await);
    let mut rows = vec![];
    for project in [&second, &first, &first, &second, &first, &second, &second] {
        rows.extend(pending(&mut case, project, &["a"]).await);
    }
    let order: Vec<_> = rows.iter().map(|row| row.id).collect();
    let mut done = 0;
    for limit in [1, 3, 2, 9, 9] {
        let expected = &order[done..order.len().min(done + limit)];
        let outcome = claim(&case, &query(limit)).await;
        assert_eq!(outcome.ids(), expected, "limit {limit}");
        for rows in outcome.given.values() {
            assert!(rows.windows(2).all(|pair| pair[0].item.seq < pair[1].item.seq), "oldest first");
        }
        done += expected.len();
    }
    for (project, row) in [(&second, &rows[0]), (&first, &rows[4])] {
        let now = case.store.turn(project, row.turn_id).await.unwrap();
        assert_eq!(now, Some(claimed("worker", row)), "the commit was applied");
    }
}

/// API-10: a worker gets rows of its own target, of any kind, and only those that wait for a worker.
pub async fn only_claimable_rows_of_the_target_are_claimed(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let project = case.project.clone();
    let mut expected = vec![];
    for kind in InboxKind::ALL {
        for status in InboxStatus::ALL {
            for target in ["generic", "Generic", "special"] {
                let box_id = case.ids.card_box();
                let item = InboxItem {
                    kind: *kind,
                    status: *status,
                    worker_target: worker_target(target),
                    ..turn_item(&mut case.ids, "a", box_id)
                };
                let [row] = case.enqueue_in(&project, [item]).await;
                expected.extend((*status == InboxStatus::Pending && target == "generic").then_some(row.id));
            }
        }
    }
    assert_eq!(claim(&case, &query(100)).await.ids(), expected);
    let special = ClaimQuery { worker_target: worker_target("special"), ..query(100) };
    assert_eq!(claim(&case, &special).await.ids().len(), InboxKind::ALL.len());
    let nobody = ClaimQuery { worker_target: worker_target("nobody"), ..query(100) };
    assert_eq!(claim(&case, &nobody).await, Claim::NOTHING);
}

/// API-10: a worker of some projects gets nothing of the others.
pub async fn a_claim_serves_the_projects_it_names(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let projects = [case.project.clone(), case.create_project("p2").await, case.create_project("p3").await];
    let mut rows = vec![];
    for project in &projects {
        rows.push(pending(&mut case, project, &["a", "b"]).await);
    }
    let of = |projects: &[&ProjectId]| ClaimQuery {
        projects: Some(projects.iter().map(|project| (*project).clone()).collect()),
        ..query(3)
    };
    assert_eq!(claim(&case, &of(&[])).await, Claim::NOTHING);
    assert_eq!(claim(&case, &of(&[&crate::fixtures::project_id("absent")])).await, Claim::NOTHING);
    assert_eq!(
        claim(&case, &of(&[&projects[2], &projects[1]])).await.ids(),
        [rows[1][0].id, rows[1][1].id, rows[2][0].id]
    );
    assert_eq!(claim(&case, &of(&[&projects[0]])).await.ids(), [rows[0][0].id, rows[0][1].id]);
    assert_eq!(claim(&case, &query(9)).await.ids(), [rows[2][1].id]);
}

/// Nobody can do anything for a project that is deleted; what waits there is in nobody's way.
pub async fn a_claim_of_all_projects_passes_over_deleted_ones(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (first, second) = (case.project.clone(), case.create_project("p2").await);
    pending(&mut case, &first, &["a", "b"]).await;
    let theirs = pending(&mut case, &second, &["a"]).await;
    let project = case.store.project(&first).await.unwrap().unwrap();
    case.write([Write::UpdateProject(Project { deleted_at: Some(at(1)), ..project })]).await;
    assert_eq!(claim(&case, &query(2)).await.ids(), [theirs[0].id]);
}

/// F-27, F-32: what a worker of this name holds, oldest first: turns that are not suspended, and answers that let suspended ones
/// go on; whosever they are.
pub async fn what_a_worker_has_in_its_hands_is_found_over_all_projects(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (first, second) = (case.project.clone(), case.create_project("p2").await);
    let suspended = LiveState::Suspended { waiting: 0, resume_by: at(9) };
    for (agent, state) in [("runs", LiveState::Running), ("waits", suspended)] {
        let head = live_head(&mut case.ids, agent_id(agent), state);
        case.write([create_head(&head)]).await;
    }
    let mut turns = pending(&mut case, &first, &["waits", "runs"]).await;
    turns.extend(pending(&mut case, &second, &["lost"]).await);
    let report = report_item(&mut case.ids, &turns[0], InboxKind::ToolResult, "x");
    turns.extend(case.enqueue([report]).await);
    // Of others, and not claimed.
    let others = pending(&mut case, &first, &["b", "c", "d"]).await;
    let mut states: Vec<_> = turns.iter().map(|row| claimed("w1", row)).collect();
    states.push(claimed("w2", &others[0]));
    states.push(InboxItem { status: InboxStatus::Consumed, ..claimed("w1", &others[1]) });
    for row in &mut states {
        row.epoch = Some(TurnEpoch::new(row.seq));
        let project = if row.agent_id == agent_id("lost") { &second } else { &first };
        case.apply(commit(project, [update_inbox(InboxStatus::Pending, row)])).await;
    }
    let query = |projects: Option<&[&ProjectId]>| HeldQuery {
        worker_target: worker_target("generic"),
        worker_id: "w1".to_owned(),
        projects: projects.map(|projects| projects.iter().map(|project| (*project).clone()).collect()),
    };
    let row = |item: &InboxItem, project: &ProjectId| HeldRow {
        seq: item.seq,
        project: project.clone(),
        turn_id: item.turn_id,
        epoch: Some(TurnEpoch::new(item.seq)),
    };
    let expected = [row(&turns[1], &first), row(&turns[2], &second), row(&turns[3], &first)];
    let held = async |query: &HeldQuery, after, limit| case.store.held(query, after, limit).await.unwrap();
    assert_eq!(held(&query(None), 0, 9).await, expected);
    assert_eq!(held(&query(None), 0, 2).await, expected[..2]);
    assert_eq!(held(&query(None), expected[1].seq, 2).await, expected[2..]);
    assert_eq!(held(&query(Some(&[&second])), 0, 9).await, expected[1..2]);
    assert_eq!(held(&query(Some(&[])), 0, 9).await, []);
    let special = HeldQuery { worker_target: worker_target("special"), ..query(None) };
    assert_eq!(held(&special, 0, 9).await, []);
    let gone = case.store.project(&second).await.unwrap().unwrap();
    let gone = Write::UpdateProject(Project { deleted_at: Some(at(1)), ..gone });
    case.apply(commit(&second, [gone])).await;
    assert_eq!(held(&query(None), 0, 9).await, [expected[0].clone(), expected[2].clone()]);
}

/// DP-15: a row that was put off is claimable from the moment it names.
pub async fn deferred_rows_are_claimed_when_their_time_has_come(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let mut rows = vec![];
    for next_retry_at in [at(101), at(100), at(99), cardwire_model::Timestamp::from_micros(100_000_001)] {
        let box_id = case.ids.card_box();
        let item = InboxItem {
            status: InboxStatus::Deferred,
            next_retry_at: Some(next_retry_at),
            ..turn_item(&mut case.ids, "a", box_id)
        };
        rows.extend(case.enqueue([item]).await);
    }
    // For a pending row the time means nothing.
    let box_id = case.ids.card_box();
    let item = InboxItem { next_retry_at: Some(at(999)), ..turn_item(&mut case.ids, "a", box_id) };
    rows.extend(case.enqueue([item]).await);
    assert_eq!(claim(&case, &query(9)).await.ids(), [rows[1].id, rows[2].id, rows[4].id]);
    assert_eq!(claim(&case, &query(9)).await, Claim::NOTHING);
    let later = ClaimQuery { now: at(101), ..query(9) };
    assert_eq!(claim(&case, &later).await.ids(), [rows[0].id, rows[3].id]);
}

/// DP-15: a row comes with the turn it is for and the head of its agent, each if it is there.
pub async fn claimable_rows_come_with_their_turn_and_head(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let project = case.project.clone();
    let other = case.create_project("p2").await;
    let head = live_head(&mut case.ids, agent_id("a"), LiveState::Running);
    case.write([create_head(&head)]).await;
    case.apply(commit(&other, [create_head(&idle_head(agent_id("b")))])).await;
    let turn = pending(&mut case, &project, &["a"]).await.remove(0);
    let lost = pending(&mut case, &project, &["b"]).await.remove(0);
    let absent = turn_item(&mut case.ids, "a", turn.output_box.unwrap());
    let report = report_item(&mut case.ids, &turn, InboxKind::ToolResult, "x");
    let orphan = report_item(&mut case.ids, &absent, InboxKind::Stop, "x");
    let [report, orphan] = case.enqueue([report, orphan]).await;
    let outcome = claim(&case, &query(9)).await;
    let head = Some(head);
    let expected = [
        Claimable { item: turn.clone(), turn: None, head: head.clone() },
        Claimable { item: lost, turn: None, head: None },
        Claimable { item: report, turn: Some(turn), head: head.clone() },
        Claimable { item: orphan, turn: None, head },
    ];
    let applied = BTreeSet::from([project.clone()]);
    assert_eq!(outcome, Claim { applied, given: BTreeMap::from([(project, expected.to_vec())]) });
}

/// API-10: the commit of a claim is a commit: writes, events and all.
pub async fn a_claim_applies_the_whole_commit(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let project = case.project.clone();
    let rows = pending(&mut case, &project, &["a", "b"]).await;
    let head = idle_head(agent_id("a"));
    case.write([create_head(&head)]).await;
    let told = event(case.ids.event(), "claimed", Some(agent_id("a")));
    let leased = live_head(&mut case.ids, agent_id("a"), LiveState::Running);
    let (new, tell) = (leased.clone(), told.clone());
    // Only one of the rows is wanted; both were given.
    let outcome = claim_with(&case.store, &query(9), move |project, rows| {
        let mut commit = take("worker", project, &rows[..1]);
        let (guard, to) = (head.guard_move(), Box::new(new.clone()));
        commit.writes.push(Write::MoveHead { guard, to, queued: 0, is_copied: true });
        commit.events.push(tell.clone());
        commit
    })
    .await;
    assert_eq!(outcome.ids().len(), 2);
    assert_eq!(case.agent_head(&leased.agent_id).await, leased);
    let dump = case.dump().await;
    assert_eq!(dump.events.values().collect::<Vec<_>>(), [&told]);
    let states: Vec<_> = dump.turns.inbox.values().map(|(_, row)| row.status).collect();
    assert_eq!(states, [InboxStatus::Processing, InboxStatus::Pending]);
    // The row that was not wanted is claimable again.
    assert_eq!(claim(&case, &query(9)).await.ids(), [rows[1].id]);
}

/// API-10: a decision that wants nothing leaves the rows as they are, and they count for nothing.
pub async fn an_empty_commit_claims_nothing(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (first, second) = (case.project.clone(), case.create_project("p2").await);
    pending(&mut case, &first, &["a", "b"]).await;
    pending(&mut case, &second, &["a"]).await;
    let before = case.dump().await;
    let nothing = |project: &ProjectId, _: &[Claimable]| commit(project, []);
    let outcome = claim_with(&case.store, &query(9), nothing).await;
    assert_eq!((outcome.applied.len(), outcome.given.len()), (0, 2));
    before.assert_same(&case.dump().await, "an empty claim changed something");
    let only = second.clone();
    let outcome = claim_with(&case.store, &query(9), move |project, rows| {
        if *project == only { take("worker", project, rows) } else { commit(project, []) }
    })
    .await;
    assert_eq!(outcome.applied, BTreeSet::from([second]));
    assert_eq!(claim(&case, &query(9)).await.applied, BTreeSet::from([first]));
}

/// API-10: a project whose rows were moved in between is left out, and only that one.
pub async fn a_conflict_leaves_its_project_out(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let names = ["p2", "p3"];
    let projects =
        [case.project.clone(), case.create_project(names[0]).await, case.create_project(names[1]).await];
    for project in &projects {
        pending(&mut case, project, &["a", "b"]).await;
    }
    for spoiled in &projects {
        let (bad, before) = (spoiled.clone(), case.dump().await);
        let outcome = claim_with(&case.store, &query(6), move |project, rows| {
            let mut commit = take("worker", project, rows);
            if *project == bad {
                let head = idle_head(agent_id("a"));
                let guard = HeadGuard { epoch: TurnEpoch::new(9), ..head.guard() };
                commit.events.clear();
                commit.writes.push(Write::MoveHead { guard, to: Box::new(head), queued: 0, is_copied: true });
            }
            commit
        })
        .await;
        assert_eq!((outcome.ids().len(), outcome.given.len()), (4, 3));
        assert!(!outcome.applied.contains(spoiled), "{spoiled} is left out");
        let after = case.dump().await;
        for ((_, old), (project, new)) in before.turns.inbox.values().zip(after.turns.inbox.values()) {
            let expected = if project == spoiled { old.clone() } else { claimed("worker", old) };
            assert_eq!(*new, expected, "{project}");
        }
        // Put back for the next round.
        for (project, row) in after.turns.inbox.values().filter(|(project, _)| project != spoiled) {
            let fresh = InboxItem {
                status: InboxStatus::Pending,
                worker_id: None,
                processed_at: None,
                ..row.clone()
            };
            case.apply(commit(project, [update_inbox(InboxStatus::Processing, &fresh)])).await;
        }
    }
}

/// DP-15, NF-05: however many claim at once, each row is claimed exactly once.
pub async fn concurrent_claims_are_disjoint(store: Arc<dyn Store>) {
    const ROWS: usize = 60;
    const WORKERS: usize = 6;
    let mut case = Case::new(store).await;
    let projects = [case.project.clone(), case.create_project("p2").await];
    for project in &projects {
        let mut items = vec![];
        for number in 0..ROWS / 2 {
            let box_id = case.ids.card_box();
            items.push(turn_item(&mut case.ids, &format!("agent-{number}"), box_id));
        }
        case.apply(commit(project, items.iter().map(enqueue))).await;
    }
    let mut workers = JoinSet::new();
    for number in 0..WORKERS {
        let store = Arc::clone(&case.store);
        workers.spawn(async move {
            let worker = format!("worker-{number}");
            let (mut mine, mut idle) = (vec![], 0);
            // Rows held by another claim are passed over, so a claim may find nothing before the end.
            while idle < 50 {
                let name = worker.clone();
                let outcome =
                    claim_with(&store, &query(4), move |project, rows| take(&name, project, rows)).await;
                let rows = outcome.ids();
                assert!(rows.len() <= 4, "{} rows where 4 were asked for", rows.len());
                idle = if rows.is_empty() { idle + 1 } else { 0 };
                mine.extend(rows.into_iter().map(|id| (id, worker.clone())));
                tokio::task::yield_now().await;
            }
            mine
        });
    }
    let mut told: Vec<_> = workers.join_all().await.into_iter().flatten().collect();
    // Whatever is left over after the race.
    let rest = claim(&case, &query(ROWS)).await.ids();
    told.extend(rest.into_iter().map(|id| (id, "worker".to_owned())));
    told.sort();
    let rows = case.dump().await.turns.inbox.into_values();
    let mut found: Vec<_> = rows.map(|(_, row)| (row.id, row.worker_id.unwrap())).collect();
    found.sort();
    assert_eq!(told, found, "every row was given to one worker, and belongs to it");
    assert_eq!(found.len(), ROWS);
}
