//! One check, whichever way a command is answered.

use super::{Backend, Home, Server};
use std::sync::Arc;

/// Runs a check with the embedded store, and with a server on each store, each time in a fresh project `p1`.
pub(crate) fn everywhere(check: impl Fn(&Arc<Home>)) {
    let home = Home::new(Backend::Sqlite);
    home.ok(&["project", "create", "p1"]);
    check(&home);
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let server = Server::on(backend, &[]);
        server.home.ok(&["project", "create", "p1"]);
        check(&server.home);
    }
}
