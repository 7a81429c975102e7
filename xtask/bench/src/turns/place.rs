//! A project with agents, and the commands of one turn.

use std::sync::Arc;

use anyhow::{Context, bail};
use cardwire_kernel::protocol::roster::add_agent::AddAgent;
use cardwire_kernel::protocol::turn::claim::Lease;
use cardwire_kernel::protocol::turn::dispatch::{Dispatch, Dispatched};
use cardwire_kernel::protocol::turn::finish::{Deliverable, Finish};
use cardwire_kernel::protocol::turn::step::NewStep;
use cardwire_kernel::protocol::turn::{Command, Fence, Outcome, Proof, Remains};
use cardwire_kernel::{Caller, ClaimRequest, Done, Kernel, NewProfile, NewTurnCard};
use cardwire_model::{
    AgentId, BoxId, CanonicalJson, CardDraft, Channel, Hash256, TaskStatus, WorkerTarget, limits,
};
use serde_json::json;
use std::time::Duration;

use crate::world::{TEXT, World};

/// A project, its agents and the box they are all given.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) world: World,
    pub(crate) agents: Vec<AgentId>,
    profile_box: BoxId,
    context_box: BoxId,
    thought: CardDraft,
    deliverable: CanonicalJson,
    empty: CanonicalJson,
}

impl Place {
    /// A project with so many agents and one card for all of them.
    pub(crate) async fn create(kernel: Arc<Kernel>, name: &str, agents: usize) -> anyhow::Result<Self> {
        let world = World::create(kernel, name).await?;
        let profile = NewProfile {
            name: "noop".parse()?,
            worker_target: target()?,
            tags: vec![],
            draft: draft("sys.profile", &json!({ "system_prompt": "You do nothing." }))?,
        };
        let put = world.kernel.put_profile(&world.project, world.caller(), profile).await?;
        let context_box = world.filled_box(1).await?;
        let mut place = Self {
            agents: vec![],
            profile_box: put.profile.profile_box,
            context_box,
            thought: draft("agent.thought", &json!(TEXT))?,
            deliverable: CanonicalJson::from_value(&json!({ "answer": "All boats are in." }))?,
            empty: CanonicalJson::from_value(&json!({}))?,
            world,
        };
        for number in 0..agents {
            place.add_agent(&format!("agent-{number}")).await?;
        }
        Ok(place)
    }

    pub(crate) async fn add_agent(&mut self, id: &str) -> anyhow::Result<AgentId> {
        let id: AgentId = id.parse()?;
        let command = AddAgent {
            id: id.clone(),
            profile_name: "noop".parse()?,
            display_name: None,
            tags: None,
            metadata: self.empty.clone(),
            refresh: false,
            trace_id: None,
        };
        self.world.kernel.add_agent(&self.world.project, self.caller(), &command, None).await?;
        self.agents.push(id.clone());
        Ok(id)
    }

    pub(crate) fn kernel(&self) -> &Kernel {
        &self.world.kernel
    }

    pub(crate) fn caller(&self) -> &Caller {
        self.world.caller()
    }

    /// Gives an agent its next turn, in a new output box.
    pub(crate) async fn dispatch(&self, agent: &AgentId) -> anyhow::Result<()> {
        self.dispatch_with(agent, self.context_box, None).await
    }

    /// The same with boxes of the caller's choice.
    pub(crate) async fn dispatch_with(
        &self,
        agent: &AgentId,
        context_box: BoxId,
        output_box: Option<BoxId>,
    ) -> anyhow::Result<()> {
        let command = Dispatch {
            agent_id: Some(agent.clone()),
            profile_box: Some(self.profile_box),
            context_box: Some(context_box),
            output_box,
            turn_id: None,
            correlation_id: None,
            channel: Channel::public(),
            trace_id: "bench".to_owned(),
            parent_turn: None,
            parent_call: None,
            parent_step: None,
            branch: None,
            source_agent: None,
            display_name: None,
            runtime_config: self.empty.clone(),
            queue_if_busy: true,
            emit_state_event: true,
            max_depth: limits::RECURSION_DEPTH,
        };
        let done = self.kernel().dispatch(&self.world.project, self.caller(), &command, None).await;
        match done.context("cannot dispatch")? {
            Done::Fresh(Dispatched::Accepted(_)) => Ok(()),
            Done::Fresh(Dispatched::Repeated(_)) | Done::Replayed(_) => bail!("the turn was there already"),
        }
    }

    /// Ends a leased turn with one card, one step and a deliverable.
    pub(crate) async fn finish(&self, lease: &Lease) -> anyhow::Result<()> {
        let turn = lease.turn.as_ref().context("a lease without a turn")?;
        let proof = Proof::Lease(Hash256::of(&turn.secret));
        let cards = vec![NewTurnCard { id: None, draft: self.thought.clone() }];
        let finish = Finish {
            fence: Fence { turn_id: lease.turn_id, epoch: lease.epoch, proof },
            status: TaskStatus::Success,
            deliverable: Deliverable::Content(self.deliverable.clone()),
            error: None,
            error_code: None,
            cards: self.kernel().turn_cards(cards)?,
            step: Some(NewStep {
                id: None,
                phase: "think".to_owned(),
                status: Some("ok".to_owned()),
                call_id: None,
                request_box: None,
                metadata: self.empty.clone(),
            }),
            replies: vec![],
            calls: vec![],
            remains: Remains::default(),
        };
        let command = Command::Finish(Box::new(finish));
        let done = self.kernel().turn_command(&lease.project, self.caller(), command, None).await;
        match done.context("cannot finish")? {
            Done::Fresh(Outcome::Ended { .. }) => Ok(()),
            Done::Fresh(other) => bail!("the turn did not end but {other:?}"),
            Done::Replayed(_) => bail!("the turn had ended already"),
        }
    }

    /// Claims and starts what waits.
    pub(crate) async fn claim(&self, worker: &str, wait: Duration) -> anyhow::Result<Vec<Lease>> {
        self.kernel().claim(self.caller(), &claim(worker, wait)?).await.context("cannot claim")
    }
}

/// What a worker asks for: as much as it may.
pub(crate) fn claim(worker: &str, wait: Duration) -> anyhow::Result<ClaimRequest> {
    Ok(ClaimRequest {
        worker_target: target()?,
        worker_id: worker.to_owned(),
        max_turns: limits::CLAIM_TURNS,
        wait,
        projects: None,
        start: true,
        recover: cardwire_kernel::Recover::Nothing,
        holding: vec![],
    })
}

fn target() -> anyhow::Result<WorkerTarget> {
    Ok("bench".parse()?)
}

fn draft(kind: &str, content: &serde_json::Value) -> anyhow::Result<CardDraft> {
    Ok(CardDraft {
        content: CanonicalJson::from_value(content)?,
        metadata: CanonicalJson::from_value(&json!({ "type": kind }))?,
        tool_calls: None,
        tool_call_id: None,
        ttl_seconds: None,
    })
}
