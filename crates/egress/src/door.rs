//! The door: an address and who asks for it become a way there, and a key's name becomes the key if it belongs there.

use crate::{
    Allowed, Keyring, Refused,
    clients::{Clients, Kind, is_loopback},
    keyring::{Key, hosts_of, projects_of},
};
use cardwire_model::{check_web_address, credential::looks_like_credential};
use reqwest::{Client, RequestBuilder, Url};
use secrecy::SecretString;
use std::{fmt, net::IpAddr};

/// Who wants a call to go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker<'a> {
    /// Whoever runs this process: the address stands in its flags, or in a file beside it.
    Operator,
    /// A project keeps the address: whoever has a token for it may have written it.
    Project(&'a str),
}

/// The one way out.
pub struct Door {
    keys: Keyring,
    allowed: Allowed,
    /// The project whose files the person who runs this process runs himself.
    own: Option<String>,
    proxies: bool,
    clients: Clients,
}

/// A way to one address.
#[derive(Clone)]
pub struct Destination {
    client: Client,
    url: Url,
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door").field("allowed", &self.allowed).finish_non_exhaustive()
    }
}

/// The rest of the address may hold a secret.
impl fmt::Debug for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Destination").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

impl Door {
    /// A door with the operator's keys, and with what is open to projects besides the public network.
    pub fn new(keys: Keyring, allowed: Allowed) -> Self {
        Self { keys, allowed, own: None, proxies: false, clients: Clients::default() }
    }

    /// A door without keys to the public network.
    pub fn bare() -> Self {
        Self::new(Keyring::default(), Allowed::default())
    }

    /// What this project keeps is what the person who runs this process gave it: it goes where it says, with the keys it names.
    #[must_use]
    pub fn with_own(self, project: &str) -> Self {
        Self { own: Some(project.to_owned()), ..self }
    }

    /// Calls of the operator go through the proxies that the environment names.
    #[must_use]
    pub fn with_proxies(self) -> Self {
        Self { proxies: true, ..self }
    }

    /// The way to this address, if there is one for who asks. A name is resolved, and judged, with every connection.
    pub fn destination(&self, asker: Asker<'_>, url: Url) -> Result<Destination, Refused> {
        if !is_plain(&url) {
            return Err(Refused::Address(NO_ADDRESS));
        }
        let checks = self.stranger(asker).is_some();
        if checks && literal(&url).is_some_and(|address| !self.allowed.reaches(address)) {
            return Err(Refused::Inside { host: url.host_str().unwrap_or_default().to_owned() });
        }
        let proxies = self.proxies && !checks && !is_loopback(&url);
        let kind = Kind { checks, tls: url.scheme() == "https", proxies };
        Ok(Destination { client: self.clients.get(kind, &self.allowed)?, url })
    }

    /// The key of this name, to be sent to this address; none if there is none of this name.
    pub fn key(&self, asker: Asker<'_>, name: &str, url: &Url) -> Result<Option<SecretString>, Refused> {
        self.found(asker, name, url, |key| key.belongs_to(name, url))
    }

    /// The key of this name, to sign what is sent to this address.
    pub fn signing_key(
        &self,
        asker: Asker<'_>,
        name: &str,
        url: &Url,
    ) -> Result<Option<SecretString>, Refused> {
        self.found(asker, name, url, |key| key.signs_for(url))
    }

    fn found(
        &self,
        asker: Asker<'_>,
        name: &str,
        url: &Url,
        belongs: impl Fn(&Key) -> bool,
    ) -> Result<Option<SecretString>, Refused> {
        let Some((key, secret)) = self.keys.get(name).and_then(|key| Some((key, key.secret.as_ref()?)))
        else {
            return Ok(None);
        };
        if let Some(project) = self.stranger(asker) {
            if !key.is_for(project) {
                return Err(Refused::KeyOfOthers { name: name.to_owned(), variable: projects_of(name) });
            }
            if !belongs(key) {
                return Err(Refused::KeyElsewhere {
                    name: name.to_owned(),
                    host: host_and_port(url),
                    variable: hosts_of(name),
                });
            }
        }
        Ok(Some(secret.clone()))
    }

