//! An exporter whose trouble is told once, not with every batch.

use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{SpanData, SpanExporter},
};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

/// Another exporter, made quiet.
#[derive(Debug)]
pub(super) struct Quiet<E> {
    inner: E,
    /// The last batch could not be sent.
    fails: AtomicBool,
}

impl<E> Quiet<E> {
    pub(super) fn new(inner: E) -> Self {
        Self { inner, fails: AtomicBool::new(false) }
    }

    fn note(&self, outcome: &OTelSdkResult) {
        let failed = outcome.is_err();
        let did = self.fails.swap(failed, Ordering::Relaxed);
        match outcome {
            Err(error) if !did => {
                tracing::warn!(%error, "spans cannot be exported and are dropped; work goes on without them");
            }
            Ok(()) if did => tracing::info!("spans are exported again"),
            Ok(()) | Err(_) => {}
        }
    }
}

impl<E: SpanExporter> SpanExporter for Quiet<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let outcome = self.inner.export(batch).await;
        self.note(&outcome);
        outcome
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}
