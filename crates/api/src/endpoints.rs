//! The table of endpoints: one row drives routing, access, the OpenAPI document and the isolation tests, so that
//! none of them can forget a route.

mod context;
mod documents;
mod facts;
mod handoffs;
mod knowledge;
mod op;
mod pmo;
mod roster;
mod sessions;
mod state;
mod survey;
mod system;
mod turns;

pub use op::Op;

use crate::{Access, error::ErrorBody, yaml};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

/// One row.
#[derive(Clone, Copy)]
pub struct Endpoint {
    /// What it does.
    pub op: Op,
    /// HTTP method.
    pub method: &'static str,
    /// Path with `{parameters}`; a verb follows the last one after a colon.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    /// One line for people.
    pub summary: &'static str,
    /// Query parameters.
    pub query: &'static [Query],
    /// The request body.
    pub body: Option<Body>,
    /// The status and body of success.
    pub success: (u16, Option<Body>),
    /// Whether `Idempotency-Key` is honoured.
    pub repeatable: bool,
}

/// A query parameter.
#[derive(Clone, Copy)]
pub struct Query {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub kind: QueryKind,
    /// One line for people.
    pub summary: &'static str,
    /// Whether the request is refused without it.
    pub required: bool,
}

/// What a query parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryKind {
    /// A whole number.
    Integer,
    /// `true` or `false`.
    Boolean,
    /// Any text.
    Text,
    /// A moment, RFC 3339.
    Time,
}

/// A body and its schema.
#[derive(Clone, Copy)]
pub struct Body {
    /// `application/json` unless said otherwise.
    pub content_types: &'static [&'static str],
    /// The schema's name in the document.
    pub name: fn() -> String,
    /// The schema.
    pub schema: fn() -> RefOr<Schema>,
    /// Schemas it refers to.
    pub collect: fn(&mut Vec<(String, RefOr<Schema>)>),
    /// Whether the body is a list of these.
    pub list: bool,
}

/// A part of the interface: a tag in the document.
#[derive(Clone, Copy)]
pub struct Area {
    /// Its name.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Its endpoints.
    pub endpoints: &'static [Endpoint],
}

/// The areas, in the order of the document.
pub const AREAS: [Area; 12] = [
    area("system", "The server, projects, tokens, the audit log and the event log.", system::ENDPOINTS),
    area("facts", "Cards, which never change, and boxes, which are lists of cards.", facts::ENDPOINTS),
    area("roster", "Profiles, and the agents that have them.", roster::ENDPOINTS),
    area("documents", "Tools, recipes, teams and the plan.", documents::ENDPOINTS),
    area("pmo", "Handing work over: packing contexts, delegating, forking.", pmo::ENDPOINTS),
    area("turns", "Turns, for those who send them and for workers that run them.", turns::ENDPOINTS),
    area("state", "What agents are doing, what they have done, and what it cost.", state::ENDPOINTS),
    area("sessions", "What the agents of a team share and remember.", sessions::ENDPOINTS),
    area("knowledge", "Documents that agents are given passages of.", knowledge::ENDPOINTS),
    area("context", "What models are sent, and why.", context::ENDPOINTS),
    area("handoffs", "Handoff packages, and the files they refer to.", handoffs::ENDPOINTS),
    area("survey", "Trees of turns, lists of cards and boxes, and where a card is used.", survey::ENDPOINTS),
];

const fn area(name: &'static str, summary: &'static str, endpoints: &'static [Endpoint]) -> Area {
    Area { name, summary, endpoints }
}

/// Every endpoint there is.
pub const ENDPOINTS: &[Endpoint] = &all();

const COUNT: usize = {
    let (mut count, mut area) = (0, 0);
    while area < AREAS.len() {
        count += AREAS[area].endpoints.len();
        area += 1;
    }
    count
};

const fn all() -> [Endpoint; COUNT] {
    let mut all = [AREAS[0].endpoints[0]; COUNT];
    let (mut place, mut area) = (0, 0);
    while area < AREAS.len() {
        let mut row = 0;
        while row < AREAS[area].endpoints.len() {
            all[place] = AREAS[area].endpoints[row];
            place += 1;
            row += 1;
        }
        area += 1;
    }
    all
}

const JSON: &str = "application/json";

/// The body of every error.
pub const ERROR: Option<Body> = json::<ErrorBody>();

const fn json<T: ToSchema>() -> Option<Body> {
    Some(Body {
        content_types: &[JSON],
        name: || T::name().into_owned(),
        schema: <T as PartialSchema>::schema,
        collect: <T as ToSchema>::schemas,
        list: false,
    })
}

const fn typed<T: ToSchema>(content_types: &'static [&'static str]) -> Option<Body> {
    match json::<T>() {
        Some(body) => Some(Body { content_types, ..body }),
        None => None,
    }
}

/// A body that people write: JSON, or the same as YAML.
const fn yaml<T: ToSchema>() -> Option<Body> {
    typed::<T>(&[JSON, yaml::CONTENT_TYPES[0]])
}

const fn json_list<T: ToSchema>() -> Option<Body> {
    match json::<T>() {
        Some(body) => Some(Body { list: true, ..body }),
        None => None,
    }
}

/// Other spellings of filters, by the name that this interface has for them (API-08).
const SPELLINGS: [(&str, &str); 6] = [
    ("agent", "agent_id"),
    ("turn", "agent_turn_id"),
    ("trace", "trace_id"),
    ("correlation", "correlation_id"),
    ("phase", "edge_phase"),
    ("batch", "batch_id"),
];

