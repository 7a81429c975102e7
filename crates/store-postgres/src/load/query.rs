//! The statement that reads the parts of a snapshot that are asked for, for many askers of one tenant at once.
//!
//! It is put together from those parts only, because starting a part costs more than running it. There are few
//! combinations; each is put together once and planned once per connection. The tenant is named by the innermost row,
//! which every part depends on, so that it is in force before any part is read; it is local to the statement.

use crate::{
    error::store_error,
    rows::{Read, damaged, get},
    sql::part,
};
use cardwire_model::{Keys, limits::POISON_ROWS};
use deadpool_postgres::Client;
use std::{
    collections::HashMap,
    hash::{Hash, Hasher},
    sync::{Arc, Mutex, PoisonError},
};
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

const TENANT: &str = "(SELECT set_config('cardwire.project', $1::text, true) AS id OFFSET 0) AS tenant";

/// What stands in one column of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Part {
    Project,
    Cards,
    Boxes,
    Members,
    Token,
    Answer,
    Agent,
    Turn,
    Calls,
    Reports,
    Next,
    Head,
    Lost,
    Depth,
    Inbox,
    Edge,
    Step,
    Writers,
    Profile,
    Resource,
    Session,
}

/// What rows are looked up by.
#[derive(Debug, Clone)]
pub(crate) enum Key {
    Id(Uuid),
    Ids(Vec<Uuid>),
    Name(String),
}

/// What one asker wants, and the statement for it if that is to be put together.
#[derive(Default)]
pub(super) struct Query {
    pub(super) keys: Vec<Key>,
    pub(super) parts: Vec<Part>,
    text: Option<Text>,
}

/// A statement under construction.
#[derive(Default)]
struct Text {
    joins: String,
    columns: Vec<String>,
}

/// What decides the words of a statement.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) enum Shape {
    /// These parts, and so many keys.
    Parts(Vec<Part>, usize),
    /// One part alone, by its text.
    One(&'static str),
}

/// A statement that was put together: the same one for the same shape, so that it is told apart by where it is.
#[derive(Debug, Clone)]
pub(super) struct Statement(Arc<str>);

impl Statement {
    pub(super) fn text(&self) -> &str {
        &self.0
    }

    fn place(&self) -> *const u8 {
        self.0.as_ptr()
    }
}

impl PartialEq for Statement {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Statement {}

impl Hash for Statement {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.place().hash(state);
    }
}

/// The statements that were put together so far.
#[derive(Default)]
pub(super) struct Statements(Mutex<HashMap<Shape, Statement>>);

impl Statements {
    pub(super) fn of(&self, shape: Shape, make: impl FnOnce() -> Query) -> Statement {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(shape).or_insert_with(|| Statement(make().statement().into())).clone()
    }
}

impl Query {
    /// Keys and parts alone.
    pub(super) fn of(keys: &Keys) -> Self {
        Self::default().with(keys)
    }

    /// The same with the statement.
    pub(super) fn written(keys: &Keys) -> Self {
        Self { text: Some(Text::default()), ..Self::default() }.with(keys)
    }

    pub(super) fn shape(&self) -> Shape {
        Shape::Parts(self.parts.clone(), self.keys.len())
    }

    fn with(self, keys: &Keys) -> Self {
        let mut query = self;
        if keys.project {
            // It has no key of its own, but every asker must have one to be counted by.
            query.name("");
            query.row(Part::Project, part::PROJECT, &[]);
        }
        if !keys.cards.is_empty() {
            let cards = query.ids(keys.cards.iter().map(|id| id.uuid()));
            query.rows(Part::Cards, part::CARD_FACTS, &[("cards", &cards)]);
        }
        if let Some((box_id, cards)) = keys.members.as_ref().filter(|(_, cards)| !cards.is_empty()) {
            let box_id = query.key(Key::Id(box_id.uuid()));
            let cards = query.ids(cards.iter().map(|id| id.uuid()));
            query.rows(Part::Members, part::MEMBERS, &[("box", &box_id), ("cards", &cards)]);
        }
        if let Some(token) = keys.token {
            let token = query.key(Key::Id(token.uuid()));
            query.row(Part::Token, part::TOKEN, &[("token", &token)]);
        }
        if let Some(answer) = &keys.answer {
            let (caller, key) = (query.name(&answer.caller), query.name(&answer.key));
            query.row(Part::Answer, part::ANSWER, &[("caller", &caller), ("key", &key)]);
        }
        query.turns(keys);
        if let Some(turn) = keys.depth_of {
            let turn = query.key(Key::Id(turn.uuid()));
            query.row(Part::Depth, part::DEPTH, &[("turn", &turn)]);
        }
        if let Some(inbox) = keys.inbox {
            let inbox = query.key(Key::Id(inbox.uuid()));
            query.row(Part::Inbox, part::INBOX_ITEM, &[("inbox", &inbox)]);
        }
        if let Some((primitive, phase, correlation)) = &keys.edge {
            let names = [correlation.as_str(), primitive.as_str(), phase.as_str()];
            let [correlation, primitive, phase] = names.map(|name| query.name(name));
            let names = [("correlation", &*correlation), ("primitive", &*primitive), ("phase", &*phase)];
            query.row(Part::Edge, part::EDGE, &names);
        }
        if let Some(step) = &keys.step {
            let step = query.name(step.as_str());
            query.row(Part::Step, part::STEP, &[("step", &step)]);
        }
        if !keys.writers_of.is_empty() {
            let boxes = query.ids(keys.writers_of.iter().map(|id| id.uuid()));
            query.rows(Part::Writers, part::WRITERS, &[("boxes", &boxes)]);
        }
        if let Some(profile) = &keys.profile {
            let profile = query.name(profile.as_str());
            query.row(Part::Profile, part::PROFILE, &[("profile", &profile)]);
        }
        if let Some((kind, name)) = &keys.resource {
            let (kind, name) = (query.name(kind.as_str()), query.name(name.as_str()));
            query.row(Part::Resource, part::RESOURCE, &[("kind", &kind), ("name", &name)]);
        }
        if let Some(key) = &keys.session {
            let (namespace, session) = (query.name(key.namespace.as_str()), query.name(key.session.as_str()));
            let names = [("namespace", &*namespace), ("session", &*session)];
            query.row(Part::Session, part::SESSION, &names);
        }
        query
    }

