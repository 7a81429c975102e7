//! Turns in the differential test: every read, claims, and what the watchdog is given.
//!
//! Places in the queue may differ between stores, their order may not: rows are compared without them, and pages are
//! taken behind the same row, not behind the same number.

use super::Run;
use crate::{
    generate::Claim,
    wanted::{head_is_due, item_is_due},
};
use cardwire_model::{
    AgentId, EdgeId, Head, InboxId, InboxItem, ProjectId, Realm, Snapshot, Status, StepId, Timestamp,
};
use cardwire_store::{Claimable, Horizon, RosterFilter, RowFilter, Store, Watched};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};
use uuid::Uuid;

/// How many rows a compared page has at most.
const PAGE: usize = 6;
/// The same where everything is read.
const LONG_PAGE: usize = 97;

fn without_place(item: InboxItem) -> InboxItem {
    InboxItem { seq: 0, ..item }
}

pub(super) fn without_places(items: Vec<InboxItem>) -> Vec<InboxItem> {
    items.into_iter().map(without_place).collect()
}

/// A snapshot as every store must give it.
pub(super) fn comparable(mut snapshot: Snapshot) -> Snapshot {
    snapshot.inbox = snapshot.inbox.map(without_place);
    snapshot.turn = snapshot.turn.map(|mut turn| {
        turn.item = without_place(turn.item);
        turn.reports = without_places(turn.reports);
        turn.next = without_places(turn.next);
        turn
    });
    snapshot.lost = snapshot.lost.map(|mut lost| {
        lost.open = lost.open.map(without_place);
        lost
    });
    snapshot
}

impl Run<'_> {
    pub(super) async fn compare_turns(&mut self, project: &ProjectId) {
        macro_rules! both {
            ($what:literal, $($read:tt)+) => {{
                let left = self.left.store.$($read)+.await.unwrap();
                let right = self.right.store.$($read)+.await.unwrap();
                self.same($what, left, right);
            }};
        }
        let realm = Realm::from(project.clone());
        let generator = &mut self.generator;
        let (agent, turn, step) =
            (generator.any_agent(&realm), generator.any_turn(&realm), generator.any_step(&realm));
        let (profile, filter) = (generator.any_profile(&realm), generator.filter(&realm));
        let status = [None, Some(Status::ALL[generator.below(4)])][generator.below(2)];
        let edge = EdgeId::from_uuid(Uuid::from_u128((generator.below(1 << 20) as u128) << 108));
        both!("a head", head(project, &agent));
        both!("heads", heads(project, None, PAGE));
        both!("heads after one", heads(project, Some(&agent), PAGE));
        let (turn_id, trace_id) = (filter.turn_id, filter.trace_id.clone());
        let wanted = RosterFilter { status, turn_id, trace_id, from: filter.from, until: filter.until };
        both!("the roster", roster(project, &wanted, None, PAGE));
        let found = self.right.store.agent(project, &agent).await.unwrap();
        let place = found.map(|agent| (agent.created_at, agent.id));
        both!("the roster before one", roster(project, &wanted, place.as_ref(), PAGE));
        both!("tool calls", calls(project, turn));
        both!("a step", step(project, &step));
        both!("edges", edges(project, &filter, None, PAGE));
        both!("edges before one", edges(project, &filter, Some(edge), PAGE));
        both!("identity edges", identity_edges(project, &filter, None, PAGE));
        both!("identity edges before one", identity_edges(project, &filter, Some(edge), PAGE));
        both!("agents", agents(project, None, PAGE));
        both!("agents after one", agents(project, Some(&agent), PAGE));
        both!("an agent", agent(project, &agent));
        both!("profiles", profiles(project, Some(&profile), PAGE));
        both!("steps", steps(project, &filter, None, PAGE));
        let place: Option<(Timestamp, StepId)> = {
            let found = self.left.store.step(project, &step).await.unwrap();
            found.map(|step| (step.created_at, step.id))
        };
        both!("steps before one", steps(project, &filter, place.as_ref(), PAGE));
        let left = self.left.store.turn(project, turn).await.unwrap();
        let right = self.right.store.turn(project, turn).await.unwrap();
        self.same("a turn", left.map(without_place), right.map(without_place));
        self.compare_inbox(project, &filter).await;
    }

    /// Two pages, the second behind a row of the first.
    async fn compare_inbox(&mut self, project: &ProjectId, filter: &RowFilter) {
        let pages = async |store: &dyn Store, nth: usize| {
            let first = store.inbox(project, filter, None, PAGE).await.unwrap();
            let before = first.get(nth).map(|row| row.id);
            let second = store.inbox(project, filter, before, PAGE).await.unwrap();
            assert!(before.is_none_or(|before| second.iter().all(|row| row.id < before)));
            (without_places(first), without_places(second))
        };
        let nth = self.generator.below(PAGE);
        let (left, right) = (pages(self.left.store, nth).await, pages(self.right.store, nth).await);
        self.same("inbox rows", left, right);
    }

    /// The same claim on both stores and the model.
    pub(super) async fn compare_claims(&mut self) {
        let claim = self.generator.claim();
        let expected_rows = comparable_rows(claim.given.clone());
        let expected: BTreeSet<_> = claim.applied.iter().cloned().collect();
        for (side, store) in [("left", self.left.store), ("right", self.right.store)] {
            let (applied, given) = run_claim(store, &claim).await;
            let what = format!("rows given to a claim ({side})");
            self.same(&what, given, expected_rows.clone());
            self.same(&format!("applied claims ({side})"), applied, expected.clone());
        }
    }

    /// A page of what is due, behind a random key.
    pub(super) async fn compare_due(&mut self) {
        let (horizon, place) = (self.generator.horizon(), self.generator.any_place());
        let left = DuePage::heads(self.left.store, &horizon, place.as_ref(), PAGE).await;
        let right = DuePage::heads(self.right.store, &horizon, place.as_ref(), PAGE).await;
        self.same_due("due heads", &left, &right);
        let project = self.generator.any_project();
        let after = project.map(|project| (project, InboxId::from_uuid(self.generator.uuid())));
        let left = DuePage::items(self.left.store, &horizon, after.as_ref(), PAGE).await;
        let right = DuePage::items(self.right.store, &horizon, after.as_ref(), PAGE).await;
        self.same_due("due rows", &left, &right);
    }

    /// A store may give more than is due, so one page may reach further than the other; as far as both reach, what is
    /// due must be the same.
    fn same_due(&self, what: &str, left: &DuePage, right: &DuePage) {
        let both = left.due.len().min(right.due.len());
        self.same(what, &left.due[..both], &right.due[..both]);
        let ends_early = |page: &DuePage, other: &DuePage| page.is_last && page.due.len() < other.due.len();
        if ends_early(left, right) || ends_early(right, left) {
            self.same(what, &left.due, &right.due);
        }
    }

    /// All that is due, page by page.
    pub(super) async fn compare_all_due(&mut self) {
        let horizon = self.generator.horizon();
        let left = all_due(self.left.store, &horizon).await;
        let right = all_due(self.right.store, &horizon).await;
        self.same("all due heads", left.0, right.0);
        self.same("all due rows", left.1, right.1);
    }
}

