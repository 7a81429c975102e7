//! `cardwire verify`: recomputes what can be recomputed, page by page, and says what does not fit (SEC-05).

use crate::{Caller, Kernel, KernelError};
use cardwire_model::{ChainHead, Realm};
use cardwire_protocol::audit;
use cardwire_store::{CommitError, RowFilter, StoreError};

const PAGE: usize = 500;
/// Cards are read whole, and one may have a megabyte.
const CARD_PAGE: usize = 32;
/// Bad cards named per realm; the rest are counted.
const NAMED: usize = 20;

/// What verification found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// One entry per project, and one for the system.
    pub realms: Vec<RealmReport>,
}

/// What it found in one realm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealmReport {
    /// Whose rows.
    pub realm: Realm,
    /// Cards whose hashes were recomputed.
    pub cards: u64,
    /// How many of them do not match.
    pub bad_cards: u64,
    /// Some of those.
    pub bad_card_ids: Vec<String>,
    /// Audit rows that are in the chain.
    pub sealed: u64,
    /// Audit rows that are not yet.
    pub unsealed: u64,
    /// Place of the first row that does not fit the chain.
    pub broken_at: Option<u64>,
}

impl RealmReport {
    /// Whether everything fits.
    pub fn is_ok(&self) -> bool {
        self.bad_cards == 0 && self.broken_at.is_none()
    }
}

impl VerifyReport {
    /// Whether everything fits.
    pub fn is_ok(&self) -> bool {
        self.realms.iter().all(RealmReport::is_ok)
    }
}

impl Kernel {
    /// Recomputes card hashes and audit chains of everything in the store. Damage is found, not repaired.
    pub async fn verify(&self, caller: &Caller) -> Result<VerifyReport, KernelError> {
        let mut report = VerifyReport { realms: vec![self.verify_realm(&Realm::System).await?] };
        let mut after = None;
        loop {
            let page = self.store.projects(after.as_ref(), PAGE).await?;
            for project in &page {
                report.realms.push(self.verify_realm(&Realm::from(project.id.clone())).await?);
            }
            match page.last() {
                Some(last) => after = Some(last.id.clone()),
                None => break,
            }
        }
        self.record_verification(caller, &report).await?;
        Ok(report)
    }

    async fn verify_realm(&self, realm: &Realm) -> Result<RealmReport, KernelError> {
        let mut report = RealmReport {
            realm: realm.clone(),
            cards: 0,
            bad_cards: 0,
            bad_card_ids: vec![],
            sealed: 0,
            unsealed: 0,
            broken_at: None,
        };
        self.verify_cards(&mut report).await?;
        self.verify_chain(&mut report).await?;
        Ok(report)
    }

    async fn verify_cards(&self, report: &mut RealmReport) -> Result<(), KernelError> {
        let Realm::Project(project) = report.realm.clone() else { return Ok(()) };
        let (mut after, mut size) = (None, CARD_PAGE);
        loop {
            let page = match self.store.scan_cards(&project, after, size).await {
                Ok(page) => page,
                // One by one, up to the one that cannot be read.
                Err(StoreError::Damaged(_)) if size > 1 => {
                    size = 1;
                    continue;
                }
                Err(StoreError::Damaged(why)) => {
                    // It has no id that could be told, and nothing is known of what comes behind it.
                    tracing::error!(%project, after = ?after, why, "the next card cannot be read");
                    report.bad_cards += 1;
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            };
            for card in &page {
                report.cards += 1;
                if !card.is_intact() {
                    report.bad_cards += 1;
                    if report.bad_card_ids.len() < NAMED {
                        report.bad_card_ids.push(card.id.to_string());
                    }
                }
            }
            match page.last() {
                Some(last) => after = Some(last.id),
                None => return Ok(()),
            }
        }
    }

    async fn verify_chain(&self, report: &mut RealmReport) -> Result<(), KernelError> {
        let (mut head, mut size) = (ChainHead::START, PAGE);
        loop {
            let page = match self.store.audit_chain(&report.realm, head.position, size).await {
                Ok(page) => page,
                Err(StoreError::Damaged(_)) if size > 1 => {
                    size = 1;
                    continue;
                }
                Err(StoreError::Damaged(_)) => {
                    report.broken_at = Some(head.position + 1);
                    break;
                }
                Err(error) => return Err(error.into()),
            };
            if page.is_empty() {
                break;
            }
            match audit::follow(&report.realm, head, &page) {
                Ok(next) => head = next,
                Err(place) => {
                    report.broken_at = Some(place);
                    break;
                }
            }
        }
        report.sealed = head.position;
        let mut before = None;
        loop {
            let page = match self.store.audit(&report.realm, &RowFilter::default(), before, PAGE).await {
                Ok(page) => page,
                // A row that cannot be read is none that fits, sealed or not.
                Err(StoreError::Damaged(_)) => {
                    report.broken_at = report.broken_at.or(Some(head.position + 1));
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            };
            report.unsealed += page.iter().filter(|row| row.sealed.is_none()).count() as u64;
            match page.last() {
                Some(last) => before = Some(last.seq),
                None => return Ok(()),
            }
        }
    }

    async fn record_verification(&self, caller: &Caller, report: &VerifyReport) -> Result<(), KernelError> {
        let commit = audit::record_verification(&self.moment(caller), report.is_ok(), report.realms.len());
        match self.commit(commit).await {
            Ok(()) | Err(CommitError::Conflict(_)) => Ok(()),
            Err(CommitError::Store(error)) => Err(error.into()),
        }
    }
}
