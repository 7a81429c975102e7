//! What a verb does for the turn it holds: cards at the end of the output box, tool calls and their answers, steps,
//! and at the end one write to the head. Verbs differ in which of these they do.
//!
//! Invariant 6: nothing is added to a box other than the turn's own output box (CB-14). Invariant 5: every tool call gets
//! at most one answer (NF-05).

use super::{copy, fence::Held};
use crate::{Decision, Moment, Rejection, decision::own_json};
use cardwire_model::{
    CanonicalJson, Card, CardDraft, CardId, Commit, Edge, EdgeId, EdgePhase, EventKind, Expect, Head,
    HeadGuard, InboxId, InboxItem, InboxKind, InboxStatus, Invalid, NewEvent, Nudge, Origin, Primitive,
    StepId, ToolAnswer, ToolCall, TurnId, Write, card::ToolStatus, limits,
};
use serde_json::{Value, json};

/// A commit in the making.
pub(super) struct Work<'a> {
    pub(super) held: Held<'a>,
    pub(super) moment: &'a Moment,
    pub(super) commit: Commit,
    /// To be added to the output box, in order.
    appended: Vec<CardId>,
    /// Calls without an answer, as they are after what was done so far.
    pub(super) open: Vec<ToolCall>,
    pub(super) nudge: Nudge,
}

impl<'a> Work<'a> {
    pub(super) fn new(held: Held<'a>, moment: &'a Moment) -> Self {
        let open = held.rows.calls.iter().filter(|call| call.answer.is_none()).cloned().collect();
        let commit = Commit::new(held.project.clone());
        Self { held, moment, commit, appended: vec![], open, nudge: Nudge::default() }
    }

    /// Writes a new card into the output box.
    pub(super) fn put(&mut self, card: Card) -> CardId {
        let id = card.id;
        self.mark_deliverable(card.kind.as_str(), id);
        self.commit.writes.push(Write::PutCard(Box::new(card)));
        self.appended.push(id);
        id
    }

    /// Adds a card that is there already.
    pub(super) fn add(&mut self, kind: &str, id: CardId) {
        self.mark_deliverable(kind, id);
        self.appended.push(id);
    }

    fn mark_deliverable(&mut self, kind: &str, id: CardId) {
        if kind == "task.deliverable" {
            self.nudge.deliverable = Some(id);
        }
    }

    /// The latest deliverable of this turn.
    pub(super) fn deliverable(&self) -> Option<CardId> {
        self.nudge.deliverable.or(self.held.live.deliverable)
    }

    /// A card of the kernel's own making.
    pub(super) fn own_card(
        &self,
        kind: &str,
        content: &Value,
        extra: &[(&str, Value)],
        tool_call_id: Option<&str>,
        origin: Origin,
    ) -> Result<Card, Invalid> {
        own_card(self.held.live.turn_id, kind, content, extra, (tool_call_id, origin), self.moment)
    }

    /// Notes a tool call: the row that its answer will meet, and the edge that asks for one (DP-16).
    pub(super) fn open_call(
        &mut self,
        id: &str,
        card: Option<CardId>,
        waiting: bool,
    ) -> Result<(), Rejection> {
        if self.open.len() >= limits::OPEN_CALLS {
            return Err(Invalid::TooLarge {
                field: "tool_calls".to_owned(),
                limit: limits::OPEN_CALLS,
                actual: self.open.len() + 1,
                unit: "open calls",
            }
            .into());
        }
        let live = self.held.live;
        let call = ToolCall {
            agent_id: self.held.head.agent_id.clone(),
            turn_id: live.turn_id,
            tool_call_id: id.to_owned(),
            call_card: card,
            waiting,
            answer: None,
            created_at: self.moment.now,
        };
        self.commit.writes.push(Write::OpenCall(Box::new(call.clone())));
        let edge = self.tool_edge(Primitive::ToolCall, EdgePhase::Request, id, None);
        self.commit.writes.push(Write::AddEdge(Box::new(edge)));
        self.open.push(call);
        self.nudge.open_calls += 1;
        Ok(())
    }

    /// The turn waits for a call that it has made.
    pub(super) fn wait_for(&mut self, id: &str) {
        if let Some(call) = self.open.iter_mut().find(|call| call.tool_call_id == id) {
            call.waiting = true;
            self.commit.writes.push(Write::UpdateCall(Box::new(call.clone())));
        }
    }

