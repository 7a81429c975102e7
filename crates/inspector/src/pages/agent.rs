//! An agent: what it is doing under which lease, what waits in its inbox, what it has done, and what it was refused.

use crate::{Body, Frame, page, parts, text};
use cardwire_model::Timestamp;
use maud::{Markup, html};

/// What the page shows.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it is doing, in one word.
    pub status: String,
    /// Its epoch: that of the live turn, or of the last one.
    pub epoch: Option<u64>,
    /// The live turn and its lease.
    pub live: Option<Lease>,
    /// How many turns wait behind it.
    pub queued: u64,
    /// Its turns, newest first; those that wait among them.
    pub turns: Vec<Turn>,
    /// Where older turns are.
    pub older: Option<String>,
    /// What it was refused, newest first.
    pub refused: Vec<Refused>,
    /// Older refusals follow.
    pub refused_cut: bool,
    /// Its profile.
    pub profile: String,
    /// Which workers serve it.
    pub worker_target: String,
    /// Who made it.
    pub owner: Option<String>,
    /// Its boxes: what each is, and its id.
    pub boxes: Vec<(&'static str, String)>,
    /// When it was added.
    pub at: Timestamp,
    /// When the page was made.
    pub now: Timestamp,
}

/// The lease of a live turn.
#[derive(Debug, Clone)]
pub struct Lease {
    /// Which turn.
    pub turn: String,
    /// Who works on it.
    pub worker: Option<String>,
    /// When it was leased.
    pub since: Timestamp,
    /// When its worker was last heard of.
    pub seen: Timestamp,
    /// Tool calls without an answer.
    pub open_calls: u64,
    /// When waiting ends.
    pub resume_by: Option<Timestamp>,
}

/// A turn of the agent.
#[derive(Debug, Clone)]
pub struct Turn {
    /// Its id.
    pub id: String,
    /// What was asked.
    pub asked: Option<String>,
    /// How it stands.
    pub status: String,
    /// Its epoch, once it is leased.
    pub epoch: Option<u64>,
    /// Who worked on it.
    pub worker: Option<String>,
    /// How often it was put off.
    pub retries: u32,
    /// When it was accepted.
    pub at: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
}

/// A refusal that the audit log tells of.
#[derive(Debug, Clone)]
pub struct Refused {
    /// What was refused.
    pub what: String,
    /// Why, as the audit log has it.
    pub detail: String,
    /// When.
    pub at: Timestamp,
}

/// The page.
pub fn show(frame: &Frame, view: &Agent) -> Markup {
    let facts = html! {
        (parts::state(&view.status))
        span { (parts::word("epoch")) " " @match view.epoch { Some(epoch) => b { (epoch) }, None => (text::UNKNOWN) } }
        span { b { (text::grouped(view.queued)) } " waiting in its " (parts::word("inbox")) }
        span { (parts::word("profile")) " " b { (view.profile) } }
        span { (parts::word("worker target")) " " code { (view.worker_target) } }
        span { "added " (parts::moment(view.at, view.now)) }
        @if frame.is_live { span data-follow { "following" } }
    };
    let work = html! {
        section.work aria-label="Its turns" {
            @if view.turns.is_empty() {
                (parts::empty("It has never had a turn. Give it one:", Some(&format!("cardwire turn dispatch --agent {} --text \"…\"", view.id))))
            } @else {
                table.list data-list {
                    thead { tr {
                        th scope="col" { (parts::word("turn")) } th scope="col" { "State" } th.num scope="col" { "Epoch" }
                        th scope="col" { "Worker" } th.num scope="col" { "Put off" } th.num scope="col" { "Time" }
                    } }
                    tbody { @for turn in &view.turns { (row(frame, view, turn)) } }
                }
            }
            @if let Some(older) = &view.older { p.more { "More turns follow. " a href=(older) rel="next" { "Older turns" } } }
        }
        aside.peek aria-label="Beside the agent" { (aside(frame, view)) }
    };
    page(frame, Body { facts: Some(facts), work: Some(work), ..Body::default() })
}

fn row(frame: &Frame, view: &Agent, turn: &Turn) -> Markup {
    let took = turn.ended.unwrap_or(view.now).micros() - turn.at.micros();
    html! {
        tr {
            td {
                a.title href=(frame.link(&format!("/turns/{}", turn.id))) {
                    (turn.asked.as_deref().map_or_else(|| text::short(&turn.id), |asked| text::first_line(asked, 120)))
                }
                span.soft { (parts::moment(turn.at, view.now)) }
            }
            td { (parts::state(&turn.status)) }
            td.num { @match turn.epoch { Some(epoch) => (epoch), None => (text::UNKNOWN) } }
            td { (turn.worker.as_deref().unwrap_or(text::UNKNOWN)) }
            td.num { (turn.retries) }
            td.num { (text::duration(took)) }
        }
    }
}

fn aside(frame: &Frame, view: &Agent) -> Markup {
    html! {
        h3 { (parts::word("lease")) }
        @match &view.live {
            None => p.soft { "It is at rest: no turn of it is leased." },
            Some(lease) => {
                p { "Turn " (parts::id_link(&lease.turn, &frame.link(&format!("/turns/{}", lease.turn))))
                    ", held by " b { (lease.worker.as_deref().unwrap_or("nobody yet")) } }
                p.soft { "leased " (parts::moment(lease.since, view.now)) ", last heard of " (parts::moment(lease.seen, view.now)) }
                @if lease.open_calls > 0 { p { (text::plural(lease.open_calls, "tool call")) " without an answer" } }
                @if let Some(at) = lease.resume_by { p { "waits until " time datetime=(at) { (at) } } }
            },
        }
        h3 { (parts::word("fence")) }
        @match (view.epoch, &view.live) {
            (Some(epoch), Some(_)) => p { "A write at any epoch but " b { (epoch) } " is refused with " code { "stale_turn" } " and changes nothing." },
            (Some(epoch), None) => p { "The lease of epoch " b { (epoch) } " is over: until the next one every write is refused with " code { "stale_turn" } " and changes nothing." },
            (None, _) => p.soft { "It was never leased, so that nobody may write for it." },
        }
        h3 { "Refused" }
        @if view.refused.is_empty() { p.soft { "None: the audit log tells neither of a stale write to its turns, nor of anything that it asked for in vain." } }
        @for refused in &view.refused {
            p.note { (refused.detail) " " span.soft { (refused.what) ", " (parts::moment(refused.at, view.now)) } }
        }
        @if view.refused_cut { p { a href=(frame.link("/audit")) { "Older ones in the audit log" } } }
        h3 { "Boxes" }
        table.plain { tbody { @for (name, id) in &view.boxes { tr {
            td { (parts::word(name)) } td { (parts::id_link(id, &frame.link(&format!("/boxes/{id}")))) }
        } } } }
        @if let Some(owner) = &view.owner { h3 { "Made by" } p { a href=(frame.link(&format!("/agents/{owner}"))) { (text::agent(owner)) } } }
        h3 { (parts::word("agent")) }
        p { (parts::id(&view.id)) }
    }
}
