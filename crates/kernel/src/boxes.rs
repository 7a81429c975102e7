//! Reading boxes: flattening with a cache. Cards never change and a generation only grows, so what was read once
//! stays good; only deletions are looked at anew, through the project's counter (CB-10).

use crate::{
    Kernel, KernelError,
    cards::{Found, damage},
};
use cardwire_model::{
    BoxHead, BoxId, Card, CardId, Entry, Generation, Item, Keys, ProjectId, Realm, Segment, Snapshot,
    Timestamp, limits,
};
use cardwire_protocol::{
    Rejection,
    facts::flatten::{self, Shown},
    turn::view,
};
use cardwire_store::{BoxAt, StoreError};
use std::{
    collections::{HashMap, HashSet},
    future::Future,
    pin::Pin,
    sync::Arc,
};

/// A box as readers see it.
#[derive(Debug, Clone)]
pub struct BoxView {
    /// The head; of an older generation only `generation` and `len` are that generation's.
    pub head: BoxHead,
    /// Its cards in order, each once, with where they came from.
    pub shown: Arc<Flat>,
}

impl BoxView {
    /// The card ids in order.
    pub fn card_ids(&self) -> impl ExactSizeIterator<Item = CardId> + '_ {
        self.shown.shown.iter().map(|shown| shown.card_id)
    }

    /// The cards in order with where they came from.
    pub fn provenance(&self) -> &[Shown] {
        &self.shown.shown
    }
}

/// The hydrated end of a box.
#[derive(Debug, Clone)]
pub struct BoxCards {
    /// The visible cards, in box order.
    pub cards: Vec<Arc<Card>>,
    /// Ids of the same stretch whose card is deleted or expired.
    pub missing: Vec<CardId>,
    /// Ids of the same stretch whose card is damaged (NF-01).
    pub damaged: Vec<CardId>,
}

/// Cards that were asked for by id.
#[derive(Debug, Clone, Default)]
pub struct ReadCards {
    /// Those that are there and shown, in the order asked for, repeats repeated (CB-21).
    pub cards: Vec<Arc<Card>>,
    /// Those that cannot be read, or are not what was written (NF-01).
    pub damaged: Vec<CardId>,
}

/// The cards, for those who can do nothing with a part of them.
fn whole(cards: Vec<Arc<Card>>, damaged: Vec<CardId>) -> Result<Vec<Arc<Card>>, StoreError> {
    if damaged.is_empty() { Ok(cards) } else { Err(damage(damaged)) }
}

impl BoxCards {
    /// The visible cards, if none is damaged.
    pub fn whole(self) -> Result<Vec<Arc<Card>>, KernelError> {
        Ok(whole(self.cards, self.damaged)?)
    }
}

/// Where boxes of a project were at one moment.
pub(crate) struct BoxesAt {
    /// Of those that are there.
    pub(crate) heads: HashMap<BoxId, BoxHead>,
    deletions: u64,
}

/// A flattened stretch of one generation of one box.
#[derive(Debug, Default)]
pub struct Flat {
    /// How many entries it covers.
    entries: u32,
    shown: Vec<Shown>,
    /// The cards, aligned with `shown`, if they were read too, and the project's deletions at that time.
    cards: Option<(u64, Vec<Arc<Card>>)>,
}

impl Flat {
    /// The cards, deleted or not, if they were read.
    pub(crate) fn cards(&self) -> &[Arc<Card>] {
        self.cards.as_ref().map_or(&[], |(_, cards)| cards)
    }

    /// What is asked of a turn that is given this as its context.
    pub(crate) fn instruction(&self, now: Timestamp) -> Option<&Arc<Card>> {
        let given = self.cards().iter().zip(&self.shown).filter(|(card, _)| card.is_visible(now));
        view::instruction(given.map(|(card, shown)| (card, shown.source)))
    }
}

type Key = (ProjectId, BoxId, Generation);

#[derive(Clone)]
pub(crate) struct Weigher;

impl quick_cache::Weighter<Key, Arc<Flat>> for Weigher {
    fn weight(&self, _: &Key, flat: &Arc<Flat>) -> u64 {
        let cards = flat.cards.iter().flat_map(|(_, cards)| cards).map(|card| card.size() + 400);
        (128 + flat.shown.len() * size_of::<Shown>() + cards.sum::<usize>()) as u64
    }
}

/// Estimated boxes: so few that the cache does not divide its bytes into shards, because a box heavier than the share of a
/// shard would never be kept and be read anew with every step.
const FEW: usize = 32;

