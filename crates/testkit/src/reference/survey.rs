//! Reads over whole runs, boxes and cards.

use super::ReferenceStore;
use async_trait::async_trait;
use cardwire_model::{
    BoxHead, BoxId, CardId, EdgePhase, InboxId, InboxItem, InboxKind, Primitive, ProjectId, Realm, Step,
    TurnId,
};
use cardwire_store::{EntryKey, Holders, StoreError, Survey};
use std::{cmp::Reverse, collections::HashSet};

type Result<T> = std::result::Result<T, StoreError>;

#[async_trait]
impl Survey for ReferenceStore {
    async fn runs(
        &self,
        project: &ProjectId,
        before: Option<InboxId>,
        limit: usize,
    ) -> Result<Vec<InboxItem>> {
        let realm = Realm::from(project.clone());
        let is_run = |item: &&InboxItem| {
            item.kind == InboxKind::Turn
                && item.parent_turn.is_none()
                && before.is_none_or(|before| item.id < before)
        };
        self.with(|state| {
            let mut found: Vec<_> = state.inbox(&realm).filter(is_run).cloned().collect();
            found.sort_by_key(|item| Reverse(item.id));
            found.truncate(limit);
            found
        })
    }

    async fn sent_by(&self, project: &ProjectId, turns: &[TurnId], limit: usize) -> Result<Vec<InboxItem>> {
        let realm = Realm::from(project.clone());
        self.with(|state| {
            let sent = state.edges(&realm).filter(|edge| {
                (edge.primitive, edge.phase) == (Primitive::Enqueue, EdgePhase::Request)
                    && edge.source_turn.is_some_and(|turn| turns.contains(&turn))
            });
            let rows = sent.filter_map(|edge| state.turn(&realm, edge.target_turn?));
            let mut found: Vec<_> = rows.cloned().collect();
            found.sort_by_key(|item| item.id);
            found.truncate(limit);
            found
        })
    }

    async fn steps_of(&self, project: &ProjectId, turns: &[TurnId], limit: usize) -> Result<Vec<Step>> {
        let realm = Realm::from(project.clone());
        let wanted: HashSet<_> = turns.iter().collect();
        self.with(|state| {
            let of_turns = state.steps(&realm).filter(|step| wanted.contains(&step.turn_id));
            let mut found: Vec<_> = of_turns.cloned().collect();
            found.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
            found.truncate(limit);
            found
        })
    }

    async fn latest_card_ids(
        &self,
        project: &ProjectId,
        before: Option<CardId>,
        limit: usize,
    ) -> Result<Vec<CardId>> {
        let realm = Realm::from(project.clone());
        self.with(|state| {
            let ids = state.cards.of(&realm).map(|card| card.id);
            let mut found: Vec<_> = ids.filter(|id| before.is_none_or(|before| *id < before)).collect();
            found.sort_by_key(|id| Reverse(*id));
            found.truncate(limit);
            found
        })
    }

    async fn latest_boxes(
        &self,
        project: &ProjectId,
        before: Option<BoxId>,
        limit: usize,
    ) -> Result<Vec<BoxHead>> {
        let realm = Realm::from(project.clone());
        self.with(|state| {
            let boxes =
                state.boxes.of(&realm).filter(|head| before.is_none_or(|before| head.box_id < before));
            let mut found: Vec<_> = boxes.cloned().collect();
            found.sort_by_key(|head| Reverse(head.box_id));
            found.truncate(limit);
            found
        })
    }

    async fn holders(
        &self,
        project: &ProjectId,
        card: CardId,
        after: Option<EntryKey>,
        limit: usize,
    ) -> Result<Holders> {
        let realm = Realm::from(project.clone());
        self.with(|state| {
            let all = state.entries.range(..).filter(|((of, ..), _)| *of == realm);
            let keyed = all.map(|((_, id, generation, seq), entry)| ((*id, *generation, *seq), *entry));
            let next = keyed.filter(|(key, _)| after.is_none_or(|after| *key > after)).take(limit);
            let rows = next.enumerate().map(|(place, (key, entry))| (key, entry, place + 1 == limit));
            Holders::of(card, rows)
        })
    }
}
