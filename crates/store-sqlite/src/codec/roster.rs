//! Profiles, agents and how they came to be.

use super::{Result, damaged_column, json, named, optional_slug, optional_time, slug, text, time, uuid};
use cardwire_model::{
    Agent, BoxId, CardId, EdgeId, IdentityAction, IdentityEdge, Profile, Resource, ResourceKind, Revision,
};
use rusqlite::Row;

/// Tags are a JSON list.
pub(crate) fn tags_to_stored(tags: &[String]) -> String {
    serde_json::Value::from(tags).to_string()
}

fn tags(row: &Row<'_>, column: usize) -> Result<Vec<String>> {
    serde_json::from_str(text(row, column)?).map_err(|_| damaged_column(row, column))
}

pub(crate) fn profile(row: &Row<'_>) -> Result<Profile> {
    Ok(Profile {
        name: slug(row, 0)?,
        worker_target: slug(row, 1)?,
        profile_box: BoxId::from_uuid(uuid(row, 2)?),
        card_id: CardId::from_uuid(uuid(row, 3)?),
        tags: tags(row, 4)?,
        revision: Revision::new(row.get::<_, i64>(5)? as u64),
        created_at: time(row, 6)?,
        updated_at: time(row, 7)?,
        deleted_at: optional_time(row, 8)?,
    })
}

pub(crate) fn resource(row: &Row<'_>) -> Result<Resource> {
    Ok(Resource {
        kind: named(row, 0, ResourceKind::from_name)?,
        name: slug(row, 1)?,
        card_id: CardId::from_uuid(uuid(row, 2)?),
        revision: Revision::new(row.get::<_, i64>(3)? as u64),
        created_at: time(row, 4)?,
        updated_at: time(row, 5)?,
        deleted_at: optional_time(row, 6)?,
    })
}

pub(crate) fn agent(row: &Row<'_>) -> Result<Agent> {
    Ok(Agent {
        id: slug(row, 0)?,
        profile_name: slug(row, 1)?,
        profile_box: BoxId::from_uuid(uuid(row, 2)?),
        worker_target: slug(row, 3)?,
        display_name: row.get(4)?,
        tags: tags(row, 5)?,
        owner: optional_slug(row, 6)?,
        metadata: json(row, 7)?,
        revision: Revision::new(row.get::<_, i64>(8)? as u64),
        created_at: time(row, 9)?,
        updated_at: time(row, 10)?,
    })
}

pub(crate) fn identity_edge(row: &Row<'_>) -> Result<IdentityEdge> {
    Ok(IdentityEdge {
        id: EdgeId::from_uuid(uuid(row, 0)?),
        action: named(row, 1, IdentityAction::from_name)?,
        source_agent: optional_slug(row, 2)?,
        target_agent: slug(row, 3)?,
        channel: slug(row, 4)?,
        trace_id: row.get(5)?,
        parent_step: optional_slug(row, 8)?,
        metadata: json(row, 6)?,
        created_at: time(row, 7)?,
    })
}
