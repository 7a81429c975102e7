//! One statement: the payloads of one realm as its parameters, sent and answered. Many rows are several statements of one
//! transaction ([`parts`]).
//!
//! Invariant: rows of a kind are sorted by key, so that no two statements lock the same rows in different orders.

mod parts;

use super::{
    passages::PassageRows,
    payload::Payload,
    pmo::PmoRows,
    rest::Rest,
    row::{
        AgentRow, Append, BoxRow, CardRow, EdgeRow, EntryRow, EventItem, EventsRow, HeadRow, HeadWrite,
        IdentityEdgeRow, InboxRow, InboxUpdateRow, JsonText, NewAuditRow, Output, SealRow, SessionChangeRow,
        SessionRow, StepRow,
    },
    sessions::SessionWrite,
};
use crate::error::{commit_error, is_transient};
use cardwire_model::{AgentId, Commit, Conflict, Edge, Step};
use cardwire_store::CommitError;
use deadpool_postgres::Client;
use futures_util::future::join;
use std::{
    cmp::Ordering,
    collections::{BTreeSet, HashMap, HashSet},
};
use tokio_postgres::{Error, Statement};
use uuid::Uuid;

/// How often a commit is sent again when the server gave up for reasons of timing.
const ATTEMPTS: usize = 4;

/// Events in one row: a reader who wants one of them is given the row.
const GROUP_EVENTS: usize = 128;

/// The parameters of `cw_commit`. Absent kinds are null, which costs the server nothing.
#[derive(Default)]
struct Batch<'a> {
    project: &'a str,
    boxes: Option<Vec<Uuid>>,
    outputs: Option<Vec<&'a Output>>,
    new_boxes: Option<Vec<BoxRow<'a>>>,
    entries: Option<Vec<EntryRow<'a>>>,
    cards: Option<Vec<CardRow<'a>>>,
    appends: Option<Vec<Append>>,
    /// Whose heads are written, when that takes more than one statement.
    agents: Option<Vec<&'a str>>,
    /// Moves of heads that nothing else writes, new ones that nothing else writes, and all other writes to heads.
    moves: Option<Vec<HeadRow<'a>>>,
    /// How many of the moves are copied.
    copied: i32,
    new_heads: Option<Vec<HeadRow<'a>>>,
    heads: Option<Vec<HeadRow<'a>>>,
    pmo: Option<PmoRows<'a>>,
    new_sessions: Option<Vec<SessionRow<'a>>>,
    sessions: Option<Vec<SessionChangeRow<'a>>>,
    inbox: Option<Vec<InboxRow<'a>>>,
    /// The first update of each row, and all further ones.
    inbox_updates: Option<Vec<InboxUpdateRow<'a>>>,
    more_inbox_updates: Option<Vec<InboxUpdateRow<'a>>>,
    edges: Option<Vec<EdgeRow<'a>>>,
    steps: Option<Vec<StepRow<'a>>>,
    step_updates: Option<Vec<StepRow<'a>>>,
    new_agents: Option<Vec<AgentRow<'a>>>,
    identity_edges: Option<Vec<IdentityEdgeRow<'a>>>,
    seals: Option<Vec<SealRow<'a>>>,
    audit: Option<Vec<NewAuditRow<'a>>>,
    passages: Option<PassageRows<'a>>,
    events: Option<Vec<EventsRow<'a>>>,
    rest: Option<JsonText>,
}

