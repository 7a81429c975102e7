//! What a request passes before a handler sees it: host, token, rate, access, project, body.

use crate::{
    error::ApiError,
    limit::Counted,
    request::{Authenticated, By, Request, read_query},
    state::State,
    unread,
};
use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderName, Method, header, request::Parts},
};
use cardwire_api::{
    Access, Endpoint, ErrorCode, Op, parse,
    pmo::RequestTrace,
    reports::Speaker,
    turn_token::{self, Presented},
};
use cardwire_kernel::{
    Caller, KernelError,
    protocol::{Actor, access::Needed},
};
use cardwire_model::{Invalid, ProjectId, Realm, TokenSecret, TurnId, limits};
use futures_util::StreamExt;
use std::{collections::HashMap, net::IpAddr, str::FromStr, sync::Arc};

/// How much of an oversized body is read before the connection is given up, so that a client which sends it all
/// before it listens still gets its 413.
const DRAIN_BYTES: usize = 8 * limits::BODY_BYTES;

/// The parameters of a path, or which of them cannot be read.
pub(crate) type Params = Result<HashMap<String, String>, Invalid>;

/// Lets a request through, or says why not.
pub(crate) async fn admit(
    state: &Arc<State>,
    endpoint: &Endpoint,
    params: Params,
    parts: Parts,
    body: Body,
    trace: RequestTrace,
) -> Result<Request, ApiError> {
    let Entered { params, project, who, query } = match enter(state, endpoint, params, &parts).await {
        Ok(entered) => entered,
        Err(error) => {
            let closes = !unread::take(&parts.headers, body).await;
            return Err(ApiError { closes, ..error });
        }
    };
    let body = read_body(body).await?;
    if endpoint.body.is_none() && parts.method == Method::POST {
        parse::body::<NoFields>(&body)?;
    }
    let by = match who {
        Who::Nobody => None,
        Who::Known(by) => Some(by),
        Who::Unproven(token) => {
            let turn = speaks_for(state, project.as_ref(), Speaker::read(&body)?).await?;
            Some(open_turn(state, project.as_ref(), turn, &token).await?)
        }
    };
    Ok(Request {
        state: Arc::clone(state),
        method: parts.method,
        path: parts.uri.path().to_owned(),
        params,
        query,
        headers: parts.headers,
        body,
        by,
        project,
        trace,
    })
}

/// What is known of a request before its body is read.
struct Entered {
    params: HashMap<String, String>,
    project: Option<ProjectId>,
    who: Who,
    query: HashMap<String, String>,
}

async fn enter(
    state: &Arc<State>,
    endpoint: &Endpoint,
    params: Params,
    parts: &Parts,
) -> Result<Entered, ApiError> {
    check_host(state, &parts.headers)?;
    let bearer = match endpoint.access.scope() {
        None => None,
        Some(_) => Some(identify(state, endpoint, &parts.headers).await?),
    };
    let params = params?;
    let project = match endpoint.access {
        Access::Project(_) | Access::Turn(_) => Some(named(&params, "project_id")?),
        Access::Open | Access::Any(_) | Access::Global(_) => None,
    };
    let who = match bearer {
        None => Who::Nobody,
        Some(bearer) => admit_bearer(state, endpoint, bearer, project.as_ref(), &params).await?,
    };
    let query = read_query(endpoint, parts.uri.query())?;
    Ok(Entered { params, project, who, query })
}

/// A body where none is asked for.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct NoFields {}

/// Who sends a request, as far as it is known before its body is read.
enum Who {
    /// Nobody has to be known.
    Nobody,
    Known(By),
    /// The holder of the turn that the body names, if this is its token.
    Unproven(Presented),
}

fn named<T: FromStr<Err = Invalid>>(params: &HashMap<String, String>, name: &str) -> Result<T, Invalid> {
    parse::one(name, params.get(name).map_or("", String::as_str))
}

async fn admit_bearer(
    state: &State,
    endpoint: &Endpoint,
    bearer: Bearer,
    project: Option<&ProjectId>,
    params: &HashMap<String, String>,
) -> Result<Who, ApiError> {
    match bearer {
        Bearer::Token(by) => {
            authorise(state, endpoint, &by, project)?;
            if let Some(project) = project {
                state.kernel.live_project(project).await?;
            }
            Ok(Who::Known(By::Token(by)))
        }
        Bearer::Turn(token) if params.contains_key("agent_turn_id") => {
            open_turn(state, project, named(params, "agent_turn_id")?, &token).await.map(Who::Known)
        }
        Bearer::Turn(token) => Ok(Who::Unproven(token)),
    }
}

/// SEC-03: a page on another name cannot reach us by pointing that name here, nor can it call us from a browser.
fn check_host(state: &State, headers: &HeaderMap) -> Result<(), ApiError> {
    let refuse =
        |what: &str| Err(ApiError::new(ErrorCode::Forbidden, format!("this {what} is not served here")));
    let Some(host) = text(headers, &header::HOST) else {
        return Err(Invalid::field("Host", "is required").into());
    };
    if !is_allowed(state, host) {
        return refuse("Host");
    }
    match text(headers, &header::ORIGIN) {
        None => Ok(()),
        Some(origin) => {
            let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            if authority.is_some_and(|authority| is_allowed(state, authority)) {
                Ok(())
            } else {
                refuse("Origin")
            }
        }
    }
}

