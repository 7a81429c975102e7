//! Write a document: a card under a name. A changed document is a new card, so that the old one can still be read.

use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    AuditAction, Card, Commit, ProjectId, Resource, ResourceKind, ResourceName, Revision, Snapshot, Write,
};
use serde_json::json;

/// A document to write.
#[derive(Debug, Clone)]
pub struct PutResource {
    /// What it is.
    pub kind: ResourceKind,
    /// Its name.
    pub name: ResourceName,
    /// What it says, as a card with a fresh id.
    pub card: Card,
    /// The card it has now.
    pub current: Option<Card>,
}

/// The document as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// The row.
    pub resource: Resource,
    /// The document is new.
    pub created: bool,
}

/// Writes the document; the same text again changes nothing.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &PutResource,
    moment: &Moment,
) -> Result<Decision<Put>, Rejection> {
    super::check_name(&command.name)?;
    let existing = snapshot.resource.as_ref();
    if let (Some(resource), Some(card)) = (existing, &command.current)
        && resource.deleted_at.is_none()
        && resource.card_id == card.id
        && card.fact_hash == command.card.fact_hash
    {
        let put = Put { resource: resource.clone(), created: false };
        return Ok(Decision::nothing(project.clone(), put));
    }
    let resource = Resource {
        kind: command.kind,
        name: command.name.clone(),
        card_id: command.card.id,
        revision: existing.map_or(Revision::FIRST, |resource| resource.revision.next()),
        created_at: existing.map_or(moment.now, |resource| resource.created_at),
        updated_at: moment.now,
        deleted_at: None,
    };
    let mut commit = Commit::new(project.clone());
    commit.writes.push(Write::PutCard(Box::new(command.card.clone())));
    commit.writes.push(Write::PutResource {
        was: existing.map(|resource| resource.revision),
        resource: Box::new(resource.clone()),
    });
    let detail = json!({ "kind": command.kind.as_str(), "card_id": command.card.id.to_string() });
    commit.audit.push(moment.audit(AuditAction::ResourceWrite, &command.name, &detail));
    let created = existing.is_none_or(|resource| resource.deleted_at.is_some());
    Ok(Decision { commit, outcome: Put { resource, created } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{card, moment, project};

    fn put(
        name: &str,
        text: &str,
        snapshot: &Snapshot,
        current: Option<Card>,
    ) -> Result<Decision<Put>, Rejection> {
        let command = PutResource {
            kind: ResourceKind::Recipe,
            name: name.parse().unwrap(),
            card: card(7, text),
            current,
        };
        decide(snapshot, &project(), &command, &moment())
    }

    #[test]
    fn pm_20_reserved_names_are_refused() {
        for name in super::super::RESERVED.into_iter().chain(["Delegate_Async"]) {
            assert!(put(name, "x", &Snapshot::default(), None).is_err(), "{name}");
        }
        assert!(put("delegate", "x", &Snapshot::default(), None).is_ok());
    }

    #[test]
    fn the_same_text_changes_nothing_and_another_is_another_card() {
        let first = put("r", "x", &Snapshot::default(), None).unwrap().outcome;
        assert!(first.created);
        let snapshot = Snapshot { resource: Some(first.resource.clone()), ..Snapshot::default() };
        let again = put("r", "x", &snapshot, Some(card(7, "x"))).unwrap();
        assert!(again.commit.is_empty() && !again.outcome.created);
        let changed = put("r", "y", &snapshot, Some(card(7, "x"))).unwrap();
        assert_eq!(changed.outcome.resource.revision, first.resource.revision.next());
        assert!(!changed.outcome.created);
    }
}
