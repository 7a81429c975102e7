//! A session: what is remembered, what compaction put in the place of older messages, and the checkpoints one can go back to.

use super::list::when;
use crate::{Body, Frame, page, parts, text};
use cardwire_model::Timestamp;
use maud::{Markup, html};

/// What the page shows.
#[derive(Debug, Clone)]
pub struct Session {
    /// Its name.
    pub name: String,
    /// Whose.
    pub namespace: String,
    /// The version that is shown.
    pub version: u64,
    /// The checkpoint that is shown, when it is not the last one.
    pub at: Option<String>,
    /// The last checkpoint.
    pub last: String,
    /// How many messages this version has.
    pub total: u64,
    /// Those that are shown, the newest.
    pub messages: Vec<Message>,
    /// Where older messages are.
    pub earlier: Option<String>,
    /// Results of the plan, the newest.
    pub results: Vec<Message>,
    /// What happened, the newest.
    pub timeline: Vec<Message>,
    /// The summary that stands for older messages.
    pub summary: Option<Summary>,
    /// The fields that were written: name, and value as JSON.
    pub fields: Vec<(String, String)>,
    /// The checkpoints, newest first.
    pub checkpoints: Vec<Checkpoint>,
    /// Older checkpoints follow.
    pub older: Option<String>,
    /// When the session was made.
    pub made: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
    /// When the page was made.
    pub now: Timestamp,
}

/// A message, or a card that a summary stands for.
#[derive(Debug, Clone)]
pub struct Message {
    /// The card.
    pub card: String,
    /// Who speaks.
    pub role: String,
    /// What is said.
    pub text: String,
    /// Its tokens.
    pub tokens: u64,
}

/// What stands for older messages.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Its card.
    pub card: String,
    /// What it says.
    pub text: String,
    /// Its tokens.
    pub tokens: u64,
    /// What it replaced, as far as it is shown.
    pub replaced: Vec<Message>,
    /// How many cards it replaced.
    pub replaced_total: u64,
    /// Their tokens.
    pub replaced_tokens: u64,
}

impl Summary {
    /// How many tokens of messages stand behind one of the summary; nothing where either is not known.
    pub fn ratio(&self) -> Option<f64> {
        (self.tokens > 0 && self.replaced_tokens > 0)
            .then(|| self.replaced_tokens as f64 / self.tokens as f64)
    }
}

/// What the session was like at one version.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// Its card.
    pub id: String,
    /// The version it made.
    pub version: u64,
    /// How many messages there were.
    pub messages: u64,
    /// It put a summary in the place of messages.
    pub compacted: bool,
    /// When.
    pub at: Timestamp,
}

impl Session {
    /// The address of this session with something more in its query.
    fn link(&self, frame: &Frame, more: &str) -> String {
        frame.link(&format!("/sessions/{}?namespace={}{more}", self.name, self.namespace))
    }
}

/// The page.
pub fn show(frame: &Frame, view: &Session) -> Markup {
    let facts = html! {
        span { (parts::word("session")) " of " b { (view.namespace) } }
        span { "version " b { (view.version) } @if view.at.is_some() { " of then" } }
        (parts::fact(text::plural(view.total, "message"), ""))
        @if let Some(summary) = &view.summary {
            span { b { (text::grouped(summary.replaced_total)) } " behind a summary" }
            @if let Some(ratio) = summary.ratio() { span { b { (format!("{ratio:.1} : 1")) } " tokens" } }
        }
        span { "changed " (parts::moment(view.updated, view.now)) }
    };
    let acts = html! {
        @if let Some(at) = &view.at {
            a.button href=(view.link(frame, "")) { "As it is now" }
            (restore(frame, view, at, true))
        }
    };
    let work = html! {
        section.work.padded aria-label="What is remembered" {
            @if let Some(at) = &view.at { p.note { "This is the session as it was at " (parts::word("checkpoint")) " " (parts::id(at)) "." } }
            @if let Some(summary) = &view.summary { (shown_summary(frame, summary)) }
            h3 { "Messages" }
            @if view.messages.is_empty() { p.soft { "Nothing was said yet, or all of it is behind the summary." } }
            @if let Some(earlier) = &view.earlier { p.more { (text::grouped(view.total)) " in all, the newest are shown. " a href=(earlier) rel="prev" { "Earlier messages" } } }
            (said(frame, &view.messages))
            @for (heading, cards) in [("Results", &view.results), ("What happened", &view.timeline)] {
                @if !cards.is_empty() { h3 { (heading) } (said(frame, cards)) }
            }
            @if !view.fields.is_empty() {
                h3 { "Fields" }
                table.plain { tbody { @for (name, value) in &view.fields { tr { td { (name) } td { pre { (value) } } } } } }
            }
        }
        aside.peek aria-label="Beside the session" { (aside(frame, view)) }
    };
    page(frame, Body { facts: Some(facts), acts: Some(acts), work: Some(work), ..Body::default() })
}

