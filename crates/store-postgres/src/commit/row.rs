//! Rows in the server's binary form: what the hot path sends instead of JSON.
//!
//! Invariant: the fields are those of the table or type of that name, in its order. The server refuses a row with
//! another number of fields or other types.

mod audit;
mod graph;
mod pmo;
mod roster;
mod session;
mod turn;

pub(super) use audit::{NewAuditRow, Seal, SealRow};
pub(super) use graph::{EdgeRow, StepRow};
pub(super) use pmo::{
    BatchChange, BatchChangeRow, BatchLock, BatchRow, BranchRow, BranchWrite, GrantRow, Spending, SweepRow,
};
pub(super) use roster::{AgentRow, IdentityEdgeRow};
pub(super) use session::{PassageRow, SessionChangeRow, SessionRow, SourceRow};
pub(super) use turn::{HeadRow, HeadWrite, InboxRow, InboxUpdate, InboxUpdateRow, Output};

use bytes::{BufMut, BytesMut};
use cardwire_model::{BoxHead, Card, Entry, Item, NewEvent, Timestamp};
use std::error::Error;
use tokio_postgres::types::{IsNull, Kind, ToSql, Type, to_sql_checked};
use uuid::Uuid;

type Encoded<T> = Result<T, Box<dyn Error + Sync + Send>>;

/// A value of a composite type.
trait Composite {
    /// The table or type.
    const TYPE: &'static str;

    /// Puts every field, in order.
    fn put(&self, row: &mut Fields<'_>) -> Encoded<()>;
}

/// The driver's side of [`Composite`].
macro_rules! composite_to_sql {
    ($($row:ty),*) => {
        $(impl tokio_postgres::types::ToSql for $row {
            fn to_sql(
                &self,
                _: &tokio_postgres::types::Type,
                out: &mut bytes::BytesMut,
            ) -> crate::commit::row::Encoded<tokio_postgres::types::IsNull> {
                crate::commit::row::Fields::write(out, self)?;
                Ok(tokio_postgres::types::IsNull::No)
            }

            fn accepts(ty: &tokio_postgres::types::Type) -> bool {
                crate::commit::row::is_composite(ty, <Self as crate::commit::row::Composite>::TYPE)
            }

            tokio_postgres::types::to_sql_checked!();
        })*
    };
}
use composite_to_sql;

/// A row of `cards`.
#[derive(Debug)]
pub(super) struct CardRow<'a> {
    pub(super) project: &'a str,
    pub(super) card: &'a Card,
}

/// A row of `card_boxes`.
#[derive(Debug)]
pub(super) struct BoxRow<'a> {
    pub(super) project: &'a str,
    pub(super) head: &'a BoxHead,
}

/// A row of `box_entries`.
#[derive(Debug)]
pub(super) struct EntryRow<'a> {
    pub(super) project: &'a str,
    pub(super) head: &'a BoxHead,
    /// Its place among the entries, from 0.
    pub(super) seq: usize,
    pub(super) entry: &'a Entry,
}

/// A row of `events` that has no `seq` and no `last_position` yet.
#[derive(Debug)]
pub(super) struct EventsRow<'a> {
    pub(super) project: &'a str,
    pub(super) items: Vec<EventItem<'a>>,
}

/// A value of type `cw_event_item`.
#[derive(Debug)]
pub(super) struct EventItem<'a>(pub(super) &'a NewEvent);

/// A value of type `cw_append`.
#[derive(Debug, Clone)]
pub(super) struct Append {
    pub(super) box_id: Uuid,
    pub(super) generation: u32,
    pub(super) min_len: u32,
    pub(super) max_len: u32,
    pub(super) cards: Vec<Uuid>,
}

/// JSON text as a value of type `jsonb`.
#[derive(Debug)]
pub(super) struct JsonText(pub(super) String);

composite_to_sql!(CardRow<'_>, BoxRow<'_>, EntryRow<'_>, EventItem<'_>, Append);

