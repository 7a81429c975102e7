//! What a kernel does by itself: number events, seal audit rows, forget old answers. Each job finds its work in
//! the store, so a lost hint or a crash only delays it; several processes may do it at once.

use crate::{Kernel, spawn::Stop};
use cardwire_model::limits;
use cardwire_protocol::audit;
use cardwire_store::{CommitError, StoreError};
use std::{sync::Arc, time::Duration};

/// How long a job waits at most before it looks without being told. Other processes' work is found this way.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const FORGET_EVERY: Duration = Duration::from_secs(600);
/// Pause between two rounds of numbering: events that come meanwhile share one round, and its sync.
const NUMBER_PAUSE: Duration = Duration::from_millis(10);
/// The same between two rounds of sealing, which nobody waits for (SEC-05).
const SEAL_PAUSE: Duration = Duration::from_millis(50);
/// Between two rounds of sealing while there is more to seal: whoever works gets to write meanwhile. Not for ever, or what is
/// left to seal could grow and grow.
const SEAL_BREATH: Duration = Duration::from_millis(20);
const SEAL_BREATHS: usize = 100;

pub(crate) fn start(kernel: &Arc<Kernel>) {
    let tasks = kernel.tasks();
    tasks.keep("numbering", job(Arc::clone(kernel), Kernel::keep_numbering));
    tasks.keep("following", job(Arc::clone(kernel), Kernel::keep_following));
    tasks.keep("sealing", job(Arc::clone(kernel), Kernel::keep_sealing));
    tasks.keep("forgetting", job(Arc::clone(kernel), Kernel::keep_forgetting));
    tasks.keep("watching", job(Arc::clone(kernel), Kernel::keep_watching));
}

fn job<F>(kernel: Arc<Kernel>, work: impl Fn(Arc<Kernel>, Stop) -> F) -> impl Fn(Stop) -> F {
    move |stop| work(Arc::clone(&kernel), stop)
}

impl Kernel {
    async fn keep_numbering(self: Arc<Self>, mut stop: Stop) {
        loop {
            let told = tokio::select! {
                () = self.changes.to_number.notified() => true,
                () = tokio::time::sleep(LOOK_EVERY) => false,
                () = stop.stopped() => return,
            };
            // Taken before the round: what comes meanwhile is perhaps not of it.
            let feeds = self.changes.feeds.unnumbered();
            match self.store.number_events().await {
                Ok(numbered) => {
                    self.changes.feeds.numbered(feeds);
                    if told || numbered > 0 {
                        self.changes.numbered();
                    }
                }
                Err(error) => {
                    feeds.into_iter().for_each(|feed| self.changes.feeds.committed(feed));
                    tracing::warn!(%error, "could not number events");
                }
            }
            tokio::select! {
                () = tokio::time::sleep(NUMBER_PAUSE) => {}
                () = stop.stopped() => return,
            }
        }
    }

    async fn keep_sealing(self: Arc<Self>, mut stop: Stop) {
        loop {
            tokio::select! {
                () = self.changes.to_seal.notified() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = stop.stopped() => return,
            }
            for breaths in 0.. {
                match self.seal_round().await {
                    // There is more.
                    Ok(limits::SEAL_ROWS) if breaths < SEAL_BREATHS => tokio::select! {
                        () = tokio::time::sleep(SEAL_BREATH) => {}
                        () = stop.stopped() => return,
                    },
                    Ok(limits::SEAL_ROWS) => {}
                    Ok(_) => break,
                    Err(error) => {
                        tracing::warn!(%error, "could not seal audit rows");
                        break;
                    }
                }
            }
            tokio::select! {
                () = tokio::time::sleep(SEAL_PAUSE) => {}
                () = stop.stopped() => return,
            }
        }
    }

    async fn keep_forgetting(self: Arc<Self>, mut stop: Stop) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(FORGET_EVERY) => {}
                () = stop.stopped() => return,
            }
            let before = self.now().plus_seconds(-(limits::IDEMPOTENCY_SECONDS as i64));
            if let Err(error) = self.store.forget_answers(before).await {
                tracing::warn!(%error, "could not forget old answers");
            }
        }
    }

    /// Seals every committed audit row that is not in its chain yet.
    pub async fn seal_audit(&self) -> Result<(), StoreError> {
        while self.seal_round().await? > 0 {}
        Ok(())
    }

    /// Seals up to [`limits::SEAL_ROWS`] rows of every realm; answers how many the realm with most had. Losing a race to another
    /// sealer is fine: the rows are found again.
    async fn seal_round(&self) -> Result<usize, StoreError> {
        let work = self.store.unsealed_audit(limits::SEAL_ROWS).await?;
        let most = work.iter().map(|realm| realm.rows.len()).max().unwrap_or(0);
        for realm in work {
            match self.store.commit(audit::seal(&realm.realm, realm.head, &realm.rows)).await {
                Ok(()) | Err(CommitError::Conflict(_)) => {}
                Err(CommitError::Store(error)) => return Err(error),
            }
        }
        Ok(most)
    }
}
