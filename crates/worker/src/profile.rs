//! What an agent is, as far as whoever runs it must know.

use cardwire_model::{
    ALLOWED_INTERNAL_TOOLS, ALLOWED_TOOLS, BuiltinTools, MCP_SEPARATOR, allows_tool, names_tool, names_tools,
    tool_entries,
};
use serde_json::Value;

/// Settings of one run, with the defaults of PR-11.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunLimits {
    /// Calls of a model in one turn.
    pub(crate) steps: u32,
    /// How long a turn may be at work without a pause.
    pub(crate) turn_seconds: u64,
    /// How long one tool may take.
    pub(crate) tool_seconds: u64,
}

impl RunLimits {
    /// Reads `limits` of the run's settings.
    pub(crate) fn of(settings: &Value) -> Self {
        let number = |name: &str, default: u64| settings["limits"][name].as_u64().unwrap_or(default).max(1);
        Self {
            steps: u32::try_from(number("max_steps", 25)).unwrap_or(u32::MAX),
            turn_seconds: number("agent_timeout_seconds", 300),
            tool_seconds: number("tool_timeout_seconds", 30),
        }
    }
}

/// A profile.
#[derive(Debug, Clone, Default)]
pub(crate) struct Profile {
    content: Value,
}

impl Profile {
    /// The latest profile card of a box.
    pub(crate) fn of(cards: &[Value]) -> Self {
        let card = cards.iter().rev().find(|card| card["type"] == "sys.profile");
        Self { content: card.map_or(Value::Null, |card| card["content"].clone()) }
    }

    /// Which model it uses, and how.
    pub(crate) fn model(&self) -> Option<&Value> {
        self.content.get("llm_config").filter(|config| config.is_object())
    }

    /// The name under which its model knows the agent; the agent's own when absent.
    pub(crate) fn model_name_of_agent(&self) -> Option<&str> {
        self.model()?.get("agent")?.as_str()
    }

    /// Whether the agent may call a tool.
    pub(crate) fn allows(&self, tool: &str) -> bool {
        allows_tool(&self.content, tool)
    }

    /// Whether it names the tool, alone or with all of its server.
    pub(crate) fn names(&self, tool: &str) -> bool {
        names_tool(&self.content, tool)
    }

    /// Whether it names a tool of an MCP server.
    pub(crate) fn names_some_of(&self, server: &str) -> bool {
        let of_server = |tool: &str| tool.split_once(MCP_SEPARATOR).is_some_and(|(own, _)| own == server);
        self.tool_entries().any(|(_, tool)| of_server(tool))
    }

    /// Tools that are allowed by name, whether or not they come with the worker.
    pub(crate) fn named_tools(&self) -> Vec<&str> {
        let list = self.content.get(ALLOWED_TOOLS).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// What its lists of tools name, each with its place.
    pub(crate) fn tool_entries(&self) -> impl Iterator<Item = (String, &str)> {
        tool_entries(&self.content)
    }

    /// Whether it is offered a tool that comes with every worker: one that it names, or one of the set that it chooses.
    /// `open` is the set where it leaves that open.
    pub(crate) fn is_offered(&self, tool: &str, open: BuiltinTools) -> bool {
        let set = match BuiltinTools::of(&self.content) {
            Some(set) => set,
            None if names_tools(&self.content, ALLOWED_INTERNAL_TOOLS) => BuiltinTools::None,
            None => open,
        };
        set.has(tool) || self.names(tool)
    }

    /// To whose agents it may give work, if it says so: names of profiles.
    pub(crate) fn may_give_to(&self, profile: &str) -> bool {
        let allowed = self.content.pointer("/delegation_policy/target_profiles").and_then(Value::as_array);
        allowed.is_none_or(|names| names.iter().any(|name| *name == profile))
    }

    /// The tools of which one must end the turn; none when a plain answer does.
    pub(crate) fn must_end_with(&self) -> Vec<&str> {
        match self.content.get("must_end_with") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => vec![],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn profile(fields: Value) -> Profile {
        Profile::of(&[
            json!({ "type": "sys.profile", "content": {} }),
            json!({ "type": "sys.profile", "content": fields }),
        ])
    }

    #[test]
    fn the_limits_of_a_run_have_the_defaults_of_the_specification() {
        let limits = RunLimits::of(&json!({}));
        assert_eq!((limits.steps, limits.turn_seconds, limits.tool_seconds), (25, 300, 30));
        let limits = RunLimits::of(&json!({ "limits": { "max_steps": 3, "tool_timeout_seconds": 1 } }));
        assert_eq!((limits.steps, limits.turn_seconds, limits.tool_seconds), (3, 300, 1));
    }

    #[test]
    fn a_server_is_asked_for_its_tools_only_where_one_of_them_is_named() {
        for named in ["files__read", "files__*"] {
            assert!(profile(json!({ "allowed_tools": [named] })).names_some_of("files"), "{named}");
            assert!(profile(json!({ "allowed_internal_tools": [named] })).names_some_of("files"), "{named}");
        }
        for other in [json!({}), json!({ "allowed_tools": ["files", "web__*", "*", "my__files__*"] })] {
            assert!(!profile(other.clone()).names_some_of("files"), "{other}");
        }
    }

    /// F-09
    #[test]
    fn what_is_offered_of_the_built_in_tools_is_chosen_or_named() {
        use BuiltinTools::{Delegate, None};
        for (fields, open, offered) in [
            (json!({}), None, [false, false]),
            (json!({}), Delegate, [true, false]),
            (json!({ "allowed_tools": ["publish"] }), Delegate, [true, false]),
            (json!({ "allowed_tools": ["plan_todo"] }), Delegate, [true, true]),
            (json!({ "builtin_tools": "none" }), Delegate, [false, false]),
            (json!({ "builtin_tools": "all" }), None, [true, true]),
            (json!({ "allowed_internal_tools": ["plan_todo"] }), Delegate, [false, true]),
            (
                json!({ "allowed_internal_tools": ["plan_todo"], "builtin_tools": "delegate" }),
                None,
                [true, true],
            ),
        ] {
            let profile = profile(fields.clone());
            assert_eq!(
                ["fork_join", "plan_todo"].map(|tool| profile.is_offered(tool, open)),
                offered,
                "{fields}"
            );
        }
    }

    #[test]
    fn a_turn_may_have_to_end_with_a_tool() {
        assert!(profile(json!({})).must_end_with().is_empty());
        assert_eq!(profile(json!({ "must_end_with": "submit_result" })).must_end_with(), ["submit_result"]);
        assert_eq!(profile(json!({ "must_end_with": ["a", "b"] })).must_end_with(), ["a", "b"]);
    }
}
