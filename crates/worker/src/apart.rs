//! Work that may take a while, done on a thread that serves nobody else (F-45). A turn has one such piece at a time, so that
//! turns bound them.

use tokio::task::spawn_blocking;

/// Does it there. A panic in it is one of whoever waits for it.
pub(crate) async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
