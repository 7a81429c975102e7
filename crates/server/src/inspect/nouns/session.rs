//! Sessions: what is remembered, what a summary replaced, and going back to a checkpoint.

use super::{ROWS, command, cursor, cut};
use crate::{
    error::{Answer, ApiError},
    http,
    inspect::{
        Form, answer, field, gather, see,
        visit::{Format, Visit},
    },
};
use cardwire_api::{knowledge, parse};
use cardwire_inspector::{
    Section, markdown,
    pages::{
        list::{self, Cell},
        session as page,
    },
    text,
};
use cardwire_kernel::{CheckpointView, SessionView, Window};
use cardwire_model::{Card, CardId, Session, SessionId, SessionKey};
use serde_json::Value;
use std::sync::Arc;

/// The sessions of a namespace, by name.
pub(in crate::inspect) async fn list(visit: Visit) -> Answer {
    let title = "What is remembered from turn to turn";
    let namespace = knowledge::namespace(visit.request.text("namespace"))?;
    if answer::wants_twin(&visit) {
        let (format, mut query) = (visit.format, cursor(&visit));
        query.push(("namespace", namespace.to_string()));
        return answer::with_twins(format, title, visit.api(&[], &query), http::sessions::list).await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let after = visit.request.parsed::<SessionId>("after")?;
    let mut found = kernel.list_sessions(project, &namespace, after.as_ref(), ROWS + 1).await?;
    let has_more = cut(&mut found);
    let row = |session: &Session| {
        let name = &session.key.session;
        vec![
            Cell::Title {
                name: name.to_string(),
                href: Some(visit.link(&format!("/sessions/{name}?namespace={namespace}"))),
                line: format!("of {namespace}"),
            },
            Cell::Number(Some(session.version.get())),
            Cell::Id(Some((
                session.checkpoint.to_string(),
                visit.link(&format!("/cards/{}", session.checkpoint)),
            ))),
            Cell::At(Some(session.updated_at)),
        ]
    };
    let last = found.last().filter(|_| has_more);
    let next =
        last.map(|last| visit.link(&format!("/sessions?namespace={namespace}&after={}", last.key.session)));
    let view = list::List {
        noun: "session",
        columns: vec!["session", "Version", "checkpoint", "Changed"],
        rows: found.iter().map(row).collect(),
        next,
        empty: (
            "Nothing is remembered here yet. A turn that is dispatched with a session remembers:",
            command(&visit, "turn dispatch --agent AGENT --session NAME --text \"…\""),
        ),
        search: None,
        now: visit.now,
    };
    let frame = visit.frame(Section::More, title, vec![("sessions".to_owned(), None)]);
    Ok(answer::html(list::show(&frame, &view)))
}

/// One session.
pub(in crate::inspect) async fn show(visit: Visit, id: &str) -> Answer {
    let namespace = knowledge::namespace(visit.request.text("namespace"))?;
    let key = SessionKey { namespace, session: parse::one("session", id)? };
    let at = visit.request.parsed::<CardId>("checkpoint")?;
    let before = visit.request.integer("before")?;
    if visit.format == Format::Json {
        let mut query = vec![("namespace", key.namespace.to_string())];
        query.extend(at.map(|card| ("checkpoint", card.to_string())));
        query.extend(before.map(|place| ("before", place.to_string())));
        return http::sessions::get(visit.api(&[("session_id", id)], &query)).await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let before = before.map(|place| u32::try_from(place.max(0)).unwrap_or(u32::MAX));
    let window = Window { before, limit: ROWS };
    let session = kernel.session_window(project, &key, at, window).await?;
    let view = view_of(&visit, &key, session, at).await?;
    if visit.format == Format::Markdown {
        return Ok(answer::markdown(markdown::session(&view)));
    }
    let way = vec![("sessions".to_owned(), Some(visit.link("/sessions"))), (text::short(id), None)];
    let mut frame =
        visit.frame(Section::More, format!("What the session {} remembers", text::short(id)), way);
    frame.is_live = at.is_none() && before.is_none();
    Ok(answer::html(page::show(&frame, &view)))
}

async fn view_of(
    visit: &Visit,
    key: &SessionKey,
    session: SessionView,
    at: Option<CardId>,
) -> Result<page::Session, ApiError> {
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let older = visit.request.parsed::<CardId>("older")?;
    let mut checkpoints = kernel.list_checkpoints(project, key, older, ROWS + 1).await?;
    let compacted: Vec<bool> =
        (0..checkpoints.len()).map(|place| is_compaction(&checkpoints, place)).collect();
    let has_more = cut(&mut checkpoints);
    let address = format!("/sessions/{}?namespace={}", key.session, key.namespace);
    let shown = at.map(|card| format!("&checkpoint={card}")).unwrap_or_default();
    let summary = match session.checkpoint.summary {
        Some(card) => Some(summary(visit, card).await?),
        None => None,
    };
    let fields = session.fields.iter().filter(|(_, value)| !value.is_null());
    let checkpoint = |(view, compacted): (&CheckpointView, bool)| page::Checkpoint {
        id: view.id.to_string(),
        version: view.checkpoint.version,
        messages: view.checkpoint.messages.into(),
        compacted,
        at: view.created_at,
    };
    let last = checkpoints.last().filter(|_| has_more);
    let earlier = session.earlier.messages;
    Ok(page::Session {
        name: key.session.to_string(),
        namespace: key.namespace.to_string(),
        version: session.version,
        at: at.map(|card| card.to_string()),
        last: session.session.checkpoint.to_string(),
        total: session.checkpoint.messages.into(),
        messages: session.messages.iter().map(message).collect(),
        earlier: (earlier > 0).then(|| visit.link(&format!("{address}{shown}&before={earlier}"))),
        results: session.results.iter().map(message).collect(),
        timeline: session.timeline.iter().map(message).collect(),
        summary,
        fields: fields.map(|(name, value)| (name.clone(), pretty(value))).collect(),
        checkpoints: checkpoints.iter().zip(compacted).map(checkpoint).collect(),
        older: last.map(|last| visit.link(&format!("{address}{shown}&older={}", last.id))),
        made: session.session.created_at,
        updated: session.session.updated_at,
        now: visit.now,
    })
}

/// Whether a checkpoint has another summary than the one before it.
fn is_compaction(checkpoints: &[CheckpointView], place: usize) -> bool {
    let summary = |place: usize| checkpoints.get(place).and_then(|view| view.checkpoint.summary);
    summary(place).is_some() && summary(place) != summary(place + 1)
}

fn pretty(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            serde_json::to_string_pretty(value).unwrap_or_default()
        }
    }
}

