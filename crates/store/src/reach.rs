//! [`Reach`]: how far a store was acknowledged, and how far it is.
//!
//! Invariant: a store that is not whole has lost something that somebody was told is durable (NF-01).

use cardwire_model::Realm;
use std::fmt;

/// Which of the two logs of a realm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// Its events.
    Events,
    /// Its audit rows.
    Audit,
}

impl LogKind {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Audit => "audit",
        }
    }
}

/// How far a log was acknowledged, by a mark outside the database, and how far it is found to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// Whose log: the one that was written last.
    pub realm: Realm,
    /// Which one.
    pub log: LogKind,
    /// The last position that the mark tells of.
    pub acknowledged: u64,
    /// The last position there is; where another entry stands at the acknowledged one, the position before it.
    pub found: u64,
}

impl Reach {
    /// Whether everything that was acknowledged is there.
    pub const fn is_whole(&self) -> bool {
        self.found >= self.acknowledged
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { realm, log, acknowledged, found } = self;
        let what = match log {
            LogKind::Events => "event",
            LogKind::Audit => "audit row",
        };
        match realm {
            Realm::System => write!(f, "acknowledged up to {what} {acknowledged} of the system"),
            Realm::Project(project) => {
                write!(f, "acknowledged up to {what} {acknowledged} of project {project}")
            }
        }?;
        write!(f, ", found up to {found}")
    }
}
