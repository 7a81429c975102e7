//! What no commit does: rows that are lost or damaged, for tests of how the system gets over it.

use super::{ReferenceStore, state::State};
use cardwire_model::{AgentId, BoxHead, BoxId, InboxId, InboxItem, InboxKind, ProjectId, Realm};
use std::sync::PoisonError;

impl ReferenceStore {
    /// Removes an agent's head, but not the copy of it (WD-08). Panics when there is no head.
    pub fn lose_head(&self, project: &ProjectId, agent: &AgentId) {
        let key = (Realm::from(project.clone()), agent.clone());
        let lost = self.with(|state| state.heads.retain(|other, _| *other != key));
        assert_eq!(lost.expect("an open store"), 1, "there is no head of {agent} to lose");
    }

    /// Removes the head of a box: whoever does not miss it has not looked. Panics when there is no such box.
    pub fn lose_box(&self, project: &ProjectId, id: BoxId) -> BoxHead {
        let key = (Realm::from(project.clone()), id);
        let lose = |state: &mut State| {
            let head = state.boxes.get(&key).expect("a box to lose").clone();
            state.boxes.retain(|other, _| *other != key);
            head
        };
        self.with(lose).expect("an open store")
    }

    /// Puts the head of a box back.
    pub fn find_box(&self, project: &ProjectId, head: BoxHead) {
        let put = |state: &mut State| {
            state.boxes.put((Realm::from(project.clone()), head.box_id), head);
            state.boxes.keep();
        };
        self.with(put).expect("an open store");
    }

    /// Changes an inbox row in any way (DP-14, WD-10). Panics when there is no such row.
    pub fn damage_inbox(&self, project: &ProjectId, id: InboxId, damage: impl FnOnce(&mut InboxItem)) {
        let realm = Realm::from(project.clone());
        self.with(|state| state.damage_inbox(&realm, id, damage)).expect("an open store");
    }

    /// The next claim is applied, but whoever claims is not told.
    pub fn lose_claim_answer(&self) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).loses_answer = true;
    }

    pub(super) fn takes_lost_answer(&self) -> bool {
        std::mem::take(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner).loses_answer)
    }
}

impl State {
    fn damage_inbox(&mut self, realm: &Realm, id: InboxId, damage: impl FnOnce(&mut InboxItem)) {
        let mut item = self.inbox_item(realm, id).expect("an inbox row to damage").clone();
        damage(&mut item);
        // A damaged row may have become the row of another turn, or of none.
        self.turns.retain(|(of, _), row| of != realm || *row != id);
        if item.kind == InboxKind::Turn {
            self.turns.put((realm.clone(), item.turn_id), id);
            self.turns.keep();
        }
        self.inbox.put((realm.clone(), id), item);
        self.inbox.keep();
    }
}
