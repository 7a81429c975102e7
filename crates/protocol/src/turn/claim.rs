//! Claim: a worker takes rows that wait for it (DP-15, API-10). The store holds the rows meanwhile, so that no row is
//! given to two workers (invariant 10); here it is decided what each of them becomes.

mod at_once;

pub use at_once::{Waiting, at_once};

use super::{copy, fence, recall};
use crate::Moment;
use cardwire_model::{
    AgentId, BoxId, Channel, Commit, Hash256, Head, InboxId, InboxItem, InboxKind, InboxStatus, Live,
    LiveState, Nudge, ProjectId, Snapshot, StepId, Timestamp, TurnEpoch, TurnId, TurnPayload, Write,
};

/// Who claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The worker's name for itself.
    pub worker_id: String,
    /// Start what is claimed in the same commit.
    pub start: bool,
}

impl Claim {
    /// The row in the hands of who claims.
    fn taken(&self, row: &InboxItem, status: InboxStatus, now: Timestamp) -> InboxItem {
        InboxItem {
            status,
            worker_id: Some(self.worker_id.clone()),
            processed_at: Some(now),
            next_retry_at: None,
            ..row.clone()
        }
    }

    /// Whether the turn of a row may be claimed for it by the commit that writes the row ([`at_once`]). One that goes on only for
    /// who starts it: if that one has gone away meanwhile, a turn that runs is noticed by its silence (WD-05), one that is
    /// suspended is not.
    pub fn is_served_with(&self, row: &InboxItem) -> bool {
        row.kind == InboxKind::Turn || self.start
    }

    /// What becomes of the report that lets a claimed turn go on.
    const fn report_status(&self) -> InboxStatus {
        if self.start { InboxStatus::Consumed } else { InboxStatus::Processing }
    }
}

/// A row to be claimed, with what belongs to it.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The row.
    pub item: &'a InboxItem,
    /// The row of its turn, when that is another one.
    pub turn: Option<&'a InboxItem>,
    /// The agent's head.
    pub head: Option<&'a Head>,
}

/// What a worker is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// In which project.
    pub project: ProjectId,
    /// What is to be done.
    pub kind: LeaseKind,
    /// The row that was claimed.
    pub inbox_id: InboxId,
    /// Of which agent.
    pub agent_id: AgentId,
    /// Which turn.
    pub turn_id: TurnId,
    /// At which epoch.
    pub epoch: TurnEpoch,
    /// What the turn is made of; nothing for a stop.
    pub turn: Option<LeasedTurn>,
    /// The trace it belongs to.
    pub trace_id: String,
}

/// The rest of a lease on a live turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasedTurn {
    /// The secret that opens the turn, as made by the caller.
    pub secret: [u8; 32],
    /// What the agent is.
    pub profile_box: BoxId,
    /// What it is given.
    pub context_box: BoxId,
    /// Where it writes.
    pub output_box: BoxId,
    /// On which channel.
    pub channel: Channel,
    /// How deep.
    pub depth: u32,
    /// By which step.
    pub parent_step: Option<StepId>,
    /// By which turn.
    pub parent_turn: Option<TurnId>,
    /// The turn's payload.
    pub payload: Option<TurnPayload>,
    /// Whether it runs already.
    pub started: bool,
}

impl LeasedTurn {
    fn of(live: &Live, row: &InboxItem, secret: [u8; 32], started: bool) -> Self {
        Self {
            secret,
            profile_box: live.profile_box,
            context_box: live.context_box,
            output_box: live.output_box,
            channel: live.channel.clone(),
            depth: live.depth,
            parent_step: live.parent_step.clone(),
            parent_turn: row.parent_turn,
            payload: TurnPayload::from_stored(&row.payload).ok(),
            started,
        }
    }
}

/// What a worker is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LeaseKind {
    /// Run a turn.
    Turn,
    /// Go on with one.
    Resume,
    /// Drop one.
    Stop,
}

impl LeaseKind {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Resume => "resume",
            Self::Stop => "stop",
        }
    }
}

/// What comes of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// For the store.
    pub commit: Commit,
    /// For the worker, once the commit is applied.
    pub leases: Vec<Lease>,
    /// Agents whose heads are gone.
    pub lost: Vec<AgentId>,
    /// What is known of the turns that were started, once the commit is applied ([`recall`]).
    pub started: Vec<Snapshot>,
}

