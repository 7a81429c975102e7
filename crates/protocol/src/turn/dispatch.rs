//! Dispatch: put a turn into an agent's inbox, and lease it when the agent is idle (DP-01..DP-13). Whatever is not
//! accepted leaves nothing (W-13).

use super::{copy, lease};
use crate::{Decision, Moment, RefusalCode, Rejection};
use cardwire_model::{
    AgentId, BoxHead, BoxId, BranchKey, CanonicalJson, Channel, Commit, Edge, EdgeId, EdgePhase, EventKind,
    Expect, Hash256, Head, InboxId, InboxItem, InboxKind, InboxStatus, Invalid, NewBox, Nudge, Primitive,
    ProjectId, Snapshot, StepId, TurnEpoch, TurnId, TurnPayload, WorkerTarget, Write, hash::FieldHasher,
    limits,
};
use serde_json::json;

/// How many turns wait at most: the live one is in the inbox too.
const WAITING_MAX: u32 = limits::INBOX_TURNS - 1;

/// A turn to dispatch (DP-02). Fields that the specification checks one by one are optional here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatch {
    /// To whom.
    pub agent_id: Option<AgentId>,
    /// What the agent is; the profile of its row in the roster when absent.
    pub profile_box: Option<BoxId>,
    /// What it is given.
    pub context_box: Option<BoxId>,
    /// Where it writes; a new box when absent.
    pub output_box: Option<BoxId>,
    /// The turn's id, when the caller chose one.
    pub turn_id: Option<TurnId>,
    /// What the caller knows it by; the turn's id when absent.
    pub correlation_id: Option<String>,
    /// On which channel.
    pub channel: Channel,
    /// In which trace.
    pub trace_id: String,
    /// By which turn.
    pub parent_turn: Option<TurnId>,
    /// By which tool call of it.
    pub parent_call: Option<String>,
    /// In which step of it.
    pub parent_step: Option<StepId>,
    /// The branch of a batch that the turn is.
    pub branch: Option<BranchKey>,
    /// By which agent.
    pub source_agent: Option<AgentId>,
    /// For people.
    pub display_name: Option<String>,
    /// Settings of this run: an object.
    pub runtime_config: CanonicalJson,
    /// Wait behind a live turn, or refuse.
    pub queue_if_busy: bool,
    /// Tell when the turn is leased (DP-12).
    pub emit_state_event: bool,
    /// How deep the project lets turns delegate.
    pub max_depth: u32,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dispatched {
    /// It is in the inbox.
    Accepted(Box<Receipt>),
    /// It was before: this turn (DP-10).
    Repeated(TurnId),
}

/// What the caller is told (DP-09).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The agent.
    pub agent_id: AgentId,
    /// The turn.
    pub turn_id: TurnId,
    /// Its row in the inbox.
    pub inbox_id: InboxId,
    /// Its epoch, if it is leased.
    pub epoch: Option<TurnEpoch>,
    /// Its trace.
    pub trace_id: String,
    /// Where it writes.
    pub output_box: BoxId,
    /// What it is given.
    pub context_box: BoxId,
}

impl Dispatch {
    /// Tells a repeat from another request under the same correlation (DP-10). The trace is left out: it changes with
    /// every request.
    pub fn request_hash(&self) -> Hash256 {
        let id = |id: &Option<BoxId>| id.map(|id| id.to_string());
        let text = |text: &Option<String>| text.clone();
        [
            self.agent_id.as_ref().map(ToString::to_string),
            id(&self.profile_box),
            id(&self.context_box),
            id(&self.output_box),
            Some(self.channel.to_string()),
            self.parent_turn.map(|id| id.to_string()),
            text(&self.parent_call),
            self.parent_step.as_ref().map(ToString::to_string),
            self.source_agent.as_ref().map(ToString::to_string),
            text(&self.display_name),
            Some(self.runtime_config.as_str().to_owned()),
        ]
        .iter()
        .fold(FieldHasher::default(), |hasher, field| hasher.optional(field.as_deref().map(str::as_bytes)))
        .finish()
    }

    /// The correlation to look for before the turn is made: only one that the caller chose can be taken.
    pub fn named_correlation(&self) -> Option<String> {
        self.correlation_id.clone().or_else(|| self.turn_id.map(|id| id.to_string()))
    }

