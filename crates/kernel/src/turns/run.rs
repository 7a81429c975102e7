//! The loop of every command on a turn: load its rows and what its kind of command needs besides, decide, commit; when
//! somebody else got in between, do it again on fresh rows. The end of a turn is tried on recalled rows first.

use crate::{
    Caller, Done, Kernel, KernelError, Remember, batches::FollowUp, doorbell::Ring, turns::ViewedTurn,
};
use cardwire_model::{
    BoxId, CardDraft, CardId, InboxId, InboxStatus, Keys, ProjectId, Realm, Snapshot, Timestamp, limits,
};
use cardwire_protocol::{
    Decision, Moment, Rejection, handover,
    idempotency::{self, Known},
    turn::{self, Command, Fence, Outcome, Remains, append::NewCard, fence, next_output_box, step::TakeStep},
};
use cardwire_store::CommitError;
use futures_util::future::BoxFuture;
use std::{collections::HashSet, sync::Arc};

/// A card that a turn writes.
#[derive(Debug, Clone)]
pub struct NewTurnCard {
    /// The id the caller chose, if any.
    pub id: Option<CardId>,
    /// What it says.
    pub draft: CardDraft,
}

/// What came of a command on some rows.
enum Tried {
    Done(Outcome, FollowUp),
    Refused(Rejection),
    /// Somebody else got in between.
    Conflict,
}

/// A turn that its caller holds.
pub(crate) struct Running {
    pub(crate) turn: ViewedTurn,
    pub(crate) rows: Arc<Snapshot>,
    /// The rows were not read.
    pub(crate) is_recalled: bool,
}

impl Kernel {
    /// Makes the cards of a turn from what its worker described.
    pub fn turn_cards(&self, cards: Vec<NewTurnCard>) -> Result<Vec<NewCard>, KernelError> {
        let now = self.now();
        let make = |new: NewTurnCard| Ok(NewCard::given(new.draft, new.id, || self.card_id(), now)?);
        cards.into_iter().map(make).collect()
    }

    /// Runs a command on a turn to its end.
    pub async fn turn_command(
        &self,
        project: &ProjectId,
        caller: &Caller,
        command: Command,
        remember: Option<&Remember<Outcome>>,
    ) -> Result<Done<Outcome>, KernelError> {
        self.turn_command_at(project, caller, command, remember, None).await
    }

