//! The inspector: pages for people over the same kernel (IN-01..IN-11). Each handler gathers what a page shows and calls the page.
//!
//! This module must not decide anything about facts or access: a session has the reach of its token, judged as everywhere.
//! Invariants: every answer below `/inspect` carries the policy of [`POLICY`]; a POST needs an `Origin` of this server; the
//! cookie of a session opens nothing but these pages.

mod answer;
mod calls;
mod facts;
mod gather;
mod logs;
mod nouns;
mod run;
mod runs;
mod session;
mod turns;
mod visit;

use crate::{error::ApiError, gate, serve::Peer, state::State, trace::Trace};
use axum::{
    body::{Body, Bytes},
    extract::{Request, State as Shared},
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use cardwire_api::ErrorCode;
use cardwire_inspector::assets;
use cardwire_model::limits;
pub(crate) use session::Codes;
use std::sync::Arc;
use visit::Visit;

/// IN-03: no script or style but our own files, no other origin, no frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// Answers every request below `/inspect`.
pub(crate) async fn answer(Shared(state): Shared<Arc<State>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let outcome = tokio::time::timeout(crate::router::REQUEST_TIMEOUT, route(&state, &parts, body)).await;
    let outcome =
        outcome.unwrap_or_else(|_| Err(ApiError::new(ErrorCode::Timeout, "the page took too long to make")));
    let mut response = outcome.unwrap_or_else(|error| answer::problem(&path, error));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Not `no-referrer`: under that a browser sends forms with `Origin: null`, which is nobody's.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

async fn route(state: &Arc<State>, parts: &Parts, body: Body) -> Result<Response, ApiError> {
    gate::check_host(state, parts)?;
    let path = parts.uri.path().strip_prefix("/inspect").unwrap_or_default();
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    if let ["assets", name] = segments[..] {
        return asset(name);
    }
    let form = match parts.method {
        Method::GET | Method::HEAD => None,
        Method::POST => {
            gate::check_own_origin(parts)?;
            Some(read_form(body).await?)
        }
        _ => {
            return Err(ApiError::new(
                ErrorCode::MethodNotAllowed,
                "pages are read by GET and acted on by POST",
            ));
        }
    };
    match (&segments[..], &form) {
        (["login"], None) => return Ok(session::sign_in(parts, None)),
        (["login"], Some(form)) => return session::login(state, parts, form).await,
        _ => {}
    }
    let found = session::find(state, parts).await;
    let Some(session) = found? else { return Ok(session::ask(parts)) };
    let trace = Trace::of(&parts.headers, state.kernel.ids()).of_request();
    let visit = Visit::new(state, parts, &segments, session, trace).await?;
    match &form {
        None => show(visit).await,
        Some(form) => act(visit, form).await,
    }
}

/// The page of an address.
async fn show(visit: Visit) -> Result<Response, ApiError> {
    let place: Vec<String> = visit.place.clone();
    let place: Vec<&str> = place.iter().map(String::as_str).collect();
    match place[..] {
        [] => nouns::home::projects(visit).await,
        ["system"] => nouns::system::show(visit).await,
        ["session"] => session::page(visit),
        ["p", _] => runs::list(visit).await,
        ["p", _, "stream"] => logs::stream(visit).await,
        ["p", _, "runs", turn] => run::run(visit, turn).await,
        ["p", _, "turns", turn] => turns::turn(visit, turn).await,
        ["p", _, "turns", turn, "replay"] => turns::replay(visit, turn).await,
        ["p", _, "calls", call] => calls::call(visit, call).await,
        ["p", _, "calls", call, "request"] => calls::request(visit, call).await,
        ["p", _, "diff"] => calls::diff(visit).await,
        ["p", _, "why"] => calls::why(visit).await,
        ["p", _, "boxes", id] => facts::a_box(visit, id).await,
        ["p", _, "cards", id] => facts::card(visit, id).await,
        ["p", _, "search"] => facts::search(visit).await,
        ["p", _, "cost"] => logs::cost(visit).await,
        ["p", _, "handovers", turn] => nouns::handover::show(visit, turn).await,
        ["p", _, "batches"] => nouns::batch::list(visit).await,
        ["p", _, "batches", batch] => nouns::batch::show(visit, batch).await,
        ["p", _, "agents"] => nouns::agent::list(visit).await,
        ["p", _, "agents", agent] => nouns::agent::show(visit, agent).await,
        ["p", _, "sessions"] => nouns::session::list(visit).await,
        ["p", _, "sessions", session] => nouns::session::show(visit, session).await,
        ["p", _, "handoffs"] => nouns::package::list(visit).await,
        ["p", _, "handoffs", package] => nouns::package::show(visit, package).await,
        ["p", _, "teams"] => nouns::document::teams(visit).await,
        ["p", _, "teams", team] => nouns::document::team(visit, team).await,
        ["p", _, "recipes"] => nouns::document::recipes(visit).await,
        ["p", _, "recipes", recipe] => nouns::document::recipe(visit, recipe).await,
        ["p", _, "knowledge"] => nouns::document::sources(visit).await,
        ["p", _, "knowledge", "document"] => nouns::document::source(visit).await,
        ["p", _, "more"] => nouns::home::more(visit).await,
        ["p", _, "events"] => logs::events(visit).await,
        ["p", _, "audit"] => logs::audit(visit).await,
        _ => Err(ApiError::new(ErrorCode::NotFound, "there is no such page")),
    }
}

/// What a form asks for. A session that only reads changes nothing but itself.
async fn act(visit: Visit, form: &Form) -> Result<Response, ApiError> {
    let place: Vec<String> = visit.place.clone();
    let place: Vec<&str> = place.iter().map(String::as_str).collect();
    match place[..] {
        ["logout"] => Ok(session::logout()),
        ["session"] => session::switch(visit, form),
        ["p", _, "turns", turn, "stop"] => turns::stop(visit, turn).await,
        ["p", _, "turns", turn, "answer"] => turns::reply(visit, turn, form).await,
        ["p", _, "boxes", id, "fork"] => facts::fork_box(visit, id).await,
        ["p", _, "turns", turn, "fork"] => turns::fork(visit, turn, form).await,
        ["p", _, "batches", batch, "cancel"] => nouns::batch::cancel(visit, batch).await,
        ["p", _, "sessions", session, "restore"] => nouns::session::restore(visit, session, form).await,
        _ => Err(ApiError::new(ErrorCode::NotFound, "there is nothing to do here")),
    }
}

/// The fields of a form.
pub(crate) type Form = Vec<(String, String)>;

fn field<'a>(form: &'a Form, name: &str) -> Option<&'a str> {
    form.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
}

async fn read_form(body: Body) -> Result<Form, ApiError> {
    let read = axum::body::to_bytes(body, limits::FORM_BYTES).await;
    let bytes: Bytes = read.map_err(|_| {
        ApiError::new(ErrorCode::TooLarge, format!("a form has at most {} bytes", limits::FORM_BYTES))
    })?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| ApiError::new(ErrorCode::BadRequest, "the form must be UTF-8"))?;
    Ok(crate::request::form_pairs(text)?)
}

fn asset(name: &str) -> Result<Response, ApiError> {
    let missing = || ApiError::new(ErrorCode::NotFound, "there is no such file");
    let asset = assets::find(name).ok_or_else(missing)?;
    let mut response = Response::new(Body::from(asset.bytes));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    Ok(response)
}

/// Where a form leads afterwards.
fn see(place: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    // Places are made of names and ids that were checked, or were cut to what an address may have.
    let place = HeaderValue::from_str(place).unwrap_or(HeaderValue::from_static("/inspect"));
    response.headers_mut().insert(header::LOCATION, place);
    response
}

fn peer(parts: &Parts) -> Option<&Peer> {
    parts.extensions.get::<Peer>()
}
