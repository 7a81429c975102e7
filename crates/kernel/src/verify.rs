//! `cardwire verify`: recomputes what can be recomputed, page by page, and says what does not fit (SEC-05).

use crate::{Caller, Kernel, KernelError, cards::Found};
use cardwire_model::{CardId, ChainHead, Realm, limits};
use cardwire_protocol::audit;
use cardwire_store::{CommitError, Reach, RowFilter, StoreError};

const PAGE: usize = 500;
/// Cards are read whole, and one may have a megabyte.
const CARD_PAGE: usize = 32;

/// What verification found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// One entry per project, and one for the system.
    pub realms: Vec<RealmReport>,
    /// Why the projects behind the last one could not be looked at.
    pub unread_projects: Option<String>,
    /// How far the store was acknowledged, and how far it is, where that is known.
    pub reach: Option<Reach>,
    /// Whether this verification is in the audit log; a store that takes no writes can be verified all the same.
    pub is_recorded: bool,
}

/// What it found in one realm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealmReport {
    /// Whose rows.
    pub realm: Realm,
    /// Cards that were looked at.
    pub cards: u64,
    /// How many of them do not match their hashes, or cannot be read.
    pub bad_cards: u64,
    /// Some of those.
    pub bad_card_ids: Vec<String>,
    /// Why the cards behind the last one could not be looked at.
    pub unread_cards: Option<String>,
    /// Audit rows that are in the chain.
    pub sealed: u64,
    /// Audit rows that are not yet.
    pub unsealed: u64,
    /// Place of the first row that does not fit the chain.
    pub broken_at: Option<u64>,
}

impl RealmReport {
    fn note(&mut self, bad: impl IntoIterator<Item = CardId>) {
        for card_id in bad {
            self.bad_cards += 1;
            if self.bad_card_ids.len() < limits::DAMAGED_NAMED {
                self.bad_card_ids.push(card_id.to_string());
            }
        }
    }

    /// Whether everything fits.
    pub fn is_ok(&self) -> bool {
        self.bad_cards == 0 && self.unread_cards.is_none() && self.broken_at.is_none()
    }
}

impl RealmReport {
    fn new(realm: &Realm) -> Self {
        Self {
            realm: realm.clone(),
            cards: 0,
            bad_cards: 0,
            bad_card_ids: vec![],
            unread_cards: None,
            sealed: 0,
            unsealed: 0,
            broken_at: None,
        }
    }
}

impl VerifyReport {
    /// Whether everything fits.
    pub fn is_ok(&self) -> bool {
        self.realms.iter().all(RealmReport::is_ok)
            && self.unread_projects.is_none()
            && self.reach.as_ref().is_none_or(Reach::is_whole)
    }
}

impl Kernel {
    /// Recomputes card hashes and audit chains of everything in the store. Damage is found, not repaired, and ends nothing:
    /// what can be read is looked at.
    pub async fn verify(&self, caller: &Caller) -> Result<VerifyReport, KernelError> {
        let mut report = VerifyReport {
            realms: vec![self.verify_realm(&Realm::System).await?],
            reach: match self.store.health().await {
                Ok(health) => health.reach,
                Err(StoreError::Damaged(_)) => None,
                Err(error) => return Err(error.into()),
            },
            ..VerifyReport::default()
        };
        let mut after = None;
        loop {
            let page = match self.store.projects(after.as_ref(), PAGE).await {
                Ok(page) => page,
                Err(StoreError::Damaged(why)) => {
                    report.unread_projects = Some(why);
                    break;
                }
                Err(error) => return Err(error.into()),
            };
            for project in &page {
                report.realms.push(self.verify_realm(&Realm::from(project.id.clone())).await?);
            }
            match page.last() {
                Some(last) => after = Some(last.id.clone()),
                None => break,
            }
        }
        report.is_recorded = self.record_verification(caller, &report).await?;
        Ok(report)
    }

    /// Recomputes one audit chain, and nothing else.
    pub async fn verify_audit(&self, realm: &Realm) -> Result<RealmReport, KernelError> {
        let mut report = RealmReport::new(realm);
        self.verify_chain(&mut report).await?;
        Ok(report)
    }

    async fn verify_realm(&self, realm: &Realm) -> Result<RealmReport, KernelError> {
        let mut report = RealmReport::new(realm);
        self.verify_cards(&mut report).await?;
        self.verify_chain(&mut report).await?;
        Ok(report)
    }

    async fn verify_cards(&self, report: &mut RealmReport) -> Result<(), KernelError> {
        let Realm::Project(project) = report.realm.clone() else { return Ok(()) };
        let mut after = None;
        loop {
            let page = match self.store.card_ids(&project, after, CARD_PAGE).await {
                Ok(page) => page,
                // Without ids there is nothing to ask for.
                Err(StoreError::Damaged(why)) => {
                    report.unread_cards = Some(why);
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            };
            report.cards += page.ids.len() as u64 + page.unreadable;
            report.bad_cards += page.unreadable;
            let Some(last) = page.ids.last() else { return Ok(()) };
            after = Some(*last);
            let Found { cards, damaged } = self.find_cards(&project, &page.ids).await?;
            report.note(damaged);
            report.note(cards.into_iter().filter(|card| !card.is_intact()).map(|card| card.id));
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

    /// Answers whether it could be recorded.
    async fn record_verification(&self, caller: &Caller, report: &VerifyReport) -> Result<bool, KernelError> {
        let commit = audit::record_verification(&self.moment(caller), report.is_ok(), report.realms.len());
        match self.commit(commit).await {
            Ok(()) => Ok(true),
            Err(CommitError::Conflict(_)) => Ok(false),
            // What was found is worth more than the row that says so.
            Err(CommitError::Store(error)) => {
                tracing::warn!(%error, "a verification could not be recorded");
                Ok(false)
            }
        }
    }
}
