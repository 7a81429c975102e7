//! Sessions: reading, patching, compacting, going back (API-11).

use super::{next_cursor, remembered};
use crate::{error::Answer, request::Request, respond};
use axum::http::StatusCode;
use cardwire_api::{
    knowledge, parse,
    sessions::{
        CheckpointList, CheckpointOut, CompactIn, CompactedOut, CompactionOut, PatchIn, PatchedOut,
        RestoreIn, RestoredOut, SessionList, SessionOut, SessionRowOut,
    },
};
use cardwire_kernel::{Compacted, Done, Window, protocol::session::patch::Patched};
use cardwire_model::{CancelFlag, Invalid, Namespace, Session, SessionKey, limits};

/// The namespace that the query names.
pub(super) fn namespace(request: &Request) -> Result<Namespace, Invalid> {
    knowledge::namespace(request.text("namespace"))
}

/// The session that path and query name.
pub(super) fn key(request: &Request) -> Result<SessionKey, Invalid> {
    Ok(SessionKey { namespace: namespace(request)?, session: request.param("session_id")? })
}

pub(crate) async fn list(request: Request) -> Answer {
    let (limit, after) = (request.page_limit()?, request.parsed("cursor")?);
    let (kernel, namespace) = (&request.state.kernel, namespace(&request)?);
    let page = kernel.list_sessions(request.project()?, &namespace, after.as_ref(), limit).await?;
    respond::ok(&SessionList {
        items: page.iter().map(SessionRowOut::from).collect(),
        next_cursor: next_cursor(&page, limit, |session| session.key.session.to_string()),
    })
}

pub(crate) async fn get(request: Request) -> Answer {
    let (key, at) = (key(&request)?, request.parsed("checkpoint")?);
    let before = request.integer("before")?.map(|place| u32::try_from(place.max(0)).unwrap_or(u32::MAX));
    let window =
        Window { before, limit: request.positive_limit(limits::SESSION_ITEMS, limits::SESSION_ITEMS)? };
    let view = request.state.kernel.session_window(request.project()?, &key, at, window).await?;
    respond::ok(&SessionOut::new(view, at))
}

pub(crate) async fn delete(request: Request) -> Answer {
    let key = key(&request)?;
    request.state.kernel.delete_session(request.project()?, &request.caller()?, &key).await?;
    respond::no_content()
}

pub(crate) async fn patch(request: Request) -> Answer {
    let (project, kernel, key) = (request.project()?, &request.state.kernel, key(&request)?);
    let settings = kernel.live_project(project).await?.settings.context;
    let read = |body: PatchIn, cancel: &CancelFlag| body.into_patch(settings.reproducible_contexts, cancel);
    let patch = request.read(read).await?;
    let remember =
        request.remember(|patched: &Patched| remembered(StatusCode::OK, &PatchedOut::from(patched)))?;
    match kernel.patch_session(project, &request.caller()?, &key, &patch, remember.as_ref()).await? {
        Done::Replayed(answer) => respond::replayed(answer),
        Done::Fresh(patched) => respond::ok(&PatchedOut::from(&patched)),
    }
}

pub(crate) async fn compact(request: Request) -> Answer {
    let (key, command) = (key(&request)?, request.body::<CompactIn>().await?.into_request()?);
    let (kernel, caller) = (&request.state.kernel, request.caller()?);
    let remember = request.remember(|compacted: &Compacted| {
        remembered(StatusCode::OK, &CompactedOut::from(compacted.clone()))
    })?;
    match kernel.compact_session(request.project()?, &caller, &key, &command, remember.as_ref()).await? {
        Done::Replayed(answer) => respond::replayed(answer),
        Done::Fresh(compacted) => respond::ok(&CompactedOut::from(compacted)),
    }
}

pub(crate) async fn compaction(request: Request) -> Answer {
    let asked = request.state.kernel.compaction_prompt(request.project()?, &key(&request)?).await?;
    respond::ok(&CompactionOut::new(asked))
}

pub(crate) async fn checkpoints(request: Request) -> Answer {
    let (limit, before) = (request.page_limit()?, request.parsed("cursor")?);
    let (kernel, key) = (&request.state.kernel, key(&request)?);
    let page = kernel.list_checkpoints(request.project()?, &key, before, limit).await?;
    respond::ok(&CheckpointList {
        items: page.iter().map(CheckpointOut::from).collect(),
        next_cursor: next_cursor(&page, limit, |checkpoint| checkpoint.id.to_string()),
    })
}

pub(crate) async fn restore(request: Request) -> Answer {
    let (kernel, key) = (&request.state.kernel, key(&request)?);
    let to = parse::one("checkpoint_id", &request.body::<RestoreIn>().await?.checkpoint_id)?;
    let remember =
        request.remember(|session: &Session| remembered(StatusCode::OK, &RestoredOut::from(session)))?;
    let (project, caller) = (request.project()?, request.caller()?);
    match kernel.restore_session(project, &caller, &key, to, remember.as_ref()).await? {
        Done::Replayed(answer) => respond::replayed(answer),
        Done::Fresh(session) => respond::ok(&RestoredOut::from(&session)),
    }
}
