//! What commits of one realm do to passages, as one value of type `cw_passage_writes`.
//!
//! The server drops first and puts then. Where that is not the order of the writes, the writes themselves tell what must
//! come out: what is put before its source is dropped does not come, and of two passages at one place the last one does.
//! Invariant: what is kept, dropped and then put, is the same as the writes of all commits applied in turn.

use super::row::{PassageRow, SourceRow, put_fields};
use bytes::BytesMut;
use cardwire_model::{Passage, Shelf};
use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
};
use tokio_postgres::types::{IsNull, Kind, ToSql, Type, to_sql_checked};

/// A write to passages.
#[derive(Debug)]
pub(super) enum PassageWrite {
    Put(Box<Passage>),
    Drop { shelf: Shelf, source: String },
}

impl PassageWrite {
    fn source(&self) -> (&Shelf, &str) {
        match self {
            Self::Put(passage) => (&passage.shelf, &passage.source),
            Self::Drop { shelf, source } => (shelf, source),
        }
    }

    /// How many bytes it will be on the wire, about: lexemes are longer than most terms.
    pub(super) fn size(&self) -> usize {
        const ROW: usize = 200;
        match self {
            Self::Put(passage) => {
                let embedding = passage.embedding.as_ref().map_or(0, |embedding| embedding.as_bytes().len());
                ROW + 5 * passage.terms.len() + embedding
            }
            Self::Drop { .. } => ROW,
        }
    }
}

/// Rows by kind, each sorted by key; absent kinds are null.
#[derive(Debug)]
pub(super) struct PassageRows<'a> {
    shelves: Vec<String>,
    dropped: Option<Vec<SourceRow<'a>>>,
    passages: Option<Vec<PassageRow<'a>>>,
}

/// What becomes of a source.
#[derive(Default)]
struct Source<'a> {
    dropped: bool,
    parts: BTreeMap<u32, &'a Passage>,
}

impl<'a> PassageRows<'a> {
    /// `None` when there is nothing to write.
    pub(super) fn new(project: &'a str, writes: impl Iterator<Item = &'a PassageWrite>) -> Option<Self> {
        let mut sources: BTreeMap<(&Shelf, &str), Source<'a>> = BTreeMap::new();
        for write in writes {
            let source = sources.entry(write.source()).or_default();
            match write {
                PassageWrite::Put(passage) => {
                    source.parts.insert(passage.part, passage);
                }
                PassageWrite::Drop { .. } => *source = Source { dropped: true, parts: BTreeMap::new() },
            }
        }
        if sources.is_empty() {
            return None;
        }
        let name = |shelf: &Shelf| format!("{}/{}", shelf.kind.as_str(), shelf.namespace);
        let shelves: BTreeSet<String> = sources.keys().map(|(shelf, _)| name(shelf)).collect();
        let dropped = sources.iter().filter(|(_, source)| source.dropped);
        let dropped = dropped.map(|((shelf, source), _)| SourceRow { project, shelf, source }).collect();
        let passages = sources.values().flat_map(|source| source.parts.values());
        let passages = passages.map(|passage| PassageRow { project, passage }).collect();
        Some(Self {
            shelves: shelves.into_iter().collect(),
            dropped: some(dropped),
            passages: some(passages),
        })
    }
}

fn some<T>(rows: Vec<T>) -> Option<Vec<T>> {
    Some(rows).filter(|rows| !rows.is_empty())
}

impl ToSql for PassageRows<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        put_fields(ty, &[&self.shelves, &self.dropped, &self.passages], out)
    }

    fn accepts(ty: &Type) -> bool {
        matches!(ty.kind(), Kind::Composite(_)) && ty.name() == "cw_passage_writes"
    }

    to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_model::{CardId, Hash256, PassageKind, Timestamp};
    use uuid::Uuid;

    fn shelf(namespace: &str) -> Shelf {
        Shelf { kind: PassageKind::Knowledge, namespace: namespace.parse().unwrap() }
    }

    fn put(source: &str, part: u32, terms: &str) -> PassageWrite {
        PassageWrite::Put(Box::new(Passage {
            shelf: shelf("n"),
            source: source.to_owned(),
            part,
            card_id: CardId::from_uuid(Uuid::nil()),
            content_hash: Hash256::ZERO,
            terms: terms.to_owned(),
            embedding: None,
            created_at: Timestamp::from_micros(0),
        }))
    }

    fn drop(source: &str) -> PassageWrite {
        PassageWrite::Drop { shelf: shelf("n"), source: source.to_owned() }
    }

    #[test]
    fn what_is_put_before_its_source_is_dropped_does_not_come() {
        let writes = [
            put("b", 1, "early"),
            put("a", 7, "stays"),
            drop("b"),
            put("b", 2, "first"),
            put("b", 0, "late"),
            put("b", 2, "second"),
            drop("c"),
        ];
        let rows = PassageRows::new("p", writes.iter()).unwrap();
        let dropped: Vec<_> = rows.dropped.unwrap().iter().map(|row| row.source).collect();
        assert_eq!(dropped, ["b", "c"]);
        let kept: Vec<_> = rows.passages.unwrap().iter().map(|row| row.passage.terms.as_str()).collect();
        assert_eq!(kept, ["stays", "late", "second"]);
        assert_eq!(rows.shelves, ["knowledge/n"]);
    }

    #[test]
    fn no_writes_are_no_rows() {
        assert!(PassageRows::new("p", [].iter()).is_none());
        let writes = [drop("a")];
        let rows = PassageRows::new("p", writes.iter()).unwrap();
        assert!(rows.passages.is_none() && rows.dropped.is_some());
    }
}