impl Composite for CardRow<'_> {
    const TYPE: &'static str = "cards";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        let card = self.card;
        row.put(&Type::TEXT, &self.project)?;
        row.put(&Type::UUID, &card.id.uuid())?;
        row.put(&Type::TEXT, &card.kind.as_str())?;
        row.put(&Type::TEXT, &card.role.as_str())?;
        row.put(&Type::TEXT, &card.author_id)?;
        row.put(&Type::TEXT, &card.content.as_str())?;
        row.put(&Type::BYTEA, &card.content_hash.as_bytes().as_slice())?;
        row.put(&Type::BYTEA, &card.fact_hash.as_bytes().as_slice())?;
        row.put(&Type::INT8, &i64::from(card.tokens))?;
        row.put(&Type::TEXT, &card.tool_calls.as_ref().map(|calls| calls.as_str()))?;
        row.put(&Type::TEXT, &card.tool_call_id)?;
        row.put(&Type::TEXT, &card.metadata.as_str())?;
        row.put(&Type::TEXT, &card.origin.as_str())?;
        row.put(&Type::BOOL, &card.credential)?;
        row.put(&Type::INT8, &card.ttl_seconds.map(i64::from))?;
        row.put(&Type::INT8, &card.expires_at.map(Timestamp::micros))?;
        row.put(&Type::INT8, &card.deleted_at.map(Timestamp::micros))?;
        row.put(&Type::INT8, &card.created_at.micros())
    }
}

impl Composite for BoxRow<'_> {
    const TYPE: &'static str = "card_boxes";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        let head = self.head;
        row.put(&Type::TEXT, &self.project)?;
        row.put(&Type::UUID, &head.box_id.uuid())?;
        row.put(&Type::INT8, &i64::from(head.generation.get()))?;
        row.put(&Type::INT8, &i64::from(head.len))?;
        row.put(&Type::INT8, &i64::from(head.entries))?;
        row.put(&Type::INT4, &i32::from(head.depth))?;
        row.put(&Type::BOOL, &head.sealed)?;
        row.put(&Type::BYTEA, &head.handover_hash.as_ref().map(|hash| hash.as_bytes().as_slice()))?;
        row.put(&Type::INT8, &head.created_at.micros())
    }
}

impl Composite for EntryRow<'_> {
    const TYPE: &'static str = "box_entries";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        let (card, segment) = match self.entry.item {
            Item::Card(card) => (Some(card.uuid()), None),
            Item::Segment(segment) => (None, Some(segment)),
        };
        let (source, rule) = self.entry.source.parts();
        row.put(&Type::TEXT, &self.project)?;
        row.put(&Type::UUID, &self.head.box_id.uuid())?;
        row.put(&Type::INT8, &i64::from(self.head.generation.get()))?;
        row.put(&Type::INT8, &i64::try_from(self.seq)?)?;
        row.put(&Type::UUID, &card)?;
        row.put(&Type::UUID, &segment.map(|segment| segment.box_id.uuid()))?;
        row.put(&Type::INT8, &segment.map(|segment| i64::from(segment.generation.get())))?;
        row.put(&Type::INT8, &segment.map(|segment| i64::from(segment.len)))?;
        row.put(&Type::TEXT, &source.as_ref())?;
        row.put(&Type::INT4, &rule.map(i32::from))
    }
}

impl ToSql for EventsRow<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Encoded<IsNull> {
        let count = i64::try_from(self.items.len())?;
        put_fields(ty, &[&self.project, &None::<i64>, &None::<i64>, &count, &self.items], out)
    }

    fn accepts(ty: &Type) -> bool {
        is_composite(ty, "events")
    }

    to_sql_checked!();
}

impl Composite for EventItem<'_> {
    const TYPE: &'static str = "cw_event_item";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        let Self(event) = self;
        row.put(&Type::UUID, &event.id.uuid())?;
        row.put(&Type::TEXT, &event.kind.as_str())?;
        row.put(&Type::TEXT, &event.target)?;
        row.put(&Type::TEXT, &event.channel)?;
        row.put(&Type::TEXT, &event.agent_id.as_ref().map(|agent| agent.as_str()))?;
        row.put(&Type::TEXT, &event.data.as_str())?;
        row.put(&Type::INT8, &event.at.micros())?;
        row.put(&Type::UUID, &event.turn_id.map(|turn| turn.uuid()))?;
        row.put(&Type::UUID, &event.batch_id.map(|batch| batch.uuid()))?;
        row.put(&Type::TEXT, &event.trace_id)
    }
}

