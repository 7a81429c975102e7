//! Serving until told to stop: no new connections, streams end, requests under way are answered.
//!
//! Nothing here is generic: HTTP over a connection is a lot of code, which is compiled here once for every kind of
//! connection, and never again in a crate that serves.

use crate::TlsListener;
use axum::{Router, serve::Listener};
use cardwire_kernel::Kernel;
use futures_util::future::BoxFuture;
use std::{io, net::SocketAddr, sync::Arc};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
};

/// Where connections come from.
pub enum Listening {
    /// As they are.
    Plain(TcpListener),
    /// After a handshake.
    Tls(TlsListener),
}

/// A connection of any kind.
pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

impl Listener for Listening {
    type Io = Box<dyn Connection>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        match self {
            Self::Plain(listener) => {
                let (stream, address) = Listener::accept(listener).await;
                (Box::new(stream), address)
            }
            Self::Tls(listener) => {
                let (stream, address) = listener.accept().await;
                (Box::new(stream), address)
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Plain(listener) => listener.local_addr(),
            Self::Tls(listener) => listener.local_addr(),
        }
    }
}

/// Serves the router until `stop` completes.
pub fn serve(
    listening: Listening,
    router: Router,
    kernel: Arc<Kernel>,
    stop: BoxFuture<'static, ()>,
) -> BoxFuture<'static, io::Result<()>> {
    let stopped = async move {
        stop.await;
        // Event streams would otherwise hold the server open for ever.
        kernel.tasks().begin_shutdown();
    };
    Box::pin(async move { axum::serve(listening, router).with_graceful_shutdown(stopped).await })
}
