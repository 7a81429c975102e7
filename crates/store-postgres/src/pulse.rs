//! Whether the server still answers. A connection whose other end went away without a word (a fail-over, a proxy that forgot
//! it, a frozen server) looks just like one whose statement takes long. So one connection that nobody else uses asks something
//! that takes no time.
//!
//! Invariant: when that is not answered, every connection made before is given up, and whoever waits on one is told at once.

use crate::error::{pool_error, store_error};
use cardwire_store::{Outage, StoreError};
use deadpool_postgres::{Connect, Pool};
use futures_util::future::BoxFuture;
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::watch,
    task::{JoinHandle, JoinSet},
    time::{sleep, timeout},
};
use tokio_postgres::{
    Client, Config, Error, Socket,
    tls::{MakeTlsConnect, TlsConnect},
};

/// How often the server is asked, and how long it may take.
const EVERY: Duration = Duration::from_secs(1);
const WITHIN: Duration = Duration::from_secs(5);

/// Takes no time and reads nothing.
const ASK: &str = "SELECT 1";

/// Connections made with it end when it is cut.
#[derive(Clone, Default)]
pub(crate) struct Lifeline(watch::Sender<()>);

impl Lifeline {
    fn cut(&self) {
        self.0.send_replace(());
    }

    /// What makes connections that hang on this line.
    pub(crate) fn connect<T>(&self, tls: T) -> Hanging<T> {
        Hanging { tls, line: self.clone() }
    }
}

/// Makes connections that end when their line is cut.
pub(crate) struct Hanging<T> {
    tls: T,
    line: Lifeline,
}

impl<T> Connect for Hanging<T>
where
    T: MakeTlsConnect<Socket> + Clone + Sync + Send + 'static,
    T::Stream: Sync + Send,
    T::TlsConnect: Sync + Send,
    <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
{
    fn connect(&self, config: &Config) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), Error>> {
        let (config, tls, mut cut) = (config.clone(), self.tls.clone(), self.line.0.subscribe());
        Box::pin(async move {
            let (client, connection) = config.connect(tls).await?;
            // The pool ends it with the client.
            let task = tokio::spawn(async move {
                tokio::select! {
                    ended = connection => {
                        if let Err(error) = ended {
                            tracing::warn!(%error, "a connection to the server ended");
                        }
                    }
                    _ = cut.changed() => {}
                }
            });
            Ok((client, task))
        })
    }
}

/// Feels the server's pulse for as long as the store is open.
pub(crate) struct Pulse {
    felt: Arc<Felt>,
    task: Mutex<JoinSet<()>>,
}

struct Felt {
    /// Why a call would fail now.
    trouble: Mutex<Option<StoreError>>,
    /// Somebody gave up waiting.
    is_distrusted: AtomicBool,
}

impl Felt {
    fn trouble(&self) -> MutexGuard<'_, Option<StoreError>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pulse {
    /// With a connection of its own. When somebody gave up waiting, the idle connections of `pools` are left: one of them may
    /// be the one that did not answer.
    ///
    /// Its connection is there before the first one is used: one that was made later would tell nothing of those before it.
    pub(crate) async fn start(own: Pool, line: Lifeline, pools: [Pool; 3]) -> Result<Self, StoreError> {
        ask(&own, &line).await?;
        let felt = Arc::new(Felt { trouble: Mutex::default(), is_distrusted: AtomicBool::new(false) });
        let mut task = JoinSet::new();
        task.spawn(beat(Arc::clone(&felt), own, line, pools));
        Ok(Self { felt, task: Mutex::new(task) })
    }

    /// Fails while the server does not answer.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        self.felt.trouble().clone().map_or(Ok(()), Err)
    }

    pub(crate) fn distrust(&self) {
        self.felt.is_distrusted.store(true, Ordering::Relaxed);
    }

    pub(crate) fn stop(&self) {
        self.task.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}

async fn beat(felt: Arc<Felt>, own: Pool, line: Lifeline, pools: [Pool; 3]) {
    loop {
        sleep(EVERY).await;
        if felt.is_distrusted.swap(false, Ordering::Relaxed) {
            for pool in &pools {
                pool.retain(|_, _| false);
            }
        }
        let (trouble, was_well) = (ask(&own, &line).await.err(), felt.trouble().is_none());
        match &trouble {
            Some(trouble) if was_well => tracing::warn!(%trouble, "the database does not answer"),
            None if !was_well => tracing::info!("the database answers again"),
            _ => {}
        }
        *felt.trouble() = trouble;
    }
}

/// Asks once.
async fn ask(own: &Pool, line: &Lifeline) -> Result<(), StoreError> {
    let client = own.get().await.map_err(pool_error)?;
    match timeout(WITHIN, client.simple_query(ASK)).await {
        Ok(answer) => answer.map(drop).map_err(store_error),
        Err(_) => {
            line.cut();
            Err(StoreError::CannotWrite(Outage::Silent))
        }
    }
}
