//! Documents under names: tools, recipes, teams and the plan.

use crate::{Caller, Kernel, KernelError, execute::Plan};
use cardwire_model::{
    Card, CardDraft, CardId, Keys, Origin, ProjectId, Realm, Resource, ResourceKind, ResourceName, Snapshot,
    limits,
};
use cardwire_protocol::{
    Decision, Rejection,
    resource::{
        self, delete,
        put::{self, Put, PutResource},
    },
};
use cardwire_store::CommitError;
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
        let card = draft.into_card(self.card_id(), Origin::Operator, self.now())?;
        // Not [`Self::execute`], because a rival is another row of the same kind of key.
        for _ in 0..limits::DECIDE_ATTEMPTS {
            let (snapshot, command) = self.to_put(project, kind, &name, card.clone()).await?;
            let Decision { commit, outcome } =
                put::decide(&snapshot, project, &command, &self.moment(caller))?;
            match self.commit(commit).await {
                Ok(()) => return Ok(outcome),
                Err(CommitError::Conflict(_)) => {}
                Err(CommitError::Store(error)) => return Err(error.into()),
            }
        }
        Err(KernelError::Contended)
    }

    /// The command that writes a document, and the rows it was made of.
    pub(crate) async fn to_put(
        &self,
        project: &ProjectId,
        kind: ResourceKind,
        name: &ResourceName,
        card: Card,
    ) -> Result<(Snapshot, PutResource), KernelError> {
        let realm = Realm::from(project.clone());
        let keys = |kind| Keys { resource: Some((kind, name.clone())), ..Keys::default() };
        let snapshot = self.store.load(&realm, &keys(kind)).await?;
        let rival = match resource::rival(kind).map(keys) {
            Some(keys) => self.store.load(&realm, &keys).await?.resource,
            None => None,
        };
        let current = match &snapshot.resource {
            Some(resource) => self.card(project, resource.card_id).await?,
            None => None,
        };
        let current = current.map(|card| Card::clone(&card));
        Ok((snapshot, PutResource { kind, name: name.clone(), card, current, rival }))
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
