//! Makes OpenTelemetry's spans of `tracing`'s.
//!
//! A span may say where it belongs, in fields that are read here and not passed on: `trace_id`, `span_id`, `parent_id`. That is how
//! a turn has one place in its trace whichever processes work on it. A span that says nothing is below the one it was made in.
//! `otel.name` and `otel.kind` replace name and kind. Events are not looked at: logs are logs.

use cardwire_kernel::ids::{IdSource, SystemIds};
use cardwire_model::trace::is_trace_id;
use opentelemetry::{
    Array, InstrumentationScope, Key, KeyValue, StringValue, Value,
    trace::{Link, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState},
};
use opentelemetry_sdk::trace::{BatchSpanProcessor, SpanData, SpanEvents, SpanLinks, SpanProcessor};
use std::{
    borrow::Cow,
    fmt,
    sync::Arc,
    time::{Instant, SystemTime},
};
use tracing::{
    Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer,
    filter::FilterFn,
    layer::Context,
    registry::{LookupSpan, SpanRef},
};

/// Attributes that are lists by convention.
const LISTS: [&str; 1] = ["gen_ai.response.finish_reasons"];
/// Longest text of an attribute; ids and names are shorter.
const TEXT_CHARS: usize = 256;

/// Which spans are exported: ours.
pub(crate) fn ours() -> FilterFn {
    FilterFn::new(|metadata| metadata.is_span() && metadata.target().starts_with("cardwire"))
}

/// Passes spans that have ended to a processor.
pub(crate) struct Spans {
    processor: Arc<BatchSpanProcessor>,
    scope: InstrumentationScope,
}

impl Spans {
    pub(super) fn new(processor: Arc<BatchSpanProcessor>) -> Self {
        let scope = InstrumentationScope::builder("cardwire").with_version(env!("CARGO_PKG_VERSION")).build();
        Self { processor, scope }
    }
}

/// A span that has not ended.
struct Open {
    trace: TraceId,
    span: SpanId,
    parent: SpanId,
    is_remote: bool,
    cause: Option<(TraceId, SpanId)>,
    begun: (SystemTime, Instant),
    said: Said,
}

/// What the fields of a span say.
#[derive(Default)]
struct Said {
    trace: Option<TraceId>,
    span: Option<SpanId>,
    parent: Option<SpanId>,
    name: Option<String>,
    kind: Option<SpanKind>,
    is_error: bool,
    attributes: Vec<KeyValue>,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut said = Said::default();
        attributes.record(&mut said);
        let above = span.parent().as_ref().and_then(place);
        let open = Open::new(said, above);
        span.extensions_mut().insert(open);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(open) = span.extensions_mut().get_mut::<Open>()
        {
            values.record(&mut open.said);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let open = span.extensions_mut().remove::<Open>();
        if let Some(open) = open {
            self.processor.on_end(open.ended(span.name(), &self.scope));
        }
    }
}

/// Where an open span is.
fn place<S: for<'a> LookupSpan<'a>>(span: &SpanRef<'_, S>) -> Option<(TraceId, SpanId)> {
    span.extensions().get::<Open>().map(|open| (open.trace, open.span))
}

impl Open {
    fn new(said: Said, above: Option<(TraceId, SpanId)>) -> Self {
        let trace = said.trace.or(above.map(|(trace, _)| trace)).unwrap_or_else(fresh_trace);
        let near = above.filter(|(of, _)| *of == trace).map(|(_, span)| span);
        Self {
            trace,
            span: said.span.unwrap_or_else(fresh_span),
            parent: said.parent.or(near).unwrap_or(SpanId::INVALID),
            is_remote: said.parent.is_some() && said.parent != near,
            // What was done for another trace is found from there.
            cause: above.filter(|(of, _)| *of != trace),
            begun: (SystemTime::now(), Instant::now()),
            said,
        }
    }

    fn ended(self, name: &'static str, scope: &InstrumentationScope) -> SpanData {
        let Said { name: given, kind, is_error, attributes, .. } = self.said;
        let link = |(trace, span)| Link::new(context(trace, span, false), vec![], 0);
        let mut links = SpanLinks::default();
        links.links.extend(self.cause.map(link));
        SpanData {
            span_context: context(self.trace, self.span, false),
            parent_span_id: self.parent,
            parent_span_is_remote: self.is_remote,
            span_kind: kind.unwrap_or(SpanKind::Internal),
            name: given.map_or(Cow::Borrowed(name), Cow::Owned),
            start_time: self.begun.0,
            // A clock that is set back must not make a span end before it began.
            end_time: self.begun.0 + self.begun.1.elapsed(),
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links,
            status: if is_error { Status::error("") } else { Status::Unset },
            instrumentation_scope: scope.clone(),
        }
    }
}

fn context(trace: TraceId, span: SpanId, is_remote: bool) -> SpanContext {
    SpanContext::new(trace, span, TraceFlags::SAMPLED, is_remote, TraceState::NONE)
}

fn fresh_trace() -> TraceId {
    TraceId::from(SystemIds.uuid().as_u128())
}

fn fresh_span() -> SpanId {
    SpanId::from(SystemIds.uuid().as_u64_pair().1)
}

impl Said {
    fn take(&mut self, field: &Field, value: Value) {
        let name = field.name();
        self.is_error |= name == "error.type";
        match self.attributes.iter_mut().find(|known| known.key.as_str() == name) {
            Some(known) => known.value = value,
            None => self.attributes.push(KeyValue::new(Key::from_static_str(name), value)),
        }
    }

    fn text(&mut self, field: &Field, text: &str) {
        match field.name() {
            "trace_id" => self.trace = TraceId::from_hex(text).ok().filter(|_| is_trace_id(text)),
            "otel.name" => self.name = Some(short(text)),
            "otel.kind" => self.kind = kind(text),
            name => {
                let text = StringValue::from(short(text));
                let is_list = LISTS.contains(&name);
                let value =
                    if is_list { Value::Array(Array::String(vec![text])) } else { Value::String(text) };
                self.take(field, value);
            }
        }
    }
}

impl Visit for Said {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        let id = || Some(SpanId::from(value)).filter(|id| *id != SpanId::INVALID);
        match field.name() {
            "span_id" => self.span = id(),
            "parent_id" => self.parent = id(),
            _ => self.take(field, Value::I64(i64::try_from(value).unwrap_or(i64::MAX))),
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.take(field, Value::I64(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.take(field, Value::F64(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.take(field, Value::Bool(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field, &format!("{value:?}"));
    }
}

fn short(text: &str) -> String {
    text.chars().take(TEXT_CHARS).collect()
}

fn kind(word: &str) -> Option<SpanKind> {
    match word {
        "server" => Some(SpanKind::Server),
        "client" => Some(SpanKind::Client),
        "producer" => Some(SpanKind::Producer),
        "consumer" => Some(SpanKind::Consumer),
        _ => None,
    }
}
