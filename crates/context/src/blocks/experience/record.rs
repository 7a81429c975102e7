//! What is remembered of a session (EX-01), and how it is told and changed as JSON.

use cardwire_model::{Invalid, limits};
use serde_json::{Map, Value, json};

/// How a session ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// Not known yet.
    #[default]
    Pending,
    /// It reached its goal.
    Success,
    /// It did not.
    Failure,
    /// It reached some of it.
    Partial,
}

impl Outcome {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Success, Self::Failure, Self::Partial];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Partial => "partial",
        }
    }

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == name)
    }
}

/// A chunk of knowledge that the session was shown (KN-04).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeRef {
    /// Which chunk: what makes two references one.
    pub chunk_id: String,
    /// Of which document.
    pub source_id: String,
}

/// What is remembered of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// Which session; an experience has no other id.
    pub session_id: String,
    /// What was wanted.
    pub goal: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What came of it.
    pub summary: String,
    /// The tools that were used, each once.
    pub tools: Vec<String>,
    /// The agents that took part, each once.
    pub agents: Vec<String>,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// What a person said about it: a text, or an object of their own making.
    pub feedback: Option<Value>,
    /// The knowledge it was shown, each chunk once.
    pub knowledge_refs: Vec<KnowledgeRef>,
    /// The members that nobody said and that were taken from what the session told. They are taken anew, not kept.
    pub derived: Vec<String>,
}

impl Record {
    /// A session that has begun.
    pub fn new(session_id: &str, goal: &str) -> Self {
        Self { session_id: session_id.to_owned(), goal: goal.to_owned(), ..Self::default() }
    }

    /// Adds tools that it does not have. What is over the limit is not remembered: a long session goes on.
    pub fn add_tools(&mut self, names: impl IntoIterator<Item = String>) {
        add(&mut self.tools, names, |name| name, limits::EXPERIENCE_ENTRIES);
    }

    /// Adds agents, as [`Self::add_tools`] does.
    pub fn add_agents(&mut self, names: impl IntoIterator<Item = String>) {
        add(&mut self.agents, names, |name| name, limits::EXPERIENCE_ENTRIES);
    }

    /// Adds knowledge, as [`Self::add_tools`] does.
    pub fn add_knowledge(&mut self, refs: impl IntoIterator<Item = KnowledgeRef>) {
        add(&mut self.knowledge_refs, refs, |one| &one.chunk_id, limits::EXPERIENCE_ENTRIES);
    }

    /// As it is kept and told.
    pub fn to_value(&self) -> Value {
        let reference = |one: &KnowledgeRef| json!({ "chunk_id": one.chunk_id, "source_id": one.source_id });
        let mut value = json!({
            "session_id": self.session_id,
            "goal": self.goal,
            "outcome": self.outcome.as_str(),
            "summary": self.summary,
            "tools": self.tools,
            "agents": self.agents,
            "duration_ms": self.duration_ms,
            "feedback": self.feedback,
            "knowledge_refs": self.knowledge_refs.iter().map(reference).collect::<Vec<_>>(),
        });
        if !self.derived.is_empty() {
            value["derived"] = self.derived.clone().into();
        }
        value
    }

    /// The reverse: an object with a `session_id`, and whatever else [`Self::merge`] takes.
    pub fn from_value(value: &Value) -> Result<Self, Invalid> {
        let session_id = value.get("session_id").and_then(Value::as_str).unwrap_or_default();
        if value.is_object() && session_id.is_empty() {
            return Err(Invalid::field("session_id", "must be a session's name"));
        }
        let mut said = value.clone();
        let derived = said.as_object_mut().and_then(|members| members.remove("derived"));
        let mut record = Self::new(session_id, "").merge(&said)?;
        record.derived = derived.map_or(Ok(vec![]), |names| list("derived", &names, one_name))?;
        Ok(record)
    }

