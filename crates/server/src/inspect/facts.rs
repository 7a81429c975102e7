//! Cards, boxes, and finding them.

use super::{answer, gather, see, visit::Visit};
use crate::{
    error::{Answer, ApiError},
    http,
};
use cardwire_api::{ErrorCode, parse};
use cardwire_inspector::{
    Section,
    pages::{boxes, card, search},
    text,
};
use cardwire_kernel::{BoxView, Holder, Kernel, OutlinedTurn, protocol::session::compact::KIND as SUMMARY};
use cardwire_model::{AgentId, BatchId, BoxId, Card, CardId, Generation, Invalid, ProjectId, TurnId, limits};

/// One card.
pub(super) async fn card(visit: Visit, id: &str) -> Answer {
    let card_id: CardId = parse::one("card", id)?;
    if answer::wants_twin(&visit) {
        let query = [("include_deleted", "true".to_owned())];
        let (format, title) = (visit.format, format!("Card {id}"));
        return answer::with_twins(format, &title, visit.api(&[("card_id", id)], &query), http::cards::get)
            .await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let missing = || ApiError::new(ErrorCode::NotFound, format!("card not found: {id}"));
    let card = gather::cards(kernel, project, &[card_id]).await?.remove(&card_id).ok_or_else(missing)?;
    let boxes = kernel.boxes_of_card(project, card_id).await?;
    let calls = kernel.calls_of_card(project, card_id, None, limits::PAGE_DEFAULT).await?;
    let mut sent = vec![];
    for call in &calls.calls {
        let spent = OutlinedTurn::spent_by(&call.step).map(gather::spent);
        let part = |micros: u64| {
            (micros * u64::from(card.tokens)).checked_div(u64::from(call.total_tokens)).unwrap_or(0)
        };
        sent.push(card::Sent {
            call: call.call_id.to_string(),
            agent: call.step.agent_id.to_string(),
            layer: call.layer.as_str().to_owned(),
            micros: spent.and_then(|spent| spent.micros).map(part),
            at: call.step.created_at,
            spent,
        });
    }
    let pretty = |json: &cardwire_model::CanonicalJson| {
        serde_json::to_string_pretty(&json.to_value()).unwrap_or_else(|_| json.as_str().to_owned())
    };
    let content = || card.content.to_text().unwrap_or_else(|| pretty(&card.content));
    let view = card::Card {
        id: id.to_owned(),
        kind: card.kind.as_str().to_owned(),
        role: card.role.as_str().to_owned(),
        author: card.author_id.clone(),
        origin: card.origin.as_str().to_owned(),
        text: card.is_visible(visit.now).then(content),
        tool_calls: card.tool_calls.as_ref().map(pretty),
        metadata: pretty(&card.metadata),
        hash: card.content_hash.to_string(),
        tokens: card.tokens.into(),
        at: card.created_at,
        deleted: card.deleted_at,
        is_suspect: card.credential,
        replaced: replaced(&visit, kernel, project, &card).await?,
        boxes: boxes
            .holders
            .iter()
            .map(|holder| {
                (holder.box_id.to_string(), holder.generation.get(), holder.via.map(|via| via.to_string()))
            })
            .collect(),
        boxes_cut: boxes.is_cut,
        calls: sent,
        calls_cut: calls.last.is_some(),
        now: visit.now,
    };
    let title = match &view.text {
        Some(text) => text::first_line(text, 100),
        None => "A card that was deleted".to_owned(),
    };
    let frame = visit.frame(Section::Cards, title, vec![(text::short(id), None)]);
    Ok(answer::html(card::show(&frame, &view)))
}

/// What a summary stands for.
async fn replaced(
    visit: &Visit,
    kernel: &Kernel,
    project: &ProjectId,
    card: &Card,
) -> Result<Option<card::Replaced>, ApiError> {
    const SHOWN: usize = 100;
    if card.kind.as_str() != SUMMARY || !card.is_visible(visit.now) {
        return Ok(None);
    }
    let (_, cards) = kernel.expand_summary(project, card.id).await?;
    let piece =
        |card: &std::sync::Arc<Card>| gather::piece(card, gather::layer_of(card), visit.now, card.tokens);
    Ok(Some(card::Replaced {
        cards: cards.len() as u64,
        tokens: cards.iter().map(|card| u64::from(card.tokens)).sum(),
        shown: cards.iter().take(SHOWN).map(piece).collect(),
    }))
}

/// A box, `ID` or `ID@GENERATION`.
pub(super) async fn a_box(visit: Visit, name: &str) -> Answer {
    let (id, generation) = match name.split_once('@') {
        Some((id, generation)) => {
            let number =
                generation.parse().map_err(|_| Invalid::field("generation", "must be a whole number"))?;
            (id, Some(Generation::new(number)))
        }
        None => (name, None),
    };
    let box_id: BoxId = parse::one("box", id)?;
    if answer::wants_twin(&visit) {
        let query: Vec<_> =
            generation.map(|number| ("generation", number.get().to_string())).into_iter().collect();
        let (format, title) = (visit.format, format!("Box {name}"));
        return answer::with_twins(format, &title, visit.api(&[("box_id", id)], &query), http::boxes::get)
            .await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let newest = kernel.view_box(project, box_id, None).await?;
    let shown = match generation {
        Some(_) => kernel.view_box(project, box_id, generation).await?,
        None => newest.clone(),
    };
    let ids: Vec<CardId> = shown.card_ids().collect();
    let cards = gather::cards(kernel, project, &ids).await?;
    let piece = |shown: &cardwire_kernel::protocol::facts::flatten::Shown| {
        let card = cards.get(&shown.card_id)?;
        let piece = gather::piece(card, gather::layer_of(card), visit.now, card.tokens);
        Some((piece, source_of(shown)))
    };
    let view = boxes::BoxPage {
        id: id.to_owned(),
        generation: shown.head.generation.get(),
        newest: newest.head.generation.get(),
        len: ids.len() as u64,
        is_sealed: newest.head.sealed,
        cards: shown.provenance().iter().filter_map(piece).collect(),
        lineage: lineage(kernel, project, box_id, &shown).await?,
        at: newest.head.created_at,
        now: visit.now,
    };
    let frame = visit.frame(Section::Cards, "What this box holds", vec![(text::short(id), None)]);
    Ok(answer::html(boxes::show(&frame, &view)))
}

/// The boxes that a box inherits from, and those that inherit its last card from it.
async fn lineage(
    kernel: &Kernel,
    project: &ProjectId,
    box_id: BoxId,
    shown: &BoxView,
) -> Result<boxes::Lineage, ApiError> {
    let mut sources: Vec<boxes::Kin> = vec![];
    for (from, generation) in shown.provenance().iter().filter_map(|card| card.from) {
        let (id, generation) = (from.to_string(), generation.get());
        match sources.iter_mut().find(|kin| (&kin.id, kin.generation) == (&id, generation)) {
            Some(kin) => kin.cards = kin.cards.map(|cards| cards + 1),
            None => sources.push(boxes::Kin { id, generation, cards: Some(1) }),
        }
    }
    let Some(last) = shown.card_ids().last() else {
        return Ok(boxes::Lineage { sources, ..boxes::Lineage::default() });
    };
    let holders = kernel.boxes_of_card(project, last).await?;
    let heirs = holders.holders.iter().filter(|holder| holder.via == Some(box_id));
    let kin = |holder: &Holder| boxes::Kin {
        id: holder.box_id.to_string(),
        generation: holder.generation.get(),
        cards: None,
    };
    Ok(boxes::Lineage { sources, heirs: heirs.map(kin).collect(), is_cut: holders.is_cut })
}

/// Makes a box that begins like this one, and shows it.
pub(super) async fn fork_box(visit: Visit, id: &str) -> Answer {
    let box_id: BoxId = parse::one("box", id)?;
    let request = &visit.request;
    let (project, kernel) = (request.project()?, &request.state.kernel);
    let forked = kernel.fork_box(project, &request.caller()?, box_id, None, None).await?;
    let made = forked.fresh().map_or(box_id, |head| head.box_id);
    Ok(see(&visit.link(&format!("/boxes/{made}"))))
}

/// Where a card of a box comes from, in a few words.
fn source_of(shown: &cardwire_kernel::protocol::facts::flatten::Shown) -> String {
    let (name, rule) = shown.source.origin();
    match rule {
        Some(rule) => format!("{name}, rule {rule}"),
        None => name.to_owned(),
    }
}

/// What was found, by id, name or text.
pub(super) async fn search(visit: Visit) -> Answer {
    let wanted = visit.request.text("q").unwrap_or_default().trim().to_owned();
    Invalid::check_size("q", wanted.chars().count(), limits::SEARCH_TEXT_CHARS, "characters")?;
    let before = visit.request.parsed::<CardId>("before")?;
    let text_of = (!wanted.is_empty()).then_some(wanted.as_str());
    if answer::wants_twin(&visit) {
        let mut query: Vec<_> = text_of.map(|text| ("text", text.to_owned())).into_iter().collect();
        query.extend(before.map(|id| ("cursor", id.to_string())));
        let format = visit.format;
        return answer::with_twins(format, "Cards", visit.api(&[], &query), http::survey::cards).await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let found = kernel.list_cards(project, None, text_of, before, limits::PAGE_DEFAULT).await?;
    let mut places = vec![];
    if let Ok(turn) = wanted.parse::<TurnId>()
        && kernel.turn(project, turn).await.is_ok()
    {
        places.push((format!("Turn {wanted}"), visit.link(&format!("/turns/{wanted}"))));
    }
    if let Ok(id) = wanted.parse::<BoxId>()
        && kernel.view_box(project, id, None).await.is_ok()
    {
        places.push((format!("Box {wanted}"), visit.link(&format!("/boxes/{wanted}"))));
    }
    if let Ok(id) = wanted.parse::<CardId>()
        && !kernel.read_cards(project, &[id], true).await?.cards.is_empty()
    {
        let place = if kernel.call(project, id).await.is_ok() { "calls" } else { "cards" };
        places.push((
            format!("{} {wanted}", if place == "calls" { "Call" } else { "Card" }),
            visit.link(&format!("/{place}/{wanted}")),
        ));
    }
    if let Ok(agent) = wanted.parse::<AgentId>()
        && kernel.agent(project, &agent).await.is_ok()
    {
        places.push((format!("Agent {wanted}"), visit.link(&format!("/agents/{wanted}"))));
    }
    if let Ok(batch) = wanted.parse::<BatchId>()
        && kernel.batch(project, batch).await.is_ok()
    {
        places.push((format!("Batch {wanted}"), visit.link(&format!("/batches/{wanted}"))));
    }
    let view = search::Search {
        text: wanted.clone(),
        places,
        cards: found
            .cards
            .iter()
            .map(|card| gather::piece(card, gather::layer_of(card), visit.now, card.tokens))
            .collect(),
        next: found.last.map(|id| visit.link(&format!("/search?q={wanted}&before={id}"))),
    };
    let title = if wanted.is_empty() {
        "What was said, newest first".to_owned()
    } else {
        format!("What says “{wanted}”")
    };
    let frame = visit.frame(Section::Cards, title, vec![("search".to_owned(), None)]);
    Ok(answer::html(search::show(&frame, &view)))
}
