//! A connection whose writes are watched: a client that reads nothing of what it asked for is given up.

use super::guests::Guest;
use cardwire_model::limits;
use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Sleep,
};

const STALLED: Duration = Duration::from_secs(limits::STALLED_ANSWER_SECONDS);

/// A connection of any kind.
pub(super) trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

pub(super) struct Watched {
    inner: Box<dyn Connection>,
    guest: Arc<Guest>,
    /// Runs while a write waits for its client.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Watched {
    pub(super) fn new(inner: Box<dyn Connection>, guest: Arc<Guest>) -> Self {
        Self { inner, guest, stalled: None }
    }

    /// Passes on what a write came to; an error if it has waited for too long.
    fn watch<T>(&mut self, context: &mut Context<'_>, wrote: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.stalled = None;
            self.guest.moved();
            return wrote;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(STALLED)));
        stalled.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.watch(context, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.watch(context, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
