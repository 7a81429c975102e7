//! Loads of one tenant that ask for the same things travel together while others are under way.
//!
//! There are no tasks here: of those who ask, one leads, and asks for whoever waits as well. A leader that goes away
//! leaves its followers to ask for themselves; reading twice does no harm.
//! Invariant: who waits in a group waits for a leader that is under way; a leader's place is passed on when it is
//! given up, whatever becomes of the leader.

use super::query::{Key, Statement, Statements, ask};
use crate::{error::pool_error, rows::Read};
use cardwire_model::Realm;
use deadpool_postgres::Pool;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::oneshot;
use tokio_postgres::Row;

/// Statements of one group under way at once. More would make each smaller without making any faster.
const AT_ONCE: usize = 1;
/// Most askers in one statement.
const ASKERS: usize = 32;

/// Whose loads travel together: a tenant's, with one statement.
type Kind = (Realm, Statement);

/// Reads rows for many askers.
pub(crate) struct Loads {
    pool: Pool,
    pub(super) statements: Statements,
    groups: Arc<Groups>,
}

#[derive(Default)]
struct Groups(Mutex<HashMap<Kind, Group>>);

#[derive(Default)]
struct Group {
    under_way: usize,
    waiting: VecDeque<Asker>,
}

struct Asker {
    keys: Vec<Key>,
    reply: oneshot::Sender<Reply>,
}

enum Reply {
    Row(Read<Row>),
    /// Lead the next statement.
    Lead(Lead),
}

/// A leader's place.
struct Lead {
    groups: Arc<Groups>,
    kind: Kind,
    /// Somebody else has it now.
    is_passed_on: bool,
}

enum Next {
    Lead(Lead),
    Wait(oneshot::Receiver<Reply>),
}

impl Loads {
    pub(crate) fn new(pool: Pool) -> Self {
        Self { pool, statements: Statements::default(), groups: Arc::default() }
    }

    /// The row that the statement answers to these keys.
    pub(super) async fn row(&self, realm: &Realm, statement: Statement, keys: Vec<Key>) -> Read<Row> {
        let kind = (realm.clone(), statement);
        loop {
            let lead = match self.groups.join(&kind, &keys) {
                Next::Lead(lead) => lead,
                Next::Wait(reply) => match reply.await {
                    Ok(Reply::Row(row)) => return row,
                    Ok(Reply::Lead(lead)) => lead,
                    // The leader went away.
                    Err(_) => continue,
                },
            };
            return self.lead(&lead, &keys).await;
        }
    }

    /// Asks for oneself and for those who wait.
    async fn lead(&self, lead: &Lead, keys: &[Key]) -> Read<Row> {
        let client = self.pool.get().await.map_err(pool_error)?;
        let followers = lead.groups.followers(&lead.kind);
        let (realm, statement) = &lead.kind;
        let askers: Vec<&[Key]> =
            [keys].into_iter().chain(followers.iter().map(|asker| &*asker.keys)).collect();
        let mut rows = match ask(&client, statement.text(), realm.key(), &askers).await {
            Ok(rows) => rows.into_iter(),
            Err(error) => {
                followers.into_iter().for_each(|asker| asker.answer(Err(error.clone())));
                return Err(error);
            }
        };
        let mine = rows.next().ok_or_else(|| crate::rows::damaged("an answer"));
        followers.into_iter().zip(rows).for_each(|(asker, row)| asker.answer(Ok(row)));
        mine
    }
}

impl Asker {
    fn answer(self, row: Read<Row>) {
        // Nobody listens when the caller has gone away.
        let _ = self.reply.send(Reply::Row(row));
    }
}

impl Groups {
    fn lock(&self) -> MutexGuard<'_, HashMap<Kind, Group>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(self: &Arc<Self>, kind: &Kind, keys: &[Key]) -> Next {
        let mut groups = self.lock();
        let group = groups.entry(kind.clone()).or_default();
        if group.under_way < AT_ONCE {
            group.under_way += 1;
            return Next::Lead(Lead { groups: Arc::clone(self), kind: kind.clone(), is_passed_on: false });
        }
        let (reply, row) = oneshot::channel();
        group.waiting.push_back(Asker { keys: keys.to_vec(), reply });
        Next::Wait(row)
    }

    fn followers(&self, kind: &Kind) -> Vec<Asker> {
        let mut groups = self.lock();
        let Some(group) = groups.get_mut(kind) else { return vec![] };
        let count = group.waiting.len().min(ASKERS - 1);
        group.waiting.drain(..count).filter(|asker| !asker.reply.is_closed()).collect()
    }
}

impl Drop for Lead {
    /// Passes the place on to the first who still waits. In a loop: thousands may have gone away, and a place that each
    /// passed on to the next by dropping it would take a stack frame each.
    fn drop(&mut self) {
        if self.is_passed_on {
            return;
        }
        while let Some(next) = self.next() {
            let lead =
                Self { groups: Arc::clone(&self.groups), kind: self.kind.clone(), is_passed_on: false };
            match next.reply.send(Reply::Lead(lead)) {
                Ok(()) => return,
                Err(Reply::Lead(mut lead)) => lead.is_passed_on = true,
                Err(Reply::Row(_)) => {}
            }
        }
    }
}

impl Lead {
    /// Who waits first; if nobody does, the place is given up.
    fn next(&self) -> Option<Asker> {
        let mut groups = self.groups.lock();
        let group = groups.get_mut(&self.kind)?;
        let next = group.waiting.pop_front();
        if next.is_none() {
            group.under_way -= 1;
            if group.under_way == 0 {
                groups.remove(&self.kind);
            }
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::super::query::{Query, Shape};
    use super::*;

    fn wait(groups: &Arc<Groups>, kind: &Kind) -> oneshot::Receiver<Reply> {
        match groups.join(kind, &[]) {
            Next::Wait(reply) => reply,
            Next::Lead(_) => panic!("somebody leads"),
        }
    }

    /// F-21: on a stack that has no room for a frame each.
    #[test]
    fn a_place_is_passed_over_any_number_of_those_who_have_gone_away() {
        let work = || {
            let groups = Arc::<Groups>::default();
            let kind = (Realm::System, Statements::default().of(Shape::One("nothing"), Query::default));
            let Next::Lead(lead) = groups.join(&kind, &[]) else { panic!("nobody leads yet") };
            for _ in 0..100_000 {
                drop(wait(&groups, &kind));
            }
            let mut patient = wait(&groups, &kind);
            drop(lead);
            let Ok(Reply::Lead(lead)) = patient.try_recv() else { panic!("the place went elsewhere") };
            drop(lead);
            assert!(groups.lock().is_empty(), "nobody leads any more");
        };
        std::thread::Builder::new().stack_size(256 << 10).spawn(work).unwrap().join().unwrap();
    }
}