pub(crate) struct BoxCache(quick_cache::sync::Cache<Key, Arc<Flat>, Weigher>);

impl BoxCache {
    pub(crate) fn new(bytes: u64) -> Self {
        Self(quick_cache::sync::Cache::with_weighter(FEW, bytes, Weigher))
    }
}

/// How much of a box is needed.
#[derive(Clone, Copy)]
enum Need {
    /// Exactly so many entries, with the cards at this count of deletions or without them.
    Entries { count: u32, cards: Option<u64> },
    /// At least so many cards shown.
    Shown { len: u32, cards: Option<u64> },
}

impl Need {
    fn cards(self) -> Option<u64> {
        match self {
            Self::Entries { cards, .. } | Self::Shown { cards, .. } => cards,
        }
    }

    /// A box that is empty, as those of new turns are, is neither read nor kept.
    const fn is_nothing(self) -> bool {
        match self {
            Self::Entries { count, .. } => count == 0,
            Self::Shown { len, .. } => len == 0,
        }
    }

    fn met_by(self, flat: &Flat) -> bool {
        let cards_fit = match (self.cards(), &flat.cards) {
            (None, _) => true,
            (Some(deletions), Some((at, _))) => deletions == *at,
            (Some(_), None) => false,
        };
        cards_fit
            && match self {
                Self::Entries { count, .. } => flat.entries >= count,
                Self::Shown { len, .. } => flat.shown.len() >= len as usize,
            }
    }
}

impl Kernel {
    /// A box, or one of its earlier generations.
    pub async fn view_box(
        &self,
        project: &ProjectId,
        box_id: BoxId,
        generation: Option<Generation>,
    ) -> Result<BoxView, KernelError> {
        let BoxAt { mut head, .. } = self.box_at(project, box_id).await?;
        if let Some(wanted) = generation.filter(|wanted| *wanted != head.generation) {
            if wanted < Generation::FIRST || wanted > head.generation {
                let id = format!("{box_id} generation {}", wanted.get());
                return Err(Rejection::NotFound { what: "box", id }.into());
            }
            // An old generation has no head of its own, but it does not grow any more either.
            let shown =
                self.flat(project, box_id, wanted, Need::Entries { count: u32::MAX, cards: None }).await?;
            head.generation = wanted;
            head.len = shown.shown.len() as u32;
            return Ok(BoxView { head, shown });
        }
        let need = Need::Entries { count: head.entries, cards: None };
        let shown = self.flat(project, box_id, head.generation, need).await?;
        // The cache may be ahead of the head that was read.
        head.len = shown.shown.len() as u32;
        Ok(BoxView { head, shown })
    }

    /// The last `limit` cards of a box, clamped to what one answer may carry.
    pub async fn box_tail(
        &self,
        project: &ProjectId,
        box_id: BoxId,
        limit: usize,
        include_deleted: bool,
    ) -> Result<(BoxView, BoxCards), KernelError> {
        let view = self.view_box(project, box_id, None).await?;
        let limit = limit.clamp(1, limits::HYDRATE_MAX);
        let skip = view.shown.shown.len().saturating_sub(limit);
        let ids: Vec<_> = view.shown.shown[skip..].iter().map(|shown| shown.card_id).collect();
        let ReadCards { cards, damaged } = self.read_cards(project, &ids, include_deleted).await?;
        let found: HashSet<_> = cards.iter().map(|card| card.id).chain(damaged.iter().copied()).collect();
        let missing = ids.into_iter().filter(|id| !found.contains(id)).collect();
        Ok((view, BoxCards { cards, missing, damaged }))
    }

    /// Every visible card of a box, from memory where it can.
    pub async fn box_cards(&self, project: &ProjectId, box_id: BoxId) -> Result<BoxCards, KernelError> {
        let BoxAt { head, deletions } = self.box_at(project, box_id).await?;
        let need = Need::Entries { count: head.entries, cards: Some(deletions) };
        let flat = self.flat(project, box_id, head.generation, need).await?;
        let now = self.now();
        let all = flat.cards.iter().flat_map(|(_, cards)| cards);
        let (cards, gone): (Vec<_>, Vec<_>) = all.cloned().partition(|card| card.is_visible(now));
        let missing = gone.iter().map(|card| card.id).collect();
        // A damaged one would have been an error.
        Ok(BoxCards { cards, missing, damaged: vec![] })
    }