/// Addresses cannot be rebound; of names only `localhost` and those we were told.
fn is_allowed(state: &State, authority: &str) -> bool {
    let name = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or(rest, |(address, _)| address),
        None => authority.rsplit_once(':').map_or(authority, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok()
        || state.config.allowed_hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// What came as `Authorization: Bearer …`.
enum Bearer {
    Token(Authenticated),
    /// A turn token; whether it opens the turn is still to be seen.
    Turn(Presented),
}

async fn identify(state: &State, endpoint: &Endpoint, headers: &HeaderMap) -> Result<Bearer, ApiError> {
    let (scheme, text) = text(headers, &header::AUTHORIZATION)
        .and_then(|value| value.split_once(' '))
        .ok_or(KernelError::Unauthenticated)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(KernelError::Unauthenticated.into());
    }
    let text = text.trim();
    if text.starts_with(turn_token::PREFIX) {
        let token = turn_token::read(text).ok_or(KernelError::Unauthenticated)?;
        if let Err(out_of_reach) = check_reach(endpoint) {
            // Only who holds a turn is told what it does not open.
            open_turn(state, Some(&token.project), token.turn, &token).await?;
            return Err(out_of_reach);
        }
        return Ok(Bearer::Turn(token));
    }
    let token = state.kernel.authenticate(text).await?;
    check_rate(state, Counted::Token(token.id))?;
    let secret = TokenSecret::from_text(text).map_err(|_| KernelError::Unauthenticated)?;
    Ok(Bearer::Token(Authenticated { token, secret }))
}

fn check_rate(state: &State, who: Counted) -> Result<(), ApiError> {
    if state.rate.allows(who) {
        Ok(())
    } else {
        Err(ApiError::new(ErrorCode::RateLimited, "too many requests by this token; slow down"))
    }
}

/// SEC-02: a turn token speaks for its turn and for nothing else. CB-14: a turn writes its output box only.
fn check_reach(endpoint: &Endpoint) -> Result<(), ApiError> {
    let forbidden = || ApiError::new(ErrorCode::Forbidden, "a turn token opens its turn only");
    match endpoint.access {
        Access::Turn(_) => Ok(()),
        Access::Project(_) if matches!(endpoint.op, Op::AppendToBox | Op::RewriteBox) => {
            let message = "a turn writes its own output box only, by its own verbs";
            Err(ApiError::new(ErrorCode::BoxNotWritable, message))
        }
        Access::Open | Access::Any(_) | Access::Global(_) | Access::Project(_) => Err(forbidden()),
    }
}

/// The turn that a body speaks for. Whose agent is not at work holds none.
async fn speaks_for(
    state: &State,
    project: Option<&ProjectId>,
    speaker: Speaker,
) -> Result<TurnId, ApiError> {
    match speaker {
        Speaker::Turn(turn) => Ok(turn),
        Speaker::Agent(agent) => {
            let project = project.ok_or(KernelError::Unauthenticated)?;
            let live = state.kernel.live_turn(project, &agent).await?;
            Ok(live.ok_or(KernelError::Unauthenticated)?)
        }
    }
}

/// The holder of the turn. The turn is looked for in the project of the path, and nothing is told to those who do not
/// hold it: neither whether it exists, nor whether the project does.
async fn open_turn(
    state: &State,
    project: Option<&ProjectId>,
    turn: TurnId,
    token: &Presented,
) -> Result<By, ApiError> {
    if !is_held(state, token).await? {
        return Err(KernelError::Unauthenticated.into());
    }
    check_rate(state, Counted::Turn(token.turn))?;
    if project != Some(&token.project) || turn != token.turn {
        return Err(KernelError::Unauthenticated.into());
    }
    Ok(By::Turn(turn, token.hash))
}

/// Whether the token opens its turn, in a project that is there.
async fn is_held(state: &State, token: &Presented) -> Result<bool, KernelError> {
    match state.kernel.live_project(&token.project).await {
        Err(KernelError::Rejected(_)) => Ok(false),
        Err(error) => Err(error),
        Ok(_) => state.kernel.opens_turn(&token.project, token.turn, token.hash).await,
    }
}

/// Who holds a token, of whatever kind, and of which realm it is; nobody, if it opens nothing.
pub(crate) async fn holder(state: &State, text: &str) -> Option<(Caller, Realm)> {
    if text.starts_with(turn_token::PREFIX) {
        let token = turn_token::read(text)?;
        let is_held = is_held(state, &token).await.unwrap_or(false);
        is_held.then(|| (Caller { actor: Actor::turn(token.turn) }, token.project.into()))
    } else {
        let token = state.kernel.authenticate(text).await.ok()?;
        Some((Caller { actor: Actor::token(token.id) }, token.realm))
    }
}

fn authorise(
    state: &State,
    endpoint: &Endpoint,
    by: &Authenticated,
    project: Option<&ProjectId>,
) -> Result<(), ApiError> {
    let (scope, global) = match endpoint.access {
        Access::Open => return Ok(()),
        Access::Any(scope) | Access::Project(scope) | Access::Turn(scope) => (scope, false),
        Access::Global(scope) => (scope, true),
    };
    // Where the path names no project, a token acts in its own realm.
    let realm = project.map_or_else(|| by.token.realm.clone(), |project| Realm::Project(project.clone()));
    Ok(state.kernel.permit(&by.token, &realm, Needed { scope, global })?)
}

/// Reads a body within the limit. A larger one is read on, without keeping it, before it is refused.
async fn read_body(body: Body) -> Result<Bytes, ApiError> {
    let mut stream = body.into_data_stream();
    let (mut kept, mut seen) = (Vec::new(), 0);
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| Invalid::field("body", "ended too early"))?;
        seen += chunk.len();
        if seen <= limits::BODY_BYTES {
            kept.extend_from_slice(&chunk);
        } else if seen > DRAIN_BYTES {
            break;
        }
    }
    let told = Invalid::check_size("body", seen, limits::BODY_BYTES, "bytes");
    told.map_err(|wrong| ApiError { closes: seen > DRAIN_BYTES, ..ApiError::from(wrong) })?;
    Ok(kept.into())
}
