//! Numbered migrations, applied once each in one transaction, with checksums: a database that was changed by
//! other files than ours, or by a newer program, is refused.

use cardwire_model::Hash256;
use rusqlite::{Connection, params};

/// The migrations in order. The other backend has the same numbers and names.
const MIGRATIONS: &[(u32, &str, &str)] = &[
    (1, "facts", include_str!("../migrations/0001_facts.sql")),
    (2, "access", include_str!("../migrations/0002_access.sql")),
    (3, "events", include_str!("../migrations/0003_events.sql")),
    (4, "turns", include_str!("../migrations/0004_turns.sql")),
    (5, "hot_paths", include_str!("../migrations/0005_hot_paths.sql")),
    (6, "resources", include_str!("../migrations/0006_resources.sql")),
    (7, "batches", include_str!("../migrations/0007_batches.sql")),
    (8, "sessions", include_str!("../migrations/0008_sessions.sql")),
    (9, "queued", include_str!("../migrations/0009_queued.sql")),
    (10, "roster", include_str!("../migrations/0010_roster.sql")),
    (11, "event_groups", include_str!("../migrations/0011_event_groups.sql")),
    (12, "lists", include_str!("../migrations/0012_lists.sql")),
    (13, "parent_steps", include_str!("../migrations/0013_parent_steps.sql")),
    (14, "card_origins", include_str!("../migrations/0014_card_origins.sql")),
    (15, "listed_heads", include_str!("../migrations/0015_listed_heads.sql")),
    (16, "held", include_str!("../migrations/0016_held.sql")),
];

const LEDGER: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    number   INTEGER NOT NULL PRIMARY KEY,
    name     TEXT    NOT NULL,
    checksum TEXT    NOT NULL
) STRICT";

/// Why a database cannot be brought up to date.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// An applied migration is not the one this program has.
    #[error("migration {0:04} of this database differs from this program's; it was made by another version")]
    Differs(u32),
    /// The database is ahead of the program.
    #[error(
        "this database is at migration {found:04}, newer than this program's {known:04}; use a newer program"
    )]
    Newer {
        /// Of the database.
        found: u32,
        /// Of the program.
        known: u32,
    },
    /// The database is behind the program, and must not be changed.
    #[error(
        "this database is at migration {found:04}, and this program reads {known:04}; `cardwire up` brings it up to date, \
         where it may be written"
    )]
    Older {
        /// Of the database.
        found: u32,
        /// Of the program.
        known: u32,
    },
    /// SQLite failed.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

/// Brings the database up to date. Concurrent starters wait for each other.
pub(crate) fn migrate(conn: &mut Connection) -> Result<(), MigrateError> {
    let tx = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    tx.execute_batch(LEDGER)?;
    let applied = applied(&tx)?;
    for (number, name, text) in MIGRATIONS {
        let checksum = Hash256::of(text.as_bytes()).to_string();
        match applied.iter().find(|(applied, _)| applied == number) {
            Some((_, stored)) if *stored == checksum => {}
            Some(_) => return Err(MigrateError::Differs(*number)),
            None => {
                tx.execute_batch(text)?;
                tx.execute(
                    "INSERT INTO schema_migrations VALUES (?1, ?2, ?3)",
                    params![number, name, checksum],
                )?;
            }
        }
    }
    tx.commit()?;
    Ok(())
}

/// What was applied to the database, which is not newer than the program.
fn applied(conn: &Connection) -> Result<Vec<(u32, String)>, MigrateError> {
    let applied: Vec<(u32, String)> = conn
        .prepare("SELECT number, checksum FROM schema_migrations ORDER BY number")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let known = MIGRATIONS.len() as u32;
    match applied.last() {
        Some((found, _)) if *found > known => Err(MigrateError::Newer { found: *found, known }),
        Some(_) | None => Ok(applied),
    }
}

/// Makes sure that the database is up to date, without changing it.
pub(crate) fn check(conn: &Connection) -> Result<(), MigrateError> {
    let applied = applied(conn)?;
    for (number, _, text) in MIGRATIONS {
        match applied.iter().find(|(applied, _)| applied == number) {
            Some((_, stored)) if *stored == Hash256::of(text.as_bytes()).to_string() => {}
            Some(_) => return Err(MigrateError::Differs(*number)),
            None => {
                return Err(MigrateError::Older { found: number - 1, known: MIGRATIONS.len() as u32 });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh() -> Connection {
        let mut conn = Connection::open_in_memory().unwrap();
        migrate(&mut conn).unwrap();
        conn
    }

    fn schema(conn: &Connection) -> Vec<String> {
        // Shadow tables come with the index they belong to.
        let select = "SELECT sql FROM sqlite_schema
            WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                AND name NOT IN (SELECT name FROM pragma_table_list WHERE type = 'shadow')
            ORDER BY type DESC, name";
        conn.prepare(select).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn schema_sql_is_the_replay_of_all_migrations() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema.sql");
        let replay = schema(&fresh());
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            let note =
                "-- The whole schema, as the replay of all migrations leaves it. Checked by a test.\n\n";
            std::fs::write(path, format!("{note}{};\n", replay.join(";\n\n"))).unwrap();
        }
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(schema(&conn), replay);
    }

    #[test]
    fn migrating_again_changes_nothing_and_drift_is_refused() {
        let mut conn = fresh();
        migrate(&mut conn).unwrap();
        conn.execute("UPDATE schema_migrations SET checksum = 'x' WHERE number = 2", []).unwrap();
        assert!(matches!(migrate(&mut conn), Err(MigrateError::Differs(2))));
        conn.execute("INSERT INTO schema_migrations VALUES (999, 'later', 'x')", []).unwrap();
        assert!(matches!(migrate(&mut conn), Err(MigrateError::Newer { found: 999, .. })));
        assert!(matches!(check(&conn), Err(MigrateError::Newer { found: 999, .. })));
        conn.execute("DELETE FROM schema_migrations WHERE number IN (2, 999)", []).unwrap();
        assert!(matches!(check(&conn), Err(MigrateError::Older { found: 1, .. })));
    }
}
