//! The inbox of an agent: the durable queue of what is to be done (DP-08, DP-14, DP-15).
//!
//! The row of a turn stays after the turn has ended and tells how: it is the turn's record.

use crate::{
    AgentId, BoxId, BranchKey, CanonicalJson, CardId, Channel, Hash256, InboxId, StepId, TaskStatus,
    Timestamp, TurnEpoch, TurnId, WorkerTarget,
};
use serde_json::{Map, Value};

macro_rules! names {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$vdoc])* $variant,)*
        }

        impl $name {
            /// All of them, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name on the wire and in the store.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// The one with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == name)
            }
        }
    };
}
pub(crate) use names;

names! {
    /// What a row asks for.
    InboxKind {
        /// A turn to be run.
        Turn = "turn",
        /// A tool has answered.
        ToolResult = "tool_result",
        /// A tool has not answered in time.
        Timeout = "timeout",
        /// A turn was stopped: a hint to its worker.
        Stop = "stop",
    }
}

names! {
    /// How far a row is.
    InboxStatus {
        /// Behind a live turn.
        Queued = "queued",
        /// For a worker to claim.
        Pending = "pending",
        /// Claimed.
        Processing = "processing",
        /// Done.
        Consumed = "consumed",
        /// Put away because it cannot be used.
        Error = "error",
        /// Put away because nobody wants it any more.
        Skipped = "skipped",
        /// To be claimed later.
        Deferred = "deferred",
    }
}

impl InboxStatus {
    /// Whether the row still asks for something.
    pub const fn is_open(self) -> bool {
        match self {
            Self::Queued | Self::Pending | Self::Processing | Self::Deferred => true,
            Self::Consumed | Self::Error | Self::Skipped => false,
        }
    }

    /// Whether workers have it before them: to claim, now or later, or claimed.
    pub const fn is_with_workers(self) -> bool {
        match self {
            Self::Pending | Self::Processing | Self::Deferred => true,
            Self::Queued | Self::Consumed | Self::Error | Self::Skipped => false,
        }
    }
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxItem {
    /// Its id.
    pub id: InboxId,
    /// Place in the queue, given by the store on insert; rises with time. 0 before that.
    pub seq: u64,
    /// Whose inbox.
    pub agent_id: AgentId,
    /// What it asks for.
    pub kind: InboxKind,
    /// How far it is.
    pub status: InboxStatus,
    /// The turn it is, or the turn it is for.
    pub turn_id: TurnId,
    /// The epoch of that turn, once it is leased.
    pub epoch: Option<TurnEpoch>,
    /// What it answers: the turn's own correlation, or the tool call.
    pub correlation_id: String,
    /// Which workers serve it.
    pub worker_target: WorkerTarget,
    /// The channel it was sent on. Only a damaged row has none (WD-10).
    pub channel: Option<Channel>,
    /// How deep in the tree of delegations. Only a damaged row has none.
    pub depth: Option<u32>,
    /// The trace it belongs to. Only a damaged row has none.
    pub trace_id: Option<String>,
    /// The turn that sent it.
    pub parent_turn: Option<TurnId>,
    /// The tool call of that turn.
    pub parent_call: Option<String>,
    /// The step of that turn.
    pub parent_step: Option<StepId>,
    /// The branch of a batch that the turn is.
    pub branch: Option<BranchKey>,
    /// Where the turn writes; what the payload says, in a column so that it can be searched.
    pub output_box: Option<BoxId>,
    /// Pointers only, as JSON text (DP-08). Parsed when the row is used.
    pub payload: String,
    /// Who claimed it.
    pub worker_id: Option<String>,
    /// What the holder of the lease must know (SEC-02).
    pub token_hash: Option<Hash256>,
    /// When it came.
    pub created_at: Timestamp,
    /// When it was claimed.
    pub processed_at: Option<Timestamp>,
    /// How often it was put off.
    pub retry_count: u32,
    /// Not before this.
    pub next_retry_at: Option<Timestamp>,
    /// Why it was put off, or put away.
    pub reason: Option<String>,
    /// How the turn ended.
    pub ended: Option<Ended>,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// In one word.
    pub status: TaskStatus,
    /// The card that ends it.
    pub deliverable: CardId,
    /// What went wrong, for people.
    pub error: Option<String>,
    /// What went wrong, for programs.
    pub error_code: Option<String>,
    /// Cards in the output box when the turn was leased and when it ended (WK-03, CB-17).
    pub output: (u32, u32),
    /// When.
    pub at: Timestamp,
}

/// What a turn is made of (DP-08): pointers only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnPayload {
    /// What the agent is.
    pub profile_box: BoxId,
    /// What it is given.
    pub context_box: BoxId,
    /// Where it writes.
    pub output_box: BoxId,
    /// Settings of this run, an object.
    pub runtime_config: CanonicalJson,
    /// For people.
    pub display_name: Option<String>,
}

