//! Reading turns: heads, rows, steps, edges, and what a turn sees.

use crate::{Kernel, KernelError};
use cardwire_context::prompt;
use cardwire_model::{
    AgentId, BoxId, Card, CardId, Edge, EdgeId, Hash256, Head, IdentityEdge, InboxId, InboxItem, Keys,
    LiveState, ProjectId, Realm, Step, StepId, Timestamp, TurnId, TurnPayload,
};
use cardwire_protocol::{
    Rejection,
    turn::{claim::Lease, forked, view},
    unasked,
};
use cardwire_store::{RosterFilter, Rostered, RowFilter};
use serde_json::Value;
use std::{collections::HashMap, sync::Arc};

/// A turn with the state it is in.
#[derive(Debug, Clone)]
pub struct ViewedTurn {
    /// Its row.
    pub item: InboxItem,
    /// The agent's head, when this is its live turn.
    pub head: Option<Head>,
}

impl ViewedTurn {
    /// A turn and the head of its agent, which may be at another turn.
    pub(crate) fn new(item: InboxItem, head: Option<Head>) -> Self {
        let is_live = |head: &Head| head.live.as_ref().is_some_and(|live| live.turn_id == item.turn_id);
        Self { head: head.filter(is_live), item }
    }

    /// Since when the turn waits for a worker to begin it, or to go on with it.
    pub fn waits_since(&self) -> Option<Timestamp> {
        let head = self.head.as_ref();
        // The answer that lets it go on is another row: it came when the turn last moved.
        let resumable = head.filter(|head| {
            let state = head.live.as_ref().map(|live| live.state);
            matches!(state, Some(LiveState::Suspended { waiting: 0, .. }))
        });
        unasked::waits_since(&self.item, head).or(resumable.map(|head| head.updated_at))
    }
}

/// What a turn sees.
#[derive(Debug, Clone)]
pub struct TurnView {
    /// The turn's row.
    pub item: InboxItem,
    /// The boxes it is made from.
    pub context_box: BoxId,
    /// See there.
    pub output_box: BoxId,
    /// The visible cards in order.
    pub cards: Vec<Arc<Card>>,
    /// What is asked.
    pub instruction: Option<CardId>,
    /// What the agent is told to be, and which fields its result must have (WK-04).
    pub system_prompt: String,
}

impl Kernel {
    /// An agent of the roster, and what it is doing, if a reader wants that.
    pub async fn rostered(
        &self,
        project: &ProjectId,
        agent: &AgentId,
        filter: &RosterFilter,
    ) -> Result<Option<Rostered>, KernelError> {
        let (found, head) =
            tokio::try_join!(self.store.agent(project, agent), self.store.head(project, agent))?;
        Ok(found.map(|agent| Rostered { agent, head }).filter(|one| filter.takes(one)))
    }

    /// The same for the agent that has this turn, which is looked for among no others.
    pub async fn rostered_at(
        &self,
        project: &ProjectId,
        turn: TurnId,
        filter: &RosterFilter,
    ) -> Result<Option<Rostered>, KernelError> {
        match self.store.turn(project, turn).await? {
            Some(item) => self.rostered(project, &item.agent_id, filter).await,
            None => Ok(None),
        }
    }

    /// Agents with what they are doing, newest first.
    pub async fn list_roster(
        &self,
        project: &ProjectId,
        filter: &RosterFilter,
        before: Option<&(Timestamp, AgentId)>,
        limit: usize,
    ) -> Result<Vec<Rostered>, KernelError> {
        Ok(self.store.roster(project, filter, before, limit).await?)
    }

    /// The head of an agent. An agent of the roster that never had a turn has none.
    pub async fn head(&self, project: &ProjectId, agent: &AgentId) -> Result<Option<Head>, KernelError> {
        Ok(self.store.head(project, agent).await?)
    }

    /// Inbox rows, newest first.
    pub async fn list_inbox(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<InboxId>,
        limit: usize,
    ) -> Result<Vec<InboxItem>, KernelError> {
        Ok(self.store.inbox(project, filter, before, limit).await?)
    }

    /// Steps, newest first.
    pub async fn list_steps(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<&(Timestamp, StepId)>,
        limit: usize,
    ) -> Result<Vec<Step>, KernelError> {
        Ok(self.store.steps(project, filter, before, limit).await?)
    }

    /// Edges, newest first.
    pub async fn list_edges(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<EdgeId>,
        limit: usize,
    ) -> Result<Vec<Edge>, KernelError> {
        Ok(self.store.edges(project, filter, before, limit).await?)
    }

    /// Identity edges, newest first.
    pub async fn list_identity_edges(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<EdgeId>,
        limit: usize,
    ) -> Result<Vec<IdentityEdge>, KernelError> {
        Ok(self.store.identity_edges(project, filter, before, limit).await?)
    }

    /// A turn and the state it is in.
    pub async fn turn(&self, project: &ProjectId, turn: TurnId) -> Result<ViewedTurn, KernelError> {
        let item = self.turn_row(project, turn).await?;
        let head = match item.ended {
            Some(_) => None,
            None => self.store.head(project, &item.agent_id).await?,
        };
        Ok(ViewedTurn::new(item, head))
    }

