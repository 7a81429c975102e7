//! Where each byte of a request comes from (IN-12).
//!
//! The renderer writes into [`RequestWriter`]. Where it is traced, it notes at which byte the text of each piece begins and ends; an
//! untraced one notes nothing, so that the path of a turn pays nothing for it.
//! Invariant: the spans of a request follow one another without gaps, and together they are the request.

use crate::lint::Origin;

/// Where a span of a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// The request itself: its braces, roles, model and parameters.
    Frame,
    /// The list of tools.
    Tools,
    /// A piece of the request, by its index among the pieces that the linter passed on.
    Piece(usize),
    /// Something that the linter added, by its place among the repairs.
    Repair(usize),
}

impl From<Origin> for Source {
    fn from(origin: Origin) -> Self {
        match origin {
            Origin::Piece(index) => Self::Piece(index),
            Origin::Repair(index) => Self::Repair(index),
        }
    }
}

/// A range of bytes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Where it comes from.
    pub source: Source,
    /// The first byte of it.
    pub from: usize,
    /// The byte after its last.
    pub to: usize,
}

/// A request with the source of each of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traced {
    /// The body.
    pub body: Vec<u8>,
    /// Its spans, in order and without gaps.
    pub spans: Vec<Span>,
}

/// A request under way.
pub(super) struct RequestWriter {
    pub(super) bytes: Vec<u8>,
    /// None where nobody wants to know.
    spans: Option<Vec<Span>>,
}

impl RequestWriter {
    pub(super) fn untraced(capacity: usize) -> Self {
        Self { bytes: Vec::with_capacity(capacity), spans: None }
    }

    pub(super) fn traced(capacity: usize) -> Self {
        Self { bytes: Vec::with_capacity(capacity), spans: Some(vec![]) }
    }

    /// What `write` writes comes from `source`.
    pub(super) fn of(&mut self, source: Source, write: impl FnOnce(&mut Vec<u8>)) {
        let from = self.bytes.len();
        write(&mut self.bytes);
        if let Some(spans) = &mut self.spans {
            fill(spans, from);
            add(spans, Span { source, from, to: self.bytes.len() });
        }
    }

    /// The whole request.
    pub(super) fn finish(self) -> Traced {
        let mut spans = self.spans.unwrap_or_default();
        fill(&mut spans, self.bytes.len());
        Traced { body: self.bytes, spans }
    }
}

/// What was written since the last span, up to `to`, is the request's own.
fn fill(spans: &mut Vec<Span>, to: usize) {
    let from = spans.last().map_or(0, |last| last.to);
    add(spans, Span { source: Source::Frame, from, to });
}

fn add(spans: &mut Vec<Span>, span: Span) {
    if span.from < span.to {
        spans.push(span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures::{PROVIDERS, call, history, human, json_of, result},
        lint::lint,
        render::{RequestSpec, render, render_traced},
    };
    use cardwire_model::Card;
    use proptest::prelude::*;
    use serde_json::{Map, json};

    /// Cards of a conversation in which calls may lack their results, and results their calls.
    fn conversation() -> impl Strategy<Value = Vec<Card>> {
        let card = (0..3u8, 0..4u8, "[a-z\"\\\\\u{1}é😀 ]{0,12}");
        proptest::collection::vec(card, 1..12).prop_map(|cards| {
            let make = |(n, (kind, id, text)): (usize, (u8, u8, String))| {
                let (n, id) = (n + 1, format!("c{id}"));
                match kind {
                    0 => human(n, &text),
                    1 => call(n, &id),
                    _ => result(n, &id, &text),
                }
            };
            cards.into_iter().enumerate().map(make).collect()
        })
    }

    proptest! {
        /// IN-12: the spans are the request, byte for byte, whatever the linter repaired or left out.
        #[test]
        fn spans_are_the_request_without_gaps(cards in conversation(), with_tools: bool) {
            let pieces = history(&cards);
            let tools = with_tools.then(|| json_of(&json!([{ "name": "look" }])));
            let params = Map::from_iter([("top_p".to_owned(), json!(1.0))]);
            for provider in PROVIDERS {
                let Ok(linted) = lint(provider, &pieces) else { continue };
                let spec = RequestSpec { provider, model: "m", params: &params, tools: tools.as_ref() };
                let Traced { body, spans } = render_traced(&linted, &spec);
                prop_assert_eq!(&body, &render(&linted, &spec));
                let mut at = 0;
                for span in &spans {
                    prop_assert_eq!(span.from, at);
                    prop_assert!(span.to > span.from);
                    at = span.to;
                }
                prop_assert_eq!(at, body.len());
                // Each piece that is sent and says something is somewhere, and nothing else is.
                let of_piece = |index: usize| spans.iter().filter(move |span| span.source == Source::Piece(index));
                for (index, piece) in pieces.iter().enumerate() {
                    let is_left_out = linted.omitted.iter().any(|(omitted, _)| *omitted == index);
                    prop_assert!(!is_left_out || of_piece(index).count() == 0);
                    prop_assert!(is_left_out || piece.is_blank() || of_piece(index).count() > 0);
                }
                let repairs = spans.iter().filter(|span| matches!(span.source, Source::Repair(_))).count();
                prop_assert_eq!(repairs, linted.repairs.len());
            }
        }
    }
}
