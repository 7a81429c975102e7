//! Write a profile: a `sys.profile` card in the profile's box. A changed profile is a new card in a new box, so that
//! turns that were given the old one can still be reproduced (CB-13).

use super::check_tags;
use crate::{Decision, Moment, Rejection, pmo::policy};
use cardwire_model::{
    AuditAction, BoxHead, BoxId, Card, Commit, Entry, NewBox, Profile, ProfileName, ProjectId, Revision,
    Snapshot, WorkerTarget, Write,
};
use serde_json::json;

/// A profile to write.
#[derive(Debug, Clone)]
pub struct PutProfile {
    /// Its name.
    pub name: ProfileName,
    /// Which workers serve its agents.
    pub worker_target: WorkerTarget,
    /// For choosing agents.
    pub tags: Vec<String>,
    /// The whole of it, as a `sys.profile` card with a fresh id.
    pub card: Card,
    /// The card the profile has now.
    pub current: Option<Card>,
}

/// The profile as it is now, and whether anything changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// The row.
    pub profile: Profile,
    /// The profile is new.
    pub created: bool,
}

/// Writes the profile; the same text again changes nothing.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &PutProfile,
    moment: &Moment,
) -> Result<Decision<Put>, Rejection> {
    check_tags(&command.tags)?;
    policy::check_shape(command.card.content.to_value().get("delegation_policy"))?;
    let existing = snapshot.profile.as_ref();
    if let (Some(profile), Some(card)) = (existing, &command.current)
        && profile.deleted_at.is_none()
        && profile.card_id == card.id
        && card.fact_hash == command.card.fact_hash
    {
        let put = Put { profile: profile.clone(), created: false };
        return Ok(Decision::nothing(project.clone(), put));
    }
    let box_id = BoxId::from_uuid(moment.fresh.uuid());
    let profile = Profile {
        name: command.name.clone(),
        worker_target: command.worker_target.clone(),
        profile_box: box_id,
        card_id: command.card.id,
        tags: command.tags.clone(),
        revision: existing.map_or(Revision::FIRST, |profile| profile.revision.next()),
        created_at: existing.map_or(moment.now, |profile| profile.created_at),
        updated_at: moment.now,
        deleted_at: None,
    };
    let head = BoxHead { len: 1, entries: 1, sealed: true, ..BoxHead::empty(box_id, moment.now) };
    let mut commit = Commit::new(project.clone());
    commit.writes.push(Write::PutCard(Box::new(command.card.clone())));
    commit.writes.push(Write::CreateBox(NewBox { head, entries: vec![Entry::direct(command.card.id)] }));
    commit.writes.push(Write::PutProfile {
        was: existing.map(|profile| profile.revision),
        profile: Box::new(profile.clone()),
    });
    let detail = json!({ "profile_box_id": box_id.to_string() });
    commit.audit.push(moment.audit(AuditAction::ProfileWrite, &command.name, &detail));
    let created = existing.is_none_or(|profile| profile.deleted_at.is_some());
    Ok(Decision { commit, outcome: Put { profile, created } })
}
