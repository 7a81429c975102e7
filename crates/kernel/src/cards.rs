//! The one way in which cards come out of the store: each is what was written, or it is named as damaged (NF-01).
//!
//! Must not decide who sees a card. Invariant: no other file of the kernel reads cards from the store, but for
//! verification.

use crate::Kernel;
use cardwire_model::{BoxId, Card, CardId, Generation, Item, ProjectId, limits};
use cardwire_store::{HydratedEntry, StoreError};

/// Cards that were looked for.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Those that are there, in no particular order.
    pub(crate) cards: Vec<Card>,
    /// Those that cannot be read, or are not what was written, in order.
    pub(crate) damaged: Vec<CardId>,
}

/// After so many bytes others get their turn on this thread: a hundred cards may have a hundred megabytes.
const BREATH_BYTES: usize = 256 << 10;

/// Compares cards with their hashes, a breath at a time.
#[derive(Default)]
struct Check {
    bytes: usize,
}

impl Check {
    async fn is_good(&mut self, card: &Card) -> bool {
        self.bytes += card.size();
        if self.bytes > BREATH_BYTES {
            self.bytes = 0;
            tokio::task::yield_now().await;
        }
        card.says_what_was_written()
    }
}

impl Found {
    async fn take(&mut self, cards: Vec<Card>) {
        let mut check = Check::default();
        for card in cards {
            if check.is_good(&card).await {
                self.cards.push(card);
            } else {
                self.damage(card.id, "its bytes do not fit their hash");
            }
        }
    }

    fn damage(&mut self, card_id: CardId, why: &str) {
        tracing::debug!(%card_id, why, "a card is damaged");
        self.damaged.push(card_id);
    }
}

impl Kernel {
    /// Reads cards by id. One that is damaged hides no other.
    pub(crate) async fn find_cards(&self, project: &ProjectId, ids: &[CardId]) -> Result<Found, StoreError> {
        let mut found = Found::default();
        match self.store.cards(project, ids).await {
            Ok(cards) => found.take(cards).await,
            // Which one it is, the store does not say.
            Err(StoreError::Damaged(_)) => {
                for id in ids {
                    match self.store.cards(project, std::slice::from_ref(id)).await {
                        Ok(cards) => found.take(cards).await,
                        Err(StoreError::Damaged(why)) => found.damage(*id, &why),
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) => return Err(error),
        }
        found.damaged.sort_unstable();
        Ok(found)
    }

    /// Reads the end of a box with its cards. Damaged ones are named by the error: what is made of a box is made of all of it.
    pub(crate) async fn find_box_cards(
        &self,
        project: &ProjectId,
        box_id: BoxId,
        generation: Generation,
        from: u32,
    ) -> Result<Vec<HydratedEntry>, StoreError> {
        let (entries, why) = match self.store.box_cards(project, box_id, generation, from).await {
            Ok(entries) => {
                let (mut check, mut damaged) = (Check::default(), vec![]);
                for card in entries.iter().filter_map(|entry| entry.card.as_ref()) {
                    if !check.is_good(card).await {
                        damaged.push(card.id);
                    }
                }
                return if damaged.is_empty() { Ok(entries) } else { Err(damage(damaged)) };
            }
            Err(StoreError::Damaged(why)) => {
                (self.store.box_entries(project, box_id, generation, from).await?, why)
            }
            Err(error) => return Err(error),
        };
        let cards: Vec<CardId> = entries
            .iter()
            .filter_map(|entry| match entry.item {
                Item::Card(id) => Some(id),
                Item::Segment(_) => None,
            })
            .collect();
        let mut damaged = vec![];
        for ids in cards.chunks(limits::BATCH_IDS) {
            damaged.extend(self.find_cards(project, ids).await?.damaged);
        }
        // What cannot be read may be something else by now.
        Err(if damaged.is_empty() { StoreError::Damaged(why) } else { damage(damaged) })
    }
}

/// The error that names these cards, as many as are worth naming.
pub(crate) fn damage(mut cards: Vec<CardId>) -> StoreError {
    tracing::error!(cards = cards.len(), first = %cards[0], "damaged cards were asked for");
    cards.truncate(limits::DAMAGED_NAMED);
    StoreError::DamagedCards(cards)
}
