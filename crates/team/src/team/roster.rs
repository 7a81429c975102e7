//! Who has to be there for a team to run: its members, and the agents that its process brings along.

use super::{Member, Team};
use crate::{Process, prompts};
use cardwire_model::{
    ALLOWED_INTERNAL_TOOLS, ALLOWED_TOOLS, BUILTIN_TOOLS, BuiltinTools, limits::NAME_CHARS, slug,
};
use serde_json::{Map, Value, json};

/// The name of what one has in another: no longer than a name may be.
pub(super) fn derived(whose: &str, what: &str) -> String {
    slug::shortened(format!("{whose}_{what}"), NAME_CHARS)
}

impl Team {
    /// The agent whose turns are the runs of the team.
    pub fn controller_id(&self) -> String {
        derived("team", &self.name)
    }

    /// The agent that makes plans, for react and map_reduce.
    pub fn planner_id(&self) -> String {
        "planner".to_owned()
    }

    /// The agent that judges how react goes on.
    pub fn reflector_id(&self) -> String {
        "reflector".to_owned()
    }

    /// The agent that somebody of the roster is in its project: those that come with the process have the team's name before
    /// theirs, so that two teams can have planners.
    pub fn agent_id(&self, id: &str) -> String {
        let is_helper = self.helpers().iter().any(|helper| helper.id == id);
        if is_helper { derived(&self.name, id) } else { id.to_owned() }
    }

    /// Every agent to be provisioned: the members, and those that come with the process.
    pub fn roster(&self) -> Vec<Member> {
        let mut roster = self.agents.clone();
        roster.extend(self.helpers());
        roster
    }

    /// The agents that come with the process.
    pub(super) fn helpers(&self) -> Vec<Member> {
        match self.process {
            Process::Sequential | Process::Dynamic | Process::Hierarchical => Vec::new(),
            Process::React => vec![
                self.helper(self.planner_id(), prompts::planner::SYSTEM_PROMPT),
                self.helper(self.reflector_id(), prompts::reflector::SYSTEM_PROMPT),
            ],
            Process::MapReduce => {
                vec![self.helper(self.planner_id(), prompts::map_planner::SYSTEM_PROMPT)]
            }
        }
    }

    /// Which of the tools that come with every worker its members are offered, where their profiles leave it open: those
    /// that give work to others if there are agents to be made for that.
    pub fn builtin_tools(&self) -> BuiltinTools {
        if self.profiles.is_empty() { BuiltinTools::None } else { BuiltinTools::Delegate }
    }

    /// The same for a profile of a member that names tools: the set is chosen apart from them, so that naming one takes none
    /// of the others away. Nothing where the profile says it itself, or there is nothing to say.
    pub fn builtin_tools_beside(&self, profile: &Map<String, Value>) -> Option<BuiltinTools> {
        let is_list = |name: &str| profile.get(name).is_some_and(Value::is_array);
        let is_open = !profile.contains_key(BUILTIN_TOOLS) && !is_list(ALLOWED_INTERNAL_TOOLS);
        let set = Some(self.builtin_tools()).filter(|set| *set != BuiltinTools::None);
        set.filter(|_| is_open && is_list(ALLOWED_TOOLS))
    }

    /// A helper answers with JSON; it has no tools.
    fn helper(&self, id: String, prompt: &str) -> Member {
        let profile = [
            ("system_prompt", json!(prompt)),
            (ALLOWED_TOOLS, json!([])),
            (ALLOWED_INTERNAL_TOOLS, json!([])),
        ];
        Member {
            profile_name: derived(&self.name, &id),
            profile: profile.map(|(name, value)| (name.to_owned(), value)).into_iter().collect::<Map<_, _>>(),
            description: None,
            can_delegate_to: Vec::new(),
            model: None,
            id,
        }
    }
}
