//! A batch: one fork, what became of each of its tasks, and how they are joined.

use super::list::when;
use crate::{Body, Frame, page, parts, text};
use cardwire_model::Timestamp;
use maud::{Markup, html};

/// What the page shows.
#[derive(Debug, Clone)]
pub struct Batch {
    /// Its id.
    pub id: String,
    /// How it stands.
    pub status: String,
    /// Who forked.
    pub agent: String,
    /// In which turn.
    pub turn: Option<String>,
    /// By which call.
    pub call: String,
    /// What the join waits for, as a sentence.
    pub joins: String,
    /// One failure ends it.
    pub fail_fast: bool,
    /// At most so many tasks at once.
    pub parallel: Option<u64>,
    /// How many tasks are in which state.
    pub states: Vec<(String, u64)>,
    /// How many tasks.
    pub total: u64,
    /// The tasks that are shown.
    pub tasks: Vec<Task>,
    /// Where the tasks before and after these are.
    pub pages: (Option<String>, Option<String>),
    /// Why it was closed before all tasks had ended.
    pub closed_because: Option<String>,
    /// The card that answered the call.
    pub result: Option<String>,
    /// When it is given up.
    pub deadline: Option<Timestamp>,
    /// When it was forked.
    pub at: Timestamp,
    /// When it was closed.
    pub closed: Option<Timestamp>,
    /// When the page was made.
    pub now: Timestamp,
}

/// One task.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its place, from 0.
    pub index: u32,
    /// How it stands.
    pub status: String,
    /// Who does it.
    pub agent: Option<String>,
    /// In which turn.
    pub turn: Option<String>,
    /// At which epoch.
    pub epoch: Option<u64>,
    /// What it delivered, and the card that says it.
    pub delivered: Option<(String, String)>,
    /// What went wrong.
    pub error: Option<String>,
    /// How often its dispatch was tried.
    pub attempts: u32,
    /// When it last changed.
    pub updated: Timestamp,
}

impl Batch {
    /// `7 of 10 ok, 2 canceled`.
    pub fn sum(&self) -> String {
        let of =
            |name: &str| self.states.iter().find(|(status, _)| status == name).map_or(0, |(_, count)| *count);
        let others = self.states.iter().filter(|(status, _)| status != "success");
        let others: String = others.map(|(status, count)| format!(", {count} {status}")).collect();
        format!("{} of {} ok{others}", of("success"), self.total)
    }
}

/// The page.
pub fn show(frame: &Frame, view: &Batch) -> Markup {
    let took = view.closed.unwrap_or(view.now).micros() - view.at.micros();
    let facts = html! {
        (parts::state(&view.status))
        span { b { (view.sum()) } }
        span { (parts::word("join")) ": " b { (view.joins) } }
        @if view.fail_fast { span { "one failure ends it" } }
        @if let Some(parallel) = view.parallel { (parts::fact(parallel, "at once")) }
        (parts::fact(text::duration(took), ""))
        (parts::moment(view.at, view.now))
        @if frame.is_live { span data-follow { "following" } }
    };
    let acts = html! {
        @if view.closed.is_none() && view.status == "running" && frame.may_write {
            form method="post" action=(frame.link(&format!("/batches/{}/cancel", view.id))) { button { "Cancel" } }
        }
        @if let Some(turn) = &view.turn { a.button.primary href=(frame.link(&format!("/turns/{turn}"))) { "The turn that forked" } }
    };
    let work = html! {
        section.work aria-label="Tasks" {
            @if let Some(because) = &view.closed_because { div.work.padded { p.note { "It was closed before all tasks had ended: " (because) "." } } }
            table.list data-list {
                thead { tr {
                    th scope="col" { (parts::word("task")) } th scope="col" { "State" } th scope="col" { "Delivered" }
                    th.num scope="col" { (parts::word("epoch")) } th.num scope="col" { "Attempts" } th scope="col" { "When" }
                } }
                tbody { @for task in &view.tasks { (row(frame, view, task)) } }
            }
            (pager(view.total, &view.pages))
        }
        aside.peek aria-label="Beside the batch" { (aside(frame, view)) }
    };
    page(frame, Body { facts: Some(facts), acts: Some(acts), work: Some(work), ..Body::default() })
}

fn row(frame: &Frame, view: &Batch, task: &Task) -> Markup {
    html! {
        tr {
            td {
                a.title href=[task.turn.as_ref().map(|turn| frame.link(&format!("/turns/{turn}")))] {
                    (task.index) " · " (task.agent.as_deref().unwrap_or(text::UNKNOWN))
                }
                span.soft { @match &task.turn {
                    Some(turn) => { a href=(frame.link(&format!("/handovers/{turn}"))) { "what it was handed" } },
                    None => "not dispatched",
                } }
            }
            td { (parts::state(&task.status)) }
            td { @match (&task.delivered, &task.error) {
                (Some((card, said)), _) => a href=(frame.link(&format!("/cards/{card}"))) { (text::first_line(said, 160)) },
                (None, Some(error)) => span.bad-text { (text::first_line(error, 160)) },
                (None, None) => (text::UNKNOWN),
            } }
            td.num { @match task.epoch { Some(epoch) => (epoch), None => (text::UNKNOWN) } }
            td.num { (task.attempts) }
            td { (parts::moment(task.updated, view.now)) }
        }
    }
}

/// How many there are in all, and where the others are.
pub(super) fn pager(total: u64, (before, after): &(Option<String>, Option<String>)) -> Markup {
    html! {
        @if before.is_some() || after.is_some() {
            p.more {
                (text::grouped(total)) " in all. "
                @if let Some(before) = before { a href=(before) rel="prev" { "Those before" } " " }
                @if let Some(after) = after { a href=(after) rel="next" { "Those after" } }
            }
        }
    }
}

fn aside(frame: &Frame, view: &Batch) -> Markup {
    html! {
        h3 { "Forked by" }
        p { b { (view.agent) }
            @match &view.turn {
                Some(turn) => { ", in turn " (parts::id_link(turn, &frame.link(&format!("/turns/{turn}")))) },
                None => ", in the name of an agent at rest",
            }
        }
        p.soft { "call " code { (view.call) } }
        h3 { "Joined" }
        @match &view.result {
            Some(card) => p { a href=(frame.link(&format!("/cards/{card}"))) { "What the parent was told" } },
            None => p.soft { "The parent has not been told yet." },
        }
        p.soft { "closed " (when(view.closed, view.now)) }
        h3 { "Deadline" }
        p { @match view.deadline { Some(at) => time datetime=(at) { (at) }, None => "none" } }
        h3 { (parts::word("batch")) }
        p { (parts::id(&view.id)) }
    }
}