    /// The one answer to an open call. Answers whether the turn was waiting for it.
    pub(super) fn answer(
        &mut self,
        id: &str,
        status: ToolStatus,
        terminate: bool,
        card: CardId,
    ) -> Option<bool> {
        let place = self.open.iter().position(|call| call.tool_call_id == id)?;
        let mut call = self.open.remove(place);
        let waited = call.waiting;
        call.waiting = false;
        call.answer = Some(ToolAnswer { status, terminate, card, at: self.moment.now });
        self.commit.writes.push(Write::UpdateCall(Box::new(call)));
        self.nudge.open_calls -= 1;
        Some(waited)
    }

    /// Whether this commit answers a call of that name.
    pub(super) fn has_answered(&self, id: &str) -> bool {
        let answers = |write: &Write| matches!(write, Write::UpdateCall(call) if call.tool_call_id == id && call.answer.is_some());
        self.commit.writes.iter().any(answers)
    }

    /// A `tool.result` of the kernel's own making for a call that nobody will answer (NF-05).
    pub(super) fn close_call(
        &mut self,
        id: &str,
        status: ToolStatus,
        code: &str,
    ) -> Result<Option<bool>, Rejection> {
        let content = json!({
            "status": status.as_str(), "after_execution": "suspend", "result": null,
            "error": { "code": code, "message": format!("the call has no answer: {code}") },
        });
        let extra = [("role", json!("tool")), ("author_id", json!("sys.kernel")), ("synthetic", json!(true))];
        let card = self.own_card("tool.result", &content, &extra, Some(id), Origin::Tool)?;
        let card = self.put(card);
        Ok(self.answer(id, status, false, card))
    }

    /// Closes every call that is still open.
    pub(super) fn close_calls(&mut self, status: ToolStatus, code: &str) -> Result<(), Rejection> {
        let open: Vec<_> = self.open.iter().map(|call| call.tool_call_id.clone()).collect();
        open.iter().try_for_each(|id| self.close_call(id, status, code).map(drop))
    }

    pub(super) fn tool_edge(
        &self,
        primitive: Primitive,
        phase: EdgePhase,
        id: &str,
        inbox_id: Option<InboxId>,
    ) -> Edge {
        let live = self.held.live;
        let agent = Some(self.held.head.agent_id.clone());
        let (asks, answers) = match phase {
            EdgePhase::Request => ((agent, Some(live.turn_id)), (None, None)),
            EdgePhase::Response => ((None, None), (agent, Some(live.turn_id))),
        };
        Edge {
            id: EdgeId::from_uuid(self.moment.fresh.uuid()),
            primitive,
            phase,
            correlation_id: id.to_owned(),
            source_agent: asks.0,
            source_turn: asks.1,
            target_agent: answers.0,
            target_turn: answers.1,
            depth: live.depth,
            trace_id: live.trace_id.clone(),
            parent_step: None,
            inbox_id,
            request_hash: None,
            created_at: self.moment.now,
        }
    }

    /// A row for this turn in the agent's inbox.
    pub(super) fn inbox_row(&self, kind: InboxKind, status: InboxStatus, correlation_id: &str) -> InboxItem {
        let (head, live) = (self.held.head, self.held.live);
        let now = self.moment.now;
        InboxItem {
            id: InboxId::from_uuid(self.moment.fresh.uuid()),
            seq: 0,
            agent_id: head.agent_id.clone(),
            kind,
            status,
            turn_id: live.turn_id,
            epoch: Some(head.epoch),
            correlation_id: correlation_id.to_owned(),
            worker_target: live.worker_target.clone(),
            channel: Some(live.channel.clone()),
            depth: Some(live.depth),
            trace_id: Some(live.trace_id.clone()),
            parent_turn: None,
            parent_call: None,
            parent_step: None,
            branch: None,
            output_box: None,
            payload: "{}".to_owned(),
            worker_id: None,
            token_hash: None,
            created_at: now,
            processed_at: (!status.is_open()).then_some(now),
            retry_count: 0,
            next_retry_at: None,
            reason: None,
            ended: None,
        }
    }

    /// An event of this turn.
    pub(super) fn event(&self, kind: EventKind, data: &Value) -> NewEvent {
        let (head, live) = (self.held.head, self.held.live);
        NewEvent {
            channel: live.channel.to_string(),
            agent_id: Some(head.agent_id.clone()),
            turn_id: Some(live.turn_id),
            trace_id: Some(live.trace_id.clone()),
            ..self.moment.event(kind, &head.agent_id, data)
        }
    }

