//! The roster: agents, the profiles they have, and how they came to be (PM-02).

use crate::{
    AgentId, BoxId, BuiltinTools, CanonicalJson, CardId, Channel, EdgeId, Invalid, ProfileName, ResourceName,
    Revision, StepId, Timestamp, WorkerTarget, inbox::names, limits::NAME_CHARS,
};

/// A named configuration. Its text is a `sys.profile` card in the profile's box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: ProfileName,
    /// Which workers serve agents of this profile.
    pub worker_target: WorkerTarget,
    /// The box that holds its card.
    pub profile_box: BoxId,
    /// The card.
    pub card_id: CardId,
    /// For choosing agents.
    pub tags: Vec<String>,
    /// Rises with every change of this row.
    pub revision: Revision,
    /// When it was made.
    pub created_at: Timestamp,
    /// When this row last changed.
    pub updated_at: Timestamp,
    /// When it was deleted.
    pub deleted_at: Option<Timestamp>,
}

/// An agent of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Its name.
    pub id: AgentId,
    /// What it is.
    pub profile_name: ProfileName,
    /// The box of that profile when the agent was made.
    pub profile_box: BoxId,
    /// Which workers serve it.
    pub worker_target: WorkerTarget,
    /// For people.
    pub display_name: Option<String>,
    /// For choosing agents.
    pub tags: Vec<String>,
    /// Who made it.
    pub owner: Option<AgentId>,
    /// Whatever is kept with it.
    pub metadata: CanonicalJson,
    /// Rises with every change of this row.
    pub revision: Revision,
    /// When it was made.
    pub created_at: Timestamp,
    /// When this row last changed.
    pub updated_at: Timestamp,
}

names! {
    /// What happened to an identity.
    IdentityAction {
        /// It was made.
        Provision = "provision",
        /// It was changed.
        Update = "update",
    }
}

/// How an agent came to be, or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityEdge {
    /// Its id.
    pub id: EdgeId,
    /// What happened.
    pub action: IdentityAction,
    /// Who did it, when it was an agent.
    pub source_agent: Option<AgentId>,
    /// To whom.
    pub target_agent: AgentId,
    /// On which channel.
    pub channel: Channel,
    /// The trace it belongs to.
    pub trace_id: Option<String>,
    /// The step that caused it.
    pub parent_step: Option<StepId>,
    /// What the identity is now.
    pub metadata: CanonicalJson,
    /// When.
    pub created_at: Timestamp,
}

/// Whether a profile lets its agents call a tool. What it says of the tools that come with every worker (`builtin_tools`) and
/// the tools that it names go together; a profile that says nothing of either forbids nothing.
pub fn allows_tool(profile: &serde_json::Value, tool: &str) -> bool {
    let is_in_set = match BuiltinTools::of(profile) {
        Some(set) => set.has(tool),
        None => !TOOL_LISTS.iter().any(|name| names_tools(profile, name)),
    };
    is_in_set || names_tool(profile, tool)
}

/// Whether a profile has one of the lists.
pub fn names_tools(profile: &serde_json::Value, list: &str) -> bool {
    profile.get(list).is_some_and(serde_json::Value::is_array)
}

/// Whether one of these lists names a tool: by its name, or as one of all tools of an MCP server (`server__*`).
pub fn names_tool(profile: &serde_json::Value, tool: &str) -> bool {
    let server = tool.split_once(MCP_SEPARATOR).map(|(server, _)| server);
    tool_entries(profile)
        .any(|(_, entry)| entry == tool || (server.is_some() && all_of_server(entry) == server))
}

/// What the lists of a profile name, each with its place.
pub fn tool_entries(profile: &serde_json::Value) -> impl Iterator<Item = (String, &str)> {
    TOOL_LISTS.iter().flat_map(move |list| {
        let entries = profile.get(*list).and_then(serde_json::Value::as_array).into_iter().flatten();
        let placed = entries.enumerate();
        placed.filter_map(move |(index, entry)| Some((format!("{list}/{index}"), entry.as_str()?)))
    })
}

/// The server of which an entry names all tools.
pub fn all_of_server(entry: &str) -> Option<&str> {
    entry.strip_suffix('*')?.strip_suffix(MCP_SEPARATOR).filter(|server| !server.is_empty())
}

/// Refuses entries that can name no tool, whatever there is (F-02).
pub fn check_tool_entries(profile: &serde_json::Value) -> Result<(), Invalid> {
    let is_name = |entry: &str| entry.parse::<ResourceName>().is_ok();
    match tool_entries(profile).find(|(_, entry)| !is_name(all_of_server(entry).unwrap_or(entry))) {
        Some((place, entry)) => {
            let entry: String = entry.chars().take(NAME_CHARS).collect();
            let reason = format!(
                "`{entry}` can name no tool: write its name, SERVER{MCP_SEPARATOR}TOOL for a tool of an MCP server, or \
                 SERVER{MCP_SEPARATOR}* for all of them"
            );
            Err(Invalid::field(place, reason))
        }
        None => Ok(()),
    }
}

