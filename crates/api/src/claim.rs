//! Claiming turns on the wire (API-10).

use crate::{parse, turn_token};
use cardwire_kernel::{
    ClaimRequest, Hydrated, Recover,
    protocol::turn::{
        append::check_call_id,
        claim::{Lease, LeaseKind, LeasedTurn},
    },
};
use cardwire_model::{CanonicalJson, Invalid, ProjectId, Status, TurnId, limits};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// What a worker asks for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimIn {
    /// Which turns: those of agents that these workers serve.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub worker_target: String,
    /// The worker's name for itself.
    #[schema(min_length = 1, max_length = 128)]
    pub worker_id: String,
    /// At most so many; clamped to 1..100, 1 when absent.
    #[serde(default, deserialize_with = "parse::clamped")]
    pub max_turns: Option<i64>,
    /// How long to wait for the first; clamped to 0..30000, 0 when absent.
    #[serde(default, deserialize_with = "parse::clamped")]
    pub wait_ms: Option<i64>,
    /// Of these projects; of all that the token reaches when absent.
    #[serde(default)]
    #[schema(min_items = 1, max_items = 100)]
    pub projects: Option<Vec<String>>,
    /// Start what is claimed at once, which saves a request.
    #[serde(default)]
    pub start: bool,
    /// With each lease comes what its worker would read first, which saves two requests: `result_fields` and `output_len`.
    #[serde(default)]
    pub hydrate: bool,
    /// `true`: the worker has just come up, and running turns that one with its name held are given back first. `"target"`:
    /// running turns of its target whose workers have not been heard of for a while are given to it, at their next epoch.
    #[serde(default)]
    #[schema(value_type = Option<RecoverIn>)]
    pub recover: Option<Value>,
    /// With `recover`: turns that the worker knows of and is at, which it keeps.
    #[serde(default)]
    #[schema(max_items = 10000)]
    pub holding: Vec<String>,
}

impl ClaimIn {
    /// The request.
    pub fn into_request(self) -> Result<ClaimRequest, Invalid> {
        check_call_id("worker_id", &self.worker_id)?;
        let max_turns = self.max_turns.map_or(1, |most| most.clamp(1, limits::CLAIM_TURNS as i64));
        Ok(ClaimRequest {
            worker_target: parse::one("worker_target", &self.worker_target)?,
            worker_id: self.worker_id,
            max_turns: usize::try_from(max_turns).unwrap_or(1),
            wait: parse::wait(self.wait_ms),
            projects: self.projects.as_deref().map(read_projects).transpose()?,
            start: self.start,
            recover: recover(self.recover.as_ref())?,
            holding: holding(&self.holding)?,
        })
    }
}

/// What may be said as `recover`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecoverWord {
    /// Turns of the target whose workers are silent.
    Target,
}

/// `true`, `false` or `"target"`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum RecoverIn {
    /// Whether turns of the worker's own name are given back.
    OwnName(bool),
    /// Turns of others.
    Word(RecoverWord),
}

fn recover(said: Option<&Value>) -> Result<Recover, Invalid> {
    match said {
        None | Some(Value::Null | Value::Bool(false)) => Ok(Recover::Nothing),
        Some(Value::Bool(true)) => Ok(Recover::OwnName),
        Some(Value::String(word)) if word == "target" => Ok(Recover::Target),
        Some(other) => {
            let reason = format!("is {other} and must be true, false or \"target\"");
            Err(Invalid::field("recover", reason))
        }
    }
}

fn holding(turns: &[String]) -> Result<Vec<TurnId>, Invalid> {
    Invalid::check_size("holding", turns.len(), limits::HOLDING_TURNS, "turns")?;
    parse::list("holding", turns)
}

fn read_projects(names: &[String]) -> Result<Vec<ProjectId>, Invalid> {
    if !(1..=limits::BATCH_IDS).contains(&names.len()) {
        let reason = format!("must name 1 to {} projects, or be left out", limits::BATCH_IDS);
        return Err(Invalid::field("projects", reason));
    }
    parse::list("projects", names)
}

