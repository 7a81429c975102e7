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
    /// The turn that it is a fork of.
    pub forked_from: Option<String>,
    /// How many calls of its model can be made anew.
    pub forkable: usize,
    /// Layers that a fork can go without.
    pub layers: Vec<&'static str>,
    /// When its lease began, while it is live.
    pub leased: Option<Timestamp>,
    /// Writes that were refused because it was given to somebody else: when, and what was said.
    pub refusals: Vec<(Timestamp, String)>,
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
        @if frame.is_live { span data-follow { "following" } }
    };
    let acts = html! {
        @if let Some(original) = &view.forked_from {
            a.button href=(frame.link(&format!("/diff?l={original}&r={}", view.id))) { "Compare with the original" }
        }
        @if view.ended.is_some() { a.button href=(frame.link(&format!("/turns/{}/replay", view.id))) { "Replay" } }
        a.button href=(frame.link(&format!("/handovers/{}", view.id))) { "What it was handed" }
        a.button data-parent href=(frame.link(&format!("/runs/{}?sel={}", view.run, view.id))) { "In its run" }
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
            (fork(frame, view))
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
            (fence(view))
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

/// What keeps others from writing in its name, and who tried.
fn fence(view: &Turn) -> Markup {
    html! {
        h3 { (parts::word("lease")) }
        p {
            @match (view.epoch, view.leased) {
                (Some(epoch), Some(leased)) => { "Held at " (parts::word("epoch")) " " b { (epoch) } " since " (parts::moment(leased, view.now)) "." },
                (Some(epoch), None) => { "It was last held at " (parts::word("epoch")) " " b { (epoch) } "." },
                (None, _) => { "No worker has held it yet." },
            }
        }
        h3 { "Refused writes" }
        @if view.refusals.is_empty() { p.soft { "None: nobody wrote in its name who did not hold it." } }
        @for (at, what) in &view.refusals { p.note.warn { (what) " " span.soft { (parts::moment(*at, view.now)) } } }
    }
}

/// The form of a fork: go on from a call with one thing changed, beside the original.
fn fork(frame: &Frame, view: &Turn) -> Markup {
    html! {
        h3 #fork { "Fork" }
        p.soft { "A new turn goes on from one of its calls with something changed; this one stays as it is." }
        @if view.forkable == 0 {
            p.soft { "It has called no model, so that there is nothing to go on from." }
        } @else if !frame.may_write {
            p.soft { "This session only reads. " a href="/inspect/session" { "Let it write" } " to fork, or use the command line:" }
            pre.box { "cardwire turn fork " (view.id) " --at 1 --without-layer knowledge" @if let Some(project) = &frame.project { " --project " (project) } }
        } @else {
            form.fields method="post" action=(frame.link(&format!("/turns/{}/fork", view.id))) {
                label { "Made anew: call " select name="at" { @for call in 1..=view.forkable.min(CALLS) { option value=(call) { (call) } } } }
                fieldset {
                    legend { "Without these layers" }
                    @for layer in &view.layers { label { input type="checkbox" name="without" value=(layer); " " (parts::layer_name(layer)) } }
                }
                label { "With another instruction" textarea name="instruction" rows="2" {} }
                label { "With another model" input name="model"; }
                label { "Instead of this card" input.mono name="old" placeholder="id of a card it was given or wrote"; }
                label { "this one" input.mono name="new" placeholder="id of another card"; }
                button.primary { "Fork" }
            }
        }
    }
}

/// Calls that can be chosen in the form; the command line takes any.
const CALLS: usize = 100;

fn pieces(frame: &Frame, heading: &str, pieces: &[Piece], none: &str) -> Markup {
    html! {
        h3 { (heading) }
        @if pieces.is_empty() { p.soft { (none) } }
        @if pieces.len() > SHOWN { p.soft { "The last " (SHOWN) " of " (text::grouped(pieces.len() as u64)) " cards; its box has all of them." } }
        div.message {
            @for piece in &pieces[pieces.len().saturating_sub(SHOWN)..] {
                a class={ "piece l-" (piece.layer) } href=[piece.card.as_ref().map(|card| frame.link(&format!("/cards/{card}")))] {
                    span.said { @if piece.is_deleted { span.soft { "deleted since" } } @else { (text::cut(&piece.text, WORDS)) } }
                    @if let Some(tokens) = piece.tokens { span.tokens { (tokens) } }
                }
            }
        }
    }
}

/// Cards that are shown of each kind, and how much of each.
const SHOWN: usize = 100;
const WORDS: usize = 2_000;

fn steps(frame: &Frame, view: &Turn) -> Markup {
    html! {
        table {
            thead { tr {
                th scope="col" { "Step" } th scope="col" { "State" } th.num scope="col" { "Tokens" }
                th.num scope="col" { "Cost" } th.num scope="col" { "Time" } th.num.wide scope="col" { "Epoch" } th.wide scope="col" { "When" }
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
                        td.wide { (parts::moment(step.at, view.now)) }
                    }
                }
            }
        }
    }
}
