//! Whatever happened to turns, valid requests can be made of their cards.

use super::super::world::World;
use cardwire_kernel::composer::{
    compose::{Layers, arrange},
    lint,
    piece::{Body, Piece, Reference},
    render::{self, RequestSpec},
    tokens::Tokenizer,
};
use cardwire_model::{Card, Cause, Layer, Placement, ProjectId, Provider};
use serde_json::Map;

/// OB-01: of every box, whole or cut where a turn was in the middle of something, a request that both providers accept.
pub(super) async fn invariant_19_every_history_makes_a_valid_request(
    world: &World,
    project: &ProjectId,
) -> Result<(), String> {
    let mut after = None;
    loop {
        let page = world.inner.scan_boxes(project, after, 500).await.unwrap();
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.box_id);
        for head in page {
            let rows = world.inner.box_cards(project, head.box_id, head.generation, 0).await.unwrap();
            let cards: Vec<Card> = rows.into_iter().filter_map(|row| row.card).collect();
            for cut in [cards.len(), world.shared.below(cards.len() + 1)] {
                for provider in Provider::ALL {
                    request(&cards[..cut], *provider)
                        .map_err(|error| format!("invariant 19: box {}: {error}", head.box_id))?;
                }
            }
        }
    }
}

fn request(cards: &[Card], provider: Provider) -> Result<(), String> {
    let piece = |card| Piece {
        layer: Layer::Turn,
        context_key: None,
        cause: Cause::Own,
        body: Body::Card(card),
        reference: Reference::Card { id: card.id, place: None },
        tokens: Tokenizer::Estimate.count_card(card),
        pinned: false,
    };
    let turn: Vec<Piece<'_>> = cards.iter().map(piece).collect();
    let layers = Layers { system_prompt: None, blocks: vec![], checkpoint: vec![], query: None, turn };
    let pieces = arrange(layers, Placement::Seed);
    let linted = match lint::lint(provider, &pieces) {
        Ok(linted) => linted,
        Err(error) if error.rule == lint::Rule::NothingToSend => return Ok(()),
        Err(error) => return Err(error.to_string()),
    };
    let params = Map::new();
    let spec = RequestSpec { provider, model: "m", params: &params, tools: None };
    let body = render::render(&linted, &spec);
    let body = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
    lint::check(provider, &body)
}