    /// The event of a new state of this turn.
    pub(super) fn state_event(&mut self, status: &str, waiting: u32) {
        let live = self.held.live;
        let mut data = json!({
            "status": status, "agent_turn_id": live.turn_id.to_string(), "turn_epoch": self.held.head.epoch.get(),
            "output_box_id": live.output_box.to_string(),
        });
        if waiting > 0 {
            data["waiting_tool_count"] = waiting.into();
        }
        let event = self.event(EventKind::AgentState, &data);
        self.commit.events.push(event);
    }

    /// Cards the output box shows once this is committed.
    pub(super) fn output_len(&self) -> u32 {
        self.held.output.map_or(0, |head| head.len) + self.appended.len() as u32
    }

    pub(super) fn appended(&self) -> &[CardId] {
        &self.appended
    }

    /// Whether the output box takes what is written. Ends of turns go on without it.
    pub(super) fn is_writable(&self) -> bool {
        self.held.output.is_some_and(|head| !head.sealed && self.output_len() as usize <= limits::BOX_CARDS)
    }

    /// The cards are written, and stay out of the output box.
    pub(super) fn leave_out(&mut self) {
        self.appended.clear();
    }

    /// Adds the cards to the output box. `exact` when the length it has then is written down elsewhere.
    pub(super) fn append(&mut self, exact: bool) -> Result<(), Rejection> {
        let output_box = self.held.live.output_box;
        let output = self.held.output.ok_or_else(|| Rejection::not_found("box", output_box))?;
        if self.appended.is_empty() && !exact {
            return Ok(());
        }
        if output.sealed {
            return Err(Rejection::BoxSealed { id: output_box.to_string() });
        }
        Invalid::check_size("cards", self.output_len() as usize, limits::BOX_CARDS, "cards")?;
        let room = (limits::BOX_CARDS - self.appended.len()) as u32;
        self.commit.expect.push(Expect::OpenBox {
            box_id: output_box,
            generation: output.generation,
            min_len: if exact { output.len } else { 0 },
            max_len: if exact { output.len } else { room },
        });
        if !self.appended.is_empty() {
            self.commit.writes.push(Write::AppendCards {
                box_id: output_box,
                generation: output.generation,
                cards: self.appended.clone(),
            });
        }
        Ok(())
    }

    /// A fresh step id.
    pub(super) fn step_id(&self) -> StepId {
        let name = format!("step_{}", self.moment.fresh.uuid().simple());
        name.parse().unwrap_or_else(|_| unreachable!("hexadecimal digits are a slug"))
    }

    /// The turn stays where it is.
    pub(super) fn stay<T>(self, outcome: T) -> Decision<T> {
        let guard = self.held.head.guard();
        self.nudged(guard, outcome)
    }

    /// The same, if it has not moved since it was seen.
    pub(super) fn stay_unmoved<T>(self, outcome: T) -> Decision<T> {
        let guard = self.held.head.guard_move();
        self.nudged(guard, outcome)
    }

    fn nudged<T>(mut self, guard: HeadGuard, outcome: T) -> Decision<T> {
        self.commit.writes.push(Write::NudgeHead { guard, nudge: self.nudge });
        Decision { commit: self.commit, outcome }
    }

    /// The turn moves. What would have been a nudge is part of the new state.
    pub(super) fn go<T>(mut self, mut to: Head, outcome: T) -> Decision<T> {
        let deliverable = self.deliverable();
        if let Some(live) = &mut to.live {
            live.deliverable = deliverable;
            live.open_calls = self.open.len() as u32;
            // Two moves that leave the turn where it is (two answers, say) must not both be applied to one state.
            live.marks += 1;
        }
        let guard = self.held.head.guard_move();
        self.commit.writes.push(copy::move_head(guard, to, 0));
        Decision { commit: self.commit, outcome }
    }
}

/// A card of the kernel's own making about a turn.
pub(super) fn own_card(
    turn_id: TurnId,
    kind: &str,
    content: &Value,
    extra: &[(&str, Value)],
    (tool_call_id, origin): (Option<&str>, Origin),
    moment: &Moment,
) -> Result<Card, Invalid> {
    let mut metadata = json!({ "type": kind, "agent_turn_id": turn_id.to_string() });
    for (key, value) in extra {
        metadata[*key] = value.clone();
    }
    let draft = CardDraft {
        content: CanonicalJson::from_value(content)?,
        metadata: own_json(&metadata),
        tool_calls: None,
        tool_call_id: tool_call_id.map(str::to_owned),
        ttl_seconds: None,
    };
    draft.into_card(CardId::from_uuid(moment.fresh.uuid()), origin, moment.now)
}