/// Decides for the rows of one project. `secret` makes a fresh secret and its hash.
pub fn decide(
    project: &ProjectId,
    candidates: &[Candidate<'_>],
    claim: &Claim,
    secret: &dyn Fn() -> ([u8; 32], Hash256),
    moment: &Moment,
) -> Claimed {
    let commit = Commit::new(project.clone());
    let mut claimed = Claimed { commit, leases: vec![], lost: vec![], started: vec![] };
    let mut seen: Vec<&AgentId> = vec![];
    for candidate in candidates {
        let agent = &candidate.item.agent_id;
        // One head is written once per commit; what else the agent has is found by the next claim.
        if seen.contains(&agent) {
            continue;
        }
        seen.push(agent);
        decide_one(&mut claimed, project, candidate, claim, secret, moment);
    }
    claimed
}

fn decide_one(
    claimed: &mut Claimed,
    project: &ProjectId,
    candidate: &Candidate<'_>,
    claim: &Claim,
    secret: &dyn Fn() -> ([u8; 32], Hash256),
    moment: &Moment,
) {
    let item = candidate.item;
    if item.kind == InboxKind::Stop {
        return give_stop(claimed, project, item, claim, moment);
    }
    let Some(head) = candidate.head else {
        claimed.lost.push(item.agent_id.clone());
        return;
    };
    let live =
        head.live.as_deref().filter(|live| live.turn_id == item.turn_id && item.epoch == Some(head.epoch));
    let kind = live.and_then(|live| kind_of(item, live));
    let (Some(live), Some(kind)) = (live, kind) else {
        return put_away(claimed, item, moment);
    };
    let (secret, hash) = secret();
    // A turn to be run is claimed by its own row; one to be resumed by the report that completes it.
    let turn_row = candidate.turn.unwrap_or(item);
    let own =
        InboxItem { token_hash: Some(hash), ..claim.taken(turn_row, InboxStatus::Processing, moment.now) };
    let moved = claim.start.then(|| fence::moved(head, LiveState::Running, moment.now));
    // The secret stays with the row: without one, nobody has held the turn.
    if let Some(to) = moved.as_ref().filter(|_| turn_row.token_hash.is_none()) {
        claimed.started.extend(recall::first_held(&own, to));
    }
    let writes = &mut claimed.commit.writes;
    writes.push(Write::UpdateInbox { from: turn_row.status, item: Box::new(own) });
    if kind == LeaseKind::Resume {
        let report = claim.taken(item, claim.report_status(), moment.now);
        writes.push(Write::UpdateInbox { from: item.status, item: Box::new(report) });
    }
    writes.push(match moved {
        Some(to) => copy::move_head(head.guard_move(), to, 0),
        None => Write::NudgeHead { guard: head.guard(), nudge: Nudge::default() },
    });
    claimed.leases.push(Lease {
        project: project.clone(),
        kind,
        inbox_id: item.id,
        agent_id: item.agent_id.clone(),
        turn_id: live.turn_id,
        epoch: head.epoch,
        trace_id: live.trace_id.clone(),
        turn: Some(LeasedTurn::of(live, turn_row, secret, claim.start)),
    });
}

/// What a row asks of the turn it is for; nothing when the turn is past it.
const fn kind_of(item: &InboxItem, live: &Live) -> Option<LeaseKind> {
    match (item.kind, live.state) {
        (InboxKind::Turn, LiveState::Dispatched) => Some(LeaseKind::Turn),
        (InboxKind::ToolResult | InboxKind::Timeout, LiveState::Suspended { waiting: 0, .. }) => {
            Some(LeaseKind::Resume)
        }
        (InboxKind::Turn, LiveState::Running | LiveState::Suspended { .. })
        | (InboxKind::ToolResult | InboxKind::Timeout, LiveState::Dispatched | LiveState::Running)
        | (InboxKind::ToolResult | InboxKind::Timeout, LiveState::Suspended { .. })
        | (InboxKind::Stop, _) => None,
    }
}

/// A stop is a hint: it is consumed by being given.
fn give_stop(claimed: &mut Claimed, project: &ProjectId, item: &InboxItem, claim: &Claim, moment: &Moment) {
    let consumed = InboxItem {
        status: InboxStatus::Consumed,
        worker_id: Some(claim.worker_id.clone()),
        processed_at: Some(moment.now),
        ..item.clone()
    };
    claimed.commit.writes.push(Write::UpdateInbox { from: item.status, item: Box::new(consumed) });
    claimed.leases.push(Lease {
        project: project.clone(),
        kind: LeaseKind::Stop,
        inbox_id: item.id,
        agent_id: item.agent_id.clone(),
        turn_id: item.turn_id,
        epoch: item.epoch.unwrap_or(TurnEpoch::ZERO),
        turn: None,
        trace_id: item.trace_id.clone().unwrap_or_default(),
    });
}

/// A row whose turn has moved on must not stand in the way of others.
fn put_away(claimed: &mut Claimed, item: &InboxItem, moment: &Moment) {
    let skipped = InboxItem {
        status: InboxStatus::Skipped,
        processed_at: Some(moment.now),
        reason: Some("stale_turn".to_owned()),
        ..item.clone()
    };
    claimed.commit.writes.push(Write::UpdateInbox { from: item.status, item: Box::new(skipped) });
}
