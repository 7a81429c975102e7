//! Random contents of heads, inbox rows, the graph and the roster.

use super::Generator;
use crate::fixtures::{agent_id, channel, profile_name, step_id, worker_target};
use cardwire_model::{
    Agent, AgentId, BoxId, Channel, Commit, Edge, EdgePhase, Ended, Head, HeadGuard, IdentityAction,
    IdentityEdge, InboxItem, InboxKind, InboxStatus, Live, LiveState, Nudge, Primitive, Profile, Realm,
    Revision, Step, TaskStatus, Timestamp, ToolAnswer, ToolCall, TurnEpoch, TurnId, WorkerTarget, Write,
    card::ToolStatus,
};

/// How many agents a project has in the end, at most.
const AGENTS: usize = 300;

impl Generator {
    /// One of a few traces.
    pub(crate) fn trace(&mut self) -> String {
        format!("踪迹-{}", self.rng.below(5))
    }

    /// One of a few names that models give to their calls.
    pub(super) fn call_name(&mut self) -> String {
        let prefix = if self.rng.chance(80) { "call_" } else { "Call '😀' " };
        format!("{prefix}{}", self.rng.below(6))
    }

    pub(super) fn target(&mut self) -> WorkerTarget {
        worker_target(if self.rng.chance(70) { "generic" } else { "special" })
    }

    pub(super) fn channel(&mut self) -> Channel {
        channel(if self.rng.chance(70) { "public" } else { "team-1" })
    }

    /// The name of an agent that may be there or not.
    pub(super) fn agent_name(&mut self) -> AgentId {
        let prefix = if self.rng.chance(70) { "agent" } else { "Agent" };
        agent_id(&format!("{prefix}-{}", self.rng.below(AGENTS)))
    }

    /// Now or a little before.
    pub(super) fn lately(&mut self) -> Timestamp {
        Timestamp::from_micros(self.now - self.rng.below(3) as i64 * 1_000_000)
    }

    pub(super) fn maybe_lately(&mut self) -> Option<Timestamp> {
        if self.rng.chance(50) { Some(self.lately()) } else { None }
    }

    pub(super) fn maybe_text(&mut self) -> Option<String> {
        if self.rng.chance(50) { Some(self.text()) } else { None }
    }

    /// A box that may be there or not.
    pub(super) fn output_box(&mut self, realm: &Realm) -> BoxId {
        let known = if self.rng.chance(70) { self.some_box(realm) } else { None };
        known.unwrap_or_else(|| self.ids.card_box())
    }

    fn live(&mut self, realm: &Realm) -> Live {
        // Mostly a turn that has a row.
        let row = self.some(realm, |known| &known.inbox).and_then(|id| self.model.inbox_item(realm, id));
        let named = row.map(|row| (row.turn_id, row.id));
        let (turn_id, inbox_id) = named.unwrap_or_else(|| (self.ids.turn(), self.ids.inbox()));
        let state = match self.rng.below(3) {
            0 => LiveState::Dispatched,
            1 => LiveState::Running,
            _ => LiveState::Suspended { waiting: self.rng.below(4) as u32, resume_by: self.lately() },
        };
        Live {
            turn_id,
            inbox_id,
            state,
            channel: self.channel(),
            worker_target: self.target(),
            profile_box: self.output_box(realm),
            context_box: self.output_box(realm),
            output_box: self.output_box(realm),
            watermark: self.rng.below(100_000) as u32,
            depth: self.rng.below(20) as u32,
            trace_id: self.trace(),
            parent_step: self.some(realm, |known| &known.steps),
            dispatched_at: self.lately(),
            rung_at: self.maybe_lately(),
            deliverable: self.some_card(realm),
            open_calls: self.rng.below(5) as u32,
            marks: self.rng.below(3) as u32,
        }
    }

    pub(super) fn head(&mut self, realm: &Realm, agent_id: AgentId, epoch: TurnEpoch) -> Head {
        let live = if self.rng.chance(65) { Some(Box::new(self.live(realm))) } else { None };
        let last_output_box = if self.rng.chance(50) { Some(self.output_box(realm)) } else { None };
        let (queued, updated_at) = (self.rng.below(4) as u32, self.lately());
        Head { agent_id, epoch, live, last_output_box, queued, updated_at }
    }

    /// A guard that holds for this head in this commit, with as many parts as one likes.
    pub(super) fn guard(&mut self, commit: &Commit, head: &Head) -> HeadGuard {
        let mut guard = if self.rng.chance(50) { head.guard() } else { head.guard_move() };
        if head.live.is_none() && self.rng.chance(30) {
            guard.marks = Some(0);
        }
        if self.rng.chance(30) {
            let spread = self.rng.below(3) as u32;
            guard.queued = (head.queued.saturating_sub(spread), head.queued + spread);
        }
        let lists =
            |write: &Write| matches!(write, Write::PutAgent { agent, .. } if agent.id == head.agent_id);
        if self.rng.chance(30) && !commit.writes.iter().any(lists) {
            guard.roster = self.model.agent(&commit.realm, &head.agent_id).map(|agent| agent.revision);
        }
        guard
    }

