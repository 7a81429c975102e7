//! The watchdog's rounds: find rows that are old enough, ask `protocol` what is due, run each command by itself
//! (WD-13). Several processes may do it at once: whoever is second finds nothing left to do.

use crate::{Caller, Done, Kernel, KernelError, doorbell::Ring, spawn::Stop, unasked::WaitingWork};
use cardwire_model::{
    AgentId, BatchId, Commit, Head, InboxId, InboxItem, ProjectId, Snapshot, Sweep, Timestamp, TurnId, limits,
};
use cardwire_protocol::{
    Actor, Decision, Rejection, audit,
    turn::{self, Command, Outcome},
    watchdog::{self, Due},
};
use cardwire_store::{CommitError, Horizon, StoreError, Watched};
use std::{collections::HashSet, sync::Arc, time::Duration};

/// What a round did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TickReport {
    /// The moment it was run for.
    pub now: Timestamp,
    /// What was done, in order.
    pub actions: Vec<TickAction>,
}

/// One thing a round did, or tried to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TickAction {
    /// `ring`, `reap`, `take_back`, `expire_tools`, `requeue`, `archive`, `dispatch_next` or `rebuild`; with a batch `begin_close`,
    /// `join`, `dispatch`, `watch`; `sweep`.
    pub action: &'static str,
    /// In which project.
    pub project: ProjectId,
    /// For which agent.
    pub agent_id: Option<AgentId>,
    /// For which turn.
    pub turn_id: Option<TurnId>,
    /// For which row.
    pub inbox_id: Option<InboxId>,
    /// For which batch.
    pub batch_id: Option<BatchId>,
    /// Why it could not be done.
    pub error: Option<String>,
}

impl Kernel {
    /// Runs one round because somebody asked for it, and records that they did.
    pub async fn tick_by_hand(
        &self,
        caller: &Caller,
        now: Option<Timestamp>,
    ) -> Result<TickReport, KernelError> {
        let report = self.tick(now).await?;
        let commit = audit::record_tick(&self.moment(caller), report.now, report.actions.len());
        match self.commit(commit).await {
            Ok(()) | Err(CommitError::Conflict(_)) => Ok(report),
            Err(CommitError::Store(error)) => Err(error.into()),
        }
    }

    /// Runs one round, at the moment given or now.
    #[tracing::instrument(name = "watchdog.tick", level = "trace", skip_all, fields(cardwire.watchdog.actions = tracing::field::Empty))]
    pub async fn tick(&self, now: Option<Timestamp>) -> Result<TickReport, KernelError> {
        let now = now.unwrap_or_else(|| self.now());
        let mut round = Round { now, actions: vec![], rung: HashSet::new() };
        self.silent_turns.forget_old(self.now());
        self.give_back_forsaken(&Caller { actor: Actor::system("watchdog") }).await;
        // Batches first: the branches of one whose time is up are canceled, whatever else they are late for (BM-18).
        self.tick_sweeps(&mut round).await?;
        self.tick_batches(&mut round).await?;
        self.tick_heads(&mut round).await?;
        self.tick_items(&mut round).await?;
        for action in &round.actions {
            metrics::counter!("cardwire_watchdog_total", "action" => action.action).increment(1);
        }
        tracing::Span::current().record("cardwire.watchdog.actions", round.actions.len());
        Ok(TickReport { now, actions: round.actions })
    }

    async fn tick_heads(&self, round: &mut Round) -> Result<(), StoreError> {
        let horizon = self.horizon(round.now);
        let (mut after, mut rings) = (None, vec![]);
        loop {
            let page = self.store.due_heads(&horizon, after.as_ref(), limits::WATCHDOG_PAGE).await?;
            let ended = page.len() < limits::WATCHDOG_PAGE;
            for row in page {
                let Watched { project, head: Some(head), item } = row else { continue };
                after = Some((project.clone(), head.agent_id.clone()));
                let due = watchdog::due_head(&head, item.as_ref(), &self.watchdog, round.now);
                if due.is_none() {
                    self.note_silent(&project, &head, round.now);
                }
                match (due, item) {
                    (Some(Due::Turn(Command::Ring(..))), Some(item)) => {
                        rings.push(Waiting { project, head: Some(head), item });
                    }
                    (Some(due), _) => self.act(round, &project, Some(head.agent_id), due).await,
                    (None, _) => {}
                }
            }
            self.ring_again(round, std::mem::take(&mut rings)).await;
            if ended {
                return Ok(());
            }
        }
    }