    /// Checks what types alone cannot. Before the rows are loaded too: not every store can look for every text.
    pub fn check(&self) -> Result<(), Invalid> {
        let printable = |field: &str, text: &str| super::append::check_call_id(field, text);
        if let Some(id) = &self.correlation_id {
            printable("correlation_id", id)?;
        }
        if let Some(id) = &self.parent_call {
            printable("parent_tool_call_id", id)?;
        }
        if let Some(name) = &self.display_name {
            printable("display_name", name)?;
        }
        printable("trace_id", &self.trace_id)?;
        if self.runtime_config.members().is_none() {
            return Err(Invalid::field("runtime_config", "must be an object"));
        }
        crate::session::turn::check(&self.runtime_config)?;
        super::without::check(&self.runtime_config)?;
        super::forked::check(&self.runtime_config)?;
        let size = self.runtime_config.as_bytes().len();
        Invalid::check_size("runtime_config", size, limits::RUNTIME_CONFIG_BYTES, "bytes")
    }
}

/// What has been checked.
struct Checked<'a> {
    agent_id: &'a AgentId,
    profile_box: BoxId,
    context: &'a BoxHead,
    output: Option<&'a BoxHead>,
    depth: u32,
    worker_target: &'a WorkerTarget,
}

/// Accepts the turn or refuses it.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &Dispatch,
    moment: &Moment,
) -> Result<Decision<Dispatched>, Rejection> {
    command.check()?;
    if let Some(repeated) = known(snapshot, command)? {
        return Ok(Decision::nothing(project.clone(), Dispatched::Repeated(repeated)));
    }
    let checked = check(snapshot, command)?;
    if snapshot.head.is_none() && snapshot.lost.as_ref().is_some_and(|lost| lost.is_something()) {
        return Err(Rejection::Lost(checked.agent_id.clone()));
    }
    let busy = snapshot.head.as_ref().filter(|head| head.live.is_some() || head.queued > 0);
    if let Some(head) = busy {
        check_queue(head, command)?;
    }
    let mut commit = Commit::new(project.clone());
    let output_box = output_box(&mut commit, &checked, moment);
    if !checked.context.sealed {
        // Nobody takes it for an output in between.
        commit.expect.push(Expect::OutputFree { box_id: checked.context.box_id, agent_id: None });
        commit.writes.push(Write::SealBox { box_id: checked.context.box_id });
        let data = json!({ "generation": checked.context.generation.get() });
        commit.events.push(moment.event(EventKind::BoxSealed, checked.context.box_id, &data));
    }
    let payload = TurnPayload {
        profile_box: checked.profile_box,
        context_box: checked.context.box_id,
        output_box,
        runtime_config: command.runtime_config.clone(),
        display_name: command.display_name.clone(),
    };
    let mut item = inbox_item(command, &checked, &payload, moment);
    let mut epoch = None;
    match busy {
        Some(head) => {
            let mut guard = head.guard();
            guard.queued = (0, WAITING_MAX - 1);
            let nudge = Nudge { queued: 1, ..Nudge::default() };
            commit.writes.push(Write::NudgeHead { guard, nudge });
        }
        None => {
            let watermark = checked.output.map_or(0, |head| head.len);
            // What is in the box before the turn begins is what was there when this was decided.
            commit.expect.extend(checked.output.map(|head| Expect::OpenBox {
                box_id: head.box_id,
                generation: head.generation,
                min_len: head.len,
                max_len: head.len,
            }));
            let head = lease_now(&mut commit, snapshot, &item, &payload, watermark, moment);
            item.status = InboxStatus::Pending;
            item.epoch = Some(head.epoch);
            epoch = Some(head.epoch);
            if command.emit_state_event {
                commit.events.push(lease::dispatched_event(&head, moment));
            }
        }
    }
    let receipt = Receipt {
        agent_id: checked.agent_id.clone(),
        turn_id: item.turn_id,
        inbox_id: item.id,
        epoch,
        trace_id: command.trace_id.clone(),
        output_box,
        context_box: payload.context_box,
    };
    commit.writes.push(Write::AddEdge(Box::new(edge(command, &checked, &item, moment))));
    commit.writes.push(Write::Enqueue(Box::new(item)));
    Ok(Decision { commit, outcome: Dispatched::Accepted(Box::new(receipt)) })
}

