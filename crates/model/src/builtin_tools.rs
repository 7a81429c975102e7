//! The tools that come with every worker, and the sets of them that a profile chooses from (F-09).

use crate::{Invalid, asking::ASK_HUMAN, inbox::names, roster::BUILTIN_TOOLS};
use serde_json::Value;

/// Tools of the PMO: they give work to others.
pub const PMO_TOOLS: [&str; 5] =
    ["delegate_async", "fork_join", "launch_principal", "ask_expert", "provision_agent"];

/// Tools that the worker answers by itself or with a question to the kernel.
pub const NOTE_TOOLS: [&str; 6] =
    ["read_card", "read_box", ASK_HUMAN, "plan_todo", "report_todo", "search_knowledge"];

/// Tools that read handoff packages.
pub const HANDOFF_READING: [&str; 2] = ["list_handoff", "load_handoff"];

/// Tools that write to the workspace: only for agents whose profile names them.
pub const HANDOFF_WRITING: [&str; 2] = ["write_files", "send_handoff"];

/// What an agent needs to give work to others and to read what came of it.
const DELEGATE: [&str; 4] = ["delegate_async", "fork_join", "ask_expert", "read_box"];

/// The one tool of the PMO that is in no set.
const PROVISION: &str = "provision_agent";

names! {
    /// Which of them an agent has besides those that its profile names.
    BuiltinTools {
        /// None.
        None = "none",
        /// Those that give work to others.
        Delegate = "delegate",
        /// All but those that change files or the roster.
        All = "all",
    }
}

impl BuiltinTools {
    /// What a profile says; nothing if it leaves it open.
    pub fn of(profile: &Value) -> Option<Self> {
        Self::from_name(profile.get(BUILTIN_TOOLS)?.as_str()?)
    }

    /// Whether the tool is in the set.
    pub fn has(self, tool: &str) -> bool {
        match self {
            Self::None => false,
            Self::Delegate => DELEGATE.contains(&tool),
            Self::All => built_in_tools().any(|name| name == tool),
        }
    }
}

/// Those that a set can hold, in the order in which they are offered.
pub fn built_in_tools() -> impl Iterator<Item = &'static str> {
    PMO_TOOLS.into_iter().filter(|name| *name != PROVISION).chain(NOTE_TOOLS).chain(HANDOFF_READING)
}

/// All of them, also those that a profile must name.
pub fn every_built_in_tool() -> impl Iterator<Item = &'static str> {
    PMO_TOOLS.into_iter().chain(NOTE_TOOLS).chain(HANDOFF_READING).chain(HANDOFF_WRITING)
}

/// Whether a profile chooses one of the sets, or none.
pub fn check_builtin_tools(profile: &Value) -> Result<(), Invalid> {
    match profile.get(BUILTIN_TOOLS) {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(name)) if BuiltinTools::from_name(name).is_some() => Ok(()),
        Some(_) => {
            let names: Vec<_> = BuiltinTools::ALL.iter().map(|set| set.as_str()).collect();
            let reason =
                format!("must be one of {}; single tools are named in allowed_tools", names.join(", "));
            Err(Invalid::field(BUILTIN_TOOLS, reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// F-09
    #[test]
    fn a_set_has_its_tools_and_no_others() {
        let in_set = |set: &BuiltinTools| every_built_in_tool().filter(|tool| set.has(tool)).count();
        assert_eq!(BuiltinTools::ALL.iter().map(in_set).collect::<Vec<_>>(), [0, 4, 12]);
        assert!(!BuiltinTools::All.has("write_files") && !BuiltinTools::All.has(PROVISION));
        assert!(!BuiltinTools::All.has("publish"));
    }

    /// F-09
    #[test]
    fn a_profile_chooses_a_set_by_its_name() {
        for (profile, set) in [
            (json!({}), None),
            (json!({ "builtin_tools": null }), None),
            (json!({ "builtin_tools": "delegate" }), Some(BuiltinTools::Delegate)),
        ] {
            assert_eq!(
                (check_builtin_tools(&profile), BuiltinTools::of(&profile)),
                (Ok(()), set),
                "{profile}"
            );
        }
        for wrong in [json!("some"), json!(["fork_join"]), json!(true)] {
            let refused = check_builtin_tools(&json!({ "builtin_tools": wrong })).unwrap_err().to_string();
            assert!(refused.starts_with("builtin_tools: must be one of none, delegate, all"), "{refused}");
        }
    }
}
