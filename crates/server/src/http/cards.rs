//! Cards: API-04, API-05, and writing them (API-17).

use super::{distinct, remembered};
use crate::{
    error::{Answer, ApiError},
    request::Request,
    respond,
};
use axum::http::StatusCode;
use cardwire_api::{
    ErrorCode,
    cards::{CardBatchIn, CardBatchOut, CardIn, CardOut},
    parse,
};
use cardwire_kernel::{Done, NewCard, ReadCards, protocol::facts::put_card::Put};
use cardwire_model::{CardId, Origin};

pub(crate) async fn get(request: Request) -> Answer {
    let (project, id) = (request.project()?, request.param("card_id")?);
    let include_deleted = request.flag("include_deleted")?.unwrap_or(false);
    let found = request.state.kernel.get_cards(project, &[id], include_deleted).await?;
    match found.first() {
        Some(card) => respond::ok(&CardOut::new(project, card)),
        None => Err(ApiError::new(ErrorCode::NotFound, format!("card not found: {id}"))),
    }
}

pub(crate) async fn batch(request: Request) -> Answer {
    let project = request.project()?;
    let asked: Vec<CardId> = parse::list("card_ids", &request.body::<CardBatchIn>().await?.card_ids)?;
    let ids = distinct("card_ids", &asked)?;
    let include_deleted = request.flag("include_deleted")?.unwrap_or(false);
    // One damaged card must not hide the others (NF-01).
    let ReadCards { cards, damaged } =
        request.state.kernel.read_cards(project, &ids, include_deleted).await?;
    let is_found = |id: &&CardId| cards.iter().any(|card| card.id == **id) || damaged.contains(id);
    respond::ok(&CardBatchOut {
        missing_ids: ids.iter().filter(|id| !is_found(id)).map(ToString::to_string).collect(),
        cards: cards.iter().map(|card| CardOut::new(project, card)).collect(),
        damaged_ids: damaged.iter().map(ToString::to_string).collect(),
    })
}

pub(crate) async fn put(request: Request) -> Answer {
    let project = request.project()?;
    let (id, draft) = request.read(|body: CardIn, _| body.into_draft()).await?;
    let remember = request.remember({
        let project = project.clone();
        move |put: &Put| match put {
            Put::Created(card) => remembered(StatusCode::CREATED, &CardOut::new(&project, card)),
            Put::Existing(_) => None,
        }
    })?;
    let new = NewCard { id, draft, origin: Origin::Operator };
    let kernel = &request.state.kernel;
    match kernel.put_card(project, &request.caller()?, new, remember.as_ref()).await? {
        Done::Replayed(answer) => respond::replayed(answer),
        Done::Fresh(Put::Created(card)) => respond::created(&CardOut::new(project, &card)),
        Done::Fresh(Put::Existing(id)) => {
            let found = kernel.get_cards(project, &[id], false).await?;
            let card = found
                .first()
                .ok_or_else(|| ApiError::new(ErrorCode::NotFound, format!("card not found: {id}")))?;
            respond::ok(&CardOut { idempotent: true, ..CardOut::new(project, card) })
        }
    }
}

pub(crate) async fn delete(request: Request) -> Answer {
    let id = request.param("card_id")?;
    request.state.kernel.delete_card(request.project()?, &request.caller()?, id).await?;
    respond::no_content()
}