    /// What is asked of a turn whose context is this box.
    pub(crate) async fn instruction(
        &self,
        project: &ProjectId,
        context_box: BoxId,
    ) -> Result<Option<Arc<Card>>, KernelError> {
        let BoxAt { head, deletions } = self.box_at(project, context_box).await?;
        let need = Need::Entries { count: head.entries, cards: Some(deletions) };
        let flat = self.flat(project, context_box, head.generation, need).await?;
        Ok(flat.instruction(self.now()).cloned())
    }

    /// Every card of a stretch of a box, deleted or not, from memory where it can.
    pub(crate) async fn reach_cards(
        &self,
        project: &ProjectId,
        reach: Option<Segment>,
    ) -> Result<Vec<Arc<Card>>, KernelError> {
        let Some(Segment { box_id, generation, len }) = reach else { return Ok(vec![]) };
        let BoxAt { deletions, .. } = self.box_at(project, box_id).await?;
        let need = Need::Shown { len, cards: Some(deletions) };
        let flat = self.flat(project, box_id, generation, need).await?;
        let cards = flat.cards.iter().flat_map(|(_, cards)| cards);
        Ok(cards.take(len as usize).cloned().collect())
    }

    /// Where boxes are now, by one read.
    pub(crate) async fn boxes_at(
        &self,
        project: &ProjectId,
        boxes: Vec<BoxId>,
    ) -> Result<BoxesAt, KernelError> {
        let keys = Keys { project: true, boxes, ..Keys::default() };
        let Snapshot { project: row, boxes: heads, .. } =
            self.store.load(&Realm::from(project.clone()), &keys).await?;
        let row = row.ok_or_else(|| Rejection::no_project(project))?;
        Ok(BoxesAt { heads, deletions: row.deletions })
    }

    /// One of them as far as it reaches, and every card of it, deleted or not.
    pub(crate) async fn reached(
        &self,
        project: &ProjectId,
        at: &BoxesAt,
        box_id: BoxId,
    ) -> Result<(Segment, Vec<Arc<Card>>), KernelError> {
        let (reach, flat) = self.reached_with_sources(project, at, box_id).await?;
        Ok((reach, flat.cards().to_vec()))
    }

    /// The same with where each card came from.
    pub(crate) async fn reached_with_sources(
        &self,
        project: &ProjectId,
        at: &BoxesAt,
        box_id: BoxId,
    ) -> Result<(Segment, Arc<Flat>), KernelError> {
        let missing = || Rejection::NotFound { what: "box", id: box_id.to_string() };
        let head = at.heads.get(&box_id).ok_or_else(missing)?;
        let need = Need::Entries { count: head.entries, cards: Some(at.deletions) };
        let flat = self.flat(project, box_id, head.generation, need).await?;
        // The cache may be ahead of the head that was read.
        Ok((Segment { box_id, generation: head.generation, len: flat.cards().len() as u32 }, flat))
    }

    /// The ids that a stretch of a box shows, deleted or not.
    pub(crate) async fn reach_ids(
        &self,
        project: &ProjectId,
        reach: Option<Segment>,
    ) -> Result<Vec<CardId>, KernelError> {
        let Some(Segment { box_id, generation, len }) = reach else { return Ok(vec![]) };
        let flat = self.flat(project, box_id, generation, Need::Shown { len, cards: None }).await?;
        Ok(flat.shown.iter().take(len as usize).map(|shown| shown.card_id).collect())
    }

    /// Cards by id in the order asked for, repeats repeated, invisible ones skipped (CB-21). A damaged one is an error that
    /// names it.
    pub async fn get_cards(
        &self,
        project: &ProjectId,
        ids: &[CardId],
        include_deleted: bool,
    ) -> Result<Vec<Arc<Card>>, KernelError> {
        let ReadCards { cards, damaged } = self.read_cards(project, ids, include_deleted).await?;
        Ok(whole(cards, damaged)?)
    }

    /// The same for those who go on without the damaged ones, and say so.
    pub async fn read_cards(
        &self,
        project: &ProjectId,
        ids: &[CardId],
        include_deleted: bool,
    ) -> Result<ReadCards, KernelError> {
        if ids.is_empty() {
            return Ok(ReadCards::default());
        }
        let now = self.now();
        let Found { cards, damaged } = self.find_cards(project, ids).await?;
        let by_id: HashMap<_, _> = cards
            .into_iter()
            .filter(|card| include_deleted || card.is_visible(now))
            .map(|card| (card.id, Arc::new(card)))
            .collect();
        Ok(ReadCards { cards: ids.iter().filter_map(|id| by_id.get(id).cloned()).collect(), damaged })
    }

