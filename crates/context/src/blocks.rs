//! The text of every `…__context` block, from values that somebody else collected (CC-01).
//!
//! A block without anything to say is the empty string, and then absent (CC-02). Nothing ends with a line break.

pub mod experience;
pub mod framework;
pub mod knowledge;
pub mod todo;

/// A text that fits on one line. Without it, a line break in a goal or a title could pass for a heading of ours.
pub(crate) fn one_line(text: &str) -> String {
    let text = text.trim().replace("\r\n", "\n");
    text.replace(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'], " ")
}

/// The first `limit` characters.
pub(crate) fn cut(text: &str, limit: usize) -> &str {
    text.char_indices().nth(limit).map_or(text, |(end, _)| &text[..end])
}
