//! A document under a name: a team, a recipe, or one that agents are given passages of.

use crate::{Body, Frame, page, parts, text};
use cardwire_model::Timestamp;
use maud::{Markup, html};

/// What the page shows.
#[derive(Debug, Clone)]
pub struct Document {
    /// What it is: `team`, `recipe`, `knowledge`.
    pub noun: &'static str,
    /// What is known of it: a value and its word.
    pub facts: Vec<(String, &'static str)>,
    /// What it does, in sentences.
    pub says: Vec<String>,
    /// Its parts: the heading, the text and the card of each.
    pub parts: Vec<Part>,
    /// How many parts there are.
    pub total: u64,
    /// The whole of it, as JSON.
    pub json: Option<String>,
    /// The card that says it.
    pub card: Option<String>,
    /// What to type to use it.
    pub command: String,
    /// When it last changed, where that is known.
    pub updated: Option<Timestamp>,
    /// When the page was made.
    pub now: Timestamp,
}

/// A part of a document.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its heading.
    pub title: String,
    /// What it says.
    pub text: String,
    /// The card that keeps it.
    pub card: Option<String>,
    /// Its tokens.
    pub tokens: Option<u64>,
}

/// The page.
pub fn show(frame: &Frame, view: &Document) -> Markup {
    let facts = html! {
        span { (parts::word(view.noun)) }
        @for (value, word) in &view.facts { (parts::fact(value, word)) }
        @if let Some(updated) = view.updated { span { "changed " (parts::moment(updated, view.now)) } }
    };
    let work = html! {
        section.work.padded aria-label="The document" {
            @if !view.says.is_empty() { h3 { "What it does" } ol { @for sentence in &view.says { li { (sentence) } } } }
            @for part in &view.parts {
                div.card {
                    div.row-between {
                        b { @match &part.card { Some(card) => a href=(frame.link(&format!("/cards/{card}"))) { (part.title) }, None => (part.title) } }
                        @if let Some(tokens) = part.tokens { span.soft { (text::grouped(tokens)) " tokens" } }
                    }
                    pre { (part.text) }
                }
            }
            @if view.total > view.parts.len() as u64 { p.more { (text::grouped(view.total)) " parts in all, the first " (view.parts.len()) " are shown" } }
            @if let Some(json) = &view.json { h3 { "As it was written" } div.box { pre { (json) } } }
        }
        aside.peek aria-label="Beside the document" {
            h3 { "Use it" }
            pre.box { (view.command) }
            @if let Some(card) = &view.card { h3 { (parts::word("card")) } p { (parts::id_link(card, &frame.link(&format!("/cards/{card}")))) } }
        }
    };
    page(frame, Body { facts: Some(facts), work: Some(work), ..Body::default() })
}
