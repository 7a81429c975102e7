//! Two calls or turns side by side: what both were shown, and what only one of them was.

use crate::{Body, Frame, page, parts, text};
use maud::{Markup, html};

/// What the page shows.
#[derive(Debug, Clone)]
pub struct Diff {
    /// The left side.
    pub left: Side,
    /// The right side.
    pub right: Side,
    /// What was shown, in order.
    pub rows: Vec<Row>,
    /// Where the sides are exchanged.
    pub swapped: String,
}

/// One side.
#[derive(Debug, Clone)]
pub struct Side {
    /// What it is called.
    pub name: String,
    /// Where it is.
    pub href: String,
    /// Tokens in all.
    pub tokens: u64,
}

/// A card, and which sides were shown it.
#[derive(Debug, Clone)]
pub struct Row {
    /// The card.
    pub card: String,
    /// Of which layer.
    pub layer: String,
    /// What it says.
    pub text: String,
    /// Its tokens.
    pub tokens: u64,
    /// Whose it is.
    pub shown: Shown,
    /// Where it is told why the other side has not got it.
    pub why: Option<String>,
}

/// Which sides were shown a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Both.
    Both,
    /// The left one only.
    Left,
    /// The right one only.
    Right,
}

/// The page.
pub fn show(frame: &Frame, view: &Diff) -> Markup {
    let count = |shown: Shown| view.rows.iter().filter(|row| row.shown == shown).count() as u64;
    let delta = view.right.tokens as i64 - view.left.tokens as i64;
    let facts = html! {
        (parts::fact(text::plural(count(Shown::Both), "card"), "on both sides"))
        (parts::fact(count(Shown::Left), "only on the left"))
        (parts::fact(count(Shown::Right), "only on the right"))
        span { b { (text::grouped(view.left.tokens)) } " → " b { (text::grouped(view.right.tokens)) } " tokens (" (format!("{delta:+}")) ")" }
    };
    let acts = html! { a.button href=(view.swapped) { "Swap sides" } };
    let work = html! {
        section.work aria-label="Both sides" {
            div.sides {
                h3 { a href=(view.left.href) { (view.left.name) } }
                span {}
                h3 { a href=(view.right.href) { (view.right.name) } }
                @for row in &view.rows { (row_of(frame, row)) }
            }
            @if view.rows.is_empty() { (parts::empty("Neither side was shown anything.", None)) }
        }
    };
    page(frame, Body { facts: Some(facts), acts: Some(acts), work: Some(work), ..Body::default() })
}

/// What every agent has of its own, and no handover passes on (CC-03).
fn is_private(layer: &str) -> bool {
    matches!(layer, "system_prompt" | "tools" | "framework")
}

fn row_of(frame: &Frame, row: &Row) -> Markup {
    let card = html! {
        div class={ "side l-" (row.layer) } {
            div.row-between { a href=(frame.link(&format!("/cards/{}", row.card))) { (text::first_line(&row.text, 160)) } span.soft { (row.tokens) } }
            span.soft { (parts::layer_name(&row.layer)) }
        }
    };
    let absent = html! {
        div.side.absent { "Not shown" @if let Some(why) = &row.why { " " a href=(why) { "why?" } } }
    };
    html! {
        @match row.shown {
            Shown::Both => { (card) span.arrow { "same card" } (card) },
            Shown::Left if is_private(&row.layer) => { (card) span.arrow.own { "its own ○" } (absent) },
            Shown::Left => { (card) span.arrow.withheld { "withheld ✕" } (absent) },
            Shown::Right => { (absent) span.arrow.own { "○ its own" } (card) },
        }
    }
}
