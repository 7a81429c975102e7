//! Hand work to an agent: a new one, one that is there, or a copy of one (PM-05..PM-13). Identity, context and turn are
//! one commit: whatever is not accepted leaves no agent and no box.

use super::{args::Args, budget::Budget, calls::Call, policy};
use crate::{
    Decision, Moment, Rejection,
    handover::{
        self, Handover,
        pack::{self, Inherited, PackContext, Packed, Reach, Required, Target as PackTarget},
        profile,
        recipe::Recipe,
    },
    roster::add_agent::{self, By},
    turn::dispatch::{self, Dispatch, Dispatched, Receipt},
};
use cardwire_model::{
    Agent, AgentId, AuditAction, BoxHead, BoxId, BranchKey, Card, Commit, Grant, Head, Invalid, Origin,
    Profile, ProjectId, Revision, Snapshot, StepId, TurnId, Write,
};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

/// Who gets the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// A new agent of a profile.
    New,
    /// An agent that is there.
    Reuse,
    /// A new agent like another, which is given what that one has written.
    Clone,
}

impl Strategy {
    /// The one with this name, in any case.
    pub fn parse(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "new" => Some(Self::New),
            "reuse" => Some(Self::Reuse),
            "clone" => Some(Self::Clone),
            _ => None,
        }
    }
}

/// Work to hand over.
#[derive(Debug, Clone, PartialEq)]
pub struct Delegate {
    /// Who gets it.
    pub strategy: Strategy,
    /// The profile, or the agent.
    pub target_ref: String,
    /// What to do.
    pub instruction: String,
    /// What to give besides.
    pub context_box: Option<String>,
    /// Give what the caller has written, too.
    pub include_history: bool,
    /// The rules to pack by, where they are not those of the built-in flows.
    pub recipe: Option<Recipe>,
}

impl Delegate {
    /// Reads the arguments of one of the tools that delegate; `None` for any other tool.
    pub fn parse(tool: &str, given: &Map<String, Value>) -> Result<Option<Self>, Invalid> {
        let args = Args { tool, given };
        let to_new = |target_ref, instruction, include_history| {
            let (strategy, context_box, recipe) = (Strategy::New, None, None);
            Some(Self { strategy, target_ref, instruction, context_box, include_history, recipe })
        };
        match tool {
            "delegate_async" => {
                args.only(&["target_strategy", "target_ref", "instruction", "context_box_id"])?;
                let wrong = || args.refuse("target_strategy", "must be one of new|reuse|clone");
                let strategy = Strategy::parse(&args.required("target_strategy")?).ok_or_else(wrong)?;
                Ok(Some(Self {
                    strategy,
                    target_ref: args.required("target_ref")?,
                    instruction: args.required("instruction")?,
                    context_box: args.box_id("context_box_id")?,
                    include_history: false,
                    recipe: None,
                }))
            }
            "launch_principal" => {
                args.only(&["profile_name", "instruction"])?;
                Ok(to_new(args.required("profile_name")?, args.required("instruction")?, false))
            }
            "ask_expert" => {
                args.only(&["expert_profile", "question", "include_history"])?;
                let (profile, question) = (args.required("expert_profile")?, args.required("question")?);
                Ok(to_new(profile, question, args.flag("include_history")?))
            }
            _ => Ok(None),
        }
    }
}

impl Delegate {
    /// Work by a recipe (PK-18): for a new agent of the profile that the arguments or the rules name.
    pub fn by_recipe(recipe: Recipe, given: &Map<String, Value>) -> Result<Self, Invalid> {
        let target_ref = profile::wanted(given, &recipe.handover).map_err(named_in_args)?.to_owned();
        let instruction = String::new();
        let (strategy, context_box, include_history) = (Strategy::New, None, false);
        Ok(Self { strategy, target_ref, instruction, context_box, include_history, recipe: Some(recipe) })
    }

    /// What must be there.
    pub fn required(&self) -> Required {
        self.recipe.as_ref().map(|recipe| recipe.required.clone()).unwrap_or_default()
    }
}

/// Who takes part.
#[derive(Debug, Clone)]
pub struct Parties {
    /// Who calls.
    pub caller: Agent,
    /// What the caller is doing.
    pub caller_head: Option<Head>,
    /// The step that the caller's turn is in: the newest it has written.
    pub caller_step: Option<StepId>,
    /// The `delegation_policy` of the caller's profile.
    pub policy: Option<Value>,
    /// Who gets the work.
    pub target: Target,
}