/// The rows of one kind, of all payloads; `None` when there are none.
fn all<'a, T: 'a, R>(
    payloads: &'a [&'a Payload],
    rows: impl Fn(&'a Payload) -> &'a Vec<T>,
    row: impl Fn(&'a T) -> R,
) -> Option<Vec<R>> {
    some(payloads.iter().flat_map(|payload| rows(payload)).map(row).collect())
}

/// The same, sorted. Stable: writes to one row stay in their order.
fn sorted<R>(rows: Option<Vec<R>>, order: impl Fn(&R, &R) -> Ordering) -> Option<Vec<R>> {
    rows.map(|mut rows| {
        rows.sort_by(order);
        rows
    })
}

impl<'a> Batch<'a> {
    fn new(payloads: &'a [&'a Payload]) -> Self {
        Self::without_rest(payloads).with_rest(payloads)
    }

    /// All but what travels as JSON.
    fn without_rest(payloads: &'a [&'a Payload]) -> Self {
        let project = payloads.first().map_or("", |payload| payload.realm.key());
        let cards = all(payloads, |payload| &payload.cards, |card| CardRow { project, card });
        let appends = appends(payloads);
        let boxes_made =
            all(payloads, |payload| &payload.new_boxes, |new| BoxRow { project, head: &new.head });
        let heads = all(payloads, |payload| &payload.turns.heads, |write| HeadRow { project, write });
        let heads = sorted(heads, |a, b| a.write.agent_id().cmp(b.write.agent_id())).unwrap_or_default();
        let Heads { moves, new_heads, heads } = Heads::split(heads);
        let updates = |payload: &'a Payload| &payload.turns.inbox_updates;
        let updates = all(payloads, updates, |update| InboxUpdateRow { project, update });
        let updates = sorted(updates, |a, b| a.update.item.id.cmp(&b.update.item.id)).unwrap_or_default();
        let (inbox_updates, more_inbox_updates) = split_updates(updates);
        let edges = all(payloads, |payload| &payload.turns.edges, |edge| EdgeRow { project, edge });
        let step = |step: &'a Step| StepRow { project, step };
        let steps = all(payloads, |payload| &payload.turns.steps, step);
        let step_updates = all(payloads, |payload| &payload.turns.step_updates, step);
        let agents_made =
            all(payloads, |payload| &payload.turns.new_agents, |agent| AgentRow { project, agent });
        let identity_edges =
            all(payloads, |payload| &payload.turns.identity_edges, |edge| IdentityEdgeRow { project, edge });
        let (new_sessions, sessions) = sessions(project, payloads);
        let by_step = |a: &StepRow<'a>, b: &StepRow<'a>| a.step.id.cmp(&b.step.id);
        Self {
            project,
            boxes: boxes(payloads),
            outputs: all(payloads, |payload| &payload.turns.outputs, |output| output),
            new_boxes: sorted(boxes_made, |a, b| a.head.box_id.cmp(&b.head.box_id)),
            entries: some(entries(project, payloads)),
            cards: sorted(cards, |a, b| a.card.id.cmp(&b.card.id)),
            appends: some(appends),
            agents: agents(&moves, &heads),
            copied: moves.iter().filter(|row| row.write.is_copied()).count() as i32,
            moves: some(moves),
            new_heads: some(new_heads),
            heads: some(heads),
            pmo: PmoRows::new(project, payloads.iter().map(|payload| &payload.pmo)),
            new_sessions: some(new_sessions),
            sessions: some(sessions),
            // Not sorted: they get their places in this order.
            inbox: all(payloads, |payload| &payload.turns.enqueued, |item| InboxRow { project, item }),
            inbox_updates: some(inbox_updates),
            more_inbox_updates: some(more_inbox_updates),
            edges: sorted(edges, |a, b| correlation(a.edge).cmp(&correlation(b.edge))),
            steps: sorted(steps, by_step),
            step_updates: sorted(step_updates, by_step),
            new_agents: sorted(agents_made, |a, b| a.agent.id.cmp(&b.agent.id)),
            identity_edges: sorted(identity_edges, |a, b| a.edge.id.cmp(&b.edge.id)),
            seals: all(payloads, |payload| &payload.seals, |seal| SealRow { project, seal }),
            // Not sorted: they are numbered in this order.
            audit: all(payloads, |payload| &payload.audit, |audit| NewAuditRow { project, audit }),
            passages: PassageRows::new(project, payloads.iter().flat_map(|payload| &payload.passages)),
            events: some(events(project, payloads)),
            rest: None,
        }
    }

    fn with_rest(self, payloads: &[&Payload]) -> Self {
        Self { rest: json(&Rest::of(payloads), later_stages(payloads)), ..self }
    }

    /// Puts the statement on the wire when it is first polled.
    async fn execute(&self, client: &Client, statement: &Statement) -> Result<(), Error> {
        client
            .execute(
                statement,
                &[
                    &self.project,
                    &self.boxes,
                    &self.outputs,
                    &self.new_boxes,
                    &self.entries,
                    &self.cards,
                    &self.appends,
                    &self.agents,
                    &self.moves,
                    &self.copied,
                    &self.new_heads,
                    &self.heads,
                    &self.pmo,
                    &self.new_sessions,
                    &self.sessions,
                    &self.inbox,
                    &self.inbox_updates,
                    &self.more_inbox_updates,
                    &self.edges,
                    &self.steps,
                    &self.step_updates,
                    &self.new_agents,
                    &self.identity_edges,
                    &self.seals,
                    &self.audit,
                    &self.passages,
                    &self.events,
                    &self.rest,
                ],
            )
            .await
            .map(drop)
    }
}

