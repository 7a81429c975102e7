//! Spans and counts of a worker, under the names of OpenTelemetry's conventions for generative AI (OB-06). All of these names
//! are here.
//!
//! Ids, names of tools and models, counts and codes only: never what was asked, said, called with or answered. It must not know
//! who listens; without a listener a span is neither made nor formatted.

use crate::{desk::Desk, tools::is_name, trace::fresh, trouble::Trouble};
use cardwire_llm::{ModelAnswer, ModelError, ModelInfo, ModelRequest, StopReason};
use cardwire_model::{Provider, SpanId};
use serde::Deserialize;
use std::future::Future;
use tokio::time::Instant;
use tracing::{Instrument, Span, field};

/// One stretch of work at a turn: from its claim until it ends or waits.
pub(crate) fn run(desk: &Desk) -> Span {
    let (lease, trace) = (&desk.lease, &desk.trace);
    tracing::trace_span!(
        "invoke_agent",
        otel.name = %format_args!("invoke_agent {}", lease.agent_id),
        trace_id = trace.trace_id(),
        span_id = trace.run().map(SpanId::get),
        parent_id = trace.parent().map(SpanId::get),
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.id = lease.agent_id,
        gen_ai.agent.name = field::Empty,
        gen_ai.conversation.id = lease.setting("session_id"),
        cardwire.project.id = lease.project_id,
        cardwire.turn.id = lease.agent_turn_id,
        cardwire.turn.epoch = lease.turn_epoch,
        cardwire.turn.kind = lease.kind,
        cardwire.turn.status = field::Empty,
        error.type = field::Empty,
    )
}

/// The name under which a model knows the agent of the run.
pub(crate) fn named(agent: &str) {
    let run = Span::current();
    if !run.is_disabled() {
        run.record("gen_ai.agent.name", agent);
        run.record("otel.name", format!("invoke_agent {agent}"));
    }
}

/// How the turn of the run ended.
pub(crate) fn ended(run: &Span, status: &'static str, code: Option<&str>) {
    run.record("cardwire.turn.status", status);
    if let Some(code) = code {
        run.record("error.type", code);
    }
}

/// A turn that is being worked on, also when that is cut off.
pub(crate) struct AtWork;

impl AtWork {
    pub(crate) fn begin() -> Self {
        metrics::gauge!("cardwire_worker_turns").increment(1.0);
        Self
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        metrics::gauge!("cardwire_worker_turns").decrement(1.0);
    }
}

/// What a request says of itself that is not content.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Asked {
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    temperature: Option<f64>,
}

/// One call of a model.
pub(crate) async fn chat(
    desk: &Desk,
    info: &ModelInfo,
    request: &ModelRequest,
    call: impl Future<Output = Result<ModelAnswer, ModelError>>,
) -> Result<ModelAnswer, ModelError> {
    let (provider, id, begun) = (provider(info.provider), fresh(desk.trace.seed()), Instant::now());
    let span = tracing::trace_span!(
        "chat",
        otel.name = %format_args!("chat {}", info.model),
        otel.kind = "client",
        span_id = id.map(SpanId::get),
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = provider,
        gen_ai.request.model = info.model,
        gen_ai.request.max_tokens = field::Empty,
        gen_ai.request.temperature = field::Empty,
        gen_ai.response.id = field::Empty,
        gen_ai.response.model = field::Empty,
        gen_ai.response.finish_reasons = field::Empty,
        gen_ai.usage.input_tokens = field::Empty,
        gen_ai.usage.output_tokens = field::Empty,
        cardwire.call.id = request.call_id,
        cardwire.call.step = request.step,
        error.type = field::Empty,
    );
    if !span.is_disabled() {
        let asked: Asked = serde_json::from_str(&request.body).unwrap_or_default();
        span.record("gen_ai.request.max_tokens", asked.max_tokens.or(asked.max_completion_tokens));
        span.record("gen_ai.request.temperature", asked.temperature);
    }
    let answer = {
        let _current = desk.trace.within(id);
        call.instrument(span.clone()).await
    };
    let seconds = begun.elapsed().as_secs_f64();
    metrics::histogram!("cardwire_model_call_seconds", "provider" => provider).record(seconds);
    let outcome = match &answer {
        Ok(answer) => {
            said(&span, answer);
            "answered"
        }
        Err(error) => {
            span.record("error.type", error.kind());
            error.kind()
        }
    };
    metrics::counter!("cardwire_model_calls_total", "provider" => provider, "outcome" => outcome)
        .increment(1);
    answer
}

fn said(span: &Span, answer: &ModelAnswer) {
    let usage = &answer.usage;
    span.record("gen_ai.response.id", answer.id.as_deref());
    span.record("gen_ai.response.model", answer.model.as_str());
    span.record("gen_ai.response.finish_reasons", reason(&answer.stop));
    span.record("gen_ai.usage.input_tokens", usage.input_tokens);
    span.record("gen_ai.usage.output_tokens", usage.output_tokens);
    for (direction, tokens) in
        [("input", usage.input_tokens), ("cached", usage.cached_tokens), ("output", usage.output_tokens)]
    {
        metrics::counter!("cardwire_model_tokens_total", "direction" => direction).increment(tokens);
    }
}

/// One call of a tool. `failure` is the code of an answer that says it failed.
pub(crate) async fn tool<T>(
    desk: &Desk,
    name: &str,
    call_id: &str,
    failure: impl Fn(&T) -> Option<&str>,
    call: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    // A model may have made up both, and put anything into them.
    let known = |text| if is_name(text) { text } else { "unknown" };
    let id = fresh(desk.trace.seed());
    let span = tracing::trace_span!(
        "execute_tool",
        otel.name = %format_args!("execute_tool {}", known(name)),
        span_id = id.map(SpanId::get),
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = known(name),
        gen_ai.tool.call.id = known(call_id),
        error.type = field::Empty,
    );
    let outcome = {
        let _current = desk.trace.within(id);
        call.instrument(span.clone()).await
    };
    let code = match &outcome {
        Ok(outcome) => failure(outcome),
        Err(trouble) => Some(trouble.code()),
    };
    if let Some(code) = code {
        // It may be the word of a tool.
        span.record("error.type", known(code));
    }
    let word = if code.is_some() { "failed" } else { "done" };
    metrics::counter!("cardwire_tool_calls_total", "outcome" => word).increment(1);
    outcome
}

/// Whose format is spoken.
const fn provider(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenAiChat => "openai",
        Provider::AnthropicMessages => "anthropic",
    }
}

/// A provider's own word may be anything.
const fn reason(stop: &StopReason) -> &'static str {
    match stop {
        StopReason::End => "stop",
        StopReason::ToolCalls => "tool_calls",
        StopReason::Length => "length",
        StopReason::Filtered => "content_filter",
        StopReason::Other(_) => "other",
    }
}
