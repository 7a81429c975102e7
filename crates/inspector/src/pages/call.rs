//! A call of a model: what was sent, where each part of it comes from, what was left out, and what it cost.

use super::run::NotGiven;
use crate::{
    Body, Frame, page,
    parts::{self, LayerTokens, Spent},
    text, words,
};
use cardwire_model::Timestamp;
use maud::{Markup, html};

/// What the page shows.
#[derive(Debug, Clone)]
pub struct Call {
    /// Which call.
    pub id: String,
    /// Who made it.
    pub agent: String,
    /// In which turn.
    pub turn: String,
    /// Which of its turn's calls it is, and how many there are.
    pub number: Option<(usize, usize)>,
    /// Which model was asked.
    pub model: String,
    /// Its layers with their tokens.
    pub layers: Vec<LayerTokens>,
    /// The messages as they were sent.
    pub messages: Vec<Message>,
    /// The request as ranges of bytes; empty where it cannot be rendered.
    pub spans: Vec<Span>,
    /// SHA-256 of the request.
    pub sha256: String,
    /// Whether the request was rendered again to the same bytes, or why not.
    pub proof: Result<(), String>,
    /// Tokens of the request.
    pub total: u64,
    /// Tokens at its start that the call before shares.
    pub shared: u64,
    /// Where what both calls begin with ends: the first card that is another one.
    pub cache_end: Option<CacheEnd>,
    /// The step that made it, so that it can be made anew.
    pub step: Option<String>,
    /// The call before this one of the same agent.
    pub previous: Option<String>,
    /// The call after this one of the same turn.
    pub next: Option<String>,
    /// What it has cost, once it was answered.
    pub spent: Option<Spent>,
    /// What the sender of its turn was shown, and this call was not.
    pub not_given: NotGiven,
    /// What was left out.
    pub omissions: Vec<Omission>,
    /// What was added so that the request is valid.
    pub repairs: Vec<Repair>,
    /// The card that is selected.
    pub selected: Option<Story>,
    /// Which tab is open.
    pub tab: Tab,
    /// The manifest as JSON.
    pub manifest: String,
    /// The cards that were answered.
    pub answer: Vec<Piece>,
    /// When it was composed.
    pub at: Timestamp,
    /// When the page was made.
    pub now: Timestamp,
}

/// A tab of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// Messages with their cards.
    Messages,
    /// The bytes of the request, coloured by origin.
    Bytes,
    /// The record.
    Manifest,
    /// What came back.
    Answer,
}

impl Tab {
    /// All of them, with the word in the address and the one on the page.
    pub const ALL: [(Self, &'static str, &'static str); 4] = [
        (Self::Messages, "messages", "Messages"),
        (Self::Bytes, "bytes", "Bytes"),
        (Self::Manifest, "manifest", "Manifest"),
        (Self::Answer, "answer", "Answer"),
    ];

    /// The one with this word in the address.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, word, _)| *word == name).map(|(tab, ..)| *tab)
    }
}

/// A message of the request.
#[derive(Debug, Clone)]
pub struct Message {
    /// Who speaks.
    pub role: String,
    /// What it is made of.
    pub pieces: Vec<Piece>,
}

/// A card or block in a message.
#[derive(Debug, Clone)]
pub struct Piece {
    /// Of which layer.
    pub layer: String,
    /// The card.
    pub card: Option<String>,
    /// What it says.
    pub text: String,
    /// Its tokens.
    pub tokens: Option<u64>,
    /// The card was deleted since.
    pub is_deleted: bool,
}

/// A range of the request's bytes.
#[derive(Debug, Clone)]
pub struct Span {
    /// The layer it comes from, `tools`, `repair` or `frame`.
    pub layer: String,
    /// The card it comes from.
    pub card: Option<String>,
    /// The bytes.
    pub text: String,
}

/// Something that was left out.
#[derive(Debug, Clone)]
pub struct Omission {
    /// Of which layer.
    pub layer: String,
    /// The card, where it is one.
    pub card: Option<String>,
    /// How many cards.
    pub cards: u64,
    /// How many tokens they would have taken.
    pub tokens: u64,
    /// Why.
    pub because: String,
}

