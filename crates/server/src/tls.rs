//! TLS for those who do not put a proxy in front (SEC-01): rustls with ring, from PEM files.

use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use std::{path::Path, sync::Arc};
use tokio_rustls::TlsAcceptor;

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
}

/// Does handshakes with a certificate chain and its key.
pub(crate) fn acceptor(cert: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let failed = |path: &Path, reason: String| TlsError::File { path: path.display().to_string(), reason };
    let certs = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| failed(cert, error.to_string()))?;
    let key_der = PrivateKeyDer::from_pem_file(key).map_err(|error| failed(key, error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certs, key_der)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
