//! Calls of PMO tools: read who and what takes part, decide, and write the call, its answer and what it did as one
//! commit. A call that is refused leaves the call and its answer only (PM-16).

mod reading;
mod slots;

use crate::{Caller, Done, Kernel, KernelError, Preflight, Remember};
use cardwire_model::{
    Agent, AgentId, Batch, CanonicalJson, Commit, Head, InboxItem, Invalid, Keys, ProjectId, Realm,
    ResourceKind, Snapshot, StepId, TurnId, TurnPayload, limits,
};
use cardwire_protocol::{
    Decision, Moment, Rejection,
    batch::{TOOL as FORK, args::Fork},
    handover::recipe::Recipe,
    idempotency::{self, Known},
    pmo::{
        calls::{self, Answered, Call, Standing},
        delegate::{self, Delegate, Given},
        made,
        provision::{self, Provision},
    },
    resource,
};
use cardwire_store::{BatchFilter, CommitError};
use serde_json::{Map, Value};

pub(crate) use reading::{Amiss, Calling, Seen};
pub use slots::PmoConfig;
pub(crate) use slots::Slots;

/// The tool that hands nothing over.
const PROVISION: &str = "provision_agent";

impl Kernel {
    /// Runs a call to its end. `code` names a refusal on the wire.
    #[tracing::instrument(name = "pmo.call", level = "trace", skip_all, fields(otel.name = verb(&call.tool), cardwire.project.id = %project, cardwire.agent.id = %call.caller))]
    pub async fn pmo_call(
        &self,
        project: &ProjectId,
        caller: &Caller,
        call: &Call,
        code: fn(&Rejection) -> &'static str,
        remember: Option<&Remember<Answered>>,
    ) -> Result<Done<Answered>, KernelError> {
        let _place = self.pmo_slots.enter().await?;
        let realm = Realm::from(project.clone());
        let answer = Keys { answer: remember.map(|remember| remember.key.clone()), ..Keys::default() };
        for _ in 0..limits::DECIDE_ATTEMPTS {
            let known = match remember {
                Some(remember) => {
                    idempotency::known(&self.store.load(&realm, &answer).await?, &remember.key)?
                }
                None => Known::Repeatable,
            };
            if let Known::Answered(answer) = known {
                return Ok(Done::Replayed(answer));
            }
            match self.try_call(project, caller, call, code, (remember, known)).await {
                Ok(Some(answered)) => return Ok(Done::Fresh(answered)),
                Ok(None) => {}
                Err(KernelError::Rejected(Rejection::Lost(agent))) => {
                    self.rebuild(project, caller, &agent).await?;
                }
                Err(error) => return Err(error),
            }
        }
        Err(KernelError::Contended)
    }