impl Append {
    /// Both, one after the other, as one: the second must hold after the first has been applied.
    pub(super) fn followed_by(mut self, next: &Self) -> Self {
        let added = u32::try_from(self.cards.len()).unwrap_or(u32::MAX);
        self.min_len = self.min_len.max(next.min_len.saturating_sub(added));
        match next.max_len.checked_sub(added) {
            Some(max_len) => self.max_len = self.max_len.min(max_len),
            // No box is that short; an empty range is refused, as the second alone would be.
            None => (self.min_len, self.max_len) = (1, 0),
        }
        self.cards.extend(&next.cards);
        self
    }
}

impl Composite for Append {
    const TYPE: &'static str = "cw_append";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        row.put(&Type::UUID, &self.box_id)?;
        row.put(&Type::INT8, &i64::from(self.generation))?;
        row.put(&Type::INT8, &i64::from(self.min_len))?;
        row.put(&Type::INT8, &i64::from(self.max_len))?;
        row.put(&Type::UUID_ARRAY, &self.cards)
    }
}

impl ToSql for JsonText {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Encoded<IsNull> {
        // The version of the binary form, and then it is text after all.
        out.put_u8(1);
        out.put_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::JSONB
    }

    to_sql_checked!();
}

/// Writes a composite value some of whose fields are lists of our own types, with their types as the server names
/// them.
pub(super) fn put_fields(ty: &Type, values: &[&dyn ToSql], out: &mut BytesMut) -> Encoded<IsNull> {
    let fields = if let Kind::Composite(fields) = ty.kind() { fields.as_slice() } else { &[] };
    if fields.len() != values.len() {
        return Err(format!("{} has other fields", ty.name()).into());
    }
    out.put_i32(i32::try_from(values.len())?);
    for (field, value) in fields.iter().zip(values) {
        out.put_u32(field.type_().oid());
        let at = out.len();
        out.put_i32(-1);
        if let IsNull::No = value.to_sql_checked(field.type_(), out)? {
            let length = i32::try_from(out.len() - at - 4)?;
            out[at..at + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
    Ok(IsNull::No)
}

fn is_composite(ty: &Type, name: &str) -> bool {
    matches!(ty.kind(), Kind::Composite(_)) && ty.name() == name
}

/// Writes the fields of a composite value: how many, then the type, length and bytes of each.
struct Fields<'a> {
    out: &'a mut BytesMut,
    count: i32,
}

impl<'a> Fields<'a> {
    fn write(out: &'a mut BytesMut, value: &impl Composite) -> Encoded<()> {
        let at = out.len();
        out.put_i32(0);
        let mut fields = Self { out, count: 0 };
        value.put(&mut fields)?;
        let Self { out, count } = fields;
        out[at..at + 4].copy_from_slice(&count.to_be_bytes());
        Ok(())
    }

    fn put_null(&mut self, ty: &Type) {
        self.count += 1;
        self.out.put_u32(ty.oid());
        self.out.put_i32(-1);
    }

    fn put(&mut self, ty: &Type, value: &impl ToSql) -> Encoded<()> {
        self.put_null(ty);
        let at = self.out.len() - 4;
        match value.to_sql(ty, self.out)? {
            IsNull::Yes => Ok(()),
            IsNull::No => {
                let length = i32::try_from(self.out.len() - at - 4)?;
                self.out[at..at + 4].copy_from_slice(&length.to_be_bytes());
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append(min_len: u32, max_len: u32, cards: &[u128]) -> Append {
        let cards = cards.iter().copied().map(Uuid::from_u128).collect();
        Append { box_id: Uuid::nil(), generation: 1, min_len, max_len, cards }
    }

    fn takes(append: &Append, len: u32) -> bool {
        (append.min_len..=append.max_len).contains(&len)
    }

    #[test]
    fn two_appends_in_one_hold_exactly_when_both_hold_in_turn() {
        let ranges = [(0, u32::MAX), (0, 0), (2, 2), (3, 9), (0, 1), (5, u32::MAX)];
        for first in ranges {
            for second in ranges {
                let (a, b) = (append(first.0, first.1, &[1, 2]), append(second.0, second.1, &[3]));
                let both = a.clone().followed_by(&b);
                assert_eq!(both.cards.len(), 3);
                for len in 0..20 {
                    let in_turn = takes(&a, len) && takes(&b, len + 2);
                    assert_eq!(takes(&both, len), in_turn, "{first:?} {second:?} at {len}");
                }
            }
        }
    }
}