    /// How many turns come to wait or cease to, never more than do.
    pub(super) fn waiting(&mut self, head: &Head) -> i32 {
        self.rng.below(head.queued as usize + 3) as i32 - head.queued as i32
    }

    /// A nudge that the head can take. An idle head has nothing that a mark could change.
    pub(super) fn nudge(&mut self, realm: &Realm, head: &Head) -> Nudge {
        let queued = if self.rng.chance(40) { self.waiting(head) } else { 0 };
        let mut nudge = Nudge { seen: self.maybe_lately(), queued, ..Nudge::default() };
        if let Some(live) = &head.live {
            nudge.rung = self.maybe_lately();
            nudge.deliverable = if self.rng.chance(30) { self.some_card(realm) } else { None };
            if self.rng.chance(40) {
                nudge.open_calls =
                    self.rng.below(live.open_calls as usize + 3) as i32 - live.open_calls as i32;
            }
        }
        nudge
    }

    pub(super) fn turn_row(&mut self, realm: &Realm, turn_id: TurnId) -> InboxItem {
        let output_box = self.output_box(realm);
        // Some agents have rows and no head.
        let head = if self.rng.chance(70) { self.some(realm, |known| &known.heads) } else { None };
        let agent_id = head.unwrap_or_else(|| self.agent_name());
        let whole = self.rng.chance(90);
        let id = self.elsewhere(|known| &known.inbox).unwrap_or_else(|| self.ids.inbox());
        let parent = self.rng.chance(40);
        let item = InboxItem {
            id,
            seq: 0,
            agent_id,
            kind: InboxKind::Turn,
            status: InboxStatus::Queued,
            turn_id,
            epoch: None,
            correlation_id: if self.rng.chance(50) { turn_id.to_string() } else { self.call_name() },
            worker_target: self.target(),
            channel: if whole { Some(self.channel()) } else { None },
            depth: if whole { Some(self.rng.below(20) as u32) } else { None },
            trace_id: if whole { Some(self.trace()) } else { None },
            parent_turn: if parent { Some(self.any_turn(realm)) } else { None },
            parent_call: if parent { Some(self.call_name()) } else { None },
            parent_step: if parent { self.some(realm, |known| &known.steps) } else { None },
            branch: None,
            output_box: if self.rng.chance(95) { Some(output_box) } else { None },
            payload: self.text(),
            worker_id: None,
            token_hash: None,
            created_at: self.lately(),
            processed_at: None,
            retry_count: 0,
            next_retry_at: None,
            reason: None,
            ended: None,
        };
        self.changed_row(&item)
    }

    /// A report, a timeout or a stop for a turn.
    pub(super) fn report_row(&mut self, realm: &Realm, turn_id: TurnId) -> InboxItem {
        let kinds = [InboxKind::ToolResult, InboxKind::Timeout, InboxKind::Stop];
        let mut row = self.turn_row(realm, turn_id);
        if let Some(turn) = self.model.turn(realm, turn_id) {
            row.agent_id = turn.agent_id.clone();
        }
        row.kind = *self.rng.pick(&kinds).expect("three kinds");
        row.correlation_id = self.call_name();
        row
    }

    /// The row with new values in everything that may change.
    pub(super) fn changed_row(&mut self, item: &InboxItem) -> InboxItem {
        let status = *self.rng.pick(InboxStatus::ALL).expect("some statuses");
        let claimed = status == InboxStatus::Processing || self.rng.chance(30);
        let put_off = status == InboxStatus::Deferred || self.rng.chance(20);
        InboxItem {
            status,
            epoch: self.rng.chance(60).then(|| TurnEpoch::new(self.rng.below(30) as u64)),
            worker_id: if claimed { self.maybe_text() } else { None },
            token_hash: self.some_hash(),
            processed_at: if claimed { Some(self.lately()) } else { None },
            retry_count: self.rng.below(4) as u32,
            next_retry_at: if put_off { Some(self.lately()) } else { None },
            reason: self.maybe_text(),
            ended: if status.is_open() || self.rng.chance(30) { None } else { Some(self.end()) },
            ..item.clone()
        }
    }

    fn end(&mut self) -> Ended {
        let output = self.rng.below(1_000) as u32;
        Ended {
            status: *self.rng.pick(&TaskStatus::ALL).expect("some statuses"),
            deliverable: self.ids.card(),
            error: self.maybe_text(),
            error_code: self.maybe_text(),
            output: (output, output + self.rng.below(9) as u32),
            at: self.lately(),
        }
    }