/// Something that the linter added.
#[derive(Debug, Clone)]
pub struct Repair {
    /// Which rule was broken.
    pub rule: String,
    /// The card that broke it.
    pub card: Option<String>,
    /// The card that was added.
    pub added: String,
}

/// The first card that is not as it was in the call before.
#[derive(Debug, Clone)]
pub struct CacheEnd {
    /// The card.
    pub card: String,
    /// Of which layer.
    pub layer: String,
    /// What stood there in the call before.
    pub was: Option<String>,
    /// Tokens from there on, which are read anew.
    pub anew: u64,
    /// It is made for each call, so that it is another card each time.
    pub is_block: bool,
    /// The two texts, where both are known.
    pub texts: Option<(String, String)>,
    /// The call before.
    pub before: String,
}

/// How a card came into the call.
#[derive(Debug, Clone)]
pub struct Story {
    /// The card.
    pub card: String,
    /// What it is.
    pub kind: String,
    /// Its tokens.
    pub tokens: u64,
    /// How it came here, step by step: what happened, and the details.
    pub steps: Vec<(String, String)>,
    /// Its layer, if a call can do without.
    pub leavable: Option<String>,
    /// What it stands for, if it is a summary.
    pub stands_for: Option<String>,
    /// The calls that sent it, with its tokens in each.
    pub sent_in: Vec<(String, String)>,
}

/// The page.
pub fn show(frame: &Frame, view: &Call) -> Markup {
    let facts = html! {
        @match &view.spent {
            Some(spent) => {
                (parts::state("answered"))
                span { b { (text::grouped(spent.input)) } " tokens in, " b { (text::grouped(spent.output)) } " out" }
                span { b { (text::money(spent.micros)) } }
            },
            None => span { b { (text::grouped(view.total)) } " tokens composed, not answered" },
        }
        span { (view.model) }
        (parts::moment(view.at, view.now))
        @match &view.proof {
            Ok(()) => span.good-text { "✓ sha256 " code { (text::short(&view.sha256)) } ", rendered again, equal" },
            Err(why) => span.bad-text { "cannot be proven: " (why) },
        }
    };
    let acts = html! {
        @if let Some(previous) = &view.previous {
            a.button rel="prev" href=(frame.link(&format!("/calls/{previous}"))) { "‹ Previous " kbd { "[" } }
            a.button href=(frame.link(&format!("/diff?l={previous}&r={}", view.id))) { "Diff with it " kbd { "d" } }
        }
        a.button href=(frame.link(&format!("/calls/{}/request", view.id))) download { "Download" }
        @if let Some(next) = &view.next { a.button rel="next" href=(frame.link(&format!("/calls/{next}"))) { "› Next " kbd { "]" } } }
    };
    let work = html! {
        nav.rail aria-label="Layers" { (rail(frame, view)) }
        section.work.padded aria-label="Request" {
            nav.tabs aria-label="Views of the call" {
                @for (tab, word, name) in Tab::ALL {
                    a href={ (frame.path) "?tab=" (word) } aria-current=[(tab == view.tab).then_some("page")] { (name) }
                }
            }
            @match view.tab {
                Tab::Messages => (messages(frame, view)),
                Tab::Bytes => (bytes(frame, view)),
                Tab::Manifest => pre.box { (view.manifest) },
                Tab::Answer => (answer(frame, view)),
            }
        }
        @if let Some(story) = &view.selected { aside.peek aria-label="This card" { (tell(frame, view, story)) } }
    };
    page(frame, Body { facts: Some(facts), acts: Some(acts), work: Some(work), ..Body::default() })
}

