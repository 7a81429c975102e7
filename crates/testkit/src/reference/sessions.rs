//! The contract's reads of sessions.

use super::{ReferenceStore, state::State};
use async_trait::async_trait;
use cardwire_model::{Namespace, ProjectId, Realm, Session, SessionId, SessionKey};
use cardwire_store::{Sessions, StoreError};

type Result<T> = std::result::Result<T, StoreError>;

impl State {
    /// A session, deleted or not.
    pub fn session(&self, realm: &Realm, key: &SessionKey) -> Option<&Session> {
        self.sessions.get(&(realm.clone(), key.clone()))
    }

    /// The sessions of a realm, by namespace and name.
    pub fn sessions(&self, realm: &Realm) -> impl Iterator<Item = &Session> {
        self.sessions.of(realm)
    }
}

#[async_trait]
impl Sessions for ReferenceStore {
    async fn session(&self, project: &ProjectId, key: &SessionKey) -> Result<Option<Session>> {
        self.with(|state| state.session(&project.clone().into(), key).cloned())
    }

    async fn sessions(
        &self,
        project: &ProjectId,
        namespace: &Namespace,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<Session>> {
        let realm = project.clone().into();
        let wanted = |one: &&Session| {
            one.key.namespace == *namespace && after.is_none_or(|after| one.key.session > *after)
        };
        self.with(|state| state.sessions(&realm).filter(wanted).take(limit).cloned().collect())
    }
}