fn some<T>(rows: Vec<T>) -> Option<Vec<T>> {
    Some(rows).filter(|rows| !rows.is_empty())
}

/// Heads that are moved or made and that nothing else in the batch writes, and all other writes. All stay sorted.
#[derive(Default)]
struct Heads<'a> {
    moves: Vec<HeadRow<'a>>,
    new_heads: Vec<HeadRow<'a>>,
    heads: Vec<HeadRow<'a>>,
}

impl<'a> Heads<'a> {
    fn split(rows: Vec<HeadRow<'a>>) -> Self {
        let mut writes: HashMap<&'a AgentId, usize> = HashMap::new();
        rows.iter().for_each(|row| *writes.entry(row.write.agent_id()).or_default() += 1);
        let mut split = Self::default();
        for row in rows {
            let is_single = writes.get(row.write.agent_id()) == Some(&1);
            let list = match row.write {
                HeadWrite::Move { .. } if is_single => &mut split.moves,
                HeadWrite::Create(_) if is_single => &mut split.new_heads,
                HeadWrite::Create(_) | HeadWrite::Move { .. } | HeadWrite::Nudge { .. } => &mut split.heads,
            };
            list.push(row);
        }
        split
    }
}

/// Sessions that are made, and those that are changed, by key. Commits that travel together write different ones.
fn sessions<'a>(
    project: &'a str,
    payloads: &'a [&'a Payload],
) -> (Vec<SessionRow<'a>>, Vec<SessionChangeRow<'a>>) {
    let mut writes: Vec<&SessionWrite> =
        payloads.iter().flat_map(|payload| payload.sessions.iter()).collect();
    writes.sort_by_key(|write| &write.session.key);
    let (mut made, mut changed) = (vec![], vec![]);
    for SessionWrite { was, session } in writes {
        match was {
            None => made.push(SessionRow { project, session }),
            Some(was) => changed.push(SessionChangeRow { project, was: *was, session }),
        }
    }
    (made, changed)
}

/// The entries of new boxes, numbered in their order.
fn entries<'a>(project: &'a str, payloads: &'a [&'a Payload]) -> Vec<EntryRow<'a>> {
    let boxes = payloads.iter().flat_map(|payload| &payload.new_boxes);
    let numbered = boxes.flat_map(|new| new.entries.iter().enumerate().map(move |entry| (&new.head, entry)));
    numbered.map(|(head, (seq, entry))| EntryRow { project, head, seq, entry }).collect()
}

/// The events of all payloads in groups, in their order.
fn events<'a>(project: &'a str, payloads: &'a [&'a Payload]) -> Vec<EventsRow<'a>> {
    let mut groups: Vec<EventsRow<'a>> = vec![];
    for event in payloads.iter().flat_map(|payload| &payload.events) {
        match groups.last_mut().filter(|group| group.items.len() < GROUP_EVENTS) {
            Some(group) => group.items.push(EventItem(event)),
            None => groups.push(EventsRow { project, items: vec![EventItem(event)] }),
        }
    }
    groups
}

/// The first update of each row, and those that follow on it. Both stay sorted.
fn split_updates(updates: Vec<InboxUpdateRow<'_>>) -> (Vec<InboxUpdateRow<'_>>, Vec<InboxUpdateRow<'_>>) {
    let mut seen = HashSet::new();
    updates.into_iter().partition(|row| seen.insert(row.update.item.id))
}

