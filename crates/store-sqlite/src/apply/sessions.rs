//! Writes of sessions and passages. A passage is two rows, its own and the one of the index; both are written here, in
//! one transaction.

use super::{Applied, Apply};
use crate::{shelf::Words, sql};
use cardwire_model::{Conflict, Passage, Revision, Session, Shelf, Timestamp};
use rusqlite::{ToSql, params};

impl Apply<'_> {
    /// On the path of every patch: two plain statements, because one that does either builds a table (see plans.rs).
    pub(super) fn put_session(&self, was: Option<Revision>, session: &Session) -> Applied {
        let was = was.map(|version| version.get() as i64);
        let (version, checkpoint) = (session.version.get() as i64, session.checkpoint.uuid().into_bytes());
        let (created_at, updated_at) = (session.created_at.micros(), session.updated_at.micros());
        let deleted_at = session.deleted_at.map(Timestamp::micros);
        let (namespace, name) = (session.key.namespace.as_str(), session.key.session.as_str());
        let mut row: Vec<&dyn ToSql> = vec![
            &version,
            &checkpoint,
            &created_at,
            &updated_at,
            &deleted_at,
            &self.realm,
            &namespace,
            &name,
        ];
        let statement = match &was {
            None => sql::CREATE_SESSION,
            Some(was) => {
                row.push(was);
                sql::UPDATE_SESSION
            }
        };
        self.run_one(statement, &*row, Conflict::Session)
    }

    pub(super) fn put_passage(&self, passage: &Passage) -> Applied {
        let Shelf { kind, namespace } = &passage.shelf;
        let (kind, namespace, source) = (kind.as_str(), namespace.as_str(), &passage.source);
        let row = params![
            self.realm,
            kind,
            namespace,
            source,
            passage.part,
            passage.card_id.uuid().into_bytes(),
            passage.content_hash.as_bytes(),
            passage.terms,
            passage.embedding.as_ref().map(|embedding| embedding.as_bytes()),
            passage.created_at.micros(),
        ];
        self.run(sql::PUT_PASSAGE, row, Conflict::Session)?;
        let words = Words::of(self.realm, &passage.shelf).index(&passage.terms);
        let entry = params![self.realm, kind, namespace, source, passage.part, words];
        self.run(sql::INDEX_PASSAGE, entry, Conflict::Session).map(drop)
    }

    pub(super) fn drop_passages(&self, shelf: &Shelf, source: &str) -> Applied {
        let key = (self.realm, shelf.kind.as_str(), shelf.namespace.as_str(), source);
        // The rows say which entries are theirs, so they go last.
        self.run(sql::UNINDEX_PASSAGES, key, Conflict::Session)?;
        self.run(sql::DROP_PASSAGES, key, Conflict::Session).map(drop)
    }
}
