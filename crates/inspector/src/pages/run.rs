//! A run: who did what when, as a tree and a waterfall on one time axis.

use crate::{
    Body, Frame, page,
    parts::{self, LayerTokens, Spent},
    text,
};
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
    /// What came out.
    pub delivered: Option<String>,
    /// What is worth a look.
    pub notes: Vec<Note>,
    /// The last position of the event log.
    pub position: u64,
    /// When the page was made.
    pub now: Timestamp,
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
    pub withheld: Vec<Withheld>,
    /// What it delivered.
    pub delivered: Option<String>,
    /// Its last call.
    pub call: Option<String>,
    /// The turn that sent it.
    pub parent: Option<String>,
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
/// The axis in units of the drawing.
const WIDTH: i64 = 1_000;

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
    let work = html! {
        section.work aria-label="Turns and calls" data-tree {
            @if view.is_cut {
                p.banner { "This run has more turns than one page shows: the first " (text::grouped(view.turns)) " are here." }
            }
            @for (place, rows) in view.rows.chunks(CHUNK).enumerate() { (chunk(frame, view, rows, place == 0)) }
            (cards(view))
        }
        @if let Some(peek) = &view.selected { aside.peek aria-label="Selected" { (peek_at(frame, peek)) } }
    };
    let foot = html! {
        div.scrub {
            span.id { "event " (view.position) }
            span.soft { (text::duration(view.took)) }
        }
    };
    page(frame, Body { facts: Some(facts), work: Some(work), foot: Some(foot), ..Body::default() })
}

fn chunk(frame: &Frame, view: &Run, rows: &[Row], is_first: bool) -> Markup {
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
                        th scope="col" { (axis(view.took)) }
                    }
                }
                tbody { @for row in rows { (line(frame, view, row, most)) } }
            }
        }
    }
}

/// Five times on the axis.
fn axis(took: i64) -> Markup {
    html! {
        span.hidden { "Time from the start of the run" }
        span.axis aria-hidden="true" {
            @for part in 0..=4 { span { (text::duration(took * part / 4)) } }
        }
    }
}

fn line(frame: &Frame, view: &Run, row: &Row, most: u64) -> Markup {
    let depth = row.depth.min(8);
    let is_chosen = match (&row.what, &view.selected) {
        (What::Turn { id, .. }, Some(peek)) => *id == peek.turn,
        (What::Turn { .. }, None) | (What::Call { .. }, _) => false,
    };
    html! {
        tr class=[is_chosen.then_some("chosen")] aria-selected=[is_chosen.then_some("true")] {
            @match &row.what {
                What::Turn { id, agent, status, branch } => {
                    td { div class={ "d" (depth) } {
                        (parts::dot(status)) " "
                        a href={ (frame.path) "?sel=" (id) } data-open=(frame.link(&format!("/turns/{id}"))) { (text::agent(agent)) }
                        @if let Some(branch) = branch { " " span.soft { (branch) } }
                    } }
                },
                What::Call { id, number } => {
                    td.call { div class={ "d" (depth) } { a href=(frame.link(&format!("/calls/{id}"))) { "call " (number) } } }
                },
            }
            td.num.wide { @if matches!(row.what, What::Turn { .. }) { (row.spent.calls) } }
            td.num { (tokens(&row.spent)) }
            td.wide { (text::money(row.spent.micros.filter(|_| row.spent.calls > 0))) " "
                @if let Some(micros) = row.spent.micros.filter(|micros| *micros > 0) { (parts::share(micros, most)) } }
            td { (bars(&row.bars, view.took)) }
        }
    }
}

fn tokens(spent: &Spent) -> String {
    if spent.calls == 0 { text::UNKNOWN.to_owned() } else { text::grouped(spent.input) }
}

/// The stretches of a row on the axis, and what they say to those who do not see them.
fn bars(bars: &[Bar], took: i64) -> Markup {
    let at = |micros: i64| micros.clamp(0, took.max(1)) * WIDTH / took.max(1);
    let wide = |bar: &Bar| (at(bar.to) - at(bar.from)).max(2);
    html! {
        svg viewBox={ "0 0 " (WIDTH) " 32" } preserveAspectRatio="none" role="img" aria-label=(spoken(bars)) {
            @for bar in bars {
                @match bar.kind {
                    BarKind::Waiting => line.bar.wait x1=(at(bar.from)) x2=(at(bar.to)) y1="16" y2="16" {},
                    BarKind::Queued => rect.bar.queue x=(at(bar.from)) y="9" width=(wide(bar)) height="14" {},
                    BarKind::Running => rect.bar x=(at(bar.from)) y="9" width=(wide(bar)) height="14" rx="1" {},
                    BarKind::Live => rect.bar.live x=(at(bar.from)) y="9" width=(wide(bar)) height="14" rx="1" {},
                    BarKind::Call => rect.bar.call x=(at(bar.from)) y="9" width=(wide(bar)) height="14" rx="1" {},
                }
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
                    Some(text) => p { (text::first_line(text, 300)) },
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
        @if peek.withheld.is_empty() { p.soft { "Everything that its sender knew." } }
        @for card in &peek.withheld {
            div.note {
                b { (text::first_line(&card.text, 80)) }
                p.soft { (card.because) " " @if let Some(href) = &card.href { a href=(href) { "why?" } } }
            }
        }
        h3 { "Delivered" }
        @match &peek.delivered {
            Some(text) => div.box { (text::first_line(text, 600)) },
            None => p.soft { "Nothing yet." },
        }
        p {
            @if let Some(call) = &peek.call { a.button href=(frame.link(&format!("/calls/{call}"))) { "Open call" } " " }
            @if let Some(parent) = &peek.parent {
                a.button href=(frame.link(&format!("/diff?l={parent}&r={}", peek.turn))) { "Compare with its sender" }
            }
        }
    }
}
