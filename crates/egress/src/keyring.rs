//! The operator's keys: what each is called, which hosts it belongs to, and which projects may use it.
//!
//! A key is `CARDWIRE_KEY_NAME`; `CARDWIRE_KEY_NAME_HOSTS` and `CARDWIRE_KEY_NAME_PROJECTS` say where it belongs. Invariant:
//! a key without hosts of its own belongs to the providers' own hosts and to no other (F-38).

use cardwire_model::{Invalid, ProjectId};
use reqwest::Url;
use secrecy::SecretString;
use std::{collections::HashMap, fmt};

const PREFIX: &str = "CARDWIRE_KEY_";
const HOSTS: &str = "_HOSTS";
const PROJECTS: &str = "_PROJECTS";

/// The providers whose hosts are known, by the name of their key and of the variable that others use for it.
pub const OWN_HOSTS: [(&str, &str, &str); 2] =
    [("OPENAI", "OPENAI_API_KEY", "api.openai.com"), ("ANTHROPIC", "ANTHROPIC_API_KEY", "api.anthropic.com")];

/// Keys by name.
#[derive(Default)]
pub struct Keyring(HashMap<String, Key>);

/// What is known of a key. It may have hosts and projects, and not be there.
#[derive(Default)]
pub(crate) struct Key {
    pub(crate) secret: Option<SecretString>,
    hosts: Option<Vec<Host>>,
    projects: Option<Vec<ProjectId>>,
}

/// A host that a key belongs to: at the port that is given, else over TLS at the port of HTTPS.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Host {
    name: String,
    port: Option<u16>,
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

impl Keyring {
    /// Reads the variables that hold keys or say where they belong, and passes over all others.
    pub fn from_variables(variables: impl IntoIterator<Item = (String, String)>) -> Result<Self, Invalid> {
        let (mut keys, mut common) = (HashMap::<String, Key>::new(), vec![]);
        for (variable, value) in variables {
            if value.trim().is_empty() {
                continue;
            }
            if let Some((name, ..)) = OWN_HOSTS.iter().find(|(_, common, _)| *common == variable) {
                common.push((*name, value));
            } else if let Some(name) = variable.strip_prefix(PREFIX) {
                if let Some(name) = name.strip_suffix(HOSTS) {
                    keys.entry(name.to_owned()).or_default().hosts =
                        Some(list(&variable, &value, Host::parse)?);
                } else if let Some(name) = name.strip_suffix(PROJECTS) {
                    let read = |name: &str| name.parse().ok();
                    keys.entry(name.to_owned()).or_default().projects = Some(list(&variable, &value, read)?);
                } else {
                    keys.entry(name.to_owned()).or_default().secret = Some(value.into());
                }
            }
        }
        for (name, value) in common {
            keys.entry(name.to_owned()).or_default().secret.get_or_insert_with(|| value.into());
        }
        Ok(Self(keys))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Key> {
        self.0.get(&in_variables(name))
    }
}

impl Key {
    /// Whether a project may use it.
    pub(crate) fn is_for(&self, project: &str) -> bool {
        self.projects.as_ref().is_none_or(|names| names.iter().any(|name| name.as_str() == project))
    }

    /// Whether it is sent to this address: to the hosts it was given, else to the provider of its name, else to any.
    pub(crate) fn belongs_to(&self, name: &str, url: &Url) -> bool {
        let own = |(_, _, host): &(&str, &str, &str)| Host { name: (*host).to_owned(), port: None }.is(url);
        match (&self.hosts, OWN_HOSTS.iter().find(|(own, ..)| *own == in_variables(name))) {
            (Some(hosts), _) => hosts.iter().any(|host| host.is(url)),
            (None, Some(provider)) => own(provider),
            (None, None) => OWN_HOSTS.iter().any(own),
        }
    }

    /// Whether what it has signed is sent to this address. A signature opens nothing, so it goes anywhere unless the operator
    /// named hosts.
    pub(crate) fn signs_for(&self, url: &Url) -> bool {
        self.hosts.as_ref().is_none_or(|hosts| hosts.iter().any(|host| host.is(url)))
    }
}

impl Host {
    fn parse(text: &str) -> Option<Self> {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
        let url = text.chars().all(legal).then(|| Url::parse(&format!("https://{text}/")).ok())??;
        // A port that is given is one even where it is that of HTTPS.
        let port = match text.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
            Some((_, port)) => Some(port.parse().ok()?),
            None => None,
        };
        Some(Self { name: url.host_str()?.to_owned(), port })
    }

    fn is(&self, url: &Url) -> bool {
        let port = url.port_or_known_default();
        let right_port = match self.port {
            Some(own) => port == Some(own),
            None => url.scheme() == "https" && port == Some(443),
        };
        right_port && url.host_str() == Some(&self.name)
    }
}

/// The variables that hold the key of this name: the common one of a provider first.
pub fn key_variables(name: &str) -> Vec<String> {
    let own = in_variables(name);
    let common =
        OWN_HOSTS.iter().filter(|(provider, ..)| *provider == own).map(|(_, common, _)| (*common).to_owned());
    common.chain([format!("{PREFIX}{own}")]).collect()
}

/// The settings of a key.
pub(crate) fn hosts_of(name: &str) -> String {
    format!("{PREFIX}{}{HOSTS}", in_variables(name))
}

