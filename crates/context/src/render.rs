//! The exact bytes of a request (RP-01, NF-11).
//!
//! Members come in a fixed order and content is copied in its canonical text, so that the same pieces give the same
//! bytes today and when a manifest is rendered again. What only traces need, such as context keys, never gets here.

mod anthropic;
mod openai;
mod spans;
pub(crate) mod write;

pub use spans::{Source, Span, Traced};

use crate::lint::{Arguments, Linted, Said};
use crate::piece::Text;
use cardwire_model::{CanonicalJson, Hash256, Provider};
use serde_json::{Map, Value};
use spans::RequestWriter;

/// Which version of composer, linter and renderer makes these bytes. Changes with every change of the bytes. Requests of
/// earlier versions are rendered as they were.
pub const TEMPLATE: &str = Template::NOW.as_str();

/// A version of composer, linter and renderer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Template {
    /// Everything is told as it is kept.
    First,
    /// Answers of tools, what agents came to, and who gave the work are told in sentences ([`crate::words`]).
    Second,
}

impl Template {
    /// The one that makes new requests.
    pub const NOW: Self = Self::Second;

    /// The name in manifests.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::First => "cw-1",
            Self::Second => "cw-2",
        }
    }

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::First, Self::Second].into_iter().find(|one| one.as_str() == name)
    }
}

/// What a request says besides its messages.
#[derive(Debug, Clone, Copy)]
pub struct RequestSpec<'a> {
    /// In whose format.
    pub provider: Provider,
    /// Which model.
    pub model: &'a str,
    /// Its parameters. Members that the renderer writes itself (`model`, `messages`, `system`, `tools`) are not taken
    /// from here.
    pub params: &'a Map<String, Value>,
    /// The provider's list of tools.
    pub tools: Option<&'a CanonicalJson>,
}

/// The body of the request.
pub fn render(linted: &Linted<'_>, spec: &RequestSpec<'_>) -> Vec<u8> {
    let mut out = RequestWriter::untraced(size(linted, spec));
    write(&mut out, linted, spec);
    out.bytes
}

/// The same body, with where each byte of it comes from (IN-12).
pub fn render_traced(linted: &Linted<'_>, spec: &RequestSpec<'_>) -> Traced {
    let mut out = RequestWriter::traced(size(linted, spec));
    write(&mut out, linted, spec);
    out.finish()
}

fn write(out: &mut RequestWriter, linted: &Linted<'_>, spec: &RequestSpec<'_>) {
    match spec.provider {
        Provider::OpenAiChat => openai::render(out, linted, spec),
        Provider::AnthropicMessages => anthropic::render(out, linted, spec),
    }
}

/// About how many bytes the body has, so that it is written without moving. Texts that must be encoded may grow past it.
fn size(linted: &Linted<'_>, spec: &RequestSpec<'_>) -> usize {
    const MESSAGE: usize = 64;
    const PART: usize = 96;
    let parts = linted.messages.iter().flat_map(|message| linted.parts(message));
    let parts: usize = parts
        .map(|part| match part.said {
            Said::Text(text) | Said::Result { text, .. } => PART + encoded_size(text),
            Said::Call(call) => match linted.calls()[call].arguments {
                Arguments::None => PART,
                Arguments::Json(text) | Arguments::Encoded(text) => PART + text.len() + text.len() / 8,
            },
        })
        .sum();
    let system: usize = linted.system.iter().map(|(text, _)| PART + encoded_size(*text)).sum();
    let tools = spec.tools.map_or(0, |tools| tools.as_bytes().len());
    parts + system + tools + linted.messages.len() * MESSAGE + 1024
}

fn encoded_size(text: Text<'_>) -> usize {
    match text {
        Text::Encoded(text) => text.len(),
        Text::Plain(text) => text.len() + text.len() / 8,
    }
}

