//! Applies one commit inside the transaction the writer has open: expectations first, then each write.

use crate::{
    error::{store_error, write_error},
    sql,
};
use cardwire_model::{
    Answer, Card, CardId, ChainHead, Commit, Conflict, Entry, Expect, Generation, Item, NewAudit, NewBox,
    NewEvent, Project, Scope, Token, Write,
};
use cardwire_store::CommitError;
use rusqlite::{Connection, OptionalExtension, params};

type Applied = Result<(), CommitError>;

pub(crate) fn apply(conn: &Connection, commit: &Commit) -> Applied {
    let at = Apply { conn, realm: commit.realm.key() };
    commit.expect.iter().try_for_each(|expect| at.check(expect))?;
    commit.writes.iter().try_for_each(|write| at.write(write))?;
    commit.events.iter().try_for_each(|event| at.event(event))?;
    commit.audit.iter().try_for_each(|audit| at.audit(audit))
}

struct Apply<'a> {
    conn: &'a Connection,
    realm: &'a str,
}

impl Apply<'_> {
    fn run(
        &self,
        statement: &str,
        params: impl rusqlite::Params,
        taken: Conflict,
    ) -> Result<usize, CommitError> {
        let mut statement = self.conn.prepare_cached(statement).map_err(store_error)?;
        statement.execute(params).map_err(|error| write_error(error, taken))
    }

    /// A write that must hit exactly one row.
    fn run_one(&self, statement: &str, params: impl rusqlite::Params, gone: Conflict) -> Applied {
        if self.run(statement, params, gone)? == 1 { Ok(()) } else { Err(gone.into()) }
    }

    fn holds(&self, statement: &str, params: impl rusqlite::Params, otherwise: Conflict) -> Applied {
        let mut statement = self.conn.prepare_cached(statement).map_err(store_error)?;
        if statement.exists(params).map_err(store_error)? { Ok(()) } else { Err(otherwise.into()) }
    }

    fn check(&self, expect: &Expect) -> Applied {
        match expect {
            Expect::OpenBox { box_id, generation, min_len, max_len } => self.holds(
                sql::EXPECT_OPEN_BOX,
                params![self.realm, box_id.uuid().into_bytes(), generation.get(), min_len, max_len],
                Conflict::Box,
            ),
            Expect::ProjectAt(revision) => self.holds(
                sql::EXPECT_PROJECT_AT,
                params![self.realm, revision.get() as i64],
                Conflict::Project,
            ),
            Expect::ChainAt(head) => self.holds(
                sql::EXPECT_CHAIN_AT,
                params![self.realm, head.position as i64, head.hash.as_bytes()],
                Conflict::Chain,
            ),
        }
    }

    fn write(&self, write: &Write) -> Applied {
        match write {
            Write::PutCard(card) => self.put_card(card),
            Write::DeleteCard { card_id, at } => {
                let id = card_id.uuid();
                self.run_one(
                    sql::DELETE_CARD,
                    params![self.realm, id.as_bytes(), at.micros()],
                    Conflict::Card,
                )?;
                self.run(sql::COUNT_DELETION, params![self.realm], Conflict::Project).map(drop)
            }
            Write::CreateBox(new) => self.create_box(new),
            Write::AppendCards { box_id, generation, cards } => self.append(*box_id, *generation, cards),
            Write::RewriteBox(new) => self.rewrite_box(new),
            Write::SealBox { box_id } => {
                self.run_one(sql::SEAL_BOX, params![self.realm, box_id.uuid().into_bytes()], Conflict::Box)
            }
            Write::CreateProject(project) => self.create_project(project),
            Write::UpdateProject(project) => self.update_project(project),
            Write::CreateToken(token) => self.create_token(token),
            Write::RevokeToken { token_id, at } => self.run_one(
                sql::REVOKE_TOKEN,
                params![self.realm, token_id.uuid().into_bytes(), at.micros()],
                Conflict::Token,
            ),
            Write::RememberAnswer(answer) => self.remember(answer),
            Write::SealAudit { seq, head } => self.run_one(
                sql::SEAL_AUDIT,
                params![self.realm, *seq as i64, head.position as i64, head.hash.as_bytes()],
                Conflict::Chain,
            ),
        }
    }

    fn put_card(&self, card: &Card) -> Applied {
        let row = params![
            self.realm,
            card.id.uuid().into_bytes(),
            card.kind.as_str(),
            card.role.as_str(),
            card.author_id,
            card.content.as_str(),
            card.content_hash.as_bytes(),
            card.fact_hash.as_bytes(),
            card.tokens,
            card.tool_calls.as_ref().map(|calls| calls.as_str()),
            card.tool_call_id,
            card.metadata.as_str(),
            card.origin.as_str(),
            card.credential,
            card.ttl_seconds,
            card.expires_at.map(|at| at.micros()),
            card.deleted_at.map(|at| at.micros()),
            card.created_at.micros(),
        ];
        self.run(sql::PUT_CARD, row, Conflict::Card).map(drop)
    }

    fn create_box(&self, new: &NewBox) -> Applied {
        let head = &new.head;
        let row = params![
            self.realm,
            head.box_id.uuid().into_bytes(),
            head.generation.get(),
            head.len,
            head.entries,
            head.depth,
            head.sealed,
            head.handover_hash.as_ref().map(|hash| hash.as_bytes()),
            head.created_at.micros(),
        ];
        self.run(sql::CREATE_BOX, row, Conflict::Box)?;
        self.entries(new.head.box_id, new.head.generation, 0, new.entries.iter().copied())
    }

    fn rewrite_box(&self, new: &NewBox) -> Applied {
        let head = &new.head;
        let row = params![
            self.realm,
            head.box_id.uuid().into_bytes(),
            head.generation.get(),
            head.len,
            head.entries,
            head.depth
        ];
        self.run_one(sql::REWRITE_BOX, row, Conflict::Box)?;
        self.entries(head.box_id, head.generation, 0, new.entries.iter().copied())
    }

    fn append(&self, box_id: cardwire_model::BoxId, generation: Generation, cards: &[CardId]) -> Applied {
        let mut statement = self.conn.prepare_cached(sql::APPEND_CARDS).map_err(store_error)?;
        let first: Option<u32> = statement
            .query_row(
                params![self.realm, box_id.uuid().into_bytes(), generation.get(), cards.len() as u32],
                |row| row.get(0),
            )
            .optional()
            .map_err(store_error)?;
        let first = first.ok_or(Conflict::Box)?;
        self.entries(box_id, generation, first, cards.iter().copied().map(Entry::direct))
    }

    fn entries(
        &self,
        box_id: cardwire_model::BoxId,
        generation: Generation,
        first: u32,
        entries: impl Iterator<Item = Entry>,
    ) -> Applied {
        for (seq, entry) in (first..).zip(entries) {
            let (card, segment) = match entry.item {
                Item::Card(card) => (Some(card.uuid()), None),
                Item::Segment(segment) => (None, Some(segment)),
            };
            let (source, rule) = entry.source.parts();
            let row = params![
                self.realm,
                box_id.uuid().into_bytes(),
                generation.get(),
                seq,
                card.as_ref().map(uuid::Uuid::as_bytes),
                segment.map(|segment| segment.box_id.uuid().into_bytes()),
                segment.map(|segment| segment.generation.get()),
                segment.map(|segment| segment.len),
                source,
                rule,
            ];
            self.run(sql::BOX_ENTRY, row, Conflict::Entry)?;
        }
        Ok(())
    }

    fn create_project(&self, project: &Project) -> Applied {
        let row = params![
            project.id.as_str(),
            project.title,
            project.settings.to_json().as_str().to_owned(),
            project.revision.get() as i64,
            project.deletions as i64,
            project.created_at.micros(),
            project.updated_at.micros(),
            project.deleted_at.map(|at| at.micros()),
        ];
        self.run(sql::CREATE_PROJECT, row, Conflict::Project).map(drop)
    }

    fn update_project(&self, project: &Project) -> Applied {
        let row = params![
            project.id.as_str(),
            project.title,
            project.settings.to_json().as_str().to_owned(),
            project.revision.get() as i64,
            project.updated_at.micros(),
            project.deleted_at.map(|at| at.micros()),
        ];
        self.run_one(sql::UPDATE_PROJECT, row, Conflict::Project)
    }

    fn create_token(&self, token: &Token) -> Applied {
        let row = params![
            self.realm,
            token.id.uuid().into_bytes(),
            token.secret_hash.as_bytes(),
            Scope::list_to_stored(&token.scopes),
            token.created_at.micros(),
            token.expires_at.map(|at| at.micros()),
            token.revoked_at.map(|at| at.micros()),
        ];
        self.run(sql::CREATE_TOKEN, row, Conflict::Token).map(drop)
    }

    fn remember(&self, answer: &Answer) -> Applied {
        let row = params![
            self.realm,
            answer.key.caller,
            answer.key.key,
            answer.key.request_hash.as_bytes(),
            answer.status,
            answer.body,
            answer.created_at.micros(),
        ];
        self.run(sql::REMEMBER_ANSWER, row, Conflict::Answer).map(drop)
    }

    fn event(&self, event: &NewEvent) -> Applied {
        let row = params![
            self.realm,
            event.id.uuid().into_bytes(),
            event.kind.as_str(),
            event.target,
            event.channel,
            event.agent_id.as_ref().map(|agent| agent.as_str()),
            event.data.as_str(),
            event.at.micros(),
        ];
        let mut statement = self.conn.prepare_cached(sql::WRITE_EVENT).map_err(store_error)?;
        statement.execute(row).map(drop).map_err(|error| CommitError::Store(store_error(error)))
    }

    fn audit(&self, audit: &NewAudit) -> Applied {
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
        Ok(ChainHead { position: row.get::<_, i64>(0)? as u64, hash: crate::codec::hash(row, 1)? })
    });
    Ok(head.optional()?.unwrap_or(ChainHead::START))
}
