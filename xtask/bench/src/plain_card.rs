//! A card as a plain program would read it: every column, owned, nothing checked.

use uuid::Uuid;

/// Joins entries and cards; text for both databases.
pub(crate) const BOX_ROWS: &str = include_str!("../sql/box_rows.sql");

/// One row of [`BOX_ROWS`].
#[expect(dead_code, reason = "reading the columns is the work; nobody looks at them")]
pub(crate) struct PlainCard {
    seq: i64,
    project_id: String,
    card_id: Uuid,
    kind: String,
    role: String,
    author_id: Option<String>,
    content: String,
    content_hash: [u8; 32],
    fact_hash: [u8; 32],
    tokens: i64,
    tool_calls: Option<String>,
    tool_call_id: Option<String>,
    metadata: String,
    origin: String,
    credential: bool,
    ttl_seconds: Option<i64>,
    expires_at: Option<i64>,
    deleted_at: Option<i64>,
    created_at: i64,
}

impl PlainCard {
    pub(crate) fn from_sqlite(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get(0)?,
            project_id: row.get(1)?,
            card_id: Uuid::from_bytes(row.get(2)?),
            kind: row.get(3)?,
            role: row.get(4)?,
            author_id: row.get(5)?,
            content: row.get(6)?,
            content_hash: row.get(7)?,
            fact_hash: row.get(8)?,
            tokens: row.get(9)?,
            tool_calls: row.get(10)?,
            tool_call_id: row.get(11)?,
            metadata: row.get(12)?,
            origin: row.get(13)?,
            credential: row.get(14)?,
            ttl_seconds: row.get(15)?,
            expires_at: row.get(16)?,
            deleted_at: row.get(17)?,
            created_at: row.get(18)?,
        })
    }

    pub(crate) fn from_postgres(row: &tokio_postgres::Row) -> anyhow::Result<Self> {
        let hash = |at| -> anyhow::Result<[u8; 32]> { Ok(row.try_get::<_, &[u8]>(at)?.try_into()?) };
        Ok(Self {
            seq: row.try_get(0)?,
            project_id: row.try_get(1)?,
            card_id: row.try_get(2)?,
            kind: row.try_get(3)?,
            role: row.try_get(4)?,
            author_id: row.try_get(5)?,
            content: row.try_get(6)?,
            content_hash: hash(7)?,
            fact_hash: hash(8)?,
            tokens: row.try_get(9)?,
            tool_calls: row.try_get(10)?,
            tool_call_id: row.try_get(11)?,
            metadata: row.try_get(12)?,
            origin: row.try_get(13)?,
            credential: row.try_get(14)?,
            ttl_seconds: row.try_get(15)?,
            expires_at: row.try_get(16)?,
            deleted_at: row.try_get(17)?,
            created_at: row.try_get(18)?,
        })
    }
}
