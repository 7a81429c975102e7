//! The pages of the nouns: handovers, batches, agents, sessions, packages, documents, and the server itself. One file each.
//!
//! Each handler gathers what its page shows; the twins of pages are the answers of the API's handlers, and so is what is done.

pub(super) mod agent;
pub(super) mod batch;
pub(super) mod document;
pub(super) mod handover;
pub(super) mod home;
pub(super) mod package;
pub(super) mod session;
pub(super) mod system;

use super::visit::Visit;
use cardwire_inspector::{pages::handover::Card as ShownCard, text};
use cardwire_model::{Card, InboxItem, TurnPayload};

/// Rows that stand on a page at once.
const ROWS: usize = 100;

/// Takes a page that was read with one row more than is shown. Answers whether there are more.
fn cut<T>(page: &mut Vec<T>) -> bool {
    let has_more = page.len() > ROWS;
    page.truncate(ROWS);
    has_more
}

/// The query of a list for the API: where it goes on.
fn cursor(visit: &Visit) -> Vec<(&'static str, String)> {
    let mut query = vec![("limit", ROWS.to_string())];
    query.extend(visit.request.text("after").map(|place| ("cursor", place.to_owned())));
    query
}

/// A command with the project that is looked at.
fn command(visit: &Visit, command: &str) -> String {
    match &visit.request.project {
        Some(project) => format!("cardwire {command} --project {project}"),
        None => format!("cardwire {command}"),
    }
}

/// A card as pages show it.
fn shown(card: &Card) -> ShownCard {
    ShownCard {
        id: card.id.to_string(),
        text: super::gather::said(card),
        kind: card.kind.as_str().to_owned(),
        layer: super::gather::layer_of(card).to_owned(),
        tokens: card.tokens.into(),
    }
}

/// What a turn belongs to: its batch and its session, each with its place below the project.
pub(super) fn belongs(item: &InboxItem, payload: Option<&TurnPayload>) -> Vec<(String, String)> {
    let mut places = vec![];
    if let Some(branch) = item.branch {
        let name = format!("task {} of batch {}", branch.index, text::short(&branch.batch_id.to_string()));
        places.push((name, format!("/batches/{}", branch.batch_id)));
    }
    let settings = payload.map(|payload| payload.runtime_config.to_value()).unwrap_or_default();
    if let Some(session) = settings["session_id"].as_str() {
        let namespace = settings["namespace"].as_str().unwrap_or("default");
        places.push((format!("session {session}"), format!("/sessions/{session}?namespace={namespace}")));
    }
    places.push(("its agent".to_owned(), format!("/agents/{}", item.agent_id)));
    places
}
