//! Sessions and passages.

use super::{Composite, Encoded, Fields, composite_to_sql};
use crate::{lexemes::Lexemes, number::to_bigint};
use cardwire_model::{Embedding, Passage, Revision, Session, Shelf, Timestamp};
use tokio_postgres::types::Type;

/// A row of `state_sessions`.
#[derive(Debug)]
pub(in crate::commit) struct SessionRow<'a> {
    pub(in crate::commit) project: &'a str,
    pub(in crate::commit) session: &'a Session,
}

/// A change of a session: a value of type `cw_session`.
#[derive(Debug)]
pub(in crate::commit) struct SessionChangeRow<'a> {
    pub(in crate::commit) project: &'a str,
    pub(in crate::commit) was: Revision,
    pub(in crate::commit) session: &'a Session,
}

/// A source whose passages go: a value of type `cw_source`.
#[derive(Debug)]
pub(in crate::commit) struct SourceRow<'a> {
    pub(in crate::commit) project: &'a str,
    pub(in crate::commit) shelf: &'a Shelf,
    pub(in crate::commit) source: &'a str,
}

/// A value of type `cw_passage`.
#[derive(Debug)]
pub(in crate::commit) struct PassageRow<'a> {
    pub(in crate::commit) project: &'a str,
    pub(in crate::commit) passage: &'a Passage,
}

composite_to_sql!(SessionRow<'_>, SessionChangeRow<'_>, SourceRow<'_>, PassageRow<'_>);

impl Composite for SessionRow<'_> {
    const TYPE: &'static str = "state_sessions";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        put_key(row, self.project, self.session)?;
        put_values(row, self.session)
    }
}

impl Composite for SessionChangeRow<'_> {
    const TYPE: &'static str = "cw_session";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        put_key(row, self.project, self.session)?;
        row.put(&Type::INT8, &to_bigint(self.was.get()))?;
        put_values(row, self.session)
    }
}

fn put_key(row: &mut Fields<'_>, project: &str, session: &Session) -> Encoded<()> {
    row.put(&Type::TEXT, &project)?;
    row.put(&Type::TEXT, &session.key.namespace.as_str())?;
    row.put(&Type::TEXT, &session.key.session.as_str())
}

fn put_values(row: &mut Fields<'_>, session: &Session) -> Encoded<()> {
    row.put(&Type::INT8, &to_bigint(session.version.get()))?;
    row.put(&Type::UUID, &session.checkpoint.uuid())?;
    row.put(&Type::INT8, &session.created_at.micros())?;
    row.put(&Type::INT8, &session.updated_at.micros())?;
    row.put(&Type::INT8, &session.deleted_at.map(Timestamp::micros))
}

impl Composite for SourceRow<'_> {
    const TYPE: &'static str = "cw_source";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        put_source(row, self.project, self.shelf, self.source)
    }
}

impl Composite for PassageRow<'_> {
    const TYPE: &'static str = "cw_passage";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        let passage = self.passage;
        put_source(row, self.project, &passage.shelf, &passage.source)?;
        row.put(&Type::INT8, &i64::from(passage.part))?;
        row.put(&Type::UUID, &passage.card_id.uuid())?;
        row.put(&Type::BYTEA, &passage.content_hash.as_bytes().as_slice())?;
        row.put(&Type::TEXT, &passage.terms)?;
        row.put(&Type::BYTEA, &passage.embedding.as_ref().map(Embedding::as_bytes))?;
        row.put(&Type::INT8, &passage.created_at.micros())?;
        row.put(&Type::TEXT, &Lexemes::of(self.project, &passage.shelf).index(&passage.terms))
    }
}

fn put_source(row: &mut Fields<'_>, project: &str, shelf: &Shelf, source: &str) -> Encoded<()> {
    row.put(&Type::TEXT, &project)?;
    row.put(&Type::TEXT, &shelf.kind.as_str())?;
    row.put(&Type::TEXT, &shelf.namespace.as_str())?;
    row.put(&Type::TEXT, &source)
}
