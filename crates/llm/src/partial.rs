//! An answer in the making. Invariant: it never grows beyond what an answer may be.

use crate::{ChunkSink, ModelAnswer, ModelError, StopReason, ToolCall, Usage};
use std::collections::BTreeMap;

/// Text and arguments of one answer together.
const ANSWER_BYTES: usize = 8 << 20;
/// What a call counts for even if nothing is in it.
const CALL_BYTES: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct Partial {
    text: String,
    calls: BTreeMap<u64, PartialCall>,
    bytes: usize,
    pub(crate) usage: Usage,
    pub(crate) model: String,
    pub(crate) id: Option<String>,
    pub(crate) stop: Option<StopReason>,
}

#[derive(Debug, Default)]
struct PartialCall {
    id: String,
    name: String,
    arguments: String,
}

impl Partial {
    /// A further piece of the text, which is passed on at once.
    pub(crate) fn push_text(&mut self, piece: &str, sink: &dyn ChunkSink) -> Result<(), ModelError> {
        if piece.is_empty() {
            return Ok(());
        }
        self.grow(piece.len())?;
        self.text.push_str(piece);
        sink.text(piece);
        Ok(())
    }

    /// The id and the name of a call. Some providers repeat them; what was said first stands.
    pub(crate) fn name_call(&mut self, place: u64, id: &str, name: &str) -> Result<(), ModelError> {
        if !self.calls.contains_key(&place) {
            self.grow(CALL_BYTES)?;
        }
        let call = self.calls.entry(place).or_default();
        let mut more = 0;
        for (known, said) in [(&mut call.id, id), (&mut call.name, name)] {
            if known.is_empty() {
                more += said.len();
                said.clone_into(known);
            }
        }
        self.grow(more)
    }

    /// A further piece of the arguments of a call that has been named.
    pub(crate) fn push_arguments(&mut self, place: u64, piece: &str) -> Result<(), ModelError> {
        if !self.calls.contains_key(&place) {
            return Ok(());
        }
        self.grow(piece.len())?;
        if let Some(call) = self.calls.get_mut(&place) {
            call.arguments.push_str(piece);
        }
        Ok(())
    }

    /// The place of the call that was begun last.
    pub(crate) fn last_place(&self) -> Option<u64> {
        self.calls.last_key_value().map(|(place, _)| *place)
    }

    /// The whole answer.
    pub(crate) fn finish(self) -> Result<ModelAnswer, ModelError> {
        if self.calls.values().any(|call| call.name.is_empty()) {
            return Err(ModelError::malformed("a tool call has no name"));
        }
        let tool_calls: Vec<ToolCall> = self.calls.into_values().map(PartialCall::finish).collect();
        // Providers differ in what they say when a call was forced. What there is to do decides.
        let stop = match self.stop {
            Some(StopReason::End) if !tool_calls.is_empty() => StopReason::ToolCalls,
            Some(StopReason::ToolCalls) if tool_calls.is_empty() => StopReason::End,
            Some(stop) => stop,
            None => StopReason::Other("unspecified".to_owned()),
        };
        Ok(ModelAnswer {
            text: self.text,
            tool_calls,
            stop,
            usage: self.usage,
            model: self.model,
            id: self.id,
        })
    }

    fn grow(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes += bytes;
        if self.bytes > ANSWER_BYTES {
            return Err(ModelError::malformed(format!("the answer is longer than {ANSWER_BYTES} bytes")));
        }
        Ok(())
    }
}

impl PartialCall {
    fn finish(self) -> ToolCall {
        let arguments = if self.arguments.is_empty() { "{}".to_owned() } else { self.arguments };
        ToolCall { id: self.id, name: self.name, arguments }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_a_limit_whatever_it_is_made_of() {
        let mut text = Partial::default();
        assert!(text.push_text(&"x".repeat(ANSWER_BYTES), &()).is_ok());
        assert_eq!(text.push_text("x", &()).unwrap_err().kind(), "malformed");

        let mut arguments = Partial::default();
        arguments.name_call(0, "i", "n").unwrap();
        let error = arguments.push_arguments(0, &"x".repeat(ANSWER_BYTES)).unwrap_err();
        assert_eq!(error.kind(), "malformed");

        let mut calls = Partial::default();
        let refused = (0..).find(|place| calls.name_call(*place, "", "").is_err()).unwrap();
        assert_eq!(refused as usize, ANSWER_BYTES / CALL_BYTES);
    }

    #[test]
    fn the_calls_decide_what_is_next() {
        let mut called = Partial { stop: Some(StopReason::End), ..Partial::default() };
        called.name_call(3, "i", "n").unwrap();
        let called = called.finish().unwrap();
        assert_eq!((called.stop, called.tool_calls[0].arguments.as_str()), (StopReason::ToolCalls, "{}"));
        let none = Partial { stop: Some(StopReason::ToolCalls), ..Partial::default() };
        assert_eq!(none.finish().unwrap().stop, StopReason::End);
        let mut cut = Partial { stop: Some(StopReason::Length), ..Partial::default() };
        cut.name_call(0, "i", "n").unwrap();
        assert_eq!(cut.finish().unwrap().stop, StopReason::Length);
        let mut unnamed = Partial::default();
        unnamed.name_call(0, "i", "").unwrap();
        assert_eq!(unnamed.finish().unwrap_err().kind(), "malformed");
    }
}
