//! Dispatching, leasing what waits, and rebuilding what was lost.

use crate::{
    Caller, Done, Kernel, KernelError, Remember,
    execute::{Loaded, Plan},
};
use cardwire_model::{
    AgentId, CardId, EdgePhase, InboxStatus, Keys, Primitive, ProjectId, Realm, Snapshot, Timestamp, TurnId,
    TurnPayload, limits,
};
use cardwire_protocol::{
    Decision, Moment, Rejection,
    turn::{
        Remains,
        dispatch::{self, Dispatch, Dispatched, Receipt},
        dispatch_next, next_output_box,
        rebuild::{self, Rebuilt, Since},
        recall::idle,
    },
};
use cardwire_store::{CommitError, RowFilter};
use futures_util::future::BoxFuture;
use tokio::sync::MutexGuard;

impl Kernel {
    /// Puts a turn into an agent's inbox, and leases it when the agent is idle.
    pub fn dispatch<'a>(
        &'a self,
        project: &'a ProjectId,
        caller: &'a Caller,
        command: &'a Dispatch,
        remember: Option<&'a Remember<Dispatched>>,
    ) -> BoxFuture<'a, Result<Done<Dispatched>, KernelError>> {
        // Boxed, so that what follows is compiled here and not again by everybody who dispatches.
        Box::pin(self.dispatch_turn(project, caller, command, remember))
    }

    #[tracing::instrument(level = "trace", skip_all, fields(cardwire.project.id = %project, cardwire.agent.id = command.agent_id.as_ref().map(tracing::field::display)))]
    async fn dispatch_turn(
        &self,
        project: &ProjectId,
        caller: &Caller,
        command: &Dispatch,
        remember: Option<&Remember<Dispatched>>,
    ) -> Result<Done<Dispatched>, KernelError> {
        command.check()?;
        let _turn = self.pass(project, command.agent_id.as_ref()).await;
        for _ in 0..limits::DECIDE_ATTEMPTS {
            let tried = self.dispatch_once(project, caller, command, remember).await;
            if let Some(done) = self.settled(project, caller, tried).await? {
                return Ok(done);
            }
        }
        Err(KernelError::Contended)
    }

    /// Many at once for one agent wait here rather than race.
    pub(super) async fn pass(
        &self,
        project: &ProjectId,
        agent: Option<&AgentId>,
    ) -> Option<MutexGuard<'_, ()>> {
        match agent {
            Some(agent) => Some(self.turnstile.pass(project, agent).await),
            None => None,
        }
    }

    /// What came of trying to dispatch; nothing when it is to be tried again, with what was lost rebuilt.
    pub(super) async fn settled<T>(
        &self,
        project: &ProjectId,
        caller: &Caller,
        tried: Result<T, KernelError>,
    ) -> Result<Option<T>, KernelError> {
        match tried {
            Err(KernelError::Contended) => Ok(None),
            Err(KernelError::Rejected(Rejection::Lost(agent))) => {
                self.rebuild_at(project, caller, &agent, None).await?;
                Ok(None)
            }
            tried => tried.map(Some),
        }
    }

    async fn dispatch_once(
        &self,
        project: &ProjectId,
        caller: &Caller,
        command: &Dispatch,
        remember: Option<&Remember<Dispatched>>,
    ) -> Result<Done<Dispatched>, KernelError> {
        if let Some(dispatched) = self.dispatch_unread(project, caller, command, remember).await? {
            return Ok(Done::Fresh(dispatched));
        }
        let realm = Realm::from(project.clone());
        let plan = plan(&realm, caller, command, remember);
        let decide = |loaded: &Loaded, moment: &Moment| {
            // Whatever comes of it: it was so when it was read.
            self.recall.idle.learn(project, &loaded.snapshot);
            dispatch::decide(&loaded.snapshot, project, command, moment)
        };
        self.attempt(plan, 1, decide).await
    }

    /// Dispatches on what is known of an agent at rest. Nothing when something is not known, or is wrong: what was read says so.
    async fn dispatch_unread(
        &self,
        project: &ProjectId,
        caller: &Caller,
        command: &Dispatch,
        remember: Option<&Remember<Dispatched>>,
    ) -> Result<Option<Dispatched>, KernelError> {
        let moment = self.moment(caller);
        let Some(rows) = self.recall.idle.rows(project, command, moment.now) else { return Ok(None) };
        let decided = idle::dispatch(&rows, project, command, &moment);
        let Ok(Decision { mut commit, outcome }) = decided else { return Ok(None) };
        if let Some(remember) = remember {
            remember.note(&mut commit, &outcome, moment.now);
        }
        match self.commit(commit).await {
            Ok(()) => Ok(Some(outcome)),
            Err(CommitError::Conflict(_)) => {
                self.recall.idle.was_wrong(project, self.now());
                Ok(None)
            }
            Err(CommitError::Store(error)) => Err(error.into()),
        }
    }

    /// What the caller of an earlier dispatch was told (DP-10).
    pub async fn receipt(&self, project: &ProjectId, turn: TurnId) -> Result<Receipt, KernelError> {
        let missing = || Rejection::NotFound { what: "turn", id: turn.to_string() };
        let item = self.store.turn(project, turn).await?.ok_or_else(missing)?;
        let payload = TurnPayload::from_stored(&item.payload).map_err(|_| missing())?;
        Ok(Receipt {
            agent_id: item.agent_id,
            turn_id: item.turn_id,
            inbox_id: item.id,
            epoch: item.epoch,
            trace_id: item.trace_id.unwrap_or_default(),
            output_box: payload.output_box,
            context_box: payload.context_box,
        })
    }

    /// Leases the oldest waiting turn of an idle agent.
    #[tracing::instrument(name = "dispatch_next", level = "trace", skip_all, fields(cardwire.project.id = %project, cardwire.agent.id = %agent))]
    pub(crate) async fn dispatch_next_at(
        &self,
        project: &ProjectId,
        caller: &Caller,
        agent: &AgentId,
        now: Option<Timestamp>,
    ) -> Result<Option<TurnId>, KernelError> {
        let realm = Realm::from(project.clone());
        for _ in 0..limits::DECIDE_ATTEMPTS {
            let keys = Keys { agent: Some(agent.clone()), ..Keys::default() };
            let mut snapshot = self.store.load(&realm, &keys).await?;
            let filter = RowFilter {
                agent_id: Some(agent.clone()),
                inbox_status: Some(InboxStatus::Queued),
                turns_only: true,
                ..RowFilter::default()
            };
            let mut waiting =
                self.store.inbox(project, &filter, None, limits::INBOX_TURNS as usize + 1).await?;
            waiting.sort_by_key(|item| item.seq);
            waiting.truncate(limits::POISON_ROWS + 1);
            if let Some(box_id) = next_output_box(&waiting) {
                let keys = Keys { boxes: vec![box_id], ..Keys::default() };
                snapshot.boxes = self.store.load(&realm, &keys).await?.boxes;
            }
            let moment = self.moment_at(caller, now);
            let decision = dispatch_next::decide(&snapshot, project, agent, &waiting, &moment)?;
            match self.commit(decision.commit).await {
                Ok(()) => return Ok(decision.outcome),
                Err(CommitError::Conflict(_)) => {}
                Err(CommitError::Store(error)) => return Err(error.into()),
            }
        }
        Err(KernelError::Contended)
    }

    /// Rebuilds the head of an agent that has lost it (WD-08).
    pub async fn rebuild(
        &self,
        project: &ProjectId,
        caller: &Caller,
        agent: &AgentId,
    ) -> Result<Rebuilt, KernelError> {
        self.rebuild_at(project, caller, agent, None).await
    }

    #[tracing::instrument(name = "rebuild", level = "trace", skip_all, fields(cardwire.project.id = %project, cardwire.agent.id = %agent))]
    pub(crate) async fn rebuild_at(
        &self,
        project: &ProjectId,
        caller: &Caller,
        agent: &AgentId,
        now: Option<Timestamp>,
    ) -> Result<Rebuilt, KernelError> {
        let realm = Realm::from(project.clone());
        for _ in 0..limits::DECIDE_ATTEMPTS {
            let keys = Keys { agent: Some(agent.clone()), ..Keys::default() };
            let mut snapshot = self.store.load(&realm, &keys).await?;
            let open = snapshot.lost.as_ref().and_then(|lost| lost.open.clone());
            let mut since = Since::default();
            if let Some(item) = open {
                let keys = Keys { boxes: item.output_box.into_iter().collect(), ..Keys::default() };
                snapshot.boxes = self.store.load(&realm, &keys).await?.boxes;
                let calls = self.store.calls(project, item.turn_id).await?;
                since.open_calls = calls.iter().filter(|call| call.answer.is_none()).count() as u32;
                since.deliverable = self.delivered_since(project, &snapshot).await?;
            }
            let moment = self.moment_at(caller, now);
            let decision = rebuild::decide(&snapshot, project, agent, since, &moment)?;
            match self.commit(decision.commit).await {
                Ok(()) => return Ok(decision.outcome),
                Err(CommitError::Conflict(_)) => {}
                Err(CommitError::Store(error)) => return Err(error.into()),
            }
        }
        Err(KernelError::Contended)
    }

    /// The last deliverable of a turn whose head is lost.
    async fn delivered_since(
        &self,
        project: &ProjectId,
        snapshot: &Snapshot,
    ) -> Result<Option<CardId>, KernelError> {
        let Some((output, watermark)) = Since::output(snapshot) else { return Ok(None) };
        let Some(head) = snapshot.boxes.get(&output) else { return Ok(None) };
        let from = Remains::since(watermark, head);
        let entries = self.find_box_cards(project, output, head.generation, from).await?;
        let cards = entries.iter().rev().filter_map(|entry| entry.card.as_ref());
        Ok(cards.into_iter().find(|card| card.kind.as_str() == "task.deliverable").map(|card| card.id))
    }
}

/// What a dispatch reads.
pub(super) fn plan<'a>(
    realm: &'a Realm,
    caller: &'a Caller,
    command: &Dispatch,
    remember: Option<&'a Remember<Dispatched>>,
) -> Plan<'a, Dispatched> {
    let given = [command.profile_box, command.context_box, command.output_box];
    let boxes: Vec<_> = given.into_iter().flatten().collect();
    let correlation = command.named_correlation();
    let keys = Keys {
        agent: command.agent_id.clone(),
        turn: command.turn_id,
        depth_of: command.parent_turn,
        writers_of: [command.context_box, command.output_box].into_iter().flatten().collect(),
        boxes,
        edge: correlation.map(|id| (Primitive::Enqueue, EdgePhase::Request, id)),
        ..Keys::default()
    };
    Plan { realm, caller, keys, flat: None, remember }
}
