//! A tool that workers run: what a model is told of it, and what happens when it has answered. Where it runs is for its
//! callers to understand.

use super::{object, objects, only, text};
use crate::turn::report::AfterExecution;
use cardwire_model::{CanonicalJson, Invalid, ToolTarget, check_web_address, limits, nearest, schema};
use serde_json::{Map, Value};

/// What a tool may say.
pub const MEMBERS: [&str; 7] =
    ["name", "description", "parameters", "after_execution", "target", "approval", "metadata"];

/// A tool as its author wrote it, as far as the kernel reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tool {
    /// What happens to the turn that called it.
    pub after_execution: AfterExecution,
    /// Whether somebody must agree before it runs.
    pub approval: Approval,
}

/// Whether somebody must agree before a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// Nobody has to.
    None,
    /// Somebody has to.
    Required,
}

impl Approval {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Required => "required",
        }
    }
}

impl Tool {
    /// Reads `{description?, parameters?, after_execution?, target?, approval?, metadata?}`.
    pub fn parse(content: &CanonicalJson) -> Result<Self, Invalid> {
        let value = content.to_value();
        let members = object("body", &value)?;
        only(members, &MEMBERS, "")?;
        text(members, "description")?;
        objects(members, &["parameters", "target", "metadata"])?;
        if let Some(parameters @ Value::Object(members)) = members.get("parameters") {
            schema::check_size(parameters, "parameters", &mut schema::Room::default())?;
            check_schema(members)?;
        }
        if let Some(Value::Object(target)) = members.get("target") {
            check_target(target)?;
        }
        Ok(Self {
            after_execution: match text(members, "after_execution")? {
                None | Some("suspend") => AfterExecution::Suspend,
                Some("terminate") => AfterExecution::Terminate,
                Some(_) => {
                    return Err(Invalid::field("after_execution", "must be one of suspend, terminate"));
                }
            },
            approval: match text(members, "approval")? {
                None | Some("none") => Approval::None,
                Some("required") => Approval::Required,
                Some(_) => return Err(Invalid::field("approval", "must be one of none, required")),
            },
        })
    }
}

/// What is understood of a target here.
const TARGET: [&str; 4] = ["url", "nats", "reply", "wait_seconds"];

/// Where a tool is called over HTTP is an address that calls can go to, without credentials (SEC-09). This is asked when a
/// tool is written, not when it is read: older ones stay readable.
pub(super) fn check_address(content: &CanonicalJson) -> Result<(), Invalid> {
    let content = content.to_value();
    let target = content.get("target").and_then(Value::as_object);
    // What else a target says is for its callers to understand, but for slips of what is understood here.
    let slip = |name: &&String| !TARGET.contains(&name.as_str()) && nearest(name, TARGET).is_some();
    if let Some(name) = target.and_then(|target| target.keys().find(slip)) {
        return Err(Invalid::unknown(format!("target/{name}"), name, &TARGET));
    }
    match content.pointer("/target/url") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(url)) => {
            check_web_address(url).map_err(|reason| Invalid::field("target/url", reason))
        }
        Some(_) => Err(Invalid::field("target/url", "must be a text")),
    }
}

/// A place on the bus, if it is one: its name becomes part of a subject. Other places are for callers to understand.
fn check_target(target: &Map<String, Value>) -> Result<(), Invalid> {
    let Some(name) = target.get("nats") else { return Ok(()) };
    let wrong = |field: &str, reason: &str| Err(Invalid::field(format!("target/{field}"), reason));
    let known = ["nats", "reply", "wait_seconds"];
    if let Some(field) = target.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(Invalid::unknown(format!("target/{field}"), field, &known));
    }
    if name.as_str().is_none_or(|name| name.parse::<ToolTarget>().is_err()) {
        return wrong("nats", "must be 1 to 128 letters, digits, _ and -");
    }
    if target.get("reply").is_some_and(|reply| !reply.is_boolean()) {
        return wrong("reply", "must be true or false");
    }
    let most = u64::from(limits::RESUME_SECONDS_MAX);
    if target
        .get("wait_seconds")
        .is_some_and(|wait| !wait.as_u64().is_some_and(|wait| (1..=most).contains(&wait)))
    {
        return wrong("wait_seconds", &format!("must be 1 to {most}"));
    }
    Ok(())
}

