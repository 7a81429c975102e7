//! What the server says of itself (API-14), verification, and the watchdog by hand.

use crate::parse;
use cardwire_kernel::{
    RealmReport, TickAction, TickReport, VerifyReport,
    store::{Health, Reach},
};
use cardwire_model::{Invalid, Realm, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The process is alive.
#[derive(Debug, Serialize, ToSchema)]
pub struct HealthOut {
    /// Always `ok`.
    pub status: &'static str,
}

/// The server can do its work.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReadyOut {
    /// Always `ready`.
    pub status: &'static str,
    /// This program's version. This and what follows: with a token only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<&'static str>,
    /// `sqlite` or `postgres`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<&'static str>,
    /// The store's own version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store_version: Option<String>,
    /// Number of the newest migration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<u32>,
    /// Events that have no position yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unnumbered_events: Option<u64>,
    /// Audit rows that are not sealed yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsealed_audit: Option<u64>,
}

impl ReadyOut {
    /// And nothing more.
    pub fn yes() -> Self {
        Self {
            status: "ready",
            version: None,
            store: None,
            store_version: None,
            schema: None,
            unnumbered_events: None,
            unsealed_audit: None,
        }
    }

    /// From the store's word.
    pub fn new(version: &'static str, health: Health) -> Self {
        Self {
            status: "ready",
            version: Some(version),
            store: Some(health.backend),
            store_version: Some(health.version),
            schema: Some(health.schema),
            unnumbered_events: Some(health.unnumbered_events),
            unsealed_audit: Some(health.unsealed_audit),
        }
    }
}

/// What verification found.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct VerifyOut {
    /// Whether everything fits.
    pub ok: bool,
    /// One entry per project, and one for the system.
    pub realms: Vec<VerifiedRealm>,
    /// Why the projects behind the last one could not be looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread_projects: Option<String>,
    /// How far the store was acknowledged, and how far it is; null where no mark outside the database tells.
    #[schema(required)]
    pub reach: Option<ReachOut>,
    /// Whether the verification is in the audit log.
    pub recorded: bool,
}

/// How far a log was acknowledged, by a mark outside the database, and how far it is.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ReachOut {
    /// The project that was written last; null for the system.
    #[schema(required)]
    pub project_id: Option<String>,
    /// `events` or `audit`.
    pub log: String,
    /// The last position that was acknowledged.
    pub acknowledged: u64,
    /// The last position there is. Less than what was acknowledged: commits are lost.
    pub found: u64,
}

impl From<&Reach> for ReachOut {
    fn from(reach: &Reach) -> Self {
        Self {
            project_id: reach.realm.project().map(ToString::to_string),
            log: reach.log.as_str().to_owned(),
            acknowledged: reach.acknowledged,
            found: reach.found,
        }
    }
}

/// What verification found in one realm.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct VerifiedRealm {
    /// The project; null for the system's own rows.
    pub project_id: Option<String>,
    /// Whether everything fits.
    pub ok: bool,
    /// Cards that were looked at.
    pub cards: u64,
    /// How many do not match their hashes, or cannot be read.
    pub bad_cards: u64,
    /// Some of those.
    pub bad_card_ids: Vec<String>,
    /// Why the cards behind the last one could not be looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread_cards: Option<String>,
    /// Audit rows in the chain.
    pub sealed: u64,
    /// Audit rows not yet in the chain.
    pub unsealed: u64,
    /// Place of the first row that does not fit the chain.
    pub broken_at: Option<u64>,
}

impl From<&VerifyReport> for VerifyOut {
    fn from(report: &VerifyReport) -> Self {
        let realm = |found: &RealmReport| VerifiedRealm {
            project_id: match &found.realm {
                Realm::System => None,
                Realm::Project(project) => Some(project.to_string()),
            },
            ok: found.is_ok(),
            cards: found.cards,
            bad_cards: found.bad_cards,
            bad_card_ids: found.bad_card_ids.clone(),
            unread_cards: found.unread_cards.clone(),
            sealed: found.sealed,
            unsealed: found.unsealed,
            broken_at: found.broken_at,
        };
        Self {
            ok: report.is_ok(),
            realms: report.realms.iter().map(realm).collect(),
            unread_projects: report.unread_projects.clone(),
            reach: report.reach.as_ref().map(ReachOut::from),
            recorded: report.is_recorded,
        }
    }
}

/// When the watchdog is to believe it is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TickIn {
    /// RFC 3339; the server's time when absent.
    #[serde(default)]
    #[schema(format = DateTime)]
    pub now: Option<String>,
}

impl TickIn {
    /// The moment, said here or in the query. Who says both must mean the same one.
    pub fn now(&self, in_query: Option<Timestamp>) -> Result<Option<Timestamp>, Invalid> {
        let here = parse::given("now", self.now.as_deref())?;
        match (here, in_query) {
            (Some(here), Some(there)) if here != there => {
                Err(Invalid::field("now", "the body and the query say different times"))
            }
            (Some(_) | None, _) => Ok(here.or(in_query)),
        }
    }
}

/// What the watchdog did.
#[derive(Debug, Serialize, ToSchema)]
pub struct TickOut {
    /// The moment it was run for.
    pub now: String,
    /// What was done, in order.
    pub actions: Vec<TickActionOut>,
}

/// One thing the watchdog did, or tried to do.
#[derive(Debug, Serialize, ToSchema)]
pub struct TickActionOut {
    /// `ring`, `reap`, `take_back`, `expire_tools`, `requeue`, `archive`, `dispatch_next` or `rebuild`; with a batch `begin_close`,
    /// `join`, `dispatch` or `watch`; `sweep`.
    pub action: &'static str,
    /// In which project.
    pub project_id: String,
    /// For which agent.
    #[schema(required)]
    pub agent_id: Option<String>,
    /// For which turn.
    #[schema(required)]
    pub agent_turn_id: Option<String>,
    /// For which inbox row.
    #[schema(required)]
    pub inbox_id: Option<String>,
    /// For which batch.
    #[schema(required)]
    pub batch_id: Option<String>,
    /// Why it could not be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl From<&TickReport> for TickOut {
    fn from(report: &TickReport) -> Self {
        let action = |done: &TickAction| TickActionOut {
            action: done.action,
            project_id: done.project.to_string(),
            agent_id: done.agent_id.as_ref().map(ToString::to_string),
            agent_turn_id: done.turn_id.map(|id| id.to_string()),
            inbox_id: done.inbox_id.map(|id| id.to_string()),
            batch_id: done.batch_id.map(|id| id.to_string()),
            error: done.error.clone(),
        };
        Self { now: report.now.to_string(), actions: report.actions.iter().map(action).collect() }
    }
}
