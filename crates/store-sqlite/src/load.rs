//! The snapshot a decision is made on.

mod turns;

pub(crate) use turns::{head, inbox_item, turn};

use crate::{codec, select::one, sql};
use cardwire_model::{Answer, AnswerKey, BoxHead, BoxId, CardId, Keys, Session, SessionKey, Snapshot};
use rusqlite::{Connection, Result, params};

/// Runs inside one read transaction, so all rows are of one moment.
pub(crate) fn load(conn: &Connection, realm: &str, keys: &Keys) -> Result<Snapshot> {
    let mut snapshot = Snapshot::default();
    if keys.project {
        snapshot.project = one(conn, sql::PROJECT, params![realm], codec::project)?;
    }
    for id in &keys.cards {
        let fact = one(conn, sql::CARD_FACTS, params![realm, id.uuid().into_bytes()], codec::card_fact)?;
        snapshot.cards.extend(fact.map(|fact| (*id, fact)));
    }
    for id in keys.boxes.iter().chain(keys.members.iter().map(|(id, _)| id)) {
        snapshot.boxes.extend(box_head(conn, realm, *id)?.map(|head| (*id, head)));
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
        snapshot.token = one(conn, sql::TOKEN, params![realm, id.uuid().into_bytes()], codec::token)?;
    }
    if let Some(key) = &keys.answer {
        snapshot.answer = answer(conn, realm, key)?;
    }
    turns::load(conn, realm, keys, &mut snapshot)?;
    if let Some(key) = &keys.session {
        snapshot.session = session(conn, realm, key)?;
    }
    Ok(snapshot)
}

fn box_head(conn: &Connection, realm: &str, id: BoxId) -> Result<Option<BoxHead>> {
    one(conn, sql::BOXES, params![realm, id.uuid().into_bytes()], codec::box_head)
}

/// A session.
pub(crate) fn session(conn: &Connection, project: &str, key: &SessionKey) -> Result<Option<Session>> {
    let key = params![project, key.namespace.as_str(), key.session.as_str()];
    one(conn, sql::SESSION, key, codec::session)
}

fn answer(conn: &Connection, realm: &str, key: &AnswerKey) -> Result<Option<Answer>> {
    one(conn, sql::ANSWER, params![realm, key.caller, key.key], |row| {
        Ok(Answer {
            key: AnswerKey { request_hash: codec::hash(row, 0)?, ..key.clone() },
            status: row.get(1)?,
            body: row.get(2)?,
            created_at: codec::time(row, 3)?,
        })
    })
}
