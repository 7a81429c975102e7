//! A database of one's own, the store in it, and a way past the store for breaking things on purpose.

use cardwire_model::{Commit, ProjectId, Write};
use cardwire_store::{Store, StoreError};
use cardwire_store_postgres::{PostgresConfig, PostgresStore, schema_checksum};
use cardwire_testkit::{
    ProjectBuilder,
    fixtures::project_id,
    scratch::{POSTGRES, ScratchDatabase},
};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};

pub(crate) struct Scratch(ScratchDatabase);

impl Scratch {
    /// A database with the schema.
    pub(crate) async fn new() -> Self {
        let checksum = schema_checksum(&PostgresConfig::new("")).unwrap();
        let migrate =
            async |url: String| PostgresStore::open(PostgresConfig::new(url)).await.unwrap().close().await;
        Self(ScratchDatabase::migrated(POSTGRES, &checksum, migrate).await)
    }

    /// A database without tables.
    pub(crate) async fn empty() -> Self {
        Self(ScratchDatabase::empty(POSTGRES).await)
    }

    pub(crate) fn config(&self) -> PostgresConfig {
        PostgresConfig::new(self.0.url().to_owned())
    }

    pub(crate) fn url(&self) -> &str {
        self.0.url()
    }

    pub(crate) async fn open(&self) -> PostgresStore {
        self.try_open().await.expect("the store opens")
    }

    pub(crate) async fn try_open(&self) -> Result<PostgresStore, StoreError> {
        PostgresStore::open(self.config()).await
    }

    /// A connection as the superuser, or as one of the roles.
    pub(crate) async fn connect(&self, role: Option<&str>) -> Connection {
        let (client, connection) = tokio_postgres::connect(self.0.url(), NoTls).await.expect("a connection");
        let task = tokio::spawn(async move {
            // A test that kills its connection ends it with an error.
            let _ = connection.await;
        });
        if let Some(role) = role {
            client.batch_execute(&format!("SET ROLE {role}")).await.expect("the role");
        }
        Connection { client, task }
    }

    /// Runs statements as the superuser.
    pub(crate) async fn execute(&self, statements: &str) {
        self.connect(None).await.client.batch_execute(statements).await.expect(statements);
    }

    /// The first column of a query, as the superuser, as text.
    pub(crate) async fn column(&self, query: &str) -> Vec<String> {
        let rows = self.connect(None).await.client.query(query, &[]).await.expect(query);
        rows.iter().map(|row| row.get(0)).collect()
    }
}

pub(crate) struct Connection {
    pub(crate) client: Client,
    task: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Makes a project.
pub(crate) async fn create_project(store: &PostgresStore, name: &str) -> ProjectId {
    let id = project_id(name);
    let mut commit = Commit::new(id.clone());
    commit.writes.push(Write::CreateProject(ProjectBuilder::new(id.clone()).build()));
    store.commit(commit).await.expect("a new project");
    id
}

/// The error of something that must not succeed.
pub(crate) fn refusal<T>(outcome: Result<T, StoreError>) -> String {
    match outcome {
        Ok(_) => panic!("expected a refusal"),
        Err(error) => error.to_string(),
    }
}