    /// Runs a call on the rows as they are; nothing when somebody else got in between.
    async fn try_call(
        &self,
        project: &ProjectId,
        caller: &Caller,
        call: &Call,
        code: fn(&Rejection) -> &'static str,
        (remember, known): (Option<&Remember<Answered>>, Known),
    ) -> Result<Option<Answered>, KernelError> {
        let (from, from_head) = self.party(project, &call.caller).await?;
        let moment = self.moment(caller);
        let row = self.calling_row(project, call).await?;
        let fence = calls::fence(call, from_head.as_ref(), row.as_ref(), &moment)?;
        calls::check_run(call, own_run(row.as_ref()).as_ref())?;
        let mut call = call.placed(from_head.as_ref().and_then(|head| head.live.as_deref()));
        let made = self.made_call(project, &call).await?;
        if let Some(MadeCall { standing, .. }) = made
            && standing != Standing::Open
        {
            let id = call.carries_out.clone().unwrap_or_default();
            let answer = match standing {
                Standing::Answered(card, _) => self.card(project, card).await?,
                Standing::Open | Standing::Started(..) => None,
            };
            return Ok(Some(calls::repeated(id, standing, answer.as_deref())));
        }
        let rows = made.map(|MadeCall { rows, args, .. }| {
            call.to_mut().args = args;
            rows
        });
        let (call, rows) = (call.as_ref(), rows.as_ref());
        let id = call.carries_out.clone().unwrap_or_else(|| calls::fresh_call_id(&moment));
        let handled = match self.handle(project, call, &id, (from, from_head), &moment).await {
            // Whoever forked after it was looked at above, and before the rows that the commit expects were read, is seen by
            // neither.
            Ok(Handled::Started(_)) if self.has_forked(project, call).await? => return Ok(None),
            Ok(handled) => Ok(handled),
            Err(KernelError::Rejected(Rejection::Lost(agent))) => return Err(Rejection::Lost(agent).into()),
            Err(KernelError::Rejected(rejection)) => Err(rejection),
            Err(error) => return Err(error),
        };
        let decided = match handled {
            Ok(Handled::Done(commit, result)) => {
                calls::answer(call, id, fence, commit, Ok(result), rows, &moment)
            }
            Ok(Handled::Started(decision)) => {
                let Decision { mut commit, outcome } = *decision;
                commit.writes.extend(fence);
                Ok(Decision { commit, outcome })
            }
            Err(rejection) => {
                let told = calls::refusal(&rejection, target_id(call).as_ref(), code(&rejection));
                let nothing = Commit::new(project.clone());
                calls::answer(call, id, fence, nothing, Err((rejection, told)), rows, &moment)
            }
        };
        let Decision { mut commit, outcome } = match decided {
            // The rows are newer than what was looked at: the call was answered, or its turn ended, in between. Which, is told
            // by looking again.
            Err(Rejection::StaleTurn(..)) if rows.is_some() => return Ok(None),
            decided => decided?,
        };
        if let (Some(remember), Known::New) = (remember, known) {
            remember.note(&mut commit, &outcome, moment.now);
        }
        match self.commit(commit).await {
            Ok(()) => {
                self.started(project, &outcome).await;
                Ok(Some(outcome))
            }
            Err(CommitError::Conflict(_)) => Ok(None),
            Err(CommitError::Store(error)) => Err(error.into()),
        }
    }

    /// The row of the turn that calls. Read after its head, so that a token that is still good was good when that was read.
    async fn calling_row(&self, project: &ProjectId, call: &Call) -> Result<Option<InboxItem>, KernelError> {
        match call.by_turn {
            Some(turn) => Ok(self.store.turn(project, turn).await?),
            None => Ok(None),
        }
    }

    /// The call of the turn that is carried out.
    async fn made_call(&self, project: &ProjectId, call: &Call) -> Result<Option<MadeCall>, KernelError> {
        let Some(id) = &call.carries_out else { return Ok(None) };
        let Some(turn) = call.by_turn else {
            return Err(Invalid::field(
                "tool_call_id",
                "is for the turn that made the call, with its own token",
            )
            .into());
        };
        let calls = self.store.calls(project, turn).await?;
        let found = calls.iter().find(|call| call.tool_call_id == *id);
        let found = found.ok_or_else(|| Rejection::NotFound { what: "tool call", id: id.clone() })?;
        let has_begun = found.waiting || found.answer.is_some();
        let batch = if has_begun { self.batch_of(project, turn, id).await? } else { None };
        let args = match found.call_card {
            Some(card) => match self.card(project, card).await? {
                Some(card) => made::arguments(call, &card, id)?,
                None => call.args.clone(),
            },
            None => call.args.clone(),
        };
        let keys = Keys { turn: Some(turn), ..Keys::default() };
        let mut rows = self.store.load(&Realm::from(project.clone()), &keys).await?;
        self.load_next_box(&Realm::from(project.clone()), &mut rows).await?;
        Ok(Some(MadeCall { rows, standing: Standing::of(found, batch.as_ref()), args }))
    }

    /// Whether the call that is carried out has forked.
    async fn has_forked(&self, project: &ProjectId, call: &Call) -> Result<bool, KernelError> {
        match (call.by_turn, &call.carries_out) {
            (Some(turn), Some(id)) => Ok(self.batch_of(project, turn, id).await?.is_some()),
            (None, _) | (_, None) => Ok(false),
        }
    }

