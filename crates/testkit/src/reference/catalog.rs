//! Reads for people and programs, each a walk over an ordered map.

use super::ReferenceStore;
use crate::wanted::audit_is_wanted;
use async_trait::async_trait;
use cardwire_model::{
    AuditRow, BoxHead, BoxId, Card, CardId, Entry, Event, Generation, Hash256, Item, Project, ProjectId,
    Realm, Token, TokenId,
};
use cardwire_store::{BoxAt, CardIds, Catalog, EventFilter, Health, HydratedEntry, RowFilter, StoreError};
use std::{collections::BTreeSet, ops::Bound};
use uuid::Uuid;

type Result<T> = std::result::Result<T, StoreError>;

/// Sorts after every other id.
const LAST_ID: Uuid = Uuid::max();

#[async_trait]
impl Catalog for ReferenceStore {
    async fn box_head(&self, project: &ProjectId, box_id: BoxId) -> Result<Option<BoxAt>> {
        self.with(|state| {
            let head = state.card_box(&project.clone().into(), box_id)?.clone();
            let deletions = state.project(project)?.deletions;
            Some(BoxAt { head, deletions })
        })
    }

    async fn box_entries(
        &self,
        project: &ProjectId,
        box_id: BoxId,
        generation: Generation,
        from: u32,
    ) -> Result<Vec<Entry>> {
        let realm = project.clone().into();
        self.with(|state| state.box_entries(&realm, box_id, generation, from).collect())
    }

    async fn box_cards(
        &self,
        project: &ProjectId,
        box_id: BoxId,
        generation: Generation,
        from: u32,
    ) -> Result<Vec<HydratedEntry>> {
        let realm = project.clone().into();
        self.with(|state| {
            let hydrate = |entry: Entry| {
                let card = match entry.item {
                    Item::Card(id) => state.card(&realm, id).cloned(),
                    Item::Segment(_) => None,
                };
                HydratedEntry { entry, card }
            };
            state.box_entries(&realm, box_id, generation, from).map(hydrate).collect()
        })
    }

    async fn cards(&self, project: &ProjectId, ids: &[CardId]) -> Result<Vec<Card>> {
        let realm = project.clone().into();
        let distinct: BTreeSet<_> = ids.iter().copied().collect();
        self.with(|state| distinct.into_iter().filter_map(|id| state.card(&realm, id)).cloned().collect())
    }

    async fn card_ids(&self, project: &ProjectId, after: Option<CardId>, limit: usize) -> Result<CardIds> {
        let cards = self.scan_cards(project, after, limit).await?;
        Ok(CardIds { ids: cards.iter().map(|card| card.id).collect(), unreadable: 0 })
    }

    async fn scan_cards(
        &self,
        project: &ProjectId,
        after: Option<CardId>,
        limit: usize,
    ) -> Result<Vec<Card>> {
        let realm = Realm::from(project.clone());
        let last = (realm.clone(), CardId::from_uuid(LAST_ID));
        let first = first_after(after, |id| (realm.clone(), id), CardId::from_uuid(Uuid::nil()));
        self.with(|state| {
            let rows = state.cards.range((first, Bound::Included(last)));
            rows.take(limit).map(|(_, card)| card.clone()).collect()
        })
    }

    async fn scan_boxes(
        &self,
        project: &ProjectId,
        after: Option<BoxId>,
        limit: usize,
    ) -> Result<Vec<BoxHead>> {
        let realm = Realm::from(project.clone());
        let last = (realm.clone(), BoxId::from_uuid(LAST_ID));
        let first = first_after(after, |id| (realm.clone(), id), BoxId::from_uuid(Uuid::nil()));
        self.with(|state| {
            let rows = state.boxes.range((first, Bound::Included(last)));
            rows.take(limit).map(|(_, head)| head.clone()).collect()
        })
    }

    async fn project(&self, project: &ProjectId) -> Result<Option<Project>> {
        self.with(|state| state.project(project).cloned())
    }

    async fn projects(&self, after: Option<&ProjectId>, limit: usize) -> Result<Vec<Project>> {
        let is_after = |project: &&Project| after.is_none_or(|after| project.id > *after);
        self.with(|state| state.projects.values().filter(is_after).take(limit).cloned().collect())
    }

    async fn token_by_hash(&self, hash: Hash256) -> Result<Option<Token>> {
        self.with(|state| state.tokens.values().find(|token| token.secret_hash == hash).cloned())
    }

    async fn tokens_by_hashes(&self, hashes: &[Hash256]) -> Result<Vec<Token>> {
        let wanted = |token: &&Token| hashes.contains(&token.secret_hash);
        self.with(|state| state.tokens.values().filter(wanted).cloned().collect())
    }

    async fn token_by_id(&self, id: TokenId) -> Result<Option<Token>> {
        self.with(|state| state.token(id).cloned())
    }

    async fn tokens(
        &self,
        realm: Option<&Realm>,
        after: Option<TokenId>,
        limit: usize,
    ) -> Result<Vec<Token>> {
        let wanted = |token: &&Token| {
            realm.is_none_or(|realm| token.realm == *realm) && after.is_none_or(|after| token.id > after)
        };
        self.with(|state| state.tokens.values().filter(wanted).take(limit).cloned().collect())
    }

    async fn events(
        &self,
        project: &ProjectId,
        after: u64,
        filter: &EventFilter,
        limit: usize,
    ) -> Result<Vec<Event>> {
        let realm = project.clone().into();
        let wanted = |found: &Event| filter.takes(&found.event);
        self.with(|state| state.events(&realm, after).filter(wanted).take(limit).collect())
    }

    async fn last_position(&self, project: &ProjectId) -> Result<u64> {
        self.with(|state| state.last_position(&project.clone().into()))
    }

    async fn last_positions(&self, projects: &[ProjectId]) -> Result<Vec<(ProjectId, u64)>> {
        self.with(|state| {
            let live = projects
                .iter()
                .filter(|id| state.project(id).is_some_and(|project| project.deleted_at.is_none()));
            live.map(|id| (id.clone(), state.last_position(&id.clone().into()))).collect()
        })
    }

    async fn audit(
        &self,
        realm: &Realm,
        filter: &RowFilter,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<AuditRow>> {
        let wanted = |row: &&AuditRow| {
            audit_is_wanted(filter, &row.audit) && before.is_none_or(|before| row.seq < before)
        };
        self.with(|state| state.audit(realm).rev().filter(wanted).take(limit).cloned().collect())
    }

    async fn audit_chain(&self, realm: &Realm, after: u64, limit: usize) -> Result<Vec<AuditRow>> {
        self.with(|state| state.audit_chain(realm, after).take(limit).cloned().collect())
    }

    async fn health(&self) -> Result<Health> {
        self.with(|state| Health {
            backend: "reference",
            version: env!("CARGO_PKG_VERSION").to_owned(),
            schema: 0,
            unnumbered_events: 0,
            unsealed_audit: state.audit.values().filter(|row| row.sealed.is_none()).count() as u64,
            reach: None,
        })
    }
}

/// Where a scan begins: behind `after`, or at the lowest id.
fn first_after<I, K>(after: Option<I>, key: impl Fn(I) -> K, lowest: I) -> Bound<K> {
    match after {
        Some(id) => Bound::Excluded(key(id)),
        None => Bound::Included(key(lowest)),
    }
}
