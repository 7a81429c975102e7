//! Reads the answers of OpenAI chat completions and of what speaks like it, whole or as a stream.

use crate::{
    ChunkSink, ModelAnswer, ModelError, StopReason, Usage, content::text_of, fault, partial::Partial,
    remote::unreadable, sse::Event,
};
use serde::Deserialize;
use serde_json::Value;

/// What ends a stream.
const DONE: &str = "[DONE]";

/// A whole answer or a piece of one: they differ in whether a choice has a `message` or a `delta`.
#[derive(Deserialize)]
struct Completion {
    choices: Option<Vec<Choice>>,
    id: Option<String>,
    model: Option<String>,
    usage: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    index: Option<u64>,
    message: Option<Said>,
    delta: Option<Said>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Said {
    content: Option<Value>,
    refusal: Option<String>,
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
struct Call {
    index: Option<u64>,
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    name: Option<String>,
    /// Text by the book; some write the object itself.
    arguments: Option<Value>,
}

#[derive(Deserialize)]
struct Tokens {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
}

/// Puts an answer together.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    answer: Partial,
    refused: bool,
    /// Whether the model has said anything at all.
    begun: bool,
}

/// A whole answer.
pub(crate) fn read(text: &str, sink: &dyn ChunkSink) -> Result<ModelAnswer, ModelError> {
    let mut assembler = Assembler::default();
    assembler.add(text, sink)?;
    assembler.finish()
}

impl Assembler {
    /// Takes the next event; whether it was the last.
    pub(crate) fn take(&mut self, event: &Event, sink: &dyn ChunkSink) -> Result<bool, ModelError> {
        match event.data.trim() {
            DONE => return Ok(true),
            "" => {}
            data => self.add(data, sink)?,
        }
        Ok(false)
    }

    pub(crate) fn finish(mut self) -> Result<ModelAnswer, ModelError> {
        if !self.begun {
            return Err(ModelError::malformed("the answer has no choice in it"));
        }
        if self.refused {
            self.answer.stop = Some(StopReason::Filtered);
        }
        self.answer.finish()
    }

    fn add(&mut self, text: &str, sink: &dyn ChunkSink) -> Result<(), ModelError> {
        let completion: Completion = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
        if let Some(error) = completion.error.filter(|error| !error.is_null()) {
            return Err(fault::of_answer(&error));
        }
        if let Some(id) = completion.id.filter(|id| !id.is_empty()) {
            self.answer.id = Some(id);
        }
        if let Some(model) = completion.model.filter(|model| !model.is_empty()) {
            self.answer.model = model;
        }
        if let Some(tokens) = completion.usage {
            self.answer.usage = tokens.usage();
        }
        let choices = completion.choices.unwrap_or_default();
        match choices.into_iter().find(|choice| choice.index.unwrap_or(0) == 0) {
            Some(choice) => self.choose(choice, sink),
            None => Ok(()),
        }
    }

    fn choose(&mut self, choice: Choice, sink: &dyn ChunkSink) -> Result<(), ModelError> {
        self.begun = true;
        if let Some(reason) = choice.finish_reason {
            self.answer.stop = Some(stop(reason));
        }
        let is_whole = choice.message.is_some();
        let Some(said) = choice.message.or(choice.delta) else { return Ok(()) };
        if let Some(content) = said.content {
            self.answer.push_text(&text_of(&content), sink)?;
        }
        if let Some(refusal) = said.refusal.filter(|refusal| !refusal.is_empty()) {
            self.refused = true;
            self.answer.push_text(&refusal, sink)?;
        }
        said.tool_calls.unwrap_or_default().into_iter().try_for_each(|call| self.call(call, is_whole))
    }

