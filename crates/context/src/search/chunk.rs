//! Cuts a document into sections, which are shown, and sections into parts, which are searched (KN-02).
//!
//! Invariant: every character of the text that is not whitespace is in exactly one section, and there in exactly one
//! part, in order.

use super::cut::pieces;
use crate::blocks::cut;
use cardwire_model::limits;

/// A stretch of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The heading it stands under, else the title of the document.
    pub title: Option<String>,
    /// At most [`limits::SECTION_CHARS`] characters, the heading included.
    pub text: String,
    /// The same text, in pieces of at most [`limits::PART_CHARS`] characters.
    pub parts: Vec<String>,
}

/// The sections of a document, Markdown or plain. `title_hint` is the title of what stands under no heading.
pub fn sections(text: &str, title_hint: Option<&str>) -> Vec<Section> {
    let hint = title_hint.map(str::trim).filter(|title| !title.is_empty());
    let mut sections = vec![];
    for block in blocks(text) {
        // Each section has it beside its text, so that it cannot be of any length.
        let title = block.title.or(hint).map(|title| cut(title, limits::TITLE_CHARS));
        for text in pieces(block.text, limits::SECTION_CHARS) {
            let parts = pieces(text, limits::PART_CHARS).map(str::to_owned).collect();
            sections.push(Section { title: title.map(str::to_owned), text: text.to_owned(), parts });
        }
    }
    sections
}

/// What stands between two headings, with the first of them.
struct Block<'a> {
    title: Option<&'a str>,
    text: &'a str,
}

/// A heading starts a block, unless nothing but headings stands before it in its own block: a heading alone says
/// nothing, and the last one says best what follows.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = vec![];
    let mut fence = None;
    let mut title = None;
    let mut has_body = false;
    let mut start = 0;
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        fence = fence_after(fence, line);
        if let Some(heading) = heading(line).filter(|_| fence.is_none()) {
            if has_body {
                blocks.push(Block { title, text: &text[start..end] });
                start = end;
                has_body = false;
            }
            title = Some(heading);
        } else if !line.trim().is_empty() {
            has_body = true;
        }
        end += line.len();
    }
    blocks.push(Block { title, text: &text[start..] });
    blocks
}

/// `## Title ##` says `Title`.
fn heading(line: &str) -> Option<&str> {
    let line = unindented(line)?;
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    if !(1..=6).contains(&level) || !rest.starts_with([' ', '\t']) {
        return None;
    }
    let title = rest.trim();
    let title = match title.trim_end_matches('#') {
        // The closing hashes are none unless a blank stands before them: `C#` is a name.
        opened if opened.is_empty() || opened.ends_with([' ', '\t']) => opened.trim_end(),
        _ => title,
    };
    Some(title).filter(|title| !title.is_empty())
}

/// The fence that is open after a line: its character, and how many of it. Headings in code are none.
fn fence_after(open: Option<(char, usize)>, line: &str) -> Option<(char, usize)> {
    let Some(line) = unindented(line) else {
        return open;
    };
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'));
    let Some(mark) = mark else {
        return open;
    };
    let rest = line.trim_start_matches(mark);
    let length = line.len() - rest.len();
    match open {
        Some((opened, at_least)) if opened == mark && length >= at_least && rest.trim().is_empty() => None,
        Some(open) => Some(open),
        // What is quoted with backticks within one line is no fence.
        None if length >= 3 && !(mark == '`' && rest.contains('`')) => Some((mark, length)),
        None => None,
    }
}

/// The line without up to three blanks before it; more make it code.
fn unindented(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(' ');
    (line.len() - rest.len() <= 3).then_some(rest)
}

#[cfg(test)]
mod tests;