fn message(card: &Arc<Card>) -> page::Message {
    page::Message {
        card: card.id.to_string(),
        role: card.role.as_str().to_owned(),
        text: gather::said(card),
        tokens: card.tokens.into(),
    }
}

/// A summary with what it stands for.
async fn summary(visit: &Visit, id: CardId) -> Result<page::Summary, ApiError> {
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let (text, replaced) = kernel.expand_summary(project, id).await?;
    let own = gather::cards(kernel, project, &[id]).await?.remove(&id);
    Ok(page::Summary {
        card: id.to_string(),
        text,
        tokens: own.map_or(0, |card| card.tokens.into()),
        replaced_total: replaced.len() as u64,
        replaced_tokens: replaced.iter().map(|card| u64::from(card.tokens)).sum(),
        replaced: replaced.iter().take(ROWS).map(message).collect(),
    })
}

/// Puts a session back to a checkpoint.
pub(in crate::inspect) async fn restore(visit: Visit, id: &str, form: &Form) -> Answer {
    let namespace = knowledge::namespace(field(form, "namespace"))?.to_string();
    let place = visit.link(&format!("/sessions/{id}?namespace={namespace}"));
    let mut request = visit.api(&[("session_id", id)], &[("namespace", namespace)]);
    let checkpoint = field(form, "checkpoint").unwrap_or_default();
    request.body = serde_json::json!({ "checkpoint_id": checkpoint }).to_string().into();
    http::sessions::restore(request).await?;
    Ok(see(&place))
}