impl Query {
    /// What the parameter may be called besides its name.
    pub fn spelling(&self) -> Option<&'static str> {
        SPELLINGS.into_iter().find(|(_, name)| *name == self.name).map(|(spelling, _)| spelling)
    }
}

const CURSOR: Query = text("cursor", "`next_cursor` of the page before.");
const LIMIT: Query = integer("limit", "How many, from 1; more than 500 is 500, and 50 when absent.");
const NAMESPACE: Query = text("namespace", "Whose; `default` when absent.");
const AGENT_ID: Query = text("agent_id", "Only of this agent.");
const AGENT_TURN_ID: Query = text("agent_turn_id", "Only of this turn.");
const TRACE_ID: Query = text("trace_id", "Only of this trace.");
const CORRELATION_ID: Query = text("correlation_id", "Only with this correlation.");
const SINCE: Query = query("since", QueryKind::Time, "Made at or after this.");
const UNTIL: Query = query("until", QueryKind::Time, "Made before this.");

const fn query(name: &'static str, kind: QueryKind, summary: &'static str) -> Query {
    Query { name, kind, summary, required: false }
}

const fn text(name: &'static str, summary: &'static str) -> Query {
    query(name, QueryKind::Text, summary)
}

/// A text that must be given.
const fn needed(name: &'static str, summary: &'static str) -> Query {
    Query { required: true, ..text(name, summary) }
}

const fn integer(name: &'static str, summary: &'static str) -> Query {
    query(name, QueryKind::Integer, summary)
}

const fn boolean(name: &'static str, summary: &'static str) -> Query {
    query(name, QueryKind::Boolean, summary)
}

const fn get(
    op: Op,
    path: &'static str,
    access: Access,
    summary: &'static str,
    out: Option<Body>,
) -> Endpoint {
    post(op, path, access, summary, None, (200, out)).method("GET")
}

const fn post(
    op: Op,
    path: &'static str,
    access: Access,
    summary: &'static str,
    body: Option<Body>,
    success: (u16, Option<Body>),
) -> Endpoint {
    Endpoint { op, method: "POST", path, access, summary, query: &[], body, success, repeatable: false }
}

const fn delete(op: Op, path: &'static str, access: Access, summary: &'static str) -> Endpoint {
    post(op, path, access, summary, None, (204, None)).method("DELETE")
}

impl Endpoint {
    const fn query(mut self, query: &'static [Query]) -> Self {
        self.query = query;
        self
    }

    const fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    const fn method(mut self, method: &'static str) -> Self {
        self.method = method;
        self
    }

    /// The query parameter of this name, or of this spelling.
    pub fn parameter(&self, name: &str) -> Option<&'static Query> {
        let own = self.query.iter().find(|known| known.name == name);
        own.or_else(|| self.query.iter().find(|known| known.spelling() == Some(name)))
    }

    /// The area it belongs to.
    pub fn area(&self) -> &'static str {
        let holds = |area: &&Area| area.endpoints.iter().any(|endpoint| endpoint.op == self.op);
        AREAS.iter().find(holds).map_or("", |area| area.name)
    }

    /// Names of the path parameters, in order.
    pub fn parameters(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.path.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name)
    }

    /// The verb after the last parameter, if there is one.
    pub fn verb(&self) -> Option<&'static str> {
        self.path.rsplit_once("}:").map(|(_, verb)| verb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_row_has_its_own_name_and_route() {
        let ops: HashSet<_> = ENDPOINTS.iter().map(|endpoint| endpoint.op).collect();
        let routes: HashSet<_> = ENDPOINTS.iter().map(|endpoint| (endpoint.method, endpoint.path)).collect();
        assert_eq!((ops.len(), routes.len()), (ENDPOINTS.len(), ENDPOINTS.len()));
    }

    /// API-08
    #[test]
    fn filters_have_another_spelling_where_they_are_offered() {
        let of = |op: Op| ENDPOINTS.iter().find(|endpoint| endpoint.op == op).unwrap();
        let name = |op, spelling| of(op).parameter(spelling).map(|query| query.name);
        for (spelling, name_of_it) in SPELLINGS {
            // Whoever has both would leave it open which is meant.
            let has = |endpoint: &Endpoint, name: &str| endpoint.query.iter().any(|query| query.name == name);
            let both = |endpoint: &&Endpoint| has(endpoint, spelling) && has(endpoint, name_of_it);
            assert_eq!(ENDPOINTS.iter().find(both).map(|endpoint| endpoint.path), None, "{spelling}");
            let offering = ENDPOINTS.iter().filter(|endpoint| endpoint.parameter(name_of_it).is_some());
            let found = offering.map(|endpoint| endpoint.parameter(spelling).map(|query| query.name));
            let found: Vec<_> = found.collect();
            assert!(!found.is_empty() && found.iter().all(|found| *found == Some(name_of_it)), "{spelling}");
        }
        assert_eq!(name(Op::ReadEvents, "batch"), Some("batch_id"));
        assert_eq!(name(Op::ListEdges, "phase"), Some("edge_phase"));
        assert_eq!(name(Op::ListSteps, "phase"), Some("phase"));
        assert_eq!(name(Op::ListSteps, "correlation"), None);
    }
}