    fn call(&mut self, call: Call, is_whole: bool) -> Result<(), ModelError> {
        let id = call.id.unwrap_or_default();
        let last = self.answer.last_place();
        // Where calls are not numbered, a new one is known by its id.
        let begins = is_whole || !id.is_empty();
        let next = last.map_or(0, |last| last.saturating_add(1));
        let place = call.index.unwrap_or(if begins { next } else { last.unwrap_or(0) });
        let function = call.function.unwrap_or(Function { name: None, arguments: None });
        self.answer.name_call(place, &id, &function.name.unwrap_or_default())?;
        match function.arguments {
            None | Some(Value::Null) => Ok(()),
            Some(Value::String(piece)) => self.answer.push_arguments(place, &piece),
            Some(object) => self.answer.push_arguments(place, &object.to_string()),
        }
    }
}

impl Tokens {
    fn usage(self) -> Usage {
        Usage {
            input_tokens: self.prompt_tokens.unwrap_or(0),
            cached_tokens: self.prompt_tokens_details.and_then(|details| details.cached_tokens).unwrap_or(0),
            output_tokens: self.completion_tokens.unwrap_or(0),
        }
    }
}

fn stop(reason: String) -> StopReason {
    match reason.as_str() {
        "stop" => StopReason::End,
        "tool_calls" | "function_call" => StopReason::ToolCalls,
        "length" => StopReason::Length,
        "content_filter" => StopReason::Filtered,
        _ => StopReason::Other(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn streamed(chunks: &[Value]) -> Result<ModelAnswer, ModelError> {
        let mut assembler = Assembler::default();
        for chunk in chunks {
            assert!(!assembler.take(&Event { id: None, kind: None, data: chunk.to_string() }, &()).unwrap());
        }
        assert!(assembler.take(&Event { id: None, kind: None, data: DONE.to_owned() }, &()).unwrap());
        assembler.finish()
    }

    fn delta(delta: Value) -> Value {
        json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }], "usage": null })
    }

    fn calls(answer: &ModelAnswer) -> Vec<(&str, &str, &str)> {
        answer.tool_calls.iter().map(|call| (&*call.id, &*call.name, &*call.arguments)).collect()
    }

    #[test]
    fn calls_that_come_in_turns_are_told_apart_by_their_places() {
        let part = |index: u64, arguments: &str| {
            delta(json!({ "tool_calls": [{ "index": index, "function": { "arguments": arguments } }] }))
        };
        let begin = |index: u64, id: &str, name: &str| {
            let function = json!({ "name": name, "arguments": "" });
            delta(
                json!({ "tool_calls": [{ "index": index, "id": id, "type": "function", "function": function }] }),
            )
        };
        let answer = streamed(&[
            begin(1, "b", "second"),
            begin(0, "a", "first"),
            part(0, "{\"x\""),
            part(1, "{\"y\""),
            part(0, ":1}"),
            part(1, ":2}"),
            json!({ "model": "m", "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
            json!({ "choices": [], "usage": { "prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": { "cached_tokens": 4 } } }),
        ]);
        let answer = answer.unwrap();
        assert_eq!(calls(&answer), [("a", "first", r#"{"x":1}"#), ("b", "second", r#"{"y":2}"#)]);
        assert_eq!(answer.stop, StopReason::ToolCalls);
        assert_eq!(answer.usage, Usage { input_tokens: 9, cached_tokens: 4, output_tokens: 2 });
    }

    #[test]
    fn calls_without_places_are_told_apart_by_their_ids() {
        let call = |id: Value, arguments: &str| {
            delta(
                json!({ "tool_calls": [{ "id": id, "function": { "name": "f", "arguments": arguments } }] }),
            )
        };
        let chunks = [call(json!("a"), "1"), call(json!(null), "2"), call(json!("b"), "3")];
        let answer = streamed(&chunks).unwrap();
        assert_eq!(calls(&answer), [("a", "f", "12"), ("b", "f", "3")]);
        assert_eq!(answer.stop, StopReason::Other("unspecified".to_owned()));
    }

    #[test]
    fn a_whole_answer_is_read() {
        let call = |name: &str, arguments: Value| json!({ "id": "", "function": { "name": name, "arguments": arguments } });
        let message = json!({
            "content": [{ "type": "text", "text": "hm" }],
            "tool_calls": [call("f", json!({ "x": 1 })), call("g", json!("")), call("h", json!("{bad"))],
        });
        let body = json!({
            "model": "m", "choices": [
                { "index": 1, "message": { "content": "other" }, "finish_reason": "length" },
                { "index": 0, "message": message, "finish_reason": "stop", "logprobs": null },
            ],
        });
        let answer = read(&body.to_string(), &()).unwrap();
        assert_eq!((answer.text.as_str(), answer.model.as_str()), ("hm", "m"));
        assert_eq!(calls(&answer), [("", "f", r#"{"x":1}"#), ("", "g", "{}"), ("", "h", "{bad")]);
        assert_eq!(answer.stop, StopReason::ToolCalls);
    }

    #[test]
    fn a_refusal_is_filtered() {
        let refused = [delta(json!({ "refusal": "I will " })), delta(json!({ "refusal": "not." }))];
        let answer = streamed(&refused).unwrap();
        assert_eq!((answer.text.as_str(), answer.stop), ("I will not.", StopReason::Filtered));
        let filtered = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "content_filter" }] });
        assert_eq!(streamed(&[filtered]).unwrap().stop, StopReason::Filtered);
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        for (body, kind) in [
            ("nonsense", "malformed"),
            ("{}", "malformed"),
            (r#"{"choices":[]}"#, "malformed"),
            (r#"{"choices":[{"message":{"content":"x","tool_calls":[{"id":"a"}]}}]}"#, "malformed"),
            (r#"{"error":{"code":429,"message":"x"}}"#, "rate_limited"),
        ] {
            assert_eq!(read(body, &()).unwrap_err().kind(), kind, "{body}");
        }
    }
}
