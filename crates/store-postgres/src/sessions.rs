//! Reads of sessions: one statement each, as the tenant they are for.

use crate::{
    PostgresStore,
    number::to_limit,
    rows::{self, Read},
    sql,
    tenant::{Param, read},
    turns::whole,
};
use async_trait::async_trait;
use cardwire_model::{Keys, Namespace, ProjectId, Realm, Session, SessionId, SessionKey};
use cardwire_store::Sessions;

#[async_trait]
impl Sessions for PostgresStore {
    /// As a load, so that it travels with those of decisions.
    async fn session(&self, project: &ProjectId, key: &SessionKey) -> Read<Option<Session>> {
        let keys = Keys { session: Some(key.clone()), ..Keys::default() };
        Ok(self.loads.load(&Realm::from(project.clone()), &keys).await?.session)
    }

    async fn sessions(
        &self,
        project: &ProjectId,
        namespace: &Namespace,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Read<Vec<Session>> {
        let project = project.as_str();
        // Every name sorts after the empty one.
        let after = after.map_or("", SessionId::as_str);
        let params: [Param<'_>; 4] = [&project, &namespace.as_str(), &after, &to_limit(limit)];
        read(&self.app, project, sql::SESSIONS, &params, whole(rows::session)).await
    }
}
