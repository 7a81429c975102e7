//! What is written is read as the same answer.

use super::*;
use crate::{ModelError, StopReason, ToolCall, Usage, sse::Parser};
use proptest::prelude::*;

fn answers() -> impl Strategy<Value = ModelAnswer> {
    let call = ("[a-z_]{1,8}", "[^\u{0}]{0,12}").prop_map(|(name, text)| (name, text));
    let stop = prop_oneof![Just(StopReason::End), Just(StopReason::Length), Just(StopReason::Filtered)];
    let usage = (0..9_u64, 0..9_u64, 0..9_u64);
    ("\\PC{0,40}", prop::collection::vec(call, 0..4), stop, usage).prop_map(|(text, calls, stop, tokens)| {
        let call = |(n, (name, text)): (usize, (String, String))| ToolCall {
            id: format!("call_{n}"),
            name,
            arguments: serde_json::json!({ "text": text }).to_string(),
        };
        let tool_calls: Vec<_> = calls.into_iter().enumerate().map(call).collect();
        let stop =
            if tool_calls.is_empty() || stop != StopReason::End { stop } else { StopReason::ToolCalls };
        let (fresh, cached_tokens, output_tokens) = tokens;
        let usage = Usage { input_tokens: fresh + cached_tokens, cached_tokens, output_tokens };
        ModelAnswer { text, tool_calls, stop, usage, model: "m".to_owned(), id: Some("answer-1".to_owned()) }
    })
}

fn read(provider: Provider, text: &str) -> Result<ModelAnswer, ModelError> {
    match provider {
        Provider::OpenAiChat => crate::openai::read(text, &()),
        Provider::AnthropicMessages => crate::anthropic::read(text, &()),
    }
}

/// The answer in a stream that comes in parts of these sizes, over and over; none if it has no end.
fn read_stream(provider: Provider, bytes: &[u8], sizes: &[usize]) -> Result<Option<ModelAnswer>, ModelError> {
    let mut parser = Parser::default();
    let mut openai = crate::openai::Assembler::default();
    let mut anthropic = crate::anthropic::Assembler::default();
    let (mut rest, mut sizes) = (bytes, sizes.iter().cycle());
    while !rest.is_empty() {
        let size = sizes.next().map_or(rest.len(), |size| (*size).clamp(1, rest.len()));
        let (part, after) = rest.split_at(size);
        rest = after;
        for event in parser.push(part)? {
            let is_last = match provider {
                Provider::OpenAiChat => openai.take(&event, &())?,
                Provider::AnthropicMessages => anthropic.take(&event, &())?,
            };
            if is_last {
                return match provider {
                    Provider::OpenAiChat => openai.finish().map(Some),
                    Provider::AnthropicMessages => anthropic.finish().map(Some),
                };
            }
        }
    }
    Ok(None)
}

proptest! {
    #[test]
    fn a_response_is_read_as_what_was_written(answer in answers()) {
        for provider in Provider::ALL {
            let text = response(*provider, &answer).to_string();
            prop_assert_eq!(read(*provider, &text).unwrap(), answer.clone(), "{}", provider.as_str());
        }
    }

    #[test]
    fn a_stream_is_read_as_what_was_written_however_it_is_cut(
        answer in answers(),
        sizes in prop::collection::vec(1..64_usize, 1..8),
        crlf in any::<bool>(),
    ) {
        for provider in Provider::ALL {
            let text = stream(*provider, &answer).concat();
            let text = if crlf { text.replace('\n', "\r\n") } else { text };
            let whole = read_stream(*provider, text.as_bytes(), &[]).unwrap();
            prop_assert_eq!(whole.as_ref(), Some(&answer), "{}", provider.as_str());
            let cut = read_stream(*provider, text.as_bytes(), &sizes).unwrap();
            prop_assert_eq!(cut, whole, "{}", provider.as_str());
        }
    }

    #[test]
    fn a_stream_without_its_end_is_no_answer(answer in answers(), kept in 0.0..1.0_f64) {
        for provider in Provider::ALL {
            let events = stream(*provider, &answer);
            let kept = (events.len() as f64 * kept) as usize;
            let text = events[..kept].concat();
            prop_assert_eq!(read_stream(*provider, text.as_bytes(), &[7]), Ok(None));
        }
    }
}
