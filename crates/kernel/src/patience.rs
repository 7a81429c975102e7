//! The end of every wait on the store, on our side (NF-13). A store gives up by itself what takes too long; when it cannot,
//! because its disk hangs or its other end went away without a word, whoever waits must still be told.
//!
//! Invariant: no call of the store waits for longer than [`limits::STORE_WAIT_SECONDS`], and a commit that was not answered by
//! then is uncertain.

use async_trait::async_trait;
use cardwire_model::{Commit, ProjectId, limits};
use cardwire_store::{
    Asking, ClaimQuery, CommitError, DecideClaim, Intercept, Intercepted, Outage, Store, StoreError,
};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

const WAIT: Duration = Duration::from_secs(limits::STORE_WAIT_SECONDS);

/// The store, with an end to every wait.
pub(crate) fn bounded(store: Arc<dyn Store>) -> Arc<dyn Store> {
    Arc::new(Intercepted::new(Arc::clone(&store), Patient(store)))
}

struct Patient(Arc<dyn Store>);

impl Patient {
    async fn bound<T>(
        &self,
        asked: impl Future<Output = T> + Send,
        late: impl FnOnce(String) -> T + Send,
    ) -> T {
        match timeout(WAIT, asked).await {
            Ok(outcome) => outcome,
            Err(_) => {
                self.0.distrust();
                late(format!("it did not answer within {} seconds", WAIT.as_secs()))
            }
        }
    }
}

#[async_trait]
impl Intercept for Patient {
    fn read<T: Send>(&self, read: Asking<'_, T>) -> impl Future<Output = Result<T, StoreError>> + Send {
        self.bound(read, |_| Err(StoreError::CannotWrite(Outage::Silent)))
    }

    fn tend<T: Send>(&self, work: Asking<'_, T>) -> impl Future<Output = Result<T, StoreError>> + Send {
        self.bound(work, |late| Err(StoreError::Uncertain(late)))
    }

    async fn commit(&self, inner: &Arc<dyn Store>, commit: Commit) -> Result<(), CommitError> {
        self.bound(inner.commit(commit), |late| Err(StoreError::Uncertain(late).into())).await
    }

    async fn claim(
        &self,
        inner: &Arc<dyn Store>,
        query: &ClaimQuery,
        decide: DecideClaim,
    ) -> Result<Vec<ProjectId>, CommitError> {
        self.bound(inner.claim(query, decide), |late| Err(StoreError::Uncertain(late).into())).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_model::{CardId, Keys, Realm};
    use cardwire_testkit::ReferenceStore;
    use std::future::pending;
    use tokio::time::Instant;

    /// A store that takes what it is asked and says nothing.
    struct Silent;

    #[async_trait]
    impl Intercept for Silent {
        fn read<T: Send>(&self, _: Asking<'_, T>) -> impl Future<Output = Result<T, StoreError>> + Send {
            pending()
        }

        fn tend<T: Send>(&self, _: Asking<'_, T>) -> impl Future<Output = Result<T, StoreError>> + Send {
            pending()
        }

        async fn commit(&self, _: &Arc<dyn Store>, _: Commit) -> Result<(), CommitError> {
            pending().await
        }
    }

    /// How long it took, to the second.
    async fn waited<T>(asked: impl Future<Output = T>) -> (u64, T) {
        let begun = Instant::now();
        let outcome = asked.await;
        (begun.elapsed().as_secs(), outcome)
    }

    /// F-33, NF-13
    #[tokio::test(start_paused = true)]
    async fn every_wait_on_a_silent_store_ends() {
        let store = bounded(Arc::new(Intercepted::new(Arc::new(ReferenceStore::default()), Silent)));
        let late = limits::STORE_WAIT_SECONDS;
        let project: ProjectId = "p".parse().unwrap();
        let (after, read) = waited(store.cards(&project, &[CardId::from_uuid(Default::default())])).await;
        assert!(
            after == late && matches!(read, Err(StoreError::CannotWrite(Outage::Silent))),
            "{after} s: {read:?}"
        );
        let realm = Realm::from(project.clone());
        let (after, loaded) = waited(store.load(&realm, &Keys::default())).await;
        assert!(
            after == late && matches!(loaded, Err(StoreError::CannotWrite(Outage::Silent))),
            "{after} s: {loaded:?}"
        );
        let (after, numbered) = waited(store.number_events()).await;
        assert!(
            after == late && matches!(numbered, Err(StoreError::Uncertain(_))),
            "{after} s: {numbered:?}"
        );
        let (after, committed) = waited(store.commit(Commit::new(project))).await;
        let is_uncertain = matches!(committed, Err(CommitError::Store(StoreError::Uncertain(_))));
        assert!(after == late && is_uncertain, "{after} s: {committed:?}");
    }
}
