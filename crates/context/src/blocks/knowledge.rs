//! `knowledge__context`: what was found in documents (KN-01, KN-03).

use super::one_line;
use crate::process::Process;
use cardwire_model::Invalid;
use serde_json::Value;

/// A piece of a document that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The document it is of.
    pub source_id: String,
    /// What it is about.
    pub title: Option<String>,
    /// Its text.
    pub content: String,
    /// What names it in `knowledge_refs` (KN-04).
    pub chunk_id: String,
}

/// How the block is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// Headings and text.
    #[default]
    Markdown,
    /// One JSON object.
    Json,
}

impl Format {
    /// By name. Another name is a mistake in the configuration, which is told and not survived (CC-07).
    pub fn parse(name: &str) -> Result<Self, Invalid> {
        match name {
            "markdown" => Ok(Self::Markdown),
            "json" => Ok(Self::Json),
            name => Err(Invalid::field("format", format!("must be markdown or json, not {name}"))),
        }
    }
}

/// How an agent comes to its knowledge (KN-01).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// As a block.
    #[default]
    System,
    /// It searches with a tool, and there is no block.
    Tool,
}

impl Mode {
    /// By name. Another name is told by what settings call it.
    pub fn parse(name: &str) -> Result<Self, Invalid> {
        match name {
            "system" => Ok(Self::System),
            "tool" => Ok(Self::Tool),
            name => Err(Invalid::field("inject_mode", format!("must be system or tool, not {name}"))),
        }
    }

    /// The mode in a process: who cannot call tools is given the block.
    pub const fn within(self, process: Process) -> Self {
        match self {
            Self::Tool if process.uses_tools() => Self::Tool,
            Self::Tool | Self::System => Self::System,
        }
    }
}

/// How much the block may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most chunks.
    pub max_chunks: usize,
    /// Half as many as the characters that their contents may have together.
    pub max_tokens: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_chunks: 6, max_tokens: 1_200 }
    }
}

/// A block, and what is in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The block.
    pub text: String,
    /// Places in the given list, in order: the chunks that the block shows.
    pub used: Vec<usize>,
}

/// The block. Chunks are taken whole and in order, up to the first that would be too much.
pub fn render(chunks: &[Chunk], format: Format, limits: &Limits) -> Rendered {
    let used = choose(chunks, limits);
    if used.is_empty() {
        return Rendered::default();
    }
    let shown = used.iter().map(|place| &chunks[*place]);
    let text = match format {
        Format::Markdown => {
            let chunks = shown.enumerate().map(|(index, chunk)| markdown(index + 1, chunk));
            format!("# Knowledge Context\n\n## Chunks{}", chunks.collect::<String>())
        }
        Format::Json => {
            let chunks: Vec<_> = shown.map(json).collect();
            format!(r#"{{"title":"Knowledge Context","chunks":[{}]}}"#, chunks.join(","))
        }
    };
    Rendered { text, used }
}

fn choose(chunks: &[Chunk], limits: &Limits) -> Vec<usize> {
    let mut left = limits.max_tokens.saturating_mul(2);
    let mut used = vec![];
    for (place, chunk) in chunks.iter().enumerate() {
        let content = chunk.content.trim();
        if content.is_empty() {
            continue;
        }
        let characters = content.chars().count();
        if used.len() == limits.max_chunks || characters > left {
            break;
        }
        left -= characters;
        used.push(place);
    }
    used
}

fn markdown(number: usize, chunk: &Chunk) -> String {
    let mut text = format!("\n\n### Chunk {number}\n- Source: {}", one_line(&chunk.source_id));
    if let Some(title) = title(chunk) {
        text.push_str(&format!("\n{title}"));
    }
    text.push_str(&format!("\n{}", chunk.content.trim()));
    text
}

/// Written by hand, because the order of the members is part of the format.
fn json(chunk: &Chunk) -> String {
    let text = |text: &str| Value::from(text).to_string();
    let title = title(chunk).map(|title| format!(r#""title":{},"#, text(&title))).unwrap_or_default();
    format!(
        r#"{{"source_id":{},{title}"chunk_id":{},"content":{}}}"#,
        text(&chunk.source_id),
        text(&chunk.chunk_id),
        text(chunk.content.trim()),
    )
}

fn title(chunk: &Chunk) -> Option<String> {
    chunk.title.as_deref().map(one_line).filter(|title| !title.is_empty())
}

#[cfg(test)]
mod tests;
