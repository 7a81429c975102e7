//! A turn: what its agent was given, what it did, and what it delivered.

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
pub struct Turn {
    /// Its id.
    pub id: String,
    /// Whose.
    pub agent: String,
    /// How it stands.
    pub status: String,
    /// Its epoch.
    pub epoch: Option<u64>,
    /// Why it ended so.
    pub error: Option<String>,
    /// The turn that sent it, and whose that is.
    pub parent: Option<(String, String)>,
    /// The root of its run.
    pub run: String,
    /// Who works on it.
    pub worker: Option<String>,
    /// The boxes: their names on this page, and their ids.
    pub boxes: Vec<(&'static str, String)>,
    /// The cards it was given.
    pub given: Vec<Piece>,
    /// The cards it wrote.
    pub written: Vec<Piece>,
    /// Its steps.
    pub steps: Vec<Step>,
    /// What people are asked.
    pub questions: Vec<super::runs::Question>,
    /// What it has cost.
    pub spent: Spent,
    /// What it belongs to: what that is called, and where it is below the project.
    pub belongs: Vec<(String, String)>,
    /// When it was accepted.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// When the page was made.
    pub now: Timestamp,
}

/// A step of a turn.
#[derive(Debug, Clone)]
pub struct Step {
    /// What the worker calls it.
    pub phase: String,
    /// How it ended.
    pub status: Option<String>,
    /// The call of a model that it made.
    pub call: Option<String>,
    /// At which epoch.
    pub epoch: u64,
    /// What it has cost.
    pub spent: Option<Spent>,
    /// How long it took.
    pub took: i64,
    /// When it began.
    pub at: Timestamp,
}

/// The page.
pub fn show(frame: &Frame, view: &Turn) -> Markup {
    let took = view.ended.unwrap_or(view.now).micros() - view.began.micros();
    let facts = html! {
        (parts::state(&view.status))
        @match view.epoch {
            Some(epoch) => span { (parts::word("epoch")) " " b { (epoch) } },
            None => span { "not leased yet" },
        }
        (parts::spent_facts(&view.spent))
        (parts::fact(text::duration(took), ""))
        (parts::moment(view.began, view.now))
        @if let Some(worker) = &view.worker { span { "worker " b { (worker) } } }
    };
    let acts = html! {
        a.button href=(frame.link(&format!("/handovers/{}", view.id))) { "What it was handed" }
        a.button href=(frame.link(&format!("/runs/{}?sel={}", view.run, view.id))) { "In its run" }
        @if view.ended.is_none() && frame.may_write {
            form method="post" action=(frame.link(&format!("/turns/{}/stop", view.id))) { button { "Stop" } }
        }
    };
    let work = html! {
        section.work.padded aria-label="The turn" {
            @if let Some(error) = &view.error { p.note.bad { (error) } }
            (pieces(frame, "Given", &view.given, "It was given no cards."))
            h3 { "Did" }
            @if view.steps.is_empty() { p.soft { "No steps yet." } } @else { (steps(frame, view)) }
            (pieces(frame, "Wrote", &view.written, "It has written nothing."))
        }
        aside.peek aria-label="Beside the turn" {
            @if let Some((turn, agent)) = &view.parent {
                h3 { "Sent by" }
                p { a href=(frame.link(&format!("/turns/{turn}"))) { (text::agent(agent)) } " · "
                    a href=(frame.link(&format!("/diff?l={turn}&r={}", view.id))) { "what each of them saw" } }
            }
            @if !view.belongs.is_empty() {
                h3 { "Belongs to" }
                @for (name, place) in &view.belongs { p { a href=(frame.link(place)) { (name) } } }
            }
            h3 { "Boxes" }
            table.plain {
                tbody { @for (name, id) in &view.boxes { tr { td { (name) } td { (parts::id_link(id, &frame.link(&format!("/boxes/{id}")))) } } } }
            }
            @if !view.questions.is_empty() {
                h3 { "Waits for a person" }
                @for question in &view.questions { div.card { pre { (question.text) } } }
            }
            h3 { "Turn" }
            p { (parts::id(&view.id)) }
        }
    };
    page(frame, Body { facts: Some(facts), acts: Some(acts), work: Some(work), ..Body::default() })
}

fn pieces(frame: &Frame, heading: &str, pieces: &[Piece], none: &str) -> Markup {
    html! {
        h3 { (heading) }
        @if pieces.is_empty() { p.soft { (none) } }
        div.message {
            @for piece in pieces {
                a class={ "piece l-" (piece.layer) } href=[piece.card.as_ref().map(|card| frame.link(&format!("/cards/{card}")))] {
                    span.said { @if piece.is_deleted { span.soft { "deleted since" } } @else { (piece.text) } }
                    @if let Some(tokens) = piece.tokens { span.tokens { (tokens) } }
                }
            }
        }
    }
}

fn steps(frame: &Frame, view: &Turn) -> Markup {
    html! {
        table {
            thead { tr {
                th scope="col" { "Step" } th scope="col" { "State" } th.num scope="col" { "Tokens" }
                th.num scope="col" { "Cost" } th.num scope="col" { "Time" } th.num.wide scope="col" { "Epoch" } th scope="col" { "When" }
            } }
            tbody {
                @for step in &view.steps {
                    tr {
                        td { @match &step.call {
                            Some(call) => a href=(frame.link(&format!("/calls/{call}"))) { (step.phase) },
                            None => (step.phase),
                        } }
                        td { (step.status.as_deref().unwrap_or(text::UNKNOWN)) }
                        td.num { @match &step.spent { Some(spent) => (text::grouped(spent.input)), None => (text::UNKNOWN) } }
                        td.num { (text::money(step.spent.and_then(|spent| spent.micros))) }
                        td.num { (text::duration(step.took)) }
                        td.num.wide { (step.epoch) }
                        td { (parts::moment(step.at, view.now)) }
                    }
                }
            }
        }
    }
}
