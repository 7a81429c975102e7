//! A run: who did what when, as a tree and a waterfall on one time axis.

mod axis;
mod graph;

use crate::{
    Body, Frame, page,
    parts::{self, LayerTokens, Spent},
    text,
};
use axis::{Axis, WIDTH};
use cardwire_model::Timestamp;
use maud::{Markup, html};

/// What the page shows.
#[derive(Debug, Clone)]
pub struct Run {
    /// What was asked.
    pub question: Option<String>,
    /// The state of the root.
    pub status: String,
    /// The rows: turns with their calls below them, in the order of the tree.
    pub rows: Vec<Row>,
    /// When the root was accepted; times of rows are microseconds after it.
    pub began: Timestamp,
    /// How long the run has taken so far.
    pub took: i64,
    /// How many agents took part.
    pub agents: u64,
    /// How many turns there are.
    pub turns: u64,
    /// What all of them have cost.
    pub spent: Spent,
    /// There are more turns than are shown.
    pub is_cut: bool,
    /// The row that is selected, with what is known of it.
    pub selected: Option<Peek>,
    /// What is known of each of the first turns, for the twin in Markdown.
    pub peeks: Vec<Peek>,
    /// Somebody selected it; otherwise the page did.
    pub is_chosen: bool,
    /// The root has ended.
    pub ended: bool,
    /// What came out.
    pub delivered: Option<String>,
    /// What is worth a look.
    pub notes: Vec<Note>,
    /// Which turn is its root.
    pub root: String,
    /// How it is looked at.
    pub way: Way,
    /// Where in the event log one is.
    pub scrub: Scrub,
    /// The turn that it is a fork of.
    pub forked_from: Option<String>,
    /// When the page was made.
    pub now: Timestamp,
}

/// How a run is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// As a tree beside the time axis.
    Tree,
    /// In the order of time.
    Time,
    /// As a graph of who sent whom.
    Graph,
}

impl Way {
    /// All of them, with the word in the address and the one on the page.
    pub const ALL: [(Self, &'static str, &'static str); 3] =
        [(Self::Tree, "tree", "Tree"), (Self::Time, "time", "Time"), (Self::Graph, "graph", "Graph")];

    /// The one with this word in the address.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, word, _)| *word == name).map(|(way, ..)| *way)
    }

    fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(way, ..)| *way == self).map_or("tree", |(_, word, _)| word)
    }
}

/// Where in the event log one is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scrub {
    /// The position where the run began.
    pub first: u64,
    /// The last position that may tell of the run.
    pub last: u64,
    /// The position that is shown, if it is an earlier one.
    pub at: Option<u64>,
}

/// A row of the tree.
#[derive(Debug, Clone)]
pub struct Row {
    /// How deep it is.
    pub depth: usize,
    /// What it is.
    pub what: What,
    /// What it has cost.
    pub spent: Spent,
    /// What was done when, in order.
    pub bars: Vec<Bar>,
}

/// What a row is.
#[derive(Debug, Clone)]
pub enum What {
    /// A turn.
    Turn {
        /// Its id.
        id: String,
        /// Whose.
        agent: String,
        /// How it stands.
        status: String,
        /// Which branch of which batch it is, and how many there are.
        branch: Option<String>,
    },
    /// A fork: the turns below it are its branches.
    Fork {
        /// The batch.
        batch: String,
        /// What became of its branches.
        line: String,
    },
    /// A call of a model.
    Call {
        /// Its id.
        id: String,
        /// Which of its turn's calls it is.
        number: usize,
    },
}

/// A stretch of time.
#[derive(Debug, Clone, Copy)]
pub struct Bar {
    /// When it began, microseconds after the run.
    pub from: i64,
    /// When it ended.
    pub to: i64,
    /// What it was.
    pub kind: BarKind,
}

/// What a stretch of time was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarKind {
    /// It waited for a worker.
    Queued,
    /// It was at work.
    Running,
    /// It is at work.
    Live,
    /// It waited for others.
    Waiting,
    /// A model answered.
    Call,
}

