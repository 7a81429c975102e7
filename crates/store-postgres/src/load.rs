//! The snapshot a decision is made on: one statement, hence one round trip and one moment.

mod query;
mod together;

pub(crate) use query::Key;
pub(crate) use together::Loads;

use crate::rows::{self, Read, Record, get, number, optional_record, records};
use cardwire_model::{
    Answer, AnswerKey, BoxId, CardId, Keys, Lost, ProjectId, Realm, Snapshot, TurnEpoch, TurnRows,
};
use query::{Part, Query, Shape};
use tokio_postgres::Row;
use uuid::Uuid;

impl Loads {
    pub(crate) async fn load(&self, realm: &Realm, keys: &Keys) -> Read<Snapshot> {
        if *keys == Keys::default() {
            return Ok(Snapshot::default());
        }
        let mut query = Query::of(keys);
        let statement = self.statements.of(query.shape(), || Query::written(keys));
        let row = self.row(realm, statement, std::mem::take(&mut query.keys)).await?;
        let mut snapshot = Snapshot::default();
        for (column, part) in query.parts.iter().enumerate() {
            part.read(&row, column, keys, &mut snapshot)?;
        }
        Ok(snapshot)
    }

    /// The row of one part, by the name and the value of its key.
    pub(crate) async fn one<T>(
        &self,
        project: &ProjectId,
        part: &'static str,
        (name, key): (&str, Key),
        decode: impl FnOnce(&Record<'_>) -> Read<T>,
    ) -> Read<Option<T>> {
        let statement = self.statements.of(Shape::One(part), || Query::one(part, (name, key.clone())));
        let row = self.row(&Realm::from(project.clone()), statement, vec![key]).await?;
        optional_record(&row, 0, decode)
    }
}

impl Part {
    fn read(self, row: &Row, at: usize, keys: &Keys, into: &mut Snapshot) -> Read<()> {
        match self {
            Self::Project => into.project = optional_record(row, at, |record| rows::project(record))?,
            Self::Cards => into.cards = records(row, at, rows::card_fact)?.into_iter().collect(),
            Self::Boxes => {
                let boxes = records(row, at, |record| rows::box_head(record, 1))?;
                into.boxes = boxes.into_iter().map(|head| (head.box_id, head)).collect();
            }
            Self::Members => {
                into.members = get::<Vec<Uuid>>(row, at)?.into_iter().map(CardId::from_uuid).collect();
            }
            Self::Token => into.token = optional_record(row, at, |record| rows::token(record))?,
            Self::Answer => {
                let Some(key) = &keys.answer else { return Ok(()) };
                into.answer = optional_record(row, at, |record| answer(record, key))?;
            }
            Self::Agent => into.agent = optional_record(row, at, rows::agent)?,
            Self::Turn => {
                let item = optional_record(row, at, rows::inbox_item)?;
                into.turn = item.map(TurnRows::alone);
            }
            Self::Calls => {
                if let Some(turn) = &mut into.turn {
                    turn.calls = records(row, at, rows::call)?;
                }
            }
            Self::Reports => {
                if let Some(turn) = &mut into.turn {
                    turn.reports = records(row, at, rows::inbox_item)?;
                }
            }
            Self::Next => {
                if let Some(turn) = &mut into.turn {
                    let one =
                        |record: &Record<'_>| rows::readable(rows::inbox_item(record), "a turn that waits");
                    turn.next = records(row, at, one)?.into_iter().flatten().collect();
                }
            }
            Self::Head => into.head = optional_record(row, at, rows::head)?,
            Self::Lost => into.lost = optional_record(row, at, lost)?,
            Self::Depth => into.depth = get::<Option<i64>>(row, at)?.and_then(|depth| depth.try_into().ok()),
            Self::Inbox => into.inbox = optional_record(row, at, rows::inbox_item)?,
            Self::Edge => into.edge = optional_record(row, at, rows::edge)?,
            Self::Step => into.step = optional_record(row, at, rows::step)?,
            Self::Writers => into.writers = records(row, at, rows::writer)?.into_iter().collect(),
            Self::Profile => into.profile = optional_record(row, at, rows::profile)?,
            Self::Resource => into.resource = optional_record(row, at, rows::resource)?,
            Self::Session => into.session = optional_record(row, at, rows::session)?,
        }
        Ok(())
    }
}

/// A value of type `cw_lost`.
fn lost(row: &Record<'_>) -> Read<Lost> {
    Ok(Lost {
        copy: optional_record(row, 0, rows::head)?,
        highest: TurnEpoch::new(number(row, 1, "an epoch")?),
        open: optional_record(row, 2, rows::inbox_item)?,
        last_output_box: get::<Option<Uuid>>(row, 3)?.map(BoxId::from_uuid),
        queued: number(row, 4, "a count of turns")?,
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