fn rail(frame: &Frame, view: &Call) -> Markup {
    html! {
        div.row-between { h3 { "Layers" } span.soft { (text::grouped(view.total)) } }
        (parts::ribbon(&view.layers))
        div.layers {
            @for layer in &view.layers {
                a class={ "l-" (layer.layer) } href={ "#layer-" (layer.layer) } {
                    span { (parts::layer_name(&layer.layer)) } span { (layer.tokens) }
                }
            }
        }
        hr;
        h3 { "Cache" }
        (cache(frame, view))
        hr;
        h3 { "Left out" }
        @if view.omissions.is_empty() { p.soft { "Nothing." } }
        @for omission in &view.omissions {
            p { b { (text::plural(omission.cards, "card")) } ", " (text::grouped(omission.tokens)) " tokens: " (omission.because)
                @if let Some(card) = &omission.card { " " a href=(why(frame, view, card)) { "why?" } } }
        }
        hr;
        h3 { "Not given by its sender" }
        @if view.not_given.total == 0 { p.soft { "Nothing." } }
        @for card in &view.not_given.cards {
            p { b { (text::first_line(&card.text, 80)) } " " span.soft { (card.because) } " " @if let Some(href) = &card.href { a href=(href) { "why?" } } }
        }
        @if view.not_given.total > view.not_given.cards.len() as u64 { p.soft { (text::grouped(view.not_given.total)) " cards in all." } }
        @if !view.repairs.is_empty() {
            hr;
            h3 { "Added so that it is valid" }
            @for repair in &view.repairs {
                p { (repair.rule) ": " (parts::id_link(&repair.added, &frame.link(&format!("/cards/{}", repair.added)))) }
            }
        }
    }
}

fn why(frame: &Frame, view: &Call, card: &str) -> String {
    frame.link(&format!("/why?call={}&card={card}", view.id))
}

fn cache(frame: &Frame, view: &Call) -> Markup {
    html! {
        @if let Some(end) = &view.cache_end {
            @if end.was.is_some() {
                p.cache-end {
                    "Cache ends at " a href={ (frame.path) "?sel=" (end.card) } { (parts::layer_name(&end.layer)) }
                    @if end.is_block { ": this block is made for each call, and says something else now." } @else { ": another card stood here." }
                }
                p.soft { (text::grouped(end.anew)) " tokens from there on are read anew. What changes from call to call is best placed behind what stays." }
            } @else {
                p.good-text { "Nothing broke it: all of the call before stands at the start. "
                    a href={ (frame.path) "?sel=" (end.card) } { (text::grouped(end.anew)) " tokens" } " are new." }
            }
            @if let Some((then, now)) = &end.texts { div.box.small { (words::compared(&text::cut(then, WORDS), &text::cut(now, WORDS))) } }
            p { a href=(frame.link(&format!("/diff?l={}&r={}", end.before, view.id))) { "All that changed" } }
        }
        p {
            b { (text::grouped(view.shared)) } " tokens at the start are the same as in the call before"
            @match &view.spent {
                Some(spent) if view.shared > spent.cached => {
                    "; the provider read " b { (text::grouped(spent.cached)) } " of them from its cache."
                },
                Some(spent) => { "; the provider read " b { (text::grouped(spent.cached)) } " from its cache." },
                None => { "." },
            }
        }
    }
}

/// How much of a text is compared in the margin.
const WORDS: usize = 400;

fn messages(frame: &Frame, view: &Call) -> Markup {
    let mut seen: Vec<&str> = vec![];
    html! {
        @if view.messages.is_empty() { p.note.bad { "The request cannot be rendered again, so that its messages are not known." } }
        @for messages in parts::chunks(&in_parts(&view.messages), |(_, pieces)| length(pieces)) {
            div.chunk { @for (role, pieces) in messages {
                div.message {
                    @if let Some(role) = role { h3 { (role) } }
                    @for piece in *pieces {
                        @let is_first = !seen.contains(&piece.layer.as_str());
                        ({ if is_first { seen.push(&piece.layer); } "" })
                        @if is_cache_end(view, piece) { p.cache-end { "Cache ends here: this card is another one than in the call before" } }
                        (said(frame, view, piece, is_first))
                    }
                }
            } }
        }
    }
}

/// Messages as parts that are laid out together: a speaker may go on for thousands of cards. Only the first part says who speaks.
fn in_parts(messages: &[Message]) -> Vec<(Option<&str>, &[Piece])> {
    let mut found = vec![];
    for message in messages {
        let mut role = Some(message.role.as_str());
        let parts = parts::chunks(&message.pieces, |piece| piece.text.len());
        found.extend(parts.into_iter().map(|pieces| (role.take(), pieces)));
    }
    found
}