    pub(super) fn edge(&mut self, realm: &Realm) -> Edge {
        let turn = |this: &mut Self| if this.rng.chance(70) { Some(this.any_turn(realm)) } else { None };
        let (source_turn, target_turn) = (turn(self), turn(self));
        let agent = |this: &mut Self| if this.rng.chance(70) { Some(this.any_agent(realm)) } else { None };
        let (source_agent, target_agent) = (agent(self), agent(self));
        let primitive = *self.rng.pick(Primitive::ALL).expect("some primitives");
        let correlation_id = match primitive {
            Primitive::Enqueue | Primitive::Join => self.text(),
            Primitive::ToolCall | Primitive::Report => self.call_name(),
        };
        Edge {
            id: self.elsewhere(|known| &known.edges).unwrap_or_else(|| self.ids.edge()),
            primitive,
            phase: *self.rng.pick(EdgePhase::ALL).expect("some phases"),
            correlation_id,
            source_agent,
            source_turn,
            target_agent,
            target_turn,
            depth: self.rng.below(20) as u32,
            trace_id: self.trace(),
            parent_step: self.some(realm, |known| &known.steps),
            inbox_id: self.some(realm, |known| &known.inbox),
            request_hash: self.some_hash(),
            created_at: self.lately(),
        }
    }

    pub(super) fn step_row(&mut self, realm: &Realm, turn_id: TurnId) -> Step {
        let id = self.elsewhere(|known| &known.steps);
        let created_at = self.lately();
        let step = Step {
            id: id.unwrap_or_else(|| step_id(&format!("step_{:x}", self.rng.next_u64() >> 40))),
            agent_id: self.any_agent(realm),
            turn_id,
            epoch: TurnEpoch::new(self.rng.below(40) as u64),
            phase: String::new(),
            status: None,
            call_id: None,
            request_box: None,
            output_len: 0,
            trace_id: self.trace(),
            metadata: self.value(),
            created_at,
            updated_at: created_at,
        };
        self.changed_step(realm, &step)
    }

    pub(super) fn changed_step(&mut self, realm: &Realm, step: &Step) -> Step {
        Step {
            phase: self.text(),
            status: self.maybe_text(),
            call_id: self.maybe_text(),
            request_box: self.some_box(realm),
            output_len: self.rng.below(100_000) as u32,
            metadata: self.value(),
            updated_at: self.lately(),
            ..step.clone()
        }
    }

    pub(super) fn call(&mut self, realm: &Realm, turn_id: TurnId, tool_call_id: String) -> ToolCall {
        ToolCall {
            agent_id: self.any_agent(realm),
            turn_id,
            tool_call_id,
            call_card: self.some_card(realm),
            waiting: self.rng.chance(50),
            answer: if self.rng.chance(20) { Some(self.tool_answer()) } else { None },
            created_at: self.lately(),
        }
    }

    pub(super) fn tool_answer(&mut self) -> ToolAnswer {
        ToolAnswer {
            status: *self.rng.pick(&ToolStatus::ALL).expect("some statuses"),
            terminate: self.rng.chance(30),
            card: self.ids.card(),
            at: self.lately(),
        }
    }

    fn tags(&mut self) -> Vec<String> {
        (0..self.rng.below(4)).map(|_| self.text()).collect()
    }

    pub(super) fn profile(&mut self, name: &str) -> Profile {
        let created_at = self.lately();
        Profile {
            name: profile_name(name),
            worker_target: self.target(),
            profile_box: self.ids.card_box(),
            card_id: self.ids.card(),
            tags: self.tags(),
            revision: Revision::new(1 + self.rng.below(5) as u64),
            created_at,
            updated_at: created_at,
            deleted_at: self.maybe_lately(),
        }
    }

    pub(super) fn agent_row(&mut self, realm: &Realm, id: AgentId) -> Agent {
        let created_at = self.lately();
        let owner = if self.rng.chance(50) { Some(self.any_agent(realm)) } else { None };
        Agent {
            id,
            profile_name: self.any_profile(realm),
            profile_box: self.ids.card_box(),
            worker_target: self.target(),
            display_name: self.maybe_text(),
            tags: self.tags(),
            owner,
            metadata: self.value(),
            revision: Revision::new(1 + self.rng.below(5) as u64),
            created_at,
            updated_at: created_at,
        }
    }

    pub(super) fn identity_edge(&mut self, realm: &Realm) -> IdentityEdge {
        let source_agent = if self.rng.chance(50) { Some(self.any_agent(realm)) } else { None };
        IdentityEdge {
            id: self.elsewhere(|known| &known.identity_edges).unwrap_or_else(|| self.ids.edge()),
            action: *self.rng.pick(IdentityAction::ALL).expect("some actions"),
            source_agent,
            target_agent: self.any_agent(realm),
            channel: self.channel(),
            trace_id: if self.rng.chance(50) { Some(self.trace()) } else { None },
            parent_step: self.some(realm, |known| &known.steps),
            metadata: self.value(),
            created_at: self.lately(),
        }
    }
}