    /// The record with a patch over it. A text, number or object takes the place of the one before; lists are
    /// added, so that a report which arrives twice changes nothing; `null` empties a member.
    pub fn merge(mut self, patch: &Value) -> Result<Self, Invalid> {
        let members = patch.as_object().ok_or_else(|| Invalid::field("body", "must be an object"))?;
        for (name, value) in members {
            // Somebody says it now, so that a list begins anew.
            if self.derived.iter().any(|derived| derived == name) {
                self.set(name, &Value::Null)?;
                self.derived.retain(|derived| derived != name);
            }
            self.set(name, value)?;
        }
        Ok(self)
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<(), Invalid> {
        match name {
            "session_id" if value.as_str() == Some(&self.session_id) => {}
            "session_id" => return Err(Invalid::field(name, "is another session")),
            "goal" => self.goal = text(name, value)?,
            "summary" => self.summary = text(name, value)?,
            "outcome" => self.outcome = outcome(value)?,
            "duration_ms" if value.is_null() => self.duration_ms = None,
            "duration_ms" => {
                let wrong = || Invalid::field(name, "must be a whole number of milliseconds");
                self.duration_ms = Some(value.as_u64().ok_or_else(wrong)?);
            }
            "feedback" => self.feedback = feedback(value)?,
            "tools" | "agents" if value.is_null() => self.names(name).clear(),
            "tools" | "agents" => {
                let names = list(name, value, one_name)?;
                add(self.names(name), names, |name| name, TOO_MANY);
                check_entries(name, self.names(name).len())?;
            }
            "knowledge_refs" if value.is_null() => self.knowledge_refs.clear(),
            "knowledge_refs" => {
                let refs = list(name, value, reference)?;
                add(&mut self.knowledge_refs, refs, |one| &one.chunk_id, TOO_MANY);
                check_entries(name, self.knowledge_refs.len())?;
            }
            name => return Err(Invalid::field(name, "is not known")),
        }
        Ok(())
    }

    fn names(&mut self, member: &str) -> &mut Vec<String> {
        if member == "tools" { &mut self.tools } else { &mut self.agents }
    }
}

/// Enough to see that there are more than allowed.
const TOO_MANY: usize = limits::EXPERIENCE_ENTRIES + 1;

fn check_entries(name: &str, entries: usize) -> Result<(), Invalid> {
    Invalid::check_size(name, entries, limits::EXPERIENCE_ENTRIES, "entries")
}

/// Adds what is not there yet, by its key, until there are so many.
fn add<T>(list: &mut Vec<T>, more: impl IntoIterator<Item = T>, key: impl Fn(&T) -> &String, most: usize) {
    for one in more {
        if list.len() >= most {
            break;
        }
        if !list.iter().any(|known| key(known) == key(&one)) {
            list.push(one);
        }
    }
}

fn text(name: &str, value: &Value) -> Result<String, Invalid> {
    match value {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(Invalid::field(name, "must be a string"))
        }
    }
}

fn outcome(value: &Value) -> Result<Outcome, Invalid> {
    let wrong = || Invalid::field("outcome", "must be pending, success, failure or partial");
    if value.is_null() {
        return Ok(Outcome::Pending);
    }
    value.as_str().and_then(Outcome::from_name).ok_or_else(wrong)
}

fn feedback(value: &Value) -> Result<Option<Value>, Invalid> {
    match value {
        Value::Null => Ok(None),
        Value::String(_) | Value::Object(_) => Ok(Some(value.clone())),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            Err(Invalid::field("feedback", "must be a string or an object"))
        }
    }
}

fn list<T>(
    name: &str,
    value: &Value,
    one: impl Fn(&str, &Value) -> Result<T, Invalid>,
) -> Result<Vec<T>, Invalid> {
    let values = value.as_array().ok_or_else(|| Invalid::field(name, "must be a list"))?;
    // Checked before anything is compared, so that a long list costs nothing.
    check_entries(name, values.len())?;
    values.iter().enumerate().map(|(index, value)| one(&format!("{name}/{index}"), value)).collect()
}

fn one_name(place: &str, value: &Value) -> Result<String, Invalid> {
    let name = value.as_str().map(str::trim).filter(|name| !name.is_empty());
    name.map(str::to_owned).ok_or_else(|| Invalid::field(place, "must be a name"))
}

fn reference(place: &str, value: &Value) -> Result<KnowledgeRef, Invalid> {
    let members = value.as_object().ok_or_else(|| Invalid::field(place, "must be an object"))?;
    let member = |name: &str| {
        let value = members.get(name).unwrap_or(&Value::Null);
        one_name(&format!("{place}/{name}"), value)
    };
    match unknown(members, &["chunk_id", "source_id"]) {
        Some(name) => Err(Invalid::field(format!("{place}/{name}"), "is not known")),
        None => Ok(KnowledgeRef { chunk_id: member("chunk_id")?, source_id: member("source_id")? }),
    }
}

fn unknown<'a>(members: &'a Map<String, Value>, known: &[&str]) -> Option<&'a String> {
    members.keys().find(|name| !known.contains(&name.as_str()))
}

#[cfg(test)]
mod tests;
