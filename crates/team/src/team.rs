//! A team: who is in it and how they work together, read from its document.
//!
//! Invariant: a team that was read can be run. Whatever the process needs is checked here, and a refusal names the field
//! by its path.

mod limits;
mod member;
mod read;
mod roster;

use crate::Process;
use cardwire_model::{Invalid, limits::NAME_CHARS};
use read::{Fields, check_name};
use serde_json::{Map, Value};
use std::collections::HashSet;

pub use limits::Limits;
pub use member::Member;

/// Most members of a team, most tools and most profiles besides those of its members.
pub const ENTRIES: usize = 1_000;

/// What a team may say.
const FIELDS: [&str; 10] = [
    "name",
    "description",
    "process",
    "entry",
    "enable_share_context",
    "model",
    "limits",
    "agents",
    "tools",
    "profiles",
];

/// The name of a profile and its fields without the name.
pub type NamedProfile = (String, Map<String, Value>);

/// Agents that work together.
#[derive(Debug, Clone, PartialEq)]
pub struct Team {
    /// Its name.
    pub name: String,
    /// How its members work together.
    pub process: Process,
    /// The member that a dynamic process starts with; the first one if it names none.
    pub entry: Option<String>,
    /// `enable_share_context`: whether contexts are shown to those to whom the process may show them (PR-04).
    pub share: bool,
    /// The model of all members that have none of their own: an object, perhaps an empty one.
    pub model: Value,
    /// How far a run may go.
    pub limits: Limits,
    /// Its members, in order. There is at least one.
    pub agents: Vec<Member>,
    /// For people.
    pub description: Option<String>,
    /// Documents of tools, as given.
    pub tools: Vec<Value>,
    /// Profiles of agents that are no members but may be made while they work.
    pub profiles: Vec<NamedProfile>,
}

impl Team {
    /// Reads a team's document.
    pub fn parse(document: &Value) -> Result<Self, Invalid> {
        let fields = Fields::of("", document)?;
        fields.only(&FIELDS)?;
        let name = fields.id("name")?;
        let agents = member::parse_all(&fields, &name)?;
        let team = Self {
            process: process(&fields)?,
            entry: fields.text("entry")?.map(str::to_owned),
            share: fields.flag("enable_share_context")?.unwrap_or(true),
            model: fields.object("model")?.unwrap_or_else(|| Value::Object(Map::new())),
            limits: Limits::parse(&fields, agents.len())?,
            agents,
            description: fields.text("description")?.map(str::to_owned),
            tools: tools(&fields)?,
            profiles: profiles(&fields)?,
            name,
        };
        team.check_agents()?;
        team.check_entry()?;
        team.check_rounds()?;
        team.check_profiles()?;
        Ok(team)
    }

    /// The member with this id.
    pub fn member(&self, id: &str) -> Option<&Member> {
        self.agents.iter().find(|member| member.id == id)
    }

    /// The model of somebody with this profile: the team's, with what it says of its own, and with what its profile says.
    /// Empty where nobody says anything.
    pub fn model_of(&self, own: Option<&Value>, profile: &Map<String, Value>) -> Map<String, Value> {
        let mut model = self.model.as_object().cloned().unwrap_or_default();
        for more in [own, profile.get("llm_config")].into_iter().flatten() {
            model.extend(more.as_object().cloned().unwrap_or_default());
        }
        model
    }

    /// Where a dynamic process starts.
    pub(crate) fn entry(&self) -> Option<&Member> {
        match &self.entry {
            Some(id) => self.member(id),
            None => self.agents.first(),
        }
    }

    /// PR-08: there is somebody to work and somebody to reduce. And nobody has the id of an agent that comes with the
    /// process.
    fn check_agents(&self) -> Result<(), Invalid> {
        if self.process == Process::MapReduce && self.agents.len() < 2 {
            return Err(Invalid::field(
                "agents",
                "must be at least two for map_reduce; the last one reduces",
            ));
        }
        let helpers = self.helpers();
        let mut taken: HashSet<String> = helpers.iter().map(|helper| self.agent_id(&helper.id)).collect();
        taken.extend(helpers.into_iter().map(|helper| helper.id));
        taken.insert(self.controller_id());
        for (index, member) in self.agents.iter().enumerate() {
            if taken.contains(&member.id) {
                let reason = format!("{} is the id of an agent that comes with the team", member.id);
                return Err(Invalid::field(format!("agents/{index}/id"), reason));
            }
        }
        Ok(())
    }

    fn check_entry(&self) -> Result<(), Invalid> {
        match &self.entry {
            Some(_) if self.process != Process::Dynamic => {
                Err(Invalid::field("entry", "is for the process dynamic only"))
            }
            Some(id) if self.member(id).is_none() => {
                Err(Invalid::field("entry", format!("{id} is not in the team")))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// A run that cannot end within its limit is refused before it starts.
    fn check_rounds(&self) -> Result<(), Invalid> {
        let (least, why) = match self.process {
            Process::Sequential => (self.agents.len(), "one for each agent"),
            Process::MapReduce => (3, "to plan, to map and to reduce"),
            Process::React => (3, "to plan, to execute and to reflect"),
            Process::Dynamic | Process::Hierarchical => (1, "for the first agent"),
        };
        if (self.limits.max_rounds as usize) < least {
            let reason = format!("must be at least {least}, {why}");
            return Err(Invalid::field("limits/max_rounds", reason));
        }
        Ok(())
    }

    /// Every profile has a name of its own, because a profile is written under its name.
    fn check_profiles(&self) -> Result<(), Invalid> {
        let members = self.agents.iter().enumerate();
        let members =
            members.map(|(index, member)| (format!("agents/{index}/profile/name"), &member.profile_name));
        let others = self.profiles.iter().enumerate();
        let others = others.map(|(index, (name, _))| (format!("profiles/{index}/name"), name));
        let mut taken: HashSet<String> =
            self.helpers().into_iter().map(|helper| helper.profile_name).collect();
        taken.insert(self.controller_id());
        for (path, name) in members.chain(others) {
            check_name(&path, name, NAME_CHARS)?;
            if !taken.insert(name.clone()) {
                return Err(Invalid::field(path, format!("{name} is the name of another profile")));
            }
        }
        Ok(())
    }
}

fn process(fields: &Fields<'_>) -> Result<Process, Invalid> {
    Process::parse(fields.required_text("process")?).ok_or_else(|| {
        let names = Process::ALL.map(Process::as_str).join(", ");
        Invalid::field("process", format!("must be one of {names}"))
    })
}

fn tools(fields: &Fields<'_>) -> Result<Vec<Value>, Invalid> {
    let mut names = HashSet::new();
    let mut tools = Vec::new();
    for (path, tool) in fields.entries("tools")? {
        let fields = Fields::of(&path, tool)?;
        let name = fields.required_text("name")?;
        check_name(&fields.at("name"), name, NAME_CHARS)?;
        if !names.insert(name) {
            return Err(Invalid::field(fields.at("name"), format!("{name} is there already")));
        }
        tools.push(tool.clone());
    }
    Ok(tools)
}

fn profiles(fields: &Fields<'_>) -> Result<Vec<NamedProfile>, Invalid> {
    let read = |(path, profile): (String, &Value)| {
        let fields = Fields::of(&path, profile)?;
        let name = fields.required_text("name")?.to_owned();
        Ok((name, member::profile(&fields)?))
    };
    fields.entries("profiles")?.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests;
