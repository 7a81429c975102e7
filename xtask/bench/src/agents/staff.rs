//! A project with agents whose models follow scripts, a worker that runs them, and a client that gives them turns.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use cardwire_egress::Door;
use cardwire_kernel::protocol::roster::add_agent::AddAgent;
use cardwire_kernel::{Kernel, NewProfile};
use cardwire_model::{AgentId, CanonicalJson, CardDraft, Origin};
use cardwire_worker::{Ask, Elsewhere, Method, Port, Worker, WorkerConfig};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::port::{Rest, RouterPort};
use crate::world::{TEXT, World};

const TARGET: &str = "agents";
const GRACE: Duration = Duration::from_secs(5);
/// A turn that takes this long is lost.
const PATIENCE: Duration = Duration::from_secs(60);

/// A project and the way to it.
pub(super) struct Staff {
    pub(super) port: Arc<RouterPort>,
    world: World,
    context_box: String,
}

/// Agents of one profile.
pub(super) struct Crew {
    profile_box: String,
    pub(super) agents: Vec<String>,
}

impl Staff {
    /// A project, and a box with an instruction that every turn is given.
    pub(super) async fn create(kernel: &Arc<Kernel>) -> anyhow::Result<Self> {
        // A worker can call tools elsewhere, and its client wants this though none are called. It may be set already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let world = World::create(Arc::clone(kernel), "agents").await?;
        let token = kernel.ensure_admin(None).await.context("cannot make a token")?;
        let context_box = world.new_box().await?;
        let cards = vec![(draft("task.instruction", &json!(TEXT))?, Origin::Operator)];
        kernel.put_and_append(&world.project, world.caller(), context_box, cards).await?;
        let port = Arc::new(RouterPort::new(kernel, token));
        Ok(Self { port, world, context_box: context_box.to_string() })
    }

    /// So many agents of a new profile whose model answers by this rule.
    pub(super) async fn hire(&self, name: &str, rule: Value, agents: usize) -> anyhow::Result<Crew> {
        let World { kernel, project, .. } = &self.world;
        let model = json!({ "provider": "scripted", "model": "scripted", "script": { "rules": [rule] } });
        let content =
            json!({ "system_prompt": "You keep the lamp and answer briefly.", "llm_config": model });
        let profile = NewProfile {
            name: name.parse()?,
            worker_target: TARGET.parse()?,
            tags: vec![],
            draft: draft("sys.profile", &content)?,
        };
        let put = kernel.put_profile(project, self.world.caller(), profile).await?;
        let mut crew = Crew { profile_box: put.profile.profile_box.to_string(), agents: vec![] };
        for number in 0..agents {
            let id: AgentId = format!("{name}-{number}").parse()?;
            let command = AddAgent {
                id: id.clone(),
                profile_name: name.parse()?,
                display_name: None,
                tags: None,
                metadata: CanonicalJson::empty_object(),
                refresh: false,
                trace_id: None,
            };
            kernel.add_agent(project, self.world.caller(), &command, None).await?;
            crew.agents.push(id.to_string());
        }
        Ok(crew)
    }

    /// Gives an agent a turn and waits until that rests.
    pub(super) async fn turn(&self, crew: &Crew, agent: &str) -> anyhow::Result<Rest> {
        let turn = format!("turn_{}", Uuid::now_v7().simple());
        let rest = self.port.rest_of(&turn);
        let body = json!({
            "agent_id": agent, "profile_box_id": crew.profile_box, "context_box_id": self.context_box,
            "agent_turn_id": turn,
        });
        let path = format!("/projects/{}/l0/turns", self.world.project);
        let ask = Ask {
            method: Method::Post,
            path,
            token: None,
            body: Some(body.to_string()),
            trace: None,
            key: None,
        };
        let Ok(reply) = self.port.ask(&ask).await else { bail!("no answer to a dispatch") };
        ensure!(reply.status == 201, "cannot dispatch: {}", reply.body);
        tokio::time::timeout(PATIENCE, rest).await.context("a turn did not come to rest")?.map_err(Into::into)
    }

    /// A worker that runs so many turns at once.
    pub(super) fn start_worker(&self, turns: usize) -> AtWork {
        let config = WorkerConfig {
            target: TARGET.to_owned(),
            name: "bench".to_owned(),
            turns,
            projects: None,
            grace: GRACE,
            seed: 1,
        };
        let worker = Worker::new(
            config,
            Arc::clone(&self.port) as Arc<dyn Port>,
            Arc::new(Door::bare()),
            Elsewhere::default(),
        );
        let (stop, stopped) = watch::channel(false);
        AtWork { stop, work: tokio::spawn(async move { worker.run(stopped).await }) }
    }
}

/// A worker at work.
pub(super) struct AtWork {
    stop: watch::Sender<bool>,
    work: JoinHandle<()>,
}

impl AtWork {
    pub(super) async fn stop(self) -> anyhow::Result<()> {
        self.stop.send_replace(true);
        Ok(self.work.await?)
    }
}

fn draft(kind: &str, content: &Value) -> anyhow::Result<CardDraft> {
    Ok(CardDraft {
        content: CanonicalJson::from_value(content)?,
        metadata: CanonicalJson::from_value(&json!({ "type": kind }))?,
        tool_calls: None,
        tool_call_id: None,
        ttl_seconds: None,
    })
}
