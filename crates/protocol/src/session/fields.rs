//! The ordinary fields of the blackboard (ST-01, ST-02, ST-08): which there are, and who may write them.

use cardwire_model::{Invalid, InvalidCode, SessionKey};
use serde_json::{Map, Value};

/// Fields that a patch may set; the last write wins.
pub const ORDINARY: [&str; 15] = [
    "active_agent",
    "assigned_task",
    "deliverable_keys",
    "last_agent_status",
    "last_agent_error",
    "last_agent_failure_kind",
    "todo",
    "mapreduce_goal",
    "mapreduce_understanding",
    "mapreduce_tasks",
    "mapreduce_task",
    "goal",
    "plan",
    "reflection",
    "error_retry_count",
];

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
    if !ORDINARY.contains(&name) {
        return Err(Invalid::coded(InvalidCode::BlackboardKey, field(), "the blackboard has no such field"));
    }
    if name == "deliverable_keys" {
        return unique(value)
            .map(Set::Field)
            .ok_or_else(|| Invalid::field(field(), "must be a list of strings"));
    }
    Ok(Set::Field(value.clone()))
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
