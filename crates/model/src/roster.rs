//! The roster: agents, the profiles they have, and how they came to be (PM-02).

use crate::{
    AgentId, BoxId, CanonicalJson, CardId, Channel, EdgeId, ProfileName, Revision, StepId, Timestamp,
    WorkerTarget, inbox::names,
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

/// Whether a profile's `allowed_tools` and `allowed_internal_tools` let its agents call a tool. A profile that has neither
/// list allows everything.
pub fn allows_tool(profile: &serde_json::Value, tool: &str) -> bool {
    let has_list = TOOL_LISTS.iter().any(|name| profile.get(*name).is_some_and(serde_json::Value::is_array));
    !has_list || names_tool(profile, tool)
}

/// Whether one of these lists names a tool: by its name, or as one of all tools of an MCP server (`server__*`).
pub fn names_tool(profile: &serde_json::Value, tool: &str) -> bool {
    let entries = TOOL_LISTS.iter().filter_map(|name| profile.get(*name)?.as_array()).flatten();
    let server = tool.split_once(MCP_SEPARATOR).map(|(server, _)| server);
    entries.filter_map(serde_json::Value::as_str).any(|entry| {
        let of_server = entry.strip_suffix('*').and_then(|start| start.strip_suffix(MCP_SEPARATOR));
        entry == tool || (of_server.is_some() && of_server == server)
    })
}

/// What stands between an MCP server and its tool in the name of the tool.
pub const MCP_SEPARATOR: &str = "__";

/// The member of a profile that names tools of any kind.
pub const ALLOWED_TOOLS: &str = "allowed_tools";

/// The members of a profile that name tools.
pub const TOOL_LISTS: [&str; 2] = [ALLOWED_TOOLS, "allowed_internal_tools"];

#[cfg(test)]
mod tests {
    use super::{allows_tool, names_tool};
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
