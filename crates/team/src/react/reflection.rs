//! The reflector's answer (PR-05).

use crate::{
    answer::{object_with, text_under},
    text::text_of,
};
use serde_json::Value;

/// How a run of react goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Continue,
    Retry,
    Replan,
    Complete,
    Fail,
}

impl Action {
    fn parse(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "continue" => Some(Self::Continue),
            "retry" => Some(Self::Retry),
            "replan" => Some(Self::Replan),
            "complete" => Some(Self::Complete),
            "fail" => Some(Self::Fail),
            _ => None,
        }
    }
}

/// What the reflector says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reflection {
    pub(super) action: Action,
    pub(super) reason: Option<String>,
    /// What the run delivers, if it is complete.
    pub(super) output: Option<Value>,
}

impl Reflection {
    /// Reads `{next_action, reason?, output?}`, or the action alone; else what is wrong.
    pub(super) fn read(output: &Value) -> Result<Self, String> {
        let Some(object) = object_with(output, "next_action") else {
            let action = Action::parse(&text_of(output)).ok_or("there is no next_action in it")?;
            return Ok(Self { action, reason: None, output: None });
        };
        let name = text_under(&object, &["next_action"]).unwrap_or_default();
        let action = Action::parse(&name)
            .ok_or_else(|| format!("{name:?} is none of continue, retry, replan, complete, fail"))?;
        let said = |output: &&Value| {
            !output.is_null() && !output.as_str().is_some_and(|text| text.trim().is_empty())
        };
        let output = object.get("output").filter(said).cloned();
        Ok(Self { action, reason: text_under(&object, &["reason"]), output })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// PR-05
    #[test]
    fn a_reflection_says_how_to_go_on() {
        let read = |output: Value| Reflection::read(&output);
        for (name, action) in [
            ("continue", Action::Continue),
            ("retry", Action::Retry),
            ("Replan", Action::Replan),
            (" complete ", Action::Complete),
            ("FAIL", Action::Fail),
        ] {
            let expected = Ok(Reflection { action, reason: None, output: None });
            assert_eq!(read(json!({ "next_action": name, "output": " " })), expected);
            assert_eq!(read(json!(name)), expected);
        }
        let whole = json!(
            "```json\n{\"next_action\": \"complete\", \"reason\": \"done\", \"output\": {\"n\": 1}}\n```"
        );
        let output = Some(json!({ "n": 1 }));
        let expected = Reflection { action: Action::Complete, reason: Some("done".to_owned()), output };
        assert_eq!(read(whole), Ok(expected));
    }

    /// PR-05
    #[test]
    fn what_names_no_action_is_no_reflection() {
        let read = |output: Value| Reflection::read(&output).unwrap_err();
        assert_eq!(read(json!("All went well.")), "there is no next_action in it");
        let expected = "\"stop\" is none of continue, retry, replan, complete, fail";
        assert_eq!(read(json!({ "next_action": "stop" })), expected);
    }
}
