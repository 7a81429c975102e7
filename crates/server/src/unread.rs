//! What is left of a request that is answered before its body was read. A connection on which bytes of a request are left
//! cannot carry the next one: either they are taken off it, or the client is told that it will be closed (API-06).

use axum::{
    body::Body,
    http::{HeaderMap, header},
};
use futures_util::StreamExt;
use std::time::Duration;

/// How much of a body is read for nothing, and for how long: enough for what arrives a moment after its head.
const BYTES: usize = 64 * 1024;
const WAIT: Duration = Duration::from_millis(500);

/// Takes the body off the connection. False if it is too long or does not come; then the connection has to be closed. One
/// that is sent only when we ask for it is not asked for.
pub(crate) async fn take(headers: &HeaderMap, body: Body) -> bool {
    if headers.contains_key(header::EXPECT) {
        return false;
    }
    let rest = async {
        let (mut stream, mut seen) = (body.into_data_stream(), 0);
        while let Some(chunk) = stream.next().await {
            let Ok(chunk) = chunk else { return false };
            seen += chunk.len();
            if seen > BYTES {
                return false;
            }
        }
        true
    };
    tokio::time::timeout(WAIT, rest).await.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{body::Bytes, http::HeaderValue};

    #[tokio::test]
    async fn a_body_is_taken_if_it_is_short_and_comes() {
        let none = HeaderMap::new();
        assert!(take(&none, Body::empty()).await);
        assert!(take(&none, Body::from(vec![0; BYTES])).await);
        assert!(!take(&none, Body::from(vec![0; BYTES + 1])).await);
        let silent = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
        assert!(!take(&none, Body::from_stream(silent)).await);
        let expect = HeaderMap::from_iter([(header::EXPECT, HeaderValue::from_static("100-continue"))]);
        assert!(!take(&expect, Body::from("x")).await);
    }
}
