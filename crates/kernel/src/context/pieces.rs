//! What a turn's request is made of: its boxes and its session's memory, in order, each card once (WK-02..WK-04).

use crate::{Kernel, KernelError, ViewedTurn, sessions::SessionRead};
use cardwire_context::{
    piece::{Piece, Place, Reference},
    words::Words,
};
use cardwire_model::{Card, CardId, Cause, InboxItem, Layer, ProjectId, Segment, TurnPayload};
use cardwire_protocol::{Rejection, turn::view};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// A card where it stands.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) card: Arc<Card>,
    pub(super) place: Place,
    pub(super) layer: Layer,
    pub(super) cause: Cause,
}

/// Everything a turn can see.
#[derive(Debug, Clone)]
pub(super) struct Material {
    pub(super) item: InboxItem,
    pub(super) payload: TurnPayload,
    /// As the turn sees it.
    pub(super) session: Option<SessionRead>,
    /// What the agent is.
    pub(super) profile: Option<Arc<Card>>,
    /// In order; what is not sent is still here, with the layer it would have been in.
    pub(super) placed: Vec<Placed>,
    /// How many cards the output box had.
    pub(super) output_len: u32,
    /// What is asked.
    pub(super) instruction: Option<CardId>,
    /// What a deliverable must have (WK-04).
    pub(super) result_fields: Option<Arc<Card>>,
}

impl Kernel {
    /// What a turn sees now.
    pub(super) async fn material(
        &self,
        project: &ProjectId,
        ViewedTurn { item, head }: ViewedTurn,
        with_memory: bool,
    ) -> Result<Material, KernelError> {
        let payload = TurnPayload::from_stored(&item.payload);
        let payload = payload.map_err(|_| Rejection::Conflict("the turn's row is damaged".to_owned()))?;
        let (watermark, end) = self.output_reach(project, (&item, &payload), head.as_ref(), None).await?;
        let TurnPayload { profile_box, context_box, output_box, .. } = payload;
        let boxes = self.boxes_at(project, vec![profile_box, context_box, output_box]).await?;
        let (_, profile) = self.reached(project, &boxes, profile_box).await?;
        let (context, given) = self.reached_with_sources(project, &boxes, context_box).await?;
        let (mut output, mut shown) = self.reached(project, &boxes, output_box).await?;
        let output_len = output.len;
        output.len = output.len.min(end);
        shown.truncate(output.len as usize);
        let session = self.session_of_turn(project, &payload).await?;
        let mut gathered = Gathered::default();
        let memory = session.as_ref().and_then(|read| read.pointed.checkpoint.memory);
        if let Some(reach) = memory.filter(|_| with_memory) {
            let cards = self.reach_cards(project, Some(reach)).await?;
            gathered.add(&cards, reach, 0, |_| (Layer::Checkpoint, Cause::Memory));
        }
        let (before, own) = shown.split_at((watermark as usize).min(shown.len()));
        gathered.add(before, output, 0, |_| (Layer::Checkpoint, Cause::History));
        let now = self.now();
        let profile = view::profile(profile.iter(), now).cloned();
        let instruction = given.instruction(now).map(|card| card.id);
        let visible = given.cards().iter().filter(|card| card.is_visible(now));
        let result_fields = view::result_fields(visible).cloned();
        gathered.add(given.cards(), context, 0, |card| match Some(card.id) == instruction {
            true => (Layer::Query, Cause::Instruction),
            false => (Layer::Checkpoint, Cause::Context),
        });
        gathered.add(own, output, before.len(), |_| (Layer::Turn, Cause::Own));
        let placed = gathered.placed;
        Ok(Material { item, payload, session, profile, placed, output_len, instruction, result_fields })
    }
}

#[derive(Default)]
struct Gathered {
    placed: Vec<Placed>,
    seen: HashSet<CardId>,
}

impl Gathered {
    fn add(
        &mut self,
        cards: &[Arc<Card>],
        reach: Segment,
        first: usize,
        kind: impl Fn(&Card) -> (Layer, Cause),
    ) {
        for (index, card) in cards.iter().enumerate() {
            if !self.seen.insert(card.id) {
                continue;
            }
            let (layer, cause) = kind(card);
            let place =
                Place { box_id: reach.box_id, generation: reach.generation, index: (first + index) as u32 };
            self.placed.push(Placed { card: Arc::clone(card), place, layer, cause });
        }
    }
}

impl Placed {
    /// The card as a piece of a request, in these words.
    pub(super) fn piece<'a>(&'a self, words: &'a Words, tokens: u32, is_pinned: bool) -> Piece<'a> {
        Piece {
            layer: self.layer,
            context_key: None,
            cause: self.cause,
            body: words.body(&self.card),
            reference: Reference::Card { id: self.card.id, place: Some(self.place) },
            tokens,
            pinned: is_pinned,
        }
    }
}

impl Material {
    /// Cards by id.
    pub(super) fn by_id(&self) -> HashMap<CardId, &Placed> {
        self.placed.iter().map(|placed| (placed.card.id, placed)).collect()
    }
}
