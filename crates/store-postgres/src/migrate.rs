//! Brings the schema up to date: numbered migrations once each, then functions and access rights whenever they
//! changed, all in one transaction under a lock. A database that was changed by other files than ours, or by a
//! newer program, is refused and left alone.
//!
//! Concurrent starters wait for each other; the second finds nothing to do.

use crate::{
    PostgresConfig,
    error::{pool_error, store_error},
    roles::Roles,
    sql,
};
use cardwire_model::{Hash256, hash::FieldHasher};
use cardwire_store::StoreError;
use deadpool_postgres::{Pool, Transaction};

/// The migrations in order. The other backend has the same numbers and names.
const MIGRATIONS: &[Migration] = &[
    Migration { number: 1, name: "facts", text: include_str!("../migrations/0001_facts.sql") },
    Migration { number: 2, name: "access", text: include_str!("../migrations/0002_access.sql") },
    Migration { number: 3, name: "events", text: include_str!("../migrations/0003_events.sql") },
    Migration { number: 4, name: "turns", text: include_str!("../migrations/0004_turns.sql") },
    Migration { number: 5, name: "hot_paths", text: include_str!("../migrations/0005_hot_paths.sql") },
    Migration { number: 6, name: "resources", text: include_str!("../migrations/0006_resources.sql") },
    Migration { number: 7, name: "batches", text: include_str!("../migrations/0007_batches.sql") },
    Migration { number: 8, name: "sessions", text: include_str!("../migrations/0008_sessions.sql") },
    Migration { number: 9, name: "queued", text: include_str!("../migrations/0009_queued.sql") },
    Migration { number: 10, name: "roster", text: include_str!("../migrations/0010_roster.sql") },
    Migration { number: 11, name: "event_groups", text: include_str!("../migrations/0011_event_groups.sql") },
    Migration { number: 12, name: "lists", text: include_str!("../migrations/0012_lists.sql") },
    Migration { number: 13, name: "parent_steps", text: include_str!("../migrations/0013_parent_steps.sql") },
    Migration { number: 14, name: "card_origins", text: include_str!("../migrations/0014_card_origins.sql") },
    Migration { number: 15, name: "listed_heads", text: include_str!("../migrations/0015_listed_heads.sql") },
    Migration { number: 16, name: "held", text: include_str!("../migrations/0016_held.sql") },
];

struct Migration {
    number: i32,
    name: &'static str,
    text: &'static str,
}

/// Under this number the ledger keeps the checksum of what is made again when it changes.
const FUNCTIONS: i32 = 0;

/// Any number will do as long as every program takes the same one.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7310861342417690213)";

const LEDGER: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    number     integer NOT NULL PRIMARY KEY,
    name       text    NOT NULL,
    checksum   text    NOT NULL,
    applied_at bigint  NOT NULL
)";

const APPLIED: &str = "SELECT number, checksum FROM schema_migrations ORDER BY number";

const RECORD: &str = "INSERT INTO schema_migrations (number, name, checksum, applied_at)
VALUES ($1, $2, $3, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
ON CONFLICT (number) DO UPDATE SET checksum = excluded.checksum, applied_at = excluded.applied_at";

/// Functions that an older program left with other parameters would stay beside the new ones.
const DROP_FUNCTIONS: &str = "DO $drop$
DECLARE
    routine regprocedure;
BEGIN
    FOR routine IN
        SELECT oid FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname LIKE 'cw\\_%'
    LOOP
        EXECUTE format('DROP FUNCTION %s', routine);
    END LOOP;
END
$drop$";

pub(crate) async fn migrate(login: &Pool, roles: &Roles) -> Result<(), StoreError> {
    let mut client = login.get().await.map_err(pool_error)?;
    let tx = client.transaction().await.map_err(store_error)?;
    tx.batch_execute(LOCK).await.map_err(store_error)?;
    run(&tx, &roles.fill(sql::ROLES)).await?;
    // The owner's, not the login's: whoever logs in next time must find the same owner.
    run(&tx, &format!("SET LOCAL ROLE {}; SET LOCAL client_min_messages = warning", roles.owner)).await?;
    run(&tx, LEDGER).await?;

    let mut applied = Vec::new();
    for row in tx.query(APPLIED, &[]).await.map_err(store_error)? {
        applied.push((row.get::<_, i32>(0), row.get::<_, String>(1)));
    }
    check_age(&applied)?;
    let checksum = repeatable_checksum(roles);
    let is_made = |(number, stored): &(i32, String)| *number == FUNCTIONS && *stored == checksum;
    let is_current = applied.iter().any(is_made);
    if !is_current {
        // First: a table cannot go while a function takes its rows.
        run(&tx, DROP_FUNCTIONS).await?;
    }
    for migration in MIGRATIONS {
        let checksum = Hash256::of(migration.text.as_bytes()).to_string();
        match applied.iter().find(|(number, _)| *number == migration.number) {
            Some((_, stored)) if *stored == checksum => {}
            Some(_) => return Err(differs(migration)),
            None => {
                run(&tx, migration.text).await?;
                record(&tx, migration.number, migration.name, &checksum).await?;
            }
        }
    }
    if !is_current {
        for function in sql::FUNCTIONS {
            run(&tx, function).await?;
        }
        run(&tx, &roles.fill(sql::ACCESS)).await?;
        record(&tx, FUNCTIONS, "functions", &checksum).await?;
    }
    tx.commit().await.map_err(store_error)
}

fn check_age(applied: &[(i32, String)]) -> Result<(), StoreError> {
    let known = MIGRATIONS.last().map_or(0, |migration| migration.number);
    match applied.last() {
        Some((found, _)) if *found > known => Err(StoreError::Internal(format!(
            "this database is at migration {found:04}, newer than this program's {known:04}; use a newer program"
        ))),
        _ => Ok(()),
    }
}

fn differs(migration: &Migration) -> StoreError {
    let Migration { number, name, .. } = migration;
    StoreError::Internal(format!(
        "migration {number:04}_{name} of this database differs from this program's; it was made by another version"
    ))
}

/// Tells schemas apart: two programs with the same checksum make the same schema.
pub fn schema_checksum(config: &PostgresConfig) -> Result<String, StoreError> {
    Ok(repeatable_checksum(&Roles::new(&config.role_prefix)?))
}

/// Covers the migrations as well: a new table needs its rights.
fn repeatable_checksum(roles: &Roles) -> String {
    let migrations = MIGRATIONS.iter().map(|migration| migration.text);
    let texts = migrations.chain(sql::FUNCTIONS.iter().copied());
    let hasher = texts.fold(FieldHasher::default(), |hasher, text| hasher.field(text.as_bytes()));
    hasher.field(roles.fill(sql::ACCESS).as_bytes()).finish().to_string()
}

async fn run(tx: &Transaction<'_>, statements: &str) -> Result<(), StoreError> {
    tx.batch_execute(statements).await.map_err(store_error)
}

async fn record(tx: &Transaction<'_>, number: i32, name: &str, checksum: &str) -> Result<(), StoreError> {
    tx.execute(RECORD, &[&number, &name, &checksum]).await.map(drop).map_err(store_error)
}
