//! Making responses.

use crate::error::{Answer, ApiError};
use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use cardwire_api::ErrorCode;
use serde::Serialize;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A JSON response.
pub(crate) fn json<T: Serialize>(status: StatusCode, body: &T) -> Response {
    match serde_json::to_vec(body) {
        Ok(bytes) => raw(status, bytes),
        // Our own types always serialise; a damaged stored value does not.
        Err(error) => {
            tracing::error!(%error, "could not write a response");
            let text = r#"{"error":{"code":"internal","message":"internal error; the server's log has the details"}}"#;
            raw(StatusCode::INTERNAL_SERVER_ERROR, text)
        }
    }
}

/// JSON text that is there already.
pub(crate) fn raw(status: StatusCode, bytes: impl Into<Body>) -> Response {
    let mut response = Response::new(bytes.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

pub(crate) fn ok<T: Serialize>(body: &T) -> Answer {
    Ok(json(StatusCode::OK, body))
}

pub(crate) fn created<T: Serialize>(body: &T) -> Answer {
    Ok(json(StatusCode::CREATED, body))
}

pub(crate) fn no_content() -> Answer {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}

/// The first answer to a repeated request.
pub(crate) fn replayed(answer: cardwire_model::Answer) -> Answer {
    let status = StatusCode::from_u16(answer.status)
        .map_err(|_| ApiError::new(ErrorCode::Internal, "a remembered answer is damaged"))?;
    Ok(raw(status, answer.body.into_bytes()))
}
