//! Patches (ST-01..ST-06, ST-16): one change of a session. Ordinary fields are set, lists grow by their own operations,
//! and items are told apart by their ids alone: nothing is inferred from transcripts (ST-05).

use super::{
    Change, Held, State,
    fields::{self, Set},
    finish::{self, FinishAgent},
    list::{self, Item, Listed, is_closed},
    message, named_card, todo,
};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    CanonicalJson, CardDraft, CardId, Checkpoint, Invalid, Message, Origin, Segment, Session, Todo, TurnId,
    limits,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What to change.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Patch {
    /// The version that the caller has seen; 0 when there was no session.
    pub expected_version: Option<u64>,
    /// Memory.
    pub messages: Option<MessagesOp>,
    /// Results of a map_reduce plan.
    pub results: Option<ResultsOp>,
    /// More of what happened.
    pub timeline: Vec<Value>,
    /// `{plan?, updates?}` as a model said it (TD-04).
    pub todo: Option<Value>,
    /// Ordinary fields.
    pub set: BTreeMap<String, Value>,
    /// The end of an agent's part.
    pub finish_agent: Option<FinishAgent>,
    /// Blocks that the project persists besides the summary (ST-08).
    pub reproducible: Vec<String>,
    /// The messages are what was asked of this turn and what came of it. Its team has told of its rounds in between, and
    /// what was asked goes before that (ST-07, ST-14).
    pub led_by: Option<TurnId>,
}

/// What happens to memory (ST-03).
#[derive(Debug, Clone, PartialEq)]
pub enum MessagesOp {
    /// More messages; one with an id that is there takes its place.
    Append(Vec<Message>),
    /// These messages and no others.
    Replace(Vec<Message>),
}

/// What happens to the results of a plan (ST-04).
#[derive(Debug, Clone, PartialEq)]
pub enum ResultsOp {
    /// More results, each an object with a `task_id`.
    Append(Vec<Value>),
    /// A new plan begins.
    Reset,
}

/// The session after a patch.
#[derive(Debug, Clone, PartialEq)]
pub struct Patched {
    /// Its row.
    pub session: Session,
    /// Whether anything was written.
    pub changed: bool,
    /// Its memory.
    pub memory: Option<Segment>,
    /// How many messages it has.
    pub messages: u32,
    /// How many results of the plan.
    pub results: u32,
    /// Its ordinary fields.
    pub fields: Map<String, Value>,
    /// What stands for older messages.
    pub summary: Option<String>,
    /// The card that says it.
    pub summary_card: Option<CardId>,
}

impl Patch {
    /// Checks what can be checked before anything is read.
    pub fn check(&self) -> Result<(), Invalid> {
        let messages = match &self.messages {
            Some(MessagesOp::Append(messages) | MessagesOp::Replace(messages)) => messages.len(),
            None => 0,
        };
        let results = match &self.results {
            Some(ResultsOp::Append(results)) => results.len(),
            Some(ResultsOp::Reset) | None => 0,
        };
        for (name, len) in [(MESSAGES, messages), (RESULTS, results), ("timeline", self.timeline.len())] {
            Invalid::check_size(name, len, limits::PATCH_ITEMS, "items")?;
        }
        Ok(())
    }

    /// The cards that a named item would be, or is already known by.
    pub fn candidates(&self, state: &State) -> Vec<CardId> {
        let mut ids = vec![];
        for name in self.names() {
            ids.extend(name.1.parse::<CardId>().ok());
            ids.push(named_card(state, name.0, name.1));
        }
        ids
    }

    /// Whether memory and results must be read as a whole. `known` are the candidates that exist.
    pub fn needs_lists(&self, state: &State) -> bool {
        let lists = [state.checkpoint.memory, state.checkpoint.results, state.checkpoint.timeline];
        let met = !state.known.is_empty() || lists.into_iter().any(|reach| is_closed(state, reach));
        let paired = match &self.messages {
            Some(MessagesOp::Append(messages)) => message::pairs_with_memory(messages),
            Some(MessagesOp::Replace(_)) => true,
            None => false,
        };
        met || paired || self.led_by.is_some()
    }

    /// Where the question of a team's turn goes: before the first message that is named after the turn.
    fn question_place(&self, messages: &[Message], held: &[Held]) -> Option<usize> {
        let turn = self.led_by?.to_string();
        let is_there = |message: &Message| held.iter().any(|held| held.name == message.id);
        let is_asked = messages.first().is_some_and(|first| first.id.as_ref() == Some(&turn));
        let after = |name: &String| name.strip_prefix(&turn).is_some_and(|rest| rest.starts_with('_'));
        let place = held.iter().position(|held| held.name.as_ref().is_some_and(after))?;
        (is_asked && !messages.iter().any(is_there)).then_some(place)
    }

