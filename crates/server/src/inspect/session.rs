//! Sessions: signing in by a code or a token, the cookie, the switch that lets a session write (IN-04).
//!
//! The cookie carries the token itself, readable by no script and sent to no path but `/inspect`: so a session works on every
//! server of a cluster and after a restart, and ends with its token. Codes are kept in memory, for a minute, once.

use super::{Form, Visit, answer, field, peer, see};
use crate::{error::ApiError, gate, request::Authenticated, state::State};
use axum::{
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use cardwire_api::ErrorCode;
use cardwire_inspector::{Crumb, Frame, Section, pages::sign_in as pages};
use cardwire_kernel::KernelError;
use cardwire_model::{Hash256, Timestamp, TokenSecret, limits};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

const COOKIE: &str = "cardwire_session";
const CODE_MICROS: i64 = limits::SESSION_CODE_SECONDS as i64 * 1_000_000;
const SESSION_MICROS: i64 = limits::SESSION_SECONDS as i64 * 1_000_000;

/// Somebody who is signed in.
#[derive(Clone)]
pub(super) struct Session {
    pub(super) by: Authenticated,
    pub(super) may_write: bool,
    pub(super) since: Timestamp,
}

/// Codes that were given out and not used yet.
#[derive(Default)]
pub(crate) struct Codes(Mutex<HashMap<Hash256, (TokenSecret, Timestamp)>>);

impl Codes {
    /// Keeps a token for whoever comes with the code. The oldest is forgotten when there are too many.
    pub(crate) fn keep(&self, code: &str, secret: TokenSecret, now: Timestamp) {
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|_, (_, at)| now.micros() - at.micros() < CODE_MICROS);
        if codes.len() >= limits::SESSION_CODES {
            let oldest = codes.iter().min_by_key(|(_, (_, at))| *at).map(|(code, _)| *code);
            oldest.and_then(|code| codes.remove(&code));
        }
        codes.insert(Hash256::of(code.as_bytes()), (secret, now));
    }

    /// The token of a code, once and within its time.
    fn take(&self, code: &str, now: Timestamp) -> Option<TokenSecret> {
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (secret, at) = codes.remove(&Hash256::of(code.as_bytes()))?;
        (now.micros() - at.micros() < CODE_MICROS).then_some(secret)
    }
}

/// The session of a request; none where nobody is signed in, or not any more.
pub(super) async fn find(state: &State, parts: &Parts) -> Result<Option<Session>, ApiError> {
    let cookies = parts.headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut named = cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let Some((_, value)) = named.find(|(name, _)| *name == COOKIE) else { return Ok(None) };
    let now = state.kernel.now();
    let Some((since, may_write, secret)) = read(value, now) else { return Ok(None) };
    match authenticate(state, parts, secret).await {
        Ok(by) => Ok(Some(Session { by, may_write, since })),
        Err(error) if error.code == ErrorCode::Unauthenticated => Ok(None),
        Err(error) => Err(error),
    }
}

fn read(value: &str, now: Timestamp) -> Option<(Timestamp, bool, &str)> {
    let mut parts = value.splitn(3, '.');
    let (since, mode, secret) = (parts.next()?, parts.next()?, parts.next()?);
    let since = Timestamp::from_micros(since.parse().ok()?);
    let age = now.micros() - since.micros();
    (0..SESSION_MICROS).contains(&age).then_some((since, mode == "w", secret))
}

async fn authenticate(state: &State, parts: &Parts, secret: &str) -> Result<Authenticated, ApiError> {
    let hash = Hash256::of(secret.as_bytes());
    let token = gate::look_up(state, peer(parts), hash, state.kernel.authenticate(secret)).await?;
    gate::check_token_rate(state, token.id)?;
    let secret = TokenSecret::from_text(secret).map_err(|_| KernelError::Unauthenticated)?;
    Ok(Authenticated { token, secret })
}

fn cookie(state: &State, since: Timestamp, may_write: bool, secret: &TokenSecret) -> HeaderValue {
    let mode = if may_write { "w" } else { "r" };
    let secure = if state.config.is_tls { "; Secure" } else { "" };
    let text = format!(
        "{COOKIE}={}.{mode}.{}; Path=/inspect; HttpOnly; SameSite=Strict; Max-Age={}{secure}",
        since.micros(),
        secret.expose(),
        limits::SESSION_SECONDS
    );
    // A token is made of letters and digits.
    HeaderValue::try_from(text)
        .unwrap_or(HeaderValue::from_static("cardwire_session=; Path=/inspect; Max-Age=0"))
}

/// Where nobody is signed in: a page asks for that and comes back, everything else says so.
pub(super) fn ask(parts: &Parts) -> Response {
    let wants_page = !parts.uri.path().ends_with(".json")
        && !parts.uri.path().ends_with(".md")
        && !parts.uri.path().ends_with("/stream")
        && parts.method == axum::http::Method::GET;
    if !wants_page {
        return (StatusCode::UNAUTHORIZED, "sign in below /inspect/login\n").into_response();
    }
    let target = parts.uri.path_and_query().map_or("/inspect", axum::http::uri::PathAndQuery::as_str);
    see(&format!("/inspect/login?target={}", encoded(target)))
}

/// A text as one value of a query.
pub(super) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~@".contains(&byte);
    text.bytes().fold(String::new(), |mut out, byte| {
        if plain(byte) {
            out.push(byte as char)
        } else {
            out.push_str(&format!("%{byte:02X}"))
        }
        out
    })
}

