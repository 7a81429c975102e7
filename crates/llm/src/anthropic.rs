//! Reads the answers of Anthropic messages, whole or as a stream.

use crate::{
    ChunkSink, ModelAnswer, ModelError, StopReason, Usage, fault, partial::Partial, remote::unreadable,
    sse::Event,
};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Step {
    MessageStart {
        message: Message,
    },
    ContentBlockStart {
        index: u64,
        content_block: Block,
    },
    ContentBlockDelta {
        index: u64,
        delta: Delta,
    },
    MessageDelta {
        delta: End,
        usage: Option<Tokens>,
    },
    MessageStop,
    Error {
        error: Value,
    },
    /// Pings, the ends of blocks, and what may be added one day.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Message {
    content: Option<Vec<Block>>,
    id: Option<String>,
    model: Option<String>,
    stop_reason: Option<String>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    /// Thoughts, and what the provider's own tools do.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct End {
    stop_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Tokens {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

/// Puts an answer together.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    answer: Partial,
    tokens: Tokens,
    begun: bool,
}

/// A whole answer.
pub(crate) fn read(text: &str, sink: &dyn ChunkSink) -> Result<ModelAnswer, ModelError> {
    let body: Value = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
    if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        return Err(fault::of_answer(error));
    }
    let message: Message = serde_json::from_value(body).map_err(|error| unreadable(&error))?;
    if message.content.is_none() {
        return Err(ModelError::malformed("the answer has no content"));
    }
    let mut assembler = Assembler::default();
    assembler.start(message, sink)?;
    assembler.finish()
}

impl Assembler {
    /// Takes the next event; whether it was the last.
    pub(crate) fn take(&mut self, event: &Event, sink: &dyn ChunkSink) -> Result<bool, ModelError> {
        let data = event.data.trim();
        if data.is_empty() {
            return Ok(false);
        }
        match serde_json::from_str(data).map_err(|error| unreadable(&error))? {
            Step::MessageStart { message } => self.start(message, sink)?,
            Step::ContentBlockStart { index, content_block } => self.block(index, content_block, sink)?,
            Step::ContentBlockDelta { delta: Delta::Text { text }, .. } => {
                self.answer.push_text(&text, sink)?
            }
            Step::ContentBlockDelta { index, delta: Delta::InputJson { partial_json } } => {
                self.answer.push_arguments(index, &partial_json)?;
            }
            Step::MessageDelta { delta, usage } => self.end(delta.stop_reason, usage),
            Step::MessageStop => return Ok(true),
            Step::Error { error } => return Err(fault::of_answer(&error)),
            Step::ContentBlockDelta { delta: Delta::Other, .. } | Step::Other => {}
        }
        Ok(false)
    }

    pub(crate) fn finish(mut self) -> Result<ModelAnswer, ModelError> {
        if !self.begun {
            return Err(ModelError::malformed("the answer has no beginning"));
        }
        self.answer.usage = self.tokens.usage();
        self.answer.finish()
    }

    fn start(&mut self, message: Message, sink: &dyn ChunkSink) -> Result<(), ModelError> {
        self.begun = true;
        self.answer.model = message.model.unwrap_or_default();
        self.answer.id = message.id.filter(|id| !id.is_empty());
        self.end(message.stop_reason, message.usage);
        let blocks = message.content.unwrap_or_default();
        (0..).zip(blocks).try_for_each(|(index, block)| self.block(index, block, sink))
    }

    fn block(&mut self, index: u64, block: Block, sink: &dyn ChunkSink) -> Result<(), ModelError> {
        match block {
            Block::Text { text } => self.answer.push_text(&text, sink),
            Block::ToolUse { id, name, input } => {
                self.answer.name_call(index, &id, &name)?;
                // In a stream the input follows in pieces, and what is here is empty.
                let is_empty = input.as_object().is_none_or(serde_json::Map::is_empty);
                if is_empty { Ok(()) } else { self.answer.push_arguments(index, &input.to_string()) }
            }
            Block::Other => Ok(()),
        }
    }

    /// Numbers of tokens are totals: the latest are right, and those not repeated stand.
    fn end(&mut self, reason: Option<String>, tokens: Option<Tokens>) {
        if let Some(reason) = reason {
            self.answer.stop = Some(stop(reason));
        }
        let new = tokens.unwrap_or_default();
        let old = &mut self.tokens;
        old.input_tokens = new.input_tokens.or(old.input_tokens);
        old.cache_creation_input_tokens = new.cache_creation_input_tokens.or(old.cache_creation_input_tokens);
        old.cache_read_input_tokens = new.cache_read_input_tokens.or(old.cache_read_input_tokens);
        old.output_tokens = new.output_tokens.or(old.output_tokens);
    }
}

