//! W3C trace context: a request's trace id is kept, every response names a span of ours.

use axum::http::{HeaderMap, HeaderValue};
use cardwire_kernel::ids::IdSource;

pub(crate) const TRACEPARENT: &str = "traceparent";

/// The `traceparent` of our answer.
pub(crate) fn answer(headers: &HeaderMap, ids: &dyn IdSource) -> HeaderValue {
    let given = headers.get(TRACEPARENT).and_then(|value| value.to_str().ok()).and_then(trace_id);
    let trace = given.map_or_else(|| ids.uuid().simple().to_string(), str::to_owned);
    let span = ids.uuid().as_u64_pair().1;
    HeaderValue::try_from(format!("00-{trace}-{span:016x}-01")).unwrap_or_else(|_| {
        HeaderValue::from_static("00-00000000000000000000000000000001-0000000000000001-00")
    })
}

/// The trace id of a well-formed header.
fn trace_id(header: &str) -> Option<&str> {
    let mut parts = header.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let hex = |text: &str, len: usize| {
        text.len() == len && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    let legal = hex(version, 2) && version != "ff" && hex(trace, 32) && hex(span, 16) && hex(flags, 2);
    let nonzero = |text: &str| text.bytes().any(|b| b != b'0');
    (legal && nonzero(trace) && nonzero(span)).then_some(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_well_formed_trace_id_is_kept() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        assert_eq!(trace_id(&format!("00-{trace}-00f067aa0ba902b7-01")), Some(trace));
        for bad in ["", "00", "00-x-y-z", "00-00000000000000000000000000000000-00f067aa0ba902b7-01"] {
            assert_eq!(trace_id(bad), None, "{bad}");
        }
    }
}
