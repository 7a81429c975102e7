//! The request that asks for a summary (CP-03, RP-01): a pure function of the cards it is made of, so that its manifest keeps
//! references, like that of any other call, and it can be rendered again.

use super::prompt::prompt;
use crate::{
    lint::{self, LintError},
    piece::{Body, Piece, Reference},
    render::{self, RequestSpec, Source as SpanSource, Traced},
};
use cardwire_model::{CardId, Cause, Layer, Manifest, Source, Speaker};

/// Which version of prompt and renderer makes these bytes. Changes with every change of the bytes.
pub const TEMPLATE: &str = "cw-2-summary";

/// The same of earlier builds, which told everything as it is kept.
pub const FIRST_TEMPLATE: &str = "cw-1-summary";

/// Whether a call of this version asks for a summary.
pub fn is_template(template: &str) -> bool {
    [FIRST_TEMPLATE, TEMPLATE].contains(&template)
}

/// A request for a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryBody {
    /// The body to send.
    pub body: Vec<u8>,
    /// What the user's message says, for whoever counts.
    pub prompt: String,
}

/// Asks for a summary of these pieces: the summariser's own prompt ([`Layer::SystemPrompt`]), the summary so far
/// ([`Layer::Compression`]), and what was said ([`Layer::Checkpoint`]), in order.
pub fn request(pieces: &[Piece<'_>], spec: &RequestSpec<'_>) -> Result<SummaryBody, LintError> {
    with_asked(pieces, |asked, prompt| {
        let body = render::render(&lint::lint(spec.provider, asked)?, spec);
        Ok(SummaryBody { body, prompt: prompt.to_owned() })
    })
}

/// The same request with where each byte of it comes from (IN-12). What was said is cut and told again in the prompt, so that
/// its bytes are the request's own.
pub fn request_traced(pieces: &[Piece<'_>], spec: &RequestSpec<'_>) -> Result<Traced, LintError> {
    let own: Vec<usize> =
        (0..pieces.len()).filter(|index| pieces[*index].layer == Layer::SystemPrompt).collect();
    with_asked(pieces, |asked, _| {
        let mut traced = render::render_traced(&lint::lint(spec.provider, asked)?, spec);
        for span in &mut traced.spans {
            if let SpanSource::Piece(index) = span.source {
                span.source = own.get(index).map_or(SpanSource::Frame, |index| SpanSource::Piece(*index));
            }
        }
        Ok(traced)
    })
}

/// Does something with the pieces that are sent, and with what the user's message says.
fn with_asked<T>(
    pieces: &[Piece<'_>],
    work: impl FnOnce(&[Piece<'_>], &str) -> Result<T, LintError>,
) -> Result<T, LintError> {
    let texts: Vec<_> = pieces.iter().map(|piece| (piece.layer, piece.speaker(), text_of(piece))).collect();
    let of = |wanted: Layer| {
        texts.iter().filter(move |(layer, ..)| *layer == wanted).map(|(_, _, text)| text.as_str())
    };
    let lines: Vec<_> = texts
        .iter()
        .filter(|(layer, ..)| *layer == Layer::Checkpoint)
        .map(|(_, speaker, text)| (*speaker, text.as_str()))
        .collect();
    let prompt = prompt(&lines, of(Layer::Compression).next());
    let system = of(Layer::SystemPrompt).map(|text| said(Layer::SystemPrompt, Speaker::System, text));
    let asked: Vec<_> = system.chain([said(Layer::Query, Speaker::Human, &prompt)]).collect();
    work(&asked, &prompt)
}

/// The summary that a request goes on from; none for calls that ask for no summary.
pub fn follows(manifest: &Manifest) -> Option<CardId> {
    if !is_template(&manifest.template) {
        return None;
    }
    let earlier = manifest.entries.iter().find(|entry| entry.layer == Layer::Compression)?;
    match earlier.source {
        Source::Card(id) | Source::Block(id) => Some(id),
        Source::Stretch(_) => None,
    }
}

/// What a piece says. The card of a summary says more than the summary.
fn text_of(piece: &Piece<'_>) -> String {
    match piece.body {
        Body::Card(card) | Body::Told { card, .. } if piece.layer == Layer::Compression => {
            card.content.to_value()["summary"].as_str().unwrap_or_default().to_owned()
        }
        Body::Told { text, .. } => text.decoded().into_owned(),
        Body::Card(card) => card.content.to_text().unwrap_or_else(|| card.content.as_str().to_owned()),
        Body::Message(message) => {
            message.content.to_text().unwrap_or_else(|| message.content.as_str().to_owned())
        }
        Body::Text { text, .. } => text.to_owned(),
    }
}

fn said(layer: Layer, speaker: Speaker, text: &str) -> Piece<'_> {
    Piece {
        layer,
        context_key: None,
        cause: Cause::Collected,
        body: Body::Text { speaker, text },
        reference: Reference::Given,
        tokens: 0,
        pinned: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compaction::SYSTEM_PROMPT,
        fixtures::{PROVIDERS, history, human},
    };
    use cardwire_model::Provider;
    use serde_json::{Map, Value, json};

    fn ask(provider: Provider, pieces: &[Piece<'_>]) -> Value {
        let params = Map::from_iter([("max_tokens".to_owned(), json!(9))]);
        let spec = RequestSpec { provider, model: "m", params: &params, tools: None };
        serde_json::from_slice(&request(pieces, &spec).unwrap().body).unwrap()
    }

    /// CP-03, CP-05, RP-01
    #[test]
    fn a_summary_is_asked_for_with_the_one_before_and_what_was_said() {
        let cards = [human(1, "hello"), human(2, "goodbye")];
        let own = said(Layer::SystemPrompt, Speaker::System, SYSTEM_PROMPT);
        let earlier = said(Layer::Compression, Speaker::System, "so far");
        let pieces: Vec<_> = [own, earlier].into_iter().chain(history(&cards)).collect();
        let wanted = prompt(&[(Speaker::Human, "hello"), (Speaker::Human, "goodbye")], Some("so far"));
        let openai = ask(Provider::OpenAiChat, &pieces);
        assert_eq!(openai["messages"][0], json!({ "role": "system", "content": SYSTEM_PROMPT }));
        assert_eq!(openai["messages"][1], json!({ "role": "user", "content": wanted }));
        let anthropic = ask(Provider::AnthropicMessages, &pieces);
        assert_eq!(anthropic["messages"][0]["content"][0]["text"], wanted);
        assert!(anthropic["system"].to_string().contains("You summarise conversations"), "{anthropic}");
        for provider in PROVIDERS {
            let asked = ask(provider, &pieces);
            assert_eq!((&asked["model"], &asked["max_tokens"]), (&json!("m"), &json!(9)));
            assert!(asked.get("tools").is_none(), "{asked}");
        }
    }
}
