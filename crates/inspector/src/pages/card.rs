//! A card: what it says, where it comes from, who holds it and which calls sent it.

use super::call::Piece;
use crate::{
    Body, Frame, page,
    parts::{self, Spent},
    text,
};
use cardwire_model::Timestamp;
use maud::{Markup, html};

/// What the page shows.
#[derive(Debug, Clone)]
pub struct Card {
    /// Its id.
    pub id: String,
    /// What it is.
    pub kind: String,
    /// How a model sees it.
    pub role: String,
    /// Who said it.
    pub author: Option<String>,
    /// Who brought it in.
    pub origin: String,
    /// What it says; none where it was deleted.
    pub text: Option<String>,
    /// Its tool calls, as JSON.
    pub tool_calls: Option<String>,
    /// Everything else, as JSON.
    pub metadata: String,
    /// SHA-256 of its content.
    pub hash: String,
    /// Estimated tokens.
    pub tokens: u64,
    /// When it was written.
    pub at: Timestamp,
    /// When it was deleted.
    pub deleted: Option<Timestamp>,
    /// Something in it looks like a credential.
    pub is_suspect: bool,
    /// What it stands for, if it is a summary: how many cards, their tokens, and the first of them.
    pub replaced: Option<Replaced>,
    /// The boxes that hold it: id, generation, and the box it is inherited from.
    pub boxes: Vec<(String, u32, Option<String>)>,
    /// Not all boxes were looked at.
    pub boxes_cut: bool,
    /// The calls that sent it.
    pub calls: Vec<Sent>,
    /// There may be more calls.
    pub calls_cut: bool,
    /// When the page was made.
    pub now: Timestamp,
}

/// What a summary stands for.
#[derive(Debug, Clone)]
pub struct Replaced {
    /// How many cards.
    pub cards: u64,
    /// Their tokens.
    pub tokens: u64,
    /// The first of them.
    pub shown: Vec<Piece>,
}

/// A call that sent a card.
#[derive(Debug, Clone)]
pub struct Sent {
    /// The call.
    pub call: String,
    /// Who made it.
    pub agent: String,
    /// Of which layer the card was.
    pub layer: String,
    /// The card's part of what the call has cost.
    pub micros: Option<u64>,
    /// When.
    pub at: Timestamp,
    /// What the whole call has cost.
    pub spent: Option<Spent>,
}

/// The page.
pub fn show(frame: &Frame, view: &Card) -> Markup {
    let facts = html! {
        @match view.deleted {
            Some(at) => { span.state.bad { "deleted" } (parts::moment(at, view.now)) },
            None => span { b { (view.kind) } },
        }
        (parts::fact(text::grouped(view.tokens), "tokens"))
        span { "seen as " b { (view.role) } }
        span { "brought in by " b { (view.origin) } }
        @if let Some(author) = &view.author { span { "written by " b { (text::agent(author)) } } }
        (parts::moment(view.at, view.now))
        @if view.is_suspect { span.warn-text { "something in it looks like a credential" } }
    };
    let work = html! {
        section.work.padded aria-label="The card" {
            @match &view.text {
                Some(text) => div.box { pre { (text) } },
                None => p.note.bad { "Its content is not shown: the card was deleted. Its id, hash and tokens remain." },
            }
            @if let Some(calls) = &view.tool_calls { h3 { "Tool calls" } div.box { pre { (calls) } } }
            @if let Some(replaced) = &view.replaced { (opened(frame, view, replaced)) }
            h3 { "Metadata" }
            div.box { pre { (view.metadata) } }
        }
        aside.peek aria-label="Where the card is used" {
            h3 { "Boxes that hold it" }
            @if view.boxes.is_empty() { p.soft { "None." } }
            @for (id, generation, via) in &view.boxes {
                p { (parts::id_link(id, &frame.link(&format!("/boxes/{id}@{generation}"))))
                    @if let Some(via) = via { span.soft { " inherited from " (parts::id(via)) } } }
            }
            @if view.boxes_cut { p.soft { "Not all boxes were looked at." } }
            h3 { "Calls that sent it" }
            @if view.calls.is_empty() { p.soft { "None." } }
            table.plain { tbody { @for sent in &view.calls { tr {
                td { a href=(frame.link(&format!("/calls/{}?sel={}", sent.call, view.id))) { (text::agent(&sent.agent)) } " " span.soft { (parts::layer_name(&sent.layer)) } }
                td.num { (text::money(sent.micros)) }
            } } } }
            @if view.calls_cut { p.soft { "There may be more calls." } }
            h3 { "Proof" }
            p { "sha256 " (parts::id(&view.hash)) }
            p { "card " (parts::id(&view.id)) }
        }
    };
    page(frame, Body { facts: Some(facts), work: Some(work), ..Body::default() })
}

/// A summary, opened into the cards that it stands for.
fn opened(frame: &Frame, view: &Card, replaced: &Replaced) -> Markup {
    let ratio = match (replaced.tokens * 10).checked_div(view.tokens) {
        Some(tenths) => format!("{}.{} to 1", tenths / 10, tenths % 10),
        None => text::UNKNOWN.to_owned(),
    };
    html! {
        h3 { "What it stands for" }
        p.soft {
            (text::plural(replaced.cards, "card")) " of " (text::grouped(replaced.tokens)) " tokens in all, in "
            (text::grouped(view.tokens)) ": " (ratio) "."
        }
        @for piece in &replaced.shown {
            a class={ "piece l-" (piece.layer) } href=[piece.card.as_ref().map(|card| frame.link(&format!("/cards/{card}")))] {
                span.said { (text::first_line(&piece.text, 400)) }
                @if let Some(tokens) = piece.tokens { span.tokens { (tokens) } }
            }
        }
        @if replaced.cards > replaced.shown.len() as u64 { p.soft { "The first " (replaced.shown.len()) " of them are shown." } }
    }
}