/// Something worth a look.
#[derive(Debug, Clone)]
pub struct Note {
    /// In one sentence.
    pub text: String,
    /// Where to look.
    pub href: String,
}

/// What is known of the row that is selected.
#[derive(Debug, Clone)]
pub struct Peek {
    /// Its turn.
    pub turn: String,
    /// Whose.
    pub agent: String,
    /// One line about it.
    pub line: String,
    /// The layers of its last call.
    pub given: Vec<LayerTokens>,
    /// What it was not given, and why.
    pub withheld: NotGiven,
    /// What it delivered.
    pub delivered: Option<String>,
    /// Its last call.
    pub call: Option<String>,
    /// Where it is compared with what its sender was shown.
    pub compared: Option<String>,
}

/// What an agent's sender was shown and the agent was not.
#[derive(Debug, Clone, Default)]
pub struct NotGiven {
    /// The first of them.
    pub cards: Vec<Withheld>,
    /// How many there are.
    pub total: u64,
}

/// A card that an agent's sender had and the agent was not given.
#[derive(Debug, Clone)]
pub struct Withheld {
    /// What it says.
    pub text: String,
    /// Why it was not given.
    pub because: String,
    /// Where the whole reason is.
    pub href: Option<String>,
}

/// Rows that are laid out together when they are seen (IN-06).
const CHUNK: usize = 100;

/// The page.
pub fn show(frame: &Frame, view: &Run) -> Markup {
    let facts = html! {
        (parts::state(&view.status))
        (parts::fact(text::plural(view.agents, "agent"), ""))
        (parts::fact(text::plural(view.turns, "turn"), ""))
        (parts::spent_facts(&view.spent))
        (parts::fact(text::duration(view.took), ""))
        (parts::moment(view.began, view.now))
        @if frame.is_live { span data-follow { "following" } }
    };
    let is_past = view.scrub.at.is_some();
    let acts = html! {
        (ways(frame, view))
        @if view.ended && !is_past { a.button href=(frame.link(&format!("/turns/{}/replay", view.root))) { "Replay" } }
        @if let Some(original) = &view.forked_from {
            a.button href=(frame.link(&format!("/diff?l={original}&r={}", view.root))) { "Compare with the original" }
        }
        @if view.ended { a.button href=(frame.link(&format!("/turns/{}#fork", view.root))) { "Fork" } }
        @if !view.ended && frame.may_write && !is_past {
            form method="post" action=(frame.link(&format!("/turns/{}/stop", view.root))) { button.primary { "Stop" } }
        }
    };
    let work = html! {
        section.work aria-label="Turns and calls" data-tree {
            @if let Some(at) = view.scrub.at {
                p.banner { "This is the run as it was at event " (text::grouped(at)) ". " a href=(here(frame, view, None, view.way)) { "Show it as it is now" } }
            }
            @if view.is_cut {
                p.banner { "This run has more turns than one page shows: the first " (text::grouped(view.turns)) " are here." }
            }
            @match view.way {
                Way::Graph => (graph::show(frame, view)),
                Way::Tree | Way::Time => {
                    @let axis = Axis::new(&view.rows, view.took);
                    @for (place, rows) in view.rows.chunks(CHUNK).enumerate() { (chunk(view, rows, &axis, place == 0)) }
                },
            }
            (cards(view))
        }
        @if let Some(peek) = &view.selected { aside.peek aria-label="Selected" { (peek_at(frame, peek)) } }
    };
    let foot = scrubber(frame, view);
    page(frame, Body { facts: Some(facts), acts: Some(acts), work: Some(work), foot: Some(foot) })
}

/// The address of this run at a position and looked at in a way; what is selected stays so.
fn here(frame: &Frame, view: &Run, at: Option<u64>, way: Way) -> String {
    let mut pairs = vec![];
    pairs.extend(at.map(|at| format!("at={at}")));
    pairs.extend(
        view.is_chosen.then(|| view.selected.as_ref().map(|peek| format!("sel={}", peek.turn))).flatten(),
    );
    pairs.extend((way != Way::Tree).then(|| format!("view={}", way.as_str())));
    if pairs.is_empty() { frame.path.clone() } else { format!("{}?{}", frame.path, pairs.join("&")) }
}

