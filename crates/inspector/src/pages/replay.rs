//! A turn that was run again: whether it comes to the same, and what differs.

use crate::{Body, Frame, page, parts, text};
use maud::{Markup, html};

/// What the page shows.
#[derive(Debug, Clone)]
pub struct Replay {
    /// The turn.
    pub turn: String,
    /// Whose.
    pub agent: String,
    /// What running it again came to, or why it cannot be.
    pub outcome: Result<Replayed, String>,
}

/// What running a turn again came to.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// Nothing differs.
    pub is_same: bool,
    /// Its calls, and whether each was rendered again with the hash it had.
    pub calls: Vec<(String, bool)>,
    /// Cards that were compared.
    pub cards: u64,
    /// What differs, in words.
    pub differences: Vec<String>,
}

/// The page.
pub fn show(frame: &Frame, view: &Replay) -> Markup {
    let facts = html! {
        span { b { (text::agent(&view.agent)) } }
        @match &view.outcome {
            Ok(replayed) => {
                @if replayed.is_same { span.state.good { "the same" } } @else { span.state.bad { "not the same" } }
                (parts::fact(text::plural(replayed.calls.len() as u64, "call"), "rendered again"))
                (parts::fact(text::plural(replayed.cards, "card"), "compared"))
            },
            Err(_) => span.state.warn { "cannot be run again" },
        }
    };
    let work = html! {
        section.work.padded aria-label="What came of it" {
            p.soft { "The agent's own code ran with the answers that its model and its tools gave then. Nothing was called, and nothing was written." }
            @match &view.outcome {
                Ok(replayed) => (told(frame, replayed)),
                Err(why) => {
                    p.note.warn { (why) }
                    p { "Only a turn that has ended, whose calls were composed by Cardwire and answered, and whose cards are all there, is run again." }
                },
            }
        }
    };
    page(frame, Body { facts: Some(facts), work: Some(work), ..Body::default() })
}

fn told(frame: &Frame, replayed: &Replayed) -> Markup {
    html! {
        h3 { "What differs" }
        @if replayed.differences.is_empty() { p.good-text { "✓ Nothing: the same cards, the same end, the same bytes." } }
        @for difference in &replayed.differences { p.note.bad { (difference) } }
        h3 { "Calls" }
        @if replayed.calls.is_empty() { p.soft { "It called no model." } }
        table.plain { tbody {
            @for (call, is_same) in &replayed.calls { tr {
                td { (parts::id_link(call, &frame.link(&format!("/calls/{call}")))) }
                td { @if *is_same { span.good-text { "✓ the same bytes" } } @else { span.bad-text { "other bytes" } } }
            } }
        } }
    }
}
