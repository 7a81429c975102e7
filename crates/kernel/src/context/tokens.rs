//! Tokens, counted once per text and tokenizer. The estimate is kept with every card; other tokenizers are slow enough
//! that what they said is remembered.

use cardwire_context::tokens::Tokenizer;
use cardwire_model::{Card, Hash256};
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) struct TokenCache {
    counts: quick_cache::sync::Cache<(Tokenizer, Hash256), u32>,
    /// How often a text was really counted.
    counted: AtomicU64,
}

/// Counts remembered at most: 60 bytes each.
const COUNTS: usize = 500_000;

impl Default for TokenCache {
    fn default() -> Self {
        Self { counts: quick_cache::sync::Cache::new(COUNTS), counted: AtomicU64::new(0) }
    }
}

impl TokenCache {
    /// Tokens of a card as a message.
    pub(crate) fn card(&self, tokenizer: Tokenizer, card: &Card) -> u32 {
        if tokenizer == Tokenizer::Estimate {
            return tokenizer.count_card(card);
        }
        // The fact hash covers the tool calls too.
        let key = (tokenizer, card.fact_hash);
        self.remembered(key, || tokenizer.count_card(card))
    }

    /// How often a text was really counted.
    pub(crate) fn counted(&self) -> u64 {
        self.counted.load(Ordering::Relaxed)
    }

    fn remembered(&self, key: (Tokenizer, Hash256), count: impl FnOnce() -> u32) -> u32 {
        if let Some(tokens) = self.counts.get(&key) {
            return tokens;
        }
        self.counted.fetch_add(1, Ordering::Relaxed);
        let tokens = count();
        self.counts.insert(key, tokens);
        tokens
    }
}