    async fn tick_items(&self, round: &mut Round) -> Result<(), StoreError> {
        let horizon = self.horizon(round.now);
        let (mut after, mut rings, mut waiting) = (None, vec![], WaitingWork::default());
        loop {
            let page = self.store.due_items(&horizon, after.as_ref(), limits::WATCHDOG_PAGE).await?;
            let ended = page.len() < limits::WATCHDOG_PAGE;
            for row in page {
                let Watched { project, head, item: Some(item) } = row else { continue };
                after = Some((project.clone(), item.id));
                waiting.note(&project, &item, head.as_ref());
                let due = watchdog::due_item(&item, head.as_ref(), &self.watchdog, round.now);
                match due {
                    Some(Due::Turn(Command::Ring(..))) => rings.push(Waiting { project, head, item }),
                    Some(due) => self.act(round, &project, Some(item.agent_id), due).await,
                    None => {}
                }
            }
            self.ring_again(round, std::mem::take(&mut rings)).await;
            if ended {
                self.tell_unasked(&waiting, round.now).await;
                return Ok(());
            }
        }
    }

    /// Keeps in mind that the holder of a turn is silent, for workers that ask for such turns (WD-05).
    fn note_silent(&self, project: &ProjectId, head: &Head, now: Timestamp) {
        let silent = watchdog::silent(head, &self.watchdog, self.listening.get(), now);
        if let (Some(overdue), Some(live)) = (silent, &head.live) {
            self.silent_turns.note(project, &live.worker_target, overdue, self.now());
        }
    }

    /// Rings again for rows that nobody has claimed: thousands may wait while workers are busy, so many are noted by one
    /// commit. One that has moved meanwhile makes that a conflict; then each is rung for by itself.
    async fn ring_again(&self, round: &mut Round, mut rows: Vec<Waiting>) {
        rows.retain(|row| round.rung.insert(row.item.id));
        let caller = Caller { actor: Actor::system("watchdog") };
        while let Some(first) = rows.first() {
            let project = first.project.clone();
            let of_project = rows.iter().take_while(|row| row.project == project).count();
            let chunk: Vec<Waiting> = rows.drain(..of_project.min(RINGS)).collect();
            let mut commit = Commit::new(project.clone());
            let mut rung = vec![];
            for row in &chunk {
                let snapshot =
                    Snapshot { head: row.head.clone(), inbox: Some(row.item.clone()), ..Snapshot::default() };
                let moment = self.moment_at(&caller, Some(round.now));
                let decided = turn::decide(&snapshot, &project, &row.command(), &moment);
                if let Ok(Decision { commit: one, outcome: Outcome::Rung }) = decided {
                    commit.append(one);
                    rung.push(row);
                }
            }
            if self.apply(commit).await.is_ok() {
                let mut heard = HashSet::new();
                for row in rung {
                    let ring = Ring::of(&project, &row.item, "watchdog");
                    if heard.insert((ring.channel.clone(), ring.target.clone())) {
                        self.ring(&ring);
                    }
                    round.note_ring(row);
                }
                continue;
            }
            for row in chunk {
                round.rung.remove(&row.item.id);
                let agent = Some(row.item.agent_id.clone());
                self.act(round, &project, agent, Due::Turn(row.command())).await;
            }
        }
    }

    /// Does one thing; whatever goes wrong with it is its own affair.
    async fn act(&self, round: &mut Round, project: &ProjectId, agent_id: Option<AgentId>, due: Due) {
        let caller = Caller { actor: Actor::system("watchdog") };
        let (action, turn_id, inbox_id) = describe(&due);
        if let Some(inbox_id) = inbox_id.filter(|_| action == "ring")
            && !round.rung.insert(inbox_id)
        {
            return;
        }
        let outcome = match due {
            Due::Turn(command) => {
                let done = self.turn_command_at(project, &caller, command, None, Some(round.now)).await;
                done.map(|done| !matches!(done, Done::Fresh(Outcome::Nothing)))
            }
            Due::TakeBack(overdue) => self.take_back(project, &caller, overdue, Some(round.now)).await,
            Due::DispatchNext(agent) => {
                self.dispatch_next_at(project, &caller, &agent, Some(round.now)).await.map(|_| true)
            }
            Due::Rebuild(agent) => {
                self.rebuild_at(project, &caller, &agent, Some(round.now)).await.map(|_| true)
            }
        };
        let error = match outcome {
            Ok(true) => None,
            // Somebody else was there first.
            Ok(false) | Err(KernelError::Rejected(Rejection::StaleTurn(..))) => return,
            Err(error) => {
                tracing::warn!(%error, action, %project, "the watchdog could not act on a row");
                Some(error.to_string())
            }
        };
        round.actions.push(TickAction {
            action,
            project: project.clone(),
            agent_id,
            turn_id,
            inbox_id,
            batch_id: None,
            error,
        });
    }