fn ways(frame: &Frame, view: &Run) -> Markup {
    html! {
        nav.tabs aria-label="Ways to look at the run" {
            @for (way, _, name) in Way::ALL {
                a href=(here(frame, view, view.scrub.at, way)) aria-current=[(way == view.way).then_some("page")] { (name) }
            }
        }
    }
}

/// Moving through the event log: the run as it was at any position (IN-05).
fn scrubber(frame: &Frame, view: &Run) -> Markup {
    let Scrub { first, last, at } = view.scrub;
    let shown = at.unwrap_or(last);
    let step = |at: u64| here(frame, view, Some(at), view.way);
    html! {
        form.scrub method="get" action=(frame.path) data-scrub {
            @if let Some(peek) = view.selected.as_ref().filter(|_| view.is_chosen) { input type="hidden" name="sel" value=(peek.turn); }
            @if view.way != Way::Tree { input type="hidden" name="view" value=(view.way.as_str()); }
            @if shown > first { a.button href=(step(shown - 1)) aria-label="One event back" { "‹" } }
            input type="range" name="at" min=(first) max=(last.max(first)) value=(shown) aria-label="Position in the event log";
            @if shown < last { a.button href=(step(shown + 1)) aria-label="One event on" { "›" } }
            button { "Go to event" }
            span.id { "event " (text::grouped(shown)) " of " (text::grouped(last)) }
            span.soft { (text::duration(view.took)) " after the start" }
            @if at.is_some() { a href=(here(frame, view, None, view.way)) { "now" } }
        }
    }
}

fn chunk(view: &Run, rows: &[Row], axis: &Axis, is_first: bool) -> Markup {
    let most = view.rows.iter().filter_map(|row| row.spent.micros).max().unwrap_or(0);
    html! {
        div.chunk {
            table.tree {
                thead class=[(!is_first).then_some("hidden")] {
                    tr {
                        th.c-name scope="col" { "Agent" }
                        th.c-num.num.wide scope="col" { "Calls" }
                        th.c-tokens.num scope="col" { "Tokens" }
                        th.c-money.wide scope="col" { "Cost" }
                        th scope="col" { (axis.head()) }
                    }
                }
                tbody { @for row in rows { (line(view, row, axis, most)) } }
            }
        }
    }
}

fn line(view: &Run, row: &Row, axis: &Axis, most: u64) -> Markup {
    let depth = row.depth.min(8);
    let is_chosen = match (&row.what, &view.selected) {
        (What::Turn { id, .. }, Some(peek)) => *id == peek.turn,
        (What::Turn { .. }, None) | (What::Call { .. } | What::Fork { .. }, _) => false,
    };
    html! {
        tr class=[is_chosen.then_some("chosen")] aria-selected=[is_chosen.then_some("true")] {
            @match &row.what {
                What::Turn { id, agent, status, branch } => {
                    td { div class={ "d" (depth) } {
                        (parts::dot(status)) " "
                        a href=(selecting(view, id)) { (text::agent(agent)) }
                        @if let Some(branch) = branch { " " span.soft { (branch) } }
                    } }
                },
                What::Fork { batch, line } => {
                    td.call { div class={ "bracket d" (depth) } { a href={ "../batches/" (batch) } { "fork" } " " span.soft { (line) } } }
                },
                What::Call { id, number } => {
                    td.call { div class={ "d" (depth) } { a href={ "../calls/" (id) } { "call " (number) } } }
                },
            }
            td { @if matches!(row.what, What::Turn { .. }) { (row.spent.calls) } }
            td { (tokens(&row.spent)) }
            td { (text::money(row.spent.micros.filter(|_| row.spent.calls > 0))) " "
                @if let Some(micros) = row.spent.micros.filter(|micros| *micros > 0) { (parts::share(micros, most)) } }
            td { (bars(&row.bars, axis)) }
        }
    }
}

