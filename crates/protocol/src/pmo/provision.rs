//! Provision an agent: make sure it is there, make it, or derive it from another (PM-03, PM-04).

use super::{args::Args, calls::Call};
use crate::{
    Decision, Moment, RefusalCode, Rejection,
    decision::own_json,
    roster::{
        add_agent::{self, By},
        check_name, check_tags,
    },
};
use cardwire_model::{
    Agent, AgentId, CanonicalJson, Commit, Profile, ProjectId, Revision, StepId, WorkerTarget, limits,
};
use serde_json::{Map, Value, json};

/// An agent to provision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provision {
    /// Its name.
    pub id: AgentId,
    /// What it is; as it is, or as the one it is derived from, when absent.
    pub profile_name: Option<String>,
    /// From whom it is derived.
    pub derived_from: Option<AgentId>,
    /// Who serves it; the profile's when absent.
    pub worker_target: Option<WorkerTarget>,
    /// Whose it is; the caller's when absent.
    pub owner: Option<AgentId>,
    /// The profile's when absent.
    pub tags: Option<Vec<String>>,
    /// For people.
    pub display_name: Option<String>,
    /// Whatever is kept with it.
    pub metadata: CanonicalJson,
}

impl Provision {
    /// Reads the arguments.
    pub fn parse(given: &Map<String, Value>) -> Result<Self, Rejection> {
        let args = Args { tool: "provision_agent", given };
        args.only(&[
            "action",
            "agent_id",
            "profile_name",
            "derived_from",
            "worker_target",
            "owner_agent_id",
            "tags",
            "display_name",
            "metadata",
        ])?;
        let refuse = |code: RefusalCode, what: &str| Rejection::refused(code, what);
        let wrong = || refuse(RefusalCode::InvalidAction, "action must be one of ensure, create, derive");
        let action = match given.get("action") {
            None | Some(Value::Null) => "ensure".to_owned(),
            Some(action) => action.as_str().ok_or_else(wrong)?.trim().to_ascii_lowercase(),
        };
        if !["ensure", "create", "derive"].contains(&action.as_str()) {
            return Err(wrong());
        }
        let id = args.optional("agent_id")?;
        let id = id.ok_or_else(|| refuse(RefusalCode::MissingAgentId, "agent_id is required"))?;
        let derived_from = args.optional("derived_from")?;
        if action == "derive" && derived_from.is_none() {
            return Err(refuse(RefusalCode::MissingDerivedFrom, "derived_from is required"));
        }
        let display_name = args.optional("display_name")?;
        if let Some(name) = &display_name {
            check_name("args/display_name", name)?;
        }
        let name = |field: &str, text: Option<String>| {
            text.map(|text| text.parse::<AgentId>().map_err(|_| args.refuse(field, "is no name"))).transpose()
        };
        let worker_target = args.optional("worker_target")?;
        let worker_target = worker_target.map(|text| text.parse()).transpose();
        Ok(Self {
            id: id.parse().map_err(|_| args.refuse("agent_id", "is no name"))?,
            profile_name: args.optional("profile_name")?,
            derived_from: name("derived_from", derived_from.filter(|_| action == "derive"))?,
            worker_target: worker_target.map_err(|_| args.refuse("worker_target", "is no name"))?,
            owner: name("owner_agent_id", args.optional("owner_agent_id")?)?,
            tags: tags(given)?,
            display_name,
            metadata: metadata(given)?,
        })
    }
}

fn tags(given: &Map<String, Value>) -> Result<Option<Vec<String>>, Rejection> {
    let wrong = || Rejection::refused(RefusalCode::InvalidTags, "tags must be a list of names");
    match given.get("tags") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(list)) => {
            let tags: Option<Vec<String>> = list.iter().map(|tag| tag.as_str().map(str::to_owned)).collect();
            let tags = tags.ok_or_else(wrong)?;
            check_tags(&tags).map_err(|_| wrong())?;
            Ok(Some(tags))
        }
        Some(_) => Err(wrong()),
    }
}

fn metadata(given: &Map<String, Value>) -> Result<CanonicalJson, Rejection> {
    let wrong =
        || Rejection::refused(RefusalCode::InvalidMetadata, "metadata must be an object of bounded size");
    match given.get("metadata") {
        None | Some(Value::Null) => Ok(CanonicalJson::empty_object()),
        Some(value @ Value::Object(_)) => {
            let json = CanonicalJson::from_value(value).map_err(|_| wrong())?;
            if json.as_bytes().len() > limits::METADATA_BYTES { Err(wrong()) } else { Ok(json) }
        }
        Some(_) => Err(wrong()),
    }
}

/// What was read.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// The agent, if it is there.
    pub existing: Option<Agent>,
    /// The agent it is derived from.
    pub source: Option<Agent>,
    /// The profile that is named, if it is there.
    pub profile: Option<Profile>,
    /// The step that the caller's turn is in.
    pub caller_step: Option<StepId>,
}