/// What stands between an MCP server and its tool in the name of the tool.
pub const MCP_SEPARATOR: &str = "__";

/// The member of a profile that names tools of any kind.
pub const ALLOWED_TOOLS: &str = "allowed_tools";

/// The member of a profile that names tools which come with every worker.
pub const ALLOWED_INTERNAL_TOOLS: &str = "allowed_internal_tools";

/// The members of a profile that name tools.
pub const TOOL_LISTS: [&str; 2] = [ALLOWED_TOOLS, ALLOWED_INTERNAL_TOOLS];

/// The member of a profile that chooses a set of the tools that come with every worker.
pub const BUILTIN_TOOLS: &str = "builtin_tools";

/// What a profile may say.
pub const PROFILE_KEYS: [&str; 13] = [
    "name",
    "worker_target",
    "system_prompt",
    "system_prompt_template",
    "tags",
    ALLOWED_TOOLS,
    ALLOWED_INTERNAL_TOOLS,
    BUILTIN_TOOLS,
    "must_end_with",
    "llm_config",
    "delegation_policy",
    "max_attempts",
    "description",
];

#[cfg(test)]
mod tests {
    use super::{allows_tool, check_tool_entries, names_tool};
    use serde_json::json;

    #[test]
    fn a_profile_that_names_no_tools_allows_all() {
        assert!(allows_tool(&json!({}), "fork_join") && allows_tool(&json!(null), "fork_join"));
        let one = json!({ "allowed_tools": ["look"] });
        assert!(allows_tool(&one, "look") && !allows_tool(&one, "fork_join"));
        assert!(!allows_tool(&json!({ "allowed_internal_tools": [] }), "fork_join"));
        assert!(allows_tool(&json!({ "allowed_tools": null }), "fork_join"), "null is no list");
        let both = json!({ "allowed_tools": ["look"], "allowed_internal_tools": ["fork_join"] });
        assert!(allows_tool(&both, "look") && allows_tool(&both, "fork_join"));
        assert!(!allows_tool(&both, "read_box"));
    }

    /// F-09: the set that is chosen and the tools that are named go together.
    #[test]
    fn a_set_of_built_in_tools_is_chosen_apart_from_the_tools_that_are_named() {
        let both = json!({ "builtin_tools": "delegate", "allowed_tools": ["publish"] });
        assert!(["fork_join", "publish"].iter().all(|tool| allows_tool(&both, tool)));
        assert!(!allows_tool(&both, "plan_todo") && !allows_tool(&both, "look"));
        let none = json!({ "builtin_tools": "none" });
        assert!(!allows_tool(&none, "fork_join") && !allows_tool(&none, "look"));
        let more = json!({ "builtin_tools": "none", "allowed_internal_tools": ["ask_human"] });
        assert!(allows_tool(&more, "ask_human") && !allows_tool(&more, "plan_todo"));
        let all = json!({ "builtin_tools": "all", "allowed_tools": [] });
        assert!(allows_tool(&all, "plan_todo") && !allows_tool(&all, "write_files"));
    }

    /// F-02
    #[test]
    fn an_entry_that_can_name_no_tool_is_refused_by_its_place() {
        let good = json!({ "allowed_tools": ["look", "files__*", "files__read"], "allowed_internal_tools": ["fork_join"] });
        assert_eq!(check_tool_entries(&good), Ok(()));
        for wrong in ["*", "__*", "fil*", "", "a b", "a.b", "web search__*"] {
            let refused = check_tool_entries(&json!({ "allowed_tools": ["look", wrong] })).unwrap_err();
            assert_eq!(refused.field_name(), "allowed_tools/1", "{wrong}");
        }
    }

    #[test]
    fn all_tools_of_a_server_are_named_by_a_star_and_no_others() {
        let all = json!({ "allowed_tools": ["files__*", "look"] });
        assert!(
            names_tool(&all, "files__read") && names_tool(&all, "look") && allows_tool(&all, "files__read")
        );
        for other in
            ["files", "files_read", "files2__read", "file__s__read", "look__x", "*", "web__files__read"]
        {
            assert!(!names_tool(&all, other), "{other}");
        }
        for none in
            [json!({}), json!({ "allowed_tools": [] }), json!({ "allowed_tools": ["*", "__*", "fil*"] })]
        {
            assert!(!names_tool(&none, "files__read"), "{none}");
        }
    }
}
