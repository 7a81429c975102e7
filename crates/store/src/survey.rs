//! Reads over many rows at once: for a person who looks at a whole run, or for a card among all cards.

use crate::StoreError;
use async_trait::async_trait;
use cardwire_model::{
    BoxHead, BoxId, CardId, Entry, Generation, InboxId, InboxItem, Item, ProjectId, Step, TurnId,
};

/// A place among the entries of all boxes: of the box, of its generation, and within that.
pub type EntryKey = (BoxId, Generation, u32);

/// Entries that may hold a card.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holders {
    /// Entries that are the card, and all segments, in the order of their keys.
    pub entries: Vec<(EntryKey, Entry)>,
    /// The last entry that was looked at, where more may follow.
    pub last: Option<EntryKey>,
}

impl Holders {
    /// Of rows in order, each with whether it is the last of a full page. A row of another card is there for its key alone.
    pub fn of(card: CardId, rows: impl IntoIterator<Item = (EntryKey, Entry, bool)>) -> Self {
        let mut holders = Self::default();
        for (key, entry, is_last) in rows {
            if is_last {
                holders.last = Some(key);
            }
            if match entry.item {
                Item::Card(id) => id == card,
                Item::Segment(_) => true,
            } {
                holders.entries.push((key, entry));
            }
        }
        holders
    }
}

/// Reads over whole runs, boxes and cards. Each is bounded by its `limit`.
#[async_trait]
pub trait Survey: Send + Sync {
    /// Turns that no other turn has sent, newest first (by id of their rows), before `before`.
    async fn runs(
        &self,
        project: &ProjectId,
        before: Option<InboxId>,
        limit: usize,
    ) -> Result<Vec<InboxItem>, StoreError>;

    /// Turns that these have sent: each that an edge of a dispatch leads to from one of them. Oldest first (by
    /// id); where there are more than `limit`, any of them.
    async fn sent_by(
        &self,
        project: &ProjectId,
        turns: &[TurnId],
        limit: usize,
    ) -> Result<Vec<InboxItem>, StoreError>;

    /// Steps of these turns, oldest first (by creation, then id); where there are more than `limit`, any of them.
    async fn steps_of(
        &self,
        project: &ProjectId,
        turns: &[TurnId],
        limit: usize,
    ) -> Result<Vec<Step>, StoreError>;

    /// Ids of cards, deleted ones too, from the greatest, before `before`. Nothing else of the cards is read, so that one that
    /// is damaged hides no other.
    async fn latest_card_ids(
        &self,
        project: &ProjectId,
        before: Option<CardId>,
        limit: usize,
    ) -> Result<Vec<CardId>, StoreError>;

    /// Boxes by id from the greatest, before `before`.
    async fn latest_boxes(
        &self,
        project: &ProjectId,
        before: Option<BoxId>,
        limit: usize,
    ) -> Result<Vec<BoxHead>, StoreError>;

    /// Of the next `limit` entries after a key: those that are the card, and all segments, one of which may reach it.
    async fn holders(
        &self,
        project: &ProjectId,
        card: CardId,
        after: Option<EntryKey>,
        limit: usize,
    ) -> Result<Holders, StoreError>;
}