    /// The turn that an agent is at.
    pub async fn live_turn(
        &self,
        project: &ProjectId,
        agent: &AgentId,
    ) -> Result<Option<TurnId>, KernelError> {
        let keys = Keys { agent: Some(agent.clone()), ..Keys::default() };
        let head = self.store.load(&Realm::from(project.clone()), &keys).await?.head;
        Ok(head.and_then(|head| head.live).map(|live| live.turn_id))
    }

    /// The trace that a turn is part of.
    pub async fn trace_of(&self, project: &ProjectId, turn: TurnId) -> Result<Option<String>, KernelError> {
        Ok(self.store.turn(project, turn).await?.and_then(|item| item.trace_id))
    }

    /// Whether a secret's hash opens the turn (SEC-02). Remembered for half a second; every write is checked again by
    /// its decision.
    pub async fn opens_turn(
        &self,
        project: &ProjectId,
        turn: TurnId,
        hash: Hash256,
    ) -> Result<bool, KernelError> {
        let (key, now) = ((project.clone(), turn, hash), self.now());
        if self.leases.get(&key, now).is_some() {
            return Ok(true);
        }
        let opens = self.store.turn(project, turn).await?.is_some_and(|item| item.token_hash == Some(hash));
        if opens {
            self.leases.put(key, (), now);
        }
        Ok(opens)
    }

    /// A lease has just been given: its token is known to open its turn.
    pub(super) fn opened_by(&self, lease: &Lease) {
        if let Some(turn) = &lease.turn {
            let key = (lease.project.clone(), lease.turn_id, Hash256::of(&turn.secret));
            self.leases.put(key, (), self.now());
        }
    }

    /// What the turn sees (WK-02, WK-03), or saw at one of its steps (CB-17).
    pub async fn turn_view(
        &self,
        project: &ProjectId,
        turn: TurnId,
        step: Option<&StepId>,
    ) -> Result<TurnView, KernelError> {
        let ViewedTurn { item, head } = self.turn(project, turn).await?;
        let payload = TurnPayload::from_stored(&item.payload);
        let payload = payload.map_err(|_| Rejection::Conflict("the turn's row is damaged".to_owned()))?;
        let context = self.view_box(project, payload.context_box, None).await?;
        let output = self.view_box(project, payload.output_box, None).await?;
        let (watermark, end) = self.output_reach(project, (&item, &payload), head.as_ref(), step).await?;
        let shown: Vec<CardId> = output.card_ids().take(end as usize).collect();
        let context: Vec<CardId> = context.card_ids().collect();
        let ids = view::order(&context, &shown, watermark as usize);
        let mut cards: HashMap<CardId, Arc<Card>> = HashMap::new();
        for box_id in [payload.context_box, payload.output_box] {
            let of_box = self.box_cards(project, box_id).await?.cards;
            cards.extend(of_box.into_iter().map(|card| (card.id, card)));
        }
        // What a turn writes itself asks nothing of it.
        let given = context.iter().filter_map(|id| cards.get(id));
        let fields = view::result_fields(given).map(|card| card.content.clone());
        let cards: Vec<_> = ids.iter().filter_map(|id| cards.get(id).cloned()).collect();
        let profile = self.box_cards(project, payload.profile_box).await?.cards;
        let profile = view::profile(profile.iter(), self.now());
        let own = profile.map_or(Value::Null, |card| card.content.to_value());
        let own = own.get("system_prompt").and_then(Value::as_str).unwrap_or_default();
        let system_prompt = prompt::system_prompt(own, fields.as_ref());
        let instruction = self.instruction(project, payload.context_box).await?.map(|card| card.id);
        let (context_box, output_box) = (payload.context_box, payload.output_box);
        Ok(TurnView { item, context_box, output_box, cards, instruction, system_prompt })
    }

    /// Where a turn's own part of its output box begins, and where what it sees of it ends. `head` is the agent's while this
    /// is its live turn.
    pub(crate) async fn output_reach(
        &self,
        project: &ProjectId,
        (item, payload): (&InboxItem, &TurnPayload),
        head: Option<&Head>,
        step: Option<&StepId>,
    ) -> Result<(u32, u32), KernelError> {
        let live = head.and_then(|head| head.live.as_ref());
        let (leased, end) = match (&item.ended, live) {
            (Some(ended), _) => ended.output,
            (None, Some(live)) => (live.watermark, u32::MAX),
            // It waits: all there is was there before it.
            (None, None) => (u32::MAX, u32::MAX),
        };
        let watermark = forked::watermark(&payload.runtime_config, leased);
        let Some(id) = step else { return Ok((watermark, end)) };
        let missing = || Rejection::NotFound { what: "step", id: id.to_string() };
        let step = self.store.step(project, id).await?.filter(|step| step.turn_id == item.turn_id);
        Ok((watermark, end.min(step.ok_or_else(missing)?.output_len)))
    }

    pub(crate) async fn turn_row(&self, project: &ProjectId, turn: TurnId) -> Result<InboxItem, KernelError> {
        let found = self.store.turn(project, turn).await?;
        found.ok_or_else(|| Rejection::NotFound { what: "turn", id: turn.to_string() }.into())
    }
}
