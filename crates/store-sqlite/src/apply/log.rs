//! What is told and recorded with a commit, and where the audit chain ends.

use super::{Applied, Apply};
use crate::{codec, error::store_error, sql};
use cardwire_model::{ChainHead, NewAudit, NewEvent};
use cardwire_store::CommitError;
use rusqlite::{Connection, OptionalExtension, params};

impl Apply<'_> {
    pub(super) fn event(&self, event: &NewEvent) -> Applied {
        let row = params![
            self.realm,
            event.id.uuid().into_bytes(),
            event.kind.as_str(),
            event.target,
            event.channel,
            event.agent_id.as_ref().map(|agent| agent.as_str()),
            event.data.as_str(),
            event.at.micros(),
            event.turn_id.map(|turn| turn.uuid().into_bytes()),
            event.batch_id.map(|batch| batch.uuid().into_bytes()),
            event.trace_id,
        ];
        let mut statement = self.conn.prepare_cached(sql::WRITE_EVENT).map_err(store_error)?;
        statement.execute(row).map(drop).map_err(|error| CommitError::Store(store_error(error)))
    }

    pub(super) fn audit(&self, audit: &NewAudit) -> Applied {
        let row = params![
            self.realm,
            audit.actor,
            audit.action.as_str(),
            audit.subject,
            audit.verdict.as_str(),
            audit.detail.as_str(),
            audit.at.micros(),
        ];
        let mut statement = self.conn.prepare_cached(sql::WRITE_AUDIT).map_err(store_error)?;
        statement.execute(row).map(drop).map_err(|error| CommitError::Store(store_error(error)))
    }
}

/// Where the audit chain of a realm ends.
pub(crate) fn chain_head(conn: &Connection, realm: &str) -> rusqlite::Result<ChainHead> {
    let head = conn.prepare_cached(sql::CHAIN_HEAD)?.query_row(params![realm], |row| {
        Ok(ChainHead { position: row.get::<_, i64>(0)? as u64, hash: codec::hash(row, 1)? })
    });
    Ok(head.optional()?.unwrap_or(ChainHead::START))
}