/// Provisions the agent; nothing is written when nothing changes (PM-02).
pub fn decide(
    project: &ProjectId,
    call: &Call,
    command: &Provision,
    given: &Given,
    moment: &Moment,
) -> Result<Decision<(Agent, bool)>, Rejection> {
    let agent = match &given.existing {
        Some(existing) => changed(existing, command, given, moment)?,
        None => new(call, command, given, moment)?,
    };
    let created = given.existing.is_none();
    if given
        .existing
        .as_ref()
        .is_some_and(|before| before.display_name == agent.display_name && before.metadata == agent.metadata)
    {
        let existing = given.existing.clone().unwrap_or(agent);
        return Ok(Decision::nothing(project.clone(), (existing, false)));
    }
    let mut commit = Commit::new(project.clone());
    let by = By {
        source: Some(&call.caller),
        channel: &call.channel,
        trace_id: Some(&call.trace_id),
        step: given.caller_step.as_ref(),
    };
    add_agent::provision(&mut commit, &agent, given.existing.as_ref(), &by, moment);
    Ok(Decision { commit, outcome: (agent, created) })
}

/// What the caller is told.
pub fn result((agent, created): &(Agent, bool)) -> Value {
    json!({
        "status": "accepted",
        "agent_id": agent.id.as_str(),
        "profile_name": agent.profile_name.as_str(),
        "profile_box_id": agent.profile_box.to_string(),
        "worker_target": agent.worker_target.as_str(),
        "tags": agent.tags,
        "owner_agent_id": agent.owner.as_ref().map(AgentId::as_str),
        "created": created,
    })
}

/// PM-03: name and metadata may change, what the agent is may not.
fn changed(
    existing: &Agent,
    command: &Provision,
    given: &Given,
    moment: &Moment,
) -> Result<Agent, Rejection> {
    let refuse =
        |code: RefusalCode| Err(Rejection::refused(code, format!("agent {} is there already", existing.id)));
    if let Some(name) = &command.profile_name {
        let same = given.profile.as_ref().is_some_and(|profile| profile.name == existing.profile_name);
        if !same && *name != existing.profile_name.as_str() {
            return refuse(RefusalCode::ExistingAgentProfile);
        }
    }
    if let Some(source) = &command.derived_from {
        let derived = existing.metadata.to_value();
        if derived.get("derived_from").and_then(Value::as_str) != Some(source.as_str()) {
            return refuse(RefusalCode::DerivedAgentConflict);
        }
    }
    if command.owner.is_some() && command.owner != existing.owner {
        return refuse(RefusalCode::ExistingAgentOwner);
    }
    if command.worker_target.as_ref().is_some_and(|target| *target != existing.worker_target) {
        return refuse(RefusalCode::ExistingAgentWorkerTarget);
    }
    if command.tags.as_ref().is_some_and(|tags| *tags != existing.tags) {
        return refuse(RefusalCode::ExistingAgentTags);
    }
    Ok(Agent {
        display_name: command.display_name.clone().or_else(|| existing.display_name.clone()),
        metadata: add_agent::merged(Some(&existing.metadata), &command.metadata)?,
        revision: existing.revision.next(),
        updated_at: moment.now,
        ..existing.clone()
    })
}

/// PM-04: what is not said comes from the profile, or from the agent it is derived from.
fn new(call: &Call, command: &Provision, given: &Given, moment: &Moment) -> Result<Agent, Rejection> {
    let (profile_name, profile_box, worker_target, tags) = match (&given.source, &given.profile) {
        (_, Some(profile)) => (&profile.name, profile.profile_box, &profile.worker_target, &profile.tags),
        (Some(source), None) if command.profile_name.is_none() => {
            (&source.profile_name, source.profile_box, &source.worker_target, &source.tags)
        }
        (_, None) => {
            let name = command.profile_name.as_deref().unwrap_or_default();
            return Err(Rejection::refused(
                RefusalCode::ProfileNotFound,
                format!("profile not found: {name}"),
            ));
        }
    };
    let source = given.source.as_ref().map(|source| source.id.clone());
    let metadata = match &source {
        None => command.metadata.clone(),
        Some(source) => {
            let derived = own_json(&json!({ "derived_from": source.as_str() }));
            add_agent::merged(Some(&derived), &command.metadata)?
        }
    };
    Ok(Agent {
        id: command.id.clone(),
        profile_name: profile_name.clone(),
        profile_box,
        worker_target: command.worker_target.as_ref().unwrap_or(worker_target).clone(),
        display_name: command.display_name.clone(),
        tags: command.tags.as_ref().unwrap_or(tags).clone(),
        owner: source.or_else(|| command.owner.clone()).or_else(|| Some(call.caller.clone())),
        metadata,
        revision: Revision::FIRST,
        created_at: moment.now,
        updated_at: moment.now,
    })
}

#[cfg(test)]
mod tests;
