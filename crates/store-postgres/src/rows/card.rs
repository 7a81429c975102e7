//! Cards, box heads and entries.

use super::{
    Columns, Read, Record, damaged, get, hash, json, number, optional, optional_hash, optional_time, time,
};
use crate::number::from_stored;
use cardwire_model::{
    BoxHead, BoxId, CanonicalJson, Card, CardFact, CardId, CardKind, Entry, EntrySource, Generation, Item,
    Origin, Role, Segment,
};
use tokio_postgres::Row;
use uuid::Uuid;

/// Reads cards. Thousands of them share a handful of kinds, so each kind is kept once.
#[derive(Default)]
pub(crate) struct CardReader {
    kinds: Vec<CardKind>,
}

impl CardReader {
    /// Past so many kinds a search costs more than a copy.
    const KINDS: usize = 16;

    /// Reads the columns of a card, the first of which is `first`.
    pub(crate) fn card(&mut self, row: &Row, first: usize) -> Read<Card> {
        let at = |offset: usize| first + offset;
        Ok(Card {
            id: CardId::from_uuid(get::<Uuid>(row, at(0))?),
            kind: self.kind(get(row, at(1))?),
            role: Role::from_name(get(row, at(2))?).ok_or_else(|| damaged("a role"))?,
            author_id: get(row, at(3))?,
            content: json(row, at(4))?,
            content_hash: hash(row, at(5))?,
            fact_hash: hash(row, at(6))?,
            tokens: number(row, at(7), "a token count")?,
            tool_calls: get::<Option<&str>>(row, at(8))?.map(CanonicalJson::from_stored),
            tool_call_id: get(row, at(9))?,
            metadata: json(row, at(10))?,
            origin: Origin::from_name(get(row, at(11))?).ok_or_else(|| damaged("an origin"))?,
            credential: get(row, at(12))?,
            ttl_seconds: optional(row, at(13), "a time to live")?,
            expires_at: optional_time(row, at(14))?,
            deleted_at: optional_time(row, at(15))?,
            created_at: time(row, at(16))?,
        })
    }

    fn kind(&mut self, name: &str) -> CardKind {
        if let Some(kind) = self.kinds.iter().find(|kind| kind.as_str() == name) {
            return kind.clone();
        }
        let kind = CardKind::from_stored(name);
        if self.kinds.len() < Self::KINDS {
            self.kinds.push(kind.clone());
        }
        kind
    }
}

/// A value of type `cw_card_fact`.
pub(crate) fn card_fact(row: &Record<'_>) -> Read<(CardId, CardFact)> {
    let fact = CardFact {
        fact_hash: hash(row, 1)?,
        kind: CardKind::from_stored(get(row, 2)?),
        tool_call_id: get(row, 3)?,
        author_id: get(row, 4)?,
        deleted_at: optional_time(row, 5)?,
        expires_at: optional_time(row, 6)?,
        origin: Origin::from_name(get(row, 7)?).ok_or_else(|| damaged("an origin"))?,
    };
    Ok((CardId::from_uuid(get::<Uuid>(row, 0)?), fact))
}

/// The columns of a box head, the first of which is `first`.
pub(crate) fn box_head(row: &impl Columns, first: usize) -> Read<BoxHead> {
    let at = |offset: usize| first + offset;
    Ok(BoxHead {
        box_id: BoxId::from_uuid(get::<Uuid>(row, at(0))?),
        generation: Generation::new(number(row, at(1), "a generation")?),
        len: number(row, at(2), "a length")?,
        entries: number(row, at(3), "a count of entries")?,
        depth: from_stored(get::<i32>(row, at(4))?.into(), "a depth")?,
        sealed: get(row, at(5))?,
        handover_hash: optional_hash(row, at(6))?,
        created_at: time(row, at(7))?,
    })
}

/// Number of columns that [`entry`] reads.
pub(crate) const ENTRY_COLUMNS: usize = 6;

pub(crate) fn entry(row: &Row) -> Read<Entry> {
    let item = match (get::<Option<Uuid>>(row, 0)?, get::<Option<Uuid>>(row, 1)?) {
        (Some(card), None) => Item::Card(CardId::from_uuid(card)),
        (None, Some(source)) => Item::Segment(Segment {
            box_id: BoxId::from_uuid(source),
            generation: Generation::new(number(row, 2, "a generation")?),
            len: number(row, 3, "a length")?,
        }),
        (Some(_), Some(_)) | (None, None) => return Err(damaged("an entry")),
    };
    let rule = get::<Option<i32>>(row, 5)?.map(|rule| from_stored(rule.into(), "a rule")).transpose()?;
    let source = EntrySource::from_parts(get(row, 4)?, rule).ok_or_else(|| damaged("an entry's source"))?;
    Ok(Entry { item, source })
}
