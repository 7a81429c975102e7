//! Writes of profiles, agents and how they came to be.

use super::{Applied, Apply};
use crate::{codec, sql};
use cardwire_model::{Agent, Conflict, IdentityEdge, Profile, Resource, Revision, Timestamp};
use rusqlite::params;

impl Apply<'_> {
    pub(super) fn put_profile(&self, was: Option<Revision>, profile: &Profile) -> Applied {
        let row = params![
            self.realm,
            profile.name.as_str(),
            profile.worker_target.as_str(),
            profile.profile_box.uuid().into_bytes(),
            profile.card_id.uuid().into_bytes(),
            codec::tags_to_stored(&profile.tags),
            profile.revision.get() as i64,
            profile.created_at.micros(),
            profile.updated_at.micros(),
            profile.deleted_at.map(Timestamp::micros),
            was.map(|revision| revision.get() as i64),
        ];
        self.run_one(sql::PUT_PROFILE, row, Conflict::Roster)
    }

    pub(super) fn put_resource(&self, was: Option<Revision>, resource: &Resource) -> Applied {
        let row = params![
            self.realm,
            resource.kind.as_str(),
            resource.name.as_str(),
            resource.card_id.uuid().into_bytes(),
            resource.revision.get() as i64,
            resource.created_at.micros(),
            resource.updated_at.micros(),
            resource.deleted_at.map(Timestamp::micros),
            was.map(|revision| revision.get() as i64),
        ];
        self.run_one(sql::PUT_RESOURCE, row, Conflict::Roster)
    }

    pub(super) fn put_agent(&self, was: Option<Revision>, agent: &Agent) -> Applied {
        let row = params![
            self.realm,
            agent.id.as_str(),
            agent.profile_name.as_str(),
            agent.profile_box.uuid().into_bytes(),
            agent.worker_target.as_str(),
            agent.display_name,
            codec::tags_to_stored(&agent.tags),
            agent.owner.as_ref().map(|owner| owner.as_str()),
            agent.metadata.as_str(),
            agent.revision.get() as i64,
            agent.created_at.micros(),
            agent.updated_at.micros(),
            was.map(|revision| revision.get() as i64),
        ];
        self.run_one(sql::PUT_AGENT, row, Conflict::Roster)
    }

    pub(super) fn add_identity_edge(&self, edge: &IdentityEdge) -> Applied {
        let row = params![
            self.realm,
            edge.id.uuid().into_bytes(),
            edge.action.as_str(),
            edge.source_agent.as_ref().map(|agent| agent.as_str()),
            edge.target_agent.as_str(),
            edge.channel.as_str(),
            edge.trace_id,
            edge.metadata.as_str(),
            edge.created_at.micros(),
            edge.parent_step.as_ref().map(|step| step.as_str()),
        ];
        self.run(sql::ADD_IDENTITY_EDGE, row, Conflict::Roster).map(drop)
    }
}
