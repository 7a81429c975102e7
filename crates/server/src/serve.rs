//! Serving until told to stop: no new connections, streams end, requests under way are answered.

use axum::{Router, serve::Listener};
use cardwire_kernel::Kernel;
use std::{future::Future, sync::Arc};

/// Serves the router on the listener (plain or [`crate::TlsListener`]) until `stop` completes.
pub async fn serve<L: Listener<Addr: std::fmt::Debug>>(
    listener: L,
    router: Router,
    kernel: Arc<Kernel>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let ending = Arc::clone(&kernel);
    let stopped = async move {
        stop.await;
        // Event streams would otherwise hold the server open for ever.
        ending.tasks().begin_shutdown();
    };
    axum::serve(listener, router).with_graceful_shutdown(stopped).await
}
