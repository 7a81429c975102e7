//! Cards by what they say, and everything by its id.

use super::call::Piece;
use crate::{Body, Frame, page, parts, text};
use maud::{Markup, html};

/// What the page shows.
#[derive(Debug, Clone)]
pub struct Search {
    /// What is looked for.
    pub text: String,
    /// What was found by its id or name: what it is, and where.
    pub places: Vec<(String, String)>,
    /// The cards.
    pub cards: Vec<Piece>,
    /// Where the search goes on.
    pub next: Option<String>,
}

/// The page.
pub fn show(frame: &Frame, view: &Search) -> Markup {
    let facts = html! {
        (parts::fact(text::plural(view.cards.len() as u64, "card"), if view.next.is_some() { "so far" } else { "" }))
    };
    let work = html! {
        section.work.padded aria-label="Found" {
            @for (what, href) in &view.places { p { a href=(href) { (what) } } }
            @if view.cards.is_empty() && view.places.is_empty() { (parts::empty("Nothing was found.", None)) }
            @for card in &view.cards {
                a class={ "piece l-" (card.layer) } href=[card.card.as_ref().map(|id| frame.link(&format!("/cards/{id}")))] {
                    span.said { @if card.is_deleted { span.soft { "deleted since" } } @else { (text::first_line(&card.text, 300)) } }
                    @if let Some(tokens) = card.tokens { span.tokens { (tokens) } }
                }
            }
            @if let Some(next) = &view.next { p.more { a href=(next) rel="next" { "Look at older cards" } } }
        }
    };
    page(frame, Body { facts: Some(facts), work: Some(work), ..Body::default() })
}
