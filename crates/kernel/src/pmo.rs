//! Calls of PMO tools: read who and what takes part, decide, and write the call, its answer and what it did as one
//! commit. A call that is refused leaves the call and its answer only (PM-16).

use crate::{Caller, Done, Kernel, KernelError, Preflight, Remember};
use cardwire_model::{Agent, AgentId, Commit, Head, Keys, ProjectId, Realm, ResourceKind, limits};
use cardwire_protocol::{
    Decision, Moment, Rejection,
    handover::{pack, recipe::Recipe},
    idempotency::{self, Known},
    pmo::{
        calls::{self, Answered, Call},
        delegate::{self, Boxes, Delegate, Given, Parties, Strategy, Target},
        provision::{self, Provision},
    },
    resource,
};
use cardwire_store::CommitError;
use serde_json::Value;

/// The tool that hands nothing over.
const PROVISION: &str = "provision_agent";

impl Kernel {
    /// Runs a call to its end. `code` names a refusal on the wire.
    pub async fn pmo_call(
        &self,
        project: &ProjectId,
        caller: &Caller,
        call: &Call,
        code: fn(&Rejection) -> &'static str,
        remember: Option<&Remember<Answered>>,
    ) -> Result<Done<Answered>, KernelError> {
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
            let (from, from_head) = self.party(project, &call.caller).await?;
            let moment = self.moment(caller);
            let fence = calls::fence(call, from_head.as_ref(), &moment)?;
            let tool_call_id = calls::fresh_call_id(&moment);
            let handled = self.handle(project, call, &tool_call_id, (from, from_head), &moment).await;
            let Decision { mut commit, outcome } = match handled {
                Ok((commit, result)) => {
                    calls::answer(call, tool_call_id, fence, commit, Ok(result), &moment)?
                }
                Err(KernelError::Rejected(Rejection::Lost(agent))) => {
                    self.rebuild(project, caller, &agent).await?;
                    continue;
                }
                Err(KernelError::Rejected(rejection)) => {
                    let told = calls::refusal(&rejection, target_id(call).as_ref(), code(&rejection));
                    let nothing = Commit::new(project.clone());
                    calls::answer(call, tool_call_id, fence, nothing, Err((rejection, told)), &moment)?
                }
                Err(error) => return Err(error),
            };
            if let (Some(remember), Known::New) = (remember, known) {
                let answer = (remember.render)(&outcome);
                commit.writes.push(idempotency::remember(&remember.key, answer, moment.now));
            }
            match self.commit(commit).await {
                Ok(()) => return Ok(Done::Fresh(outcome)),
                Err(CommitError::Conflict(_)) => {}
                Err(CommitError::Store(error)) => return Err(error.into()),
            }
        }
        Err(KernelError::Contended)
    }

    /// Does what the tool is for.
    async fn handle(
        &self,
        project: &ProjectId,
        call: &Call,
        tool_call_id: &str,
        (caller, caller_head): (Agent, Option<Head>),
        moment: &Moment,
    ) -> Result<(Commit, Value), KernelError> {
        if call.tool == PROVISION {
            return self.provision(project, call, moment).await;
        }
        let command = self.delegation(project, call).await?;
        let parties = self.parties(project, &command, (caller, caller_head)).await?;
        let boxes = delegate::boxes(call, &command, &parties)?;
        let (inherited, missing) = self.inherited(project, &command.required(), &boxes).await?;
        if let Some(id) = missing.first() {
            return Err(pack::no_box(id).into());
        }
        let known = self.boxes_of(project, &parties).await?;
        let given = Given { parties, inherited, known };
        let decision = delegate::decide(project, call, tool_call_id, &command, &given, moment)?;
        Ok((decision.commit, delegate::result(&decision.outcome.receipt)))
    }

    /// What a call hands over: by a tool of the system, or by a recipe of the project (PK-18).
    async fn delegation(&self, project: &ProjectId, call: &Call) -> Result<Delegate, KernelError> {
        if let Some(command) = Delegate::parse(&call.tool, &call.args).map_err(Rejection::from)? {
            return Ok(command);
        }
        let missing = || Rejection::NotFound { what: "tool", id: call.tool.clone() };
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

    async fn parties(
        &self,
        project: &ProjectId,
        command: &Delegate,
        (caller, caller_head): (Agent, Option<Head>),
    ) -> Result<Parties, KernelError> {
        let policy = self.policy(project, &caller).await?;
        let target = self.target(project, command).await?;
        Ok(Parties { caller, caller_head, policy, target })
    }

    /// Says what a call that delegates would give, on the same path up to the commit (PK-21). `None` for other tools.
    pub async fn pmo_preflight(
        &self,
        project: &ProjectId,
        caller: &Caller,
        call: &Call,
    ) -> Result<Option<Preflight>, KernelError> {
        let from = self.party(project, &call.caller).await?;
        calls::fence(call, from.1.as_ref(), &self.moment(caller))?;
        if call.tool == PROVISION {
            return Ok(None);
        }
        let command = self.delegation(project, call).await?;
        let parties = self.parties(project, &command, from).await?;
        let boxes = delegate::boxes(call, &command, &parties)?;
        let denied = pack::denied(&delegate::reach(call, &parties), &boxes);
        let allowed: Vec<_> = boxes.into_iter().filter(|id| !denied.contains(id)).collect();
        let (inherited, missing) = self.inherited(project, &command.required(), &allowed).await?;
        let known = self.boxes_of(project, &parties).await?;
        let (given, moment) = (Given { parties, inherited, known }, self.moment(caller));
        let tool_call_id = calls::fresh_call_id(&moment);
        let would = delegate::decide(project, call, &tool_call_id, &command, &given, &moment)?.outcome;
        self.preflight_of(project, &would.new_cards, would.packed, missing, denied).await.map(Some)
    }

    async fn provision(
        &self,
        project: &ProjectId,
        call: &Call,
        moment: &Moment,
    ) -> Result<(Commit, Value), KernelError> {
        let command = Provision::parse(&call.args)?;
        let mut given = provision::Given {
            existing: self.store.agent(project, &command.id).await?,
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

    /// An agent of the roster with its head.
    async fn party(&self, project: &ProjectId, id: &AgentId) -> Result<(Agent, Option<Head>), KernelError> {
        let keys = Keys { agent: Some(id.clone()), ..Keys::default() };
        let found = self.store.load(&Realm::from(project.clone()), &keys).await?;
        let missing = || Rejection::NotFound { what: "agent", id: id.to_string() };
        let agent = found.agent.ok_or_else(missing)?;
        if found.head.is_none() && found.lost.as_ref().is_some_and(|lost| lost.is_something()) {
            return Err(Rejection::Lost(id.clone()).into());
        }
        Ok((agent, found.head))
    }

    async fn target(&self, project: &ProjectId, command: &Delegate) -> Result<Target, KernelError> {
        let name = &command.target_ref;
        if command.strategy == Strategy::New {
            return Ok(Target::New(self.resolve_profile(project, name).await?));
        }
        let missing = |_| Rejection::NotFound { what: "agent", id: name.clone() };
        let (agent, head) = self.party(project, &name.parse().map_err(missing)?).await?;
        Ok(match command.strategy {
            Strategy::Reuse => Target::Reuse(agent, head),
            Strategy::New | Strategy::Clone => Target::Clone(agent, head),
        })
    }

    /// The `delegation_policy` of an agent's profile, as it is now.
    async fn policy(&self, project: &ProjectId, agent: &Agent) -> Result<Option<Value>, KernelError> {
        match self.profile(project, &agent.profile_name).await {
            Ok((_, card)) => Ok(card.content.to_value().get("delegation_policy").cloned()),
            Err(KernelError::Rejected(Rejection::NotFound { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn boxes_of(&self, project: &ProjectId, parties: &Parties) -> Result<Boxes, KernelError> {
        let output = parties.output_box();
        let keys = Keys {
            boxes: output.into_iter().chain([parties.profile_box()]).collect(),
            writers_of: output.into_iter().collect(),
            ..Keys::default()
        };
        let found = self.store.load(&Realm::from(project.clone()), &keys).await?;
        Ok(Boxes { heads: found.boxes.into_iter().collect(), writers: found.writers.into_iter().collect() })
    }
}

/// Whom a call names, if it names an agent.
fn target_id(call: &Call) -> Option<AgentId> {
    let name = if call.tool == PROVISION { "agent_id" } else { "target_ref" };
    call.args.get(name).and_then(Value::as_str).and_then(|id| id.trim().parse().ok())
}
