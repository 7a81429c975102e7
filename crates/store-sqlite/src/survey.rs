//! Reads over whole runs, boxes and cards.

use crate::{catalog::NO_ID, codec, select::all, sql, store::SqliteStore, turns::PAST_IDS};
use async_trait::async_trait;
use cardwire_model::{BoxHead, BoxId, CardId, Generation, InboxId, InboxItem, ProjectId, Step, TurnId};
use cardwire_store::{EntryKey, Holders, StoreError, Survey};
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

type Result<T> = std::result::Result<T, StoreError>;

impl SqliteStore {
    /// A page of rows by id from the greatest.
    async fn latest<T: Send + 'static>(
        &self,
        (statement, project): (&'static str, &ProjectId),
        before: Option<Uuid>,
        limit: usize,
        decode: impl Fn(&Row<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<Vec<T>> {
        let project = project.clone();
        let read = move |conn: &Connection| {
            let before = before.as_ref().map_or(&PAST_IDS[..], |id| &id.as_bytes()[..]);
            all(conn, statement, params![project.as_str(), before, limit as i64], |row| decode(row))
        };
        self.readers.read(read).await
    }

    /// Rows of each of some turns, at most `limit` in all.
    async fn of_turns<T: Send + 'static>(
        &self,
        (statement, project): (&'static str, &ProjectId),
        turns: &[TurnId],
        limit: usize,
        decode: impl Fn(&Row<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<Vec<T>> {
        let (project, mut turns) = (project.clone(), turns.to_vec());
        turns.sort_unstable();
        turns.dedup();
        let read = move |conn: &Connection| {
            let mut found = vec![];
            for turn in &turns {
                let rest = (limit - found.len()) as i64;
                let key = params![project.as_str(), turn.uuid().into_bytes(), rest];
                found.extend(all(conn, statement, key, |row| decode(row))?);
            }
            Ok(found)
        };
        self.readers.read(read).await
    }
}

#[async_trait]
impl Survey for SqliteStore {
    async fn runs(
        &self,
        project: &ProjectId,
        before: Option<InboxId>,
        limit: usize,
    ) -> Result<Vec<InboxItem>> {
        self.latest((sql::RUNS, project), before.map(InboxId::uuid), limit, codec::inbox_item).await
    }

    async fn sent_by(&self, project: &ProjectId, turns: &[TurnId], limit: usize) -> Result<Vec<InboxItem>> {
        let mut found = self.of_turns((sql::SENT_BY, project), turns, limit, codec::inbox_item).await?;
        found.sort_by_key(|item| item.id);
        Ok(found)
    }

    async fn steps_of(&self, project: &ProjectId, turns: &[TurnId], limit: usize) -> Result<Vec<Step>> {
        let mut found = self.of_turns((sql::STEPS_OF, project), turns, limit, codec::step).await?;
        found.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        Ok(found)
    }

    async fn latest_card_ids(
        &self,
        project: &ProjectId,
        before: Option<CardId>,
        limit: usize,
    ) -> Result<Vec<CardId>> {
        let id = |row: &Row<'_>| codec::uuid(row, 0).map(CardId::from_uuid);
        self.latest((sql::LATEST_CARD_IDS, project), before.map(CardId::uuid), limit, id).await
    }

    async fn latest_boxes(
        &self,
        project: &ProjectId,
        before: Option<BoxId>,
        limit: usize,
    ) -> Result<Vec<BoxHead>> {
        self.latest((sql::LATEST_BOXES, project), before.map(BoxId::uuid), limit, codec::box_head).await
    }

    async fn holders(
        &self,
        project: &ProjectId,
        card: CardId,
        after: Option<EntryKey>,
        limit: usize,
    ) -> Result<Holders> {
        let project = project.clone();
        let read = move |conn: &Connection| {
            let of_box = after.map(|(id, ..)| id.uuid());
            let key = params![
                project.as_str(),
                card.uuid().into_bytes(),
                of_box.as_ref().map_or(&NO_ID[..], |id| &id.as_bytes()[..]),
                after.map_or(0, |(_, generation, _)| generation.get()),
                after.map_or(0, |(.., seq)| seq),
                limit as i64,
            ];
            let rows = all(conn, sql::HOLDERS, key, |row| {
                let key = (BoxId::from_uuid(codec::uuid(row, 6)?), Generation::new(row.get(7)?), row.get(8)?);
                Ok((key, codec::entry(row)?, row.get::<_, i64>(9)? == limit as i64))
            })?;
            Ok(Holders::of(card, rows))
        };
        self.readers.read(read).await
    }
}
