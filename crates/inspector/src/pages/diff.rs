//! Two calls or turns side by side: what both were shown, and what only one of them was.

use crate::{Body, Frame, page, parts, text, words};
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
    /// What it has cost, where that is known.
    pub micros: Option<u64>,
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
    /// Why the other side has not got it, for the twin in Markdown.
    pub because: Option<String>,
    /// What stands in its place on the right, if that is the same thing said in other words.
    pub now: Option<Box<Row>>,
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
    /// Both, in other words.
    Changed,
}

/// Puts a block of one side beside that of the other where they are one thing, said anew. Messages are never: each says something
/// of its own.
pub fn paired(rows: Vec<Row>) -> Vec<Row> {
    let mut rows: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
    for place in 0..rows.len() {
        let is_left = |row: &&Row| row.shown == Shown::Left && is_of_blocks(&row.layer);
        let Some(left) = rows[place].as_ref().filter(is_left) else { continue };
        let says_it = |row: &Row| {
            row.shown == Shown::Right && row.layer == left.layer && words::are_alike(&left.text, &row.text)
        };
        let Some(other) = rows.iter().position(|row| row.as_ref().is_some_and(says_it)) else { continue };
        let now = rows[other].take().map(Box::new);
        if let Some(row) = &mut rows[place] {
            (row.shown, row.now) = (Shown::Changed, now);
        }
    }
    rows.into_iter().flatten().collect()
}

/// The page.
pub fn show(frame: &Frame, view: &Diff) -> Markup {
    let count = |shown: Shown| view.rows.iter().filter(|row| row.shown == shown).count() as u64;
    let delta = view.right.tokens as i64 - view.left.tokens as i64;
    let facts = html! {
        (parts::fact(text::plural(count(Shown::Both), "card"), "on both sides"))
        (parts::fact(count(Shown::Left), "only on the left"))
        (parts::fact(count(Shown::Right), "only on the right"))
        @if count(Shown::Changed) > 0 { (parts::fact(count(Shown::Changed), "in other words")) }
        (delta_cost(view))
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

/// Layers that are blocks, made anew for each call.
fn is_of_blocks(layer: &str) -> bool {
    matches!(
        layer,
        "system_prompt"
            | "tools"
            | "framework"
            | "experience"
            | "knowledge"
            | "todo"
            | "compression"
            | "extra"
    )
}

/// By how much the right side was dearer.
fn delta_cost(view: &Diff) -> Markup {
    let delta = view.left.micros.zip(view.right.micros).map(|(left, right)| right as i64 - left as i64);
    html! {
        span { b { (text::money(view.left.micros)) } " → " b { (text::money(view.right.micros)) }
            @if let Some(delta) = delta { " (" (if delta < 0 { "−" } else { "+" }) (text::money(Some(delta.unsigned_abs()))) ")" } }
    }
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
            Shown::Changed => {
                (card) span.arrow { "in other words" }
                @match &row.now { Some(now) => (changed(frame, row, now)), None => (absent) }
            },
            Shown::Left if is_private(&row.layer) => { (card) span.arrow.own { "its own ○" } (absent) },
            Shown::Left => { (card) span.arrow.withheld { "withheld ✕" } (absent) },
            Shown::Right => { (absent) span.arrow.own { "○ its own" } (card) },
        }
    }
}

/// The right one of two that are one thing in other words, with what changed.
fn changed(frame: &Frame, was: &Row, now: &Row) -> Markup {
    html! {
        div class={ "side l-" (now.layer) } {
            div.row-between { a href=(frame.link(&format!("/cards/{}", now.card))) { (parts::layer_name(&now.layer)) } span.soft { (now.tokens) } }
            p.said { (words::compared(&text::cut(&was.text, WORDS), &text::cut(&now.text, WORDS))) }
        }
    }
}

/// How much of a text is compared.
const WORDS: usize = 4_000;
