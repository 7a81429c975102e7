//! TLS for those who do not put a proxy in front (SEC-01): rustls with ring, from PEM files.

use axum::serve::Listener;
use cardwire_kernel::spawn::{Stop, Tasks};
use futures_util::{StreamExt, stream::FuturesUnordered};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use std::{io, net::SocketAddr, path::Path, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// Longest time for a handshake, and most of them at once: a client that never finishes holds up nobody.
const HANDSHAKE: Duration = Duration::from_secs(10);
const HANDSHAKES: usize = 256;

/// Why TLS could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A PEM file could not be read.
    #[error("cannot read {path}: {reason}")]
    File {
        /// Which file.
        path: String,
        /// Why.
        reason: String,
    },
    /// Certificate and key do not fit.
    #[error("the certificate cannot be used: {0}")]
    Config(#[from] rustls::Error),
    /// The socket failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Hands out connections whose handshake is done.
pub struct TlsListener {
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    local: SocketAddr,
}

impl TlsListener {
    /// Serves TLS on a listener with a certificate chain and its key.
    pub fn start(listener: TcpListener, cert: &Path, key: &Path, tasks: &Tasks) -> Result<Self, TlsError> {
        let failed =
            |path: &Path, reason: String| TlsError::File { path: path.display().to_string(), reason };
        let certs = CertificateDer::pem_file_iter(cert)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| failed(cert, error.to_string()))?;
        let key_der = PrivateKeyDer::from_pem_file(key).map_err(|error| failed(key, error.to_string()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(certs, key_der)?;
        let local = listener.local_addr()?;
        let (sender, ready) = mpsc::channel(HANDSHAKES);
        let acceptor = TlsAcceptor::from(Arc::new(config));
        tasks.spawn("handshakes", |stop| accept(listener, acceptor, sender, stop));
        Ok(Self { ready, local })
    }
}

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    ready: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
    mut stop: Stop,
) {
    let mut handshakes = FuturesUnordered::new();
    loop {
        tokio::select! {
            accepted = accept_one(&listener), if handshakes.len() < HANDSHAKES => {
                let (stream, address) = accepted;
                let handshake = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream));
                handshakes.push(async move { (handshake.await, address) });
            }
            Some((done, address)) = handshakes.next() => match done {
                Ok(Ok(stream)) => {
                    if ready.send((stream, address)).await.is_err() {
                        return;
                    }
                }
                Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
                Err(_) => tracing::debug!("a TLS handshake took too long"),
            },
            () = stop.stopped() => return,
        }
    }
}

/// Waits out errors such as running out of file descriptors.
async fn accept_one(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(connection) => connection,
            // The accepting task has ended with the server; there will be no more.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.local)
    }
}