/// Heads that are written by more than one statement are locked before, in one order.
fn agents<'a>(moves: &[HeadRow<'a>], heads: &[HeadRow<'a>]) -> Option<Vec<&'a str>> {
    if moves.is_empty() || heads.is_empty() {
        return None;
    }
    let agents = moves.iter().chain(heads).map(|row| row.write.agent_id().as_str());
    Some(agents.collect::<BTreeSet<_>>().into_iter().collect())
}

/// What an edge is unique by.
fn correlation(edge: &Edge) -> (&str, &str, &str, Uuid) {
    (&edge.correlation_id, edge.primitive.as_str(), edge.phase.as_str(), edge.scope())
}

/// Once box heads are locked by another statement than the append, that one must lock all of them.
fn boxes(payloads: &[&Payload]) -> Option<Vec<Uuid>> {
    if !payloads.iter().any(|payload| payload.locks_boxes) {
        return None;
    }
    let mut boxes: Vec<Uuid> = payloads.iter().flat_map(|payload| &payload.boxes).copied().collect();
    boxes.sort_unstable();
    boxes.dedup();
    Some(boxes)
}

/// One append per box and generation, sorted by box.
fn appends(payloads: &[&Payload]) -> Vec<Append> {
    let mut sorted: Vec<&Append> = payloads.iter().flat_map(|p| &p.appends).collect();
    // Stable: appends to one box stay in the order of their commits.
    sorted.sort_by_key(|append| append.box_id);
    let mut merged: Vec<Append> = Vec::with_capacity(sorted.len());
    for append in sorted {
        match merged.pop() {
            Some(last) if last.box_id == append.box_id && last.generation == append.generation => {
                merged.push(last.followed_by(append));
            }
            last => {
                merged.extend(last);
                merged.push(append.clone());
            }
        }
    }
    merged
}

/// What comes after the rest of a commit. Commits that have it travel alone.
fn later_stages<'a>(payloads: &[&'a Payload]) -> &'a [Rest] {
    payloads.first().map_or(&[], |payload| payload.then.as_slice())
}

fn json(rest: &Rest, then: &[Rest]) -> Option<JsonText> {
    (!rest.is_empty() || !then.is_empty()).then(|| JsonText(rest.to_json(then)))
}

/// Applies one commit, with at most so many new rows in a statement.
pub(super) async fn apply_one(
    client: &Client,
    payload: &Payload,
    statement_rows: usize,
) -> Result<(), CommitError> {
    let alone = [payload];
    let parts = parts::cut(&alone, statement_rows);
    let mut attempt = 1;
    loop {
        match parts::send(client, &parts).await {
            Ok(()) => return Ok(()),
            Err(error) if is_transient(&error) && attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(commit_error(error)),
        }
    }
}

/// A commit to be applied in a transaction that is under way.
pub(crate) struct Alone(Payload);

impl Alone {
    pub(crate) fn new(commit: Commit) -> Result<Self, Conflict> {
        let payload = Payload::new(commit);
        match payload.contradiction {
            Some(conflict) => Err(conflict),
            None => Ok(Self(payload)),
        }
    }

    /// Applies the commit with [`sql::COMMIT`] and ends the transaction with `end`; both are put on the wire together
    /// when this is first polled. False when it was rolled back: an expectation did not hold, or the server gave up
    /// for reasons of timing.
    pub(crate) async fn apply_and_end(
        &self,
        client: &Client,
        apply: &Statement,
        end: &Statement,
    ) -> Result<bool, CommitError> {
        let alone = [&self.0];
        let batch = Batch::new(&alone);
        let (applied, ended) = join(batch.execute(client, apply), client.execute(end, &[])).await;
        // An end after a failed statement says Ok and rolls back, so this is looked at first.
        let error = match applied.and(ended.map(drop)) {
            Ok(()) => return Ok(true),
            Err(error) if is_transient(&error) => return Ok(false),
            Err(error) => commit_error(error),
        };
        match error {
            CommitError::Conflict(_) => Ok(false),
            CommitError::Store(_) => Err(error),
        }
    }
}

/// What became of commits that were sent together.
pub(super) enum Together {
    /// All were applied.
    Applied,
    /// None was applied, because of one of them: each must be tried alone.
    Refused,
    /// The connection was lost.
    Lost(CommitError),
}

/// Applies several commits of one realm, all or none.
pub(super) async fn apply_together(
    client: &Client,
    payloads: &[&Payload],
    statement_rows: usize,
) -> Together {
    let parts = parts::cut(payloads, statement_rows);
    match parts::send(client, &parts).await {
        Ok(()) => Together::Applied,
        Err(error) if error.as_db_error().is_some() => Together::Refused,
        Err(error) => Together::Lost(commit_error(error)),
    }
}