    /// One row, by the name and the value of its key.
    pub(super) fn one(part: &str, (name, key): (&str, Key)) -> Self {
        let mut query = Self { text: Some(Text::default()), ..Self::default() };
        let key = query.key(key);
        query.write(|text| text.columns.push(format!("({})", filled(part, &[(name, &key)]))));
        query
    }

    /// A turn with what belongs to it, an agent with its head, and boxes: a turn names its agent and its output box.
    fn turns(&mut self, keys: &Keys) {
        let mut agent = None;
        if let Some(id) = &keys.agent {
            let id = self.name(id.as_str());
            self.row(Part::Agent, part::AGENT, &[("agent", &id)]);
            agent = Some(id);
        }
        let boxes = keys.boxes.iter().chain(keys.members.as_ref().map(|(id, _)| id));
        let boxes: Vec<Uuid> = boxes.map(|id| id.uuid()).collect();
        let mut wanted = (!boxes.is_empty()).then(|| self.key(Key::Ids(boxes)));
        if let Some(turn) = keys.turn {
            let turn = self.key(Key::Id(turn.uuid()));
            self.join("turn", part::TURN, &[("turn", &turn)]);
            self.column(Part::Turn, || "turn.found".to_owned());
            let its = "(turn.found).agent_id";
            if !keys.turn_alone {
                self.rows(Part::Calls, part::TURN_CALLS, &[("turn", &turn)]);
                self.rows(Part::Reports, part::TURN_REPORTS, &[("turn", &turn)]);
                let limit = (POISON_ROWS + 1).to_string();
                self.rows(Part::Next, part::NEXT_TURNS, &[("agent", its), ("limit", &limit)]);
            }
            agent = Some(agent.map_or_else(|| its.to_owned(), |id| format!("coalesce({its}, {id})")));
            let output = "(turn.found).output_box_id";
            wanted =
                Some(wanted.map_or_else(|| format!("ARRAY[{output}]"), |ids| format!("{ids} || {output}")));
        }
        if let Some(agent) = agent {
            self.join("head", part::HEAD, &[("agent", &agent)]);
            self.column(Part::Head, || "head.found".to_owned());
            self.column(Part::Lost, || {
                let is_lost = format!("(head.found).agent_id IS NULL AND {agent} IS NOT NULL");
                format!("CASE WHEN {is_lost} THEN cw_read_lost(tenant.id, {agent}) END")
            });
        }
        if let Some(wanted) = wanted {
            self.rows(Part::Boxes, part::BOXES, &[("boxes", &wanted)]);
        }
    }

    /// Adds a key; answers how the statement names it.
    fn key(&mut self, key: Key) -> String {
        let name = match (&self.text, &key) {
            (None, _) => String::new(),
            (Some(_), Key::Ids(_)) => format!("asker.k{}::uuid[]", self.keys.len()),
            (Some(_), Key::Id(_) | Key::Name(_)) => format!("asker.k{}", self.keys.len()),
        };
        self.keys.push(key);
        name
    }

    fn ids(&mut self, ids: impl Iterator<Item = Uuid>) -> String {
        self.key(Key::Ids(ids.collect()))
    }

    fn name(&mut self, name: &str) -> String {
        self.key(Key::Name(name.to_owned()))
    }

    fn write(&mut self, write: impl FnOnce(&mut Text)) {
        if let Some(text) = &mut self.text {
            write(text);
        }
    }

    fn column(&mut self, part: Part, column: impl FnOnce() -> String) {
        self.parts.push(part);
        self.write(|text| text.columns.push(column()));
    }

    /// A part that is one row.
    fn row(&mut self, part: Part, text: &str, names: &[(&str, &str)]) {
        self.column(part, || format!("({})", filled(text, names)));
    }