    fn names(&self) -> Vec<(&'static str, &str)> {
        let messages = match &self.messages {
            Some(MessagesOp::Append(messages) | MessagesOp::Replace(messages)) => &messages[..],
            None => &[],
        };
        let results = match &self.results {
            Some(ResultsOp::Append(results)) => &results[..],
            Some(ResultsOp::Reset) | None => &[],
        };
        let messages = messages.iter().filter_map(|message| Some((MESSAGES, message.id.as_deref()?)));
        let finish = self.finish_agent.as_ref().and_then(|finish| finish.message_id.as_deref());
        let results = results.iter().filter_map(|result| Some((RESULTS, task_of(result)?)));
        messages.chain(finish.map(|id| (MESSAGES, id))).chain(results).collect()
    }

    /// Whether it only adds to lists, so that it goes together with any other patch (ST-16).
    fn only_adds(&self) -> bool {
        let messages = matches!(self.messages, None | Some(MessagesOp::Append(_)));
        let results = matches!(self.results, None | Some(ResultsOp::Append(_)));
        messages && results && self.set.is_empty() && self.todo.is_none() && self.finish_agent.is_none()
    }
}

const MESSAGES: &str = "messages";
const RESULTS: &str = "mapreduce_results";

/// Changes the session, or makes it.
pub fn decide(state: &State, patch: &Patch, moment: &Moment) -> Result<Decision<Patched>, Rejection> {
    check_version(state, patch)?;
    let mut change = Change::new(state, "patched");
    let mut values = state.fields.clone();
    let mut set_summary = None;
    let mut reset = patch.results == Some(ResultsOp::Reset);
    for (name, value) in &patch.set {
        match fields::set(name, value, &state.key, &patch.reproducible)? {
            Set::Field(value) => fields::write(&mut values, name, value),
            Set::Compression(text) => set_summary = Some(text),
            Set::ResetResults => reset = true,
            Set::Nothing => {}
        }
    }
    if let Some(payload) = &patch.todo {
        let current = values.get("todo").and_then(Todo::from_value);
        let readable = current.is_some();
        let new = todo::apply(current, payload, state.key.session.as_str(), moment.now);
        // A list that cannot be read is nobody's to clear by accident.
        if new.is_some() || readable {
            fields::write(&mut values, "todo", new.map_or(Value::Null, |todo| todo.to_value()));
        }
    }
    let mut said = vec![];
    if let Some(finish) = &patch.finish_agent {
        said.push(finish::apply(finish, state, &mut values, &mut change, moment)?);
    }
    let mut touched = remember(state, patch, said, &mut change, moment)?;
    touched |= collect_results(state, patch, reset, &mut change, moment)?;
    touched |= record(state, &patch.timeline, &mut change, moment)?;
    let mut summary = state.summary.clone();
    if let Some(text) = set_summary {
        summary = text.filter(|text| !text.trim().is_empty());
        touched |= summarise(state, summary.as_deref(), &mut change, moment)?;
    }
    if values != state.fields {
        change.fields = Some(values.clone());
    }
    let patched = |session: Session, changed: bool, at: &Checkpoint| Patched {
        session,
        changed,
        memory: at.memory,
        messages: at.messages,
        results: at.results.map_or(0, |reach| reach.len),
        fields: values,
        summary,
        summary_card: at.summary,
    };
    if !touched
        && change.fields.is_none()
        && let Some(row) = state.row.as_ref().filter(|_| state.exists())
    {
        let outcome = patched(row.clone(), false, &state.checkpoint);
        return Ok(Decision::nothing(state.project.clone(), outcome));
    }
    let at = change.checkpoint.clone();
    let (commit, session) = state.close(change, moment)?;
    Ok(Decision { commit, outcome: patched(session, true, &at) })
}

/// A patch that only adds goes with whatever happened since; anything else wants the version it was made for.
fn check_version(state: &State, patch: &Patch) -> Result<(), Rejection> {
    let now = state.version();
    match patch.expected_version {
        Some(expected) if expected > now || (expected != now && !patch.only_adds()) => {
            Err(Rejection::Conflict(format!("expected_version is {expected}, the session is at {now}")))
        }
        Some(_) | None => Ok(()),
    }
}

