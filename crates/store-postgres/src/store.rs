//! [`PostgresStore`]: the pools, and the half of the contract that the kernel needs.

use crate::{
    PostgresConfig,
    commit::Lanes,
    error::{pool_error, store_error},
    load::Loads,
    migrate,
    number::to_limit,
    pool::Pools,
    pulse::Pulse,
    roles::Roles,
    rows, selftest, sequencer, sql,
    tenant::across,
};
use async_trait::async_trait;
use cardwire_model::{ChainHead, Commit, Keys, Realm, Snapshot, Timestamp};
use cardwire_store::{CommitError, Outage, Store, StoreError, Unsealed};
use deadpool_postgres::{Pool, Transaction};
use futures_util::future::{BoxFuture, try_join};
use tokio_postgres::IsolationLevel;

/// A store in a PostgreSQL database.
pub struct PostgresStore {
    /// Acts as the app: sees one tenant at a time.
    pub(crate) app: Pool,
    /// Acts as the app, for logs of events alone.
    pub(crate) log: Pool,
    /// Acts as the system: sees the logs, tokens and answers of all, and where their passages stand.
    pub(crate) system: Pool,
    /// Reads for decisions.
    pub(crate) loads: Loads,
    lanes: Lanes,
    pub(crate) pulse: Pulse,
}

impl PostgresStore {
    /// Connects, brings the schema up to date, and proves that tenants are kept apart.
    pub fn open(config: PostgresConfig) -> BoxFuture<'static, Result<Self, StoreError>> {
        Box::pin(Self::connect(config))
    }

    async fn connect(config: PostgresConfig) -> Result<Self, StoreError> {
        let roles = Roles::new(&config.role_prefix)?;
        let (lanes, statement_rows) = (config.app_connections, config.statement_rows);
        let pools = Pools::new(config)?;
        let login = pools.login()?;
        let migrated = migrate::migrate(&login, &roles).await;
        login.close();
        migrated?;
        let (app, log, system) =
            (pools.app(&roles.app)?, pools.log(&roles.app)?, pools.system(&roles.system)?);
        selftest::run(&app, &system, &roles).await?;
        let lanes = Lanes::start(app.clone(), lanes, statement_rows);
        let (own, line) = pools.pulse(&roles.system)?;
        let pulse = Pulse::start(own, line, [app.clone(), log.clone(), system.clone()]).await?;
        Ok(Self { loads: Loads::new(app.clone()), lanes, pulse, app, log, system })
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn load(&self, realm: &Realm, keys: &Keys) -> Result<Snapshot, StoreError> {
        self.loads.load(realm, keys).await
    }

    async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        self.lanes.commit(commit).await
    }

    async fn number_events(&self) -> Result<u64, StoreError> {
        sequencer::number_events(&self.system).await
    }

    async fn unsealed_audit(&self, limit: usize) -> Result<Vec<Unsealed>, StoreError> {
        let mut client = self.system.get().await.map_err(pool_error)?;
        let tx = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
        let tx = tx.start().await.map_err(store_error)?;
        let realms = tx.prepare_cached(sql::UNSEALED_REALMS).await.map_err(store_error)?;
        let mut unsealed = vec![];
        for row in tx.query(&realms, &[]).await.map_err(store_error)? {
            // What cannot be read cannot be sealed, and nothing after it; other realms go on.
            let realm = rows::get(&row, 0)?;
            unsealed.extend(rows::readable(unsealed_of(&tx, realm, limit).await, realm)?);
        }
        tx.commit().await.map_err(store_error)?;
        Ok(unsealed)
    }

    async fn forget_answers(&self, before: Timestamp) -> Result<u64, StoreError> {
        let client = self.system.get().await.map_err(pool_error)?;
        let forget = client.prepare_cached(sql::FORGET_ANSWERS).await.map_err(store_error)?;
        client.execute(&forget, &[&before.micros()]).await.map_err(store_error)
    }

    fn distrust(&self) {
        self.pulse.distrust();
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.pulse.check()?;
        let rows = across(&self.app, sql::WRITABLE, &[]).await?;
        match rows::first(&rows, |row| rows::get::<bool>(row, 0))? {
            Some(true) => Ok(()),
            Some(false) | None => Err(StoreError::CannotWrite(Outage::ReadOnly)),
        }
    }

    async fn close(&self) {
        self.pulse.stop();
        self.lanes.close().await;
        self.app.close();
        self.log.close();
        self.system.close();
    }
}

/// The end of a realm's chain and what is to be added to it.
async fn unsealed_of(tx: &Transaction<'_>, realm: &str, limit: usize) -> Result<Unsealed, StoreError> {
    let chain_head = tx.prepare_cached(sql::CHAIN_HEAD).await.map_err(store_error)?;
    let unsealed = tx.prepare_cached(sql::UNSEALED_AUDIT).await.map_err(store_error)?;
    let limit = to_limit(limit);
    let (head, rows) = try_join(tx.query(&chain_head, &[&realm]), tx.query(&unsealed, &[&realm, &limit]))
        .await
        .map_err(store_error)?;
    Ok(Unsealed {
        realm: rows::realm(realm)?,
        head: rows::first(&head, rows::chain_head)?.unwrap_or(ChainHead::START),
        rows: rows::all(&rows, rows::audit)?,
    })
}