/// Who gets the work.
#[derive(Debug, Clone)]
pub enum Target {
    /// A new agent of this profile.
    New(Profile),
    /// This agent.
    Reuse(Agent, Option<Head>),
    /// A new agent like this one.
    Clone(Agent, Option<Head>),
}

/// Rows about the boxes that the turn is given.
#[derive(Debug, Clone, Default)]
pub struct Boxes {
    /// The heads of the profile's box and of the output box.
    pub heads: BTreeMap<BoxId, BoxHead>,
    /// Who writes the output box.
    pub writers: Vec<(BoxId, AgentId)>,
}

impl Boxes {
    /// Whether a box still takes what is written. One that was given to another turn to read does not.
    fn is_open(&self, id: BoxId) -> bool {
        self.heads.get(&id).is_none_or(|head| !head.sealed)
    }
}

/// Where an agent writes now, or has written last (PM-08).
pub(crate) fn current_output(head: Option<&Head>) -> Option<BoxId> {
    let head = head?;
    head.live.as_ref().map(|live| live.output_box).or(head.last_output_box)
}

impl Parties {
    /// The box that the target writes on: the one it has (PM-07).
    pub fn output_box(&self) -> Option<BoxId> {
        match &self.target {
            Target::Reuse(_, head) => current_output(head.as_ref()),
            Target::New(_) | Target::Clone(..) => None,
        }
    }

    /// The box of the target's profile.
    pub fn profile_box(&self) -> BoxId {
        match &self.target {
            Target::New(profile) => profile.profile_box,
            Target::Reuse(agent, _) | Target::Clone(agent, _) => agent.profile_box,
        }
    }

    /// Boxes that were handed to the caller.
    fn handed_over(&self) -> HashSet<BoxId> {
        let of_head = self.caller_head.iter().flat_map(handover::handed_over);
        of_head.chain([self.caller.profile_box]).collect()
    }
}

/// What the target is given besides the instruction, in order (PM-09). Whoever may not have the target is told nothing of it
/// (PM-14).
pub fn boxes(call: &Call, command: &Delegate, parties: &Parties) -> Result<Vec<BoxId>, Rejection> {
    check_policy(call, parties)?;
    if let Some(recipe) = &command.recipe {
        return pack::boxes(&call.args, &recipe.handover).map_err(in_args);
    }
    let mut boxes = vec![];
    if let Some(id) = &command.context_box {
        boxes.push(id.parse().map_err(|_| pack::no_box(id))?);
    }
    if command.include_history {
        let missing = || Invalid::field("args/include_history", "caller output_box missing");
        boxes.push(current_output(parties.caller_head.as_ref()).ok_or_else(missing)?);
    }
    if let Target::Clone(_, head) = &parties.target {
        let missing = || Invalid::field("args/target_ref", "source output_box missing");
        boxes.push(current_output(head.as_ref()).ok_or_else(missing)?);
    }
    Ok(crate::facts::distinct(&boxes))
}

/// Work that was accepted.
#[derive(Debug, Clone)]
pub struct Delegated {
    /// What the dispatcher says.
    pub receipt: Receipt,
    /// What the agent is given.
    pub packed: Packed,
    /// The cards of it that are new.
    pub new_cards: Vec<Card>,
}

/// What was read.
#[derive(Debug, Clone)]
pub struct Given {
    /// Who takes part.
    pub parties: Parties,
    /// The boxes of [`boxes`], in that order.
    pub inherited: Vec<Arc<Inherited>>,
    /// Those of them that were granted to the caller.
    pub granted: HashSet<BoxId>,
    /// What the caller may still start.
    pub budget: Budget,
    /// What is known of the boxes of the turn.
    pub known: Boxes,
}

/// Who does the work and what it is given, before anybody is asked to do it.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    pub(crate) agent: Agent,
    pub(crate) head: Option<Head>,
    pub(crate) context: BoxHead,
    packed: Packed,
    new_cards: Vec<Card>,
}