    /// The ids a box shows.
    pub(crate) async fn flat_ids(
        &self,
        project: &ProjectId,
        head: &BoxHead,
    ) -> Result<Vec<CardId>, StoreError> {
        let need = Need::Entries { count: head.entries, cards: None };
        let flat = self.flat(project, head.box_id, head.generation, need).await?;
        Ok(flat.shown.iter().map(|shown| shown.card_id).collect())
    }

    async fn box_at(&self, project: &ProjectId, box_id: BoxId) -> Result<BoxAt, KernelError> {
        let found = self.store.box_head(project, box_id).await?;
        found.ok_or_else(|| Rejection::NotFound { what: "box", id: box_id.to_string() }.into())
    }

    /// The flattened list, from the cache, continued from the cache, or read anew.
    fn flat<'a>(
        &'a self,
        project: &'a ProjectId,
        box_id: BoxId,
        generation: Generation,
        need: Need,
    ) -> Pin<Box<dyn Future<Output = Result<Arc<Flat>, StoreError>> + Send + 'a>> {
        Box::pin(async move {
            if need.is_nothing() {
                return Ok(Arc::new(Flat { cards: need.cards().map(|at| (at, vec![])), ..Flat::default() }));
            }
            let key = (project.clone(), box_id, generation);
            let cached = self.boxes.0.get(&key);
            if let Some(flat) = cached.as_ref().filter(|flat| need.met_by(flat)) {
                return Ok(Arc::clone(flat));
            }
            // Cards of another count of deletions are read anew; ids alone can always be continued.
            let base = cached.filter(|flat| match (need.cards(), &flat.cards) {
                (None, _) => true,
                (Some(wanted), Some((at, _))) => wanted == *at,
                (Some(_), None) => false,
            });
            // Continuing a list that has cards without them would throw those away for the next reader.
            let kept = base.as_ref().and_then(|base| base.cards.as_ref()).map(|(at, _)| *at);
            let with_cards = need.cards().or(kept);
            let flat = Arc::new(self.read_on(project, &key, base.as_deref(), with_cards).await?);
            self.boxes.0.insert(key, Arc::clone(&flat));
            Ok(flat)
        })
    }

    async fn read_on(
        &self,
        project: &ProjectId,
        key: &Key,
        base: Option<&Flat>,
        with_cards: Option<u64>,
    ) -> Result<Flat, StoreError> {
        let from = base.map_or(0, |base| base.entries);
        let (entries, mut direct) = self.read_entries(project, key, from, with_cards.is_some()).await?;
        let sources = self.segments(project, &entries, with_cards).await?;
        let mut shown = base.map_or_else(Vec::new, |base| base.shown.clone());
        let places = flatten::extend(&mut shown, &entries, |segment| {
            sources.get(&segment).map_or(&[][..], |flat| &flat.shown[..])
        });
        let cards = match with_cards {
            None => None,
            Some(deletions) => {
                let mut cards = base
                    .and_then(|base| base.cards.as_ref())
                    .map_or_else(Vec::new, |(_, cards)| cards.clone());
                for (entry, inner) in places {
                    let card = match entries[entry].item {
                        Item::Card(_) => direct[entry].take(),
                        Item::Segment(segment) => sources
                            .get(&segment)
                            .and_then(|flat| flat.cards.as_ref())
                            .and_then(|(_, cards)| cards.get(inner).cloned()),
                    };
                    let gone = || StoreError::Damaged(format!("an entry of box {} has no card", key.1));
                    cards.push(card.ok_or_else(gone)?);
                }
                Some((deletions, cards))
            }
        };
        Ok(Flat { entries: from + entries.len() as u32, shown, cards })
    }

    async fn read_entries(
        &self,
        project: &ProjectId,
        key: &Key,
        from: u32,
        with_cards: bool,
    ) -> Result<(Vec<Entry>, Vec<Option<Arc<Card>>>), StoreError> {
        if !with_cards {
            return Ok((self.store.box_entries(project, key.1, key.2, from).await?, vec![]));
        }
        let rows = self.find_box_cards(project, key.1, key.2, from).await?;
        Ok(rows.into_iter().map(|row| (row.entry, row.card.map(Arc::new))).unzip())
    }

    async fn segments(
        &self,
        project: &ProjectId,
        entries: &[Entry],
        cards: Option<u64>,
    ) -> Result<HashMap<Segment, Arc<Flat>>, StoreError> {
        let mut sources = HashMap::new();
        for entry in entries {
            if let Item::Segment(segment) = entry.item {
                let need = Need::Shown { len: segment.len, cards };
                let flat = self.flat(project, segment.box_id, segment.generation, need).await?;
                sources.insert(segment, flat);
            }
        }
        Ok(sources)
    }
}
