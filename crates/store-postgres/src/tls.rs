//! Whether and how connections are encrypted. TLS is rustls on ring, always with a checked certificate.
//!
//! `sslmode=require` and `prefer` (the default) mean what they say about *whether* to encrypt; unlike libpq we check
//! the server's certificate whenever we do, against `root_cert` or else the operating system's certificates.
//! `disable` never encrypts, nor does `prefer` on the local machine, where there is no network to listen on.

use crate::pulse::Lifeline;
use cardwire_store::StoreError;
use deadpool_postgres::{Manager, ManagerConfig, RecyclingMethod};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use std::{net::IpAddr, path::Path, sync::Arc};
use tokio_postgres::{
    Config, NoTls,
    config::{Host, SslMode},
};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Makes connections of one kind.
#[derive(Clone)]
pub(crate) enum Tls {
    Off,
    On(MakeRustlsConnect),
}

impl Tls {
    /// What the configuration asks for.
    pub(crate) fn choose(config: &Config, root_cert: Option<&Path>) -> Result<Self, StoreError> {
        let wanted = match config.get_ssl_mode() {
            SslMode::Disable => false,
            SslMode::Prefer => !is_local(config),
            // The type is open: what comes later than `require` will ask for more, not for less.
            SslMode::Require | _ => true,
        };
        if !wanted {
            return Ok(Self::Off);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| StoreError::Internal(format!("TLS: {error}")))?
            .with_root_certificates(roots(root_cert)?)
            .with_no_client_auth();
        Ok(Self::On(MakeRustlsConnect::new(client)))
    }

    /// A connection manager for a pool.
    pub(crate) fn manager(&self, mut config: Config, line: &Lifeline) -> Manager {
        // A connection comes back to the pool only between transactions, so there is nothing to clean.
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        match self {
            Self::Off => {
                config.ssl_mode(SslMode::Disable);
                Manager::from_connect(config, line.connect(NoTls), manager)
            }
            Self::On(connect) => Manager::from_connect(config, line.connect(connect.clone()), manager),
        }
    }
}

fn is_local(config: &Config) -> bool {
    let local = |host: &Host| match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        Host::Unix(_) => true,
    };
    config.get_hosts().iter().all(local) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

fn roots(file: Option<&Path>) -> Result<RootCertStore, StoreError> {
    let mut roots = RootCertStore::empty();
    match file {
        Some(file) => {
            let unreadable =
                |why: String| StoreError::Internal(format!("root certificates {}: {why}", file.display()));
            let certificates =
                CertificateDer::pem_file_iter(file).map_err(|error| unreadable(error.to_string()))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
                roots.add(certificate).map_err(|error| unreadable(error.to_string()))?;
            }
            if roots.is_empty() {
                return Err(unreadable("there is no certificate in it".to_owned()));
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err(StoreError::Internal(
                    "TLS is wanted, but the operating system has no root certificates; name a file with them"
                        .to_owned(),
                ));
            }
        }
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_off(url: &str) -> bool {
        let none = Path::new("/nonexistent.pem");
        // Asking for TLS fails here, because the file with the certificates is not there.
        Tls::choose(&url.parse().unwrap(), Some(none)).is_ok()
    }

    #[test]
    fn tls_is_used_across_a_network_and_whenever_it_is_required() {
        assert!(is_off("postgres://u@127.0.0.1/db"));
        assert!(is_off("postgres://u@localhost/db"));
        assert!(is_off("postgres://u@db.example/db?sslmode=disable"));
        assert!(!is_off("postgres://u@db.example/db"));
        assert!(!is_off("postgres://u@db.example/db?sslmode=prefer"));
        assert!(!is_off("postgres://u@127.0.0.1/db?sslmode=require"));
    }
}
