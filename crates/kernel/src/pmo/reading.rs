//! What a call that hands over must know: who calls, who gets the work, what is inherited and what may still be started. A
//! fork with many tasks reads each profile and each box once.

use crate::{Kernel, KernelError};
use cardwire_model::{
    Agent, AgentId, BoxHead, BoxId, Head, Keys, Live, Profile, ProjectId, Realm, StepId, TurnId,
};
use cardwire_protocol::{
    Rejection,
    handover::pack::{self, Inherited},
    pmo::{
        budget::{Budget, Tree},
        calls::{self, Call},
        delegate::{self, Boxes, Delegate, Given, Parties, Strategy, Target},
        lineage::Ancestor,
    },
    turn::view,
};
use cardwire_store::RowFilter;
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

/// Who calls, and what its profile says about that.
#[derive(Debug, Clone)]
pub(crate) struct Calling {
    pub(crate) agent: Agent,
    pub(crate) head: Option<Head>,
    /// The step that its turn is in.
    pub(crate) step: Option<StepId>,
    policy: Option<Value>,
    /// Tokens of the model's window.
    pub(crate) window: Option<u64>,
    /// The words of the profile that the caller's turn has, as it was given; of an agent without one, as they are now.
    profile: Option<Value>,
}

impl Calling {
    /// Whether the caller may make this call.
    pub(crate) fn check_tool(&self, call: &Call) -> Result<(), Rejection> {
        calls::check_tool(call, self.profile.as_ref())
    }

    /// The turn that the call belongs to.
    pub(crate) fn live_turn(&self) -> Option<TurnId> {
        self.head.as_ref().and_then(|head| head.live.as_ref()).map(|live| live.turn_id)
    }
}

/// What was read for a call.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    profiles: HashMap<String, Profile>,
    inherited: HashMap<BoxId, Arc<Inherited>>,
    heads: BTreeMap<BoxId, BoxHead>,
}

/// Boxes of a handover that cannot be given.
#[derive(Debug, Default)]
pub(crate) struct Amiss {
    /// They are not there.
    pub(crate) missing: Vec<BoxId>,
    /// They are out of the caller's reach.
    pub(crate) denied: Vec<BoxId>,
}

impl Amiss {
    /// Refuses a handover with which anything is amiss.
    pub(crate) fn check(&self) -> Result<(), Rejection> {
        if let Some(id) = self.denied.first() {
            return Err(Rejection::UnauthorizedBox { id: id.to_string() });
        }
        self.missing.first().map_or(Ok(()), |id| Err(pack::no_box(id)))
    }
}

impl Kernel {
    /// An agent of the roster with its head.
    pub(crate) async fn party(
        &self,
        project: &ProjectId,
        id: &AgentId,
    ) -> Result<(Agent, Option<Head>), KernelError> {
        let keys = Keys { agent: Some(id.clone()), ..Keys::default() };
        let found = self.store.load(&Realm::from(project.clone()), &keys).await?;
        let missing = || Rejection::NotFound { what: "agent", id: id.to_string() };
        let agent = found.agent.ok_or_else(missing)?;
        if found.head.is_none() && found.lost.as_ref().is_some_and(|lost| lost.is_something()) {
            return Err(Rejection::Lost(id.clone()).into());
        }
        Ok((agent, found.head))
    }

    /// The caller, and its profile as it is now; of one that was deleted, as its agents still have it.
    pub(crate) async fn calling(
        &self,
        project: &ProjectId,
        (agent, head): (Agent, Option<Head>),
    ) -> Result<Calling, KernelError> {
        let now = async {
            match self.profile(project, &agent.profile_name).await {
                Ok((_, card)) => Ok(card.content.to_value()),
                Err(KernelError::Rejected(Rejection::NotFound { .. })) => {
                    let kept = self.box_cards(project, agent.profile_box).await?.cards;
                    let kept = view::profile(kept.iter(), self.now());
                    Ok(kept.map_or(Value::Null, |card| card.content.to_value()))
                }
                Err(error) => Err(error),
            }
        };
        let live = head.as_ref().and_then(|head| head.live.as_ref());
        let given = async {
            let Some(live) = live else { return Ok(None) };
            Ok::<_, KernelError>(Some(self.box_cards(project, live.profile_box).await?.cards))
        };
        let step = async {
            let Some(live) = live else { return Ok(None) };
            self.current_step(project, &agent.id, live).await
        };
        let (content, given, step) = tokio::try_join!(now, given, step)?;
        let window = content.pointer("/llm_config/context_window").and_then(Value::as_u64);
        let policy = content.get("delegation_policy").cloned();
        let profile = match given {
            Some(cards) => view::profile(cards.iter(), self.now()).map(|card| card.content.to_value()),
            None => Some(content),
        };
        Ok(Calling { agent, head, step, policy, window, profile })
    }

    /// The step that a live turn of this agent is in.
    async fn current_step(
        &self,
        project: &ProjectId,
        agent: &AgentId,
        live: &Live,
    ) -> Result<Option<StepId>, KernelError> {
        let filter = RowFilter { agent_id: Some(agent.clone()), ..RowFilter::default() };
        let newest = self.store.steps(project, &filter, None, 1).await?.pop();
        Ok(view::current_step(live, newest))
    }