/// DP-10: the same request again, another one under the same name, or a new one.
fn known(snapshot: &Snapshot, command: &Dispatch) -> Result<Option<TurnId>, Rejection> {
    let taken = |message: &str| Err(Rejection::refused(RefusalCode::DuplicateCorrelation, message));
    let is_same = |edge: &Edge| {
        edge.request_hash == Some(command.request_hash())
            && command.turn_id.is_none_or(|turn| edge.target_turn == Some(turn))
    };
    match &snapshot.edge {
        Some(edge) if is_same(edge) => Ok(edge.target_turn),
        Some(_) => taken("this correlation_id stands for another request"),
        None if snapshot.turn.is_some() => taken("this agent_turn_id stands for another request"),
        None => Ok(None),
    }
}

/// DP-03: in this order.
fn check<'a>(snapshot: &'a Snapshot, command: &'a Dispatch) -> Result<Checked<'a>, Rejection> {
    let missing = |code, field: &str| Rejection::refused(code, format!("{field} is required"));
    let agent_id =
        command.agent_id.as_ref().ok_or_else(|| missing(RefusalCode::MissingAgentId, "agent_id"))?;
    let profile_box = profile_box(snapshot, command, agent_id)?;
    let context_box =
        command.context_box.ok_or_else(|| missing(RefusalCode::MissingContextBoxId, "context_box_id"))?;
    let depth = depth(snapshot, command)?;
    let find = |id: BoxId, code, what: &str| {
        let head = snapshot.boxes.get(&id);
        head.ok_or_else(|| Rejection::refused(code, format!("{what} not found: {id}")))
    };
    if command.profile_box.is_some() {
        find(profile_box, RefusalCode::ProfileBoxNotFound, "profile box")?;
    }
    let context = find(context_box, RefusalCode::ContextBoxNotFound, "context box")?;
    let output = match command.output_box {
        Some(id) => Some(find(id, RefusalCode::UnknownOutputBox, "output box")?),
        None => None,
    };
    check_writers(snapshot, agent_id, context, output)?;
    let roster = snapshot.agent.as_ref().ok_or_else(|| {
        let message = format!("agent {agent_id} is not in the roster, so no worker_target is known");
        Rejection::refused(RefusalCode::WorkerTargetMissing, message)
    })?;
    Ok(Checked { agent_id, profile_box, context, output, depth, worker_target: &roster.worker_target })
}

/// The profile that the request names, else the agent's own: the commit that wrote the agent's row checked that its box exists.
fn profile_box(snapshot: &Snapshot, command: &Dispatch, agent_id: &AgentId) -> Result<BoxId, Rejection> {
    let own = || snapshot.agent.as_ref().map(|agent| agent.profile_box);
    command.profile_box.or_else(own).ok_or_else(|| {
        let message = format!(
            "profile_box_id is required: agent {agent_id} is not in the roster, so it has no profile"
        );
        Rejection::refused(RefusalCode::MissingProfileBoxId, message)
    })
}

/// DP-04: from stored lineage, never from the request.
fn depth(snapshot: &Snapshot, command: &Dispatch) -> Result<u32, Rejection> {
    let Some(parent) = command.parent_turn else { return Ok(0) };
    let above = snapshot.depth.ok_or_else(|| {
        Rejection::refused(RefusalCode::ProtocolViolation, format!("parent turn not found: {parent}"))
    })?;
    depth_below(above, command.max_depth)
}

/// The depth of what a turn starts, if that is still allowed.
pub(crate) fn depth_below(above: u32, max_depth: u32) -> Result<u32, Rejection> {
    let depth = above + 1;
    if depth >= max_depth {
        let message = format!("depth {depth} reaches the limit of {max_depth}");
        return Err(Rejection::refused(RefusalCode::RecursionDepthExceeded, message));
    }
    Ok(depth)
}

/// CB-14: one writer per output box, and nobody is given a box that is still being written.
fn check_writers(
    snapshot: &Snapshot,
    agent_id: &AgentId,
    context: &BoxHead,
    output: Option<&BoxHead>,
) -> Result<(), Rejection> {
    if let Some(output) = output {
        if output.sealed || output.box_id == context.box_id {
            let message = format!("box {} takes no more changes", output.box_id);
            return Err(Rejection::refused(RefusalCode::OutputBoxSealed, message));
        }
        if snapshot.writers.iter().any(|(id, writer)| *id == output.box_id && writer != agent_id) {
            let message = format!("another agent's turn writes box {}", output.box_id);
            return Err(Rejection::refused(RefusalCode::OutputBoxInUse, message));
        }
    }
    if !context.sealed && snapshot.writers.iter().any(|(id, _)| *id == context.box_id) {
        let message = format!("a turn still writes box {}; fork it to pass on what it has", context.box_id);
        return Err(Rejection::refused(RefusalCode::OutputBoxInUse, message));
    }
    Ok(())
}

