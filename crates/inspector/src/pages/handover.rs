//! A handover: what the sender knew, what it handed over and by which rule, what it kept, and what the same rules would pack now.

use crate::{Body, Frame, page, parts, text};
use cardwire_model::Timestamp;
use maud::{Markup, html};

/// What the page shows.
#[derive(Debug, Clone)]
pub struct Handover {
    /// The turn that was given it.
    pub turn: String,
    /// Whose.
    pub agent: String,
    /// The box it was given.
    pub context: String,
    /// The cards that are shown, in the order of the box.
    pub given: Vec<Given>,
    /// How many cards the box has.
    pub given_total: u64,
    /// Tokens of the cards that are shown.
    pub tokens: u64,
    /// How the box was packed; nothing when the turn was sent without a handover.
    pub packed: Option<Packed>,
    /// Where the rest of the box is.
    pub more: Option<String>,
    /// When the box was made.
    pub at: Timestamp,
    /// When the page was made.
    pub now: Timestamp,
}

/// A card, as it is shown.
#[derive(Debug, Clone)]
pub struct Card {
    /// Which.
    pub id: String,
    /// What it says.
    pub text: String,
    /// Its type.
    pub kind: String,
    /// Its layer, for its colour.
    pub layer: String,
    /// Its tokens.
    pub tokens: u64,
}

/// A card that was handed over.
#[derive(Debug, Clone)]
pub struct Given {
    /// The card; nothing when it cannot be read any more.
    pub card: Option<Card>,
    /// Where it comes from.
    pub from: Origin,
    /// Whether the same rules would pack it now; nothing where that is not known.
    pub again: Option<bool>,
}

/// Where a card of a context comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Made of an argument of the call, by a rule.
    Argument {
        /// The argument, where the rules are known.
        name: Option<String>,
        /// Which rule.
        rule: u16,
    },
    /// By reference, from a box.
    Box {
        /// Which box.
        id: String,
        /// At which generation.
        generation: u32,
    },
    /// Made new: it names the sender.
    Parent,
    /// Put there by whoever put the box together.
    Direct,
}

/// How a context was packed.
#[derive(Debug, Clone)]
pub struct Packed {
    /// Who handed over.
    pub sender: Option<String>,
    /// In which turn.
    pub sender_turn: Option<String>,
    /// The tool or the recipe.
    pub tool: String,
    /// It is a recipe of the project.
    pub is_recipe: bool,
    /// The card of the call.
    pub call: Option<String>,
    /// For which profile.
    pub profile: String,
    /// The rules, each as a sentence; nothing where they are not known any more.
    pub rules: Vec<String>,
    /// Whether these are the rules of then.
    pub rules_hold: Option<bool>,
    /// How many cards the sender's turn knew.
    pub known: Option<u64>,
    /// Those that it did not hand over, as far as they are shown.
    pub withheld: Vec<Withheld>,
    /// How many there are.
    pub withheld_total: u64,
    /// Why they were not.
    pub because: String,
    /// What the rules would pack now.
    pub again: Again,
    /// The row of the audit log.
    pub audit: u64,
}

/// A card that the sender knew and kept.
#[derive(Debug, Clone)]
pub struct Withheld {
    /// The card.
    pub card: Card,
    /// Where it is told why the receiver was not sent it, once it has called a model.
    pub why: Option<String>,
}

/// What the rules would pack now.
#[derive(Debug, Clone)]
pub enum Again {
    /// So many cards.
    Would {
        /// How many cards.
        cards: u64,
        /// Their tokens.
        tokens: u64,
        /// Cards that were not packed then.
        only_now: Vec<Card>,
        /// How many of these there are.
        only_now_total: u64,
        /// Boxes that are gone.
        missing: Vec<String>,
        /// Whether the request would fit into the window of the target's model; nothing where no window is known.
        fits: Option<bool>,
        /// Why the request could not be sent.
        problem: Option<String>,
    },
    /// It would be refused.
    Refused(String),
    /// It cannot be told.
    Unknown(String),
}

impl Handover {
    /// How many of the cards that are shown would not be packed now.
    pub fn not_now(&self) -> u64 {
        self.given.iter().filter(|given| given.again == Some(false)).count() as u64
    }
}

impl Origin {
    /// In a few words.
    pub fn words(&self) -> String {
        match self {
            Self::Argument { name: Some(name), rule } => format!("argument {name}, rule {rule}"),
            Self::Argument { name: None, rule } => format!("an argument, rule {rule}"),
            Self::Box { id, generation } => format!("by reference, box {}@{generation}", text::short(id)),
            Self::Parent => "made new: a pointer to the sender".to_owned(),
            Self::Direct => "put there by the dispatcher".to_owned(),
        }
    }
}