/// A JSON Schema of an object, as far as every model needs it to be one. Providers run it, not we.
fn check_schema(schema: &Map<String, Value>) -> Result<(), Invalid> {
    if schema.get("type").is_some_and(|kind| kind != "object") {
        return Err(Invalid::field("parameters/type", "must be object"));
    }
    let no_properties = Map::new();
    let properties = match schema.get("properties") {
        Some(properties) => object("parameters/properties", properties)?,
        None => &no_properties,
    };
    if let Some((name, _)) =
        properties.iter().find(|(_, schema)| !(schema.is_object() || schema.is_boolean()))
    {
        return Err(Invalid::field(format!("parameters/properties/{name}"), "must be a schema"));
    }
    let is_names = |list: &Vec<Value>| list.iter().all(Value::is_string);
    match schema.get("required") {
        None => Ok(()),
        Some(Value::Array(list)) if is_names(list) => Ok(()),
        Some(_) => Err(Invalid::field("parameters/required", "must be a list of names")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(value: &Value) -> Result<Tool, Invalid> {
        Tool::parse(&CanonicalJson::from_value(value).unwrap())
    }

    #[test]
    fn a_turn_goes_on_after_a_tool_unless_it_says_otherwise() {
        let plain = Tool { after_execution: AfterExecution::Suspend, approval: Approval::None };
        assert_eq!(parse(&json!({})), Ok(plain));
        let last =
            json!({ "after_execution": "terminate", "approval": "required", "target": { "url": "x" } });
        let last = parse(&last).unwrap();
        assert_eq!((last.after_execution, last.approval), (AfterExecution::Terminate, Approval::Required));
        let schema = json!({ "type": "object", "properties": { "q": {}, "r": true }, "required": ["q"] });
        assert_eq!(parse(&json!({ "parameters": schema, "description": null })), Ok(plain));
        let on_bus = json!({ "target": { "nats": "a-B_1", "reply": true, "wait_seconds": 604_800 } });
        assert_eq!(parse(&on_bus), Ok(plain));
    }

    /// F-39, SEC-08
    #[test]
    fn a_tool_is_called_at_an_address_without_credentials_or_not_written() {
        let check = |tool: Value| {
            let content = CanonicalJson::from_value(&tool).unwrap();
            crate::resource::check(cardwire_model::ResourceKind::Tool, &content)
        };
        for legal in
            [json!({}), json!({ "target": { "url": "https://x/y" } }), json!({ "target": { "a": 1 } })]
        {
            assert_eq!(check(legal.clone()), Ok(()), "{legal}");
        }
        let slip = check(json!({ "target": { "ulr": "https://x" } })).unwrap_err().to_string();
        assert_eq!(slip, "target/ulr: is not known; did you mean `url`?");
        for wrong in
            [json!("file:///etc/passwd"), json!("gopher://x"), json!("http://me:hunter2@x"), json!(7)]
        {
            let tool = json!({ "target": { "url": wrong } });
            assert_eq!(check(tool.clone()).unwrap_err().field_name(), "target/url", "{tool}");
            assert!(parse(&tool).is_ok(), "what is kept already can be read");
        }
    }

    /// F-41, SEC-07
    #[test]
    fn the_schema_of_its_arguments_is_bounded() {
        let with = |bytes: usize| {
            let text = "x".repeat(bytes - r#"{"description":""}"#.len());
            json!({ "parameters": { "description": text } })
        };
        assert!(parse(&with(limits::SCHEMA_BYTES)).is_ok());
        let refused = parse(&with(limits::SCHEMA_BYTES + 1)).unwrap_err();
        assert!(matches!(&refused, Invalid::TooLarge { field, .. } if field == "parameters"), "{refused}");
    }

    #[test]
    fn what_is_no_tool_is_refused_by_name() {
        for (tool, field) in [
            (json!([]), "body"),
            (json!({ "descripton": "x" }), "descripton"),
            (json!({ "description": 1 }), "description"),
            (json!({ "parameters": true }), "parameters"),
            (json!({ "parameters": { "type": "string" } }), "parameters/type"),
            (json!({ "parameters": { "properties": [] } }), "parameters/properties"),
            (json!({ "parameters": { "properties": { "q": "text" } } }), "parameters/properties/q"),
            (json!({ "parameters": { "required": "q" } }), "parameters/required"),
            (json!({ "parameters": { "required": [1] } }), "parameters/required"),
            (json!({ "after_execution": "resume" }), "after_execution"),
            (json!({ "after_execution": true }), "after_execution"),
            (json!({ "approval": "maybe" }), "approval"),
            (json!({ "target": "https://x" }), "target"),
            (json!({ "metadata": [] }), "metadata"),
            (json!({ "target": { "nats": "a.b" } }), "target/nats"),
            (json!({ "target": { "nats": "*" } }), "target/nats"),
            (json!({ "target": { "nats": 1 } }), "target/nats"),
            (json!({ "target": { "nats": "a", "url": "http://x" } }), "target/url"),
            (json!({ "target": { "nats": "a", "reply": "yes" } }), "target/reply"),
            (json!({ "target": { "nats": "a", "wait_seconds": 0 } }), "target/wait_seconds"),
            (json!({ "target": { "nats": "a", "wait_seconds": 604_801 } }), "target/wait_seconds"),
        ] {
            assert_eq!(parse(&tool).unwrap_err().field_name(), field, "{tool}");
        }
    }
}