/// SHA-256 of a body, hexadecimal.
pub fn sha256(body: &[u8]) -> String {
    Hash256::of(body).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures::{PROVIDERS, call, history, human, json_of},
        lint::lint_as,
    };
    use serde_json::json;

    fn body(provider: Provider, params: &Value, tools: Option<&Value>) -> String {
        body_as(Template::NOW, provider, params, tools)
    }

    fn body_as(template: Template, provider: Provider, params: &Value, tools: Option<&Value>) -> String {
        let cards = [human(1, "say \"hi\"\n"), call(2, "c1")];
        let pieces = history(&cards);
        let tools = tools.map(json_of);
        let params = params.as_object().unwrap();
        let spec = RequestSpec { provider, model: "m-1", params, tools: tools.as_ref() };
        String::from_utf8(render(&lint_as(template, provider, &pieces).unwrap(), &spec)).unwrap()
    }

    /// RP-01, NF-11
    #[test]
    fn members_stand_in_a_fixed_order_and_parameters_by_name() {
        let params =
            json!({ "top_p": 1.0, "max_tokens": 7, "a": { "z": 1, "b": 2 }, "messages": [], "model": "x" });
        let tools = json!([{ "name": "look" }]);
        insta::assert_snapshot!(body(Provider::OpenAiChat, &params, Some(&tools)), @r#"{"model":"m-1","messages":[{"role":"user","content":"say \"hi\"\n"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"at\":1}"}}]},{"role":"tool","tool_call_id":"c1","content":"The call failed (no_result): no result of this call was recorded"}],"tools":[{"name":"look"}],"a":{"b":2,"z":1},"max_tokens":7,"top_p":1}"#);
        insta::assert_snapshot!(body(Provider::AnthropicMessages, &params, Some(&tools)), @r#"{"model":"m-1","messages":[{"role":"user","content":[{"type":"text","text":"say \"hi\"\n"}]},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"look","input":{"at":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"The call failed (no_result): no result of this call was recorded"}]}],"tools":[{"name":"look"}],"max_tokens":7,"a":{"b":2,"z":1},"top_p":1}"#);
    }

    /// RP-02: what was sent stays as it was sent.
    #[test]
    fn a_request_of_an_earlier_build_has_its_bytes() {
        let first = |provider| body_as(Template::First, provider, &json!({ "max_tokens": 7 }), None);
        insta::assert_snapshot!(first(Provider::OpenAiChat), @r#"{"model":"m-1","messages":[{"role":"user","content":"say \"hi\"\n"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"at\":1}"}}]},{"role":"tool","tool_call_id":"c1","content":"{\"error\":{\"code\":\"no_result\",\"message\":\"no result of this call was recorded\"},\"result\":null,\"status\":\"failed\"}"}],"max_tokens":7}"#);
        assert!(
            first(Provider::AnthropicMessages).contains(r#""content":"{\"error\":{\"code\":\"no_result\""#)
        );
    }

    /// OB-01
    #[test]
    fn a_history_with_calls_declares_its_tools_to_anthropic() {
        insta::assert_snapshot!(body(Provider::AnthropicMessages, &json!({}), None), @r#"{"model":"m-1","messages":[{"role":"user","content":[{"type":"text","text":"say \"hi\"\n"}]},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"look","input":{"at":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"The call failed (no_result): no result of this call was recorded"}]}],"tools":[{"name":"look","input_schema":{"type":"object"}}],"tool_choice":{"type":"none"},"max_tokens":4096}"#);
        let none = body(Provider::OpenAiChat, &json!({}), Some(&json!([])));
        assert!(!none.contains("\"tools\""), "{none}");
    }

    /// CB-06
    #[test]
    fn the_list_of_tools_may_be_wrapped() {
        for provider in PROVIDERS {
            let bare = body(provider, &json!({}), Some(&json!([{ "name": "look" }])));
            assert_eq!(body(provider, &json!({}), Some(&json!({ "tools": [{ "name": "look" }] }))), bare);
        }
    }
}