/// How long pieces are. Each takes room, however short it is.
fn length(pieces: &[Piece]) -> usize {
    const ROOM: usize = 330;
    pieces.iter().map(|piece| piece.text.len() + ROOM).sum()
}

fn is_cache_end(view: &Call, piece: &Piece) -> bool {
    view.cache_end
        .as_ref()
        .filter(|end| end.was.is_some())
        .is_some_and(|end| piece.card.as_ref() == Some(&end.card))
}

fn said(frame: &Frame, view: &Call, piece: &Piece, is_first: bool) -> Markup {
    let is_chosen =
        piece.card.is_some() && view.selected.as_ref().map(|story| &story.card) == piece.card.as_ref();
    let href = piece.card.as_ref().map(|card| format!("{}?sel={card}", frame.path));
    html! {
        a class={ "piece l-" (piece.layer) @if is_chosen { " chosen" } } href=[href]
            id=[is_first.then(|| format!("layer-{}", piece.layer))]
            data-open=[piece.card.as_ref().map(|card| frame.link(&format!("/cards/{card}")))] {
            span.said { @if piece.is_deleted { span.soft { "deleted since" } } @else { (piece.text) } }
            @if let Some(tokens) = piece.tokens { span.tokens { (tokens) } }
        }
    }
}

fn bytes(frame: &Frame, view: &Call) -> Markup {
    html! {
        p.soft { "Each colour is the layer that the bytes come from; grey is the request itself. Together they are what was sent, byte for byte." }
        p { button data-copy-text=".bytes" { "Copy" } }
        div.bytes.box data-sha256=(view.sha256) {
            @for spans in parts::chunks(&view.spans, |span| span.text.len()) {
                div.chunk { @for span in spans {
                    @match &span.card {
                        Some(card) => a class={ "span l-" (span.layer) } href={ (frame.path) "?tab=bytes&sel=" (card) } { (span.text) },
                        None => span class={ "span l-" (span.layer) } { (span.text) },
                    }
                } }
            }
        }
    }
}

fn answer(frame: &Frame, view: &Call) -> Markup {
    html! {
        @if view.answer.is_empty() { p.soft { "It was not answered, or its worker wrote nothing." } }
        @for piece in &view.answer { (said(frame, view, piece, false)) }
    }
}

/// What the answer would have been without the layer of the card: a fork of the turn at this call.
fn without(frame: &Frame, view: &Call, story: &Story) -> Markup {
    let (Some(layer), Some(step)) = (&story.leavable, &view.step) else { return html! {} };
    html! {
        h3 { "Without it" }
        @if frame.may_write {
            form method="post" action=(frame.link(&format!("/turns/{}/fork", view.turn))) {
                input type="hidden" name="at" value=(step);
                input type="hidden" name="without" value=(layer);
                button { "Fork without " (parts::layer_name(layer)) }
            }
        } @else {
            p.soft { "A fork makes this call anew without " (parts::layer_name(layer)) ". " a href="/inspect/session" { "Let the session write" } " first." }
        }
    }
}

fn tell(frame: &Frame, view: &Call, story: &Story) -> Markup {
    html! {
        div.row-between { h2 { "This card" } (parts::id_link(&story.card, &frame.link(&format!("/cards/{}", story.card)))) }
        p.soft { (story.kind) " · " (text::plural(story.tokens, "token")) }
        h3 { "How it came here" }
        ol.story { @for (what, details) in &story.steps { li { b { (what) } p.soft { (details) } } } }
        @if let Some(told) = &story.stands_for {
            h3 { "What it stands for" }
            p { (told) " " a href=(frame.link(&format!("/cards/{}", story.card))) { "Open it" } }
        }
        @if !story.sent_in.is_empty() {
            h3 { "Sent in" }
            table.plain {
                tbody {
                    @for (call, cost) in &story.sent_in {
                        tr { td { (parts::id_link(call, &frame.link(&format!("/calls/{call}")))) } td.num { (cost) } }
                    }
                }
            }
        }
        p {
            a.button href=(frame.link(&format!("/cards/{}", story.card))) { "Open card" } " "
            a.button href=(why(frame, view, &story.card)) { "Why? " kbd { "w" } }
        }
        (without(frame, view, story))
    }
}
