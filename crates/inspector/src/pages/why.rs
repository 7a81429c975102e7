//! Why a card is in a call, or why it is not.

use crate::{Body, Frame, page, parts, text};
use maud::{Markup, html};

/// What the page shows.
#[derive(Debug, Clone)]
pub struct Why {
    /// The call.
    pub call: String,
    /// Who made it.
    pub agent: String,
    /// The card.
    pub card: String,
    /// What the card says.
    pub says: String,
    /// It was sent.
    pub is_sent: bool,
    /// The answer in one sentence.
    pub sentence: String,
    /// The rule, by its name.
    pub rule: String,
    /// What it costs, or would have cost, in tokens.
    pub tokens: u64,
    /// What to do about it.
    pub advice: Option<String>,
}

/// The page.
pub fn show(frame: &Frame, view: &Why) -> Markup {
    let facts = html! {
        @if view.is_sent { span.state.good { "sent" } } @else { span.state.warn { "not sent" } }
        (parts::fact(text::grouped(view.tokens), "tokens"))
        span { "rule " code { (view.rule) } }
    };
    let work = html! {
        section.work.padded aria-label="The answer" {
            p.note.(if view.is_sent { "good" } else { "warn" }) { b { (view.sentence) } }
            @if let Some(advice) = &view.advice { h3 { "What to do" } p { (advice) } }
            h3 { "The card" }
            div.box { pre { (view.says) } }
            p {
                a.button href=(frame.link(&format!("/calls/{}?sel={}", view.call, view.card))) { "The call" } " "
                a.button href=(frame.link(&format!("/cards/{}", view.card))) { "The card" }
            }
        }
    };
    page(frame, Body { facts: Some(facts), work: Some(work), ..Body::default() })
}