    /// What a call of a turn has forked.
    async fn batch_of(
        &self,
        project: &ProjectId,
        turn: TurnId,
        call: &str,
    ) -> Result<Option<Batch>, KernelError> {
        let filter = BatchFilter { parent_turn: Some(turn), ..BatchFilter::default() };
        let mut before = None;
        loop {
            let page = self.store.batches(project, &filter, before, limits::PAGE_MAX).await?;
            before = page.last().map(|batch| batch.id);
            let is_last = page.len() < limits::PAGE_MAX;
            let found = page.into_iter().find(|batch| batch.parent_call == call);
            if found.is_some() || is_last {
                return Ok(found);
            }
        }
    }

    /// Does what the tool is for.
    async fn handle(
        &self,
        project: &ProjectId,
        call: &Call,
        tool_call_id: &str,
        from: (Agent, Option<Head>),
        moment: &Moment,
    ) -> Result<Handled, KernelError> {
        let calling = self.calling(project, from).await?;
        calling.check_tool(call)?;
        match call.tool.as_str() {
            PROVISION => {
                let (commit, result) = self.provision(project, call, calling.step, moment).await?;
                Ok(Handled::Done(commit, result))
            }
            FORK => {
                let decision = self.fork(project, call, tool_call_id, calling, moment).await?;
                Ok(Handled::Started(Box::new(decision)))
            }
            _ => {
                let command = self.delegation(project, call).await?;
                let (mut given, amiss) =
                    self.given(project, call, &command, &calling, &mut Seen::default()).await?;
                amiss.check()?;
                let lineage = self.lineage(project, &calling).await?;
                given.budget = self.budget(project, call, &lineage).await?;
                let decision = delegate::decide(project, call, tool_call_id, &command, &given, moment)?;
                Ok(Handled::Done(decision.commit, delegate::result(&decision.outcome.receipt)))
            }
        }
    }

    /// What a call hands over: by a tool of the system, or by a recipe of the project (PK-18).
    async fn delegation(&self, project: &ProjectId, call: &Call) -> Result<Delegate, KernelError> {
        if let Some(command) = Delegate::parse(&call.tool, &call.args).map_err(Rejection::from)? {
            return Ok(command);
        }
        let missing = || resource::no_definition(&call.tool);
        let name = call.tool.parse().map_err(|_| missing())?;
        let (_, card) = match self.resource(project, ResourceKind::Recipe, &name).await {
            Err(KernelError::Rejected(Rejection::NotFound { .. })) => {
                return match self.resource(project, ResourceKind::Tool, &name).await {
                    Ok(_) => Err(resource::runs_elsewhere(&name).into()),
                    Err(KernelError::Rejected(Rejection::NotFound { .. })) => Err(missing().into()),
                    Err(error) => Err(error),
                };
            }
            found => found?,
        };
        let recipe = Recipe::parse(&card.content).map_err(Rejection::from)?;
        Ok(Delegate::by_recipe(recipe, &call.args).map_err(Rejection::from)?)
    }

