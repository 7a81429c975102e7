//! The todo list of a session (TD-01).

use crate::{Timestamp, inbox::names};
use serde_json::{Map, Value, json};

names! {
    /// How far an item is.
    TodoStatus {
        /// Not begun.
        Pending = "pending",
        /// Begun.
        Running = "running",
        /// Done.
        Completed = "completed",
        /// Did not work.
        Failed = "failed",
        /// Not needed.
        Skipped = "skipped",
        /// Called off.
        Aborted = "aborted",
    }
}

impl TodoStatus {
    /// Whether nothing more will happen to it (TD-03).
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Pending | Self::Running => false,
            Self::Completed | Self::Failed | Self::Skipped | Self::Aborted => true,
        }
    }
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TodoItem {
    /// `t1`, `t2`, …
    pub id: String,
    /// What.
    pub description: String,
    /// How far.
    pub status: TodoStatus,
    /// What came of it.
    pub result: Option<String>,
}

/// The list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Todo {
    /// Whose.
    pub session_id: String,
    /// What for.
    pub goal: Option<String>,
    /// In order.
    pub items: Vec<TodoItem>,
    /// The number of the next item; numbers are not used twice (TD-02).
    pub next_item_id: u64,
    /// When it last changed.
    pub updated_at_ms: i64,
}

impl Todo {
    /// An empty list.
    pub fn new(session_id: &str, now: Timestamp) -> Self {
        Self {
            session_id: session_id.to_owned(),
            goal: None,
            items: vec![],
            next_item_id: 1,
            updated_at_ms: now.micros() / 1_000,
        }
    }

    /// The snapshot on the wire and in the session's fields.
    pub fn to_value(&self) -> Value {
        let item = |item: &TodoItem| {
            let mut object = json!({
                "id": item.id, "description": item.description, "status": item.status.as_str(),
            });
            if let Some(result) = &item.result {
                object["result"] = result.as_str().into();
            }
            object
        };
        let mut object = Map::new();
        object.insert("session_id".into(), self.session_id.as_str().into());
        if let Some(goal) = &self.goal {
            object.insert("goal".into(), goal.as_str().into());
        }
        object.insert("items".into(), self.items.iter().map(item).collect());
        object.insert("next_item_id".into(), self.next_item_id.into());
        object.insert("updated_at_ms".into(), self.updated_at_ms.into());
        Value::Object(object)
    }

    /// The reverse; `None` for anything that is no snapshot (CC-05: then there is simply no block).
    pub fn from_value(value: &Value) -> Option<Self> {
        let object = value.as_object()?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let optional = |value: Option<&Value>| match value {
            None | Some(Value::Null) => Some(None),
            Some(value) => text(value).map(Some),
        };
        let item = |value: &Value| {
            Some(TodoItem {
                id: text(value.get("id")?)?,
                description: text(value.get("description")?)?,
                status: TodoStatus::from_name(value.get("status")?.as_str()?)?,
                result: optional(value.get("result"))?,
            })
        };
        let items: Vec<_> = object.get("items")?.as_array()?.iter().map(item).collect::<Option<_>>()?;
        let next = object.get("next_item_id").and_then(Value::as_u64);
        Some(Self {
            session_id: object.get("session_id").and_then(text).unwrap_or_default(),
            goal: optional(object.get("goal"))?,
            next_item_id: next.unwrap_or(items.len() as u64 + 1),
            items,
            updated_at_ms: object.get("updated_at_ms").and_then(Value::as_i64).unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TD-01
    #[test]
    fn a_snapshot_is_read_back_and_anything_else_is_none() {
        let todo = Todo {
            session_id: "s".to_owned(),
            goal: Some("g".to_owned()),
            items: vec![TodoItem {
                id: "t2".to_owned(),
                description: "d".to_owned(),
                status: TodoStatus::Running,
                result: Some("r".to_owned()),
            }],
            next_item_id: 3,
            updated_at_ms: 5,
        };
        assert_eq!(Todo::from_value(&todo.to_value()), Some(todo));
        for bad in [json!("x"), json!({}), json!({"items": [{"id": "t1"}]}), json!({"items": [], "goal": 1})]
        {
            assert_eq!(Todo::from_value(&bad), None, "{bad}");
        }
    }
}
