//! A model that answers by a script, for tests, examples and demonstrations: real in everything but thought.
//!
//! The first rule that matches answers. Invariant: the same calls in the same order give the same answers.

mod capture;
mod last;
mod read;
mod rule;

pub use rule::Script;

use crate::{
    ChatModel, ChunkSink, ModelAnswer, ModelError, ModelInfo, ModelRequest, StopReason, ToolCall, Usage, ids,
};
use async_trait::async_trait;
use capture::Captured;
use last::LastMessage;
use rule::{Act, Reply, Rule};
use std::sync::atomic::{AtomicU32, Ordering};

/// Into how many pieces a text is cut when it is streamed.
const PIECES: usize = 4;
/// How much of a message is quoted when no rule matches.
const QUOTED_CHARS: usize = 4_000;

/// The scripted model.
#[derive(Debug)]
pub struct Scripted {
    info: ModelInfo,
    script: Script,
    /// How often each rule may still answer; only looked at where the rule has a bound.
    left: Vec<AtomicU32>,
}

impl Scripted {
    /// A model that follows this script.
    pub fn new(info: ModelInfo, script: Script) -> Self {
        let left = script.rules.iter().map(|rule| AtomicU32::new(rule.times.unwrap_or(0))).collect();
        Self { info, script, left }
    }

    /// The rule that answers, which has then been used once more.
    fn pick(&self, request: &ModelRequest, last: &LastMessage) -> Option<(&Rule, Captured)> {
        let mut rules = self.script.rules.iter().zip(&self.left);
        rules.find_map(|(rule, left)| {
            let captured = rule.matches(request, last)?;
            take(rule, left).then_some((rule, captured))
        })
    }

    fn answer(&self, reply: &Reply, captured: &Captured, request: &ModelRequest) -> ModelAnswer {
        let call = |(index, call): (usize, &rule::Call)| ToolCall {
            id: call.id.clone().unwrap_or_else(|| ids::call_id(request, index)),
            name: call.name.clone(),
            arguments: captured.fill_json(&call.arguments),
        };
        let tool_calls: Vec<ToolCall> = reply.tool_calls.iter().enumerate().map(call).collect();
        let stop = if tool_calls.is_empty() { StopReason::End } else { StopReason::ToolCalls };
        let text = captured.fill_text(&reply.text);
        let written = text.len() + tool_calls.iter().map(|call| call.arguments.len()).sum::<usize>();
        let usage = Usage {
            input_tokens: reply.input_tokens.unwrap_or_else(|| estimate(request.body.len())),
            cached_tokens: reply.cached_tokens.unwrap_or(0),
            output_tokens: reply.output_tokens.unwrap_or_else(|| estimate(written)),
        };
        let model = self.info.model.clone();
        ModelAnswer { text, tool_calls, stop, usage, model, id: None }
    }
}

#[async_trait]
impl ChatModel for Scripted {
    async fn call(&self, request: &ModelRequest, sink: &dyn ChunkSink) -> Result<ModelAnswer, ModelError> {
        let last = LastMessage::of(&request.body);
        let (rule, captured) = self.pick(request, &last).ok_or_else(|| no_rule(request, &last))?;
        if !rule.delay.is_zero() {
            tokio::time::sleep(rule.delay).await;
        }
        match &rule.act {
            Act::Fail(error) => Err(error.clone()),
            Act::Reply(reply) => {
                let answer = self.answer(reply, &captured, request);
                if self.info.streams {
                    pieces(&answer.text).into_iter().for_each(|piece| sink.text(piece));
                }
                Ok(answer)
            }
        }
    }

    fn info(&self) -> &ModelInfo {
        &self.info
    }
}

/// Whether the rule may answer once more. Calls at the same time never get more out of it than it has.
fn take(rule: &Rule, left: &AtomicU32) -> bool {
    rule.times.is_none()
        || left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1)).is_ok()
}

/// About four bytes of English are a token.
fn estimate(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}

fn pieces(text: &str) -> Vec<&str> {
    let size = text.len().div_ceil(PIECES).max(1);
    let (mut pieces, mut rest) = (vec![], text);
    while !rest.is_empty() {
        let end = (size.min(rest.len())..=rest.len()).find(|end| rest.is_char_boundary(*end));
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

fn no_rule(request: &ModelRequest, last: &LastMessage) -> ModelError {
    let (agent, step) = (&request.agent_id, request.step);
    let role = request.role.as_deref().map_or_else(String::new, |role| format!(", role `{role}`"));
    let said: String = last.text.chars().take(QUOTED_CHARS).collect();
    let whose = last.role.unwrap_or("no");
    let message = format!(
        "the script answers nothing to agent `{agent}`{role}, step {step}; the last message ({whose}): {said}"
    );
    ModelError::NoRule { message }
}

#[cfg(test)]
mod tests;
