//! What a request passes before a handler sees it: host, token, rate, access, project, body.

use crate::{
    error::ApiError,
    request::{Authenticated, Request, read_query},
    state::State,
};
use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderName, header, request::Parts},
};
use cardwire_api::{Access, Endpoint, ErrorCode, parse};
use cardwire_kernel::{KernelError, protocol::access::Needed};
use cardwire_model::{Invalid, ProjectId, Realm, TokenSecret, limits};
use futures_util::StreamExt;
use std::{collections::HashMap, net::IpAddr, sync::Arc};

/// How much of an oversized body is read before the connection is given up, so that a client which sends it all
/// before it listens still gets its 413.
const DRAIN_BYTES: usize = 8 * limits::BODY_BYTES;

/// Lets a request through, or says why not.
pub(crate) async fn admit(
    state: &Arc<State>,
    endpoint: &Endpoint,
    params: HashMap<String, String>,
    parts: Parts,
    body: Body,
) -> Result<Request, ApiError> {
    check_host(state, &parts.headers)?;
    let by = match endpoint.access.scope() {
        None => None,
        Some(_) => Some(authenticate(state, &parts.headers).await?),
    };
    let project = match endpoint.access {
        Access::Project(_) => {
            Some(parse::one("project_id", params.get("project_id").map_or("", String::as_str))?)
        }
        Access::Open | Access::Any(_) | Access::Global(_) => None,
    };
    if let Some(by) = &by {
        authorise(state, endpoint, by, project.as_ref())?;
    }
    if let Some(project) = &project {
        state.kernel.live_project(project).await?;
    }
    let query = read_query(endpoint, parts.uri.query())?;
    let body = read_body(body).await?;
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
    })
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

async fn authenticate(state: &State, headers: &HeaderMap) -> Result<Authenticated, ApiError> {
    let (scheme, text) = text(headers, &header::AUTHORIZATION)
        .and_then(|value| value.split_once(' '))
        .ok_or(KernelError::Unauthenticated)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(KernelError::Unauthenticated.into());
    }
    let text = text.trim();
    let token = state.kernel.authenticate(text).await?;
    if !state.rate.allows(token.id) {
        return Err(ApiError::new(ErrorCode::RateLimited, "too many requests by this token; slow down"));
    }
    let secret = TokenSecret::from_text(text).map_err(|_| KernelError::Unauthenticated)?;
    Ok(Authenticated { token, secret })
}

fn authorise(
    state: &State,
    endpoint: &Endpoint,
    by: &Authenticated,
    project: Option<&ProjectId>,
) -> Result<(), ApiError> {
    let (scope, global) = match endpoint.access {
        Access::Open => return Ok(()),
        Access::Any(scope) | Access::Project(scope) => (scope, false),
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
    Invalid::check_size("body", seen, limits::BODY_BYTES, "bytes")?;
    Ok(kept.into())
}