    /// A part that is many rows.
    fn rows(&mut self, part: Part, text: &str, names: &[(&str, &str)]) {
        self.column(part, || format!("ARRAY({})", filled(text, names)));
    }

    /// A row that other parts depend on.
    fn join(&mut self, name: &str, text: &str, names: &[(&str, &str)]) {
        self.write(|written| {
            let row = filled(text, names);
            let join = format!("\nLEFT JOIN LATERAL ({row} OFFSET 0) AS {name} (found) ON true");
            written.joins.push_str(&join);
        });
    }

    /// The statement. Its first parameter is the tenant, the others are lists with a key of each asker; its last
    /// column is the asker's number, from 1.
    fn statement(&self) -> String {
        let Some(text) = &self.text else { return String::new() };
        let (mut lists, mut names) = (vec![], vec![]);
        for (number, key) in self.keys.iter().enumerate() {
            // Lists of lists travel as lists of their text.
            let ty = if let Key::Id(_) = key { "uuid" } else { "text" };
            lists.push(format!("${}::{ty}[]", number + 2));
            names.push(format!("k{number}"));
        }
        format!(
            "SELECT {columns},\nasker.place\nFROM {TENANT}\nCROSS JOIN unnest({lists}) WITH ORDINALITY AS asker ({names}, place){joins}",
            columns = text.columns.join(",\n"),
            lists = lists.join(", "),
            names = names.join(", "),
            joins = text.joins,
        )
    }
}

/// A part without its comment, with the names of its keys replaced.
fn filled(text: &str, names: &[(&str, &str)]) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with("--")).collect();
    let text = lines.join("\n").replace("{tenant}", "tenant.id");
    names.iter().fold(text, |text, (name, key)| text.replace(&format!("{{{name}}}"), key))
}

/// Runs the statement for askers of one tenant; answers a row for each, in their order.
pub(super) async fn ask(client: &Client, statement: &str, tenant: &str, askers: &[&[Key]]) -> Read<Vec<Row>> {
    let statement = client.prepare_cached(statement).await.map_err(store_error)?;
    let count = askers.first().map_or(0, |keys| keys.len());
    let lists: Vec<_> = (0..count).map(|key| list(askers, key)).collect();
    let mut params: Vec<&(dyn ToSql + Sync)> = vec![&tenant];
    params.extend(lists.iter().map(|list| &**list as &(dyn ToSql + Sync)));
    let mut rows = client.query(&statement, &params).await.map_err(store_error)?;
    let place = |row: &Row| get::<i64>(row, row.len() - 1).unwrap_or(0);
    rows.sort_by_key(place);
    if rows.len() == askers.len() { Ok(rows) } else { Err(damaged("an answer for every asker")) }
}

/// One key of each asker.
fn list<'a>(askers: &[&'a [Key]], key: usize) -> Box<dyn ToSql + Sync + Send + 'a> {
    let keys = askers.iter().map(|keys| &keys[key]);
    if let Some(Key::Id(_)) = askers.first().map(|keys| &keys[key]) {
        let id = |key: &Key| if let Key::Id(id) = key { *id } else { Uuid::nil() };
        return Box::new(keys.map(id).collect::<Vec<Uuid>>());
    }
    Box::new(keys.map(Key::text).collect::<Vec<String>>())
}

impl Key {
    /// As the server writes it.
    fn text(&self) -> String {
        match self {
            Self::Id(id) => id.to_string(),
            Self::Ids(ids) => {
                format!("{{{}}}", ids.iter().map(Uuid::to_string).collect::<Vec<_>>().join(","))
            }
            Self::Name(name) => name.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_model::{BoxId, TurnId};

    #[test]
    fn a_statement_has_what_was_asked_for_and_nothing_else() {
        let keys = Keys { turn: Some(TurnId::from_uuid(Uuid::from_u128(1))), ..Keys::default() };
        let query = Query::written(&keys);
        let columns = query.text.as_ref().map(|text| text.columns.len());
        assert_eq!((query.keys.len(), columns), (1, Some(query.parts.len())));
        let text = query.statement();
        assert!(text.contains("state_agent_state_head") && !text.contains("FROM cards"), "{text}");
        assert!(!text.contains('{'), "{text}");
    }

    #[test]
    fn the_same_parts_have_the_same_statement() {
        let turn =
            |number| Keys { turn: Some(TurnId::from_uuid(Uuid::from_u128(number))), ..Keys::default() };
        let statements = Statements::default();
        let of = |keys: &Keys| statements.of(Query::of(keys).shape(), || Query::written(keys));
        let alone = Keys { turn_alone: true, ..turn(1) };
        let with_box = Keys { boxes: vec![BoxId::from_uuid(Uuid::from_u128(3))], ..turn(1) };
        assert_eq!(of(&turn(1)), of(&turn(2)));
        for other in [alone, with_box] {
            assert_ne!(of(&turn(1)), of(&other));
            assert_eq!(of(&other).text(), Query::written(&other).statement());
        }
    }
}
