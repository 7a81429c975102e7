//! A project with agents in a store of its own, and what is done there again and again.

use super::{MOST, broken};
use crate::failure::Failure;
use cardwire_kernel::{
    Caller, ClaimRequest, Done, Kernel, KernelConfig, NewProfile, NewTurnCard, Recover,
    protocol::{
        Actor,
        facts::create_box::Created,
        project::create::CreateProject,
        roster::add_agent::AddAgent,
        turn::{
            Command, Fence, Outcome, Proof, Remains,
            claim::Lease,
            dispatch::{Dispatch, Dispatched},
            finish::{Deliverable, Finish},
            step::NewStep,
        },
    },
};
use cardwire_model::{
    AgentId, Answer, AnswerKey, BoxId, CanonicalJson, CardDraft, Channel, Commit, Hash256, Invalid, Origin,
    ProjectId, ProjectSettings, TaskStatus, WorkerTarget, Write, limits,
};
use cardwire_store::Store;
use cardwire_store_sqlite::SqliteStore;
use serde_json::{Value, json};
use std::{path::Path, sync::Arc, time::Duration};

/// A turn that nobody has claimed by then is lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// About 200 bytes, as a short message has.
const TEXT: &str = "The harbour lamp was lit before dusk; the keeper wrote down the wind, the tide and the names of the \
                    three boats still out, then sat by the window and counted them in, one by one, until night.";

/// An agent, and the worker that waits for its turns.
struct Client {
    agent: AgentId,
    target: WorkerTarget,
    profile_box: BoxId,
}

/// A kernel with everything that a server does in the background, and one client for each turn in flight.
pub(crate) struct Place {
    store: Arc<dyn Store>,
    kernel: Arc<Kernel>,
    caller: Caller,
    project: ProjectId,
    clients: Vec<Client>,
    context_box: BoxId,
    thought: CardDraft,
    deliverable: CanonicalJson,
}

