//! Names given by people: `[A-Za-z0-9_-]{1,128}`. They travel in URLs and NATS subjects, so nothing else passes.

use crate::{Hash256, Invalid, limits};
use std::{fmt, str::FromStr, sync::Arc};

macro_rules! slug {
    ($(#[$doc:meta])* $name:ident, $field:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                check($field, text)?;
                Ok(Self(text.into()))
            }
        }
    };
}

/// A name made of others, or its beginning and a hash of the whole where it is longer than `most`, so that two that begin alike
/// stay two.
pub fn shortened(name: String, most: usize) -> String {
    const DIGITS: usize = 16;
    if name.chars().count() <= most {
        return name;
    }
    let hash = Hash256::of(name.as_bytes()).to_string();
    let kept: String = name.chars().take(most.saturating_sub(DIGITS + 1)).collect();
    format!("{kept}_{}", &hash[..DIGITS])
}

impl AgentId {
    /// The name of an agent that is made for a profile (PM-06): two ids, which are letters and digits only.
    pub fn derived(profile_box: crate::BoxId, id: uuid::Uuid) -> Self {
        Self(format!("{profile_box}_{}", id.simple()).into())
    }
}

slug!(
    /// A tenant: the hard wall around cards, boxes and everything else.
    ProjectId, "project_id"
);
slug!(
    /// An addressable participant.
    AgentId, "agent_id"
);

slug!(
    /// A visibility domain for control flow, not for facts (CB-09).
    Channel, "channel_id"
);
slug!(
    /// Which workers serve an agent.
    WorkerTarget, "worker_target"
);
slug!(
    /// Which tools on the bus a call is for.
    ToolTarget, "nats"
);
slug!(
    /// A named configuration of agents.
    ProfileName, "profile_name"
);
slug!(
    /// The name of a tool, a recipe or a team.
    ResourceName, "name"
);
slug!(
    /// What keeps sessions, knowledge and experience of one project apart.
    Namespace, "namespace"
);
slug!(
    /// The memory that the agents of one team share, by name.
    SessionId, "session_id"
);
slug!(
    /// One iteration of a turn: `step_` and whatever names it.
    StepId, "step_id"
);

impl Default for Namespace {
    /// The namespace of everything that names none.
    fn default() -> Self {
        Self("default".into())
    }
}

impl Channel {
    /// The channel of everything that names none.
    pub fn public() -> Self {
        Self(crate::event::PUBLIC_CHANNEL.into())
    }
}

fn check(field: &str, text: &str) -> Result<(), Invalid> {
    let legal = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if text.is_empty() || text.len() > limits::NAME_CHARS || !text.bytes().all(legal) {
        return Err(Invalid::field(
            field,
            format!("must be 1 to {} characters of A-Z, a-z, 0-9, _ and -", limits::NAME_CHARS),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SEC-07: ids are at most 128 characters.
    #[test]
    fn a_name_has_1_to_128_legal_characters() {
        assert!("a".repeat(128).parse::<ProjectId>().is_ok());
        assert!("a".repeat(129).parse::<ProjectId>().is_err());
        for bad in ["", "a.b", "a*", "a>", "a/b", "a b", "a\u{0}", "é", ".system", "a\n"] {
            assert!(bad.parse::<ProjectId>().is_err(), "{bad:?}");
        }
    }
}
