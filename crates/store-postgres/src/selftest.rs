//! The start-up self-test (SEC-04): proves that tenants are kept apart, or refuses to serve.
//!
//! It asks the catalog whether every table with a `project_id` is closed and whether the app could get around that,
//! and then tries to cross from one project into another, for real, in a transaction that is rolled back.

use crate::{
    error::{pool_error, store_error},
    roles::Roles,
    sql,
};
use cardwire_store::StoreError;
use deadpool_postgres::{Client, Pool};

/// The tenant's rule as the server prints it.
const RULE: &str = "((project_id COLLATE \"POSIX\") = current_setting('cardwire.project'::text, true))";

/// What the probe raises, with what was possible as its message.
const CROSSED: &str = "CW002";

pub(crate) async fn run(app: &Pool, system: &Pool, roles: &Roles) -> Result<(), StoreError> {
    let mut client = app.get().await.map_err(pool_error)?;
    check_role(&client, &roles.app).await?;
    check_tables(&client, &roles.app).await?;
    probe(&mut client).await?;
    let client = system.get().await.map_err(pool_error)?;
    check_role(&client, &roles.system).await
}

fn refuse(why: &str) -> StoreError {
    StoreError::Internal(format!("refusing to serve, because tenants are not kept apart: {why}"))
}

async fn check_role(client: &Client, expected: &str) -> Result<(), StoreError> {
    let rows = client.query(sql::SELFTEST_ROLE, &[]).await.map_err(store_error)?;
    let row = rows.first().ok_or_else(|| refuse("the current role is not in the catalog"))?;
    let name: &str = row.get(0);
    let flaws = [
        (name != expected, format!("connections act as {name} instead of {expected}")),
        (row.get(1), format!("{name} is a superuser")),
        (row.get(2), format!("{name} may bypass row-level security")),
        (row.get(3), format!("{name} owns tables")),
        (row.get(4), format!("{name} is a member of other roles")),
    ];
    match flaws.into_iter().find(|(is_so, _)| *is_so) {
        Some((_, why)) => Err(refuse(&why)),
        None => Ok(()),
    }
}

async fn check_tables(client: &Client, app: &str) -> Result<(), StoreError> {
    let rows = client.query(sql::SELFTEST_TABLES, &[&app, &RULE]).await.map_err(store_error)?;
    let open: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
    if open.is_empty() {
        return Ok(());
    }
    Err(refuse(&format!("row-level security is not as it must be on {}", open.join(", "))))
}

async fn probe(client: &mut Client) -> Result<(), StoreError> {
    let tx = client.transaction().await.map_err(store_error)?;
    let probed = tx.batch_execute(sql::SELFTEST_PROBE).await;
    tx.rollback().await.map_err(store_error)?;
    probed.map_err(|error| match error.as_db_error() {
        Some(crossed) if crossed.code().code() == CROSSED => refuse(crossed.message()),
        _ => store_error(error),
    })
}