/// See [`hosts_of`].
pub(crate) fn projects_of(name: &str) -> String {
    format!("{PREFIX}{}{PROJECTS}", in_variables(name))
}

fn in_variables(name: &str) -> String {
    name.to_ascii_uppercase().replace('-', "_")
}

/// All of a list with commas. What is wrong is not repeated: it may be a key in the wrong place.
fn list<T>(variable: &str, value: &str, read: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, Invalid> {
    let what = if variable.ends_with(HOSTS) {
        "must be hosts with commas between them, such as `api.example.com` or `127.0.0.1:8080`"
    } else {
        "must be names of projects with commas between them"
    };
    let entries = value.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    entries.map(|entry| read(entry).ok_or_else(|| Invalid::field(variable, what))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    fn ring(variables: &[(&str, &str)]) -> Result<Keyring, Invalid> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Keyring::from_variables(variables.iter().map(owned))
    }

    fn goes(ring: &Keyring, name: &str, url: &str) -> bool {
        ring.get(name).unwrap().belongs_to(name, &Url::parse(url).unwrap())
    }

    /// F-38
    #[test]
    fn a_key_without_hosts_belongs_to_the_providers_own_hosts_over_tls() {
        let ring =
            ring(&[("OPENAI_API_KEY", "o"), ("CARDWIRE_KEY_ANTHROPIC", "a"), ("CARDWIRE_KEY_PROD", "p")]);
        let ring = ring.unwrap();
        let (openai, anthropic) = ("https://api.openai.com/v1", "https://api.anthropic.com/v1");
        for (name, to_openai, to_anthropic) in
            [("openai", true, false), ("anthropic", false, true), ("prod", true, true)]
        {
            assert_eq!(
                (goes(&ring, name, openai), goes(&ring, name, anthropic)),
                (to_openai, to_anthropic),
                "{name}"
            );
            for elsewhere in [
                "http://api.openai.com/v1",
                "http://api.openai.com:443/v1",
                "https://api.openai.com:8443/v1",
                "https://api.openai.com.evil.example/v1",
                "https://evil.example/api.openai.com",
                "http://127.0.0.1:9/v1",
            ] {
                assert!(!goes(&ring, name, elsewhere), "{name} to {elsewhere}");
            }
        }
    }

    /// F-38
    #[test]
    fn a_key_with_hosts_belongs_to_them_alone() {
        let ring = ring(&[
            ("OPENAI_API_KEY", "o"),
            ("CARDWIRE_KEY_OPENAI_HOSTS", "Gateway.example, 127.0.0.1:8080,[::1]:443,[fd00::1]"),
        ]);
        let ring = ring.unwrap();
        for (url, belongs) in [
            ("https://gateway.example/v1", true),
            ("http://gateway.example/v1", false),
            ("https://gateway.example:8443/v1", false),
            ("http://127.0.0.1:8080/", true),
            ("https://127.0.0.1:8080/", true),
            ("http://127.0.0.1:8081/", false),
            ("http://localhost:8080/", false),
            ("http://[::1]:443/", true),
            ("https://[fd00::1]/", true),
            ("http://[fd00::1]/", false),
            ("https://api.openai.com/v1", false),
        ] {
            assert_eq!(goes(&ring, "openai", url), belongs, "{url}");
        }
    }

    #[test]
    fn a_key_is_found_as_variables_spell_it_and_its_own_variable_comes_first() {
        let ring = ring(&[
            ("OPENAI_API_KEY", "common"),
            ("CARDWIRE_KEY_OPENAI", "own"),
            ("CARDWIRE_KEY_A_B", "x"),
            ("CARDWIRE_KEY_EMPTY", " "),
            ("CARDWIRE_KEY_A_B_PROJECTS", "p1, p-2"),
            ("PATH", "/bin"),
        ]);
        let ring = ring.unwrap();
        let secret = |name: &str| Some(ring.get(name)?.secret.as_ref()?.expose_secret().to_owned());
        assert_eq!(secret("openai").as_deref(), Some("own"));
        assert_eq!(secret("a-b").as_deref(), Some("x"));
        assert_eq!(secret("a_b_projects").as_deref(), None, "a setting is no key");
        assert_eq!((secret("empty"), secret("path")), (None, None));
        let key = ring.get("a_b").unwrap();
        assert!(key.is_for("p1") && key.is_for("p-2") && !key.is_for("p3"));
        assert!(!format!("{ring:?}").contains("own"), "{ring:?}");
    }

    /// SEC-09
    #[test]
    fn a_setting_that_makes_no_sense_is_refused_by_its_name_and_not_repeated() {
        for (variable, value) in [
            ("CARDWIRE_KEY_A_HOSTS", "https://hunter2"),
            ("CARDWIRE_KEY_A_HOSTS", "*.hunter2"),
            ("CARDWIRE_KEY_A_HOSTS", "hunter2/x"),
            ("CARDWIRE_KEY_A_HOSTS", "me@hunter2"),
            ("CARDWIRE_KEY_A_HOSTS", "hunter2:99999"),
            ("CARDWIRE_KEY_A_HOSTS", "hunter2:"),
            ("CARDWIRE_KEY_A_PROJECTS", "hunter 2"),
        ] {
            let refused = ring(&[(variable, value)]).unwrap_err();
            assert_eq!(refused.field_name(), variable);
            assert!(!refused.to_string().contains("hunter"), "{refused}");
        }
    }
}
