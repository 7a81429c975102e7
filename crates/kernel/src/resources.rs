//! Documents under names: recipes, and later tools and teams.

use crate::{Caller, Kernel, KernelError, execute::Plan};
use cardwire_model::{
    Card, CardDraft, CardId, Keys, Origin, ProjectId, Realm, Resource, ResourceKind, ResourceName,
};
use cardwire_protocol::{
    Rejection,
    resource::{
        delete,
        put::{self, Put, PutResource},
    },
};
use std::sync::Arc;

impl Kernel {
    /// Writes a document.
    pub async fn put_resource(
        &self,
        project: &ProjectId,
        caller: &Caller,
        kind: ResourceKind,
        name: ResourceName,
        draft: CardDraft,
    ) -> Result<Put, KernelError> {
        let realm = Realm::from(project.clone());
        let card = draft.into_card(self.card_id(), Origin::Operator, self.now())?;
        let keys = Keys { resource: Some((kind, name.clone())), ..Keys::default() };
        let current = match self.store.load(&realm, &keys).await?.resource {
            Some(resource) => self.get_cards(project, &[resource.card_id], true).await?.pop(),
            None => None,
        };
        let current = current.map(|card| Card::clone(&card));
        let command = PutResource { kind, name, card, current };
        let plan = Plan { realm: &realm, caller, keys, flat: None, remember: None };
        self.execute_once(plan, |loaded, moment| put::decide(&loaded.snapshot, project, &command, moment))
            .await
    }

    /// Deletes a document.
    pub async fn delete_resource(
        &self,
        project: &ProjectId,
        caller: &Caller,
        kind: ResourceKind,
        name: &ResourceName,
    ) -> Result<(), KernelError> {
        let realm = Realm::from(project.clone());
        let keys = Keys { resource: Some((kind, name.clone())), ..Keys::default() };
        let plan = Plan { realm: &realm, caller, keys, flat: None, remember: None };
        self.execute_once(plan, |loaded, moment| {
            delete::decide(&loaded.snapshot, project, kind, name, moment)
        })
        .await
    }

    /// A document and its card.
    pub async fn resource(
        &self,
        project: &ProjectId,
        kind: ResourceKind,
        name: &ResourceName,
    ) -> Result<(Resource, Arc<Card>), KernelError> {
        let missing = || Rejection::NotFound { what: kind.as_str(), id: name.to_string() };
        let keys = Keys { resource: Some((kind, name.clone())), ..Keys::default() };
        let found = self.store.load(&Realm::from(project.clone()), &keys).await?.resource;
        let resource = found.filter(|resource| resource.deleted_at.is_none()).ok_or_else(missing)?;
        let card = self.get_cards(project, &[resource.card_id], true).await?.pop().ok_or_else(missing)?;
        Ok((resource, card))
    }

    /// Documents of a kind by name, with their cards.
    pub async fn list_resources(
        &self,
        project: &ProjectId,
        kind: ResourceKind,
        after: Option<&ResourceName>,
        limit: usize,
    ) -> Result<Vec<(Resource, Arc<Card>)>, KernelError> {
        let (mut after, mut found) = (after.cloned(), vec![]);
        // Deleted ones are passed over, so a page may take more than one read.
        loop {
            let page = self.store.resources(project, kind, after.as_ref(), limit).await?;
            let ended = page.len() < limit;
            after = page.last().map(|resource| resource.name.clone());
            found.extend(page.into_iter().filter(|resource| resource.deleted_at.is_none()));
            if ended || found.len() >= limit {
                break;
            }
        }
        found.truncate(limit);
        let ids: Vec<CardId> = found.iter().map(|resource| resource.card_id).collect();
        let cards = self.get_cards(project, &ids, true).await?;
        let with_card = |resource: Resource| {
            let card = cards.iter().find(|card| card.id == resource.card_id)?;
            Some((resource, Arc::clone(card)))
        };
        Ok(found.into_iter().filter_map(with_card).collect())
    }
}