/// What a worker is given.
#[derive(Debug, Serialize, ToSchema)]
pub struct ClaimOut {
    /// Oldest first; none when nothing came in time.
    pub leases: Vec<LeaseOut>,
}

/// One lease. A stop has nothing below `trace_id`: it is a hint, and opens nothing.
#[derive(Debug, Serialize, ToSchema)]
pub struct LeaseOut {
    /// In which project.
    pub project_id: String,
    /// Of which agent.
    pub agent_id: String,
    /// Which turn.
    pub agent_turn_id: String,
    /// At which epoch: every word about the turn carries it.
    pub turn_epoch: u64,
    /// What to do: `turn` (run it), `resume` (go on with it) or `stop` (drop it).
    pub kind: &'static str,
    /// The row that was claimed.
    pub inbox_id: String,
    /// The trace it belongs to.
    pub trace_id: String,
    /// What to send as `Authorization: Bearer …` in every word about this turn. Shown once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_token: Option<String>,
    /// What it is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_box_id: Option<String>,
    /// Where it writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_box_id: Option<String>,
    /// What the agent is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile_box_id: Option<String>,
    /// On which channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_id: Option<String>,
    /// How deep in the tree of delegations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// The step that sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub parent_step_id: Option<Option<String>>,
    /// The turn that sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub parent_agent_turn_id: Option<Option<String>>,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub display_name: Option<Option<String>>,
    /// Settings of this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub runtime_config: Option<CanonicalJson>,
    /// `running` when it was started with the claim; else `dispatched`, or `suspended` when it is to be resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    /// What the deliverable must have: the latest `task.result_fields` that the turn is given, or null. With `hydrate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub result_fields: Option<Option<CanonicalJson>>,
    /// How many cards the output box shows. With `hydrate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_len: Option<u32>,
}

impl LeaseOut {
    /// A lease, and what its turn begins with if that was asked for.
    pub fn new(lease: &Lease, given: Option<&Hydrated>) -> Self {
        let turn = lease.turn.as_ref();
        let given = given.filter(|_| turn.is_some());
        let payload = |turn: &LeasedTurn| {
            turn.payload
                .as_ref()
                .map(|payload| (payload.display_name.clone(), payload.runtime_config.clone()))
        };
        let payload = turn.map(|turn| payload(turn).unwrap_or((None, CanonicalJson::empty_object())));
        let (display_name, runtime_config) = payload.unzip();
        Self {
            project_id: lease.project.to_string(),
            agent_id: lease.agent_id.to_string(),
            agent_turn_id: lease.turn_id.to_string(),
            turn_epoch: lease.epoch.get(),
            kind: lease.kind.as_str(),
            inbox_id: lease.inbox_id.to_string(),
            trace_id: lease.trace_id.clone(),
            turn_token: turn.map(|turn| turn_token::text(&lease.project, lease.turn_id, &turn.secret)),
            context_box_id: turn.map(|turn| turn.context_box.to_string()),
            output_box_id: turn.map(|turn| turn.output_box.to_string()),
            profile_box_id: turn.map(|turn| turn.profile_box.to_string()),
            channel_id: turn.map(|turn| turn.channel.to_string()),
            depth: turn.map(|turn| turn.depth),
            parent_step_id: turn.map(|turn| turn.parent_step.as_ref().map(ToString::to_string)),
            parent_agent_turn_id: turn.map(|turn| turn.parent_turn.map(|id| id.to_string())),
            display_name,
            runtime_config,
            status: turn.map(|turn| status(turn, lease.kind).as_str()),
            result_fields: given.map(|given| given.result_fields.clone()),
            output_len: given.map(|given| given.output_len),
        }
    }
}

/// What a leased turn is doing.
const fn status(turn: &LeasedTurn, kind: LeaseKind) -> Status {
    match (turn.started, kind) {
        (true, _) => Status::Running,
        (false, LeaseKind::Resume) => Status::Suspended,
        (false, LeaseKind::Turn | LeaseKind::Stop) => Status::Dispatched,
    }
}
