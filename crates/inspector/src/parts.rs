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
    html! { span.dot.(kind) role="img" aria-label=(word) {} }
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
    let Some(meaning) = meaning(word) else { return html! { (word) } };
    html! { abbr title=(meaning) tabindex="0" { (word) } }
}

/// What a word means, in those of the glossary (docs/concepts.md).
pub(crate) fn meaning(word: &str) -> Option<&'static str> {
    GLOSSARY.iter().find(|(known, _)| *known == word).map(|(_, meaning)| *meaning)
}

/// Words that pages explain. A test holds them against the glossary.
const GLOSSARY: [(&str, &str); 35] = [
    ("agent", "A participant with a name, a profile and an inbox."),
    ("batch", "One fork: several children that were started together and are joined once."),
    ("box", "An ordered list of references to cards."),
    ("card", "An immutable fact with an id, a content, a type and a role."),
    ("checkpoint", "The state of a session after one change."),
    ("compaction", "Putting a summary in the place of older messages of a session."),
    ("context box", "The box that a turn reads."),
    ("deliverable", "The card that ends a turn and says what came of it."),
    ("document", "A text that was added to a project, in sections that can be searched."),
    ("epoch", "The number of a lease; it rises with every lease and whenever a turn is taken away."),
    ("event", "An entry of the durable event log, with a position."),
    ("fence", "The check that a write carries the live turn and its epoch."),
    ("generation", "A version of a box; a rewrite makes a new one."),
    ("grant", "An agent's permission to hand on a box."),
    ("handover", "The rules by which a context box is packed."),
    ("inbox", "The queue of one agent's turns."),
    ("join", "Closing a batch and answering the call that forked it."),
    ("knowledge", "Documents that were added to a project and can be searched."),
    ("layer", "A named part of what a model is sent."),
    ("lease", "The right of one worker to work on one turn at one epoch."),
    ("manifest", "The record of one model call: cards, blocks, tokens, reasons and the request's hash."),
    ("omission", "What a request has no room for, with the reason."),
    ("output box", "The box that a turn writes."),
    ("package", "Files handed over by their paths, with an index."),
    ("parent pointer", "The last card of a packed box, which names the agent that handed over."),
    ("process", "The way in which the agents of a team work together."),
    ("profile", "What an agent is: prompt, model, tools and worker target."),
    ("recipe", "A handover with a name."),
    ("session", "What is remembered of a conversation over many turns."),
    ("task", "One child of a batch."),
    ("team", "Agents, a process and a model in one file."),
    ("token budget", "How many tokens a reader of a package takes at most."),
    ("turn", "One leased piece of work of one agent."),
    (
        "watchdog",
        "The part of the server that notices what is late: unclaimed turns, silent workers, deadlines.",
    ),
    ("worker target", "The name by which workers and agents find each other."),
];

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
        svg.part aria-hidden="true" { rect width=(percent(part, whole)) {} }
    }
}

/// A part of a whole as a length in a drawing, to a tenth of a hundredth. Short, because long runs have many.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    let tenths = (part * 1_000).checked_div(whole).unwrap_or(0);
    match tenths % 10 {
        0 => format!("{}%", tenths / 10),
        rest => format!("{}.{rest}%", tenths / 10),
    }
}

/// Parts of a list that are laid out together when they are seen (IN-06): a hundred things, or fewer where they are long.
pub(crate) fn chunks<T>(items: &[T], bytes: impl Fn(&T) -> usize) -> Vec<&[T]> {
    const MOST: usize = 100;
    const BYTES: usize = 32 << 10;
    let (mut chunks, mut from, mut sum) = (vec![], 0, 0);
    for (place, item) in items.iter().enumerate() {
        let own = bytes(item);
        if place > from && (place - from == MOST || sum + own > BYTES) {
            chunks.extend(items.get(from..place));
            (from, sum) = (place, 0);
        }
        sum += own;
    }
    chunks.extend(items.get(from..).filter(|rest| !rest.is_empty()));
    chunks
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

#[cfg(test)]
mod tests {
    use super::*;

    /// IN-08
    #[test]
    fn a_word_is_explained_as_the_glossary_has_it() {
        let glossary = include_str!("../../../docs/concepts.md");
        for (word, meaning) in GLOSSARY {
            assert!(glossary.contains(&format!("| {word} | {meaning} |")), "{word}");
            assert!(super::word(word).into_string().starts_with("<abbr title="), "{word}");
        }
        assert!(GLOSSARY.is_sorted() && word("nonsense").into_string() == "nonsense");
    }
}