impl Tokens {
    /// Anthropic counts what the cache reads and writes apart from the rest of the request.
    fn usage(&self) -> Usage {
        let [fresh, written, cached, output_tokens] = [
            self.input_tokens,
            self.cache_creation_input_tokens,
            self.cache_read_input_tokens,
            self.output_tokens,
        ]
        .map(Option::unwrap_or_default);
        let input_tokens = fresh.saturating_add(written).saturating_add(cached);
        Usage { input_tokens, cached_tokens: cached, output_tokens }
    }
}

fn stop(reason: String) -> StopReason {
    match reason.as_str() {
        "end_turn" | "stop_sequence" => StopReason::End,
        "tool_use" => StopReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "refusal" => StopReason::Filtered,
        _ => StopReason::Other(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolCall;
    use serde_json::json;

    fn take(assembler: &mut Assembler, data: Value) -> Result<bool, ModelError> {
        assembler.take(&Event { id: None, kind: None, data: data.to_string() }, &())
    }

    fn call(id: &str, arguments: &str) -> ToolCall {
        ToolCall { id: id.to_owned(), name: "f".to_owned(), arguments: arguments.to_owned() }
    }

    #[test]
    fn a_stream_is_put_together() {
        let tool =
            |id: &str, input: Value| json!({ "type": "tool_use", "id": id, "name": "f", "input": input });
        let start = |index: u64, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
        let delta = |index: u64, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
        let text = |text: &str| json!({ "type": "text_delta", "text": text });
        let input = |json: &str| json!({ "type": "input_json_delta", "partial_json": json });
        let mut assembler = Assembler::default();
        for step in [
            json!({ "type": "message_start", "message": { "model": "m", "content": [], "stop_reason": null,
                "usage": { "input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2, "output_tokens": 1 } } }),
            json!({ "type": "ping" }),
            start(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
            delta(0, json!({ "type": "thinking_delta", "thinking": "hm" })),
            start(1, json!({ "type": "text", "text": "" })),
            delta(1, text("Hel")),
            delta(1, text("lo")),
            json!({ "type": "content_block_stop", "index": 1 }),
            start(2, tool("a", json!({}))),
            delta(2, input("")),
            delta(2, input("{\"x\":")),
            delta(2, input("1}")),
            start(3, tool("b", json!({}))),
            start(4, tool("c", json!({ "y": 2 }))),
            start(5, json!({ "type": "server_tool_use", "id": "s", "name": "web", "input": {} })),
            delta(5, input("{\"q\":1}")),
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 9 } }),
            json!({ "type": "something_new", "delta": 7 }),
        ] {
            assert_eq!(take(&mut assembler, step.clone()), Ok(false), "{step}");
        }
        assert_eq!(take(&mut assembler, json!({ "type": "message_stop" })), Ok(true));
        let expected = ModelAnswer {
            text: "Hello".to_owned(),
            tool_calls: vec![call("a", "{\"x\":1}"), call("b", "{}"), call("c", "{\"y\":2}")],
            stop: StopReason::ToolCalls,
            usage: Usage { input_tokens: 17, cached_tokens: 5, output_tokens: 9 },
            model: "m".to_owned(),
            id: None,
        };
        assert_eq!(assembler.finish(), Ok(expected));
    }

    #[test]
    fn an_error_in_the_middle_ends_it() {
        let mut assembler = Assembler::default();
        let error = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "x" } });
        assert_eq!(take(&mut assembler, error).unwrap_err().kind(), "overloaded");
    }

    #[test]
    fn a_whole_answer_is_read() {
        for (reason, stop) in [
            ("end_turn", StopReason::End),
            ("stop_sequence", StopReason::End),
            ("max_tokens", StopReason::Length),
            ("model_context_window_exceeded", StopReason::Length),
            ("refusal", StopReason::Filtered),
            ("pause_turn", StopReason::Other("pause_turn".to_owned())),
        ] {
            let content =
                json!([{ "type": "text", "text": "a" }, { "type": "new" }, { "type": "text", "text": "b" }]);
            let body = json!({ "type": "message", "model": "m", "content": content, "stop_reason": reason });
            let answer = read(&body.to_string(), &()).unwrap();
            assert_eq!((answer.text.as_str(), answer.stop), ("ab", stop));
        }
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        for (body, kind) in [
            ("nonsense", "malformed"),
            ("{}", "malformed"),
            (r#"{"content":[{"type":"tool_use","id":7}]}"#, "malformed"),
            (r#"{"type":"error","error":{"type":"api_error"}}"#, "server"),
        ] {
            assert_eq!(read(body, &()).unwrap_err().kind(), kind, "{body}");
        }
        assert_eq!(Assembler::default().finish().unwrap_err().kind(), "malformed");
    }
}
