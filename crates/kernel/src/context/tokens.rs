//! Tokens, counted once per text and tokenizer. The estimate is kept with every card; other tokenizers are slow enough
//! that what they said is remembered.

use crate::{Kernel, KernelError};
use cardwire_context::{
    tokens::Tokenizer,
    words::{Words, may_be_told},
};
use cardwire_model::{CancelFlag, Card, Hash256, ProjectId};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

pub(crate) struct TokenCache {
    counts: quick_cache::sync::Cache<Counted, u32>,
    /// How often a text was really counted.
    counted: AtomicU64,
}

/// What was counted: a card as it is kept, or as it is told.
type Counted = (Tokenizer, Hash256, bool);

/// Counts remembered at most: 90 bytes each.
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
        let key = (tokenizer, card.fact_hash, false);
        self.remembered(key, || tokenizer.count_card(card))
    }

    /// Tokens of a card as a message, in the words in which it is told.
    pub(crate) fn told(&self, tokenizer: Tokenizer, words: &Words, card: &Card) -> u32 {
        let Some(text) = words.text(card) else { return self.card(tokenizer, card) };
        let key = (tokenizer, card.fact_hash, true);
        self.remembered(key, || tokenizer.count_told(text, card))
    }

    /// Whether a card can be counted without going through its text.
    fn knows(&self, tokenizer: Tokenizer, card: &Card) -> bool {
        // What may be told in other words often is not.
        let is_known = |told| self.counts.get(&(tokenizer, card.fact_hash, told)).is_some();
        match may_be_told(card) {
            true => is_known(true) || is_known(false),
            false => tokenizer == Tokenizer::Estimate || is_known(false),
        }
    }

    /// How often a text was really counted.
    pub(crate) fn counted(&self) -> u64 {
        self.counted.load(Ordering::Relaxed)
    }

    fn remembered(&self, key: Counted, count: impl FnOnce() -> u32) -> u32 {
        if let Some(tokens) = self.counts.get(&key) {
            return tokens;
        }
        self.counted.fetch_add(1, Ordering::Relaxed);
        let tokens = count();
        self.counts.insert(key, tokens);
        tokens
    }
}

impl Kernel {
    /// Counts cards that were not counted yet where it holds up nobody, if they are long. What they come to is asked for
    /// afterwards: then it is known.
    pub(super) async fn count_ahead<'c>(
        &self,
        project: &ProjectId,
        tokenizer: Tokenizer,
        cards: impl Iterator<Item = &'c Card> + Send,
    ) -> Result<(), KernelError> {
        let new: Vec<Card> = cards.filter(|card| !self.counts.knows(tokenizer, card)).cloned().collect();
        let calls = |card: &Card| card.tool_calls.as_ref().map_or(0, |calls| calls.as_bytes().len());
        let bytes: usize = new.iter().map(|card| card.content.as_bytes().len() + calls(card)).sum();
        if bytes == 0 {
            return Ok(());
        }
        let counts = Arc::clone(&self.counts);
        let count = move |cancel: &CancelFlag| {
            let words = Words::of(&new);
            for card in new.iter().take_while(|_| !cancel.is_set()) {
                counts.told(tokenizer, &words, card);
            }
        };
        self.compute(Some(project), bytes, count).await
    }
}
