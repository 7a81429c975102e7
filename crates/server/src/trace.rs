//! W3C trace context: a request's trace id is kept, every response names a span of ours.

use axum::http::{HeaderMap, HeaderValue};
use cardwire_kernel::ids::IdSource;

pub(crate) const TRACEPARENT: &str = "traceparent";

/// The trace a request belongs to: the one it names, or a new one.
pub(crate) fn trace_id(headers: &HeaderMap, ids: &dyn IdSource) -> String {
    let given = headers.get(TRACEPARENT).and_then(|value| value.to_str().ok());
    let given = given.and_then(cardwire_api::trace::trace_id);
    given.map_or_else(|| ids.uuid().simple().to_string(), str::to_owned)
}

/// The `traceparent` of our answer.
pub(crate) fn answer(trace_id: &str, ids: &dyn IdSource) -> HeaderValue {
    let span = ids.uuid().as_u64_pair().1;
    HeaderValue::try_from(format!("00-{trace_id}-{span:016x}-01")).unwrap_or_else(|_| {
        HeaderValue::from_static("00-00000000000000000000000000000001-0000000000000001-00")
    })
}
