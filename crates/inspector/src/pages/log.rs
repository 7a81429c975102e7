//! The event log and the audit chain, row by row.

use crate::{Body, Frame, page, parts, text};
use cardwire_model::Timestamp;
use maud::{Markup, html};

/// What a page of a log shows.
#[derive(Debug, Clone)]
pub struct Log {
    /// What one row is called.
    pub noun: &'static str,
    /// The rows.
    pub rows: Vec<Line>,
    /// Where the next page is.
    pub next: Option<String>,
    /// What is known of the whole log.
    pub fact: Option<String>,
    /// What can be looked into: the word on the button, and where it leads.
    pub act: Option<(&'static str, String)>,
    /// What came of that: whether it is well, and a sentence.
    pub verdict: Option<(bool, String)>,
    /// When the page was made.
    pub now: Timestamp,
}

/// A row of a log.
#[derive(Debug, Clone)]
pub struct Line {
    /// Its position; none where it has none yet.
    pub position: Option<u64>,
    /// When.
    pub at: Timestamp,
    /// What kind of thing happened.
    pub kind: String,
    /// To what, and where that is.
    pub subject: (String, Option<String>),
    /// The details.
    pub details: String,
}

/// The page.
pub fn show(frame: &Frame, view: &Log) -> Markup {
    let facts = html! {
        (parts::fact(text::plural(view.rows.len() as u64, view.noun), "shown"))
        @if let Some(fact) = &view.fact { span { (fact) } }
        @if frame.is_live { span data-follow { "following" } }
    };
    let work = html! {
        section.work aria-label="The log" {
            @if let Some((is_well, told)) = &view.verdict { p.padded { span.note.(if *is_well { "good" } else { "bad" }) { (told) } } }
            @if view.rows.is_empty() { (parts::empty("Nothing has happened yet.", None)) } @else {
                table.list data-list {
                    thead { tr { th scope="col" { "What" } th.num scope="col" { "Position" } th scope="col" { "Subject" } th scope="col" { "Details" } th scope="col" { "When" } } }
                    tbody { @for row in &view.rows { tr data-key=[row.position] {
                        td { (row.kind) }
                        td.num { @match row.position { Some(position) => (text::grouped(position)), None => (text::UNKNOWN) } }
                        td { @match &row.subject { (id, Some(href)) => (parts::id_link(id, href)), (id, None) => (parts::id(id)) } }
                        td.soft { (row.details) }
                        td { (parts::moment(row.at, view.now)) }
                    } } }
                }
            }
            @if let Some(next) = &view.next { p.more { a href=(next) rel="next" { "Go on" } } }
        }
    };
    let acts = view.act.as_ref().map(|(word, href)| html! { a.button href=(href) { (word) } });
    page(frame, Body { facts: Some(facts), acts, work: Some(work), ..Body::default() })
}
