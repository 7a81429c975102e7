//! A batch of many rows as several statements of one transaction: the server works on one while the next is encoded, and
//! neither side has all of it in one piece of memory.
//!
//! Only new rows are cut. What must hold is asked in the first part, and events come last, so that they are numbered
//! while the commit holds everything it locks (see `sql/write/event.sql`).
//! Invariant: the parts, one after the other, do what the whole would do, in the same order.

use super::{Batch, GROUP_EVENTS, json, later_stages};
use crate::{
    commit::{payload::Payload, rest::Rest},
    sql,
};
use deadpool_postgres::Client;
use futures_util::{
    future::{MaybeDone, maybe_done},
    poll,
};
use std::{future::Future, pin::Pin};
use tokio_postgres::{Error, Statement};

/// The batch of these payloads in parts of at most so many new rows. One that writes its project stays whole.
pub(super) fn cut<'a>(payloads: &'a [&'a Payload], most: usize) -> Vec<Batch<'a>> {
    let whole = Batch::without_rest(payloads);
    let most = most.max(1);
    if new_rows(&whole) <= most {
        return vec![whole.with_rest(payloads)];
    }
    let Some((expected, written)) = Rest::of(payloads).halves() else {
        return vec![whole.with_rest(payloads)];
    };
    let Batch {
        project,
        boxes,
        outputs,
        appends,
        cards,
        agents,
        moves,
        copied,
        new_heads,
        heads,
        pmo,
        new_sessions,
        sessions,
        inbox,
        inbox_updates,
        more_inbox_updates,
        edges,
        steps,
        step_updates,
        new_boxes,
        entries,
        new_agents,
        identity_edges,
        rest: _,
        seals,
        audit,
        passages,
        events,
    } = whole;
    let first = Batch { project, boxes, outputs, appends, rest: json(&expected, &[]), ..Batch::default() };
    let mut parts = Parts { done: vec![], last: first, most, room: most };
    parts.add(cards, 1, |part| &mut part.cards);
    let last = &mut parts.last;
    (last.agents, last.moves, last.copied) = (agents, moves, copied);
    parts.add(new_heads, 1, |part| &mut part.new_heads);
    let last = &mut parts.last;
    (last.heads, last.pmo, last.new_sessions, last.sessions) = (heads, pmo, new_sessions, sessions);
    parts.add(inbox, 1, |part| &mut part.inbox);
    let last = &mut parts.last;
    (last.inbox_updates, last.more_inbox_updates) = (inbox_updates, more_inbox_updates);
    parts.add(edges, 1, |part| &mut part.edges);
    parts.add(steps, 1, |part| &mut part.steps);
    parts.last.step_updates = step_updates;
    parts.add(new_boxes, 1, |part| &mut part.new_boxes);
    parts.add(entries, 1, |part| &mut part.entries);
    parts.add(new_agents, 1, |part| &mut part.new_agents);
    parts.add(identity_edges, 1, |part| &mut part.identity_edges);
    parts.last.seals = seals;
    parts.add(audit, 1, |part| &mut part.audit);
    // Not the first part any more: there are more new rows than one takes.
    parts.last.rest = json(&written, later_stages(payloads));
    parts.last.passages = passages;
    parts.add(events, GROUP_EVENTS, |part| &mut part.events);
    let Parts { mut done, last, .. } = parts;
    done.push(last);
    done
}

/// How many rows could be cut.
fn new_rows(whole: &Batch<'_>) -> usize {
    fn len<T>(rows: Option<&Vec<T>>) -> usize {
        rows.map_or(0, Vec::len)
    }
    len(whole.cards.as_ref())
        + len(whole.new_heads.as_ref())
        + len(whole.inbox.as_ref())
        + len(whole.edges.as_ref())
        + len(whole.steps.as_ref())
        + len(whole.new_boxes.as_ref())
        + len(whole.entries.as_ref())
        + len(whole.new_agents.as_ref())
        + len(whole.identity_edges.as_ref())
        + len(whole.audit.as_ref())
}

struct Parts<'a> {
    done: Vec<Batch<'a>>,
    last: Batch<'a>,
    most: usize,
    /// Rows that the last part still takes.
    room: usize,
}

impl<'a> Parts<'a> {
    /// Puts rows into the last part, and what finds no room there into further ones. A row counts as `weight`.
    fn add<T>(
        &mut self,
        rows: Option<Vec<T>>,
        weight: usize,
        list: impl for<'b> Fn(&'b mut Batch<'a>) -> &'b mut Option<Vec<T>>,
    ) {
        let mut rest = rows.unwrap_or_default();
        while !rest.is_empty() {
            if self.room == 0 {
                let next = Batch { project: self.last.project, ..Batch::default() };
                self.done.push(std::mem::replace(&mut self.last, next));
                self.room = self.most;
            }
            let taken = rest.len().min(self.room.div_ceil(weight));
            let later = rest.split_off(taken);
            self.room = self.room.saturating_sub(taken * weight);
            *list(&mut self.last) = Some(rest);
            rest = later;
        }
    }
}

/// Sends all parts at once; all are applied, or none.
pub(super) async fn send(client: &Client, parts: &[Batch<'_>]) -> Result<(), Error> {
    let statement = client.prepare_cached(sql::COMMIT).await?;
    if let [whole] = parts {
        return whole.execute(client, &statement).await;
    }
    let begin = client.prepare_cached(sql::BEGIN).await?;
    let commit = client.prepare_cached(sql::END).await?;
    let rollback = client.prepare_cached(sql::ROLLBACK).await?;
    // Nothing waits between the first statement and the last, so that a caller who goes away leaves no open transaction.
    let mut answers = vec![sent(run(client, &begin)).await];
    for part in parts {
        answers.push(sent(part.execute(client, &statement)).await);
    }
    // A part that could not be put on the wire is not there for the server to refuse.
    let has_failed = answers.iter().any(|answer| matches!(answer, MaybeDone::Done(Err(_))));
    let end = if has_failed { &rollback } else { &commit };
    answers.push(sent(run(client, end)).await);
    // The end of a failed transaction says Ok, so the first error is the one that counts.
    let mut outcome = Ok(());
    for mut answer in answers {
        (&mut answer).await;
        outcome = outcome.and(Pin::new(&mut answer).take_output().unwrap_or(Ok(())));
    }
    outcome
}

async fn run(client: &Client, statement: &Statement) -> Result<(), Error> {
    client.execute(statement, &[]).await.map(drop)
}

type Outcome<'a> = MaybeDone<Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>>;

/// Puts a statement on the wire, which the first poll does.
async fn sent<'a>(statement: impl Future<Output = Result<(), Error>> + Send + 'a) -> Outcome<'a> {
    let mut answer: Outcome<'a> = maybe_done(Box::pin(statement));
    let _ = poll!(&mut answer);
    answer
}
