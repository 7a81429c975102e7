//! Commands on the roster: profiles and agents.

use crate::{Caller, Done, Kernel, KernelError, Remember, execute::Plan};
use cardwire_model::{
    Agent, AgentId, Card, CardDraft, CardId, Keys, Origin, Profile, ProfileName, ProjectId, Realm, Snapshot,
    WorkerTarget,
};
use cardwire_protocol::{
    Rejection,
    roster::{
        add_agent::{self, AddAgent, Added},
        delete_profile,
        put_profile::{self, Put, PutProfile},
    },
};
use std::sync::Arc;

/// A profile as its author describes it.
#[derive(Debug, Clone)]
pub struct NewProfile {
    /// Its name.
    pub name: ProfileName,
    /// Which workers serve its agents.
    pub worker_target: WorkerTarget,
    /// For choosing agents.
    pub tags: Vec<String>,
    /// The whole of it: a `sys.profile` card.
    pub draft: CardDraft,
}

impl Kernel {
    /// Writes a profile.
    #[tracing::instrument(level = "trace", skip_all, fields(cardwire.project.id = %project))]
    pub async fn put_profile(
        &self,
        project: &ProjectId,
        caller: &Caller,
        new: NewProfile,
    ) -> Result<Put, KernelError> {
        let realm = Realm::from(project.clone());
        let (_, command) = self.profile_to_put(project, new).await?;
        let keys = Keys { profile: Some(command.name.clone()), ..Keys::default() };
        let plan = Plan { realm: &realm, caller, keys, flat: None, remember: None };
        self.execute_once(plan, |loaded, moment| {
            put_profile::decide(&loaded.snapshot, project, &command, moment)
        })
        .await
    }

    /// The command that writes a profile, and the rows it was made of.
    pub(crate) async fn profile_to_put(
        &self,
        project: &ProjectId,
        new: NewProfile,
    ) -> Result<(Snapshot, PutProfile), KernelError> {
        let card = new.draft.into_card(self.card_id(), Origin::Operator, self.now())?;
        let keys = Keys { profile: Some(new.name.clone()), ..Keys::default() };
        let snapshot = self.store.load(&Realm::from(project.clone()), &keys).await?;
        let current = match &snapshot.profile {
            Some(profile) => self.card(project, profile.card_id).await?,
            None => None,
        };
        let command = PutProfile {
            name: new.name,
            worker_target: new.worker_target,
            tags: new.tags,
            card,
            current: current.map(|card| Card::clone(&card)),
        };
        Ok((snapshot, command))
    }

    /// Deletes a profile.
    pub async fn delete_profile(
        &self,
        project: &ProjectId,
        caller: &Caller,
        name: &ProfileName,
    ) -> Result<(), KernelError> {
        let realm = Realm::from(project.clone());
        let keys = Keys { profile: Some(name.clone()), ..Keys::default() };
        let plan = Plan { realm: &realm, caller, keys, flat: None, remember: None };
        self.execute_once(plan, |loaded, moment| {
            delete_profile::decide(&loaded.snapshot, project, name, moment)
        })
        .await
    }

    /// A profile and its card.
    pub async fn profile(
        &self,
        project: &ProjectId,
        name: &ProfileName,
    ) -> Result<(Profile, Arc<Card>), KernelError> {
        let missing = || Rejection::NotFound { what: "profile", id: name.to_string() };
        let found = self.store_profile(project, name).await?.filter(|profile| profile.deleted_at.is_none());
        let profile = found.ok_or_else(missing)?;
        let card = self.card(project, profile.card_id).await?.ok_or_else(missing)?;
        Ok((profile, card))
    }

    /// Profiles by name with their cards.
    pub async fn list_profiles(
        &self,
        project: &ProjectId,
        after: Option<&ProfileName>,
        limit: usize,
    ) -> Result<Vec<(Profile, Arc<Card>)>, KernelError> {
        let (mut after, mut found) = (after.cloned(), vec![]);
        // Deleted profiles are passed over, so a page may take more than one read.
        loop {
            let page = self.store.profiles(project, after.as_ref(), limit).await?;
            let ended = page.len() < limit;
            after = page.last().map(|profile| profile.name.clone());
            found.extend(page.into_iter().filter(|profile| profile.deleted_at.is_none()));
            if ended || found.len() >= limit {
                break;
            }
        }
        found.truncate(limit);
        let ids: Vec<CardId> = found.iter().map(|profile| profile.card_id).collect();
        let cards = self.get_cards(project, &ids, true).await?;
        let with_card = |profile: Profile| {
            let card = cards.iter().find(|card| card.id == profile.card_id)?;
            Some((profile, Arc::clone(card)))
        };
        Ok(found.into_iter().filter_map(with_card).collect())
    }

    async fn store_profile(
        &self,
        project: &ProjectId,
        name: &ProfileName,
    ) -> Result<Option<Profile>, KernelError> {
        let keys = Keys { profile: Some(name.clone()), ..Keys::default() };
        Ok(self.store.load(&Realm::from(project.clone()), &keys).await?.profile)
    }

    pub(crate) async fn card(
        &self,
        project: &ProjectId,
        id: CardId,
    ) -> Result<Option<Arc<Card>>, KernelError> {
        Ok(self.get_cards(project, &[id], true).await?.pop())
    }

    /// Adds an agent to the roster, or changes what may change of it.
    #[tracing::instrument(level = "trace", skip_all, fields(cardwire.project.id = %project))]
    pub async fn add_agent(
        &self,
        project: &ProjectId,
        caller: &Caller,
        command: &AddAgent,
        remember: Option<&Remember<Added>>,
    ) -> Result<Done<Added>, KernelError> {
        let realm = Realm::from(project.clone());
        // Found like everywhere else (W-11); one that is not there is the decision's to refuse.
        let profile_name = match self.resolve_profile(project, command.profile_name.as_str()).await {
            Ok(profile) => profile.name,
            Err(KernelError::Rejected(Rejection::NotFound { .. })) => command.profile_name.clone(),
            Err(error) => return Err(error),
        };
        let command = &AddAgent { profile_name, ..command.clone() };
        let keys = Keys {
            agent: Some(command.id.clone()),
            profile: Some(command.profile_name.clone()),
            ..Keys::default()
        };
        let plan = Plan { realm: &realm, caller, keys, flat: None, remember };
        self.execute(plan, |loaded, moment| add_agent::decide(&loaded.snapshot, project, command, moment))
            .await
    }

    /// An agent of the roster.
    pub async fn agent(&self, project: &ProjectId, id: &AgentId) -> Result<Agent, KernelError> {
        let found = self.store.agent(project, id).await?;
        found.ok_or_else(|| Rejection::NotFound { what: "agent", id: id.to_string() }.into())
    }

    /// Agents by name.
    pub async fn list_agents(
        &self,
        project: &ProjectId,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Result<Vec<Agent>, KernelError> {
        Ok(self.store.agents(project, after, limit).await?)
    }
}
