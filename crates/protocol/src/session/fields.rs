//! The ordinary fields of the blackboard (ST-01, ST-02, ST-08): which there are, and who may write them.

use cardwire_model::{Invalid, InvalidCode, SessionKey};
use serde_json::{Map, Value};

/// Fields that a patch may set, and what they hold; the last write wins, and null takes a value away.
pub const ORDINARY: [(&str, Shape); 15] = [
    ("active_agent", Shape::Text),
    ("assigned_task", Shape::Text),
    ("deliverable_keys", Shape::Keys),
    ("last_agent_status", Shape::Text),
    ("last_agent_error", Shape::Text),
    ("last_agent_failure_kind", Shape::Text),
    ("todo", Shape::Any),
    ("mapreduce_goal", Shape::Text),
    ("mapreduce_understanding", Shape::Text),
    ("mapreduce_tasks", Shape::List),
    ("mapreduce_task", Shape::Notes),
    ("goal", Shape::Text),
    ("plan", Shape::Notes),
    ("reflection", Shape::Notes),
    ("error_retry_count", Shape::Count),
];

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A text.
    Text,
    /// A whole number from 0.
    Count,
    /// A list of strings, each once (ST-12).
    Keys,
    /// A list.
    List,
    /// What somebody wrote down: a text, a list or an object.
    Notes,
    /// Whatever it is: what cannot be read is not shown (CC-05).
    Any,
}

impl Shape {
    /// The value as it is kept, if it is one of these; null always is.
    fn read(self, value: &Value) -> Option<Value> {
        let is_one = match self {
            Self::Text => value.is_string(),
            Self::Count => value.is_u64(),
            Self::Keys => return unique(value),
            Self::List => value.is_array(),
            Self::Notes => value.is_string() || value.is_array() || value.is_object(),
            Self::Any => true,
        };
        (is_one || value.is_null()).then(|| value.clone())
    }

    /// What a value that is none is told.
    const fn wanted(self) -> &'static str {
        match self {
            Self::Text => "must be a string or null",
            Self::Count => "must be a whole number from 0, or null",
            Self::Keys => "must be a list of strings",
            Self::List => "must be a list or null",
            Self::Notes => "must be a string, a list, an object or null",
            Self::Any => "must be JSON",
        }
    }
}

/// Fields that only grow, or are replaced as a whole, by their own operations.
const REDUCERS: [&str; 3] = ["messages", "mapreduce_results", "timeline"];

/// The one block that is persisted whatever the settings say.
pub const COMPRESSION: &str = "compression__context";

/// What setting a field comes to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Set {
    /// An ordinary field gets a value; null takes it away.
    Field(Value),
    /// The summary of what was compacted.
    Compression(Option<String>),
    /// The results of the plan are emptied.
    ResetResults,
    /// The session is called that already.
    Nothing,
}

/// Reads one member of `set`. `reproducible` are the blocks that the project keeps, too.
pub(super) fn set(
    name: &str,
    value: &Value,
    key: &SessionKey,
    reproducible: &[String],
) -> Result<Set, Invalid> {
    let field = || format!("set/{name}");
    let text_or_null = |value: &Value| match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(Invalid::field(field(), "must be a string or null"))
        }
    };
    if name == COMPRESSION {
        return text_or_null(value).map(Set::Compression);
    }
    if name.ends_with("__context") {
        if reproducible.iter().any(|kept| kept == name) {
            return text_or_null(value).map(|text| Set::Field(text.into()));
        }
        let reason = "is made anew for every call and not persisted";
        return Err(Invalid::coded(InvalidCode::ContextNotPersistable, field(), reason));
    }
    if name == "mapreduce_results" && value.as_array().is_some_and(Vec::is_empty) {
        return Ok(Set::ResetResults);
    }
    if REDUCERS.contains(&name) {
        let reason = "is changed by its own operation only";
        return Err(Invalid::coded(InvalidCode::ReducerField, field(), reason));
    }
    let own = [("namespace", key.namespace.as_str()), ("session_id", key.session.as_str())];
    if let Some((_, own)) = own.iter().find(|(own, _)| *own == name) {
        let same = value.as_str() == Some(own);
        let refused = || Invalid::field(field(), "names the session and cannot be changed");
        return if same { Ok(Set::Nothing) } else { Err(refused()) };
    }
    let Some((_, shape)) = ORDINARY.iter().find(|(ordinary, _)| *ordinary == name) else {
        return Err(Invalid::coded(InvalidCode::BlackboardKey, field(), "the blackboard has no such field"));
    };
    let kept = shape.read(value).ok_or_else(|| Invalid::field(field(), shape.wanted()))?;
    Ok(Set::Field(kept))
}

/// Puts a value into the fields.
pub(super) fn write(fields: &mut Map<String, Value>, name: &str, value: Value) {
    if value.is_null() {
        fields.remove(name);
    } else {
        fields.insert(name.to_owned(), value);
    }
}

/// A list of strings, each once (ST-12).
fn unique(value: &Value) -> Option<Value> {
    if value.is_null() {
        return Some(Value::Null);
    }
    let mut kept: Vec<&str> = vec![];
    for key in value.as_array()? {
        let key = key.as_str()?;
        if !kept.contains(&key) {
            kept.push(key);
        }
    }
    Some(kept.into())
}
