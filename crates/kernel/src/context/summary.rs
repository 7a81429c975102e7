//! The call that asks a model to summarise the session of a turn (CP-01), for a worker to make: with a manifest and a step of
//! its own, like every other call (RP-01, OB-04).

use super::{
    call::{CallRequest, ComposedCall, Setup, take_step, text_of},
    compacting::may_compact,
};
use crate::{Caller, Done, Kernel, KernelError, Remember, sessions::Planned};
use cardwire_context::{
    compaction, manifest,
    piece::{Piece, Place, Reference},
    render::{self, RequestSpec},
    tokens::MESSAGE_OVERHEAD,
    words::Words,
};
use cardwire_model::{Card, CardId, Cause, Invalid, Layer, Manifest, ProjectId, SessionKey};
use cardwire_protocol::{Rejection, turn::Command};
use std::{collections::HashMap, sync::Arc};

/// The phase of the step that asks for a summary: not one of the calls that a turn goes on with.
const PHASE: &str = "summary";

/// What a summary is made of.
struct Sources {
    /// What the model is told to do.
    prompt: Card,
    /// The summary that the new one takes the place of.
    earlier: Option<Arc<Card>>,
    /// What was said since, and where it stands.
    said: Vec<(Arc<Card>, Option<Place>)>,
}

impl Sources {
    /// How the summariser is told of what was said.
    fn words(&self) -> Words {
        Words::of(self.said.iter().map(|(card, _)| &**card))
    }

    /// The same in the order in which it is sent.
    fn pieces<'a>(&'a self, words: &'a Words, count: impl Fn(&Card) -> u32) -> Vec<Piece<'a>> {
        let piece = |layer, cause, card, reference| Piece {
            layer,
            context_key: None,
            cause,
            body: words.body(card),
            reference,
            tokens: count(card),
            pinned: false,
        };
        let prompt = &self.prompt;
        let mut pieces =
            vec![piece(Layer::SystemPrompt, Cause::Collected, prompt, Reference::Block(prompt.id))];
        if let Some(card) = &self.earlier {
            let reference = Reference::Card { id: card.id, place: None };
            pieces.push(piece(Layer::Compression, Cause::Memory, card, reference));
        }
        for (card, place) in &self.said {
            let reference = Reference::Card { id: card.id, place: *place };
            pieces.push(piece(Layer::Checkpoint, Cause::Memory, card, reference));
        }
        pieces
    }
}

impl Kernel {
    /// Composes it. Nothing of the profile but its model is part of it.
    pub(super) async fn compose_summary(
        &self,
        project: &ProjectId,
        caller: &Caller,
        request: &CallRequest,
        remember: Option<&Remember<ComposedCall>>,
    ) -> Result<Done<ComposedCall>, KernelError> {
        self.runs(project, &request.fence).await?;
        let turn = self.turn(project, request.fence.turn_id).await?;
        let material = self.material(project, turn, false).await?;
        let Some(session) = &material.session else {
            return Err(Invalid::field("purpose", "the turn belongs to no session").into());
        };
        if !may_compact(request, &material) {
            return Err(
                Rejection::Conflict("a summary that this turn makes would not be kept".to_owned()).into()
            );
        }
        let setup = self.setup(project, &material, request)?;
        let setup = Setup { params: request.params.clone(), tools: None, ..setup };
        let sources = self.sources(project, &session.key).await?;
        let cards = sources.said.iter().map(|(card, _)| &**card);
        self.count_ahead(project, setup.tokenizer, cards).await?;
        let words = sources.words();
        let pieces = sources.pieces(&words, |card| self.counts.told(setup.tokenizer, &words, card));
        let spec =
            RequestSpec { provider: setup.provider, model: &setup.model, params: &setup.params, tools: None };
        let asked = compaction::request(&pieces, &spec)
            .map_err(|error| Invalid::field("purpose", error.to_string()))?;
        let tokens = |text: &str| setup.tokenizer.count_text(text).saturating_add(MESSAGE_OVERHEAD);
        let step_id = self.step_id(request)?;
        let record = Manifest {
            template: compaction::TEMPLATE.to_owned(),
            entries: manifest::entries(&pieces, &[])
                .map_err(|error| cardwire_store::StoreError::Internal(error.to_string()))?,
            total_tokens: tokens(compaction::SYSTEM_PROMPT).saturating_add(tokens(&asked.prompt)),
            request_sha256: render::sha256(&asked.body),
            ..self.empty_manifest(&material, &setup, &step_id)
        };
        let card = self.manifest_card(manifest::to_json(&record)?)?;
        let call = ComposedCall {
            call_id: card.id,
            manifest: Arc::new(record),
            body: text_of(asked.body)?,
            knowledge_refs: vec![],
            warnings: vec![],
            compaction_due: false,
        };
        let remember = remember.map(|remember| remember.of(&call));
        let step = take_step(request, step_id, (PHASE, call.call_id), vec![card, sources.prompt]);
        match self.turn_command(project, caller, Command::Step(step), remember.as_ref()).await? {
            Done::Replayed(answer) => Ok(Done::Replayed(answer)),
            Done::Fresh(_) => Ok(Done::Fresh(call)),
        }
    }

    /// What is to be summarised, if anything is.
    async fn sources(&self, project: &ProjectId, session: &SessionKey) -> Result<Sources, KernelError> {
        let planned = self.plan_compaction(project, session, None).await?;
        let Some(plan) = &planned.plan else {
            return Err(Rejection::Conflict("there is nothing to summarise".to_owned()).into());
        };
        let earlier = match planned.previous_card {
            Some(id) => self.get_cards(project, &[id], false).await?.pop(),
            None => None,
        };
        Ok(Sources {
            prompt: self.block_card(project, compaction::SYSTEM_PROMPT)?,
            earlier,
            said: self.to_cover(project, &planned, &plan.cover).await?,
        })
    }

    /// What a summary would stand for, and where each of it stands.
    async fn to_cover(
        &self,
        project: &ProjectId,
        planned: &Planned,
        cover: &[usize],
    ) -> Result<Vec<(Arc<Card>, Option<Place>)>, KernelError> {
        let ids: Vec<CardId> = cover.iter().map(|place| planned.memory[*place].card_id).collect();
        let cards = self.get_cards(project, &ids, false).await?;
        let cards: HashMap<CardId, Arc<Card>> = cards.into_iter().map(|card| (card.id, card)).collect();
        let place = |index: usize| {
            let reach = planned.reach?;
            Some(Place { box_id: reach.box_id, generation: reach.generation, index: index as u32 })
        };
        let found = cover
            .iter()
            .zip(&ids)
            .filter_map(|(index, id)| Some((Arc::clone(cards.get(id)?), place(*index))));
        Ok(found.collect())
    }
}
