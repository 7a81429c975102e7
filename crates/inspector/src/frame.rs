//! What is around every page: the head of the document, the bar at the top, the heading.

use crate::assets;
use cardwire_model::EventKind;
use maud::{DOCTYPE, Markup, html};

/// Which part of the project a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Runs, turns, calls.
    Runs,
    /// Agents.
    Agents,
    /// Cards and boxes.
    Cards,
    /// What was spent.
    Cost,
    /// The event log.
    Events,
    /// The audit chain.
    Audit,
    /// What else a project keeps: sessions, batches, packages, documents.
    More,
    /// None of them.
    Elsewhere,
}

impl Section {
    const IN_BAR: [(Self, &'static str, &'static str); 7] = [
        (Self::Runs, "Runs", ""),
        (Self::Agents, "Agents", "/agents"),
        (Self::Cards, "Cards", "/search"),
        (Self::Cost, "Cost", "/cost"),
        (Self::Events, "Events", "/events"),
        (Self::Audit, "Audit", "/audit"),
        (Self::More, "More", "/more"),
    ];
}

/// One place on the way to a page.
#[derive(Debug, Clone)]
pub struct Crumb {
    /// What it is called.
    pub name: String,
    /// Where it is; none for the page itself.
    pub href: Option<String>,
}

/// What is around a page.
#[derive(Debug, Clone)]
pub struct Frame {
    /// In which project.
    pub project: Option<String>,
    /// In which part of it.
    pub section: Section,
    /// The way to the page.
    pub crumbs: Vec<Crumb>,
    /// The question that the page answers.
    pub title: String,
    /// The address of this page without its suffix, for its twins.
    pub path: String,
    /// The query of this page, with its question mark, or empty.
    pub query: String,
    /// The session may write.
    pub may_write: bool,
    /// The page changes while somebody looks at it: the events of which project make it load anew.
    pub is_live: bool,
    /// How far the event log was when the page was made: what comes later may change it.
    pub position: Option<u64>,
}

impl Frame {
    /// The address of something in the page's project.
    pub fn link(&self, rest: &str) -> String {
        match &self.project {
            Some(project) => format!("/inspect/p/{project}{rest}"),
            None => format!("/inspect{rest}"),
        }
    }

    /// The pages of a project have twins (IN-05); signing in, the session and what went wrong have none.
    fn has_twins(&self) -> bool {
        self.project.is_some()
    }
}

/// The parts of a page below its title.
#[derive(Debug, Default)]
pub struct Body {
    /// Five to seven facts.
    pub facts: Maybe,
    /// What can be done here; the last one is the page's own.
    pub acts: Maybe,
    /// The work, with what is on its left and right.
    pub work: Maybe,
    /// What stays at the bottom.
    pub foot: Maybe,
}

/// Markup that may be missing.
pub type Maybe = Option<Markup>;

/// A whole page.
pub fn page(frame: &Frame, body: Body) -> Markup {
    let live = frame.project.as_deref().filter(|_| frame.is_live);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { (frame.title) " · cardwire" }
                link rel="stylesheet" href={ "/inspect/assets/" (assets::STYLE.name) };
                link rel="icon" href={ "/inspect/assets/" (assets::ICON.name) };
                @if frame.has_twins() {
                    link rel="alternate" type="text/markdown" href={ (frame.path) ".md" (frame.query) };
                    link rel="alternate" type="application/json" href={ (frame.path) ".json" (frame.query) };
                }
                script type="module" src={ "/inspect/assets/" (assets::SCRIPT.name) } {}
            }
            body data-project=[frame.project.as_deref()] data-live=[live] data-kinds=[live.map(|_| kinds())]
                data-position=[frame.position] {
                a.skip href="#work" { "Skip to the work" }
                (bar(frame))
                main {
                    div.head {
                        div {
                            (crumbs(&frame.crumbs))
                            h1 { (frame.title) }
                            @if let Some(facts) = &body.facts { div.facts { (facts) } }
                        }
                        div.acts {
                            @if frame.has_twins() { a.button href={ (frame.path) ".md" (frame.query) } { "Export" } }
                            @if let Some(acts) = &body.acts { (acts) }
                        }
                    }
                    @if let Some(work) = &body.work { div.cols #work tabindex="-1" { (work) } }
                    @if let Some(foot) = &body.foot { (foot) }
                }
            }
        }
    }
}

/// The kinds of events that a page is loaded anew for: a browser hears of those it names.
fn kinds() -> String {
    EventKind::ALL.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(" ")
}

fn bar(frame: &Frame) -> Markup {
    html! {
        header.top {
            a.brand href="/inspect" {
                svg width="20" height="16" viewBox="0 0 20 16" aria-hidden="true" {
                    rect x="1" y="1" width="18" height="14" rx="3" fill="none" stroke="currentColor" stroke-width="2" {}
                    path d="M5 6h7M5 10h9" stroke="currentColor" stroke-width="2" {}
                }
                "cardwire"
            }
            @if frame.project.is_some() {
                nav aria-label="Project" {
                    @for (section, name, path) in Section::IN_BAR {
                        a href=(frame.link(path)) aria-current=[(section == frame.section).then_some("page")] { (name) }
                    }
                }
                form.find action=(frame.link("/search")) role="search" {
                    input type="search" name="q" maxlength="256" placeholder="Go to any id, agent or text" aria-label="Search";
                }
            }
            @if let Some(project) = &frame.project { span.place { (project) } }
        }
    }
}

fn crumbs(crumbs: &[Crumb]) -> Markup {
    html! {
        nav aria-label="Where you are" {
            ol.crumbs {
                @for crumb in crumbs {
                    li {
                        @match &crumb.href {
                            Some(href) => a href=(href) { (crumb.name) },
                            None => b { (crumb.name) },
                        }
                    }
                }
            }
        }
    }
}
