//! The first page: the projects with what is at work in each, how the server is, and what to type next. And what else a project
//! keeps besides what the bar names.

use crate::{Body, Frame, page, parts, text};
use cardwire_model::Timestamp;
use maud::{Markup, html};

/// What the first page shows.
#[derive(Debug, Clone)]
pub struct Home {
    /// The projects.
    pub projects: Vec<Project>,
    /// There are more.
    pub more: Option<String>,
    /// This program's version.
    pub version: String,
    /// Why a write would not go through.
    pub trouble: Option<String>,
    /// The session may look at the server itself.
    pub may_see_system: bool,
    /// When the page was made.
    pub now: Timestamp,
}

/// A project in the list.
#[derive(Debug, Clone)]
pub struct Project {
    /// Its name.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// What is going on in it; nothing where that was not looked at.
    pub live: Option<Live>,
    /// When it was made.
    pub at: Timestamp,
}

/// What is going on in a project.
#[derive(Debug, Clone)]
pub struct Live {
    /// How many turns are live.
    pub turns: u64,
    /// There may be more.
    pub is_cut: bool,
    /// What people are asked.
    pub questions: u64,
    /// The newest run: what was asked, its state, and when it began.
    pub last: Option<(String, String, Timestamp)>,
}

/// The first page.
pub fn show(frame: &Frame, view: &Home) -> Markup {
    let live: u64 =
        view.projects.iter().filter_map(|project| project.live.as_ref()).map(|live| live.turns).sum();
    let asked: u64 =
        view.projects.iter().filter_map(|project| project.live.as_ref()).map(|live| live.questions).sum();
    let facts = html! {
        (parts::fact(text::plural(view.projects.len() as u64, "project"), if view.more.is_some() { "shown" } else { "" }))
        span { b { (live) } " live " (parts::word("turn")) @if live != 1 { "s" } }
        (parts::fact(text::plural(asked, "question"), "for a person"))
        @match &view.trouble { None => span.state.good { "ready" }, Some(_) => span.state.bad { "not ready" } }
        span { "version " b { (view.version) } }
    };
    let acts = html! {
        @if view.may_see_system { a.button href="/inspect/system" { "The server" } }
        a.button href="/inspect/session" { "Your session" }
    };
    let work = html! {
        section.work aria-label="Projects" {
            @if view.projects.is_empty() {
                (parts::empty("There is no project yet. Run a team, which makes one:", Some(RUN)))
            } @else {
                table.list data-list {
                    thead { tr {
                        th scope="col" { "Project" } th.num scope="col" { "Live turns" } th.num scope="col" { "Questions" }
                        th scope="col" { "Last run" } th scope="col" { "State" }
                    } }
                    tbody { @for project in &view.projects { (row(project, view.now)) } }
                }
            }
            @if let Some(more) = &view.more { p.more { "More projects follow. " a href=(more) rel="next" { "Go on" } } }
        }
        aside.peek aria-label="What to do next" { (next(view)) }
    };
    page(frame, Body { facts: Some(facts), acts: Some(acts), work: Some(work), ..Body::default() })
}

const RUN: &str = "cardwire run examples/teams/research.yaml \"Where should our measurements be kept?\"";

fn row(project: &Project, now: Timestamp) -> Markup {
    let live = project.live.as_ref();
    html! {
        tr {
            td {
                a.title href={ "/inspect/p/" (project.id) } { (project.title.as_deref().unwrap_or(&project.id)) }
                span.soft { (project.id) " · made " (parts::moment(project.at, now)) }
            }
            td.num { @match live { Some(live) => { (live.turns) @if live.is_cut { "+" } }, None => (text::UNKNOWN) } }
            td.num { @match live { Some(live) => (live.questions), None => (text::UNKNOWN) } }
            @match live.and_then(|live| live.last.as_ref()) {
                Some((asked, status, at)) => {
                    td { (text::first_line(asked, 80)) " " span.soft { (parts::moment(*at, now)) } }
                    td { (parts::state(status)) }
                },
                None => { td { @if live.is_some() { "nothing has run yet" } @else { (text::UNKNOWN) } } td { (text::UNKNOWN) } },
            }
        }
    }
}

fn next(view: &Home) -> Markup {
    html! {
        h3 { "Server" }
        @match &view.trouble {
            None => p.good-text { "✓ Ready: a write would go through." },
            Some(why) => p.bad-text { "A write would not go through: " (why) },
        }
        h3 { "What to type next" }
        p.soft { "Run a team, in a project of its own:" }
        pre.box { (RUN) }
        p.soft { "See what waits for you, and answer it:" }
        pre.box { "cardwire question list" }
        p.soft { "Look at everything that could be wrong:" }
        pre.box { "cardwire doctor" }
        p.soft { "Let somebody else look, who changes nothing:" }
        pre.box { "cardwire token create --scope read --project PROJECT" }
    }
}

/// Something else that a project keeps.
#[derive(Debug, Clone)]
pub struct Kept {
    /// What it is called.
    pub name: &'static str,
    /// The word of the vocabulary.
    pub word: &'static str,
    /// Where it is, below the project.
    pub path: &'static str,
    /// How many there are.
    pub count: u64,
    /// There may be more.
    pub is_cut: bool,
}

/// What else a project keeps.
pub fn more(frame: &Frame, kept: &[Kept]) -> Markup {
    let facts = html! { (parts::fact(text::plural(kept.len() as u64, "list"), "")) };
    let work = html! {
        section.work aria-label="What the project keeps" {
            table.list data-list {
                thead { tr { th scope="col" { "List" } th.num scope="col" { "Entries" } th scope="col" { "What it is" } } }
                tbody { @for one in kept { tr {
                    td { a.title href=(frame.link(one.path)) { (one.name) } }
                    td.num { (one.count) @if one.is_cut { "+" } }
                    td.soft { (parts::meaning(one.word).unwrap_or(text::UNKNOWN)) }
                } } }
            }
        }
    };
    page(frame, Body { facts: Some(facts), work: Some(work), ..Body::default() })
}