/// The page.
pub fn show(frame: &Frame, view: &Handover) -> Markup {
    let packed = view.packed.as_ref();
    let facts = html! {
        @if let Some(known) = packed.and_then(|packed| packed.known) { (parts::fact(text::plural(known, "card"), "known")) }
        span { b { (text::grouped(view.given_total)) } " in its " (parts::word("context box")) }
        @if let Some(packed) = packed {
            span { a href="#withheld" { b { (text::grouped(packed.withheld_total)) } " withheld" } }
        }
        (parts::fact(text::count(view.tokens), "tokens given"))
        @match packed {
            Some(packed) => span { (parts::word(if packed.is_recipe { "recipe" } else { "handover" })) " " code { (packed.tool) } },
            None => span.state.warn { "no handover" },
        }
        (parts::moment(view.at, view.now))
    };
    let acts = html! {
        @if let Some(turn) = packed.and_then(|packed| packed.sender_turn.as_ref()) {
            a.button href=(frame.link(&format!("/diff?l={turn}&r={}", view.turn))) { "Compare both turns" }
        }
        a.button.primary href=(frame.link(&format!("/turns/{}", view.turn))) { "The turn" }
    };
    let work = html! {
        section.work aria-label="The handover" {
            @if packed.is_none() { (alone(view)) }
            div.sides {
                h3 { @match packed.and_then(|packed| packed.sender.as_ref()) { Some(sender) => { (sender) ", when it handed over" }, None => "Where it comes from" } }
                span {}
                h3 { (view.agent) ", at its start" }
                @for given in &view.given { (given_row(frame, packed, given)) }
            }
            @if let Some(more) = &view.more { p.more { (text::grouped(view.given_total)) " cards in all. " a href=(more) { "The whole box" } } }
            @if view.given.is_empty() { (parts::empty("It was given no cards.", None)) }
            @if let Some(packed) = packed { (withheld(frame, view, packed)) (only_now(frame, &packed.again)) }
        }
        aside.peek aria-label="Beside the handover" { (aside(frame, view)) }
    };
    page(frame, Body { facts: Some(facts), acts: Some(acts), work: Some(work), ..Body::default() })
}

/// What is said of a turn that nobody handed anything.
fn alone(view: &Handover) -> Markup {
    html! {
        div.work.padded {
            p.note { b { "This turn was sent without a handover. " }
                "Whoever dispatched it put its context together, so that there are no rules, and nothing is known to be withheld." }
            p.soft { "To hand work over by rules, call a tool or a recipe in the name of an agent:" }
            pre.box { "cardwire pmo call delegate_async --caller AGENT --args '{\"target_strategy\": \"reuse\", \"target_ref\": \"" (view.agent) "\", \"instruction\": \"…\"}'" }
        }
    }
}

fn side(frame: &Frame, card: &Card, line: &str) -> Markup {
    html! {
        div class={ "side l-" (card.layer) } {
            div.row-between {
                a href=(frame.link(&format!("/cards/{}", card.id))) { (text::first_line(&card.text, 160)) }
                span.soft { (card.tokens) }
            }
            span.soft { (line) }
        }
    }
}

fn absent(words: &str) -> Markup {
    html! { div.side.absent { (words) } }
}

fn given_row(frame: &Frame, packed: Option<&Packed>, given: &Given) -> Markup {
    let right = match &given.card {
        Some(card) => side(frame, card, &format!("{} · {}", card.kind, given.from.words())),
        None => absent("deleted since"),
    };
    let call = packed.and_then(|packed| packed.call.as_ref());
    let left = html! {
        @match (&given.from, &given.card) {
            (Origin::Box { id, generation }, Some(card)) => div class={ "side l-" (card.layer) } {
                (text::first_line(&card.text, 160)) br;
                span.soft { "in box " (parts::id_link(id, &frame.link(&format!("/boxes/{id}@{generation}")))) "@" (generation) }
            },
            (Origin::Box { id, generation }, None) => div.side.absent { "box " (parts::id_link(id, &frame.link(&format!("/boxes/{id}@{generation}")))) },
            (Origin::Argument { name, rule }, _) => div.side {
                @match name { Some(name) => { "argument " code { (name) } }, None => { "the argument of rule " (rule) } }
                @if let Some(packed) = packed { " of " code { (packed.tool) } } br;
                span.soft { @match call {
                    Some(call) => a href=(frame.link(&format!("/cards/{call}"))) { "the call" },
                    None => "of a call outside a turn",
                } }
            },
            (Origin::Parent, _) => (absent("made new, not a card of the sender")),
            (Origin::Direct, _) => (absent("no box and no argument")),
        }
    };
    let arrow = match given.from {
        Origin::Argument { .. } => "made of it →",
        Origin::Box { .. } => "by reference →",
        Origin::Parent | Origin::Direct => "its own ○",
    };
    html! {
        (left)
        @if given.again == Some(false) { span.arrow.withheld { (arrow) br; "not packed now" } }
        @else if matches!(given.from, Origin::Parent | Origin::Direct) { span.arrow.own { (arrow) } }
        @else { span.arrow { (arrow) } }
        (right)
    }
}

