//! What calls left lately, in memory: their manifests, because an agent's next call is held against its last one (OB-05), and
//! the cards of blocks and lists of tools, because most calls have those of the call before. None of it ever changes.

use crate::KernelError;
use cardwire_model::{Card, CardId, Manifest, ProjectId, Timestamp};
use quick_cache::{Weighter, sync::Cache};
use std::sync::Arc;

/// About how much is kept of either.
const BYTES: u64 = 16 << 20;
/// Estimated entries; see the cache of boxes for why it is not more.
const FEW: usize = 32;

pub(crate) struct Records {
    manifests: Cache<(ProjectId, CardId), Arc<Manifest>, Weigher>,
    /// By the name that is derived from project and text.
    cards: Cache<CardId, Card, Weigher>,
    /// Which of these are stored for sure: cards are marked deleted, never removed.
    stored: Cache<CardId, ()>,
}

/// Names of stored cards remembered at most.
const STORED: usize = 10_000;

impl Default for Records {
    fn default() -> Self {
        Self {
            manifests: Cache::with_weighter(FEW, BYTES, Weigher),
            cards: Cache::with_weighter(FEW, BYTES, Weigher),
            stored: Cache::new(STORED),
        }
    }
}

impl Records {
    pub(super) fn manifest(&self, project: &ProjectId, call: CardId) -> Option<Arc<Manifest>> {
        self.manifests.get(&(project.clone(), call))
    }

    pub(super) fn keep(&self, project: &ProjectId, call: CardId, record: &Manifest) -> Arc<Manifest> {
        let record = Arc::new(record.clone());
        self.manifests.insert((project.clone(), call), Arc::clone(&record));
        record
    }

    /// A card that is named by what it says, as if it were made now.
    pub(super) fn named(
        &self,
        id: CardId,
        now: Timestamp,
        make: impl FnOnce() -> Result<Card, KernelError>,
    ) -> Result<Card, KernelError> {
        if let Some(card) = self.cards.get(&id) {
            return Ok(Card { created_at: now, ..card });
        }
        let card = make()?;
        self.cards.insert(id, card.clone());
        Ok(card)
    }

    /// Whether a card is stored, as far as is known here.
    pub(super) fn is_stored(&self, card: &Card) -> bool {
        self.stored.get(&card.id).is_some()
    }

    /// These are stored now.
    pub(super) fn stored(&self, cards: impl IntoIterator<Item = CardId>) {
        cards.into_iter().for_each(|id| self.stored.insert(id, ()));
    }
}

#[derive(Clone)]
struct Weigher;

impl Weighter<(ProjectId, CardId), Arc<Manifest>> for Weigher {
    fn weight(&self, _: &(ProjectId, CardId), record: &Arc<Manifest>) -> u64 {
        (1_024 + 128 * (record.entries.len() + record.omissions.len() + record.repairs.len())) as u64
    }
}

impl Weighter<CardId, Card> for Weigher {
    fn weight(&self, _: &CardId, card: &Card) -> u64 {
        (card.size() + 400) as u64
    }
}
