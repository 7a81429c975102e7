//! The one way in which rows of a tenant are read.
//!
//! BEGIN, the tenant's name, the selects and COMMIT are put on the wire together and answered together: one round
//! trip. The name is local to the transaction, so the next user of the connection never inherits it. When anything
//! fails, the COMMIT that is already under way ends the failed transaction; when the caller goes away, likewise.
//! Invariant: either all of these statements are sent or none, because the first poll sends them all.

use crate::{
    error::{pool_error, store_error},
    sql,
};
use cardwire_store::StoreError;
use deadpool_postgres::{Client, Pool};
use futures_util::future::{join, join_all, join3};
use tokio_postgres::{Row, Statement, types::ToSql};

/// One statement is consistent by itself; several need one snapshot.
const BEGIN_ONE: &str = "BEGIN READ ONLY";
const BEGIN_MANY: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
const COMMIT: &str = "COMMIT";

pub(crate) type Param<'a> = &'a (dyn ToSql + Sync);

/// A statement of `sql/read` and its parameters.
pub(crate) struct Select<'a> {
    pub(crate) sql: &'static str,
    pub(crate) params: Vec<Param<'a>>,
}

/// Runs one select as a tenant.
pub(crate) async fn read(
    pool: &Pool,
    tenant: &str,
    sql: &'static str,
    params: &[Param<'_>],
) -> Result<Vec<Row>, StoreError> {
    let select = Select { sql, params: params.to_vec() };
    let mut answers = read_all(pool, tenant, &[select]).await?;
    Ok(answers.pop().unwrap_or_default())
}

/// Runs selects as a tenant, all in one snapshot; answers the rows of each.
pub(crate) async fn read_all(
    pool: &Pool,
    tenant: &str,
    selects: &[Select<'_>],
) -> Result<Vec<Vec<Row>>, StoreError> {
    let client = pool.get().await.map_err(pool_error)?;
    let begin = if selects.len() == 1 { BEGIN_ONE } else { BEGIN_MANY };
    let begin = prepare(&client, begin).await?;
    let set_tenant = prepare(&client, sql::SET_TENANT).await?;
    let commit = prepare(&client, COMMIT).await?;
    let mut statements = Vec::with_capacity(selects.len());
    for select in selects {
        statements.push(prepare(&client, select.sql).await?);
    }

    let tenant: [Param<'_>; 1] = [&tenant];
    let queries =
        statements.iter().zip(selects).map(|(statement, select)| client.query(statement, &select.params));
    // Futures of a join are polled in order, and a query is sent when it is first polled.
    let (opened, answers, ended) = join3(
        join(client.execute(&begin, &[]), client.execute(&set_tenant, &tenant)),
        join_all(queries),
        client.execute(&commit, &[]),
    )
    .await;
    opened.0.map_err(store_error)?;
    opened.1.map_err(store_error)?;
    let answers = answers.into_iter().collect::<Result<_, _>>().map_err(store_error)?;
    ended.map_err(store_error)?;
    Ok(answers)
}

/// Runs one statement across tenants. Only the system's connections see anything this way.
pub(crate) async fn across(
    pool: &Pool,
    sql: &'static str,
    params: &[Param<'_>],
) -> Result<Vec<Row>, StoreError> {
    let client = pool.get().await.map_err(pool_error)?;
    let statement = prepare(&client, sql).await?;
    client.query(&statement, params).await.map_err(store_error)
}

async fn prepare(client: &Client, sql: &str) -> Result<Statement, StoreError> {
    client.prepare_cached(sql).await.map_err(store_error)
}