    /// The same at a moment of the caller's choice.
    pub(crate) fn turn_command_at<'a>(
        &'a self,
        project: &'a ProjectId,
        caller: &'a Caller,
        command: Command,
        remember: Option<&'a Remember<Outcome>>,
        now: Option<Timestamp>,
    ) -> BoxFuture<'a, Result<Done<Outcome>, KernelError>> {
        // Boxed for the same reason as a dispatch.
        Box::pin(async move {
            let (done, follow_up) = self.turn_command_alone(project, caller, command, remember, now).await?;
            if !follow_up.is_empty() {
                self.follow(project, follow_up, now).await;
            }
            Ok(done)
        })
    }

    /// The same without what follows from it.
    #[tracing::instrument(name = "turn", level = "trace", skip_all, fields(otel.name = verb(&command), cardwire.project.id = %project, cardwire.turn.id = %command.turn_id()))]
    pub(crate) async fn turn_command_alone(
        &self,
        project: &ProjectId,
        caller: &Caller,
        mut command: Command,
        remember: Option<&Remember<Outcome>>,
        now: Option<Timestamp>,
    ) -> Result<(Done<Outcome>, FollowUp), KernelError> {
        let realm = Realm::from(project.clone());
        let keys = Keys { answer: remember.map(|remember| remember.key.clone()), ..turn_keys(&command) };
        if command.is_decided_unmoved()
            && let Some(rows) = self.recall.turn(project, command.turn_id())
        {
            let known = if remember.is_some() { Known::New } else { Known::Repeatable };
            let tried = self.try_on(project, caller, &command, &rows, (remember, known), now).await?;
            if let Tried::Done(outcome, follow_up) = tried {
                return Ok((Done::Fresh(outcome), follow_up));
            }
            // Whatever is wrong, what was read says so.
            self.recall.forget(project, command.turn_id());
        }
        for attempt in 0..limits::DECIDE_ATTEMPTS {
            let mut snapshot = self.store.load(&realm, &keys).await?;
            let known = match remember {
                Some(remember) => idempotency::known(&snapshot, &remember.key)?,
                None => Known::Repeatable,
            };
            if let Known::Answered(answer) = known {
                return Ok((Done::Replayed(answer), FollowUp::default()));
            }
            // After a lost race, wait for those who won it instead of racing again.
            let agent = snapshot.turn.as_ref().map(|rows| rows.item.agent_id.clone());
            let _turn = match agent.as_ref().filter(|_| attempt > 0) {
                Some(agent) => {
                    let passed = self.turnstile.pass(project, agent).await;
                    snapshot = self.store.load(&realm, &keys).await?;
                    Some(passed)
                }
                None => None,
            };
            let _session = match snapshot.turn.as_ref().filter(|_| attempt > 0) {
                Some(rows) => self.pass_session(project, &rows.item).await,
                None => None,
            };
            self.load_more(project, &realm, &mut command, &mut snapshot, now).await?;
            match self.try_on(project, caller, &command, &snapshot, (remember, known), now).await? {
                Tried::Done(outcome, follow_up) => return Ok((Done::Fresh(outcome), follow_up)),
                Tried::Refused(Rejection::Lost(agent)) => {
                    self.rebuild_at(project, caller, &agent, now).await?;
                }
                Tried::Refused(rejection) => return Err(rejection.into()),
                Tried::Conflict => {}
            }
        }
        Err(KernelError::Contended)
    }

    /// Decides a command on these rows, and commits.
    async fn try_on(
        &self,
        project: &ProjectId,
        caller: &Caller,
        command: &Command,
        snapshot: &Snapshot,
        (remember, known): (Option<&Remember<Outcome>>, Known),
        now: Option<Timestamp>,
    ) -> Result<Tried, KernelError> {
        let moment = self.moment_at(caller, now);
        let Decision { mut commit, outcome } = match turn::decide(snapshot, project, command, &moment) {
            Ok(decision) => decision,
            Err(rejection) => return Ok(Tried::Refused(rejection)),
        };
        if let (Some(remember), Known::New) = (remember, known) {
            remember.note(&mut commit, &outcome, moment.now);
        }
        if let Some(memory) =
            self.turn_memory(project, snapshot, (&commit, command.replies()), &moment).await?
        {
            commit.append(memory);
        }
        match self.apply(commit).await {
            Ok(follow_up) => {
                if outcome == Outcome::Rung
                    && let Some(item) = &snapshot.inbox
                {
                    self.ring(&Ring::of(project, item, "watchdog"));
                }
                Ok(Tried::Done(outcome, follow_up))
            }
            Err(CommitError::Conflict(_)) => Ok(Tried::Conflict),
            Err(CommitError::Store(error)) => Err(error.into()),
        }
    }

    /// The turn of a caller who holds it; others are refused before anything is done for them. One that is recalled is not
    /// read: whoever goes on from here finds out with its commit, or asks [`Self::runs`].
    pub(crate) async fn running(&self, project: &ProjectId, held: &Fence) -> Result<Running, KernelError> {
        let holds = |rows: &Arc<Snapshot>| fence::check_running(rows, project, held).is_ok();
        let recalled = self.recall.turn(project, held.turn_id).filter(holds);
        let is_recalled = recalled.is_some();
        let rows = match recalled {
            Some(rows) => rows,
            None => Arc::new(self.runs(project, held).await?),
        };
        let missing = || Rejection::NotFound { what: "turn", id: held.turn_id.to_string() };
        let item = rows.turn.as_ref().ok_or_else(missing)?.item.clone();
        Ok(Running { turn: ViewedTurn::new(item, rows.head.clone()), rows, is_recalled })
    }

    /// Refuses a caller who does not hold the turn, according to the store.
    pub(crate) async fn runs(&self, project: &ProjectId, held: &Fence) -> Result<Snapshot, KernelError> {
        let keys = Keys { turn: Some(held.turn_id), turn_alone: true, ..Keys::default() };
        let snapshot = self.store.load(&Realm::from(project.clone()), &keys).await?;
        match fence::check_running(&snapshot, project, held) {
            // The command itself rebuilds what is lost.
            Ok(()) | Err(Rejection::Lost(_)) => Ok(snapshot),
            Err(rejection) => Err(rejection.into()),
        }
    }

    /// Takes a step that has a fresh name, with records that have fresh names, on the rows that [`Self::running`] found. They
    /// are read only if the turn was not left alone meanwhile.
    pub(crate) async fn step_as_seen(
        &self,
        project: &ProjectId,
        caller: &Caller,
        step: TakeStep,
        seen: &Snapshot,
        remember: Option<&Remember<Outcome>>,
    ) -> Result<Done<Outcome>, KernelError> {
        if let Some(outcome) = self.stepped_as_seen(project, caller, &step, seen, remember).await? {
            return Ok(Done::Fresh(outcome));
        }
        self.recall.forget(project, step.fence.turn_id);
        self.turn_command(project, caller, Command::Step(step), remember).await
    }

    /// What came of it, if it could be done so. A request that was answered before conflicts with that answer.
    #[tracing::instrument(name = "turn", level = "trace", skip_all, fields(otel.name = "turn.step", cardwire.project.id = %project, cardwire.turn.id = %step.fence.turn_id))]
    async fn stepped_as_seen(
        &self,
        project: &ProjectId,
        caller: &Caller,
        step: &TakeStep,
        seen: &Snapshot,
        remember: Option<&Remember<Outcome>>,
    ) -> Result<Option<Outcome>, KernelError> {
        let moment = self.moment(caller);
        let decided = turn::step::decide_unmoved(seen, project, step, &moment);
        // The command itself says what is wrong.
        let Ok(Decision { mut commit, outcome }) = decided else { return Ok(None) };
        if let Some(remember) = remember {
            remember.note(&mut commit, &outcome, moment.now);
        }
        match self.apply(commit).await {
            Ok(_) => Ok(Some(outcome)),
            Err(CommitError::Conflict(_)) => Ok(None),
            Err(CommitError::Store(error)) => Err(error.into()),
        }
    }

    /// What a command needs that only its rows tell.
    async fn load_more(
        &self,
        project: &ProjectId,
        realm: &Realm,
        command: &mut Command,
        snapshot: &mut Snapshot,
        now: Option<Timestamp>,
    ) -> Result<(), KernelError> {
        if command.wants_calls() {
            let calls = self.store.calls(project, command.turn_id()).await?;
            match command {
                Command::Append(append) => append.calls = calls,
                Command::Finish(finish) => finish.calls = calls,
                Command::Suspend(suspend) => suspend.calls = calls,
                Command::Report(report) => {
                    report.calls = calls;
                    self.load_answer(project, report).await?;
                }
                Command::Start(_)
                | Command::Heartbeat(_)
                | Command::Step(_)
                | Command::Release(_)
                | Command::Stop(_)
                | Command::Reap(_)
                | Command::TakeBack(_)
                | Command::ExpireTools(..)
                | Command::Requeue(..)
                | Command::Ring(..)
                | Command::Archive(_) => {}
            }
        }
        let live = snapshot.head.as_ref().and_then(|head| head.live.as_deref());
        let live = live.filter(|live| live.turn_id == command.turn_id());
        let output = live.map(|live| live.output_box);
        let delivered = live.and_then(|live| live.deliverable);
        let named = command.named_cards();
        if let (Some(output), false) = (output, named.is_empty()) {
            self.load_members(project, realm, output, named, snapshot).await?;
        }
        if let Some(card) = command.needs_showing(snapshot) {
            self.load_given(project, realm, card, snapshot).await?;
        }
        if let (Some(card), true) = (delivered, command.wants_remains()) {
            let keys = Keys { cards: vec![card], ..Keys::default() };
            snapshot.cards.extend(self.store.load(realm, &keys).await?.cards);
        }
        let now = now.unwrap_or_else(|| self.now());
        let undelivered = output.is_some() && turn::delivered(snapshot, delivered, now).is_none();
        if command.wants_remains() && undelivered {
            let remains = self.remains(project, snapshot).await?;
            match command {
                Command::Reap(reap) => reap.remains = remains,
                Command::TakeBack(back) => back.remains = remains,
                Command::Stop(stop) => stop.remains = remains,
                Command::Archive(archive) => archive.remains = remains,
                Command::Finish(finish) => finish.remains = remains,
                Command::Start(_)
                | Command::Heartbeat(_)
                | Command::Append(_)
                | Command::Step(_)
                | Command::Suspend(_)
                | Command::Report(_)
                | Command::Release(_)
                | Command::ExpireTools(..)
                | Command::Requeue(..)
                | Command::Ring(..) => {}
            }
        }
        self.load_next_box(realm, snapshot).await
    }

    /// The output box of the turn that is leased when this one ends, and that of this one if it waits itself.
    pub(crate) async fn load_next_box(
        &self,
        realm: &Realm,
        snapshot: &mut Snapshot,
    ) -> Result<(), KernelError> {
        let Some(rows) = &snapshot.turn else { return Ok(()) };
        let own = rows.item.output_box.filter(|_| rows.item.status == InboxStatus::Queued);
        let mut boxes: Vec<_> = next_output_box(&rows.next).into_iter().chain(own).collect();
        boxes.retain(|id| !snapshot.boxes.contains_key(id));
        if !boxes.is_empty() {
            let keys = Keys { boxes, ..Keys::default() };
            snapshot.boxes.extend(self.store.load(realm, &keys).await?.boxes);
        }
        Ok(())
    }

    /// Which cards the output box shows already.
    async fn load_members(
        &self,
        project: &ProjectId,
        realm: &Realm,
        output: BoxId,
        named: Vec<CardId>,
        snapshot: &mut Snapshot,
    ) -> Result<(), KernelError> {
        let keys = Keys { members: Some((output, named.clone())), ..Keys::default() };
        let found = self.store.load(realm, &keys).await?;
        snapshot.members = found.members;
        // The store knows direct entries; a box with segments shows more than those.
        if let Some(head) = found.boxes.get(&output).filter(|head| head.depth > 0) {
            let shown: HashSet<_> = self.flat_ids(project, head).await?.into_iter().collect();
            snapshot.members.extend(named.iter().filter(|id| shown.contains(id)));
        }
        Ok(())
    }

    /// Whether a card that a turn names was handed to it: by a box of its own, or by one that a result has named to its agent.
    async fn load_given(
        &self,
        project: &ProjectId,
        realm: &Realm,
        card: CardId,
        snapshot: &mut Snapshot,
    ) -> Result<(), KernelError> {
        let Some(head) = &snapshot.head else { return Ok(()) };
        let keys = Keys { boxes: handover::handed_over(head).collect(), ..Keys::default() };
        for shown in self.store.load(realm, &keys).await?.boxes.values() {
            if self.flat_ids(project, shown).await?.contains(&card) {
                snapshot.given.insert(card);
                return Ok(());
            }
        }
        if self.was_granted(project, &head.agent_id, card).await? {
            snapshot.given.insert(card);
        }
        Ok(())
    }

    /// What a turn left in its output box that a deliverable can be made of.
    async fn remains(&self, project: &ProjectId, snapshot: &Snapshot) -> Result<Remains, KernelError> {
        let live = snapshot.head.as_ref().and_then(|head| head.live.as_deref());
        let Some(live) = live else { return Ok(Remains::default()) };
        let Some(head) = snapshot.boxes.get(&live.output_box) else { return Ok(Remains::default()) };
        let from = Remains::since(live.watermark, head);
        let entries = self.find_box_cards(project, live.output_box, head.generation, from).await?;
        Ok(Remains::of(entries.iter().filter_map(|entry| entry.card.as_ref())))
    }

    pub(crate) fn moment_at(&self, caller: &Caller, now: Option<Timestamp>) -> Moment {
        let moment = self.moment(caller);
        Moment { now: now.unwrap_or(moment.now), ..moment }
    }
}

