//! Profiles, agents, and how they came to be, as whole rows.

use super::{Read, Record, get, json, name, named, number, optional_name, optional_time, time};
use cardwire_model::{
    Agent, BoxId, CardId, EdgeId, IdentityAction, IdentityEdge, Profile, Resource, ResourceKind, Revision,
};

/// A row of `resource_profiles`.
pub(crate) fn profile(row: &Record<'_>) -> Read<Profile> {
    Ok(Profile {
        name: name(row, 1, "a profile's name")?,
        worker_target: name(row, 2, "a worker target")?,
        profile_box: BoxId::from_uuid(get(row, 3)?),
        card_id: CardId::from_uuid(get(row, 4)?),
        tags: get(row, 5)?,
        revision: Revision::new(number(row, 6, "a revision")?),
        created_at: time(row, 7)?,
        updated_at: time(row, 8)?,
        deleted_at: optional_time(row, 9)?,
    })
}

/// A row of `resource_documents`.
pub(crate) fn resource(row: &Record<'_>) -> Read<Resource> {
    Ok(Resource {
        kind: named(row, 1, ResourceKind::from_name, "a kind of document")?,
        name: name(row, 2, "a document's name")?,
        card_id: CardId::from_uuid(get(row, 3)?),
        revision: Revision::new(number(row, 4, "a revision")?),
        created_at: time(row, 5)?,
        updated_at: time(row, 6)?,
        deleted_at: optional_time(row, 7)?,
    })
}

/// A row of `resource_project_agents`.
pub(crate) fn agent(row: &Record<'_>) -> Read<Agent> {
    Ok(Agent {
        id: name(row, 1, "an agent's name")?,
        profile_name: name(row, 2, "a profile's name")?,
        profile_box: BoxId::from_uuid(get(row, 3)?),
        worker_target: name(row, 4, "a worker target")?,
        display_name: get(row, 5)?,
        tags: get(row, 6)?,
        owner: optional_name(row, 7, "an agent's name")?,
        metadata: json(row, 8)?,
        revision: Revision::new(number(row, 9, "a revision")?),
        created_at: time(row, 10)?,
        updated_at: time(row, 11)?,
    })
}

/// A row of `state_identity_edges`.
pub(crate) fn identity_edge(row: &Record<'_>) -> Read<IdentityEdge> {
    Ok(IdentityEdge {
        id: EdgeId::from_uuid(get(row, 1)?),
        action: named(row, 2, IdentityAction::from_name, "what happened to an identity")?,
        source_agent: optional_name(row, 3, "an agent's name")?,
        target_agent: name(row, 4, "an agent's name")?,
        channel: name(row, 5, "a channel")?,
        trace_id: get(row, 6)?,
        parent_step: optional_name(row, 9, "a step's id")?,
        metadata: json(row, 7)?,
        created_at: time(row, 8)?,
    })
}
