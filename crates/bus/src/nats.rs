//! The connection to NATS, and the tasks that use it.

use crate::{chunks, doorbell, relay};
use async_nats::{Client, ConnectOptions, Event, connection::State};
use cardwire_kernel::{
    Kernel,
    doorbell::{Doorbell, Ring},
};
use futures_util::future::BoxFuture;
use std::{sync::Arc, time::Duration};
use thiserror::Error;
use tokio::sync::mpsc;

/// Rings that wait to be sent. More are dropped: a doorbell that is late by so many is of no use.
const WAITING_RINGS: usize = 10_000;
/// Longest pause between two attempts to connect.
const RECONNECT_PAUSE: Duration = Duration::from_secs(2);

/// The bus cannot be used at all.
#[derive(Debug, Error)]
pub enum BusError {
    /// The address is not one.
    #[error("cannot use the bus: {0}")]
    Address(String),
}

/// NATS. It connects when it can and goes on trying; nobody waits for it.
pub struct Bus {
    pub(crate) client: Client,
    rings: mpsc::Sender<Ring>,
    waiting: std::sync::Mutex<Option<mpsc::Receiver<Ring>>>,
}

impl Bus {
    /// A bus at an address such as `nats://127.0.0.1:4222`. It need not be up yet.
    pub fn open(url: &str) -> BoxFuture<'_, Result<Arc<Self>, BusError>> {
        Box::pin(Self::connect(url))
    }

    async fn connect(url: &str) -> Result<Arc<Self>, BusError> {
        let client = ConnectOptions::new()
            .name("cardwire")
            .retry_on_initial_connect()
            .max_reconnects(None)
            .reconnect_delay_callback(|attempt| {
                RECONNECT_PAUSE.min(Duration::from_millis(50 * attempt.min(100) as u64))
            })
            .event_callback(|event| async move { note(&event) })
            .connect(url)
            .await
            .map_err(|error| BusError::Address(error.to_string()))?;
        let (rings, waiting) = mpsc::channel(WAITING_RINGS);
        Ok(Arc::new(Self { client, rings, waiting: std::sync::Mutex::new(Some(waiting)) }))
    }

    /// Waits for a connection, for so long at the most; answers whether there is one.
    pub async fn connected(&self, within: Duration) -> bool {
        let is_connected = || self.client.connection_state() == State::Connected;
        if !is_connected() {
            // Completes once there is a connection to flush.
            let _ = tokio::time::timeout(within, self.client.flush()).await;
        }
        is_connected()
    }

    /// Starts to send this kernel's rings, to hear those of others, and to relay the event log. The tasks end with the
    /// kernel.
    pub fn serve(self: &Arc<Self>, kernel: &Arc<Kernel>) {
        let waiting = self.waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(waiting) = waiting {
            let client = self.client.clone();
            kernel.tasks().spawn("doorbells to the bus", |stop| doorbell::send(client, waiting, stop));
        }
        let (client, hearing) = (self.client.clone(), Arc::clone(kernel));
        kernel.tasks().keep("doorbells from the bus", move |stop| {
            doorbell::hear(client.clone(), Arc::clone(&hearing), stop)
        });
        let (client, chunks) = (self.client.clone(), kernel.listen_to_chunks());
        kernel.tasks().spawn("chunks to the bus", |stop| chunks::send(client, chunks, stop));
        let (client, telling) = (self.client.clone(), Arc::clone(kernel));
        kernel
            .tasks()
            .keep("the relay", move |stop| relay::relay(client.clone(), Arc::clone(&telling), stop));
    }
}

impl Doorbell for Bus {
    fn ring(&self, ring: &Ring) {
        if self.rings.try_send(ring.clone()).is_err() {
            doorbell::lost();
            tracing::debug!("a doorbell was dropped");
        }
    }
}

fn note(event: &Event) {
    if matches!(event, Event::Connected) {
        tracing::info!("connected to the bus");
    } else if matches!(event, Event::Disconnected) {
        tracing::warn!("the bus is gone; work goes on without it");
    } else {
        tracing::debug!(?event, "bus");
    }
}
