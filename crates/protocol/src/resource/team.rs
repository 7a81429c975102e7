//! A team: agents that work together, and how (PR-01 to PR-09). It is kept as it was given; what an agent of it says
//! besides its id is read by those who run it.

use super::{object, objects, only, text};
use cardwire_model::{CanonicalJson, Invalid};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// What a team may say.
pub const MEMBERS: [&str; 10] = [
    "name",
    "description",
    "process",
    "agents",
    "enable_share_context",
    "model",
    "limits",
    "entry",
    "profiles",
    "tools",
];

/// What only the file of a team says, for whoever runs it from there.
const MCP_SERVERS: &str = "mcp_servers";
const MCP_SERVERS_ELSEWHERE: &str = "is not kept in a project, because it names programs: put it into a file of its own, for the process \
    that runs the agents: `cardwire up --mcp FILE` or `cardwire worker --mcp FILE`";

/// How a team may work. The last is another name of the one before (PR-09).
pub const PROCESSES: [&str; 6] =
    ["sequential", "dynamic", "hierarchical", "react", "map_reduce", "mapreduce"];

/// Reads `{process, agents: [{id, …}], enable_share_context?, model?, limits?}`.
pub fn check(content: &CanonicalJson) -> Result<(), Invalid> {
    let value = content.to_value();
    let members = object("body", &value)?;
    if members.contains_key(MCP_SERVERS) {
        return Err(Invalid::field(MCP_SERVERS, MCP_SERVERS_ELSEWHERE));
    }
    only(members, &MEMBERS, "")?;
    let process = text(members, "process")?.ok_or_else(|| Invalid::field("process", "is required"))?;
    if !PROCESSES.contains(&process) {
        return Err(Invalid::field("process", format!("must be one of {}", PROCESSES[..5].join(", "))));
    }
    let agents = match members.get("agents") {
        None | Some(Value::Null) => return Err(Invalid::field("agents", "is required")),
        Some(Value::Array(agents)) if !agents.is_empty() => agents,
        Some(_) => return Err(Invalid::field("agents", "must be a list with at least one agent")),
    };
    check_agents(agents)?;
    // PR-08: the last one reduces.
    if matches!(process, "map_reduce" | "mapreduce") && agents.len() < 2 {
        return Err(Invalid::field("agents", "must be at least two for map_reduce; the last one reduces"));
    }
    if !matches!(members.get("enable_share_context"), None | Some(Value::Null | Value::Bool(_))) {
        return Err(Invalid::field("enable_share_context", "must be true or false"));
    }
    text(members, "description")?;
    text(members, "entry")?;
    for name in ["profiles", "tools"] {
        check_list(members, name)?;
    }
    objects(members, &["model", "limits"])
}

/// A list of objects, if it is there.
fn check_list(members: &Map<String, Value>, name: &str) -> Result<(), Invalid> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Array(list)) => {
            let odd = list.iter().position(|entry| !entry.is_object());
            odd.map_or(Ok(()), |index| Err(Invalid::field(format!("{name}/{index}"), "must be an object")))
        }
        Some(_) => Err(Invalid::field(name, "must be a list")),
    }
}

fn check_agents(agents: &[Value]) -> Result<(), Invalid> {
    let mut ids = HashSet::new();
    for (index, agent) in agents.iter().enumerate() {
        let place = format!("agents/{index}");
        let agent = object(&place, agent)?;
        let id = agent.get("id").and_then(Value::as_str).map(str::trim).filter(|id| !id.is_empty());
        let Some(id) = id else {
            return Err(Invalid::field(format!("{place}/id"), "must be a name"));
        };
        if !ids.insert(id) {
            return Err(Invalid::field(format!("{place}/id"), format!("{id} is there already")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(value: &Value) -> Option<String> {
        let content = CanonicalJson::from_value(value).unwrap();
        let checked = crate::resource::check(cardwire_model::ResourceKind::Team, &content);
        checked.err().map(|invalid| invalid.field_name().to_owned())
    }

    /// PR-08, PR-09
    #[test]
    fn a_team_is_a_process_and_its_agents() {
        let two = json!([{ "id": "a", "profile": { "system_prompt": "x" } }, { "id": "b" }]);
        for process in PROCESSES {
            assert_eq!(refused(&json!({ "process": process, "agents": two })), None, "{process}");
        }
        let more = json!({
            "process": "react", "agents": [{ "id": "a" }], "enable_share_context": false,
            "model": { "provider": "scripted" }, "limits": { "turns": 3 }, "name": "t",
        });
        assert_eq!(refused(&more), None);
    }

    #[test]
    fn what_is_no_team_is_refused_by_name() {
        let agents = json!([{ "id": "a" }]);
        for (team, field) in [
            (json!("x"), "body"),
            (json!({ "agents": agents }), "process"),
            (json!({ "process": "chaotic", "agents": agents }), "process"),
            (json!({ "process": "react" }), "agents"),
            (json!({ "process": "react", "agents": [] }), "agents"),
            (json!({ "process": "react", "agents": {} }), "agents"),
            (json!({ "process": "react", "agents": ["a"] }), "agents/0"),
            (json!({ "process": "react", "agents": [{ "id": "a" }, { "id": " " }] }), "agents/1/id"),
            (json!({ "process": "react", "agents": [{ "id": 1 }] }), "agents/0/id"),
            (json!({ "process": "react", "agents": [{ "id": "a" }, { "id": "a " }] }), "agents/1/id"),
            (json!({ "process": "map_reduce", "agents": agents }), "agents"),
            (
                json!({ "process": "react", "agents": agents, "enable_share_context": "yes" }),
                "enable_share_context",
            ),
            (json!({ "process": "react", "agents": agents, "model": "gpt" }), "model"),
            (json!({ "process": "react", "agents": agents, "limits": 3 }), "limits"),
            (json!({ "process": "react", "agents": agents, "tools": {} }), "tools"),
            (json!({ "process": "react", "agents": agents, "profiles": ["x"] }), "profiles/0"),
            (json!({ "process": "react", "agents": agents, "entry": 1 }), "entry"),
            (json!({ "process": "react", "agents": agents, "description": [] }), "description"),
            (json!({ "process": "react", "agents": agents, "proces": 3 }), "proces"),
            (json!({ "process": "react", "agents": agents, "mcp_servers": {} }), "mcp_servers"),
            (json!({ "process": "react", "agents": agents, "model": { "api_key": "x" } }), "model/api_key"),
        ] {
            assert_eq!(refused(&team).as_deref(), Some(field), "{team}");
        }
    }
}