fn frame(title: &str, path: &str, may_write: bool) -> Frame {
    Frame {
        project: None,
        section: Section::Elsewhere,
        crumbs: vec![Crumb { name: "Cardwire".to_owned(), href: None }],
        title: title.to_owned(),
        path: path.to_owned(),
        query: String::new(),
        may_write,
        is_live: false,
        position: None,
    }
}

/// Where a person signs in.
pub(super) fn sign_in(parts: &Parts, wrong: Option<&str>) -> Response {
    let query = crate::request::form_pairs(parts.uri.query().unwrap_or_default()).unwrap_or_default();
    let target = field(&query, "target").unwrap_or("/inspect").to_owned();
    answer::html(pages::sign_in(
        &frame("Sign in to see what your agents were given", "/inspect/login", false),
        wrong,
        &target,
    ))
}

/// Takes a code or a token for a cookie.
pub(super) async fn login(state: &Arc<State>, parts: &Parts, form: &Form) -> Result<Response, ApiError> {
    let now = state.kernel.now();
    let code = field(form, "code").filter(|code| !code.is_empty());
    let given = match code {
        Some(code) => state.codes.take(code, now).map(|secret| secret.expose().to_owned()),
        None => field(form, "token").map(|token| token.trim().to_owned()),
    };
    let wrong = |text: &str| {
        let mut response = sign_in(parts, Some(text));
        *response.status_mut() = StatusCode::UNAUTHORIZED;
        Ok(response)
    };
    let Some(secret) = given else {
        return wrong("This link was used already, or is older than a minute. Run `cardwire open` again.");
    };
    let by = match authenticate(state, parts, &secret).await {
        Ok(by) => by,
        Err(error) if error.code == ErrorCode::Unauthenticated => {
            return wrong(
                "Nobody holds this token, or it has ended. Paste another one, or run `cardwire open`.",
            );
        }
        Err(error) => return Err(error),
    };
    let target = field(form, "target").filter(|target| is_own(target)).unwrap_or("/inspect");
    let mut response = see(target);
    response.headers_mut().insert(header::SET_COOKIE, cookie(state, now, false, &by.secret));
    Ok(response)
}

/// An address of the inspector, and nobody else's.
fn is_own(target: &str) -> bool {
    (target == "/inspect" || target.starts_with("/inspect/") || target.starts_with("/inspect?"))
        && target.bytes().all(|byte| byte.is_ascii_graphic())
        && !target.contains('\\')
}

/// Ends the session of this browser.
pub(super) fn logout() -> Response {
    let mut response = see("/inspect/login");
    let gone =
        HeaderValue::from_static("cardwire_session=; Path=/inspect; HttpOnly; SameSite=Strict; Max-Age=0");
    response.headers_mut().insert(header::SET_COOKIE, gone);
    response
}

/// What the session is, and the switch.
pub(super) fn page(visit: Visit) -> Result<Response, ApiError> {
    let reach =
        visit.request.by()?.token.realm.project().map_or("all projects".to_owned(), ToString::to_string);
    let left = SESSION_MICROS - (visit.now.micros() - visit.session.since.micros());
    let frame = frame("Your session", "/inspect/session", visit.session.may_write);
    Ok(answer::html(pages::session(&frame, &reach, &cardwire_inspector::text::duration(left))))
}

/// Lets the session write, or only read.
pub(super) fn switch(visit: Visit, form: &Form) -> Result<Response, ApiError> {
    let may_write = field(form, "write") == Some("on");
    let Session { by, since, .. } = &visit.session;
    let mut response = see("/inspect/session");
    let cookie = cookie(&visit.request.state, *since, may_write, &by.secret);
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IN-04
    #[test]
    fn a_session_ends_after_its_time_and_leads_nowhere_else() {
        let at = Timestamp::from_micros;
        assert_eq!(read("5.w.cwt_x", at(6)), Some((at(5), true, "cwt_x")));
        assert_eq!(read("5.r.cwt_x", at(5 + SESSION_MICROS - 1)), Some((at(5), false, "cwt_x")));
        for (value, now) in [("5.w.x", 5 + SESSION_MICROS), ("5.w.x", 4), ("x.w.y", 5), ("5.w", 6), ("", 6)] {
            assert_eq!(read(value, at(now)), None, "{value} at {now}");
        }
        for (target, own) in [
            ("/inspect", true),
            ("/inspect/p/a?x=1", true),
            ("/inspector", false),
            ("//evil", false),
            ("/inspect/\\evil", false),
            ("https://evil", false),
            ("/inspect/a\r\nb", false),
        ] {
            assert_eq!(is_own(target), own, "{target}");
        }
    }

    /// IN-04
    #[test]
    fn a_code_is_good_once_and_for_a_minute() {
        let (codes, now) = (Codes::default(), Timestamp::from_micros(7));
        let secret = || TokenSecret::from_random([7; 32]);
        codes.keep("a", secret(), now);
        codes.keep("b", secret(), now);
        assert!(codes.take("a", now).is_some() && codes.take("a", now).is_none());
        assert!(codes.take("b", Timestamp::from_micros(7 + CODE_MICROS)).is_none());
        for number in 0..=limits::SESSION_CODES {
            codes.keep(&number.to_string(), secret(), Timestamp::from_micros(7 + number as i64));
        }
        assert!(codes.take("0", now).is_none() && codes.take("1", now).is_some());
    }
}
