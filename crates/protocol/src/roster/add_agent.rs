//! Add an agent to the roster, with the edge that says how it came to be, in one commit (PM-02). The same agent again
//! changes nothing; its name and metadata may change, what it is may not (PM-03).

use super::{check_name, check_tags};
use crate::{Decision, Moment, RefusalCode, Rejection, decision::own_json};
use cardwire_model::{
    Agent, AgentId, AuditAction, CanonicalJson, Channel, Commit, EdgeId, EventKind, IdentityAction,
    IdentityEdge, Invalid, ProfileName, ProjectId, Revision, Snapshot, StepId, Write, limits,
};
use serde_json::json;

/// An agent to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddAgent {
    /// Its name.
    pub id: AgentId,
    /// What it is.
    pub profile_name: ProfileName,
    /// For people.
    pub display_name: Option<String>,
    /// For choosing agents; the profile's when absent.
    pub tags: Option<Vec<String>>,
    /// Whatever is kept with it: an object.
    pub metadata: CanonicalJson,
    /// An agent that is there is given its profile as it reads now, instead of as it read when the agent was made.
    pub refresh: bool,
    /// In which trace.
    pub trace_id: Option<String>,
}

/// The agent as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// The row.
    pub agent: Agent,
    /// The agent is new.
    pub created: bool,
}

/// Adds the agent.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &AddAgent,
    moment: &Moment,
) -> Result<Decision<Added>, Rejection> {
    check(command)?;
    let profile = snapshot.profile.as_ref().filter(|profile| profile.deleted_at.is_none());
    let profile = profile.ok_or_else(|| Rejection::not_found("profile", &command.profile_name))?;
    let existing = snapshot.agent.as_ref();
    if let Some(agent) = existing {
        let refuse = |code: RefusalCode, what: &str| {
            Err(Rejection::refused(code, format!("agent {} is there already, with {what}", agent.id)))
        };
        if agent.profile_name != command.profile_name {
            return refuse(RefusalCode::ExistingAgentProfile, "another profile");
        }
        if command.tags.as_ref().is_some_and(|tags| *tags != agent.tags) {
            return refuse(RefusalCode::ExistingAgentTags, "other tags");
        }
    }
    let agent = Agent {
        id: command.id.clone(),
        profile_name: profile.name.clone(),
        profile_box: existing
            .filter(|_| !command.refresh)
            .map_or(profile.profile_box, |agent| agent.profile_box),
        worker_target: existing
            .filter(|_| !command.refresh)
            .map_or(&profile.worker_target, |agent| &agent.worker_target)
            .clone(),
        display_name: command.display_name.clone().or_else(|| existing.and_then(|a| a.display_name.clone())),
        tags: existing.map_or_else(
            || command.tags.clone().unwrap_or_else(|| profile.tags.clone()),
            |agent| agent.tags.clone(),
        ),
        owner: existing.and_then(|agent| agent.owner.clone()),
        metadata: merged(existing.map(|agent| &agent.metadata), &command.metadata)?,
        revision: existing.map_or(Revision::FIRST, |agent| agent.revision.next()),
        created_at: existing.map_or(moment.now, |agent| agent.created_at),
        updated_at: moment.now,
    };
    if let Some(before) = existing
        && before.display_name == agent.display_name
        && before.metadata == agent.metadata
        && before.profile_box == agent.profile_box
    {
        let added = Added { agent: before.clone(), created: false };
        return Ok(Decision::nothing(project.clone(), added));
    }
    let mut commit = Commit::new(project.clone());
    let trace_id = command.trace_id.as_deref();
    let by = By { source: agent.owner.as_ref(), channel: &Channel::public(), trace_id, step: None };
    provision(&mut commit, &agent, existing, &by, moment);
    Ok(Decision { commit, outcome: Added { agent, created: existing.is_none() } })
}

fn check(command: &AddAgent) -> Result<(), Invalid> {
    if let Some(name) = &command.display_name {
        check_name("display_name", name)?;
    }
    if let Some(tags) = &command.tags {
        check_tags(tags)?;
    }
    if command.metadata.members().is_none() {
        return Err(Invalid::field("metadata", "must be an object"));
    }
    Invalid::check_size("metadata", command.metadata.as_bytes().len(), limits::METADATA_BYTES, "bytes")
}

/// Where an agent came from: said once, and relied on afterwards.
const LINEAGE: [&str; 2] = ["derived_from", "spawned_by"];

/// New metadata over old (PM-03). What says where the agent came from stays, and the whole is bounded.
pub(crate) fn merged(before: Option<&CanonicalJson>, new: &CanonicalJson) -> Result<CanonicalJson, Invalid> {
    let Some(before) = before else { return Ok(new.clone()) };
    let (mut all, new) = (before.to_value(), new.to_value());
    if let (Some(all), Some(new)) = (all.as_object_mut(), new.as_object()) {
        for (key, value) in new {
            if !(LINEAGE.contains(&key.as_str()) && all.contains_key(key)) {
                all.insert(key.clone(), value.clone());
            }
        }
    }
    let all = own_json(&all);
    Invalid::check_size("metadata", all.as_bytes().len(), limits::METADATA_BYTES, "bytes")?;
    Ok(all)
}

/// Who provisions, and where.
pub(crate) struct By<'a> {
    /// The agent that does, if one does.
    pub(crate) source: Option<&'a AgentId>,
    /// On which channel.
    pub(crate) channel: &'a Channel,
    /// In which trace.
    pub(crate) trace_id: Option<&'a str>,
    /// In which step of its turn.
    pub(crate) step: Option<&'a StepId>,
}

/// Writes the agent and how it came to be or changed: the row, the edge, the event and the record, together (PM-02).
pub(crate) fn provision(
    commit: &mut Commit,
    agent: &Agent,
    existing: Option<&Agent>,
    by: &By<'_>,
    moment: &Moment,
) {
    commit
        .writes
        .push(Write::PutAgent { was: existing.map(|agent| agent.revision), agent: Box::new(agent.clone()) });
    let edge = identity_edge(agent, existing.is_some(), by, moment);
    commit.writes.push(Write::AddIdentityEdge(Box::new(edge)));
    let created = json!({ "created": existing.is_none() });
    let mut event = moment.event(EventKind::AgentProvisioned, &agent.id, &created);
    event.agent_id = Some(agent.id.clone());
    event.channel = by.channel.as_str().to_owned();
    event.trace_id = by.trace_id.map(str::to_owned);
    commit.events.push(event);
    let detail = json!({ "profile_name": agent.profile_name.as_str() });
    commit.audit.push(moment.audit(AuditAction::AgentProvision, &agent.id, &detail));
}

fn identity_edge(agent: &Agent, existed: bool, by: &By<'_>, moment: &Moment) -> IdentityEdge {
    IdentityEdge {
        id: EdgeId::from_uuid(moment.fresh.uuid()),
        action: if existed { IdentityAction::Update } else { IdentityAction::Provision },
        source_agent: by.source.cloned(),
        target_agent: agent.id.clone(),
        channel: by.channel.clone(),
        trace_id: by.trace_id.map(str::to_owned),
        parent_step: by.step.cloned(),
        metadata: own_json(&json!({
            "profile_box_id": agent.profile_box.to_string(),
            "worker_target": agent.worker_target.as_str(),
            "tags": agent.tags,
            "display_name": agent.display_name,
            "owner_agent_id": agent.owner.as_ref().map(AgentId::as_str),
        })),
        created_at: moment.now,
    }
}

#[cfg(test)]
mod tests;
