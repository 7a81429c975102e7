//! A member of a team.

use super::{read::Fields, roster::derived};
use cardwire_model::{Invalid, PROFILE_KEYS, builtin_tools::check_builtin_tools, check_tool_entries};
use serde_json::{Map, Value};
use std::collections::HashSet;

const FIELDS: [&str; 5] = ["id", "profile", "description", "can_delegate_to", "model"];

/// An agent of a team.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its id, unique in the team.
    pub id: String,
    /// The name of its profile: the one given, else `<team>_<id>`.
    pub profile_name: String,
    /// The fields of its profile as given, without the name. There is a `system_prompt`.
    pub profile: Map<String, Value>,
    /// What it is good for: planners and those who may hand over to it are told.
    pub description: Option<String>,
    /// To whom it may hand over. A document that does not say means all others.
    pub can_delegate_to: Vec<String>,
    /// Its model, if it has one of its own: an object.
    pub model: Option<Value>,
}

/// Reads the team's `agents`.
pub(super) fn parse_all(team: &Fields<'_>, team_name: &str) -> Result<Vec<Member>, Invalid> {
    let entries = team.list("agents")?.ok_or_else(|| team.wrong("agents", "is required"))?;
    if entries.is_empty() {
        return Err(team.wrong("agents", "must have at least one agent"));
    }
    let given: Vec<_> =
        entries.iter().map(|(path, agent)| Fields::of(path, agent)).collect::<Result<_, _>>()?;
    let ids = ids(&given)?;
    given.iter().zip(&ids).map(|(agent, id)| parse(agent, id, &ids, team_name)).collect()
}

fn ids(given: &[Fields<'_>]) -> Result<Vec<String>, Invalid> {
    let ids: Vec<String> = given.iter().map(|agent| agent.id("id")).collect::<Result<_, _>>()?;
    let mut seen = HashSet::new();
    match ids.iter().zip(given).find(|(id, _)| !seen.insert(id.as_str())) {
        Some((id, agent)) => Err(agent.wrong("id", &format!("{id} is there already"))),
        None => Ok(ids),
    }
}

fn parse(agent: &Fields<'_>, id: &str, ids: &[String], team_name: &str) -> Result<Member, Invalid> {
    agent.only(&FIELDS)?;
    let given = agent.fields("profile")?.ok_or_else(|| agent.wrong("profile", "is required"))?;
    let name = match given.text("name")? {
        Some(name) => name.to_owned(),
        None => derived(team_name, id),
    };
    Ok(Member {
        profile_name: name,
        profile: profile(&given)?,
        description: agent.text("description")?.map(str::to_owned),
        can_delegate_to: can_delegate_to(agent, id, ids)?,
        model: agent.object("model")?,
        id: id.to_owned(),
    })
}

/// The fields of a profile without its name.
pub(super) fn profile(given: &Fields<'_>) -> Result<Map<String, Value>, Invalid> {
    given.only(&PROFILE_KEYS)?;
    given.required_text("system_prompt")?;
    for check in [check_builtin_tools, check_tool_entries] {
        check(given.value()).map_err(|invalid| invalid.under(given.path()))?;
    }
    let mut profile = given.map().clone();
    profile.remove("name");
    Ok(profile)
}

fn can_delegate_to(agent: &Fields<'_>, id: &str, ids: &[String]) -> Result<Vec<String>, Invalid> {
    let Some(entries) = agent.list("can_delegate_to")? else {
        return Ok(ids.iter().filter(|other| *other != id).cloned().collect());
    };
    let mut targets: Vec<String> = Vec::with_capacity(entries.len());
    for (path, target) in entries {
        let target =
            target.as_str().ok_or_else(|| Invalid::field(path.as_str(), "must be the id of an agent"))?;
        let reason = match target {
            _ if target == id => "is the agent itself",
            _ if !ids.iter().any(|known| known == target) => "is not in the team",
            _ if targets.iter().any(|known| known == target) => "is there already",
            _ => {
                targets.push(target.to_owned());
                continue;
            }
        };
        return Err(Invalid::field(path, format!("{target} {reason}")));
    }
    Ok(targets)
}
