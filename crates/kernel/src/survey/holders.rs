//! The boxes that hold a card: by an entry of their own, or by a segment that reaches it (IN-14, CB-11).

use crate::{Kernel, KernelError};
use cardwire_model::{BoxId, CardId, Entry, Generation, Item, ProjectId, Segment, limits};
use cardwire_store::EntryKey;
use std::collections::{HashMap, HashSet, VecDeque};

/// A generation of a box that holds a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// Which box.
    pub box_id: BoxId,
    /// At which generation.
    pub generation: Generation,
    /// The box that it inherits the card from; none where the card is an entry of its own.
    pub via: Option<BoxId>,
}

/// The boxes that hold a card.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CardBoxes {
    /// By id of the box, then by generation.
    pub holders: Vec<Holder>,
    /// The limit was reached: there may be more.
    pub is_cut: bool,
}

/// Entries that are read at once.
const PAGE: usize = 10_000;

/// A generation of a box.
type Holding = (BoxId, Generation);

impl Kernel {
    /// The boxes that hold a card. Goes through the entries of all boxes, because no index leads from a card to its boxes.
    pub async fn boxes_of_card(&self, project: &ProjectId, card: CardId) -> Result<CardBoxes, KernelError> {
        self.known_card(project, card).await?;
        let (mut entries, mut after) = (vec![], None);
        for _ in 0..limits::HOLDER_ENTRIES / PAGE {
            let page = self.store.holders(project, card, after, PAGE).await?;
            entries.extend(page.entries);
            after = page.last;
            if after.is_none() {
                break;
            }
        }
        let is_cut = after.is_some();
        Ok(CardBoxes { holders: self.holding(project, card, &entries).await?, is_cut })
    }

    /// Who holds the card, from the entries that are the card and all segments.
    async fn holding(
        &self,
        project: &ProjectId,
        card: CardId,
        entries: &[(EntryKey, Entry)],
    ) -> Result<Vec<Holder>, KernelError> {
        // By the box that a segment is of: who has it.
        let mut heirs: HashMap<Holding, Vec<(Holding, Segment)>> = HashMap::new();
        let (mut found, mut seen, mut next) = (vec![], HashSet::new(), VecDeque::new());
        for ((box_id, generation, _), entry) in entries {
            let holding = (*box_id, *generation);
            match entry.item {
                Item::Card(_) if seen.insert(holding) => {
                    found.push(Holder { box_id: *box_id, generation: *generation, via: None });
                    next.push_back(holding);
                }
                Item::Card(_) => {}
                Item::Segment(segment) => {
                    heirs.entry((segment.box_id, segment.generation)).or_default().push((holding, segment));
                }
            }
        }
        while let Some(holding) = next.pop_front() {
            for (heir, segment) in heirs.get(&holding).into_iter().flatten() {
                // The card may stand behind the part that is inherited.
                let reached = !seen.contains(heir)
                    && self.reach_ids(project, Some(*segment)).await?.contains(&card)
                    && seen.insert(*heir);
                if reached {
                    found.push(Holder { box_id: heir.0, generation: heir.1, via: Some(holding.0) });
                    next.push_back(*heir);
                }
            }
        }
        found.sort_unstable_by_key(|holder| (holder.box_id, holder.generation));
        Ok(found)
    }
}
