//! Profiles and agents on the wire (API-07, API-17).

use crate::{list::list, parse};
use cardwire_kernel::{NewProfile, protocol::roster::add_agent::AddAgent};
use cardwire_model::{Agent, CanonicalJson, CardDraft, Invalid, PROFILE_KEYS, Profile, ProfileName};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};
use utoipa::ToSchema;

/// A profile to write. The whole of it becomes a `sys.profile` card.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileIn {
    /// Its name; as in the path.
    #[serde(default)]
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub name: Option<String>,
    /// Which workers serve its agents.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub worker_target: String,
    /// What its agents are told first. `system_prompt_template` is the same.
    #[serde(alias = "system_prompt_template")]
    pub system_prompt: String,
    /// For choosing agents.
    #[serde(default)]
    #[schema(max_items = 64)]
    pub tags: Option<Vec<String>>,
    /// Tools its agents may call.
    #[serde(default)]
    pub allowed_tools: Option<Vec<String>>,
    /// Tools of the system that its agents may call.
    #[serde(default)]
    pub allowed_internal_tools: Option<Vec<String>>,
    /// Which of the tools that come with every worker its agents may call besides: `none`, `delegate` or `all`.
    #[serde(default)]
    #[schema(pattern = "^(none|delegate|all)$")]
    pub builtin_tools: Option<String>,
    /// What a turn must end with.
    #[serde(default)]
    pub must_end_with: Option<Vec<String>>,
    /// How the model is asked: an object.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub llm_config: Option<Map<String, Value>>,
    /// To whom its agents may delegate: an object.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub delegation_policy: Option<Map<String, Value>>,
    /// How often a turn of its agents is given to a worker that does not start it, or dies at it, before it ends; 3 when
    /// absent.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 100)]
    pub max_attempts: Option<i64>,
    /// For people.
    #[serde(default)]
    pub description: Option<String>,
}

impl ProfileIn {
    /// Reads a body. A member that is not known is told with what was meant.
    pub fn read(body: &[u8]) -> Result<Self, Invalid> {
        parse::body(body).map_err(|invalid| {
            let given: Value = serde_json::from_slice(body).unwrap_or_default();
            let mut names = given.as_object().into_iter().flat_map(Map::keys);
            match names.find(|name| !PROFILE_KEYS.contains(&name.as_str())) {
                Some(name) => Invalid::unknown(name.as_str(), name, &PROFILE_KEYS),
                None => invalid,
            }
        })
    }

    /// The profile with this name in the path, and the content of its card: what the body says, under one name for
    /// each thing. `body` is the same body, whose numbers are kept as they were given.
    pub fn into_profile(
        self,
        name: ProfileName,
        body: &[u8],
    ) -> Result<(NewProfile, CanonicalJson), Invalid> {
        if self.name.as_deref().is_some_and(|given| given != name.as_str()) {
            return Err(Invalid::field("name", "must be the name in the path"));
        }
        let text = std::str::from_utf8(body).map_err(|_| Invalid::field("body", "must be UTF-8"))?;
        let mut content = CanonicalJson::parse(text, "body")?.to_value();
        if let Some(members) = content.as_object_mut() {
            members.retain(|_, value| !value.is_null());
            if let Some(prompt) = members.remove("system_prompt_template") {
                members.insert("system_prompt".to_owned(), prompt);
            }
            members.insert("name".to_owned(), name.as_str().into());
        }
        let content = CanonicalJson::from_value(&content)?;
        let draft = CardDraft {
            content: content.clone(),
            metadata: CanonicalJson::from_value(&json!({ "type": "sys.profile", "role": "system" }))?,
            tool_calls: None,
            tool_call_id: None,
            ttl_seconds: None,
        };
        let worker_target = parse::one("worker_target", &self.worker_target)?;
        let tags = self.tags.unwrap_or_default();
        Ok((NewProfile { name, worker_target, tags, draft }, content))
    }
}

