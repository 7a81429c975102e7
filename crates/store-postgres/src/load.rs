//! The snapshot a decision is made on: one statement, hence one round trip and one moment.

use crate::{
    error::{pool_error, store_error},
    number::to_limit,
    rows::{self, Read, Record, get, number, optional_record, record, records},
    sql,
};
use cardwire_model::{
    AgentId, Answer, AnswerKey, BoxId, CardId, Keys, Lost, Realm, Snapshot, TurnEpoch, TurnRows,
    limits::POISON_ROWS,
};
use deadpool_postgres::Pool;
use uuid::Uuid;

pub(crate) async fn load(pool: &Pool, realm: &Realm, keys: &Keys) -> Read<Snapshot> {
    if *keys == Keys::default() {
        return Ok(Snapshot::default());
    }
    let ids = |ids: Vec<Uuid>| Some(ids).filter(|ids| !ids.is_empty());
    let members = keys.members.as_ref();
    let boxes = keys.boxes.iter().chain(members.map(|(id, _)| id));
    let member_cards = members.into_iter().flat_map(|(_, cards)| cards);
    let (answer, edge) = (keys.answer.as_ref(), keys.edge.as_ref());
    let client = pool.get().await.map_err(pool_error)?;
    let statement = client.prepare_cached(sql::LOAD).await.map_err(store_error)?;
    let row = client
        .query_one(
            &statement,
            &[
                &realm.key(),
                &keys.project,
                &ids(keys.cards.iter().map(|id| id.uuid()).collect()),
                &ids(boxes.map(|id| id.uuid()).collect()),
                &members.map(|(id, _)| id.uuid()),
                &ids(member_cards.map(|id| id.uuid()).collect()),
                &keys.token.map(|id| id.uuid()),
                &answer.map(|key| &key.caller),
                &answer.map(|key| &key.key),
                &keys.agent.as_ref().map(AgentId::as_str),
                &keys.turn.map(|id| id.uuid()),
                &to_limit(POISON_ROWS + 1),
                &keys.depth_of.map(|id| id.uuid()),
                &keys.inbox.map(|id| id.uuid()),
                &edge.map(|(_, _, correlation)| correlation),
                &edge.map(|(primitive, _, _)| primitive.as_str()),
                &edge.map(|(_, phase, _)| phase.as_str()),
                &keys.step.as_ref().map(|id| id.as_str()),
                &ids(keys.writers_of.iter().map(|id| id.uuid()).collect()),
                &keys.profile.as_ref().map(|name| name.as_str()),
            ],
        )
        .await
        .map_err(store_error)?;
    record(&row, 0, |found| snapshot(found, keys))
}

/// A value of type `cw_snapshot`.
fn snapshot(row: &Record<'_>, keys: &Keys) -> Read<Snapshot> {
    let boxes = records(row, 2, |record| rows::box_head(record, 1))?;
    let members = get::<Option<Vec<Uuid>>>(row, 3)?.unwrap_or_default();
    let answer_to = |key| optional_record(row, 5, |record| answer(record, key));
    Ok(Snapshot {
        project: optional_record(row, 0, |record| rows::project(record))?,
        cards: records(row, 1, rows::card_fact)?.into_iter().collect(),
        boxes: boxes.into_iter().map(|head| (head.box_id, head)).collect(),
        members: members.into_iter().map(CardId::from_uuid).collect(),
        token: optional_record(row, 4, |record| rows::token(record))?,
        answer: keys.answer.as_ref().map(answer_to).transpose()?.flatten(),
        agent: optional_record(row, 6, rows::agent)?,
        head: optional_record(row, 7, rows::head)?,
        lost: if get::<Option<bool>>(row, 18)?.is_some() { Some(lost(row)?) } else { None },
        turn: turn(row)?,
        depth: rows::optional(row, 12, "a depth")?,
        inbox: optional_record(row, 13, rows::inbox_item)?,
        edge: optional_record(row, 14, rows::edge)?,
        step: optional_record(row, 15, rows::step)?,
        writers: records(row, 16, rows::writer)?.into_iter().collect(),
        profile: optional_record(row, 17, rows::profile)?,
    })
}

fn turn(row: &Record<'_>) -> Read<Option<TurnRows>> {
    let Some(item) = optional_record(row, 8, rows::inbox_item)? else { return Ok(None) };
    Ok(Some(TurnRows {
        item,
        calls: records(row, 9, rows::call)?,
        reports: records(row, 10, rows::inbox_item)?,
        next: records(row, 11, rows::inbox_item)?,
    }))
}

fn lost(row: &Record<'_>) -> Read<Lost> {
    Ok(Lost {
        copy: optional_record(row, 19, rows::head)?,
        highest: TurnEpoch::new(number(row, 20, "an epoch")?),
        open: optional_record(row, 21, rows::inbox_item)?,
        last_output_box: get::<Option<Uuid>>(row, 22)?.map(BoxId::from_uuid),
        queued: number(row, 23, "a count of turns")?,
    })
}

fn answer(row: &Record<'_>, key: &AnswerKey) -> Read<Answer> {
    Ok(Answer {
        key: AnswerKey { request_hash: rows::hash(row, 3)?, ..key.clone() },
        status: crate::number::from_stored(get::<i32>(row, 4)?.into(), "a status")?,
        body: get(row, 5)?,
        created_at: rows::time(row, 6)?,
    })
}
