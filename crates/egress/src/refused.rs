//! Why the door stays shut, in words for those who write a project and for those who run the server. Invariant: no refusal
//! holds a key, nor more of an address than its host.

use crate::ALLOW;
use std::error::Error;
use thiserror::Error;

/// A call that does not leave.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refused {
    /// The address is none that calls can go to.
    #[error("{0}")]
    Address(&'static str),
    /// The host is in the server's own network. What it resolves to is not told: projects could read names that way.
    #[error(
        "`{host}` is in the server's own network, where calls of projects may not go; where agents run, `{ALLOW}` names the networks and hosts that they may"
    )]
    Inside {
        /// As the project wrote it.
        host: String,
    },
    /// The key belongs to other hosts.
    #[error(
        "the key `{name}` does not belong to `{host}` and is not sent there; where agents run, `{variable}` names the hosts it belongs to, such as `{host}`"
    )]
    KeyElsewhere {
        /// What the project calls it.
        name: String,
        /// Host and port that were asked for.
        host: String,
        /// The setting.
        variable: String,
    },
    /// The key belongs to other projects.
    #[error("the key `{name}` is not for this project; where agents run, `{variable}` names those it is for")]
    KeyOfOthers {
        /// What the project calls it.
        name: String,
        /// The setting.
        variable: String,
    },
    /// No client could be made.
    #[error("cannot set up HTTP: {0}")]
    Client(String),
}

/// The refusal behind an error, if there is one: a name that leads inside is known when the call connects.
pub fn refusal<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Refused> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

/// What is innermost in an error that has a cause. The outermost is never told: it names the address, which may hold a
/// secret (SEC-09).
pub fn innermost(error: &(dyn Error + 'static)) -> String {
    match causes(error).skip(1).last() {
        Some(cause) => cause.to_string(),
        None => "the request could not be sent".to_owned(),
    }
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt;

    #[derive(Debug)]
    struct Outer(Option<Refused>);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("error sending request for url (http://x/?key=hunter2)")
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.0.as_ref().map(|refused| refused as _)
        }
    }

    /// F-43, SEC-09
    #[test]
    fn an_error_is_told_by_its_innermost_cause_and_without_one_not_at_all() {
        let refused = Refused::Inside { host: "x".to_owned() };
        let caused = Outer(Some(refused.clone()));
        assert_eq!((innermost(&caused), refusal(&caused)), (refused.to_string(), Some(&refused)));
        let bare = Outer(None);
        assert_eq!((innermost(&bare), refusal(&bare)), ("the request could not be sent".to_owned(), None));
    }
}
