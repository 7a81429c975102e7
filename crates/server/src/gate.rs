//! What a request passes before a handler sees it: host, token, rate, access, project, body.

use crate::{
    error::ApiError,
    limit::Counted,
    lookups::Found,
    request::{Authenticated, By, Request, read_query},
    serve::Peer,
    state::State,
    unread,
};
use axum::{
    body::{Body, Bytes, HttpBody},
    http::{HeaderMap, HeaderName, Method, header, request::Parts, uri::Authority},
};
use cardwire_api::{
    Access, Endpoint, ErrorCode, Op, parse,
    pmo::RequestTrace,
    reports::Speaker,
    turn_token::{self, Presented},
};
use cardwire_kernel::{
    Caller, KernelError,
    protocol::{Actor, Rejection, access::Needed},
};
use cardwire_model::{Hash256, Invalid, ProjectId, Realm, Scope, TokenId, TokenSecret, TurnId, limits};
use futures_util::StreamExt;
use std::{
    collections::HashMap,
    net::IpAddr,
    str::FromStr,
    sync::{Arc, PoisonError},
};

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
    holder: &mut Option<Holder>,
) -> Result<Request, ApiError> {
    let entered = enter(state, endpoint, params, &parts, holder).await;
    let Entered { params, project, who, query } = match entered {
        Ok(entered) => entered,
        Err(error) => {
            let closes = !unread::take(&parts.headers, body).await;
            return Err(ApiError { closes, ..error });
        }
    };
    let body = match endpoint.access {
        Access::Open | Access::Guest(_) => unread_body(&parts.headers, body).await?,
        Access::Any(_) | Access::Global(_) | Access::Project(_) | Access::Turn(_) => read_body(body).await?,
    };
    if endpoint.body.is_none() && parts.method == Method::POST {
        parse::body::<NoFields>(&body)?;
    }
    let by = match who {
        Who::Nobody => None,
        Who::Known(by) => Some(by),
        Who::Turn(token) => {
            let turn = speaks_for(state, project.as_ref(), Speaker::read(&body)?).await?;
            Some(by_turn(project.as_ref(), turn, &token)?)
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
    holder: &mut Option<Holder>,
) -> Result<Entered, ApiError> {
    let welcome = check_host(state, parts);
    let bearer = match (endpoint.access, welcome) {
        (Access::Open, Ok(())) => stranger(state, endpoint, parts)?,
        (Access::Guest(_), Ok(())) if !parts.headers.contains_key(header::AUTHORIZATION) => {
            stranger(state, endpoint, parts)?
        }
        (_, Ok(())) => Some(identify(state, endpoint, parts, holder).await?),
        (_, Err(error)) => {
            // Who was turned away is told in the audit.
            let _ = identify(state, endpoint, parts, holder).await;
            return Err(error);
        }
    };
    let params = params?;
    let project = match endpoint.access {
        Access::Project(_) | Access::Turn(_) => Some(named(&params, "project_id")?),
        Access::Open | Access::Guest(_) | Access::Any(_) | Access::Global(_) => None,
    };
    let who = match bearer {
        None => Who::Nobody,
        Some(Bearer::Token(by)) => {
            authorise(state, endpoint, &by, project.as_ref())?;
            if let Some(project) = &project {
                state.kernel.live_project(project).await?;
            }
            Who::Known(By::Token(by))
        }
        Some(Bearer::Turn(token)) if params.contains_key("agent_turn_id") => {
            Who::Known(by_turn(project.as_ref(), named(&params, "agent_turn_id")?, &token)?)
        }
        Some(Bearer::Turn(token)) => Who::Turn(token),
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
    /// The holder of this turn, who may speak if the body names it.
    Turn(Presented),
}

fn named<T: FromStr<Err = Invalid>>(params: &HashMap<String, String>, name: &str) -> Result<T, Invalid> {
    parse::one(name, params.get(name).map_or("", String::as_str))
}

/// SEC-03: a page on another name cannot reach us by pointing that name here, nor can it call us from a browser.
pub(crate) fn check_host(state: &State, parts: &Parts) -> Result<(), ApiError> {
    let refuse =
        |what: &str| Err(ApiError::new(ErrorCode::Forbidden, format!("this {what} is not served here")));
    if !is_allowed(state, host(parts)?) {
        return refuse("Host");
    }
    match text(&parts.headers, &header::ORIGIN) {
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

/// IN-04: a form below `/inspect` is sent by a page of this server, and of no other.
pub(crate) fn check_own_origin(parts: &Parts) -> Result<(), ApiError> {
    let origin = text(&parts.headers, &header::ORIGIN);
    let authority =
        origin.and_then(|origin| origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")));
    match authority {
        Some(authority) if authority.eq_ignore_ascii_case(host(parts)?) => Ok(()),
        Some(_) | None => {
            let message =
                "forms are taken from pages of this server only: its `Origin` is missing or another";
            Err(ApiError::new(ErrorCode::Forbidden, message))
        }
    }
}

/// Which server is asked: `Host`, or `:authority` as HTTP/2 has it. Two that differ are two opinions of where a request goes.
fn host(parts: &Parts) -> Result<&str, Invalid> {
    let mut hosts = parts.headers.get_all(header::HOST).iter();
    let (header, authority) = (hosts.next(), parts.uri.authority().map(Authority::as_str));
    if hosts.next().is_some() {
        return Err(Invalid::field("Host", "must be given once"));
    }
    let header = header.map(|host| host.to_str()).transpose();
    match (header.map_err(|_| Invalid::field("Host", "must be ASCII"))?, authority) {
        (Some(host), Some(authority)) if !host.eq_ignore_ascii_case(authority) => {
            Err(Invalid::field("Host", "must be the authority of the request"))
        }
        (Some(host), _) | (None, Some(host)) => Ok(host),
        (None, None) => Err(Invalid::field("Host", "is required")),
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

/// What came as `Authorization: Bearer …`, and is somebody's.
enum Bearer {
    Token(Authenticated),
    /// A token that opens its turn.
    Turn(Presented),
}

/// Who holds the token of a request, and of which realm it is.
pub(crate) struct Holder {
    pub(crate) caller: Caller,
    pub(crate) realm: Realm,
}

/// A request without a token is counted by its address, but for one that costs nothing. One from this process is not counted.
fn stranger(state: &State, endpoint: &Endpoint, parts: &Parts) -> Result<Option<Bearer>, ApiError> {
    let Some(Peer(address)) = parts.extensions.get::<Peer>().filter(|_| endpoint.op != Op::Health) else {
        return Ok(None);
    };
    let mut strangers = state.strangers.lock().unwrap_or_else(PoisonError::into_inner);
    match strangers.count(*address, state.kernel.now()) {
        Some(_) => Ok(None),
        None => {
            let message = "too many requests from this address without a token; wait, or send a token";
            Err(ApiError::new(ErrorCode::RateLimited, message))
        }
    }
}

/// Finds out whose the request is, and notes it as soon as it is known.
async fn identify(
    state: &State,
    endpoint: &Endpoint,
    parts: &Parts,
    holder: &mut Option<Holder>,
) -> Result<Bearer, ApiError> {
    let (scheme, text) = text(&parts.headers, &header::AUTHORIZATION)
        .and_then(|value| value.split_once(' '))
        .ok_or(KernelError::Unauthenticated)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(KernelError::Unauthenticated.into());
    }
    let (peer, text) = (parts.extensions.get::<Peer>(), text.trim());
    if text.starts_with(turn_token::PREFIX) {
        let token = turn_token::read(text);
        let hash = token.as_ref().map_or_else(|| Hash256::of(text.as_bytes()), |token| token.hash);
        let found = look_up(state, peer, hash, held(state, token)).await;
        let token = found.map_err(|error| where_turns_are(endpoint, error))?;
        let caller = Caller { actor: Actor::turn(token.turn) };
        *holder = Some(Holder { caller, realm: token.project.clone().into() });
        check_rate(state, Counted::Turn(token.turn))?;
        check_reach(endpoint)?;
        return Ok(Bearer::Turn(token));
    }
    let hash = Hash256::of(text.as_bytes());
    let token = look_up(state, peer, hash, state.kernel.authenticate(text)).await?;
    let caller = Caller { actor: Actor::token(token.id) };
    *holder = Some(Holder { caller, realm: token.realm.clone() });
    check_rate(state, Counted::Token(token.id))?;
    let secret = TokenSecret::from_text(text).map_err(|_| KernelError::Unauthenticated)?;
    Ok(Bearer::Token(Authenticated { token, secret }))
}

/// That a turn was lost is told where turns are; everywhere else its old token is one that nobody holds.
fn where_turns_are(endpoint: &Endpoint, error: ApiError) -> ApiError {
    match endpoint.access {
        Access::Turn(_) => error,
        Access::Open | Access::Guest(_) | Access::Any(_) | Access::Global(_) | Access::Project(_)
            if error.code == ErrorCode::StaleTurn =>
        {
            KernelError::Unauthenticated.into()
        }
        Access::Open | Access::Guest(_) | Access::Any(_) | Access::Global(_) | Access::Project(_) => error,
    }
}

/// Looks a token up, if its sender may have one looked up. A request from this process is not counted.
pub(crate) async fn look_up<T>(
    state: &State,
    peer: Option<&Peer>,
    hash: Hash256,
    look: impl Future<Output = Result<T, KernelError>>,
) -> Result<T, ApiError> {
    let Some(Peer(address)) = peer else { return Ok(look.await?) };
    let Some(leave) = state.lookups.begin(*address, hash, state.kernel.now()) else {
        let message =
            "too many requests from this address with tokens that nobody holds; check the token, and wait";
        return Err(ApiError::new(ErrorCode::RateLimited, message));
    };
    let found = look.await;
    let outcome = match &found {
        Ok(_) => Found::Holder,
        Err(KernelError::Unauthenticated | KernelError::TokenEnded(_)) => Found::Nobody,
        Err(_) => Found::Unclear,
    };
    state.lookups.ended(&leave, outcome);
    Ok(found?)
}

/// The token, if it opens its turn, in a project that is there.
async fn held(state: &State, token: Option<Presented>) -> Result<Presented, KernelError> {
    let token = token.ok_or(KernelError::Unauthenticated)?;
    match state.kernel.live_project(&token.project).await {
        Err(KernelError::Rejected(_)) => return Err(KernelError::Unauthenticated),
        Err(error) => return Err(error),
        Ok(_) => {}
    }
    if state.kernel.opens_turn(&token.project, token.turn, token.hash).await? {
        return Ok(token);
    }
    // A worker that was cut off learns that its turn is gone, which is more than a stranger learns.
    match state.kernel.lost_lease(&token.project, token.turn, token.hash).await? {
        Some(lost) => Err(Rejection::StaleTurn(token.turn, lost.epoch.get()).into()),
        None => Err(KernelError::Unauthenticated),
    }
}

/// The same for the token of a session.
pub(crate) fn check_token_rate(state: &State, token: TokenId) -> Result<(), ApiError> {
    check_rate(state, Counted::Token(token))
}

/// Whether the holder of a token may do what needs a scope in a project.
pub(crate) fn permit(
    state: &State,
    by: &Authenticated,
    project: Option<&ProjectId>,
    scope: Scope,
) -> Result<(), ApiError> {
    let realm = project.map_or_else(|| by.token.realm.clone(), |project| Realm::Project(project.clone()));
    Ok(state.kernel.permit(&by.token, &realm, Needed { scope, global: false })?)
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
        Access::Open | Access::Guest(_) | Access::Any(_) | Access::Global(_) | Access::Project(_) => {
            Err(forbidden())
        }
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

/// The holder of the turn that a request is about. Nothing is told to those who do not hold it: neither whether it exists, nor
/// whether the project does.
fn by_turn(project: Option<&ProjectId>, turn: TurnId, token: &Presented) -> Result<By, ApiError> {
    if project != Some(&token.project) || turn != token.turn {
        return Err(KernelError::Unauthenticated.into());
    }
    Ok(By::Turn(turn, token.hash))
}

fn authorise(
    state: &State,
    endpoint: &Endpoint,
    by: &Authenticated,
    project: Option<&ProjectId>,
) -> Result<(), ApiError> {
    let (scope, global) = match endpoint.access {
        Access::Open => return Ok(()),
        Access::Guest(scope) | Access::Any(scope) | Access::Project(scope) | Access::Turn(scope) => {
            (scope, false)
        }
        Access::Global(scope) => (scope, true),
    };
    // Where the path names no project, a token acts in its own realm.
    let realm = project.map_or_else(|| by.token.realm.clone(), |project| Realm::Project(project.clone()));
    Ok(state.kernel.permit(&by.token, &realm, Needed { scope, global })?)
}

/// Nobody waits for the body of somebody unknown.
async fn unread_body(headers: &HeaderMap, body: Body) -> Result<Bytes, ApiError> {
    if unread::take(headers, body).await {
        return Ok(Bytes::new());
    }
    let unwanted = Invalid::field("body", "is not read here; leave it out");
    Err(ApiError { closes: true, ..unwanted.into() })
}

/// Reads a body within the limit. A larger one is read on, without keeping it, before it is refused; one that says that it is
/// very much larger is refused at once.
async fn read_body(body: Body) -> Result<Bytes, ApiError> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let (mut kept, mut seen) = (Vec::new(), if announced > DRAIN_BYTES { announced } else { 0 });
    let mut stream = body.into_data_stream();
    while seen <= DRAIN_BYTES
        && let Some(chunk) = stream.next().await
    {
        let chunk = chunk.map_err(|_| Invalid::field("body", "ended too early"))?;
        seen += chunk.len();
        if seen <= limits::BODY_BYTES {
            kept.extend_from_slice(&chunk);
        }
    }
    let told = Invalid::check_size("body", seen, limits::BODY_BYTES, "bytes");
    told.map_err(|wrong| ApiError { closes: seen > DRAIN_BYTES, ..ApiError::from(wrong) })?;
    Ok(kept.into())
}
