//! Small parts that many pages show: states, ids, moments, layers, bars.

use crate::text;
use cardwire_model::Timestamp;
use maud::{Markup, html};

/// What was spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Calls of models that were answered.
    pub calls: u64,
    /// Tokens sent.
    pub input: u64,
    /// Those of them that the provider had read before.
    pub cached: u64,
    /// Tokens answered.
    pub output: u64,
    /// Millionths of a dollar; none where a price is not known.
    pub micros: Option<u64>,
}

/// The word for a state and what kind of state it is. A success is called delivered, because that is what it means.
pub(crate) fn state_word(status: &str) -> (&str, &'static str) {
    match status {
        "success" => ("delivered", "good"),
        "running" | "dispatched" => (status, "live"),
        "suspended" => ("waiting", "warn"),
        "queued" | "pending" => (status, "warn"),
        "partial" => (status, "warn"),
        "failed" | "timeout" => (status, "bad"),
        "canceled" => (status, "bad"),
        _ => (status, ""),
    }
}

/// A state with its colour.
pub fn state(status: &str) -> Markup {
    let (word, kind) = state_word(status);
    html! { span.state.(kind) { (word) } }
}

/// The same as a dot with its word for those who do not see it.
pub fn dot(status: &str) -> Markup {
    let (word, kind) = state_word(status);
    html! { span.state.bare.(kind) title=(word) { span.hidden { (word) } } }
}

/// A short id that shows the whole one and can be copied.
pub fn id(whole: &str) -> Markup {
    html! { span.id data-copy=(whole) title=(whole) { (text::short(whole)) } }
}

/// An id that leads somewhere.
pub fn id_link(whole: &str, href: &str) -> Markup {
    html! { a.id href=(href) title=(whole) { (text::short(whole)) } }
}

/// A moment, as far away as it is, with the exact time on hover.
pub fn moment(then: Timestamp, now: Timestamp) -> Markup {
    html! { time datetime=(then) title=(then) { (text::ago(then, now)) } }
}

/// A number with its word.
pub fn fact(value: impl std::fmt::Display, word: &str) -> Markup {
    html! { span { b { (value) } " " (word) } }
}

/// Tokens in and out, and what they cost.
pub fn spent_facts(spent: &Spent) -> Markup {
    html! {
        (fact(text::plural(spent.calls, "call"), ""))
        span { b { (text::grouped(spent.input)) } " tokens in, " b { (text::grouped(spent.output)) } " out" }
        span { b { (text::money(spent.micros)) } }
    }
}

/// A word of the vocabulary that explains itself on hover or focus (IN-08).
pub fn word(word: &str) -> Markup {
    let meaning = match word {
        "card" => "An immutable fact: what somebody said, was told, called or received.",
        "box" => "An ordered list of references to cards.",
        "handover" => "The rules by which one agent is given cards of another.",
        "batch" => "The children of one fork, which are joined again.",
        "recipe" => "Named rules of a handover.",
        "lease" => "The right of one worker to act for a turn, until it ends or is taken away.",
        "epoch" => "A number that rises with every lease: writes with an older one are refused.",
        "generation" => "A rewrite of a box makes a new generation; older ones stay readable.",
        _ => return html! { (word) },
    };
    html! { abbr title=(meaning) tabindex="0" { (word) } }
}

/// A layer of a request with its tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerTokens {
    /// Its name on the wire.
    pub layer: String,
    /// Its tokens.
    pub tokens: i64,
}

/// A layer's name for people.
pub fn layer_name(layer: &str) -> String {
    let name = match layer {
        "system_prompt" => "System prompt",
        "tools" => "Tools",
        "framework" => "Framework",
        "experience" => "Experience",
        "knowledge" => "Knowledge",
        "todo" => "Todo",
        "compression" => "Summary",
        "checkpoint" => "History",
        "turn" => "This turn",
        "query" => "Question",
        "extra" => "Other blocks",
        "provider_difference" | "provider difference" => "Counted by the provider",
        _ => return layer.to_owned(),
    };
    name.to_owned()
}

/// The layers of a request as one bar.
pub fn ribbon(layers: &[LayerTokens]) -> Markup {
    let total: i64 = layers.iter().map(|layer| layer.tokens.max(0)).sum();
    let mut at = 0;
    html! {
        svg.ribbon viewBox={ "0 0 " (total.max(1)) " 10" } preserveAspectRatio="none" aria-hidden="true" {
            @for layer in layers.iter().filter(|layer| layer.tokens > 0) {
                rect class={ "l-" (layer.layer) } x=(at) y="0" width=(layer.tokens) height="10" {}
                ({ at += layer.tokens; "" })
            }
        }
    }
}

/// The layers of a request as a list with their tokens.
pub fn legend(layers: &[LayerTokens]) -> Markup {
    html! {
        table.plain {
            tbody {
                @for layer in layers {
                    tr {
                        td { span class={ "swatch l-" (layer.layer) } {} (layer_name(&layer.layer)) }
                        td.num { (layer.tokens) }
                    }
                }
            }
        }
    }
}

/// A part of a whole as a small bar, where numbers are compared.
pub fn share(part: u64, whole: u64) -> Markup {
    html! {
        svg width="44" height="10" viewBox={ "0 0 " (whole.max(1)) " 10" } preserveAspectRatio="none" aria-hidden="true" {
            rect.bar.money x="0" y="3" width=(part) height="4" {}
        }
    }
}

/// What a page says where there is nothing yet: why, and the command that changes it (IN-11).
pub fn empty(why: &str, command: Option<&str>) -> Markup {
    html! {
        div.empty {
            p { (why) }
            @if let Some(command) = command { pre { (command) } }
        }
    }
}
