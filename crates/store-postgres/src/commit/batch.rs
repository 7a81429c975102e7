//! One statement: the payloads of one realm as its parameters, sent and answered.
//!
//! Invariant: rows of a kind are sorted by key, so that no two statements lock the same rows in different orders.

use super::{
    payload::Payload,
    rest::{self, Rest},
    row::{Append, CardRow, EventRow, JsonText},
};
use crate::{
    error::{commit_error, is_transient},
    sql,
};
use cardwire_store::CommitError;
use deadpool_postgres::Client;
use tokio_postgres::Error;

/// How often a commit is sent again when the server gave up for reasons of timing.
const ATTEMPTS: usize = 4;

/// The parameters of `cw_commit`. Absent kinds are null, which costs the server nothing.
struct Batch<'a> {
    project: &'a str,
    cards: Option<Vec<CardRow<'a>>>,
    appends: Option<Vec<Append>>,
    events: Option<Vec<EventRow<'a>>>,
    rest: Option<JsonText>,
}

impl<'a> Batch<'a> {
    fn new(payloads: &'a [&'a Payload]) -> Self {
        let project = payloads.first().map_or("", |payload| payload.realm.key());
        let mut cards: Vec<_> =
            payloads.iter().flat_map(|p| &p.cards).map(|card| CardRow { project, card }).collect();
        cards.sort_by_key(|row| row.card.id);
        let appends = appends(payloads);
        let events: Vec<_> =
            payloads.iter().flat_map(|p| &p.events).map(|event| EventRow { project, event }).collect();
        Self {
            project,
            cards: Some(cards).filter(|cards| !cards.is_empty()),
            appends: Some(appends).filter(|appends| !appends.is_empty()),
            events: Some(events).filter(|events| !events.is_empty()),
            rest: rest(payloads),
        }
    }

    async fn send(&self, client: &Client) -> Result<(), Error> {
        let statement = client.prepare_cached(sql::COMMIT).await?;
        client
            .execute(&statement, &[&self.project, &self.cards, &self.appends, &self.events, &self.rest])
            .await
            .map(drop)
    }
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

fn rest(payloads: &[&Payload]) -> Option<JsonText> {
    if payloads.iter().all(|payload| payload.rest.is_empty() && payload.then.is_empty()) {
        return None;
    }
    let mut all = Rest::default();
    payloads.iter().for_each(|payload| all.absorb(&payload.rest));
    // Once heads are locked by another statement than the append, that one must lock all of them.
    if payloads.iter().any(|payload| payload.locks_heads) {
        let boxes = payloads.iter().flat_map(|payload| &payload.boxes);
        boxes.for_each(|box_id| all.push("open_box", &rest::lock(*box_id)));
    }
    let then = payloads.first().map_or(&[][..], |payload| payload.then.as_slice());
    Some(JsonText(all.to_json(then)))
}

/// Applies one commit.
pub(super) async fn apply_one(client: &Client, payload: &Payload) -> Result<(), CommitError> {
    let alone = [payload];
    let batch = Batch::new(&alone);
    let mut attempt = 1;
    loop {
        match batch.send(client).await {
            Ok(()) => return Ok(()),
            Err(error) if is_transient(&error) && attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(commit_error(error)),
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
pub(super) async fn apply_together(client: &Client, payloads: &[&Payload]) -> Together {
    match Batch::new(payloads).send(client).await {
        Ok(()) => Together::Applied,
        Err(error) if error.as_db_error().is_some() => Together::Refused,
        Err(error) => Together::Lost(commit_error(error)),
    }
}