fn remember(
    state: &State,
    patch: &Patch,
    said: Vec<Message>,
    change: &mut Change,
    moment: &Moment,
) -> Result<bool, Rejection> {
    let reach = change.checkpoint.memory;
    let held = state.memory.as_deref();
    let mut listed = match &patch.messages {
        None => Listed { reach, ..Listed::default() },
        Some(MessagesOp::Append(messages)) => {
            let items = message::items(&[&messages[..], &said].concat(), held)?;
            let place = held.and_then(|held| Some((held, patch.question_place(messages, held)?)));
            match place {
                Some(place) => list::append_around(state, MESSAGES, reach, place, &items, moment)?,
                None => list::append(state, MESSAGES, reach, held, &items, moment)?,
            }
        }
        Some(MessagesOp::Replace(messages)) => {
            let items = message::items(&[&messages[..], &said].concat(), None)?;
            list::replace(state, MESSAGES, reach, held.unwrap_or_default(), &items, moment)?
        }
    };
    if patch.messages.is_none() && !said.is_empty() {
        let items = message::items(&said, None)?;
        listed = list::append(state, MESSAGES, reach, held, &items, moment)?;
    }
    change.checkpoint.memory = listed.reach;
    change.checkpoint.messages = match patch.messages {
        Some(MessagesOp::Replace(_)) => listed.added,
        Some(MessagesOp::Append(_)) | None => change.checkpoint.messages + listed.added,
    };
    Ok(change.take(listed))
}

fn collect_results(
    state: &State,
    patch: &Patch,
    reset: bool,
    change: &mut Change,
    moment: &Moment,
) -> Result<bool, Rejection> {
    let had = change.checkpoint.results.is_some();
    if reset {
        change.checkpoint.results = None;
    }
    let Some(ResultsOp::Append(results)) = &patch.results else { return Ok(reset && had) };
    Invalid::check_size(RESULTS, results.len(), limits::PATCH_ITEMS, "results")?;
    let items: Vec<Item> = results.iter().enumerate().map(result).collect::<Result<_, _>>()?;
    let reach = change.checkpoint.results;
    let held = state.results.as_deref().filter(|_| !reset);
    let listed = list::append(state, RESULTS, reach, held, &items, moment)?;
    change.checkpoint.results = listed.reach;
    Ok(change.take(listed) || (reset && had))
}

/// The task that a result is of, as it is kept and found again.
fn task_of(result: &Value) -> Option<&str> {
    result.get("task_id").and_then(Value::as_str).map(str::trim).filter(|id| !id.is_empty())
}

fn result((index, value): (usize, &Value)) -> Result<Item, Invalid> {
    let field = |name: &str| format!("mapreduce_results/append/{index}{name}");
    if !value.is_object() {
        return Err(Invalid::field(field(""), "must be an object"));
    }
    let task =
        task_of(value).ok_or_else(|| Invalid::field(field("/task_id"), "must be a non-blank string"))?;
    item("session.result", "task_id", Some(task), value)
}

fn record(state: &State, entries: &[Value], change: &mut Change, moment: &Moment) -> Result<bool, Rejection> {
    Invalid::check_size("timeline", entries.len(), limits::PATCH_ITEMS, "entries")?;
    let items: Vec<Item> = entries
        .iter()
        .map(|entry| item("session.event", "entry_id", None, entry))
        .collect::<Result<_, _>>()?;
    let reach = change.checkpoint.timeline;
    let listed = list::append(state, "timeline", reach, state.timeline.as_deref(), &items, moment)?;
    change.checkpoint.timeline = listed.reach;
    Ok(change.take(listed))
}

fn item(kind: &str, name_key: &'static str, name: Option<&str>, content: &Value) -> Result<Item, Invalid> {
    Ok(Item {
        name: name.map(str::to_owned),
        name_key,
        draft: CardDraft {
            content: CanonicalJson::from_value(content)?,
            metadata: CanonicalJson::from_value(&json!({ "type": kind, "role": "system" }))?,
            tool_calls: None,
            tool_call_id: None,
            ttl_seconds: None,
        },
        origin: Origin::Agent,
    })
}

/// Sets or clears the summary by hand.
fn summarise(
    state: &State,
    text: Option<&str>,
    change: &mut Change,
    moment: &Moment,
) -> Result<bool, Rejection> {
    let had = change.checkpoint.summary.take();
    if let Some(text) = text {
        let previous = had.map(|card| card.to_string());
        let content = json!({ "summary": text, "covers": [], "previous": previous });
        let card = state.card(super::compact::KIND, &content, moment)?;
        change.checkpoint.summary = Some(change.put(card));
        return Ok(true);
    }
    Ok(had.is_some())
}

impl Change {
    /// Takes over what becomes of a list.
    fn take(&mut self, listed: Listed) -> bool {
        self.commit.expect.extend(listed.expect);
        self.commit.writes.extend(listed.writes);
        listed.changed > 0
    }
}
