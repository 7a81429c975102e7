//! The typed view of a card's content (CB-06): on the wire a JSON value, here one of the named shapes.

use super::CardKind;
use crate::{
    CanonicalJson, Invalid,
    schema::{Room, Schema},
};
use serde_json::{Map, Value};

/// What the content of a card means, by its kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// Any other JSON value.
    Json(Value),
    /// `task.result_fields`.
    Fields(Vec<FieldSpec>),
    /// `tool.call`.
    ToolCall {
        /// Which tool.
        tool_name: String,
        /// Its arguments.
        arguments: Value,
    },
    /// `tool.result`.
    ToolResult {
        /// How the call ended.
        status: ToolStatus,
        /// The whole value: `after_execution`, `result`, `error` and whatever else came along.
        body: Map<String, Value>,
    },
    /// `sys.tools`.
    Tools(Vec<Value>),
}

/// One field that a deliverable must have.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldSpec {
    /// Its name.
    pub name: String,
    /// What belongs in it.
    pub description: String,
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolStatus {
    /// It did what was asked.
    Success,
    /// It did not.
    Failed,
    /// It was called off.
    Canceled,
    /// It took too long.
    Timeout,
    /// It did some of what was asked.
    Partial,
}

impl ToolStatus {
    /// All statuses, in order.
    pub const ALL: [Self; 5] = [Self::Success, Self::Failed, Self::Canceled, Self::Timeout, Self::Partial];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Timeout => "timeout",
            Self::Partial => "partial",
        }
    }
}

impl Content {
    /// Reads the content of a card of this kind, refusing what does not have the kind's shape.
    pub fn parse(kind: &CardKind, content: &CanonicalJson) -> Result<Self, Invalid> {
        match kind.as_str() {
            "tool.call" => tool_call(content.to_value()),
            "tool.result" => tool_result(content.to_value()),
            "task.result_fields" => result_fields(content.to_value()),
            "sys.tools" => tools(content.to_value()),
            _ => Ok(match content.to_text() {
                Some(text) => Self::Text(text),
                None => Self::Json(content.to_value()),
            }),
        }
    }

    /// Like [`Self::parse`] without building the value where the kind asks for no shape.
    pub fn check(kind: &CardKind, content: &CanonicalJson) -> Result<(), Invalid> {
        match kind.as_str() {
            "tool.call" | "tool.result" | "sys.tools" => Self::parse(kind, content).map(drop),
            "task.result_fields" => {
                Self::parse(kind, content)?;
                check_schemas(content.to_value())
            }
            _ => Ok(()),
        }
    }
}

/// What is asked of a result can be checked, and all of it together within the limits (WK-07, SEC-07). Not looked at when a
/// card is read: one that was written before is as it is.
fn check_schemas(value: Value) -> Result<(), Invalid> {
    let mut room = Room::default();
    for (index, field) in unwrap_member(value, "fields").as_array().into_iter().flatten().enumerate() {
        if let Some(schema) = field.get("schema") {
            Schema::read(schema, &format!("content/fields/{index}/schema"), &mut room)?;
        }
    }
    Ok(())
}

fn object(value: Value, kind: &str) -> Result<Map<String, Value>, Invalid> {
    match value {
        Value::Object(members) => Ok(members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(Invalid::field("content", format!("a {kind} card holds an object")))
        }
    }
}

fn tool_call(value: Value) -> Result<Content, Invalid> {
    let mut members = object(value, "tool.call")?;
    let tool_name = match members.get("tool_name").and_then(Value::as_str) {
        Some(name) if !name.trim().is_empty() => name.to_owned(),
        Some(_) | None => return Err(Invalid::field("content/tool_name", "must be a non-blank string")),
    };
    let arguments = members.remove("arguments").unwrap_or(Value::Null);
    Ok(Content::ToolCall { tool_name, arguments })
}

fn tool_result(value: Value) -> Result<Content, Invalid> {
    let body = object(value, "tool.result")?;
    let given = body.get("status").and_then(Value::as_str);
    match ToolStatus::ALL.into_iter().find(|status| Some(status.as_str()) == given) {
        Some(status) => Ok(Content::ToolResult { status, body }),
        None => Err(Invalid::field(
            "content/status",
            "must be one of success, failed, canceled, timeout, partial",
        )),
    }
}

fn result_fields(value: Value) -> Result<Content, Invalid> {
    let Value::Array(fields) = unwrap_member(value, "fields") else {
        return Err(Invalid::field("content/fields", "must be a list"));
    };
    let read = |(index, field): (usize, &Value)| {
        let text = |key: &str| field.get(key).and_then(Value::as_str).map(str::to_owned);
        let name = text("name").filter(|name| !name.trim().is_empty()).ok_or_else(|| {
            Invalid::field(format!("content/fields/{index}/name"), "must be a non-blank string")
        })?;
        let description = text("description").ok_or_else(|| {
            Invalid::field(format!("content/fields/{index}/description"), "must be a string")
        })?;
        // What a schema says is for whoever checks values against it.
        if field.get("schema").is_some_and(|schema| !(schema.is_object() || schema.is_boolean())) {
            let reason = "must be an object, true or false";
            return Err(Invalid::field(format!("content/fields/{index}/schema"), reason));
        }
        Ok(FieldSpec { name, description })
    };
    fields.iter().enumerate().map(read).collect::<Result<_, _>>().map(Content::Fields)
}

fn tools(value: Value) -> Result<Content, Invalid> {
    let Value::Array(tools) = unwrap_member(value, "tools") else {
        return Err(Invalid::field("content/tools", "must be a list"));
    };
    Ok(Content::Tools(tools))
}

/// Both `{"name": [...]}` and the bare list are accepted.
fn unwrap_member(mut value: Value, name: &str) -> Value {
    match value.as_object_mut() {
        Some(members) => members.remove(name).unwrap_or(Value::Null),
        None => value,
    }
}