/// Makes the agent, if need be, and packs its context into `commit`.
pub(crate) fn prepare(
    commit: &mut Commit,
    call: &Call,
    command: &Delegate,
    given: &Given,
    moment: &Moment,
) -> Result<Prepared, Rejection> {
    let Given { parties, inherited, .. } = given;
    check_policy(call, parties)?;
    let (agent, head) = identity(commit, call, parties, moment);
    let target = PackTarget { profile_name: agent.profile_name.clone(), profile_box: agent.profile_box };
    let command = packing(call, command, given, &target);
    let assembly = pack::assemble(&command, &target, inherited, moment).map_err(in_args)?.sealed();
    let (context, new_cards) = (assembly.head().clone(), assembly.cards.clone());
    let packed = assembly.add_to(commit);
    Ok(Prepared { agent, head, context, packed, new_cards })
}

/// Hands the work over.
pub fn decide(
    project: &ProjectId,
    call: &Call,
    tool_call_id: &str,
    command: &Delegate,
    given: &Given,
    moment: &Moment,
) -> Result<Decision<Delegated>, Rejection> {
    let mut commit = Commit::new(project.clone());
    given.budget.spend(&mut commit, 1)?;
    pack::add_copies(&mut commit, &given.inherited, moment.now);
    let prepared = prepare(&mut commit, call, command, given, moment)?;
    let receipt = dispatch_to(&mut commit, call, tool_call_id, given, &prepared, None, moment)?;
    // The result names the box, and what a result names may be handed on.
    let grant = Grant { agent_id: call.caller.clone(), box_id: receipt.output_box, at: moment.now };
    commit.writes.push(Write::AddGrant(Box::new(grant)));
    let detail =
        json!({ "agent_turn_id": receipt.turn_id.to_string(), "box_id": receipt.output_box.to_string() });
    commit.audit.push(moment.audit(AuditAction::BoxGrant, &call.caller, &detail));
    let Prepared { packed, new_cards, .. } = prepared;
    Ok(Decision { commit, outcome: Delegated { receipt, packed, new_cards } })
}

/// Puts the turn of a prepared agent into its inbox (DP-01). `commit` is left as it was if that is refused.
pub(crate) fn dispatch_to(
    commit: &mut Commit,
    call: &Call,
    tool_call_id: &str,
    given: &Given,
    prepared: &Prepared,
    branch: Option<(BranchKey, TurnId)>,
    moment: &Moment,
) -> Result<Receipt, Rejection> {
    let Given { parties, known, .. } = given;
    let Prepared { agent, head, context, .. } = prepared;
    let parent = parties.caller_head.as_ref().and_then(|head| head.live.as_ref());
    let turn = Dispatch {
        agent_id: Some(agent.id.clone()),
        profile_box: Some(agent.profile_box),
        context_box: Some(context.box_id),
        output_box: parties
            .output_box()
            .filter(|id| call.run.output.keeps(head.as_ref()) && known.is_open(*id)),
        turn_id: branch.map(|(_, turn)| turn),
        correlation_id: None,
        channel: call.channel.clone(),
        trace_id: call.trace_id.clone(),
        parent_turn: parent.map(|live| live.turn_id),
        parent_call: Some(tool_call_id.to_owned()),
        parent_step: parties.caller_step.clone(),
        branch: branch.map(|(key, _)| key),
        source_agent: Some(call.caller.clone()),
        display_name: None,
        runtime_config: call.run.runtime_config.clone(),
        queue_if_busy: true,
        emit_state_event: true,
        max_depth: call.max_depth,
    };
    let mut snapshot = Snapshot {
        agent: Some(agent.clone()),
        head: head.clone(),
        depth: parent.map(|live| live.depth),
        writers: known.writers.iter().cloned().collect(),
        ..Snapshot::default()
    };
    snapshot.boxes.extend(known.heads.iter().map(|(id, head)| (*id, head.clone())));
    snapshot.boxes.insert(context.box_id, context.clone());
    let project = commit.realm.project().ok_or_else(|| Rejection::not_found("project", &commit.realm))?;
    let dispatched = dispatch::decide(&snapshot, project, &turn, moment)?;
    let Dispatched::Accepted(receipt) = dispatched.outcome else {
        return Err(Rejection::Conflict("the turn was there already".to_owned()));
    };
    commit.append(dispatched.commit);
    Ok(*receipt)
}

/// What the caller is told of work that was accepted (PM-11).
pub fn result(receipt: &Receipt) -> Value {
    json!({
        "status": "accepted",
        "agent_id": receipt.agent_id.as_str(),
        "agent_turn_id": receipt.turn_id.to_string(),
        "turn_epoch": receipt.epoch.map(|epoch| epoch.get()),
        "context_box_id": receipt.context_box.to_string(),
        "output_box_id": receipt.output_box.to_string(),
    })
}