/// Why a stored payload cannot be used (DP-14).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PayloadFault {
    /// Not JSON.
    InvalidJson,
    /// Not an object.
    InvalidType,
    /// A pointer that is none.
    InvalidContext,
    /// These fields are missing.
    Missing(Vec<&'static str>),
}

impl PayloadFault {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::InvalidJson => "invalid_payload_json",
            Self::InvalidType => "invalid_payload_type",
            Self::InvalidContext => "invalid_context",
            Self::Missing(_) => "missing_required_fields",
        }
    }
}

const POINTERS: [&str; 3] = ["profile_box_id", "context_box_id", "output_box_id"];

impl TurnPayload {
    /// The JSON text that is stored.
    pub fn to_stored(&self) -> String {
        let mut object = Map::new();
        object.insert("profile_box_id".into(), self.profile_box.to_string().into());
        object.insert("context_box_id".into(), self.context_box.to_string().into());
        object.insert("output_box_id".into(), self.output_box.to_string().into());
        object.insert("runtime_config".into(), self.runtime_config.to_value());
        if let Some(name) = &self.display_name {
            object.insert("display_name".into(), name.clone().into());
        }
        Value::Object(object).to_string()
    }

    /// The reverse, for rows that may have been damaged.
    pub fn from_stored(text: &str) -> Result<Self, PayloadFault> {
        let value: Value = serde_json::from_str(text).map_err(|_| PayloadFault::InvalidJson)?;
        let Value::Object(object) = value else { return Err(PayloadFault::InvalidType) };
        let absent = |name: &&'static str| object.get(*name).is_none_or(Value::is_null);
        let missing: Vec<_> = POINTERS.into_iter().filter(absent).collect();
        if !missing.is_empty() {
            return Err(PayloadFault::Missing(missing));
        }
        let pointer = |name: &str| {
            let text = object.get(name).and_then(Value::as_str);
            text.and_then(|text| text.parse().ok()).ok_or(PayloadFault::InvalidContext)
        };
        let config = object.get("runtime_config").cloned().unwrap_or_else(|| Value::Object(Map::new()));
        Ok(Self {
            profile_box: pointer(POINTERS[0])?,
            context_box: pointer(POINTERS[1])?,
            output_box: pointer(POINTERS[2])?,
            runtime_config: CanonicalJson::from_value(&config).map_err(|_| PayloadFault::InvalidContext)?,
            display_name: object.get("display_name").and_then(Value::as_str).map(str::to_owned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload() -> TurnPayload {
        let id = |n: u128| BoxId::from_uuid(uuid::Uuid::from_u128(n));
        TurnPayload {
            profile_box: id(1),
            context_box: id(2),
            output_box: id(3),
            runtime_config: CanonicalJson::parse(r#"{"a":1}"#, "x").unwrap(),
            display_name: Some("n".to_owned()),
        }
    }

    /// DP-08, DP-14
    #[test]
    fn a_payload_is_read_back_and_a_damaged_one_is_named() {
        let stored = payload().to_stored();
        assert_eq!(TurnPayload::from_stored(&stored), Ok(payload()));
        let code = |text: &str| TurnPayload::from_stored(text).unwrap_err().code();
        assert_eq!(code("{"), "invalid_payload_json");
        assert_eq!(code("[]"), "invalid_payload_type");
        assert_eq!(code(&stored.replace("000000000000000000000000000002", "x")), "invalid_context");
        assert_eq!(
            TurnPayload::from_stored(r#"{"profile_box_id":null,"output_box_id":"x"}"#),
            Err(PayloadFault::Missing(vec!["profile_box_id", "context_box_id"]))
        );
    }
}
