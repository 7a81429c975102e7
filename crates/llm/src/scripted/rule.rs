//! A script and its rules, checked when they are read.

use super::capture::{Capture, Captured};
use super::last::{LastMessage, common_role};
use super::read::Reader;
use crate::{ConfigError, ModelError, ModelRequest};
use serde_json::Value;
use std::time::Duration;

/// Rules of one script.
const RULES: usize = 1_000;
/// A longer delay is a mistake.
const DELAY_MS: u64 = 3_600_000;

/// What a scripted model says to what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    pub(super) rules: Vec<Rule>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    agent: Option<String>,
    role: Option<String>,
    /// All of these are in the last message.
    contains: Vec<String>,
    step: Option<u64>,
    /// What the answer takes over from the last message, which must have all of it.
    capture: Vec<Capture>,
    /// How often it answers in the life of a model, which one project has to itself.
    pub(super) times: Option<u32>,
    pub(super) delay: Duration,
    pub(super) act: Act,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    Reply(Reply),
    Fail(ModelError),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) tool_calls: Vec<Call>,
    pub(super) input_tokens: Option<u64>,
    pub(super) cached_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl Script {
    /// Reads `{rules: […]}`. A refusal names the field, as in `script/rules/0/match/agnet`.
    pub fn parse(script: &Value) -> Result<Self, ConfigError> {
        Self::parse_at("script", script)
    }

    pub(crate) fn parse_at(path: &str, script: &Value) -> Result<Self, ConfigError> {
        if script.is_string() {
            return Err(ConfigError::new(path, "files are read by the command line"));
        }
        let reader = Reader::new(path, script, &["rules"])?;
        let Some(rules) = reader.list("rules")? else {
            return Err(ConfigError::new(reader.path("rules"), "is missing"));
        };
        if rules.len() > RULES {
            let reason = format!("{} rules are over the limit of {RULES}", rules.len());
            return Err(ConfigError::new(reader.path("rules"), reason));
        }
        let rule = |(n, rule)| Rule::parse(&reader.path(&format!("rules/{n}")), rule);
        Ok(Self { rules: rules.iter().enumerate().map(rule).collect::<Result<_, _>>()? })
    }
}

impl Rule {
    /// What the rule took over from the last message, if it matches.
    pub(super) fn matches(&self, request: &ModelRequest, last: &LastMessage) -> Option<Captured> {
        let is_role = |role: &String| {
            request.role.as_ref() == Some(role)
                || last.role.is_some_and(|last| common_role(role) == Some(last))
        };
        let matches = self.agent.as_ref().is_none_or(|agent| *agent == request.agent_id)
            && self.role.as_ref().is_none_or(is_role)
            && self.step.is_none_or(|step| step == u64::from(request.step))
            && self.contains.iter().all(|part| last.text.contains(part));
        if matches { Capture::all(&self.capture, &last.text) } else { None }
    }

    fn parse(path: &str, rule: &Value) -> Result<Self, ConfigError> {
        const FIELDS: [&str; 7] = ["match", "capture", "reply", "tool_calls", "error", "delay_ms", "usage"];
        let reader = Reader::new(path, rule, &FIELDS)?;
        let delay = reader.number("delay_ms")?.unwrap_or(0);
        if delay > DELAY_MS {
            let reason = format!("{delay} is over the limit of {DELAY_MS}");
            return Err(ConfigError::new(reader.path("delay_ms"), reason));
        }
        let answers = reader.get("reply").is_some() || reader.get("tool_calls").is_some();
        let act = match reader.get("error") {
            Some(error) if !answers => Act::Fail(parse_error(&reader.path("error"), error)?),
            Some(_) => {
                return Err(ConfigError::new(reader.path("error"), "a rule answers or fails, not both"));
            }
            None if answers => Act::Reply(parse_reply(&reader)?),
            None => return Err(ConfigError::new(path, "needs `reply`, `tool_calls` or `error`")),
        };
        let always = Value::Object(serde_json::Map::new());
        let conditions = reader.get("match").unwrap_or(&always);
        let known = ["agent", "role", "contains", "step", "times"];
        let conditions = Reader::new(&reader.path("match"), conditions, &known)?;
        let times = conditions.number("times")?.map(u32::try_from).transpose();
        Ok(Self {
            agent: conditions.string("agent")?,
            role: conditions.string("role")?,
            contains: parse_contains(&conditions)?,
            step: conditions.number("step")?,
            capture: match reader.get("capture") {
                Some(captures) => Capture::parse(&reader.path("capture"), captures)?,
                None => vec![],
            },
            times: times.map_err(|_| ConfigError::new(conditions.path("times"), "is too large"))?,
            delay: Duration::from_millis(delay),
            act,
        })
    }
}

