//! Claims: the one write that finds its own rows. It runs on the writer thread, so that what it finds is its own
//! until the transaction ends.
//!
//! What becomes of the rows is decided by the caller's pure function; this file must not know.

use crate::{
    codec,
    error::store_error,
    load,
    select::{all, names, readable},
    sql,
};
use cardwire_model::{Commit, InboxItem, InboxKind, ProjectId};
use cardwire_store::{ClaimQuery, Claimable, CommitError, DecideClaim, StoreError};
use rusqlite::{Connection, Result as SqlResult, types::ToSqlOutput};
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

pub(crate) struct Claim {
    query: ClaimQuery,
    /// The projects as a JSON list, for the statement.
    projects: Option<String>,
    decide: DecideClaim,
}

impl Claim {
    pub(crate) fn new(query: ClaimQuery, decide: DecideClaim) -> Self {
        let projects = query.projects.as_deref().map(names);
        Self { query, projects, decide }
    }

    /// Whether there is anything to claim.
    pub(crate) fn finds_any(&self, conn: &Connection) -> SqlResult<bool> {
        conn.prepare_cached(sql::CLAIMABLE)?.exists(self.params(1))
    }

    /// Gives what is claimable to the decision and its commits to `apply`, project by project. `apply` answers
    /// whether it was applied, and so does this: with the projects for which it was.
    pub(crate) fn run(
        &self,
        conn: &Connection,
        mut apply: impl FnMut(&Commit) -> Result<bool, CommitError>,
    ) -> Result<Vec<ProjectId>, CommitError> {
        let mut claimed = vec![];
        for (project, rows) in self.find(conn).map_err(store_error)? {
            let commit = self.decide(&project, rows)?;
            if !commit.is_empty() && apply(&commit)? {
                claimed.push(project);
            }
        }
        Ok(claimed)
    }

    /// A decision that panics is a fault of one claim, not the end of the writer.
    fn decide(&self, project: &ProjectId, rows: Vec<Claimable>) -> Result<Commit, StoreError> {
        catch_unwind(AssertUnwindSafe(|| (self.decide)(project, rows)))
            .map_err(|_| StoreError::Internal("the decision of a claim panicked".to_owned()))
    }

    fn find(&self, conn: &Connection) -> SqlResult<BTreeMap<ProjectId, Vec<Claimable>>> {
        let limit = self.query.limit;
        let mut wanted = limit;
        loop {
            let (found, mut rows) = self.look(conn, wanted)?;
            // Rows that cannot be read do not count.
            let passed_over = found - rows.len();
            if passed_over == 0 || found < wanted || rows.len() >= limit {
                rows.truncate(limit);
                let mut by_project: BTreeMap<_, Vec<_>> = BTreeMap::new();
                for (project, row) in rows {
                    by_project.entry(project).or_default().push(row);
                }
                return Ok(by_project);
            }
            wanted = limit + passed_over;
        }
    }

    /// How many rows there are, of so many, and those of them that can be read.
    fn look(&self, conn: &Connection, wanted: usize) -> SqlResult<(usize, Vec<(ProjectId, Claimable)>)> {
        let limit = i64::try_from(wanted).unwrap_or(i64::MAX);
        let found = all(conn, sql::CLAIMABLE, self.params(limit), |row| {
            let project = codec::slug::<ProjectId>(row, codec::INBOX_COLUMNS)?;
            Ok((readable(codec::inbox_item(row), project.as_str())?, project))
        })?;
        let (count, mut rows) = (found.len(), Vec::with_capacity(found.len()));
        for (item, project) in found {
            let Some(item) = item else { continue };
            let turn = item.turn_id;
            if let Some(row) = readable(claimable(conn, &project, item), &turn.to_string())? {
                rows.push((project, row));
            }
        }
        Ok((count, rows))
    }

    fn params(&self, limit: i64) -> [ToSqlOutput<'_>; 4] {
        [
            self.query.worker_target.as_str().into(),
            self.projects.as_deref().map_or(rusqlite::types::Null.into(), Into::into),
            self.query.now.micros().into(),
            limit.into(),
        ]
    }
}

fn claimable(conn: &Connection, project: &ProjectId, item: InboxItem) -> SqlResult<Claimable> {
    let turn = match item.kind {
        InboxKind::Turn => None,
        InboxKind::ToolResult | InboxKind::Timeout | InboxKind::Stop => {
            load::turn(conn, project.as_str(), item.turn_id)?
        }
    };
    let head = load::head(conn, project.as_str(), &item.agent_id)?;
    Ok(Claimable { item, turn, head })
}
