//! Counting tokens: the model's own tokenizer where it is known, else the documented estimate (LD-06).

use crate::{piece::Text, vocabulary};
use cardwire_model::{CanonicalJson, Card, Message, token_count};

/// What every message costs besides its text: role, separators, the start of the next message. OpenAI documents 3 to 4.
pub const MESSAGE_OVERHEAD: u32 = 4;

/// What counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tokenizer {
    /// `gpt-4o` and later.
    O200k,
    /// `gpt-4` and `gpt-3.5`.
    Cl100k,
    /// Every other model: ASCII characters count a quarter, others one.
    Estimate,
}

impl Tokenizer {
    /// The one that a model uses, as far as is known.
    pub fn for_model(model: &str) -> Self {
        // `openai/gpt-4o` of routers and `ft:gpt-4o:…` of fine-tuned models.
        let bare = model.rsplit('/').next().unwrap_or(model);
        let bare = bare.strip_prefix("ft:").unwrap_or(bare);
        let is = |prefixes: &[&str]| prefixes.iter().any(|prefix| bare.starts_with(prefix));
        if is(&["gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "gpt-oss", "chatgpt-4o", "o1", "o3", "o4"]) {
            Self::O200k
        } else if is(&["gpt-4", "gpt-3.5", "gpt-35"]) {
            Self::Cl100k
        } else {
            Self::Estimate
        }
    }

    /// The name in manifests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::O200k => "o200k_base",
            Self::Cl100k => "cl100k_base",
            Self::Estimate => "estimate",
        }
    }

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::O200k, Self::Cl100k, Self::Estimate].into_iter().find(|one| one.name() == name)
    }

    /// Tokens of a text.
    pub fn count(self, text: &str) -> u32 {
        let exact =
            |tokenizer: &bpe_openai::Tokenizer| u32::try_from(tokenizer.count(text)).unwrap_or(u32::MAX);
        match self {
            Self::O200k => exact(&vocabulary::O200K),
            Self::Cl100k => exact(&vocabulary::CL100K),
            Self::Estimate => token_count::estimate(text),
        }
    }

    /// Tokens of some content: of the text of a string, of the canonical text of anything else.
    pub fn count_content(self, content: &CanonicalJson) -> u32 {
        match content.to_text() {
            Some(text) => self.count(&text),
            None => self.count(content.as_str()),
        }
    }

    /// Tokens of a card as a message. The estimate of the content is kept with the card and not made again.
    pub fn count_card(self, card: &Card) -> u32 {
        let content = match self {
            Self::Estimate => card.tokens,
            Self::O200k | Self::Cl100k => self.count_content(&card.content),
        };
        self.with_calls(content, card.tool_calls.as_ref())
    }

    /// Tokens of a message.
    pub fn count_message(self, message: &Message) -> u32 {
        self.with_calls(self.count_content(&message.content), message.tool_calls.as_ref())
    }

    /// Tokens of a card that is told in these words, as a message.
    pub fn count_told(self, text: Text<'_>, card: &Card) -> u32 {
        self.with_calls(self.count(&text.decoded()), card.tool_calls.as_ref())
    }

    /// Tokens of a text as a message.
    pub fn count_text(self, text: &str) -> u32 {
        self.with_calls(self.count(text), None)
    }

    fn with_calls(self, content: u32, calls: Option<&CanonicalJson>) -> u32 {
        let calls = calls.map_or(0, |calls| self.count(calls.as_str()));
        content.saturating_add(calls).saturating_add(MESSAGE_OVERHEAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LD-06, RP-01
    #[test]
    fn a_model_is_counted_by_its_own_tokenizer_or_by_the_estimate() {
        let table = [
            ("gpt-4o-mini", Tokenizer::O200k),
            ("gpt-4.1", Tokenizer::O200k),
            ("gpt-5", Tokenizer::O200k),
            ("o3-mini", Tokenizer::O200k),
            ("openai/gpt-4o", Tokenizer::O200k),
            ("ft:gpt-4o:me", Tokenizer::O200k),
            ("gpt-4-turbo", Tokenizer::Cl100k),
            ("gpt-3.5-turbo", Tokenizer::Cl100k),
            ("claude-sonnet-4", Tokenizer::Estimate),
            ("scripted", Tokenizer::Estimate),
            ("", Tokenizer::Estimate),
        ];
        for (model, tokenizer) in table {
            assert_eq!(Tokenizer::for_model(model), tokenizer, "{model}");
            assert_eq!(Tokenizer::from_name(tokenizer.name()), Some(tokenizer));
        }
    }

    /// The numbers are those of tiktoken.
    #[test]
    fn texts_are_counted_as_the_provider_counts_them() {
        for (text, o200k, cl100k, estimate) in [
            ("", 0, 0, 0),
            ("hello world", 2, 2, 3),
            ("tiktoken is great!", 6, 6, 5),
            ("お誕生日おめでとう", 8, 9, 9),
        ] {
            let counts =
                [Tokenizer::O200k, Tokenizer::Cl100k, Tokenizer::Estimate].map(|one| one.count(text));
            assert_eq!(counts, [o200k, cl100k, estimate], "{text}");
        }
    }
}