/// DP-09, SEC-07
fn check_queue(head: &Head, command: &Dispatch) -> Result<(), Rejection> {
    if !command.queue_if_busy {
        return Err(Rejection::refused(RefusalCode::AgentBusy, "the agent has a live turn"));
    }
    if head.queued >= WAITING_MAX {
        let message = format!("{} turns wait already behind the live one", head.queued);
        return Err(Rejection::refused(RefusalCode::InboxFull, message));
    }
    Ok(())
}

/// DP-05
fn output_box(commit: &mut Commit, checked: &Checked<'_>, moment: &Moment) -> BoxId {
    match checked.output {
        Some(head) => {
            let agent_id = Some(checked.agent_id.clone());
            commit.expect.push(Expect::OutputFree { box_id: head.box_id, agent_id });
            head.box_id
        }
        None => {
            let box_id = BoxId::from_uuid(moment.fresh.uuid());
            let head = BoxHead::empty(box_id, moment.now);
            commit.writes.push(Write::CreateBox(NewBox { head, entries: vec![] }));
            box_id
        }
    }
}

/// DP-13
fn lease_now(
    commit: &mut Commit,
    snapshot: &Snapshot,
    item: &InboxItem,
    payload: &TurnPayload,
    watermark: u32,
    moment: &Moment,
) -> Head {
    match &snapshot.head {
        Some(idle) => {
            let head = lease::leased(idle, item, payload, watermark, moment);
            let mut guard = idle.guard();
            guard.queued = (0, 0);
            commit.writes.push(copy::move_head(guard, head.clone(), 0));
            head
        }
        None => {
            let new = Head {
                agent_id: item.agent_id.clone(),
                epoch: TurnEpoch::ZERO,
                live: None,
                last_output_box: None,
                queued: 0,
                updated_at: moment.now,
            };
            let head = lease::leased(&new, item, payload, watermark, moment);
            commit.writes.push(Write::CreateHead(Box::new(head.clone())));
            head
        }
    }
}

fn inbox_item(
    command: &Dispatch,
    checked: &Checked<'_>,
    payload: &TurnPayload,
    moment: &Moment,
) -> InboxItem {
    let turn_id = command.turn_id.unwrap_or_else(|| TurnId::from_uuid(moment.fresh.uuid()));
    InboxItem {
        id: InboxId::from_uuid(moment.fresh.uuid()),
        seq: 0,
        agent_id: checked.agent_id.clone(),
        kind: InboxKind::Turn,
        status: InboxStatus::Queued,
        turn_id,
        epoch: None,
        correlation_id: command.correlation_id.clone().unwrap_or_else(|| turn_id.to_string()),
        worker_target: checked.worker_target.clone(),
        channel: Some(command.channel.clone()),
        depth: Some(checked.depth),
        trace_id: Some(command.trace_id.clone()),
        parent_turn: command.parent_turn,
        parent_call: command.parent_call.clone(),
        parent_step: command.parent_step.clone(),
        branch: command.branch,
        output_box: Some(payload.output_box),
        payload: payload.to_stored(),
        worker_id: None,
        token_hash: None,
        created_at: moment.now,
        processed_at: None,
        retry_count: 0,
        next_retry_at: None,
        reason: None,
        ended: None,
    }
}

fn edge(command: &Dispatch, checked: &Checked<'_>, item: &InboxItem, moment: &Moment) -> Edge {
    Edge {
        id: EdgeId::from_uuid(moment.fresh.uuid()),
        primitive: Primitive::Enqueue,
        phase: EdgePhase::Request,
        correlation_id: item.correlation_id.clone(),
        source_agent: command.source_agent.clone(),
        source_turn: command.parent_turn,
        target_agent: Some(item.agent_id.clone()),
        target_turn: Some(item.turn_id),
        depth: checked.depth,
        trace_id: command.trace_id.clone(),
        parent_step: command.parent_step.clone(),
        inbox_id: Some(item.id),
        request_hash: Some(command.request_hash()),
        created_at: moment.now,
    }
}
