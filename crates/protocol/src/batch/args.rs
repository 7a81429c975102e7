//! The arguments of `fork_join` (BM-01..BM-04), read strictly: what is not known is refused by its path.

use crate::pmo::delegate::{Delegate, Strategy};
use cardwire_model::{Invalid, PmoSettings, limits};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// A fork to make.
#[derive(Debug, Clone, PartialEq)]
pub struct Fork {
    /// What each branch does, in order.
    pub tasks: Vec<Delegate>,
    /// One failure ends it.
    pub fail_fast: bool,
    /// So many successes are enough; 0 means that all are waited for.
    pub enough: u32,
    /// At most so many branches at once; 0 means all.
    pub parallel: u32,
    /// How long it may take, in microseconds.
    pub deadline: Option<i64>,
}

impl Fork {
    /// Reads the arguments.
    pub fn parse(given: &Map<String, Value>, settings: &PmoSettings) -> Result<Self, Invalid> {
        only(given, &["tasks", "fail_fast", "deadline_seconds", "aggregation", "max_parallel"], &[])?;
        let tasks = tasks(given, settings.fork_tasks())?;
        Ok(Self {
            fail_fast: flag(given)?,
            enough: aggregation(given, tasks.len())?,
            parallel: parallel(given)?,
            deadline: deadline(given, settings)?,
            tasks,
        })
    }
}

/// `invalid args.tasks.0.target_strategy: …`
fn refuse(path: &[&str], reason: &str) -> Invalid {
    let dotted = path.join(".");
    Invalid::field(format!("args/{}", path.join("/")), format!("invalid args.{dotted}: {reason}"))
}

fn only(given: &Map<String, Value>, names: &[&str], path: &[&str]) -> Result<(), Invalid> {
    match given.keys().find(|key| !names.contains(&key.as_str())) {
        Some(key) => Err(refuse(&[path, &[key.as_str()]].concat(), "is not known")),
        None => Ok(()),
    }
}

fn tasks(given: &Map<String, Value>, max: usize) -> Result<Vec<Delegate>, Invalid> {
    let list = match given.get("tasks") {
        Some(Value::Array(list)) if !list.is_empty() => list,
        Some(Value::Array(_)) => return Err(refuse(&["tasks"], "must have at least one task")),
        Some(_) => return Err(refuse(&["tasks"], "must be a list")),
        None => return Err(refuse(&["tasks"], "is required")),
    };
    if list.len() > max {
        let reason = format!("tasks fanout exceeds max limit (got={}, max={max})", list.len());
        return Err(Invalid::field("args/tasks", reason));
    }
    let mut reused = HashSet::new();
    let mut tasks = Vec::with_capacity(list.len());
    for (index, one) in list.iter().enumerate() {
        let index = index.to_string();
        let one = one.as_object().ok_or_else(|| refuse(&["tasks", &index], "must be an object"))?;
        let task = task(one, &index)?;
        if task.strategy == Strategy::Reuse && !reused.insert(task.target_ref.clone()) {
            let reason = format!("duplicate reuse target: {}", task.target_ref);
            return Err(refuse(&["tasks", &index, "target_ref"], &reason));
        }
        tasks.push(task);
    }
    Ok(tasks)
}

fn task(given: &Map<String, Value>, index: &str) -> Result<Delegate, Invalid> {
    only(given, &["target_strategy", "target_ref", "instruction", "context_box_id"], &["tasks", index])?;
    let text = |name: &str| match given.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim()).filter(|text| !text.is_empty())),
        Some(_) => Err(refuse(&["tasks", index, name], "must be a string")),
    };
    let required = |name: &str| {
        text(name)?.ok_or_else(|| refuse(&["tasks", index, name], "is required")).map(str::to_owned)
    };
    let strategy = required("target_strategy")?;
    let strategy = Strategy::parse(&strategy)
        .ok_or_else(|| refuse(&["tasks", index, "target_strategy"], "must be one of new|reuse|clone"))?;
    if matches!(given.get("context_box_id"), Some(Value::String(text)) if text.trim().is_empty()) {
        return Err(refuse(&["tasks", index, "context_box_id"], "must be a box_id"));
    }
    Ok(Delegate {
        strategy,
        target_ref: required("target_ref")?,
        instruction: required("instruction")?,
        context_box: text("context_box_id")?.map(str::to_owned),
        include_history: false,
        recipe: None,
    })
}

/// A flag, a number, or a word for one.
fn flag(given: &Map<String, Value>) -> Result<bool, Invalid> {
    let wrong = || refuse(&["fail_fast"], "must be true or false");
    match given.get("fail_fast") {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(Value::Number(number)) => Ok(number.as_f64().ok_or_else(wrong)? != 0.0),
        Some(Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(true),
            "false" | "0" | "no" | "off" | "" => Ok(false),
            _ => Err(wrong()),
        },
        Some(Value::Array(_) | Value::Object(_)) => Err(wrong()),
    }
}

/// `all`, `any`, `quorum(n)` or `{"quorum": n}`.
fn aggregation(given: &Map<String, Value>, tasks: usize) -> Result<u32, Invalid> {
    let wrong = || refuse(&["aggregation"], "must be all, any or quorum(n)");
    let quorum = match given.get("aggregation") {
        None | Some(Value::Null) => return Ok(0),
        Some(Value::String(text)) => match text.trim() {
            "all" => return Ok(0),
            "any" => 1,
            text => {
                let inner = text.strip_prefix("quorum(").and_then(|rest| rest.strip_suffix(')'));
                inner.and_then(|number| number.trim().parse::<u64>().ok()).ok_or_else(wrong)?
            }
        },
        Some(Value::Object(object)) if object.len() == 1 => {
            object.get("quorum").and_then(Value::as_u64).ok_or_else(wrong)?
        }
        Some(_) => return Err(wrong()),
    };
    if quorum == 0 || quorum > tasks as u64 {
        let reason = format!("the quorum must be 1 to {tasks}, the number of tasks");
        return Err(refuse(&["aggregation"], &reason));
    }
    Ok(u32::try_from(quorum).unwrap_or(u32::MAX))
}

fn parallel(given: &Map<String, Value>) -> Result<u32, Invalid> {
    let max = limits::FORK_TASKS_MAX as u64;
    match given.get("max_parallel") {
        None | Some(Value::Null) => Ok(0),
        Some(value) => match value.as_u64() {
            Some(number @ 1..) if number <= max => Ok(number as u32),
            Some(_) | None => Err(refuse(&["max_parallel"], &format!("must be 1 to {max}"))),
        },
    }
}

fn deadline(given: &Map<String, Value>, settings: &PmoSettings) -> Result<Option<i64>, Invalid> {
    let max = limits::FORK_DEADLINE_SECONDS_MAX;
    match given.get("deadline_seconds") {
        None | Some(Value::Null) => {
            Ok(settings.fork_deadline().map(|seconds| i64::from(seconds) * 1_000_000))
        }
        Some(Value::Number(number)) => match number.as_f64() {
            Some(seconds) if seconds > 0.0 && seconds <= f64::from(max) => {
                // Never 0: that would be over before it began.
                Ok(Some(((seconds * 1e6) as i64).max(1)))
            }
            Some(_) | None => {
                Err(refuse(&["deadline_seconds"], &format!("must be more than 0 and at most {max}")))
            }
        },
        Some(_) => Err(refuse(&["deadline_seconds"], "must be a number")),
    }
}

#[cfg(test)]
mod tests;
