//! The HTTP clients behind the door, made when they are first needed. Invariants: none follows a redirect; one that checks
//! resolves names by itself and connects to nothing else than it has checked.

use crate::{Allowed, Refused};
use reqwest::{
    Client, Url,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect,
};
use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Clients by what they do differently.
#[derive(Debug, Default)]
pub(crate) struct Clients(Mutex<HashMap<Kind, Client>>);

/// What tells one client from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    /// It goes only where projects may.
    pub(crate) checks: bool,
    pub(crate) tls: bool,
    /// It goes through the proxies that the environment names. What connects there is not this process, so that nothing would
    /// be checked.
    pub(crate) proxies: bool,
}

impl Clients {
    pub(crate) fn get(&self, kind: Kind, allowed: &Allowed) -> Result<Client, Refused> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = made.get(&kind) {
            return Ok(client.clone());
        }
        let client = make(kind, allowed)?;
        made.insert(kind, client.clone());
        Ok(client)
    }
}

fn make(kind: Kind, allowed: &Allowed) -> Result<Client, Refused> {
    let failed = |reason: String| Refused::Client(reason);
    // A redirect could carry a key somewhere else, or a call inside.
    let mut builder = Client::builder().connect_timeout(CONNECT_TIMEOUT).redirect(redirect::Policy::none());
    if kind.checks {
        builder = builder.dns_resolver(Checked(allowed.clone()));
    }
    if kind.checks || !kind.proxies {
        builder = builder.no_proxy();
    }
    if !kind.tls {
        // Reading the system's certificates takes time, and fails where there are none.
        let config =
            rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .map_err(|error| failed(error.to_string()))?
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
        builder = builder.tls_backend_preconfigured(config);
    } else if rustls::crypto::CryptoProvider::get_default().is_none() {
        return Err(failed("the program installs no cryptography for TLS".to_owned()));
    }
    builder.build().map_err(|error| failed(crate::innermost(&error)))
}

/// Whether this address leads nowhere else than to this machine, as far as its text says.
pub(crate) fn is_loopback(url: &Url) -> bool {
    url.host_str() == Some("localhost")
        || crate::door::literal(url).is_some_and(|address| address.is_loopback())
}

/// Resolves names to addresses where calls of projects may go. The connection is made to what was checked, so that a name
/// that resolves to something else a moment later gains nothing.
#[derive(Debug, Clone)]
struct Checked(Allowed);

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let allowed = self.0.clone();
        Box::pin(async move {
            // The client puts the port in.
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(Box::new(open(&allowed, name.as_str(), found)?.into_iter()) as Addrs)
        })
    }
}

/// Those addresses of a name that may be connected to.
fn open(
    allowed: &Allowed,
    name: &str,
    found: impl Iterator<Item = SocketAddr>,
) -> Result<Vec<SocketAddr>, Refused> {
    let may = |address: &SocketAddr| allowed.trusts(name) || allowed.reaches(address.ip());
    let open: Vec<_> = found.filter(may).collect();
    if open.is_empty() { Err(Refused::Inside { host: name.to_owned() }) } else { Ok(open) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-39
    #[test]
    fn a_name_leads_to_those_of_its_addresses_that_are_open() {
        let found = ["10.0.0.1:0", "8.8.8.8:0", "127.0.0.1:0", "[::1]:0"].map(|text| text.parse().unwrap());
        let leads =
            |allowed: &Allowed, found: &[SocketAddr]| open(allowed, "x.example", found.iter().copied());
        let none = Allowed::default();
        assert_eq!(leads(&none, &found).unwrap(), [found[1]]);
        let refused = leads(&none, &found[2..]).unwrap_err();
        assert_eq!(refused, Refused::Inside { host: "x.example".to_owned() });
        assert!(!refused.to_string().contains("127.0.0.1"), "projects are not told what names resolve to");
        assert_eq!(leads(&Allowed::loopback(), &found).unwrap(), found[1..]);
        assert_eq!(leads(&Allowed::parse(["X.example"]).unwrap(), &found).unwrap(), found);
    }
}
