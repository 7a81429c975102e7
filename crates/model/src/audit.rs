//! Audit rows and the hash chain that seals them (SEC-05).
//!
//! A row is written in the commit it records. A sealer chains committed rows afterwards, so writers never wait
//! for each other; `verify` recomputes the chain.

use crate::{CanonicalJson, Hash256, Timestamp, hash::FieldHasher};

macro_rules! audit_actions {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What was done or attempted.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum AuditAction {
            $($(#[$doc])* $name,)*
        }

        impl AuditAction {
            /// All actions, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name on the wire and in the store.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

audit_actions! {
    /// A project was created.
    ProjectCreate = "project.create",
    /// A project's title or settings were changed.
    ProjectUpdate = "project.update",
    /// A project was deleted.
    ProjectDelete = "project.delete",
    /// A token was minted.
    TokenCreate = "token.create",
    /// A token was revoked.
    TokenRevoke = "token.revoke",
    /// A card was soft-deleted.
    CardDelete = "card.delete",
    /// A box was rewritten.
    BoxRewrite = "box.rewrite",
    /// A box was forked: its cards were inherited by another.
    BoxFork = "box.fork",
    /// A context was packed for an agent.
    ContextPack = "context.pack",
    /// A request was refused for lack of scope or reach.
    AccessDenied = "access.denied",
    /// An agent was added to the roster or changed.
    AgentProvision = "agent.provision",
    /// A profile was written or deleted.
    ProfileWrite = "profile.write",
    /// A tool, a recipe or a team was written or deleted.
    ResourceWrite = "resource.write",
    /// A session was put back to an earlier checkpoint.
    SessionRestore = "session.restore",
    /// A session was deleted.
    SessionDelete = "session.delete",
    /// Documents were taken in or dropped.
    KnowledgeWrite = "knowledge.write",
    /// A handoff package was accepted.
    HandoffAccept = "handoff.accept",
    /// A turn was stopped.
    TurnStop = "turn.stop",
    /// Boxes were handed to an agent by a result.
    BoxGrant = "box.grant",
    /// A batch was called off.
    BatchCancel = "batch.cancel",
    /// The state of an agent was rebuilt.
    StateRebuild = "state.rebuild",
    /// The store was verified.
    AdminVerify = "admin.verify",
    /// The watchdog was run by hand.
    AdminTick = "admin.tick",
}

impl AuditAction {
    /// The action with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|action| action.as_str() == name)
    }
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuditVerdict {
    /// It was done.
    Allowed,
    /// It was refused.
    Denied,
}

impl AuditVerdict {
    /// The name on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
        }
    }

    /// The verdict with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Allowed, Self::Denied].into_iter().find(|verdict| verdict.as_str() == name)
    }
}

/// An audit row as decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAudit {
    /// Who acted: `tok_…`, or a part of the system such as `sys.kernel`.
    pub actor: String,
    /// What was done.
    pub action: AuditAction,
    /// To what.
    pub subject: String,
    /// How it ended.
    pub verdict: AuditVerdict,
    /// Facts about it; never content or secrets.
    pub detail: CanonicalJson,
    /// When.
    pub at: Timestamp,
}

/// An audit row as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// Given by the store on insert; unique and rising within a realm, but not in commit order.
    pub seq: u64,
    /// The row itself.
    pub audit: NewAudit,
    /// Its place in the chain, once sealed.
    pub sealed: Option<ChainHead>,
}

/// The end of a chain: how many rows it has and the hash of the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChainHead {
    /// Place of the last sealed row: 1, 2, 3, …; 0 before the first.
    pub position: u64,
    /// Its hash.
    pub hash: Hash256,
}

impl ChainHead {
    /// Before the first row.
    pub const START: Self = Self { position: 0, hash: Hash256::ZERO };

    /// The head after sealing `audit` of `realm_key`. The hash covers the realm, the place, the previous hash
    /// and every field, so that no row can be changed, moved, dropped or taken from another project unseen.
    pub fn extend(self, realm_key: &str, audit: &NewAudit) -> Self {
        let position = self.position + 1;
        let hash = FieldHasher::default()
            .field(realm_key.as_bytes())
            .field(&position.to_be_bytes())
            .field(self.hash.as_bytes())
            .field(audit.actor.as_bytes())
            .field(audit.action.as_str().as_bytes())
            .field(audit.subject.as_bytes())
            .field(audit.verdict.as_str().as_bytes())
            .field(audit.detail.as_bytes())
            .field(&audit.at.micros().to_be_bytes())
            .finish();
        Self { position, hash }
    }
}