/// What a command is called in traces.
const fn verb(command: &Command) -> &'static str {
    match command {
        Command::Start(_) => "turn.start",
        Command::Heartbeat(_) => "turn.heartbeat",
        Command::Append(_) => "turn.append",
        Command::Step(_) => "turn.step",
        Command::Suspend(_) => "turn.suspend",
        Command::Report(_) => "turn.report",
        Command::Finish(_) => "turn.finish",
        Command::Release(_) => "turn.release",
        Command::Stop(_) => "turn.stop",
        Command::Reap(_) => "turn.reap",
        Command::TakeBack(_) => "turn.take_back",
        Command::ExpireTools(..) => "turn.expire_tools",
        Command::Requeue(..) => "turn.requeue",
        Command::Ring(..) => "turn.ring",
        Command::Archive(_) => "turn.archive",
    }
}

fn turn_keys(command: &Command) -> Keys {
    let inbox: Option<InboxId> = match command {
        Command::Requeue(_, inbox) | Command::Ring(_, inbox) => Some(*inbox),
        Command::Archive(archive) => Some(archive.inbox_id),
        Command::Start(_)
        | Command::Heartbeat(_)
        | Command::Append(_)
        | Command::Step(_)
        | Command::Suspend(_)
        | Command::Report(_)
        | Command::Finish(_)
        | Command::Release(_)
        | Command::Stop(_)
        | Command::Reap(_)
        | Command::TakeBack(_)
        | Command::ExpireTools(..) => None,
    };
    let mut cards = command.named_cards();
    if let Command::Step(step) = command {
        cards.extend(step.records.iter().map(|card| card.id));
    }
    Keys {
        turn: Some(command.turn_id()),
        turn_alone: command.leaves_turn_alone(),
        cards,
        step: command.named_step(),
        inbox,
        ..Keys::default()
    }
}
