//! The server itself: whether it is ready, its numbers, who holds tokens.

use crate::{Body, Frame, page, parts, text};
use cardwire_model::Timestamp;
use maud::{Markup, html};

/// What the page shows.
#[derive(Debug, Clone)]
pub struct System {
    /// This program's version.
    pub version: String,
    /// The store and its version, and what there is to do; or why the store does not tell.
    pub store: Result<Store, String>,
    /// Why a write would not go through.
    pub trouble: Option<String>,
    /// The tokens; nothing for those who may not see them.
    pub tokens: Option<Vec<Token>>,
    /// There are more tokens.
    pub tokens_cut: bool,
    /// What the server counts.
    pub numbers: Vec<Number>,
    /// How many numbers there are.
    pub numbers_total: u64,
    /// When the page was made.
    pub now: Timestamp,
}

/// What the store says of itself.
#[derive(Debug, Clone)]
pub struct Store {
    /// `sqlite` or `postgres`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The newest migration.
    pub schema: u64,
    /// Events without a position yet.
    pub unnumbered: u64,
    /// Audit rows that are not sealed yet.
    pub unsealed: u64,
}

/// A token, without its secret.
#[derive(Debug, Clone)]
pub struct Token {
    /// Its id.
    pub id: String,
    /// The project it is for; all of them when none.
    pub project: Option<String>,
    /// What it may do.
    pub scopes: String,
    /// When it was made.
    pub at: Timestamp,
    /// When it ends by itself.
    pub expires: Option<Timestamp>,
    /// When it was ended.
    pub revoked: Option<Timestamp>,
}

/// One number that the server counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    /// Its name.
    pub name: String,
    /// What it is of.
    pub labels: String,
    /// Its value, as it is written.
    pub value: String,
}

impl Number {
    /// Reads a line of Prometheus' text: `name{labels} value`.
    pub fn read(line: &str) -> Option<Self> {
        let (head, value) = line.trim().rsplit_once(' ')?;
        if head.starts_with('#') {
            return None;
        }
        let (name, labels) = head.split_once('{').unwrap_or((head, ""));
        let labels = labels.strip_suffix('}').unwrap_or(labels);
        Some(Self { name: name.to_owned(), labels: labels.to_owned(), value: value.to_owned() })
    }

    /// Whether it tells of the watchdog.
    fn is_of_watchdog(&self) -> bool {
        self.name.contains("watchdog") || self.name.contains("sweep") || self.name.contains("backlog")
    }
}

/// The page.
pub fn show(frame: &Frame, view: &System) -> Markup {
    let facts = html! {
        @match &view.trouble { None => span.state.good { "ready" }, Some(_) => span.state.bad { "not ready" } }
        span { "version " b { (view.version) } }
        @if let Ok(store) = &view.store {
            span { b { (store.name) } " " (store.version) }
            (parts::fact(store.schema, "migrations"))
            (parts::fact(text::grouped(store.unnumbered), "events without a position"))
            (parts::fact(text::grouped(store.unsealed), "audit rows to seal"))
        }
    };
    let (watchdog, others): (Vec<_>, Vec<_>) =
        view.numbers.iter().partition(|number| number.is_of_watchdog());
    let work = html! {
        section.work aria-label="The server" {
            @if let Some(why) = &view.trouble { div.work.padded { p.note.bad { "A write would not go through: " (why) } } }
            @if let Err(why) = &view.store { div.work.padded { p.note.bad { "The store does not tell of itself: " (why) } } }
            div.work.padded { h3 { "Tokens" } (tokens(view)) }
            div.work.padded { h3 { (parts::word("watchdog")) } (numbers(&watchdog, "It has counted nothing since the server started.")) }
            div.work.padded { h3 { "Numbers" } (numbers(&others, "This server counts nothing; `cardwire up` does, and tells by GET /metrics."))
                @if view.numbers_total > view.numbers.len() as u64 { p.more { (text::grouped(view.numbers_total)) " in all, " (view.numbers.len()) " shown. The rest is at GET /metrics." } }
            }
        }
    };
    page(frame, Body { facts: Some(facts), work: Some(work), ..Body::default() })
}

fn tokens(view: &System) -> Markup {
    html! {
        @match &view.tokens {
            None => p.soft { "Tokens are shown to those whose own has the scope " code { "admin" } "." },
            Some(tokens) if tokens.is_empty() => (parts::empty("There are no tokens. Make one:", Some("cardwire token create --scope read --project PROJECT"))),
            Some(tokens) => {
                table data-list {
                    thead { tr { th scope="col" { "Token" } th scope="col" { "For" } th scope="col" { "May" } th scope="col" { "State" } th scope="col" { "Made" } } }
                    tbody { @for token in tokens { tr {
                        td { (parts::id(&token.id)) }
                        td { (token.project.as_deref().unwrap_or("all projects")) }
                        td { (token.scopes) }
                        td { (state(token, view.now)) }
                        td { (parts::moment(token.at, view.now)) }
                    } } }
                }
                @if view.tokens_cut { p.more { "More follow: " code { "cardwire token list" } } }
            }
        }
    }
}

fn state(token: &Token, now: Timestamp) -> Markup {
    html! {
        @match (token.revoked, token.expires) {
            (Some(at), _) => span.bad-text { "ended " (parts::moment(at, now)) },
            (None, Some(at)) if at <= now => span.bad-text { "expired " (parts::moment(at, now)) },
            (None, Some(at)) => { "until " time datetime=(at) { (at) } },
            (None, None) => "for ever",
        }
    }
}

fn numbers(numbers: &[&Number], none: &str) -> Markup {
    html! {
        @if numbers.is_empty() { p.soft { (none) } } @else {
            table data-list {
                thead { tr { th scope="col" { "Number" } th scope="col" { "Of" } th.num scope="col" { "Value" } } }
                tbody { @for number in numbers { tr { td { code { (number.name) } } td.soft { (number.labels) } td.num { (number.value) } } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// API-14
    #[test]
    fn numbers_are_read_as_they_are_told() {
        let read = |line: &str| Number::read(line).map(|number| (number.name, number.labels, number.value));
        let owned = |name: &str, labels: &str, value: &str| {
            Some((name.to_owned(), labels.to_owned(), value.to_owned()))
        };
        assert_eq!(read("a_total 7"), owned("a_total", "", "7"));
        assert_eq!(read("a{kind=\"x y\"} 0.5"), owned("a", "kind=\"x y\"", "0.5"));
        assert_eq!((read("# TYPE a counter"), read(""), read("alone")), (None, None, None));
    }
}