    /// Batches that are running: their time may be up, or what followed from the end of a branch was interrupted.
    async fn tick_batches(&self, round: &mut Round) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let page = self.store.running_batches(after.as_ref(), limits::WATCHDOG_PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.clone());
            for (project, batch) in page {
                match self.look_after(&project, batch, Some(round.now), true).await {
                    Ok(looked) => {
                        for action in looked.done {
                            round.note_batch(action, &project, Some(batch), None);
                        }
                        self.follow(&project, looked.follow_up, Some(round.now)).await;
                    }
                    Err(error) => {
                        tracing::warn!(%error, %project, %batch, "the watchdog could not look after a batch");
                        round.note_batch("look", &project, Some(batch), Some(error.to_string()));
                    }
                }
            }
        }
    }

    /// What was to be stopped and is not yet.
    async fn tick_sweeps(&self, round: &mut Round) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let page = self.store.sweeps(after.as_ref(), limits::WATCHDOG_PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.clone());
            for (project, sweep) in page {
                let (batch, turn) = match sweep {
                    Sweep::Batch(batch) => (Some(batch), None),
                    Sweep::Turn(turn) => (None, Some(turn)),
                };
                let error = match self.sweep(&project, sweep, Some(round.now)).await {
                    Ok(follow_up) => {
                        self.follow(&project, follow_up, Some(round.now)).await;
                        None
                    }
                    Err(error) => {
                        tracing::warn!(%error, %project, "the watchdog could not stop descendants");
                        Some(error.to_string())
                    }
                };
                round.note_batch("sweep", &project, batch, error);
                if let Some(noted) = round.actions.last_mut() {
                    noted.turn_id = turn;
                }
            }
        }
    }

    fn horizon(&self, now: Timestamp) -> Horizon {
        let old = watchdog::old_enough(&self.watchdog, now);
        Horizon {
            dispatched: old.dispatched,
            running: old.running,
            resume: old.resume,
            pending: old.pending,
            processing: old.processing,
            given: old.given,
        }
    }

    pub(crate) async fn keep_watching(self: Arc<Self>, mut stop: Stop) {
        let pause = match u64::try_from(self.watchdog.tick) {
            Ok(seconds) if seconds > 0 => Duration::from_secs(seconds),
            Ok(_) | Err(_) => return,
        };
        let mut expected = self.now();
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = stop.stopped() => return,
            }
            // Late by more than a round: this process stood still, and so did whatever workers told it.
            if self.now() > expected.plus_seconds(2 * self.watchdog.tick) {
                self.listening.begins_again(self.now());
            }
            if let Err(error) = self.tick(None).await {
                tracing::warn!(%error, "the watchdog could not look");
                self.listening.begins_again(self.now());
            }
            expected = self.now();
        }
    }
}

struct Round {
    now: Timestamp,
    actions: Vec<TickAction>,
    /// Rows that were rung for: once per round is enough.
    rung: HashSet<InboxId>,
}

/// A row to ring again for.
struct Waiting {
    project: ProjectId,
    head: Option<Head>,
    item: InboxItem,
}

impl Waiting {
    const fn command(&self) -> Command {
        Command::Ring(self.item.turn_id, self.item.id)
    }
}

/// Most rows that are rung for by one commit.
const RINGS: usize = 100;

impl Round {
    fn note_ring(&mut self, row: &Waiting) {
        self.actions.push(TickAction {
            action: "ring",
            project: row.project.clone(),
            agent_id: Some(row.item.agent_id.clone()),
            turn_id: Some(row.item.turn_id),
            inbox_id: Some(row.item.id),
            batch_id: None,
            error: None,
        });
    }

    fn note_batch(
        &mut self,
        action: &'static str,
        project: &ProjectId,
        batch_id: Option<BatchId>,
        error: Option<String>,
    ) {
        let project = project.clone();
        let (agent_id, turn_id, inbox_id) = (None, None, None);
        self.actions.push(TickAction { action, project, agent_id, turn_id, inbox_id, batch_id, error });
    }
}

fn describe(due: &Due) -> (&'static str, Option<TurnId>, Option<InboxId>) {
    match due {
        Due::Turn(command) => {
            let turn = Some(command.turn_id());
            match command {
                Command::Ring(_, inbox) => ("ring", turn, Some(*inbox)),
                Command::Requeue(_, inbox) => ("requeue", turn, Some(*inbox)),
                Command::Archive(archive) => ("archive", turn, Some(archive.inbox_id)),
                Command::Reap(_) => ("reap", turn, None),
                Command::TakeBack(_) => ("take_back", turn, None),
                Command::ExpireTools(..) => ("expire_tools", turn, None),
                Command::Start(_)
                | Command::Heartbeat(_)
                | Command::Append(_)
                | Command::Step(_)
                | Command::Suspend(_)
                | Command::Report(_)
                | Command::Finish(_)
                | Command::Release(_)
                | Command::Stop(_) => ("command", turn, None),
            }
        }
        Due::TakeBack(overdue) => ("take_back", Some(overdue.turn_id), None),
        Due::DispatchNext(_) => ("dispatch_next", None, None),
        Due::Rebuild(_) => ("rebuild", None, None),
    }
}