fn withheld(frame: &Frame, view: &Handover, packed: &Packed) -> Markup {
    html! {
        div.work.padded #withheld {
            h3 { "Not handed over" }
            @if packed.known.is_none() {
                p.soft { "No turn has sent it, so that it is not known what else was there: " (text::UNKNOWN) }
            } @else if packed.withheld_total == 0 { p.soft { "Everything that the sender knew was handed over." } }
            @else { p.note { (packed.because) } }
        }
        div.sides {
            @for one in &packed.withheld {
                (side(frame, &one.card, &one.card.kind))
                span.arrow.withheld { "withheld ✕" }
                div.side.absent { "Not given to " (view.agent) ". "
                    @match &one.why {
                        Some(why) => a href=(why) { "why?" },
                        None => "It has called no model yet.",
                    }
                }
            }
        }
        @if packed.withheld_total > packed.withheld.len() as u64 {
            p.more { (text::grouped(packed.withheld_total)) " withheld in all, " (packed.withheld.len()) " shown. "
                @if let Some(turn) = &packed.sender_turn { a href=(frame.link(&format!("/diff?l={turn}&r={}", view.turn))) { "Compare both turns" } }
            }
        }
    }
}

fn only_now(frame: &Frame, again: &Again) -> Markup {
    let Again::Would { only_now, only_now_total, .. } = again else { return html! {} };
    html! {
        @if *only_now_total > 0 {
            div.work.padded { h3 { "Packed only now" } p.note { "The same rules would pack these today; they did not then." } }
            div.sides {
                @for card in only_now { (side(frame, card, &card.kind)) span.arrow { "now →" } div.side.absent { "was not there then" } }
            }
            @if *only_now_total > only_now.len() as u64 { p.more { (text::grouped(*only_now_total)) " in all, " (only_now.len()) " shown" } }
        }
    }
}

fn aside(frame: &Frame, view: &Handover) -> Markup {
    html! {
        @if let Some(packed) = &view.packed {
            h3 { "Rules" }
            p { @if packed.is_recipe { a href=(frame.link(&format!("/recipes/{}", packed.tool))) { (packed.tool) } } @else { code { (packed.tool) } }
                ", for " (parts::word("profile")) " " b { (packed.profile) } }
            @if packed.rules.is_empty() { p.soft { "The rules came with the request, or their recipe is gone: only their hash is kept." } }
            ol { @for rule in &packed.rules { li { (rule) } } }
            @match packed.rules_hold {
                Some(true) => p.good-text { "✓ The rules are those of then: their hashes are equal." },
                Some(false) => p.warn-text { "The recipe was rewritten since; these are its rules now." },
                None => {},
            }
            h3 { "A dry run now" }
            (dry_run(view, &packed.again))
            h3 { "Proof" }
            p { a href=(frame.link(&format!("/audit?before={}", packed.audit + 1))) { "Row of the audit log" } }
        }
        h3 { "Boxes" }
        p { "given " (parts::id_link(&view.context, &frame.link(&format!("/boxes/{}", view.context)))) }
        @if let Some(turn) = view.packed.as_ref().and_then(|packed| packed.sender_turn.as_ref()) {
            h3 { "Sent by" }
            p { a href=(frame.link(&format!("/turns/{turn}"))) { "the sender's turn" } }
        }
    }
}

fn dry_run(view: &Handover, again: &Again) -> Markup {
    let differ = view.not_now();
    html! {
        @match again {
            Again::Would { cards, tokens, only_now_total, missing, fits, problem, .. } => {
                p { "It would pack " b { (text::plural(*cards, "card")) } ", " b { (text::count(*tokens)) } " tokens." }
                @if differ == 0 && *only_now_total == 0 && missing.is_empty() { p.good-text { "✓ The same cards as then." } }
                @if differ > 0 { p.warn-text { (text::plural(differ, "card")) " of then would not be packed." } }
                @if *only_now_total > 0 { p.warn-text { (text::plural(*only_now_total, "card")) " would come besides." } }
                @for id in missing { p.bad-text { "Box " (parts::id(id)) " is not there any more." } }
                @match fits {
                    Some(true) => p.soft { "The request fits into the window of the model." },
                    Some(false) => p.warn-text { "The request does not fit into the window of the model: parts would be left out." },
                    None => p.soft { "The profile names no window, so that it is not known whether it fits: " (text::UNKNOWN) },
                }
                @if let Some(problem) = problem { p.bad-text { "It could not be sent: " (problem) } }
            },
            Again::Refused(why) => p.note.bad { "It would be refused: " (why) },
            Again::Unknown(why) => p.soft { (text::UNKNOWN) " " (why) },
        }
    }
}