    /// Says what a call that hands over would give, on the same path up to the commit (PK-21): one answer, or one for each
    /// branch of a fork. `None` for other tools.
    pub async fn pmo_preflight(
        &self,
        project: &ProjectId,
        caller: &Caller,
        call: &Call,
    ) -> Result<Option<Vec<Preflight>>, KernelError> {
        let _place = self.pmo_slots.enter().await?;
        let from = match self.party(project, &call.caller).await {
            Err(KernelError::Rejected(Rejection::Lost(agent))) => {
                self.rebuild(project, caller, &agent).await?;
                self.party(project, &call.caller).await?
            }
            found => found?,
        };
        let moment = self.moment(caller);
        let row = self.calling_row(project, call).await?;
        calls::fence(call, from.1.as_ref(), row.as_ref(), &moment)?;
        calls::check_run(call, own_run(row.as_ref()).as_ref())?;
        if call.tool == PROVISION {
            return Ok(None);
        }
        let made = match self.made_call(project, call).await? {
            // A repeat hands nothing over.
            Some(made) if made.standing != Standing::Open => return Ok(Some(vec![])),
            Some(made) => Some(Call { args: made.args, ..call.clone() }),
            None => {
                calls::check_card(call, &moment).map_err(Rejection::from)?;
                None
            }
        };
        let call = made.as_ref().unwrap_or(call);
        let calling = self.calling(project, from).await?;
        calling.check_tool(call)?;
        let lineage = self.lineage(project, &calling).await?;
        let budget = self.budget(project, call, &lineage).await?;
        let is_fork = call.tool == FORK;
        let commands = if is_fork {
            Fork::parse(&call.args, &call.pmo).map_err(Rejection::from)?.tasks
        } else {
            vec![self.delegation(project, call).await?]
        };
        let (mut seen, mut read) = (Seen::default(), vec![]);
        for (index, command) in commands.iter().enumerate() {
            let given = self.given(project, call, command, &calling, &mut seen).await;
            let (given, amiss) =
                given.map_err(|error| if is_fork { crate::batches::of_task(index, error) } else { error })?;
            read.push((command, Given { budget, ..given }, amiss));
        }
        // What a fork as a whole is refused for comes before what one of its tasks is, as it does when it is made.
        if is_fork && read.iter().all(|(.., amiss)| amiss.check().is_ok()) {
            self.fork(project, call, &calls::fresh_call_id(&moment), calling, &moment).await?;
        }
        let mut answers = vec![];
        for (command, given, Amiss { missing, denied }) in read {
            let tool_call_id = calls::fresh_call_id(&moment);
            let would = delegate::decide(project, call, &tool_call_id, command, &given, &moment)?.outcome;
            let output = given.parties.output_box().filter(|id| *id == would.receipt.output_box);
            let amiss = (missing, denied);
            answers.push(self.preflight_of(project, &would.new_cards, would.packed, output, amiss).await?);
        }
        Ok(Some(answers))
    }

    async fn provision(
        &self,
        project: &ProjectId,
        call: &Call,
        caller_step: Option<StepId>,
        moment: &Moment,
    ) -> Result<(Commit, Value), KernelError> {
        let command = Provision::parse(&call.args)?;
        let mut given = provision::Given {
            existing: self.store.agent(project, &command.id).await?,
            caller_step,
            ..provision::Given::default()
        };
        if let Some(source) = &command.derived_from {
            given.source = Some(self.party(project, source).await?.0);
        }
        if let Some(name) = &command.profile_name {
            given.profile = match self.resolve_profile(project, name).await {
                Ok(profile) => Some(profile),
                Err(KernelError::Rejected(Rejection::NotFound { .. })) => None,
                Err(error) => return Err(error),
            };
        }
        let decision = provision::decide(project, call, &command, &given, moment)?;
        Ok((decision.commit, provision::result(&decision.outcome)))
    }
}

/// The settings of the run that the turn of a row is in.
fn own_run(row: Option<&InboxItem>) -> Option<CanonicalJson> {
    TurnPayload::from_stored(&row?.payload).ok().map(|payload| payload.runtime_config)
}

/// A call that a turn has made and that is carried out.
struct MadeCall {
    /// The rows of the turn.
    rows: Snapshot,
    /// Where it stands.
    standing: Standing,
    /// What it says.
    args: Map<String, Value>,
}

/// What a tool has done.
enum Handled {
    /// All of it.
    Done(Commit, Value),
    /// It has begun; the answer comes when that has ended.
    Started(Box<Decision<Answered>>),
}

/// What a call is called in traces. A recipe's name is the project's own word.
fn verb(tool: &str) -> &'static str {
    match tool {
        "delegate_async" => "pmo.delegate_async",
        "launch_principal" => "pmo.launch_principal",
        "ask_expert" => "pmo.ask_expert",
        PROVISION => "pmo.provision_agent",
        FORK => "pmo.fork_join",
        _ => "pmo.recipe",
    }
}

/// Whom a call names, if it names an agent.
fn target_id(call: &Call) -> Option<AgentId> {
    let text = |name: &str| call.args.get(name).and_then(Value::as_str).map(str::trim);
    // For a new agent the reference is a profile.
    let is_new = text("target_strategy").is_some_and(|strategy| strategy.eq_ignore_ascii_case("new"));
    let name = if call.tool == PROVISION { "agent_id" } else { "target_ref" };
    text(name).filter(|_| !is_new).and_then(|id| id.parse().ok())
}
