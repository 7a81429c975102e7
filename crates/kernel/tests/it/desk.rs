//! A kernel on the reference store with one project, a few agents, and a clock to move.

use cardwire_kernel::{
    Caller, ClaimRequest, ContextConfig, Done, Kernel, KernelConfig, NewProfile, Recover,
    clock::Clock,
    protocol::{
        Actor,
        facts::create_box::Created,
        project::create::CreateProject,
        roster::add_agent::AddAgent,
        turn::{
            Command, Fence, Outcome, Proof,
            claim::Lease,
            dispatch::{Dispatch, Dispatched, Receipt},
            finish::{Deliverable, Finish},
        },
    },
};
use cardwire_model::{
    AgentId, BoxId, CanonicalJson, CardDraft, Channel, Event, EventKind, Hash256, ProjectId, ProjectSettings,
    TaskStatus, Timestamp, TurnId, limits,
};
use cardwire_store::{EventFilter, Store};
use cardwire_testkit::{ManualClock, ReferenceStore};
use std::{sync::Arc, time::Duration};

pub(crate) struct Desk {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) store: Arc<ReferenceStore>,
    pub(crate) clock: Arc<SharedClock>,
    pub(crate) project: ProjectId,
    profile_box: BoxId,
    pub(crate) context_box: BoxId,
}

pub(crate) struct SharedClock(pub(crate) ManualClock);

impl Clock for SharedClock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }
}

pub(crate) fn caller() -> Caller {
    Caller { actor: Actor::system("test") }
}

fn json(text: &str) -> CanonicalJson {
    CanonicalJson::parse(text, "json").unwrap()
}

impl Desk {
    pub(crate) async fn new(agents: &[&str]) -> Self {
        Self::with(agents, ContextConfig::default()).await
    }

    /// The same with parts of the deployment's own.
    pub(crate) async fn with(agents: &[&str], context: ContextConfig) -> Self {
        let store = Arc::new(ReferenceStore::new());
        Self::on(Arc::clone(&store) as _, store, agents, context).await
    }

    /// The same on another store; the reference store then stays empty.
    pub(crate) async fn on(
        on: Arc<dyn Store>,
        store: Arc<ReferenceStore>,
        agents: &[&str],
        context: ContextConfig,
    ) -> Self {
        let clock = Arc::new(SharedClock(ManualClock::default()));
        let config = KernelConfig { clock: Arc::clone(&clock) as _, context, ..KernelConfig::new(on) };
        let kernel = Kernel::idle(config);
        let project: ProjectId = "p".parse().unwrap();
        let command =
            CreateProject { id: project.clone(), title: None, settings: ProjectSettings::default() };
        kernel.create_project(&caller(), &command, None).await.unwrap();
        let put = kernel.put_profile(&project, &caller(), Self::profile("desk")).await.unwrap();
        for name in agents {
            kernel.add_agent(&project, &caller(), &Self::agent(name), None).await.unwrap();
        }
        let created = kernel.create_box(&project, &caller(), None, &[], None).await.unwrap();
        let Done::Fresh(Created::New(context)) = created else { panic!("no box") };
        let profile_box = put.profile.profile_box;
        Self { kernel, store, clock, project, profile_box, context_box: context.box_id }
    }

    /// The profile of all agents, served by these workers.
    pub(crate) fn profile(worker_target: &str) -> NewProfile {
        let draft = CardDraft {
            content: json(&format!(r#"{{"system_prompt":"x","worker_target":"{worker_target}"}}"#)),
            metadata: json(r#"{"type":"sys.profile"}"#),
            tool_calls: None,
            tool_call_id: None,
            ttl_seconds: None,
        };
        let (name, worker_target) = ("worker".parse().unwrap(), worker_target.parse().unwrap());
        NewProfile { name, worker_target, tags: vec![], draft }
    }

    pub(crate) fn agent(name: &str) -> AddAgent {
        AddAgent {
            id: name.parse().unwrap(),
            profile_name: "worker".parse().unwrap(),
            display_name: None,
            tags: None,
            metadata: json("{}"),
            refresh: false,
            trace_id: None,
        }
    }

    /// Another process on the same store.
    pub(crate) fn other(&self) -> Arc<Kernel> {
        let config = KernelConfig {
            clock: Arc::clone(&self.clock) as _,
            ..KernelConfig::new(Arc::clone(&self.store) as _)
        };
        Kernel::idle(config)
    }

    pub(crate) async fn dispatch(&self, agent: &str) -> Receipt {
        self.dispatch_with(agent, self.context_box, None, "{}").await
    }

    /// The same with boxes and settings of the caller's choice.
    pub(crate) async fn dispatch_with(
        &self,
        agent: &str,
        context_box: BoxId,
        output_box: Option<BoxId>,
        runtime_config: &str,
    ) -> Receipt {
        let runtime_config = json(runtime_config);
        let command = Dispatch { output_box, runtime_config, ..self.turn(agent, context_box) };
        match self.kernel.dispatch(&self.project, &caller(), &command, None).await.unwrap() {
            Done::Fresh(Dispatched::Accepted(receipt)) => *receipt,
            other => panic!("{other:?}"),
        }
    }

    /// A turn to dispatch.
    pub(crate) fn turn(&self, agent: &str, context_box: BoxId) -> Dispatch {
        Dispatch {
            agent_id: Some(agent.parse::<AgentId>().unwrap()),
            profile_box: Some(self.profile_box),
            context_box: Some(context_box),
            output_box: None,
            turn_id: None,
            correlation_id: None,
            channel: Channel::public(),
            trace_id: "trace".to_owned(),
            parent_turn: None,
            parent_call: None,
            parent_step: None,
            branch: None,
            source_agent: None,
            display_name: None,
            runtime_config: json("{}"),
            queue_if_busy: true,
            emit_state_event: true,
            max_depth: limits::RECURSION_DEPTH,
        }
    }

    pub(crate) fn request(max_turns: usize, wait: Duration) -> ClaimRequest {
        ClaimRequest {
            worker_target: "desk".parse().unwrap(),
            worker_id: "w".to_owned(),
            max_turns,
            wait,
            projects: None,
            start: true,
            recover: Recover::Nothing,
            holding: vec![],
        }
    }

    pub(crate) async fn claim(&self) -> Vec<Lease> {
        self.kernel.claim_now(&caller(), &Self::request(100, Duration::ZERO)).await.unwrap()
    }

    pub(crate) async fn finish(&self, lease: &Lease) -> Outcome {
        let secret = lease.turn.as_ref().unwrap().secret;
        let proof = Proof::Lease(Hash256::of(&secret));
        let finish = Finish {
            fence: Fence { turn_id: lease.turn_id, epoch: lease.epoch, proof },
            status: TaskStatus::Success,
            deliverable: Deliverable::Content(json(r#""done""#)),
            error: None,
            error_code: None,
            cards: vec![],
            step: None,
            replies: vec![],
            calls: vec![],
            remains: Default::default(),
        };
        let command = Command::Finish(Box::new(finish));
        match self.kernel.turn_command(&self.project, &caller(), command, None).await.unwrap() {
            Done::Fresh(outcome) => outcome,
            Done::Replayed(_) => panic!("a replay"),
        }
    }

    pub(crate) async fn events(&self) -> Vec<Event> {
        self.kernel.events(&self.project, 0, &EventFilter::default()).await.unwrap()
    }

    pub(crate) async fn task_events(&self, turn: TurnId) -> usize {
        let events = self.events().await;
        let of_turn =
            |event: &&Event| event.event.kind == EventKind::AgentTask && event.event.turn_id == Some(turn);
        events.iter().filter(of_turn).count()
    }
}
