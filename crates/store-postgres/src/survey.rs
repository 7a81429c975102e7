//! Reads over whole runs, boxes and cards: one statement each, as the tenant they are for.

use crate::{
    PostgresStore,
    number::to_limit,
    rows::{self, Read, get, number},
    sql,
    tenant::{Param, read},
    turns::{last_before, whole},
};
use async_trait::async_trait;
use cardwire_model::{BoxHead, BoxId, CardId, Generation, InboxId, InboxItem, ProjectId, Step, TurnId};
use cardwire_store::{EntryKey, Holders, Survey};
use tokio_postgres::Row;
use uuid::Uuid;

impl PostgresStore {
    /// A page of rows by id from the greatest.
    async fn latest<T>(
        &self,
        (statement, project): (&'static str, &ProjectId),
        before: Option<Uuid>,
        limit: usize,
        decode: impl FnMut(&Row) -> Read<T>,
    ) -> Read<Vec<T>> {
        let project = project.as_str();
        let Some(last) = last_before(before) else { return Ok(vec![]) };
        read(&self.app, project, statement, &[&project, &last, &to_limit(limit)], decode).await
    }

    /// Rows of some turns, at most `limit` in all.
    async fn of_turns<T>(
        &self,
        (statement, project): (&'static str, &ProjectId),
        turns: &[TurnId],
        limit: usize,
        decode: impl FnMut(&Row) -> Read<T>,
    ) -> Read<Vec<T>> {
        let project = project.as_str();
        let turns: Vec<Uuid> = turns.iter().map(|turn| turn.uuid()).collect();
        read(&self.app, project, statement, &[&project, &turns, &to_limit(limit)], decode).await
    }
}

#[async_trait]
impl Survey for PostgresStore {
    async fn runs(&self, project: &ProjectId, before: Option<InboxId>, limit: usize) -> Read<Vec<InboxItem>> {
        self.latest((sql::RUNS, project), before.map(InboxId::uuid), limit, whole(rows::inbox_item)).await
    }

    async fn sent_by(&self, project: &ProjectId, turns: &[TurnId], limit: usize) -> Read<Vec<InboxItem>> {
        self.of_turns((sql::SENT_BY, project), turns, limit, whole(rows::inbox_item)).await
    }

    async fn steps_of(&self, project: &ProjectId, turns: &[TurnId], limit: usize) -> Read<Vec<Step>> {
        self.of_turns((sql::STEPS_OF, project), turns, limit, whole(rows::step)).await
    }

    async fn latest_card_ids(
        &self,
        project: &ProjectId,
        before: Option<CardId>,
        limit: usize,
    ) -> Read<Vec<CardId>> {
        let id = |row: &Row| get(row, 0).map(CardId::from_uuid);
        self.latest((sql::LATEST_CARD_IDS, project), before.map(CardId::uuid), limit, id).await
    }

    async fn latest_boxes(
        &self,
        project: &ProjectId,
        before: Option<BoxId>,
        limit: usize,
    ) -> Read<Vec<BoxHead>> {
        let box_head = |row: &Row| rows::box_head(row, 0);
        self.latest((sql::LATEST_BOXES, project), before.map(BoxId::uuid), limit, box_head).await
    }

    async fn holders(
        &self,
        project: &ProjectId,
        card: CardId,
        after: Option<EntryKey>,
        limit: usize,
    ) -> Read<Holders> {
        let (project, limit) = (project.as_str(), to_limit(limit));
        let (of_box, generation, seq) = after.map_or((Uuid::nil(), -1, -1), |(id, generation, seq)| {
            (id.uuid(), i64::from(generation.get()), i64::from(seq))
        });
        let params: [Param<'_>; 6] = [&project, &card.uuid(), &of_box, &generation, &seq, &limit];
        let rows = read(&self.app, project, sql::HOLDERS, &params, |row| {
            let of_box = BoxId::from_uuid(get(row, 6)?);
            let generation = Generation::new(number(row, 7, "a generation")?);
            let key = (of_box, generation, number(row, 8, "a place")?);
            Ok((key, rows::entry(row)?, get::<i64>(row, 9)? == limit))
        });
        Ok(Holders::of(card, rows.await?))
    }
}
