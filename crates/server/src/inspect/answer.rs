//! Answers: a page, its twins, and what went wrong.

use super::visit::{Format, Visit};
use crate::{
    error::{Answer, ApiError},
    request::Request,
};
use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use cardwire_api::ErrorCode;
use cardwire_inspector::{Crumb, Frame, Section, pages::sign_in};
use maud::Markup;

/// The most that a twin in Markdown takes from the API.
const TWIN_BYTES: usize = 32 << 20;

fn text(kind: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A page.
pub(super) fn html(page: Markup) -> Response {
    text("text/html; charset=utf-8", page.into_string())
}

/// Bytes to be kept as a file.
pub(super) fn download(body: String) -> Response {
    let mut response = text("application/json", body);
    response.headers_mut().insert(
        header::CONTENT_DISPOSITION,
        HeaderValue::from_static("attachment; filename=\"request.json\""),
    );
    response
}

/// Markdown.
pub(super) fn markdown(text_of_page: String) -> Response {
    text("text/markdown; charset=utf-8", text_of_page)
}

/// A page whose Markdown is the API's object below its title.
pub(super) async fn with_twins<F: Future<Output = Answer>>(
    format: Format,
    title: &str,
    request: Request,
    api: impl FnOnce(Request) -> F,
) -> Answer {
    let response = api(request).await?;
    if format == Format::Json {
        return Ok(response);
    }
    let body = axum::body::to_bytes(response.into_body(), TWIN_BYTES).await;
    let too_large =
        |_| ApiError::new(ErrorCode::TooLarge, "this page is too large for Markdown; take its `.json`");
    let body = body.map_err(too_large)?;
    Ok(markdown(format!("# {title}\n\n```json\n{}\n```\n", String::from_utf8_lossy(&body))))
}

/// What went wrong, as a page, or as the API says it for those who asked for a twin.
pub(super) fn problem(path: &str, error: ApiError) -> Response {
    use axum::response::IntoResponse;
    if path.ends_with(".json") || path.ends_with(".md") {
        return error.into_response();
    }
    let (title, what_to_do) = match error.code.status() {
        404 => ("This is not here", "Look at the address. Ids of other projects are not found here."),
        403 => (
            "This is not for this session",
            "Sign in with a token that reaches it, or let the session write.",
        ),
        503 => (
            "The store does not answer",
            "Wait a moment and load the page again. `cardwire doctor` tells more.",
        ),
        429 => ("Too many requests", "Wait a moment and load the page again."),
        _ => ("This did not work", "Go back and try another way."),
    };
    let frame = Frame {
        project: None,
        section: Section::Elsewhere,
        crumbs: vec![Crumb { name: "Cardwire".to_owned(), href: Some("/inspect".to_owned()) }],
        title: title.to_owned(),
        path: "/inspect".to_owned(),
        query: String::new(),
        may_write: false,
        is_live: false,
        position: None,
    };
    let (status, body) = error.into_body();
    let mut response = html(sign_in::problem(&frame, &body.error.message, what_to_do));
    *response.status_mut() =
        if status == StatusCode::OK { StatusCode::INTERNAL_SERVER_ERROR } else { status };
    response
}

/// A visit that wants a twin.
pub(super) fn wants_twin(visit: &Visit) -> bool {
    visit.format != Format::Html
}