    /// Everything that one handover needs to be decided, and what is amiss with its boxes.
    pub(crate) async fn given(
        &self,
        project: &ProjectId,
        call: &Call,
        command: &Delegate,
        calling: &Calling,
        seen: &mut Seen,
    ) -> Result<(Given, Amiss), KernelError> {
        let parties = Parties {
            caller: calling.agent.clone(),
            caller_head: calling.head.clone(),
            caller_step: calling.step.clone(),
            policy: calling.policy.clone(),
            target: self.target(project, command, seen).await?,
        };
        let boxes = delegate::boxes(call, command, &parties)?;
        // An operator reaches every box; what a turn reaches includes what was granted to its agent.
        let granted = match call.by_turn {
            Some(_) if !boxes.is_empty() => self.store.granted(project, &call.caller, &boxes).await?,
            Some(_) | None => HashSet::new(),
        };
        let denied = pack::denied(&delegate::reach(call, &parties, &granted), &boxes);
        let (denied, mut missing) = self.told_apart(project, denied).await?;
        let unseen: Vec<BoxId> = boxes
            .iter()
            .copied()
            .filter(|id| !seen.inherited.contains_key(id) && !denied.contains(id) && !missing.contains(id))
            .collect();
        if !unseen.is_empty() {
            let (found, not_there) = self.inherited(project, &command.required(), &unseen).await?;
            seen.inherited.extend(found.into_iter().map(|from| (from.head.box_id, from)));
            missing.extend(not_there);
        }
        let allowed = boxes.iter().filter(|id| !denied.contains(id));
        let inherited = allowed.filter_map(|id| seen.inherited.get(id)).map(Arc::clone).collect();
        let known = self.boxes_of(project, &parties, seen).await?;
        let given = Given { parties, inherited, granted, budget: Budget::default(), known };
        Ok((given, Amiss { missing, denied }))
    }

    /// Boxes that are out of reach, and among them those that are not there at all: what another project has is not there
    /// (CB-08).
    async fn told_apart(
        &self,
        project: &ProjectId,
        denied: Vec<BoxId>,
    ) -> Result<(Vec<BoxId>, Vec<BoxId>), KernelError> {
        if denied.is_empty() {
            return Ok((denied, vec![]));
        }
        let keys = Keys { boxes: denied.clone(), ..Keys::default() };
        let there = self.store.load(&Realm::from(project.clone()), &keys).await?.boxes;
        Ok(denied.into_iter().partition(|id| there.contains_key(id)))
    }

    async fn target(
        &self,
        project: &ProjectId,
        command: &Delegate,
        seen: &mut Seen,
    ) -> Result<Target, KernelError> {
        let name = &command.target_ref;
        if command.strategy == Strategy::New {
            if !seen.profiles.contains_key(name) {
                let profile = self.resolve_profile(project, name).await?;
                seen.profiles.insert(name.clone(), profile);
            }
            return Ok(Target::New(seen.profiles[name].clone()));
        }
        let missing = |_| Rejection::NotFound { what: "agent", id: name.clone() };
        let (agent, head) = self.party(project, &name.parse().map_err(missing)?).await?;
        Ok(match command.strategy {
            Strategy::Reuse => Target::Reuse(agent, head),
            Strategy::New | Strategy::Clone => Target::Clone(agent, head),
        })
    }

    async fn boxes_of(
        &self,
        project: &ProjectId,
        parties: &Parties,
        seen: &mut Seen,
    ) -> Result<Boxes, KernelError> {
        let (output, profile) = (parties.output_box(), parties.profile_box());
        if output.is_none()
            && let Some(head) = seen.heads.get(&profile)
        {
            return Ok(Boxes { heads: BTreeMap::from([(profile, head.clone())]), writers: vec![] });
        }
        let keys = Keys {
            boxes: output.into_iter().chain([profile]).collect(),
            writers_of: output.into_iter().collect(),
            ..Keys::default()
        };
        let found = self.store.load(&Realm::from(project.clone()), &keys).await?;
        seen.heads.extend(found.boxes.get(&profile).map(|head| (profile, head.clone())));
        Ok(Boxes { heads: found.boxes.into_iter().collect(), writers: found.writers.into_iter().collect() })
    }

    /// The caller's live turn and those above it, up to the root.
    pub(crate) async fn lineage(
        &self,
        project: &ProjectId,
        calling: &Calling,
    ) -> Result<Vec<Ancestor>, KernelError> {
        let Some(live) = calling.head.as_ref().and_then(|head| head.live.as_ref()) else { return Ok(vec![]) };
        let mut last = Ancestor::caller(live.turn_id, calling.agent.id.clone());
        let mut lineage = vec![last.clone()];
        let mut item = match live.depth {
            0 => None,
            _ => self.store.turn(project, live.turn_id).await?,
        };
        for _ in 0..live.depth {
            let Some(row) = item else { break };
            let Some(parent) = row.parent_turn else { break };
            let Some(parent) = self.store.turn(project, parent).await? else { break };
            last = last.above(&row, &parent);
            lineage.push(last.clone());
            item = Some(parent);
        }
        Ok(lineage)
    }

    /// What may still be started.
    pub(crate) async fn budget(
        &self,
        project: &ProjectId,
        call: &Call,
        lineage: &[Ancestor],
    ) -> Result<Budget, KernelError> {
        let tree = match lineage.last() {
            Some(root) => Some(Tree {
                root: root.turn,
                spent: self.store.spent(project, root.turn).await?,
                limit: call.pmo.tree_turns(),
            }),
            None => None,
        };
        let open = match call.pmo.open_turns() {
            Some(limit) => Some((self.store.open_turns(project, limit).await?, limit)),
            None => None,
        };
        Ok(Budget { tree, open })
    }
}
