//! How to reach the server. Must not read the environment or print a password.

use secrecy::SecretString;
use std::{path::PathBuf, time::Duration};

/// Where the database is and how many connections it may take.
#[derive(Debug, Clone)]
pub struct PostgresConfig {
    /// `postgres://user:password@host/database`. The user must be able to become the three roles, or to make them.
    pub url: SecretString,
    /// Connections for the work of tenants.
    pub app_connections: usize,
    /// Connections for work across tenants: numbering, sealing, looking up tokens, searching.
    pub system_connections: usize,
    /// How long to wait for the server, or for a free connection.
    pub connect_timeout: Duration,
    /// After how long the server gives a statement up.
    pub statement_timeout: Duration,
    /// New rows that one statement writes at most. A commit of more is several statements of one transaction.
    pub statement_rows: usize,
    /// Certificates (PEM) that vouch for the server; without it, those of the operating system.
    pub root_cert: Option<PathBuf>,
    /// What the names of the roles start with: `<prefix>_owner`, `<prefix>_app`, `<prefix>_system`.
    pub role_prefix: String,
}

impl PostgresConfig {
    /// The defaults for a database.
    pub fn new(url: impl Into<SecretString>) -> Self {
        Self {
            url: url.into(),
            app_connections: 8,
            system_connections: 4,
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(30),
            statement_rows: 2_048,
            root_cert: None,
            role_prefix: "cardwire".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_printed() {
        let config = PostgresConfig::new("postgres://me:hunter2@host/db".to_owned());
        assert!(!format!("{config:?}").contains("hunter2"));
    }
}
