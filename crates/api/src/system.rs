//! What the server says of itself (API-14), and verification.

use cardwire_kernel::{RealmReport, VerifyReport, store::Health};
use cardwire_model::Realm;
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
    /// This program's version.
    pub version: &'static str,
    /// `sqlite` or `postgres`.
    pub store: &'static str,
    /// The store's own version.
    pub store_version: String,
    /// Number of the newest migration.
    pub schema: u32,
    /// Events that have no position yet.
    pub unnumbered_events: u64,
    /// Audit rows that are not sealed yet.
    pub unsealed_audit: u64,
}

impl ReadyOut {
    /// From the store's word.
    pub fn new(version: &'static str, health: Health) -> Self {
        Self {
            status: "ready",
            version,
            store: health.backend,
            store_version: health.version,
            schema: health.schema,
            unnumbered_events: health.unnumbered_events,
            unsealed_audit: health.unsealed_audit,
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
}

/// What verification found in one realm.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct VerifiedRealm {
    /// The project; null for the system's own rows.
    pub project_id: Option<String>,
    /// Whether everything fits.
    pub ok: bool,
    /// Cards whose hashes were recomputed.
    pub cards: u64,
    /// How many do not match.
    pub bad_cards: u64,
    /// Some of those.
    pub bad_card_ids: Vec<String>,
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
            sealed: found.sealed,
            unsealed: found.unsealed,
            broken_at: found.broken_at,
        };
        Self { ok: report.is_ok(), realms: report.realms.iter().map(realm).collect() }
    }
}
