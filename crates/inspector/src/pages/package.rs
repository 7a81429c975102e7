//! A handoff package: its index, its sizes, and what a reader loads of it under a token budget.

use super::list::when;
use crate::{Body, Frame, page, parts, text};
use cardwire_model::Timestamp;
use maud::{Markup, html};

/// What the page shows.
#[derive(Debug, Clone)]
pub struct Package {
    /// Its id.
    pub id: String,
    /// What kind of package.
    pub kind: String,
    /// The card that holds it.
    pub card: String,
    /// The box to hand it over by.
    pub box_id: String,
    /// Tokens of the package itself.
    pub tokens: u64,
    /// What looks wrong with it.
    pub warnings: Vec<String>,
    /// What it refers to, as far as it is shown.
    pub index: Vec<Entry>,
    /// How many entries there are.
    pub index_total: u64,
    /// The package, as JSON.
    pub document: String,
    /// How deep the load goes.
    pub mode: String,
    /// The budget of the load.
    pub budget: u64,
    /// What was loaded, or why nothing could be.
    pub load: Result<Load, String>,
    /// When it was accepted.
    pub at: Timestamp,
    /// When the page was made.
    pub now: Timestamp,
}

/// An entry of the index.
#[derive(Debug, Clone)]
pub struct Entry {
    /// What it is called.
    pub name: String,
    /// What is said of it.
    pub line: String,
    /// Its files.
    pub paths: Vec<String>,
}

/// What is loaded under a budget.
#[derive(Debug, Clone)]
pub struct Load {
    /// Tokens that were used.
    pub used: u64,
    /// The report alone is over the budget.
    pub over: bool,
    /// The parts, in the order in which they are loaded, and then those that are not.
    pub parts: Vec<Part>,
    /// How many parts there are.
    pub total: u64,
}

/// A part of a package.
#[derive(Debug, Clone)]
pub struct Part {
    /// Of which sample; the report has none.
    pub sample: Option<String>,
    /// Which part.
    pub name: String,
    /// In which file.
    pub path: String,
    /// Its tokens, where it was read.
    pub tokens: Option<u64>,
    /// What became of it: `loaded`, `shortened`, `no room`, `gone`, `not readable`, `changed since`.
    pub state: &'static str,
}

/// Budgets that are one click away.
const BUDGETS: [u64; 5] = [1_000, 5_000, 10_000, 40_000, 100_000];

/// How deep a load goes, by name.
const MODES: [(&str, &str); 3] = [
    ("report_only", "the report"),
    ("typical", "the report and typical cases"),
    ("full", "every failed case"),
];

/// The page.
pub fn show(frame: &Frame, view: &Package) -> Markup {
    let facts = html! {
        span { (parts::word("package")) " of kind " b { (view.kind) } }
        (parts::fact(text::grouped(view.index_total), "entries"))
        (parts::fact(text::grouped(view.tokens), "tokens of index"))
        @if let Ok(load) = &view.load { span { b { (text::grouped(load.used)) } " of " b { (text::grouped(view.budget)) } " tokens used" } }
        @if view.warnings.is_empty() { span.state.good { "no warnings" } } @else { span.state.warn { (text::plural(view.warnings.len() as u64, "warning")) } }
        (when(Some(view.at), view.now))
    };
    let acts = html! { a.button href=(frame.link(&format!("/boxes/{}", view.box_id))) { "Its box" } };
    let work = html! {
        section.work.padded aria-label="The package" {
            h3 { "Loaded under a " (parts::word("token budget")) }
            form.bar-form {
                label { "Tokens " input type="number" name="budget" min="1" max="1000000" value=(view.budget); }
                label { "How deep " select name="mode" {
                    @for (name, what) in MODES { option value=(name) selected[name == view.mode] { (what) } }
                } }
                button { "Load" }
            }
            p.soft { @for budget in BUDGETS { a href={ (frame.path) "?mode=" (view.mode) "&budget=" (budget) } { (text::grouped(budget)) } " " } }
            @match &view.load {
                Ok(load) => (loaded(load)),
                Err(why) => p.note.bad { "Nothing could be loaded: " (why) },
            }
            h3 { "Index" }
            @if view.index.is_empty() { p.soft { "The package has no index." } }
            @else { (index(view)) }
            details { summary { "The whole package" } div.box { pre { (view.document) } } }
        }
        aside.peek aria-label="Beside the package" {
            h3 { "Warnings" }
            @if view.warnings.is_empty() { p.soft { "Nothing looks wrong with it. Files are looked at only when it is loaded." } }
            @for warning in &view.warnings { p.note { (warning) } }
            h3 { (parts::word("card")) }
            p { (parts::id_link(&view.card, &frame.link(&format!("/cards/{}", view.card)))) }
            h3 { (parts::word("box")) }
            p { (parts::id_link(&view.box_id, &frame.link(&format!("/boxes/{}", view.box_id)))) " holds that card alone, to hand it over by" }
            h3 { "Load it elsewhere" }
            pre.box { "cardwire handoff load " (view.id) " --mode " (view.mode) " --budget " (view.budget) }
        }
    };
    page(frame, Body { facts: Some(facts), acts: Some(acts), work: Some(work), ..Body::default() })
}

fn loaded(load: &Load) -> Markup {
    html! {
        @if load.over { p.note { "The report alone is over the budget." } }
        @if load.parts.is_empty() { p.soft { "There is nothing to load." } } @else {
            table data-list {
                thead { tr { th scope="col" { "Part" } th scope="col" { "Of" } th.num scope="col" { "Tokens" } th scope="col" { "What became of it" } th scope="col" { "File" } } }
                tbody { @for part in &load.parts { tr {
                    td { (part.name) }
                    td { (part.sample.as_deref().unwrap_or("all")) }
                    td.num { @match part.tokens { Some(tokens) => (text::grouped(tokens)), None => (text::UNKNOWN) } }
                    td { @if part.state == "loaded" { span.good-text { (part.state) } } @else { span.warn-text { (part.state) } } }
                    td { code { (part.path) } }
                } } }
            }
        }
        @if load.total > load.parts.len() as u64 { p.more { (text::grouped(load.total)) " parts in all, " (load.parts.len()) " shown" } }
    }
}

fn index(view: &Package) -> Markup {
    html! {
        table data-list {
            thead { tr { th scope="col" { "Entry" } th scope="col" { "What is said of it" } th scope="col" { "Files" } } }
            tbody { @for entry in &view.index { tr {
                td { b { (entry.name) } } td { (entry.line) } td { @for path in &entry.paths { code { (path) } br; } }
            } } }
        }
        @if view.index_total > view.index.len() as u64 {
            p.more { (text::grouped(view.index_total)) " entries in all, " (view.index.len()) " shown. The whole package stands below." }
        }
    }
}
