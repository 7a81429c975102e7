//! What the server says of itself (API-14), verification, and the watchdog by hand.

use crate::{
    error::{Answer, ApiError},
    request::Request,
    respond,
};
use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use cardwire_api::{
    ErrorCode,
    system::{HealthOut, ReadyOut, TickIn, TickOut, VerifyOut},
};

pub(crate) fn health() -> Answer {
    respond::ok(&HealthOut { status: "ok" })
}

pub(crate) async fn ready(request: Request) -> Answer {
    let state = &request.state;
    // Nobody is told of the store without a token.
    if request.by.is_none() {
        return match state.readiness.is_ready(&state.kernel).await {
            true => respond::ok(&ReadyOut::yes()),
            false => {
                Err(ApiError::new(ErrorCode::Unavailable, "not ready; a request with a token is told why"))
            }
        };
    }
    state.kernel.takes_writes().await?;
    respond::ok(&ReadyOut::new(state.config.version, state.kernel.health().await?))
}

pub(crate) async fn metrics(request: &Request) -> Answer {
    // A store that cannot be read is a reason to look at the other numbers, not to hide them.
    if let Err(error) = request.state.kernel.measure().await {
        tracing::warn!(%error, "could not count what there is to do");
    }
    let mut response = Response::new(Body::from((request.state.config.render_metrics)()));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

pub(crate) fn openapi(request: &Request) -> Answer {
    Ok(respond::raw(StatusCode::OK, request.state.document()))
}

pub(crate) async fn verify(request: Request) -> Answer {
    let report = request.state.kernel.verify(&request.caller()?).await?;
    respond::ok(&VerifyOut::from(&report))
}

pub(crate) async fn tick(request: Request) -> Answer {
    let now = request.body::<TickIn>().await?.now(request.time("now")?)?;
    let report = request.state.kernel.tick_by_hand(&request.caller()?, now).await?;
    respond::ok(&TickOut::from(&report))
}