/// The address of this page with a turn selected. Rows lead to places beside this one, which keeps them short: a run may have
/// ten thousand.
fn selecting(view: &Run, id: &str) -> String {
    let mut href = format!("?sel={id}");
    if let Some(at) = view.scrub.at {
        href.push_str(&format!("&at={at}"));
    }
    if view.way != Way::Tree {
        href.push_str(&format!("&view={}", view.way.as_str()));
    }
    href
}

fn tokens(spent: &Spent) -> String {
    if spent.calls == 0 { text::UNKNOWN.to_owned() } else { text::grouped(spent.input) }
}

/// The stretches of a row on the axis, and what they say to those who do not see them.
fn bars(bars: &[Bar], axis: &Axis) -> Markup {
    let at = |micros: i64| axis.place(micros.max(0)).max(0) as u64;
    let percent = |units: u64| parts::percent(units, WIDTH as u64);
    let class = |bar: &Bar| match bar.kind {
        BarKind::Waiting => Some("wait"),
        BarKind::Queued => Some("queue"),
        BarKind::Running => None,
        BarKind::Live => Some("live"),
        BarKind::Call => Some("call"),
    };
    html! {
        svg role="img" aria-label=(spoken(bars)) {
            (axis.folds())
            @for bar in bars {
                rect class=[class(bar)] x=(percent(at(bar.from))) width=(percent(at(bar.to).saturating_sub(at(bar.from)).max(2))) {}
            }
        }
    }
}

fn spoken(bars: &[Bar]) -> String {
    let (Some(first), Some(last)) = (bars.first(), bars.last()) else { return "not begun".to_owned() };
    format!("from {} to {}", text::duration(first.from), text::duration(last.to))
}

fn cards(view: &Run) -> Markup {
    html! {
        div.cards {
            div.card {
                h3 { "Delivered" }
                @match &view.delivered {
                    Some(text) => p.said { (text::cut(text, 400)) },
                    None => p.soft { "Nothing yet." },
                }
            }
            div.card {
                h3 { "Worth a look" }
                @if view.notes.is_empty() { p.soft { "Nothing stands out." } }
                @for note in &view.notes { p { a href=(note.href) { (note.text) } } }
            }
        }
    }
}

fn peek_at(frame: &Frame, peek: &Peek) -> Markup {
    let total: i64 = peek.given.iter().map(|layer| layer.tokens).sum();
    html! {
        div.row-between { h2 { (text::agent(&peek.agent)) } (parts::id_link(&peek.turn, &frame.link(&format!("/turns/{}", peek.turn)))) }
        p.soft { (peek.line) }
        div.row-between { h3 { "Given" } span.soft { (text::grouped(total.max(0) as u64)) " tokens" } }
        @if peek.given.is_empty() {
            p.soft { "It has called no model." }
        } @else {
            (parts::ribbon(&peek.given))
            (parts::legend(&peek.given))
        }
        h3 { "Not given" }
        @match (&peek.compared, peek.withheld.total) {
            (None, _) => p.soft { "Nobody sent it who was shown anything." },
            (Some(_), 0) => p.soft { "Nothing: it was given all that its sender was shown." },
            (Some(_), _) => {},
        }
        @for card in &peek.withheld.cards {
            div.note {
                b { (text::first_line(&card.text, 80)) }
                p.soft { (card.because) " " @if let Some(href) = &card.href { a href=(href) { "why?" } } }
            }
        }
        @if let Some(compared) = peek.compared.as_ref().filter(|_| peek.withheld.total > peek.withheld.cards.len() as u64) {
            p { a href=(compared) { "All " (text::grouped(peek.withheld.total)) " cards that were not given" } }
        }
        h3 { "Delivered" }
        @match &peek.delivered {
            Some(text) => div.box.said { (text::cut(text, 600)) },
            None => p.soft { "Nothing yet." },
        }
        p {
            @if let Some(call) = &peek.call { a.button href=(frame.link(&format!("/calls/{call}"))) { "Open call" } " " }
            @if let Some(compared) = &peek.compared { a.button href=(compared) { "Compare with its sender" } }
        }
    }
}
