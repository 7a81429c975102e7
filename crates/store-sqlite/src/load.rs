//! The snapshot a decision is made on.

use crate::{codec, sql};
use cardwire_model::{Answer, AnswerKey, CardFact, CardId, Keys, Snapshot};
use rusqlite::{Connection, OptionalExtension, params};

/// Runs inside one read transaction, so all rows are of one moment.
pub(crate) fn load(conn: &Connection, realm: &str, keys: &Keys) -> rusqlite::Result<Snapshot> {
    let mut snapshot = Snapshot::default();
    if keys.project {
        snapshot.project =
            conn.prepare_cached(sql::PROJECT)?.query_row(params![realm], codec::project).optional()?;
    }
    if !keys.cards.is_empty() {
        let mut statement = conn.prepare_cached(sql::CARD_FACTS)?;
        for id in &keys.cards {
            let fact = statement.query_row(params![realm, id.uuid().into_bytes()], |row| {
                Ok(CardFact {
                    fact_hash: codec::hash(row, 0)?,
                    deleted_at: codec::optional_time(row, 1)?,
                    expires_at: codec::optional_time(row, 2)?,
                })
            });
            if let Some(fact) = fact.optional()? {
                snapshot.cards.insert(*id, fact);
            }
        }
    }
    for id in keys.boxes.iter().chain(keys.members.iter().map(|(id, _)| id)) {
        let mut statement = conn.prepare_cached(sql::BOXES)?;
        if let Some(head) =
            statement.query_row(params![realm, id.uuid().into_bytes()], codec::box_head).optional()?
        {
            snapshot.boxes.insert(*id, head);
        }
    }
    if let Some((box_id, cards)) = &keys.members
        && let Some(head) = snapshot.boxes.get(box_id)
    {
        let mut statement = conn.prepare_cached(sql::MEMBERS)?;
        let mut is_member = |card: &CardId| {
            let (box_id, card) = (box_id.uuid(), card.uuid());
            statement.exists(params![realm, box_id.as_bytes(), head.generation.get(), card.as_bytes()])
        };
        for card in cards {
            if is_member(card)? {
                snapshot.members.insert(*card);
            }
        }
    }
    if let Some(id) = &keys.token {
        let mut statement = conn.prepare_cached(sql::TOKEN)?;
        snapshot.token =
            statement.query_row(params![realm, id.uuid().into_bytes()], codec::token).optional()?;
    }
    if let Some(key) = &keys.answer {
        snapshot.answer = answer(conn, realm, key)?;
    }
    Ok(snapshot)
}

fn answer(conn: &Connection, realm: &str, key: &AnswerKey) -> rusqlite::Result<Option<Answer>> {
    let mut statement = conn.prepare_cached(sql::ANSWER)?;
    let row = statement.query_row(params![realm, key.caller, key.key], |row| {
        Ok(Answer {
            key: AnswerKey { request_hash: codec::hash(row, 0)?, ..key.clone() },
            status: row.get(1)?,
            body: row.get(2)?,
            created_at: codec::time(row, 3)?,
        })
    });
    row.optional()
}
