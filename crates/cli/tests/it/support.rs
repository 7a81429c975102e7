//! What every test here uses: a home for data, servers, commands, HTTP.
//!
//! ```ignore
//! let server = Server::start(&[]);                       // SQLite, a fresh data directory, a free port
//! let reply = server.post("/projects", json!({ "project_id": "p1" }));
//! assert_eq!(reply.status, 201);
//! let run = server.home.cardwire(&["project", "list"]);  // the command line, on the same data directory
//! server.kill();                                         // SIGKILL; `terminate` is SIGTERM
//! let again = Home::up(&home, &[]);                      // another server on the same data
//! ```
//!
//! Nothing waits for time to pass: lines are read from the process, ends are waited for, and every wait has a
//! deadline that fails the test with the server's log.

mod everywhere;
mod home;
mod http;
mod paste;
mod server;
mod terminal;
mod wait;

pub(crate) use everywhere::everywhere;
pub(crate) use home::{Backend, Home, Run};
pub(crate) use http::{Reply, exchange};
pub(crate) use paste::{Pasted, paste};
pub(crate) use server::{Lines, Server, send_signal};
pub(crate) use wait::{DEADLINE, eventually};
