//! Write a document: a card under a name. A changed document is a new card, so that the old one can still be read.
//! A tool and a recipe cannot have the same name, as both are called by it.

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
    /// The document of this name among those that may not share it ([`super::rival`]), if there ever was one.
    pub rival: Option<Resource>,
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
    super::check_name(command.kind, &command.name)?;
    if let Some(rival) = command.rival.as_ref().filter(|rival| rival.deleted_at.is_none()) {
        let (name, kind) = (&rival.name, rival.kind.as_str());
        return Err(Rejection::Conflict(format!("{name} is the name of a {kind} already")));
    }
    let existing = snapshot.resource.as_ref();
    let live = existing.filter(|resource| resource.deleted_at.is_none());
    if let (Some(resource), Some(card)) = (live, &command.current)
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
        created_at: live.map_or(moment.now, |resource| resource.created_at),
        updated_at: moment.now,
        deleted_at: None,
    };
    let mut commit = Commit::new(project.clone());
    commit.writes.push(Write::PutCard(Box::new(command.card.clone())));
    commit.writes.push(Write::PutResource {
        was: existing.map(|resource| resource.revision),
        resource: Box::new(resource.clone()),
    });
    if live.is_none()
        && let Some(kind) = super::rival(command.kind)
    {
        commit.writes.push(hold(kind, &resource, command.rival.as_ref()));
    }
    let detail = json!({ "kind": command.kind.as_str(), "card_id": command.card.id.to_string() });
    commit.audit.push(moment.audit(AuditAction::ResourceWrite, &command.name, &detail));
    Ok(Decision { commit, outcome: Put { resource, created: live.is_none() } })
}

/// Writes the rival's row as a deleted one, so that of two who take the name at once the second meets a conflict and
/// looks again.
fn hold(kind: ResourceKind, of: &Resource, rival: Option<&Resource>) -> Write {
    let revision = rival.map_or(Revision::FIRST, |rival| rival.revision.next());
    let held = Resource { kind, revision, deleted_at: Some(of.updated_at), ..of.clone() };
    Write::PutResource { was: rival.map(|rival| rival.revision), resource: Box::new(held) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{card, moment, project};
    use ResourceKind::{Plan, Recipe, Team, Tool};

    fn command(kind: ResourceKind, name: &str, text: &str) -> PutResource {
        PutResource { kind, name: name.parse().unwrap(), card: card(7, text), current: None, rival: None }
    }

    fn put(
        name: &str,
        text: &str,
        snapshot: &Snapshot,
        current: Option<Card>,
    ) -> Result<Decision<Put>, Rejection> {
        let command = PutResource { current, ..command(Recipe, name, text) };
        decide(snapshot, &project(), &command, &moment())
    }

    fn rows(decision: &Decision<Put>) -> Vec<(Option<Revision>, Resource)> {
        let row = |write: &Write| {
            let Write::PutResource { was, resource } = write else { return None };
            Some((*was, Resource::clone(resource)))
        };
        decision.commit.writes.iter().filter_map(row).collect()
    }

    #[test]
    fn pm_20_reserved_names_are_refused() {
        for name in super::super::RESERVED.into_iter().chain(["Delegate_Async"]) {
            assert!(put(name, "x", &Snapshot::default(), None).is_err(), "{name}");
        }
        assert!(put("delegate", "x", &Snapshot::default(), None).is_ok());
        for (kind, refused) in [(Tool, true), (Recipe, true), (Team, false), (Plan, false)] {
            let command = command(kind, "fork_join", "x");
            let decided = decide(&Snapshot::default(), &project(), &command, &moment());
            assert_eq!(decided.is_err(), refused, "nobody calls a {kind:?}");
        }
    }

    #[test]
    fn a_tool_and_a_recipe_cannot_share_a_name_not_even_when_written_at_once() {
        let (empty, moment) = (Snapshot::default(), moment());
        let tool = decide(&empty, &project(), &command(Tool, "x", "t"), &moment).unwrap();
        let [(None, made), (None, held)] = &rows(&tool)[..] else { panic!("{tool:?}") };
        assert_eq!((made.kind, made.deleted_at), (Tool, None));
        assert_eq!((held.kind, held.deleted_at), (Recipe, Some(moment.now)), "a rival meets this row");
        let taken = PutResource { rival: Some(made.clone()), ..command(Recipe, "x", "r") };
        let held_row = Snapshot { resource: Some(held.clone()), ..Snapshot::default() };
        assert!(matches!(decide(&held_row, &project(), &taken, &moment), Err(Rejection::Conflict(_))));
        let gone = Resource { deleted_at: Some(moment.now), ..made.clone() };
        let free = PutResource { rival: Some(gone), ..taken };
        let recipe = decide(&held_row, &project(), &free, &moment).unwrap();
        assert!(recipe.outcome.created);
        let [(was, now), (was_tool, tool)] = &rows(&recipe)[..] else { panic!("{recipe:?}") };
        assert_eq!((*was, now.revision), (Some(held.revision), held.revision.next()));
        assert_eq!((*was_tool, tool.revision), (Some(made.revision), made.revision.next()));
        let changed = PutResource { kind: Tool, card: card(8, "new"), ..command(Tool, "x", "t") };
        let live = Snapshot { resource: Some(made.clone()), ..Snapshot::default() };
        assert_eq!(
            rows(&decide(&live, &project(), &changed, &moment).unwrap()).len(),
            1,
            "it is held already"
        );
        let team = decide(&empty, &project(), &command(Team, "x", "t"), &moment).unwrap();
        assert_eq!(rows(&team).len(), 1);
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
