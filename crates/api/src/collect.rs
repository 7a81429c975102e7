//! Collecting on the wire (CC-01..CC-10). Nobody can pass text of their own as a system message: what is collected has
//! a name (CC-10).

use crate::parse;
use cardwire_kernel::{CollectRequest, Collected, composer::process::Process};
use cardwire_model::{Invalid, SessionKey};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// For whom to collect.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CollectIn {
    /// For which agent; what its profile allows is what it is told of.
    #[serde(default)]
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub agent_id: Option<String>,
    /// In which role of which process: `sequential` (the default), `dynamic`, `hierarchical`, `react`,
    /// `map_reduce_worker`, `map_reduce_planner` or `map_reduce_reducer`.
    #[serde(default)]
    #[schema(
        pattern = "^(sequential|dynamic|hierarchical|react|map_reduce_worker|map_reduce_planner|map_reduce_reducer)$"
    )]
    pub process: Option<String>,
    /// The one switch of a team; true when absent.
    #[serde(default)]
    pub enable_share_context: Option<bool>,
    /// What is asked; what the session is about when absent.
    #[serde(default)]
    pub query: Option<String>,
    /// Blocks that stand in the place of collected ones.
    #[serde(default)]
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    pub contexts: Option<Box<RawValue>>,
}

impl CollectIn {
    /// What to collect of a session.
    pub fn into_request(self, session: SessionKey) -> Result<CollectRequest, Invalid> {
        Ok(CollectRequest {
            session: Some(session),
            agent_id: parse::given("agent_id", self.agent_id.as_deref())?,
            process: process(self.process.as_deref())?,
            share: self.enable_share_context.unwrap_or(true),
            query: self.query,
            overrides: parse::contexts(self.contexts.as_deref())?,
            offered: None,
        })
    }
}

/// The process of that name; an agent that works in turn with others when none is named.
pub(crate) fn process(name: Option<&str>) -> Result<Process, Invalid> {
    let Some(name) = name else { return Ok(Process::Sequential) };
    parse::word("process", name, Process::parse, Process::ALL.map(Process::as_str))
}

/// The blocks.
#[derive(Debug, Serialize, ToSchema)]
pub struct CollectedOut {
    /// By key; those with nothing in them are absent.
    pub contexts: BTreeMap<String, String>,
    /// The cards of the sections that the knowledge block shows.
    pub knowledge_refs: Vec<String>,
    /// Blocks that could not be made, and why.
    pub warnings: Vec<String>,
}

impl From<Collected> for CollectedOut {
    fn from(collected: Collected) -> Self {
        let Collected { contexts, knowledge_refs, warnings } = collected;
        let knowledge_refs = knowledge_refs.into_iter().map(|shown| shown.chunk_id).collect();
        Self { contexts, knowledge_refs, warnings }
    }
}
