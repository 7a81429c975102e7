//! The other side: an answer as a provider would send it. Tests and endpoints that stand in for a provider use it.
//!
//! Invariant: what is written here is read by this crate, and by the providers' own clients, as the same answer.

mod anthropic;
mod openai;

use crate::ModelAnswer;
use cardwire_model::{Hash256, Provider};
use serde_json::Value;

/// In how many pieces texts are streamed.
const PIECES: usize = 5;

/// The body of a response.
pub fn response(provider: Provider, answer: &ModelAnswer) -> Value {
    match provider {
        Provider::OpenAiChat => openai::response(answer),
        Provider::AnthropicMessages => anthropic::response(answer),
    }
}

/// The events of a stream, each with its empty line.
pub fn stream(provider: Provider, answer: &ModelAnswer) -> Vec<String> {
    match provider {
        Provider::OpenAiChat => openai::stream(answer),
        Provider::AnthropicMessages => anthropic::stream(answer),
    }
}

/// The answer's own id, or one that is the same for the same answer.
fn id(prefix: &str, answer: &ModelAnswer) -> String {
    if let Some(id) = &answer.id {
        return id.clone();
    }
    let bytes = serde_json::to_vec(answer).unwrap_or_default();
    format!("{prefix}{}", &Hash256::of(&bytes).to_string()[..24])
}

/// A text in a few pieces, none of which is empty.
fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let size = chars.len().div_ceil(PIECES).max(1);
    chars.chunks(size).map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests;
