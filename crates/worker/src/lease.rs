//! What a worker is given.

use serde::Deserialize;
use serde_json::Value;

/// One lease, as `POST /l0/claim` answers it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Lease {
    pub(crate) project_id: String,
    pub(crate) agent_id: String,
    pub(crate) agent_turn_id: String,
    pub(crate) turn_epoch: u64,
    #[serde(default)]
    pub(crate) trace_id: String,
    /// `turn`, `resume` or `stop`.
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) turn_token: String,
    #[serde(default)]
    pub(crate) context_box_id: String,
    #[serde(default)]
    pub(crate) output_box_id: String,
    #[serde(default)]
    pub(crate) profile_box_id: String,
    #[serde(default)]
    pub(crate) channel_id: Option<String>,
    #[serde(default)]
    pub(crate) runtime_config: Value,
    /// What the deliverable must have, if `output_len` is there; null for nothing.
    #[serde(default)]
    pub(crate) result_fields: Value,
    /// How many cards the output box showed when the lease was given, if the server said so.
    #[serde(default)]
    pub(crate) output_len: Option<u32>,
}

impl Lease {
    pub(crate) fn is_stop(&self) -> bool {
        self.kind == "stop"
    }

    /// The turn only tries something out, for itself or for a fork that it works for: it leaves the session as it is.
    pub(crate) fn tries_out(&self) -> bool {
        self.setting("forked_from").is_some() || self.setting("session_checkpoint").is_some()
    }

    /// A text among the settings of the run.
    pub(crate) fn setting(&self, name: &str) -> Option<&str> {
        self.runtime_config.get(name)?.as_str()
    }
}