    /// The project that asks, if it is none of the person's own who runs this process.
    fn stranger<'a>(&self, asker: Asker<'a>) -> Option<&'a str> {
        match asker {
            Asker::Operator => None,
            Asker::Project(project) => (self.own.as_deref() != Some(project)).then_some(project),
        }
    }
}

impl Destination {
    /// Whether others on the network could read what is sent there.
    pub fn shows_what_is_sent(&self) -> bool {
        self.url.scheme() == "http" && !is_loopback(&self.url)
    }

    /// Where it leads, for people: scheme, host, port and path. A query is left out, and a path that looks like a credential.
    pub fn place(&self) -> String {
        shown(&self.url)
    }

    /// The host it leads to: scheme, host and port. The paths of some addresses are secrets.
    pub fn origin(&self) -> String {
        let place = self.url.origin();
        match self.url.port() {
            Some(_) => place.ascii_serialization(),
            None => {
                format!("{}:{}", place.ascii_serialization(), self.url.port_or_known_default().unwrap_or(0))
            }
        }
    }

    /// A POST to the address.
    pub fn post(&self) -> RequestBuilder {
        self.client.post(self.url.clone())
    }

    /// The client, for a library that sends requests to this address by itself.
    pub fn into_client(self) -> Client {
        self.client
    }
}

const NO_ADDRESS: &str = "is not an address, such as `https://api.example.com/v1`";

/// Reads an address to which calls can go: `http:` or `https:`, with a host, without a user. The refusal is a short clause.
pub fn parse(text: &str) -> Result<Url, Refused> {
    check_web_address(text).map_err(Refused::Address)?;
    Url::parse(text).ok().filter(is_plain).ok_or(Refused::Address(NO_ADDRESS))
}

fn is_plain(url: &Url) -> bool {
    let is_http = matches!(url.scheme(), "http" | "https");
    is_http && url.has_host() && url.username().is_empty() && url.password().is_none()
}

