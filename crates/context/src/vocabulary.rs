//! OpenAI's vocabularies, unpacked when a model that uses them is counted for the first time.
//!
//! `build.rs` packs the tables that counting needs; unpacking takes a fifth of a second. A vocabulary also has patterns,
//! which cut a text into pieces before the tokens of each piece are looked up. Tables and patterns are those of tiktoken.

use bpe::byte_pair_encoding::BytePairEncoding;
use bpe_openai::Tokenizer;
use flate2::read::DeflateDecoder;
use std::{io::Read, sync::LazyLock};

/// Of `gpt-4o` and later.
pub(crate) static O200K: LazyLock<Tokenizer> = LazyLock::new(|| {
    let pieces = [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+$",
    ];
    unpack(include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base")), &pieces)
});

/// Of `gpt-4` and `gpt-3.5`.
pub(crate) static CL100K: LazyLock<Tokenizer> = LazyLock::new(|| {
    let pieces = [
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
        r"[^\r\n\p{L}\p{N}]?\p{L}+",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+$",
    ];
    unpack(include_bytes!(concat!(env!("OUT_DIR"), "/cl100k_base")), &pieces)
});

#[expect(clippy::expect_used, reason = "the tables are made by our own build script, and tests unpack them")]
fn unpack(compressed: &[u8], pieces: &[&str]) -> Tokenizer {
    let mut tables = Vec::new();
    DeflateDecoder::new(compressed).read_to_end(&mut tables).expect("tables that were packed at build time");
    let encoding: BytePairEncoding =
        rmp_serde::from_slice(&tables).expect("tables that were packed at build time");
    // Of several blanks the last belongs to the word after them: the second pattern looks one character ahead.
    let patterns = [(pieces.join("|"), false), (r"\s+\s".to_owned(), true), (r"\s+".to_owned(), false)];
    let patterns = patterns.each_ref().map(|(pattern, ahead)| (pattern.as_str(), *ahead));
    Tokenizer::new_lookahead(encoding, &patterns, false).expect("patterns that compile")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn texts_are_cut_and_counted_as_by_the_library(text in r"(\PC|\s|'(s|LL)|[0-9]{1,5}|[A-Z][a-z]+){0,60}") {
            prop_assert_eq!(O200K.encode(text.as_str()), bpe_openai::o200k_base().encode(text.as_str()));
            prop_assert_eq!(CL100K.encode(text.as_str()), bpe_openai::cl100k_base().encode(text.as_str()));
        }
    }
}
