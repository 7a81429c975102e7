//! The request of a call, written: what is sent of its parts, in which order, with how many tokens, as which bytes. A pure
//! function of the parts, so that a long one is written where it holds up nobody.

use super::{
    call::{Parts, Setup, text_of},
    previous::Previous,
    tokens::TokenCache,
};
use crate::{Kernel, KernelError};
use cardwire_context::{
    compose::{Layers, arrange},
    fit::{self, Budget, CannotSend, Fitted},
    lint::{Linted, NewRepair},
    manifest,
    piece::{Body, Piece, Reference},
    render::{self, RequestSpec},
    words::{PARENT_POINTER, Words},
};
use cardwire_model::{Card, Cause, Invalid, InvalidCode, Layer, ManifestEntry, Omission, Timestamp};
use cardwire_protocol::turn::view;

/// A request and what its manifest says of it.
pub(super) struct WrittenRequest {
    pub(super) body: String,
    pub(super) sha256: String,
    pub(super) entries: Vec<ManifestEntry>,
    pub(super) omissions: Vec<Omission>,
    /// What was added so that providers take it.
    pub(super) repairs: Vec<NewRepair>,
    pub(super) tokens: u32,
    /// What all of it would have cost, had there been room.
    pub(super) wanted: u32,
    pub(super) shared_prefix_tokens: u32,
    pub(super) shows_knowledge: bool,
    pub(super) leaves_out_memory: bool,
}

impl WrittenRequest {
    pub(super) fn of(
        counts: &TokenCache,
        now: Timestamp,
        (setup, parts): (&Setup, &Parts),
        previous: Option<&Previous>,
    ) -> Result<Self, KernelError> {
        let words = parts.words();
        let (pieces, mut left_out) = arranged(counts, now, (setup, parts), &words);
        let (fitted, linted) = fitted(counts, setup, setup.window, &pieces)?;
        let spec = RequestSpec {
            provider: setup.provider,
            model: &setup.model,
            params: &setup.params,
            tools: setup.tools.as_ref().map(|card| &card.content),
        };
        let body = render::render(&linted, &spec);
        let sent: Vec<Piece<'_>> = linted.sent(&fitted.kept).copied().collect();
        let entries = manifest::entries(&fitted.kept, &linted.omitted)
            .map_err(|error| cardwire_store::StoreError::Internal(error.to_string()))?;
        let leaves_out_memory = fitted.omitted.iter().any(|(piece, _)| piece.cause == Cause::Memory);
        let (tokens, wanted) = (fitted.tokens, fitted.wanted());
        left_out.extend(fitted.omitted);
        left_out.extend(linted.omitted_of(&fitted.kept));
        Ok(Self {
            sha256: render::sha256(&body),
            body: text_of(body)?,
            entries,
            omissions: manifest::omissions(left_out),
            tokens,
            wanted,
            shared_prefix_tokens: previous.map_or(0, |previous| previous.shared_with(&sent)),
            shows_knowledge: sent.iter().any(|piece| piece.layer == Layer::Knowledge),
            leaves_out_memory,
            repairs: linted.repairs,
        })
    }
}

impl Kernel {
    /// See [`arranged`].
    pub(super) fn arranged<'a>(
        &self,
        setup: &Setup,
        parts: &'a Parts,
        words: &'a Words,
    ) -> (Vec<Piece<'a>>, Vec<(Piece<'a>, Cause)>) {
        arranged(&self.counts, self.now(), (setup, parts), words)
    }

    /// See [`fitted`].
    pub(super) fn fitted<'a>(
        &self,
        setup: &Setup,
        window: Option<u32>,
        pieces: &[Piece<'a>],
    ) -> Result<(Fitted<'a>, Linted<'a>), Invalid> {
        fitted(&self.counts, setup, window, pieces)
    }
}

/// The pieces in order, and what is left out before anything is counted.
fn arranged<'a>(
    counts: &TokenCache,
    now: Timestamp,
    (setup, parts): (&Setup, &'a Parts),
    words: &'a Words,
) -> (Vec<Piece<'a>>, Vec<(Piece<'a>, Cause)>) {
    let (mut left_out, mut checkpoint, mut turn, mut query) = (vec![], vec![], vec![], None);
    let giver = parts.giver(now);
    for placed in &parts.placed {
        let tokens = counts.told(setup.tokenizer, words, &placed.card);
        let piece = placed.piece(words, tokens, is_pinned(&placed.card));
        let is_told = view::is_message(&placed.card.kind)
            && (placed.card.kind.as_str() != PARENT_POINTER || giver == Some(placed.card.id));
        if !placed.card.is_visible(now) {
            left_out.push((piece, Cause::Expired));
        } else if !is_told {
            left_out.push((piece, Cause::NotAMessage));
        } else {
            match placed.layer {
                Layer::Query => query = Some(piece),
                Layer::Turn => turn.push(piece),
                Layer::SystemPrompt
                | Layer::Framework
                | Layer::Experience
                | Layer::Knowledge
                | Layer::Todo
                | Layer::Compression
                | Layer::Extra
                | Layer::Tools
                | Layer::Checkpoint => checkpoint.push(piece),
            }
        }
    }
    let block = |key: Option<&'a str>, layer, cause, card: &'a Card| Piece {
        layer,
        context_key: key,
        cause,
        body: Body::Card(card),
        reference: Reference::Block(card.id),
        tokens: counts.card(setup.tokenizer, card),
        pinned: false,
    };
    let blocks = parts.blocks.iter();
    let layers = Layers {
        system_prompt: parts
            .system_prompt
            .as_ref()
            .map(|card| block(None, Layer::SystemPrompt, Cause::Profile, card)),
        blocks: blocks.map(|(key, layer, card)| block(Some(key), *layer, Cause::Collected, card)).collect(),
        checkpoint,
        query,
        turn,
    };
    (arrange(layers, setup.placement), left_out)
}

/// What of it is sent through such a window, repaired where providers would refuse it.
fn fitted<'a>(
    counts: &TokenCache,
    setup: &Setup,
    window: Option<u32>,
    pieces: &[Piece<'a>],
) -> Result<(Fitted<'a>, Linted<'a>), Invalid> {
    let fixed = setup.tools.as_ref().map_or(0, |card| counts.card(setup.tokenizer, card));
    let budget = Budget { window, reserve: setup.reserve, fixed };
    let added = |linted: &Linted<'_>| {
        let tokens = |repair: &NewRepair| repair.tokens(setup.tokenizer);
        linted.repairs.iter().map(tokens).fold(0, u32::saturating_add)
    };
    fit::fit_repaired(setup.provider, pieces, budget, added).map_err(|error| match error {
        CannotSend::Over(over) => Invalid::coded(InvalidCode::ContextOverflow, "window", over.to_string()),
        CannotSend::Lint(error) => Invalid::coded(InvalidCode::Unrepairable, "cards", error.to_string()),
    })
}

fn is_pinned(card: &Card) -> bool {
    card.metadata
        .members()
        .is_some_and(|mut members| members.any(|(key, value)| key == "pinned" && value == "true"))
}
