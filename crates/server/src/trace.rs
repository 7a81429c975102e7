//! W3C trace context: a request's trace is gone on with, every response names a span of ours.

use axum::http::{HeaderMap, HeaderValue};
use cardwire_api::{ErrorCode, pmo::RequestTrace};
use cardwire_kernel::ids::IdSource;
use cardwire_model::{SpanId, TraceParent};
use tracing::{Span, field};

pub(crate) use cardwire_model::trace::TRACEPARENT;

/// A request's place in its trace.
pub(crate) struct Trace {
    /// The trace it names, or a new one.
    trace_id: String,
    /// It names one.
    is_given: bool,
    /// The span that it is.
    span_id: Option<SpanId>,
    /// The span that caused it.
    parent: Option<SpanId>,
}

impl Trace {
    pub(crate) fn of(headers: &HeaderMap, ids: &dyn IdSource) -> Self {
        let given = headers.get(TRACEPARENT).and_then(|value| value.to_str().ok());
        let given = given.and_then(TraceParent::parse);
        let fresh = || ids.uuid().simple().to_string();
        Self {
            trace_id: given.map_or_else(fresh, |given| given.trace_id.to_owned()),
            is_given: given.is_some(),
            span_id: SpanId::of(ids.uuid()),
            parent: given.map(|given| given.span_id),
        }
    }

    /// The trace as handlers need it.
    pub(crate) fn of_request(self) -> RequestTrace {
        RequestTrace { id: self.trace_id, is_given: self.is_given }
    }

    /// The `traceparent` of our answer.
    pub(crate) fn answer(&self) -> HeaderValue {
        let parent = self.span_id.and_then(|span| TraceParent::new(&self.trace_id, span));
        parent.and_then(|parent| HeaderValue::try_from(parent.to_string()).ok()).unwrap_or_else(|| {
            HeaderValue::from_static("00-00000000000000000000000000000001-0000000000000001-00")
        })
    }

    /// The span of the request. Ids and the route's pattern only: paths and bodies are others' words.
    pub(crate) fn span(&self, method: &'static str, route: &'static str) -> Span {
        tracing::trace_span!(
            "request",
            otel.name = %format_args!("{method} {route}"),
            otel.kind = "server",
            trace_id = self.trace_id,
            span_id = self.span_id.map(SpanId::get),
            parent_id = self.parent.map(SpanId::get),
            http.request.method = method,
            http.route = route,
            http.response.status_code = field::Empty,
            error.type = field::Empty,
        )
    }
}

/// How the request ended.
pub(crate) fn ended(span: &Span, status: u16, error: Option<ErrorCode>) {
    span.record("http.response.status_code", status);
    if let Some(code) = error {
        span.record("error.type", code.as_str());
    }
}
