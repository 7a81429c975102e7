//! The snapshot a decision is made on: only the selects its keys need, all in one transaction and one round trip.

use crate::{
    rows::{self, Read, get},
    sql,
    tenant::{Select, read_all},
};
use cardwire_model::{Answer, AnswerKey, CardFact, CardId, Keys, Realm, Snapshot};
use cardwire_store::StoreError;
use deadpool_postgres::Pool;
use tokio_postgres::Row;
use uuid::Uuid;

/// Which part of the snapshot a select answers.
#[derive(Clone, Copy)]
enum Part {
    Project,
    Cards,
    Boxes,
    Members,
    Token,
    Answer,
}

pub(crate) async fn load(pool: &Pool, realm: &Realm, keys: &Keys) -> Result<Snapshot, StoreError> {
    let tenant = realm.key();
    let cards: Vec<Uuid> = keys.cards.iter().map(|id| id.uuid()).collect();
    let members = keys.members.as_ref();
    let boxes: Vec<Uuid> = keys.boxes.iter().chain(members.map(|(id, _)| id)).map(|id| id.uuid()).collect();
    let member_box = members.map(|(id, _)| id.uuid());
    let member_cards: Vec<Uuid> =
        members.map_or_else(Vec::new, |(_, cards)| cards.iter().map(|id| id.uuid()).collect());
    let token = keys.token.map(|id| id.uuid());

    let mut parts = vec![];
    let mut selects: Vec<Select<'_>> = vec![];
    let mut want = |part, select| {
        parts.push(part);
        selects.push(select);
    };
    if keys.project {
        want(Part::Project, Select { sql: sql::PROJECT, params: vec![&tenant] });
    }
    if !cards.is_empty() {
        want(Part::Cards, Select { sql: sql::CARD_FACTS, params: vec![&tenant, &cards] });
    }
    if !boxes.is_empty() {
        want(Part::Boxes, Select { sql: sql::BOXES, params: vec![&tenant, &boxes] });
    }
    if !member_cards.is_empty() {
        want(Part::Members, Select { sql: sql::MEMBERS, params: vec![&tenant, &member_box, &member_cards] });
    }
    if token.is_some() {
        want(Part::Token, Select { sql: sql::TOKEN, params: vec![&tenant, &token] });
    }
    if let Some(key) = &keys.answer {
        want(Part::Answer, Select { sql: sql::ANSWER, params: vec![&tenant, &key.caller, &key.key] });
    }

    let mut snapshot = Snapshot::default();
    if selects.is_empty() {
        return Ok(snapshot);
    }
    for (part, rows) in parts.into_iter().zip(read_all(pool, tenant, &selects).await?) {
        fill(&mut snapshot, part, keys, &rows)?;
    }
    Ok(snapshot)
}

fn fill(snapshot: &mut Snapshot, part: Part, keys: &Keys, rows: &[Row]) -> Read<()> {
    match part {
        Part::Project => snapshot.project = rows::first(rows, rows::project)?,
        Part::Cards => snapshot.cards = rows.iter().map(card_fact).collect::<Read<_>>()?,
        Part::Boxes => {
            for row in rows {
                let head = rows::box_head(row)?;
                snapshot.boxes.insert(head.box_id, head);
            }
        }
        Part::Members => {
            let member = |row| get::<Uuid>(row, 0).map(CardId::from_uuid);
            snapshot.members = rows.iter().map(member).collect::<Read<_>>()?;
        }
        Part::Token => snapshot.token = rows::first(rows, rows::token)?,
        Part::Answer => {
            if let Some(key) = &keys.answer {
                snapshot.answer = rows::first(rows, |row| answer(row, key))?;
            }
        }
    }
    Ok(())
}

fn card_fact(row: &Row) -> Read<(CardId, CardFact)> {
    let fact = CardFact {
        fact_hash: rows::hash(row, 1)?,
        deleted_at: rows::optional_time(row, 2)?,
        expires_at: rows::optional_time(row, 3)?,
    };
    Ok((CardId::from_uuid(get::<Uuid>(row, 0)?), fact))
}

fn answer(row: &Row, key: &AnswerKey) -> Read<Answer> {
    Ok(Answer {
        key: AnswerKey { request_hash: rows::hash(row, 0)?, ..key.clone() },
        status: crate::number::from_stored(get::<i32>(row, 1)?.into(), "a status")?,
        body: get(row, 2)?,
        created_at: rows::time(row, 3)?,
    })
}