/// The address, where the host is one. Other spellings of it (`0x7f.1`, `2130706433`) are none any more in a URL.
pub(crate) fn literal(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// An address without what in it may be a secret (SEC-09). A user it has not ([`is_plain`]).
fn shown(url: &Url) -> String {
    let (scheme, host) = (url.scheme(), url.host_str().unwrap_or_default());
    let port = url.port_or_known_default().map(|port| format!(":{port}")).unwrap_or_default();
    let path = if looks_like_credential(url.path()) { "/…" } else { url.path() };
    format!("{scheme}://{host}{port}{path}")
}

/// As settings spell it.
fn host_and_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match (url.scheme(), url.port_or_known_default()) {
        ("https", Some(443)) | (_, None) => host.to_owned(),
        (_, Some(port)) => format!("{host}:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use secrecy::ExposeSecret;

    fn door(allowed: Allowed) -> Door {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let variables = [
            ("CARDWIRE_KEY_PROD", "hunter2"),
            ("CARDWIRE_KEY_ONE", "x"),
            ("CARDWIRE_KEY_ONE_PROJECTS", "p1"),
        ];
        let keys = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Door::new(Keyring::from_variables(keys).unwrap(), allowed)
    }

    const PROJECT: Asker<'_> = Asker::Project("p2");

    fn leads(door: &Door, asker: Asker<'_>, url: &str) -> Result<(), Refused> {
        door.destination(asker, parse(url)?).map(drop)
    }

    /// F-39: the address is written out, in any spelling.
    #[test]
    fn an_address_inside_is_refused_to_projects_and_open_to_the_operator() {
        let shut = door(Allowed::default());
        for inside in [
            "http://127.0.0.1:8080/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0177.0.0.1/",
            "http://0.0.0.0/",
            "http://10.0.0.1/",
            "http://169.254.169.254/latest/meta-data/",
            "http://192.168.1.1/",
            "http://100.64.0.1/",
            "https://172.16.0.1/",
            "http://224.0.0.1/",
            "http://[::1]/",
            "http://[::]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:a9fe:a9fe]/",
            "http://[fd00::1]/",
            "http://[fe80::1]/",
        ] {
            let refused = leads(&shut, PROJECT, inside).unwrap_err();
            assert!(matches!(refused, Refused::Inside { .. }), "{inside}: {refused:?}");
            assert!(refused.to_string().contains("CARDWIRE_EGRESS_ALLOW"), "{refused}");
            assert_eq!(leads(&shut, Asker::Operator, inside), Ok(()), "{inside}");
            assert_eq!(leads(&door(Allowed::default()).with_own("p2"), PROJECT, inside), Ok(()), "{inside}");
            assert!(leads(&door(Allowed::default()).with_own("p1"), PROJECT, inside).is_err(), "{inside}");
        }
        assert_eq!(leads(&shut, PROJECT, "http://8.8.8.8/"), Ok(()));
        let open = door(Allowed::loopback());
        assert_eq!(leads(&open, PROJECT, "http://127.0.0.1:8080/"), Ok(()));
        assert!(leads(&open, PROJECT, "http://169.254.169.254/").is_err());
    }

    /// F-38
    #[test]
    fn a_key_is_given_for_its_own_hosts_and_projects_and_the_refusal_says_what_would_help() {
        let door = door(Allowed::loopback());
        let key = |asker, name: &str, url: &str| {
            let key = door.key(asker, name, &parse(url).unwrap());
            key.map(|key| key.map(|key| key.expose_secret().to_owned()))
        };
        let (own, listener) = ("https://api.openai.com/v1", "http://127.0.0.1:9/v1");
        assert_eq!(key(PROJECT, "prod", own).unwrap().as_deref(), Some("hunter2"));
        assert_eq!(key(Asker::Operator, "prod", listener).unwrap().as_deref(), Some("hunter2"));
        assert_eq!(key(PROJECT, "absent", listener), Ok(None));
        let refused = key(PROJECT, "prod", listener).unwrap_err().to_string();
        assert!(
            refused.contains("`CARDWIRE_KEY_PROD_HOSTS`") && refused.contains("127.0.0.1:9"),
            "{refused}"
        );
        assert!(!refused.contains("hunter2"), "{refused}");
        let refused = key(PROJECT, "one", own).unwrap_err().to_string();
        assert!(refused.contains("`CARDWIRE_KEY_ONE_PROJECTS`"), "{refused}");
        assert_eq!(key(Asker::Project("p1"), "one", own).unwrap().as_deref(), Some("x"));
    }

    /// SEC-09
    #[test]
    fn nothing_of_the_door_shows_a_key_or_more_of_an_address_than_its_host() {
        let door = door(Allowed::default());
        let to = door
            .destination(Asker::Operator, parse("http://127.0.0.1/hunter2?key=hunter2").unwrap())
            .unwrap();
        assert_eq!(format!("{to:?}"), "Destination { host: Some(\"127.0.0.1\"), .. }");
        assert!(!format!("{door:?}").contains("hunter2"), "{door:?}");
        let url = Url::parse("http://me:hunter2@x/").unwrap();
        assert!(!door.destination(PROJECT, url).unwrap_err().to_string().contains("hunter2"));
    }

    /// F-13, SEC-09
    #[test]
    fn a_place_names_host_port_and_path_and_no_secret() {
        let key = format!("sk-{}", "a1".repeat(12));
        for (url, place) in [
            ("http://127.0.0.1:9/v1/chat?key=hunter2#x", "http://127.0.0.1:9/v1/chat".to_owned()),
            ("https://api.openai.com/v1", "https://api.openai.com:443/v1".to_owned()),
            ("http://[::1]:80/", "http://[::1]:80/".to_owned()),
            (&format!("https://gateway.example/{key}/v1"), "https://gateway.example:443/…".to_owned()),
        ] {
            let to = door(Allowed::default()).destination(Asker::Operator, parse(url).unwrap()).unwrap();
            assert_eq!(to.place(), place);
            let (scheme, rest) = place.split_once("://").unwrap();
            assert_eq!(to.origin(), format!("{scheme}://{}", rest.split('/').next().unwrap()));
        }
    }

    proptest! {
        /// F-39: what may be kept is read by the client as it was checked.
        #[test]
        fn an_address_that_may_be_kept_has_neither_another_scheme_nor_a_user(
            text in "(ht ?tp|https|file|)(://|:/|:|//)[a@:\\\\/?#.0-9 \t\\[\\]%]{0,12}",
        ) {
            if check_web_address(&text).is_ok() && let Ok(url) = Url::parse(&text) {
                prop_assert!(is_plain(&url), "{text} is read as {url}");
            }
        }
    }
}
