//! The one way in which rows of a tenant are read, besides the functions that name their tenant themselves.
//!
//! BEGIN, the tenant's name, the select and COMMIT are put on the wire together and answered together: one round
//! trip. The name is local to the transaction, so the next user of the connection never inherits it. When anything
//! fails, the COMMIT that is already under way ends the failed transaction; when the caller goes away, likewise.
//! Invariant: either all of these statements are sent or none, because the first poll sends them all.

use crate::{
    error::{pool_error, store_error},
    sql,
};
use cardwire_store::StoreError;
use deadpool_postgres::{Client, Pool};
use futures_util::{
    TryStreamExt,
    future::{join, join3},
};
use std::pin::pin;
use tokio_postgres::{Row, Statement, types::ToSql};

const BEGIN: &str = "BEGIN READ ONLY";

pub(crate) type Param<'a> = &'a (dyn ToSql + Sync);

/// Runs one select as a tenant, and reads each row while the next ones are still on their way.
pub(crate) async fn read<T>(
    pool: &Pool,
    tenant: &str,
    sql: &'static str,
    params: &[Param<'_>],
    mut decode: impl FnMut(&Row) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let client = pool.get().await.map_err(pool_error)?;
    let frame = Frame::prepare(&client).await?;
    let statement = prepare(&client, sql).await?;
    let select = async {
        let rows = client.query_raw(&statement, params.iter().copied()).await.map_err(store_error)?;
        let mut rows = pin!(rows);
        let mut read = vec![];
        while let Some(row) = rows.try_next().await.map_err(store_error)? {
            read.push(decode(&row)?);
        }
        Ok(read)
    };
    frame.around(&client, tenant, select).await?
}

/// The statements before and after the select.
struct Frame {
    begin: Statement,
    set_tenant: Statement,
    commit: Statement,
}

impl Frame {
    async fn prepare(client: &Client) -> Result<Self, StoreError> {
        Ok(Self {
            begin: prepare(client, BEGIN).await?,
            set_tenant: prepare(client, sql::SET_TENANT).await?,
            commit: prepare(client, sql::END).await?,
        })
    }

    /// Sends everything: the futures of a join are first polled in order, and a query is sent when it is first
    /// polled. What the select says counts only if the transaction was opened, and it was its own.
    async fn around<T>(
        &self,
        client: &Client,
        tenant: &str,
        select: impl Future<Output = T>,
    ) -> Result<T, StoreError> {
        let tenant: [Param<'_>; 1] = [&tenant];
        let (opened, selected, ended) = join3(
            join(client.execute(&self.begin, &[]), client.execute(&self.set_tenant, &tenant)),
            select,
            client.execute(&self.commit, &[]),
        )
        .await;
        opened.0.and(opened.1).and(ended).map_err(store_error)?;
        Ok(selected)
    }
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
