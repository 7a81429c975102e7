//! Sessions: the memory that the agents of one team share (X-11, ST-01..ST-16).
//!
//! A session is a row that points to its last *checkpoint*, a card. A checkpoint holds pointers only: how far which
//! box reaches, and which card holds the fields. It names the one before it, so that what a patch writes does not grow
//! with the age of the session (NF-12), and an old checkpoint can be restored without copying anything.

use crate::{
    BoxId, CanonicalJson, CardId, Generation, Invalid, Namespace, Revision, Segment, SessionId, Timestamp,
};
use serde_json::{Map, Value, json};
use std::{fmt, str::FromStr};

/// Which session, within a project (ST-09).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey {
    /// Sessions of different namespaces share nothing.
    pub namespace: Namespace,
    /// Its name there.
    pub session: SessionId,
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.namespace, self.session)
    }
}

/// The row of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Which one.
    pub key: SessionKey,
    /// Rises with every patch (ST-16), also across deletion.
    pub version: Revision,
    /// Its last checkpoint.
    pub checkpoint: CardId,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was deleted.
    pub deleted_at: Option<Timestamp>,
}

/// Where everything of a session is, at one version. The content of a `session.checkpoint` card.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// The version it makes.
    pub version: u64,
    /// The first version of this session; a lower one is of a deleted session of the same name.
    pub first: u64,
    /// The checkpoint before it.
    pub previous: Option<CardId>,
    /// The deleted session whose name this one took.
    pub former: Option<Former>,
    /// The messages, and the summary that stands for older ones.
    pub memory: Option<Segment>,
    /// How many messages that are: the summary is none.
    pub messages: u32,
    /// Results of the map_reduce plan under way.
    pub results: Option<Segment>,
    /// What happened.
    pub timeline: Option<Segment>,
    /// The ordinary fields, one object (`session.state`).
    pub fields: Option<CardId>,
    /// What was compacted away, summarised (`session.summary`).
    pub summary: Option<CardId>,
    /// What is known for the experience of this session, not saved yet (`session.experience`).
    pub experience: Option<CardId>,
}

/// A deleted session, as the next one of its name knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Former {
    /// Its last checkpoint; as long as that card is not deleted, neither is all of the session.
    pub checkpoint: CardId,
    /// When it was deleted: what began before belongs to it.
    pub deleted_at: Timestamp,
}

/// What of a session somebody is shown who does not see it as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Nothing: there was no such session.
    Nothing,
    /// All of it, at this checkpoint.
    Checkpoint(CardId),
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str(NOTHING),
            Self::Checkpoint(card) => card.fmt(f),
        }
    }
}

impl FromStr for Seen {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text == NOTHING { Ok(Self::Nothing) } else { text.parse().map(Self::Checkpoint) }
    }
}

/// What stands for the checkpoint of a session that was not there.
const NOTHING: &str = "none";

impl Former {
    fn to_value(self) -> Value {
        json!({ "checkpoint": self.checkpoint.to_string(), "deleted_at": self.deleted_at.micros() })
    }

    fn from_value(value: &Value) -> Option<Self> {
        let checkpoint = value.get("checkpoint")?.as_str()?.parse().ok()?;
        let deleted_at = Timestamp::from_micros(value.get("deleted_at")?.as_i64()?);
        Some(Self { checkpoint, deleted_at })
    }
}

impl Checkpoint {
    /// The content of its card.
    pub fn to_json(&self, key: &SessionKey) -> Result<CanonicalJson, Invalid> {
        let mut object = Map::new();
        object.insert("namespace".into(), key.namespace.as_str().into());
        object.insert("session_id".into(), key.session.as_str().into());
        object.insert("version".into(), self.version.into());
        object.insert("first_version".into(), self.first.into());
        object.insert("messages".into(), self.messages.into());
        let reaches =
            [("memory", self.memory), ("mapreduce_results", self.results), ("timeline", self.timeline)];
        for (name, reach) in reaches {
            if let Some(reach) = reach {
                object.insert(name.into(), reach_json(reach));
            }
        }
        let cards = [
            ("previous", self.previous),
            ("fields", self.fields),
            ("summary", self.summary),
            ("experience", self.experience),
        ];
        for (name, card) in cards {
            if let Some(card) = card {
                object.insert(name.into(), card.to_string().into());
            }
        }
        if let Some(former) = self.former {
            object.insert("former".into(), former.to_value());
        }
        CanonicalJson::from_value(&Value::Object(object))
    }

