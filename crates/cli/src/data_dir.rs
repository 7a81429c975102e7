//! The data directory: which files it holds, and the admin token in it.

use crate::{failure::Failure, private};
use cardwire_model::TokenSecret;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Where a server keeps what is its own.
#[derive(Debug, Clone)]
pub(crate) struct DataDir(PathBuf);

impl DataDir {
    pub(crate) fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The embedded store.
    pub(crate) fn database(&self) -> PathBuf {
        self.0.join("cardwire.db")
    }

    /// The admin token and nothing else.
    pub(crate) fn token_file(&self) -> PathBuf {
        self.0.join("admin.token")
    }

    /// The address of the live server.
    pub(crate) fn server_file(&self) -> PathBuf {
        self.0.join("server.json")
    }

    /// Locked as long as a server lives.
    pub(crate) fn lock_file(&self) -> PathBuf {
        self.0.join("server.lock")
    }

    /// Makes the directory for its owner only.
    pub(crate) fn create(&self) -> Result<(), Failure> {
        private::create_dir(&self.0).map_err(|error| Failure::file("create", &self.0, &error))
    }

    /// The token, if the file is there.
    pub(crate) fn read_token(&self) -> Result<Option<TokenSecret>, Failure> {
        let path = self.token_file();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::file("read", &path, &error)),
        };
        match TokenSecret::from_text(text.trim()) {
            Ok(secret) => Ok(Some(secret)),
            Err(_) => Err(Failure::failed(format!("`{}` does not hold a token", path.display()))
                .hint("remove the file; the next `cardwire up` makes a new one")),
        }
    }

    pub(crate) fn write_token(&self, secret: &TokenSecret) -> Result<(), Failure> {
        let path = self.token_file();
        private::write(&path, secret.expose()).map_err(|error| Failure::file("write", &path, &error))
    }
}
