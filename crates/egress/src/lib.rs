//! The one door through which calls leave: models, tools, MCP over HTTP, embeddings.
//!
//! The door knows who asked for a call, where the call may go, and which key belongs there. It must not know models, tools,
//! turns, or the environment: the operator's settings arrive as values. Invariants: a call that a project asks for reaches
//! no address of the server's own network unless the operator allows it, whatever its name resolves to (F-39); a key is
//! sent to its own hosts and nowhere else (F-38); nothing follows a redirect.

mod allowed;
mod clients;
mod door;
mod keyring;
mod public;
mod refused;

pub use allowed::{ALLOW, Allowed};
pub use door::{Asker, Destination, Door, parse};
pub use keyring::{Keyring, OWN_HOSTS, key_variables};
pub use refused::{Refused, innermost, refusal};