fn check_policy(call: &Call, parties: &Parties) -> Result<(), Rejection> {
    let policy = parties.policy.as_ref();
    let (profile, tags) = match &parties.target {
        Target::New(profile) => (&profile.name, &profile.tags),
        Target::Reuse(agent, _) | Target::Clone(agent, _) => (&agent.profile_name, &agent.tags),
    };
    policy::check(policy, call.require_policy, profile.as_str(), tags)
}

/// The agent that gets the work, made if need be, and its head.
fn identity(commit: &mut Commit, call: &Call, parties: &Parties, moment: &Moment) -> (Agent, Option<Head>) {
    let id = |profile_box: BoxId| AgentId::derived(profile_box, moment.fresh.uuid());
    let spawned_by = call.caller.as_str();
    let agent = match &parties.target {
        Target::Reuse(agent, head) => return (agent.clone(), head.clone()),
        Target::New(profile) => Agent {
            id: id(profile.profile_box),
            profile_name: profile.name.clone(),
            profile_box: profile.profile_box,
            worker_target: profile.worker_target.clone(),
            display_name: None,
            tags: profile.tags.clone(),
            owner: Some(call.caller.clone()),
            metadata: crate::decision::own_json(&json!({ "spawned_by": spawned_by })),
            revision: Revision::FIRST,
            created_at: moment.now,
            updated_at: moment.now,
        },
        Target::Clone(source, _) => Agent {
            id: id(source.profile_box),
            owner: Some(source.id.clone()),
            display_name: None,
            metadata: crate::decision::own_json(
                &json!({ "spawned_by": spawned_by, "derived_from": source.id.as_str() }),
            ),
            revision: Revision::FIRST,
            created_at: moment.now,
            updated_at: moment.now,
            ..source.clone()
        },
    };
    let by = By {
        source: Some(&call.caller),
        channel: &call.channel,
        trace_id: Some(&call.trace_id),
        step: parties.caller_step.as_ref(),
    };
    add_agent::provision(commit, &agent, None, &by, moment);
    (agent, None)
}

/// A refusal of packing, as one of a call, whose arguments are named `args`.
fn in_args(rejection: Rejection) -> Rejection {
    let Rejection::Invalid(invalid) = rejection else { return rejection };
    named_in_args(invalid).into()
}

fn named_in_args(invalid: Invalid) -> Invalid {
    let place = invalid.field_name().strip_prefix("arguments/").map(|name| format!("args/{name}"));
    match place {
        Some(place) => invalid.at(place),
        None => invalid,
    }
}

/// The one recipe of the built-in flows (PK-16).
fn packing(call: &Call, command: &Delegate, given: &Given, target: &PackTarget) -> PackContext {
    let ids: Vec<_> = given.inherited.iter().map(|from| from.head.box_id).collect();
    let (arguments, handover) = match &command.recipe {
        Some(recipe) => (call.args.clone(), recipe.handover.clone()),
        None => {
            let mut arguments = Map::new();
            arguments.insert("instruction".to_owned(), command.instruction.as_str().into());
            arguments.insert("input_box_ids".to_owned(), ids.iter().map(ToString::to_string).collect());
            (arguments, Handover::with_instruction(target.profile_name.as_str(), !ids.is_empty()))
        }
    };
    PackContext {
        tool_suffix: call.tool.clone(),
        source_agent: Some(call.caller.clone()),
        arguments,
        handover,
        required: command.required(),
        reach: reach(call, &given.parties, &given.granted),
        origin: if call.by_turn.is_some() { Origin::Agent } else { Origin::Operator },
    }
}

/// an operator may hand over any box, a turn what was handed to its agent.
pub fn reach(call: &Call, parties: &Parties, granted: &HashSet<BoxId>) -> Reach {
    if call.by_turn.is_none() {
        return Reach::Project;
    }
    let mut boxes = parties.handed_over();
    boxes.extend(granted);
    // To copy an agent is to give what it has written to the copy.
    if let Target::Clone(_, head) = &parties.target {
        boxes.extend(current_output(head.as_ref()));
    }
    Reach::HandedOver { boxes, mode: call.acl }
}

#[cfg(test)]
mod tests;