fn parse_contains(conditions: &Reader<'_>) -> Result<Vec<String>, ConfigError> {
    let wrong = || ConfigError::new(conditions.path("contains"), "must be a string or a list of strings");
    match conditions.get("contains") {
        None => Ok(vec![]),
        Some(Value::String(text)) => Ok(vec![text.clone()]),
        Some(Value::Array(texts)) => {
            texts.iter().map(|text| text.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}

fn parse_reply(rule: &Reader<'_>) -> Result<Reply, ConfigError> {
    let calls = rule.list("tool_calls")?.unwrap_or_default();
    let call = |(n, call)| parse_call(&rule.path(&format!("tool_calls/{n}")), call);
    let tool_calls = calls.iter().enumerate().map(call).collect::<Result<_, _>>()?;
    let estimated = Value::Object(serde_json::Map::new());
    let known = ["input_tokens", "cached_tokens", "output_tokens"];
    let usage = Reader::new(&rule.path("usage"), rule.get("usage").unwrap_or(&estimated), &known)?;
    Ok(Reply {
        text: rule.get("reply").map_or_else(String::new, text_or_json),
        tool_calls,
        input_tokens: usage.number("input_tokens")?,
        cached_tokens: usage.number("cached_tokens")?,
        output_tokens: usage.number("output_tokens")?,
    })
}

/// Ways to write the name of a tool: our own, that of `tool.call` cards (CB-05), and that of providers.
const CALL_NAMES: [&str; 2] = ["name", "tool_name"];

/// Reads `{id?, name | tool_name, arguments?}` or `{id?, type?, function: {name, arguments?}}`.
fn parse_call(path: &str, call: &Value) -> Result<Call, ConfigError> {
    let Some(function) = call.get("function") else {
        let reader = Reader::new(path, call, &["id", "name", "tool_name", "arguments"])?;
        return parse_function(reader.string("id")?, &reader);
    };
    let reader = Reader::new(path, call, &["id", "type", "function"])?;
    if reader.string("type")?.is_some_and(|kind| kind != "function") {
        return Err(ConfigError::new(reader.path("type"), "must be function"));
    }
    let function = Reader::new(&reader.path("function"), function, &["name", "arguments"])?;
    parse_function(reader.string("id")?, &function)
}

fn parse_function(id: Option<String>, reader: &Reader<'_>) -> Result<Call, ConfigError> {
    let given: Vec<_> = CALL_NAMES.into_iter().filter(|key| reader.get(key).is_some()).collect();
    let key = match given[..] {
        [] => return Err(ConfigError::new(reader.path(CALL_NAMES[0]), "is missing")),
        [key] => key,
        [_, second, ..] => return Err(ConfigError::new(reader.path(second), "a tool has one name")),
    };
    let name = reader.string(key)?.filter(|name| !name.is_empty());
    let arguments = match reader.get("arguments") {
        None => "{}".to_owned(),
        Some(arguments @ (Value::Object(_) | Value::Array(_) | Value::String(_))) => text_or_json(arguments),
        Some(_) => {
            let reason = "must be an object, a list, or a string of JSON";
            return Err(ConfigError::new(reader.path("arguments"), reason));
        }
    };
    let name = name.ok_or_else(|| ConfigError::new(reader.path(key), "is missing"))?;
    Ok(Call { id, name, arguments })
}

/// A kind of error, or what a failure of no such kind says: `error: TEXT`, or `error: {kind?, message?}`.
fn parse_error(path: &str, error: &Value) -> Result<ModelError, ConfigError> {
    let (kind, message) = match error {
        Value::String(text) => (Some(text.clone()), None),
        Value::Object(_) => {
            let reader = Reader::new(path, error, &["kind", "message"])?;
            (reader.string("kind")?, reader.string("message")?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            return Err(ConfigError::new(path, "must be a text, or an object with `kind` and `message`"));
        }
    };
    let said = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let (kind, message) = match (said(kind), said(message)) {
        (None, None) => return Err(ConfigError::new(path, "needs a kind of error, or a message")),
        (None, Some(message)) => return Ok(ModelError::Failed { message }),
        (Some(kind), message) => (kind, message),
    };
    let given = message.clone().unwrap_or_else(|| "the script says so".to_owned());
    let own = || message.map_or_else(|| kind.clone(), |message| format!("{kind}: {message}"));
    Ok(ModelError::named(&kind, given).unwrap_or_else(|| ModelError::Failed { message: own() }))
}

fn text_or_json(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
