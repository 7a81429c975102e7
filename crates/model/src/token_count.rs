//! The documented token estimate (LD-06), used wherever the target model's own tokenizer is not known:
//! ASCII characters count a quarter each, rounded up together; every other character counts one.
//!
//! `len / 4` alone would underestimate Chinese about fourfold.

use crate::CanonicalJson;

/// Estimated tokens of a text.
pub fn estimate(text: &str) -> u32 {
    let characters = text.chars().count();
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let tokens = ascii.div_ceil(4) + (characters - ascii);
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

/// Estimated tokens of a card's content: the text itself for a string, the canonical text for anything else.
pub fn estimate_content(content: &CanonicalJson) -> u32 {
    match content.to_text() {
        Some(text) => estimate(&text),
        None => estimate(content.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LD-06
    #[test]
    fn ascii_counts_a_quarter_and_everything_else_one() {
        for (text, expected) in
            [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("中文", 2), ("abcd中", 2), ("é", 1)]
        {
            assert_eq!(estimate(text), expected, "{text}");
        }
        assert_eq!(estimate_content(&CanonicalJson::string("abcd").unwrap()), 1);
        assert_eq!(estimate_content(&CanonicalJson::parse("[1,2]", "x").unwrap()), 2);
    }
}
