//! Which store a server uses, and opening it.

use crate::{data_dir::DataDir, failure::Failure, presence, private};
use cardwire_store::{Store, StoreError};
use cardwire_store_postgres::{PostgresConfig, PostgresStore};
use cardwire_store_sqlite::{Loss, OpenError, SqliteStore};
use clap::Args;
use secrecy::{ExposeSecret, SecretString};
use std::sync::Arc;

/// Which store a server opens.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// `sqlite` (in the data directory) or `postgres://…`. Put an address with a password into CARDWIRE_STORE:
    /// arguments can be read by every user of this machine.
    #[arg(
        long,
        value_name = "STORE",
        env = "CARDWIRE_STORE",
        hide_env_values = true,
        default_value = "sqlite",
        value_parser = StoreChoice::parse
    )]
    pub(crate) store: StoreChoice,
}

/// What `--store` says.
#[derive(Debug, Clone)]
pub(crate) enum StoreChoice {
    /// In the data directory.
    Sqlite,
    /// A Postgres database. The address may hold a password.
    Postgres(SecretString),
}

impl StoreChoice {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text == "sqlite" {
            Ok(Self::Sqlite)
        } else if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            Ok(Self::Postgres(text.into()))
        } else {
            // Not repeated: what was meant to be an address may hold a password.
            Err("expected `sqlite` or `postgres://…`".to_owned())
        }
    }

    /// Whether the address holds a password that other users of this machine can see in the list of processes.
    pub(crate) fn shows_password(&self, mut arguments: impl Iterator<Item = String>) -> bool {
        let Self::Postgres(url) = self else { return false };
        let url = url.expose_secret();
        let authority = url.split_once("://").map_or("", |(_, rest)| rest);
        let user = authority.split(['/', '?']).next().and_then(|host| host.rsplit_once('@'));
        let has_password = user.is_some_and(|(user, _)| user.contains(':')) || url.contains("password=");
        has_password && arguments.any(|argument| argument.contains(url))
    }

    pub(crate) async fn open(&self, dir: &DataDir, loss: Loss) -> Result<Arc<dyn Store>, Failure> {
        match self {
            Self::Sqlite => {
                let store = open_sqlite(dir, loss).map_err(|error| cannot_open(dir, error))?;
                Ok(Arc::new(store))
            }
            Self::Postgres(url) => open_postgres(url).await,
        }
    }
}

/// Opens the store in a data directory, which may itself be open to others: the file is not. A token without a database is
/// of a store that was lost, or is elsewhere: no new one is made beside it.
pub(crate) fn open_sqlite(dir: &DataDir, loss: Loss) -> Result<SqliteStore, OpenError> {
    let (path, token) = (dir.database(), dir.token_file());
    let is_empty = std::fs::metadata(&path).map_or(true, |found| found.len() == 0);
    if is_empty && token.exists() {
        return Err(OpenError::Missing { database: path, left: token });
    }
    if !path.exists() {
        private::create_file(&path)
            .map_err(|source| OpenError::File { path: path.display().to_string(), source })?;
    }
    SqliteStore::open_with(&path, loss)
}

/// Why the embedded store does not open.
pub(crate) fn cannot_open(dir: &DataDir, error: OpenError) -> Failure {
    let hint = match &error {
        OpenError::Held(holder) => return presence::in_use(dir, holder.pid),
        OpenError::Behind(_) | OpenError::Mark { .. } => {
            "put the missing files back, or restore a backup; `cardwire verify` looks at what is there without changing \
             it, and `cardwire up --accept-loss` goes on with it"
        }
        OpenError::Missing { .. } => {
            "put the database back, or restore a backup; if the store is elsewhere, name it with `--store` or \
             `CARDWIRE_STORE`; to begin anew, use another `--data-dir`, or move what is left away"
        }
        OpenError::Inconsistent(_) => {
            "restore a backup; `cardwire verify` looks at what is there without changing it"
        }
        OpenError::Migrate(_) | OpenError::File { .. } => {
            return Failure::failed(format!("cannot open the store in `{}`: {error}", dir.path().display()));
        }
    };
    Failure::failed(format!("cannot open the store in `{}`: {error}", dir.path().display())).hint(hint)
}

async fn open_postgres(url: &SecretString) -> Result<Arc<dyn Store>, Failure> {
    let config = PostgresConfig::new(url.expose_secret());
    match PostgresStore::open(config).await {
        Ok(store) => Ok(Arc::new(store)),
        Err(error) => {
            Err(Failure::failed(format!("cannot open the Postgres store: {error}")).hint(needed(&error)))
        }
    }
}

/// What a person can do about a database that cannot be used.
fn needed(error: &StoreError) -> &'static str {
    match error {
        StoreError::Unavailable(_) | StoreError::CannotWrite(_) | StoreError::Uncertain(_) => {
            "see whether the database is up, and whether `--store` or `CARDWIRE_STORE` names it"
        }
        StoreError::Internal(_) | StoreError::Damaged(_) | StoreError::DamagedCards(_) => {
            "the database must be in UTF-8; the login needs CREATEROLE, or the roles cardwire_owner, cardwire_app and \
             cardwire_system granted to it, none of them a superuser or with BYPASSRLS; docs/deployment.md tells all of it"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_cannot_be_used_is_not_one_that_is_down() {
        assert!(needed(&StoreError::Unavailable("gone".to_owned())).contains("is up"));
        let refused = needed(&StoreError::Internal("permission denied to create role".to_owned()));
        for word in ["UTF-8", "CREATEROLE", "cardwire_owner", "BYPASSRLS"] {
            assert!(refused.contains(word) && !refused.contains("is up"), "{refused}");
        }
    }

    /// SEC-03
    #[test]
    fn a_password_in_the_arguments_is_noticed() {
        let shown = |url: &str| {
            let arguments = ["cardwire".to_owned(), "up".to_owned(), format!("--store={url}")];
            StoreChoice::parse(url).unwrap().shows_password(arguments.into_iter())
        };
        assert!(shown("postgres://me:secret@localhost/db"));
        assert!(shown("postgres://localhost/db?password=secret"));
        assert!(!shown("postgres://me@localhost:5432/db"));
        assert!(!shown("sqlite"));
        let from_environment = StoreChoice::parse("postgres://me:secret@localhost/db").unwrap();
        assert!(!from_environment.shows_password(["cardwire".to_owned()].into_iter()));
    }

    /// SEC-09
    #[test]
    fn a_choice_cannot_be_printed_with_its_password() {
        let choice = StoreChoice::parse("postgres://me:secret@localhost/db").unwrap();
        assert!(!format!("{choice:?}").contains("secret"));
        assert!(!StoreChoice::parse("postgre://me:secret@localhost/db").unwrap_err().contains("secret"));
    }
}