impl Place {
    /// A new store in a directory that is there.
    pub(crate) async fn create(dir: &Path) -> Result<Self, Failure> {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&dir.join("bench.db")).map_err(broken)?);
        let kernel = Kernel::start(KernelConfig::new(Arc::clone(&store)));
        let caller = Caller { actor: Actor::system("bench") };
        let project: ProjectId = "bench".parse().map_err(broken)?;
        let command =
            CreateProject { id: project.clone(), title: None, settings: ProjectSettings::default() };
        kernel.create_project(&caller, &command, None).await.map_err(broken)?;
        let context_box = match kernel.create_box(&project, &caller, None, &[], None).await.map_err(broken)? {
            Done::Fresh(Created::New(head)) => head.box_id,
            Done::Fresh(Created::Existing(_)) | Done::Replayed(_) => {
                return Err(broken("a new box was there already"));
            }
        };
        let mut place = Self {
            store,
            kernel,
            caller,
            project,
            clients: vec![],
            context_box,
            thought: draft("agent.thought", &json!(TEXT)).map_err(broken)?,
            deliverable: CanonicalJson::from_value(&json!({ "answer": "All boats are in." }))
                .map_err(broken)?,
        };
        place.fill().await?;
        Ok(place)
    }

    /// The one card that every turn is given, and the agents.
    async fn fill(&mut self) -> Result<(), Failure> {
        let given = vec![(draft("task.instruction", &json!(TEXT)).map_err(broken)?, Origin::Agent)];
        let appended = self.kernel.put_and_append(&self.project, &self.caller, self.context_box, given).await;
        appended.map_err(broken)?;
        for number in 0..MOST {
            let client = self.hire(number).await?;
            self.clients.push(client);
        }
        Ok(())
    }

    async fn hire(&self, number: usize) -> Result<Client, Failure> {
        let name = format!("bench-{number}");
        let target: WorkerTarget = name.parse().map_err(broken)?;
        let profile = NewProfile {
            name: name.parse().map_err(broken)?,
            worker_target: target.clone(),
            tags: vec![],
            draft: draft("sys.profile", &json!({ "system_prompt": "You do nothing." })).map_err(broken)?,
        };
        let put = self.kernel.put_profile(&self.project, &self.caller, profile).await.map_err(broken)?;
        let agent: AgentId = name.parse().map_err(broken)?;
        let command = AddAgent {
            id: agent.clone(),
            profile_name: name.parse().map_err(broken)?,
            display_name: None,
            tags: None,
            metadata: CanonicalJson::empty_object(),
            refresh: false,
            trace_id: None,
        };
        self.kernel.add_agent(&self.project, &self.caller, &command, None).await.map_err(broken)?;
        Ok(Client { agent, target, profile_box: put.profile.profile_box })
    }

    /// The smallest commit there is: one row, without anything that the kernel would add to it.
    pub(crate) async fn commit(&self) -> Result<(), Failure> {
        let key = AnswerKey {
            caller: "bench".to_owned(),
            key: self.kernel.card_id().to_string(),
            request_hash: Hash256::of(b"bench"),
        };
        let answer = Answer { key, status: 200, body: "{}".to_owned(), created_at: self.kernel.now() };
        let mut commit = Commit::new(self.project.clone());
        commit.writes.push(Write::RememberAnswer(answer));
        self.store.commit(commit).await.map_err(broken)
    }

    /// One turn from its enqueue to its end, with a worker that waits for it and does nothing.
    pub(crate) async fn turn(&self, client: usize) -> Result<(), Failure> {
        let client = self.clients.get(client).ok_or_else(|| broken("there are too many clients"))?;
        let (lease, ()) = tokio::try_join!(self.claim(client), self.dispatch(client))?;
        self.finish(&lease).await
    }

    async fn dispatch(&self, client: &Client) -> Result<(), Failure> {
        let command = Dispatch {
            agent_id: Some(client.agent.clone()),
            profile_box: Some(client.profile_box),
            context_box: Some(self.context_box),
            output_box: None,
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
            runtime_config: CanonicalJson::empty_object(),
            queue_if_busy: true,
            emit_state_event: true,
            max_depth: limits::RECURSION_DEPTH,
        };
        match self.kernel.dispatch(&self.project, &self.caller, &command, None).await.map_err(broken)? {
            Done::Fresh(Dispatched::Accepted(_)) => Ok(()),
            Done::Fresh(Dispatched::Repeated(_)) | Done::Replayed(_) => {
                Err(broken("a turn was there already"))
            }
        }
    }

    async fn claim(&self, client: &Client) -> Result<Lease, Failure> {
        let request = ClaimRequest {
            worker_target: client.target.clone(),
            worker_id: client.target.to_string(),
            max_turns: 1,
            wait: PATIENCE,
            projects: None,
            start: true,
            recover: Recover::Nothing,
            holding: vec![],
        };
        let leases = self.kernel.claim(&self.caller, &request).await.map_err(broken)?;
        leases.into_iter().next().ok_or_else(|| broken("a turn was not claimed in time"))
    }

    async fn finish(&self, lease: &Lease) -> Result<(), Failure> {
        let turn = lease.turn.as_ref().ok_or_else(|| broken("a lease without a turn"))?;
        let proof = Proof::Lease(Hash256::of(&turn.secret));
        let cards = vec![NewTurnCard { id: None, draft: self.thought.clone() }];
        let finish = Finish {
            fence: Fence { turn_id: lease.turn_id, epoch: lease.epoch, proof },
            status: TaskStatus::Success,
            deliverable: Deliverable::Content(self.deliverable.clone()),
            error: None,
            error_code: None,
            cards: self.kernel.turn_cards(cards).map_err(broken)?,
            step: Some(NewStep {
                id: None,
                phase: "think".to_owned(),
                status: Some("ok".to_owned()),
                call_id: None,
                request_box: None,
                metadata: CanonicalJson::empty_object(),
            }),
            replies: vec![],
            calls: vec![],
            remains: Remains::default(),
        };
        let command = Command::Finish(Box::new(finish));
        match self.kernel.turn_command(&lease.project, &self.caller, command, None).await.map_err(broken)? {
            Done::Fresh(Outcome::Ended { .. }) => Ok(()),
            Done::Fresh(_) | Done::Replayed(_) => Err(broken("a turn did not end")),
        }
    }

    /// Ends the background work and closes the store.
    pub(crate) async fn close(&self) {
        self.kernel.shutdown().await;
    }
}

fn draft(kind: &str, content: &Value) -> Result<CardDraft, Invalid> {
    Ok(CardDraft {
        content: CanonicalJson::from_value(content)?,
        metadata: CanonicalJson::from_value(&json!({ "type": kind }))?,
        tool_calls: None,
        tool_call_id: None,
        ttl_seconds: None,
    })
}
