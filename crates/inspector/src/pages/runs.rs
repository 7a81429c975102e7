//! The first page of a project: what its agents did, newest first.

use crate::{
    Body, Frame, page,
    parts::{self, Spent},
    text,
};
use cardwire_model::Timestamp;
use maud::{Markup, html};

/// What the page shows.
#[derive(Debug, Clone)]
pub struct Runs {
    /// The runs.
    pub runs: Vec<Run>,
    /// What people are asked.
    pub questions: Vec<Question>,
    /// Where the next page is.
    pub older: Option<String>,
    /// Whether a write would go through now, or why not.
    pub trouble: Option<String>,
    /// When the page was made.
    pub now: Timestamp,
}

/// A run in the list.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its root.
    pub turn: String,
    /// What was asked.
    pub question: Option<String>,
    /// By which agent it was answered.
    pub agent: String,
    /// How it stands.
    pub status: String,
    /// How many agents took part.
    pub agents: u64,
    /// How many turns it has.
    pub turns: u64,
    /// What it has cost.
    pub spent: Spent,
    /// When it began.
    pub began: Timestamp,
    /// When it was last seen at work.
    pub seen: Timestamp,
    /// The sums go over a part of it.
    pub is_cut: bool,
}

/// Something that a person is asked.
#[derive(Debug, Clone)]
pub struct Question {
    /// Which turn waits.
    pub turn: String,
    /// Whose.
    pub agent: String,
    /// The call that is answered.
    pub call: String,
    /// What is asked.
    pub text: String,
}

/// The page.
pub fn show(frame: &Frame, view: &Runs) -> Markup {
    let running = view.runs.iter().filter(|run| !is_over(&run.status)).count() as u64;
    let facts = html! {
        (parts::fact(text::plural(view.runs.len() as u64, "run"), if view.older.is_some() { "shown" } else { "" }))
        (parts::fact(running, "at work"))
        @if frame.is_live { span.soft data-follow { "following" } }
    };
    let work = html! {
        section.work aria-label="Runs" {
            @if view.runs.is_empty() {
                (parts::empty("Nothing has run in this project yet. Run a team, or dispatch a turn:", Some(&starter(frame))))
            } @else {
                table.list data-list {
                    thead {
                        tr {
                            th scope="col" { "Question" }
                            th scope="col" { "State" }
                            th.num scope="col" { "Agents" }
                            th.num scope="col" { "Calls" }
                            th.num scope="col" { "Tokens" }
                            th.num scope="col" { "Cost" }
                            th.num scope="col" { "Time" }
                        }
                    }
                    tbody { @for run in &view.runs { (row(frame, run, view.now)) } }
                }
                @if let Some(older) = &view.older { p.more { a href=(older) rel="next" { "Older runs" } } }
            }
        }
        aside.peek aria-label="Beside the runs" { (aside(frame, view)) }
    };
    page(frame, Body { facts: Some(facts), work: Some(work), ..Body::default() })
}

fn is_over(status: &str) -> bool {
    matches!(status, "success" | "failed" | "canceled" | "timeout" | "partial")
}

fn starter(frame: &Frame) -> String {
    let project = frame.project.as_deref().unwrap_or("demo");
    format!(
        "cardwire run examples/teams/research.yaml \"Where should our measurements be kept?\" --project {project}"
    )
}

fn row(frame: &Frame, run: &Run, now: Timestamp) -> Markup {
    let title =
        run.question.as_deref().map_or_else(|| text::agent(&run.agent), |text| text::first_line(text, 120));
    let end = if is_over(&run.status) { run.seen } else { now };
    let more = if run.is_cut { "+" } else { "" };
    html! {
        tr {
            td {
                a.title href=(frame.link(&format!("/runs/{}", run.turn))) { (title) }
                span.soft { (text::agent(&run.agent)) " · " (parts::moment(run.began, now)) }
            }
            td { (parts::state(&run.status)) }
            td.num { (run.agents) (more) }
            td.num { (run.spent.calls) (more) }
            td.num { (text::count(run.spent.input)) (more) }
            td.num { (text::money(run.spent.micros)) }
            td.num { (text::duration(end.micros() - run.began.micros())) }
        }
    }
}

fn aside(frame: &Frame, view: &Runs) -> Markup {
    html! {
        h3 { "Waiting for you" }
        @if view.questions.is_empty() { p.soft { "No run waits for a person." } }
        @for question in &view.questions {
            div.card {
                p { b { (text::agent(&question.agent)) } " asks" }
                pre { (question.text) }
                @if frame.may_write {
                    form method="post" action=(frame.link(&format!("/turns/{}/answer", question.turn))) {
                        input type="hidden" name="call" value=(question.call);
                        p { label { span.hidden { "Your answer" } input name="answer" required; } }
                        p { button.primary { "Answer" } }
                    }
                } @else {
                    p.soft { "This session only reads. " a href="/inspect/session" { "Let it write" } " to answer." }
                }
                p { a href=(frame.link(&format!("/turns/{}", question.turn))) { "Read all" } }
            }
        }
        h3 { "On this page" }
        table.plain {
            tbody {
                tr { td { "Calls of models" } td.num { (total(view, |spent| spent.calls)) } }
                tr { td { "Tokens in" } td.num { (total(view, |spent| spent.input)) } }
                tr { td { "Read from cache" } td.num { (cached(view)) } }
                tr { td { "Cost" } td.num { b { (cost(view)) } } }
            }
        }
        h3 { "Server" }
        @match &view.trouble {
            None => p.good-text { "✓ Ready: a write would go through." },
            Some(why) => p.bad-text { "A write would not go through: " (why) },
        }
    }
}

fn total(view: &Runs, of: impl Fn(&Spent) -> u64) -> String {
    text::count(view.runs.iter().map(|run| of(&run.spent)).sum())
}

fn cached(view: &Runs) -> String {
    let sum = |of: fn(&Spent) -> u64| view.runs.iter().map(|run| of(&run.spent)).sum::<u64>();
    match (sum(|spent| spent.cached) * 100).checked_div(sum(|spent| spent.input)) {
        Some(percent) => format!("{percent} %"),
        None => text::UNKNOWN.to_owned(),
    }
}

fn cost(view: &Runs) -> String {
    let known: Option<u64> =
        view.runs.iter().filter(|run| run.spent.calls > 0).map(|run| run.spent.micros).sum();
    text::money(known)
}
