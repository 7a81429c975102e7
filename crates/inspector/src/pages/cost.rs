//! What was spent, and on what.

mod treemap;

use crate::{
    Body, Frame, page,
    parts::{self, Spent},
    text,
};
use maud::{Markup, html};

/// What the page shows.
#[derive(Debug, Clone)]
pub struct Cost {
    /// By what: the word in the address.
    pub by: String,
    /// Of which turn and those below it; of the whole project where it is none.
    pub subtree: Option<String>,
    /// All together.
    pub total: Spent,
    /// By name: where it leads, and what was spent.
    pub rows: Vec<(String, Option<String>, Spent)>,
}

const WAYS: [(&str, &str); 5] =
    [("agent", "Agent"), ("layer", "Layer"), ("card", "Card"), ("model", "Model"), ("turn", "Turn")];

/// The page.
pub fn show(frame: &Frame, view: &Cost) -> Markup {
    let most = view.rows.iter().map(|(.., spent)| spent.input).max().unwrap_or(0);
    let facts = html! { (parts::spent_facts(&view.total)) };
    let work = html! {
        section.work aria-label="Sums" {
            div.work.padded {
                nav.tabs aria-label="By what" {
                    @for (word, name) in WAYS { a href=(way(frame, view, word)) aria-current=[(word == view.by).then_some("page")] { (name) } }
                }
            }
            @if view.rows.is_empty() { (parts::empty("No model was called yet.", None)) } @else {
                div.padded { (treemap::show(&shares(view))) }
                table.list {
                    thead { tr {
                        th scope="col" { "Name" } th.num scope="col" { "Calls" } th.num scope="col" { "Tokens in" }
                        th scope="col" { span.hidden { "Share" } } th.num scope="col" { "From cache" } th.num scope="col" { "Out" } th.num scope="col" { "Cost" }
                    } }
                    tbody { @for (name, href, spent) in &view.rows { tr {
                        td {
                            @if view.by == "layer" { span class={ "swatch l-" (name) } {} }
                            @match href { Some(href) => a href=(href) { b { (shown(&view.by, name)) } }, None => b { (shown(&view.by, name)) } }
                        }
                        td.num { (spent.calls) } td.num { (text::grouped(spent.input)) } td { (parts::share(spent.input, most)) }
                        td.num { (text::grouped(spent.cached)) } td.num { (text::grouped(spent.output)) } td.num { (text::money(spent.micros)) }
                    } } }
                }
            }
        }
    };
    page(frame, Body { facts: Some(facts), work: Some(work), ..Body::default() })
}

fn shares(view: &Cost) -> Vec<treemap::Share<'_>> {
    view.rows
        .iter()
        .map(|(name, href, spent)| treemap::Share {
            name: shown(&view.by, name),
            href: href.as_deref(),
            class: if view.by == "layer" { format!("l-{name}") } else { String::new() },
            size: spent.input,
            told: format!("{} tokens, {}", text::grouped(spent.input), text::money(spent.micros)),
        })
        .collect()
}

fn shown(by: &str, name: &str) -> String {
    match by {
        "layer" => parts::layer_name(name),
        "agent" => text::agent(name),
        "card" | "turn" => text::short(name),
        _ => name.to_owned(),
    }
}

fn way(frame: &Frame, view: &Cost, by: &str) -> String {
    match &view.subtree {
        Some(turn) => frame.link(&format!("/cost?by={by}&subtree={turn}")),
        None => frame.link(&format!("/cost?by={by}")),
    }
}
