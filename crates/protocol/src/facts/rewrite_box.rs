//! Rewrite a box: CB-13, X-09. The old generation stays readable.

use super::{check_box_size, check_cards, distinct, free_box, plain_box};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    AuditAction, BoxHead, BoxId, CardId, Commit, EventKind, Expect, ProjectId, Snapshot, Write,
};
use serde_json::json;

/// New contents for a box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewriteBox {
    /// Where.
    pub project: ProjectId,
    /// Which box.
    pub box_id: BoxId,
    /// What the new generation shows.
    pub card_ids: Vec<CardId>,
}

/// Makes the next generation.
pub fn decide(
    snapshot: &Snapshot,
    command: &RewriteBox,
    moment: &Moment,
) -> Result<Decision<BoxHead>, Rejection> {
    let old = free_box(snapshot, command.box_id)?;
    check_cards(snapshot, &command.card_ids, moment.now)?;
    let cards = distinct(&command.card_ids);
    check_box_size(cards.len())?;
    let mut new = plain_box(command.box_id, old.generation.next(), &cards, moment.now);
    new.head.created_at = old.created_at;
    new.head.handover_hash = old.handover_hash;
    let mut commit = Commit::new(command.project.clone());
    commit.expect.push(Expect::OpenBox {
        box_id: command.box_id,
        generation: old.generation,
        min_len: old.len,
        max_len: old.len,
    });
    commit.expect.push(Expect::OutputFree { box_id: command.box_id, agent_id: None });
    let facts = json!({ "generation": new.head.generation.get(), "len": new.head.len });
    commit.events.push(moment.event(EventKind::BoxRewritten, command.box_id, &facts));
    commit.audit.push(moment.audit(AuditAction::BoxRewrite, command.box_id, &facts));
    let outcome = new.head.clone();
    commit.writes.push(Write::RewriteBox(new));
    Ok(Decision { commit, outcome })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{self, moment, project, with_box};
    use cardwire_model::Generation;

    /// CB-13, X-09
    #[test]
    fn a_rewrite_is_a_new_generation_and_a_sealed_box_refuses_it() {
        let command = RewriteBox { project: project(), box_id: fixtures::box_id(1), card_ids: vec![] };
        let mut snapshot = with_box(1, 3);
        let head = decide(&snapshot, &command, &moment()).unwrap().outcome;
        assert_eq!((head.generation, head.len), (Generation::new(2), 0));
        snapshot.boxes.get_mut(&fixtures::box_id(1)).unwrap().sealed = true;
        assert!(matches!(decide(&snapshot, &command, &moment()), Err(Rejection::BoxSealed { .. })));
    }
}