fn said(frame: &Frame, messages: &[Message]) -> Markup {
    html! {
        div.message {
            @for message in messages {
                a.piece.l-checkpoint href=(frame.link(&format!("/cards/{}", message.card))) {
                    span.said { b { (message.role) } " " (text::first_line(&message.text, 600)) }
                    span.tokens { (message.tokens) }
                }
            }
        }
    }
}

fn shown_summary(frame: &Frame, summary: &Summary) -> Markup {
    html! {
        h3 { "Summary, put there by " (parts::word("compaction")) }
        a.piece.l-compression href=(frame.link(&format!("/cards/{}", summary.card))) {
            span.said { (summary.text) }
            span.tokens { (summary.tokens) }
        }
        details {
            summary {
                "It stands for " (text::plural(summary.replaced_total, "message")) ", "
                (text::grouped(summary.replaced_tokens)) " tokens"
                @if let Some(ratio) = summary.ratio() { ": " (format!("{ratio:.1}")) " for one" }
            }
            (said(frame, &summary.replaced))
            @if summary.replaced_total > summary.replaced.len() as u64 {
                p.more { (text::grouped(summary.replaced_total)) " in all, the first " (summary.replaced.len()) " are shown. "
                    a href={ (frame.link(&format!("/cards/{}", summary.card))) } { "The card of the summary" } }
            }
        }
    }
}

fn restore(frame: &Frame, view: &Session, checkpoint: &str, is_primary: bool) -> Markup {
    html! {
        @if frame.may_write {
            form method="post" action=(frame.link(&format!("/sessions/{}/restore", view.name))) {
                input type="hidden" name="namespace" value=(view.namespace);
                input type="hidden" name="checkpoint" value=(checkpoint);
                button.primary[is_primary] { "Restore" }
            }
        }
    }
}

fn aside(frame: &Frame, view: &Session) -> Markup {
    html! {
        h3 { "Checkpoints" }
        table.plain {
            thead { tr { th scope="col" { "Version" } th.num scope="col" { "Messages" } th scope="col" { "When" } th scope="col" { span.hidden { "Restore" } } } }
            tbody { @for checkpoint in &view.checkpoints {
                @let is_shown = view.at.as_ref().unwrap_or(&view.last) == &checkpoint.id;
                tr.chosen[is_shown] {
                    td { a href=(view.link(frame, &format!("&checkpoint={}", checkpoint.id))) { (checkpoint.version) }
                        @if checkpoint.compacted { " compacted" } }
                    td.num { (checkpoint.messages) }
                    td { (when(Some(checkpoint.at), view.now)) }
                    td { @if checkpoint.id != view.last { (restore(frame, view, &checkpoint.id, false)) } @else { "last" } }
                }
            } }
        }
        @if let Some(older) = &view.older { p { "More follow. " a href=(older) { "Older checkpoints" } } }
        @if !frame.may_write { p.soft { "This session of yours only reads. " a href="/inspect/session" { "Let it write" } " to restore a checkpoint." } }
        h3 { "Made" }
        p { (parts::moment(view.made, view.now)) }
    }
}
