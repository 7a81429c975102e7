//! A list of things of one kind: sessions, batches, packages, teams, recipes, documents, agents. What a row says is the view's.

use crate::{Body, Frame, page, parts, text};
use cardwire_model::Timestamp;
use maud::{Markup, html};

/// What the page shows.
#[derive(Debug, Clone)]
pub struct List {
    /// What one row is called; a word of the vocabulary explains itself.
    pub noun: &'static str,
    /// What stands above the columns. Those of numbers are told by their cells.
    pub columns: Vec<&'static str>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
    /// Where the rest is.
    pub next: Option<String>,
    /// Why there is nothing, and the command that changes it.
    pub empty: (&'static str, String),
    /// A form above the list that looks for something: what it is called, and what was looked for.
    pub search: Option<(&'static str, String)>,
    /// When the page was made.
    pub now: Timestamp,
}

/// What a cell says.
#[derive(Debug, Clone)]
pub enum Cell {
    /// What the row is about: its name, where it is, and a line below.
    Title {
        /// What it is called.
        name: String,
        /// Where it is.
        href: Option<String>,
        /// What else is to be said of it.
        line: String,
    },
    /// Some text.
    Text(String),
    /// A number, where it is known.
    Number(Option<u64>),
    /// A state.
    State(String),
    /// A moment, where there is one.
    At(Option<Timestamp>),
    /// An id that leads somewhere, where there is one.
    Id(Option<(String, String)>),
}

/// The page.
pub fn show(frame: &Frame, view: &List) -> Markup {
    let facts = html! {
        span { b { (view.rows.len()) } " " (parts::word(view.noun)) @if view.rows.len() != 1 { (plural_end(view.noun)) }
            @if view.next.is_some() { " shown, more follow" } }
        @if frame.is_live { span data-follow { "following" } }
    };
    let work = html! {
        section.work aria-label=(view.noun) {
            @if let Some((label, wanted)) = &view.search {
                form.bar-form role="search" {
                    label { span.hidden { (label) } input type="search" name="q" value=(wanted) maxlength="256" placeholder=(label); }
                    button { "Search" }
                }
            }
            (table(view))
            @if let Some(next) = &view.next { p.more { a href=(next) rel="next" { "Go on" } } }
        }
    };
    page(frame, Body { facts: Some(facts), work: Some(work), ..Body::default() })
}

fn plural_end(noun: &str) -> &'static str {
    match noun {
        "batch" | "box" => "es",
        _ => "s",
    }
}

fn table(view: &List) -> Markup {
    html! {
        @if view.rows.is_empty() { (parts::empty(view.empty.0, Some(view.empty.1.as_str()).filter(|command| !command.is_empty()))) } @else {
            table.list data-list {
                thead { tr { @for (place, name) in view.columns.iter().enumerate() { (heading(view, place, name)) } } }
                tbody { @for row in &view.rows { tr { @for cell in row { (shown(cell, view.now)) } } } }
            }
        }
    }
}

fn heading(view: &List, place: usize, name: &str) -> Markup {
    let is_number = matches!(view.rows.first().and_then(|row| row.get(place)), Some(Cell::Number(_)));
    html! { @if is_number { th.num scope="col" { (name) } } @else { th scope="col" { (parts::word(name)) } } }
}

fn shown(cell: &Cell, now: Timestamp) -> Markup {
    html! {
        @match cell {
            Cell::Title { name, href, line } => td { a.title href=[href.as_ref()] { (name) } span.soft { (line) } },
            Cell::Text(text) => td { (text) },
            Cell::Number(number) => td.num { (known(*number)) },
            Cell::State(status) => td { (parts::state(status)) },
            Cell::At(at) => td { (when(*at, now)) },
            Cell::Id(Some((id, href))) => td { (parts::id_link(id, href)) },
            Cell::Id(None) => td { (text::UNKNOWN) },
        }
    }
}

fn known(number: Option<u64>) -> String {
    number.map_or_else(|| text::UNKNOWN.to_owned(), text::grouped)
}

/// A moment, where there is one.
pub(super) fn when(at: Option<Timestamp>, now: Timestamp) -> Markup {
    match at {
        Some(at) => parts::moment(at, now),
        None => html! { (text::UNKNOWN) },
    }
}
