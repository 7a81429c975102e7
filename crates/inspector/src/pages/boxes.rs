//! A box: its cards in order, where each of them came from, and its generations.

mod lineage;

use super::call::Piece;
use crate::{Body, Frame, page, parts, text};
use cardwire_model::Timestamp;
use maud::{Markup, html};

pub use lineage::{Kin, Lineage};

/// What the page shows.
#[derive(Debug, Clone)]
pub struct BoxPage {
    /// Its id.
    pub id: String,
    /// The generation that is shown.
    pub generation: u32,
    /// The newest generation.
    pub newest: u32,
    /// How many cards this generation has.
    pub len: u64,
    /// It takes no more changes.
    pub is_sealed: bool,
    /// The cards that are shown, each with where it came from.
    pub cards: Vec<(Piece, String)>,
    /// Where its cards come from and go.
    pub lineage: Lineage,
    /// When it was made.
    pub at: Timestamp,
    /// When the page was made.
    pub now: Timestamp,
}

/// Cards that are laid out together when they are seen (IN-06).
const CHUNK: usize = 100;

/// The page.
pub fn show(frame: &Frame, view: &BoxPage) -> Markup {
    let tokens: u64 = view.cards.iter().filter_map(|(card, _)| card.tokens).sum();
    let facts = html! {
        (parts::fact(text::plural(view.len, "card"), ""))
        (parts::fact(text::count(tokens), "tokens"))
        span { (parts::word("generation")) " " b { (view.generation) } @if view.newest > view.generation { " of " (view.newest) } }
        @if view.is_sealed { span.state { "sealed" } } @else { span.state.live { "open" } }
        (parts::moment(view.at, view.now))
        (parts::id(&view.id))
    };
    let acts = html! {
        @if view.generation > 1 { a.button href=(at(frame, view, view.generation - 1)) { "Earlier generation" } }
        @if frame.may_write {
            form method="post" action=(frame.link(&format!("/boxes/{}/fork", view.id))) { button { "Fork" } }
        }
        @if view.generation < view.newest { a.button href=(at(frame, view, view.generation + 1)) { "Later generation" } }
    };
    let work = html! {
        section.work.padded aria-label="Cards" {
            h3 { "Lineage" }
            (lineage::show(frame, view))
            h3 { "Cards" }
            @if view.cards.is_empty() { (parts::empty("The box is empty.", None)) }
            @for cards in view.cards.chunks(CHUNK) {
                div.chunk {
                    @for (card, source) in cards {
                        a class={ "piece l-" (card.layer) } href=[card.card.as_ref().map(|id| frame.link(&format!("/cards/{id}")))] {
                            span.said { @if card.is_deleted { span.soft { "deleted since" } } @else { (text::first_line(&card.text, 400)) } }
                            span.tokens { (source) @if let Some(tokens) = card.tokens { " · " (tokens) } }
                        }
                    }
                }
            }
        }
    };
    page(frame, Body { facts: Some(facts), acts: Some(acts), work: Some(work), ..Body::default() })
}

fn at(frame: &Frame, view: &BoxPage, generation: u32) -> String {
    frame.link(&format!("/boxes/{}@{generation}", view.id))
}