/// A profile.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProfileOut {
    /// Its name.
    pub name: String,
    /// Which workers serve its agents.
    pub worker_target: String,
    /// What its agents are told first.
    pub system_prompt: String,
    /// For choosing agents.
    pub tags: Vec<String>,
    /// Tools its agents may call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub allowed_tools: Option<Value>,
    /// Tools of the system that its agents may call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub allowed_internal_tools: Option<Value>,
    /// Which of the tools that come with every worker its agents may call besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub builtin_tools: Option<String>,
    /// What a turn must end with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub must_end_with: Option<Value>,
    /// How the model is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub llm_config: Option<Value>,
    /// To whom its agents may delegate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub delegation_policy: Option<Value>,
    /// How often a turn of its agents is given to a worker that does not start it, or dies at it, before it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    pub max_attempts: Option<Value>,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The box that holds its card: what a turn of its agents is given as `profile_box_id`.
    pub profile_box_id: String,
    /// When it was made.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

impl ProfileOut {
    /// The profile with the content of its card.
    pub fn new(profile: &Profile, content: &CanonicalJson) -> Self {
        let mut members = content.to_value();
        let mut take = |name: &str| members.get_mut(name).map(Value::take);
        let text = |value: Option<Value>| value.and_then(|value| value.as_str().map(str::to_owned));
        Self {
            name: profile.name.to_string(),
            worker_target: profile.worker_target.to_string(),
            system_prompt: text(take("system_prompt")).unwrap_or_default(),
            tags: profile.tags.clone(),
            allowed_tools: take("allowed_tools"),
            allowed_internal_tools: take("allowed_internal_tools"),
            builtin_tools: text(take("builtin_tools")),
            must_end_with: take("must_end_with"),
            llm_config: take("llm_config"),
            delegation_policy: take("delegation_policy"),
            max_attempts: take("max_attempts"),
            description: text(take("description")),
            profile_box_id: profile.profile_box.to_string(),
            created_at: profile.created_at.to_string(),
            updated_at: profile.updated_at.to_string(),
        }
    }
}

list! {
    /// A page of profiles by name.
    ProfileList of ProfileOut
}

/// An agent to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentIn {
    /// Its name.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub agent_id: String,
    /// What it is.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub profile_name: String,
    /// For people.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub display_name: Option<String>,
    /// For choosing agents; the profile's when absent.
    #[serde(default)]
    #[schema(max_items = 64)]
    pub tags: Option<Vec<String>>,
    /// Whatever is kept with it: an object.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Box<RawValue>>,
}

impl AgentIn {
    /// The command, in a trace.
    pub fn into_command(self, trace_id: &str) -> Result<AddAgent, Invalid> {
        let metadata = match &self.metadata {
            Some(raw) => parse::canonical("metadata", raw)?,
            None => CanonicalJson::empty_object(),
        };
        Ok(AddAgent {
            id: parse::one("agent_id", &self.agent_id)?,
            profile_name: parse::one("profile_name", &self.profile_name)?,
            display_name: self.display_name,
            tags: self.tags,
            metadata,
            refresh: false,
            trace_id: Some(trace_id.to_owned()),
        })
    }
}

/// An agent.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgentOut {
    /// Its name.
    pub agent_id: String,
    /// What it is.
    pub profile_name: String,
    /// The box of that profile when the agent was made.
    pub profile_box_id: String,
    /// Which workers serve it.
    pub worker_target: String,
    /// For people.
    #[schema(required)]
    pub display_name: Option<String>,
    /// For choosing agents.
    pub tags: Vec<String>,
    /// Who made it, when it was an agent.
    #[schema(required)]
    pub owner_agent_id: Option<String>,
    /// Whatever is kept with it.
    #[schema(value_type = Object)]
    pub metadata: CanonicalJson,
    /// When it was made.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

impl From<&Agent> for AgentOut {
    fn from(agent: &Agent) -> Self {
        Self {
            agent_id: agent.id.to_string(),
            profile_name: agent.profile_name.to_string(),
            profile_box_id: agent.profile_box.to_string(),
            worker_target: agent.worker_target.to_string(),
            display_name: agent.display_name.clone(),
            tags: agent.tags.clone(),
            owner_agent_id: agent.owner.as_ref().map(ToString::to_string),
            metadata: agent.metadata.clone(),
            created_at: agent.created_at.to_string(),
            updated_at: agent.updated_at.to_string(),
        }
    }
}

list! {
    /// A page of agents by name.
    AgentList of AgentOut
}