type Given = BTreeMap<ProjectId, Vec<Claimable>>;

fn comparable_rows(given: Given) -> Given {
    let bare = |row: Claimable| Claimable {
        item: without_place(row.item),
        turn: row.turn.map(without_place),
        head: row.head,
    };
    given.into_iter().map(|(project, rows)| (project, rows.into_iter().map(bare).collect())).collect()
}

async fn run_claim(store: &dyn Store, claim: &Claim) -> (BTreeSet<ProjectId>, Given) {
    let given = Arc::new(Mutex::new(Given::new()));
    let (seen, decide) = (Arc::clone(&given), Arc::clone(&claim.decide));
    let applied = store
        .claim(
            &claim.query,
            Arc::new(move |project, rows| {
                seen.lock().unwrap().insert(project.clone(), rows.clone());
                decide(project, rows)
            }),
        )
        .await
        .unwrap();
    let given = given.lock().unwrap().clone();
    (applied.into_iter().collect(), comparable_rows(given))
}

/// What is due of a page, and whether the list ended there.
struct DuePage {
    due: Vec<Watched>,
    last: Option<Watched>,
    is_last: bool,
}

impl DuePage {
    fn new(page: Vec<Watched>, limit: usize, is_due: impl Fn(&Watched) -> bool) -> Self {
        let (last, is_last) = (page.last().cloned(), page.len() < limit);
        let bare = |row: Watched| Watched { item: row.item.map(without_place), ..row };
        Self { due: page.into_iter().filter(is_due).map(bare).collect(), last, is_last }
    }

    async fn heads(
        store: &dyn Store,
        horizon: &Horizon,
        after: Option<&(ProjectId, AgentId)>,
        limit: usize,
    ) -> Self {
        let page = store.due_heads(horizon, after, limit).await.unwrap();
        let of = |row: &Watched| row.head.as_ref().is_some_and(|head: &Head| head_is_due(horizon, head));
        Self::new(page, limit, of)
    }

    async fn items(
        store: &dyn Store,
        horizon: &Horizon,
        after: Option<&(ProjectId, InboxId)>,
        limit: usize,
    ) -> Self {
        let page = store.due_items(horizon, after, limit).await.unwrap();
        let of = |row: &Watched| row.item.as_ref().is_some_and(|item| item_is_due(horizon, item));
        Self::new(page, limit, of)
    }
}

async fn all_due(store: &dyn Store, horizon: &Horizon) -> (Vec<Watched>, Vec<Watched>) {
    let (mut heads, mut after) = (vec![], None);
    loop {
        let page = DuePage::heads(store, horizon, after.as_ref(), LONG_PAGE).await;
        heads.extend(page.due);
        after = page.last.and_then(|row| Some((row.project, row.head?.agent_id)));
        if page.is_last {
            break;
        }
    }
    let (mut items, mut after) = (vec![], None);
    loop {
        let page = DuePage::items(store, horizon, after.as_ref(), LONG_PAGE).await;
        items.extend(page.due);
        after = page.last.and_then(|row| Some((row.project, row.item?.id)));
        if page.is_last {
            break;
        }
    }
    (heads, items)
}