    /// The reverse; `None` for the card of another session, or of another kind.
    pub fn from_json(content: &CanonicalJson, key: &SessionKey) -> Option<Self> {
        let value = content.to_value();
        let object = value.as_object()?;
        let text = |name: &str| object.get(name).and_then(Value::as_str);
        if text("namespace")? != key.namespace.as_str() || text("session_id")? != key.session.as_str() {
            return None;
        }
        let card = |name: &str| text(name).and_then(|id| id.parse().ok());
        let reach = |name: &str| object.get(name).and_then(reach_from_json);
        let messages = object.get("messages").and_then(Value::as_u64);
        Some(Self {
            version: object.get("version")?.as_u64()?,
            first: object.get("first_version")?.as_u64()?,
            previous: card("previous"),
            former: object.get("former").and_then(Former::from_value),
            memory: reach("memory"),
            messages: messages.and_then(|count| u32::try_from(count).ok()).unwrap_or(0),
            results: reach("mapreduce_results"),
            timeline: reach("timeline"),
            fields: card("fields"),
            summary: card("summary"),
            experience: card("experience"),
        })
    }
}

/// A stretch of a box as JSON.
pub fn reach_json(reach: Segment) -> Value {
    json!({ "box_id": reach.box_id.to_string(), "generation": reach.generation.get(), "len": reach.len })
}

/// The reverse of [`reach_json`].
pub fn reach_from_json(value: &Value) -> Option<Segment> {
    let number = |name: &str| value.get(name)?.as_u64().and_then(|number| u32::try_from(number).ok());
    let box_id: BoxId = value.get("box_id")?.as_str()?.parse().ok()?;
    Some(Segment { box_id, generation: Generation::new(number("generation")?), len: number("len")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_of_a_session_is_a_checkpoint_or_none() {
        let card = CardId::from_uuid(uuid::Uuid::from_u128(7));
        for seen in [Seen::Nothing, Seen::Checkpoint(card)] {
            assert_eq!(seen.to_string().parse(), Ok(seen));
        }
        assert_eq!(Seen::Nothing.to_string(), "none");
        assert!("None".parse::<Seen>().is_err());
    }

    #[test]
    fn a_checkpoint_is_read_back_by_its_own_session_only() {
        let key = |session: &str| SessionKey {
            namespace: "default".parse().unwrap(),
            session: session.parse().unwrap(),
        };
        let id = uuid::Uuid::from_u128;
        let reach = |n| Segment { box_id: BoxId::from_uuid(id(n)), generation: Generation::FIRST, len: 3 };
        let full = Checkpoint {
            version: 7,
            first: 3,
            previous: Some(CardId::from_uuid(id(1))),
            former: Some(Former {
                checkpoint: CardId::from_uuid(id(8)),
                deleted_at: Timestamp::from_micros(9),
            }),
            memory: Some(reach(2)),
            messages: 2,
            results: Some(reach(3)),
            timeline: Some(reach(4)),
            fields: Some(CardId::from_uuid(id(5))),
            summary: Some(CardId::from_uuid(id(6))),
            experience: Some(CardId::from_uuid(id(7))),
        };
        for checkpoint in [full, Checkpoint { version: 1, ..Checkpoint::default() }] {
            let content = checkpoint.to_json(&key("a")).unwrap();
            assert_eq!(Checkpoint::from_json(&content, &key("a")), Some(checkpoint));
            assert_eq!(Checkpoint::from_json(&content, &key("b")), None);
        }
    }
}
