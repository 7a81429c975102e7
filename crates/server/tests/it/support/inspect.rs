//! A browser that visits the inspector.

use super::Api;
use axum::{
    body::Body,
    http::{Request, StatusCode, header},
};

const HOST: &str = "127.0.0.1";

/// What a browser got: status, headers of interest, text.
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) location: String,
    pub(crate) cookie: String,
    pub(crate) policy: String,
    pub(crate) text: String,
}

/// Does what a browser does.
pub(crate) async fn browse(
    api: &Api,
    method: &str,
    path: &str,
    cookie: &str,
    origin: Option<&str>,
    form: &str,
) -> Page {
    let mut request = Request::builder().method(method).uri(path).header(header::HOST, HOST);
    if !cookie.is_empty() {
        request = request.header(header::COOKIE, cookie);
    }
    if let Some(origin) = origin {
        request = request.header(header::ORIGIN, origin);
    }
    let response = api.page(request.body(Body::from(form.to_owned())).unwrap()).await;
    let text = |name: header::HeaderName| {
        response.headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
    };
    Page {
        status: response.status,
        location: text(header::LOCATION),
        cookie: text(header::SET_COOKIE).split(';').next().unwrap_or_default().to_owned(),
        policy: text(header::CONTENT_SECURITY_POLICY),
        text: String::from_utf8(response.bytes.to_vec()).unwrap(),
    }
}

/// Opens a page.
pub(crate) async fn look(api: &Api, cookie: &str, path: &str) -> Page {
    browse(api, "GET", path, cookie, None, "").await
}

/// Sends a form from a page of this server.
pub(crate) async fn send(api: &Api, cookie: &str, path: &str, form: &str) -> Page {
    browse(api, "POST", path, cookie, Some(&format!("http://{HOST}")), form).await
}

/// Signs in with a token. Gives the cookie.
pub(crate) async fn sign_in(api: &Api, token: &str) -> String {
    let page = send(api, "", "/inspect/login", &format!("token={token}")).await;
    assert_eq!((page.status, page.location.as_str()), (StatusCode::SEE_OTHER, "/inspect"), "{}", page.text);
    page.cookie
}

/// Signs in, and lets the session write. Gives the cookie.
pub(crate) async fn writing(api: &Api, token: &str) -> String {
    let cookie = sign_in(api, token).await;
    send(api, &cookie, "/inspect/session", "write=on").await.cookie
}
