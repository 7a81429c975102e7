//! Lists of cards and boxes, newest first, and cards by what they say (IN-14).

use crate::{Kernel, KernelError};
use cardwire_model::{BoxHead, BoxId, CancelFlag, Card, CardId, CardKind, ProjectId, limits};
use cardwire_protocol::Rejection;
use std::sync::Arc;

/// Cards of a list or a search.
#[derive(Debug, Clone, Default)]
pub struct FoundCards {
    /// Those that were found, newest first, deleted ones too.
    pub cards: Vec<Card>,
    /// Those on the way that cannot be read, or are not what was written (NF-01).
    pub damaged: Vec<CardId>,
    /// The last card that was looked at, where older ones may follow.
    pub last: Option<CardId>,
}

/// Which cards are wanted. Every part that is given must hold.
#[derive(Debug, Clone, Default)]
struct Wanted {
    kind: Option<CardKind>,
    /// In small letters.
    text: Option<String>,
}

impl Wanted {
    fn takes(&self, card: &Card) -> bool {
        self.kind.as_ref().is_none_or(|kind| card.kind == *kind)
            && self.text.as_ref().is_none_or(|text| says(card, text))
    }
}

/// Whether a card says something: in its text, or in the canonical text of anything else, or in its tool calls.
fn says(card: &Card, small: &str) -> bool {
    let content = card.content.to_text();
    let content = content.as_deref().unwrap_or_else(|| card.content.as_str());
    let calls = card.tool_calls.as_ref().map(|calls| calls.as_str());
    [Some(content), calls].into_iter().flatten().any(|text| text.to_lowercase().contains(small))
}

impl Kernel {
    /// Cards, newest first: of one kind, or with a text in them, in letters of either case. Looks at so many cards that an
    /// answer comes at once; where it ends before the last one it says so.
    pub async fn list_cards(
        &self,
        project: &ProjectId,
        kind: Option<CardKind>,
        text: Option<&str>,
        before: Option<CardId>,
        limit: usize,
    ) -> Result<FoundCards, KernelError> {
        let wanted = Wanted { kind, text: text.map(str::to_lowercase) };
        let is_filtered = wanted.kind.is_some() || wanted.text.is_some();
        let page = if is_filtered { limits::PAGE_MAX } else { limit };
        let (mut found, mut before) = (FoundCards::default(), before);
        for _ in 0..limits::SEARCHED_CARDS / limits::PAGE_MAX {
            let ids = self.store.latest_card_ids(project, before, page).await?;
            let is_end = ids.len() < page;
            let read = self.find_cards(project, &ids).await?;
            found.damaged.extend(read.damaged);
            let mut cards = read.cards;
            cards.sort_unstable_by_key(|card| std::cmp::Reverse(card.id));
            let bytes = cards.iter().map(|card| card.content.as_bytes().len()).sum();
            let (wanted, rest) = (wanted.clone(), limit - found.cards.len());
            let choose = move |_: &CancelFlag| choose(cards, &wanted, rest);
            let (chosen, last) = self.compute(Some(project), bytes, choose).await?;
            found.cards.extend(chosen);
            found.last = last.or_else(|| ids.last().copied()).filter(|_| last.is_some() || !is_end);
            if last.is_some() || is_end {
                return Ok(found);
            }
            before = found.last;
        }
        Ok(found)
    }

    /// A card, deleted or not.
    pub(super) async fn known_card(
        &self,
        project: &ProjectId,
        card: CardId,
    ) -> Result<Arc<Card>, KernelError> {
        let missing = || Rejection::NotFound { what: "card", id: card.to_string() };
        Ok(self.get_cards(project, &[card], true).await?.pop().ok_or_else(missing)?)
    }

    /// Boxes, newest first.
    pub async fn list_boxes(
        &self,
        project: &ProjectId,
        before: Option<BoxId>,
        limit: usize,
    ) -> Result<Vec<BoxHead>, KernelError> {
        Ok(self.store.latest_boxes(project, before, limit).await?)
    }
}

/// The first of the cards that are wanted, and the last of them where no more are to be looked at.
fn choose(cards: Vec<Card>, wanted: &Wanted, rest: usize) -> (Vec<Card>, Option<CardId>) {
    let mut chosen = vec![];
    for card in cards {
        if wanted.takes(&card) {
            let id = card.id;
            chosen.push(card);
            if chosen.len() == rest {
                return (chosen, Some(id));
            }
        }
    }
    (chosen, None)
}
