//! Whole runs, lists of cards and boxes, and where a card is used (IN-13, IN-14).

use super::{
    next_cursor,
    state::{dated_cursor, dated_place},
};
use crate::{error::Answer, request::Request, respond};
use cardwire_api::{
    cards::CardOut,
    handed::HandedOut,
    survey::{
        BoxHeadOut, BoxList, CardList, HolderList, InspectorCodeOut, OutlineOut, RunList, RunOut,
        SentCardList,
    },
};
use cardwire_model::{CardId, CardKind, Hash256, InboxId, Invalid, limits};

pub(crate) async fn runs(request: Request) -> Answer {
    let (limit, before) = (request.limit(limits::PAGE_DEFAULT, limits::RUN_LIST_MAX)?, cursor(&request)?);
    let runs = request.state.kernel.list_runs(request.project()?, before, limit).await?;
    let next_cursor = next_cursor(&runs, limit, |run| run.root.item.id.to_string());
    respond::ok(&RunList { items: runs.into_iter().map(RunOut::from).collect(), next_cursor })
}

fn cursor(request: &Request) -> Result<Option<InboxId>, Invalid> {
    request.parsed("cursor")
}

pub(crate) async fn outline(request: Request) -> Answer {
    let (project, turn) = (request.project()?, request.param("agent_turn_id")?);
    let outline = request.state.kernel.outline(project, turn).await?;
    // Steps keep what their workers said of them.
    let bytes = outline.turns.iter().flat_map(|turn| &turn.steps).map(|step| step.metadata.as_bytes().len());
    let bytes = bytes.sum();
    request.compute(bytes, move |_| respond::ok(&OutlineOut::from(&outline))).await
}

pub(crate) async fn handed(request: Request) -> Answer {
    let (project, turn) = (request.project()?, request.param("agent_turn_id")?);
    let handed = request.state.kernel.handed(project, &request.caller()?, turn).await?;
    respond::ok(&HandedOut::from(&handed))
}

pub(crate) async fn boxes(request: Request) -> Answer {
    let (limit, before) = (request.page_limit()?, request.parsed("cursor")?);
    let page = request.state.kernel.list_boxes(request.project()?, before, limit).await?;
    let next_cursor = next_cursor(&page, limit, |head| head.box_id.to_string());
    respond::ok(&BoxList { items: page.iter().map(BoxHeadOut::from).collect(), next_cursor })
}

pub(crate) async fn cards(request: Request) -> Answer {
    let (limit, before) = (request.page_limit()?, request.parsed("cursor")?);
    let kind = request.text("type").map(CardKind::new).transpose().map_err(|wrong| wrong.at("type"))?;
    let text = request.text("text");
    if let Some(text) = text {
        Invalid::check_size("text", text.chars().count(), limits::SEARCH_TEXT_CHARS, "characters")?;
        if text.trim().is_empty() {
            return Err(Invalid::field("text", "must not be blank").into());
        }
    }
    let project = request.project()?;
    let found = request.state.kernel.list_cards(project, kind, text, before, limit).await?;
    respond::ok(&CardList {
        items: found.cards.iter().map(|card| CardOut::new(project, card)).collect(),
        next_cursor: found.last.map(|id| id.to_string()),
        damaged_ids: found.damaged.iter().map(ToString::to_string).collect(),
    })
}

pub(crate) async fn card_boxes(request: Request) -> Answer {
    let card: CardId = request.param("card_id")?;
    respond::ok(&HolderList::from(request.state.kernel.boxes_of_card(request.project()?, card).await?))
}

pub(crate) async fn card_calls(request: Request) -> Answer {
    let (limit, before) = (request.page_limit()?, dated_place(&request)?);
    let card: CardId = request.param("card_id")?;
    let found = request.state.kernel.calls_of_card(request.project()?, card, before, limit).await?;
    respond::ok(&SentCardList::new(found, |(at, step)| dated_cursor((at, &step))))
}

/// Takes nothing but the token: whoever has the code has its reach, once.
pub(crate) fn inspector_code(request: &Request) -> Answer {
    let (state, secret) = (&request.state, request.by()?.secret.clone());
    let code = Hash256::of(state.kernel.ids().secret().as_slice()).to_string();
    state.codes.keep(&code, secret, state.kernel.now());
    let path = format!("/inspect/login#{code}");
    respond::created(&InspectorCodeOut { path, expires_in_seconds: limits::SESSION_CODE_SECONDS })
}
