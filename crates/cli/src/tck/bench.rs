//! What all checks share: the server, the proxy, a project, a token for workers.

use super::{Rule, proxy::Proxy, server::Server, stage::Stage};
use crate::{
    client::{Client, Payload},
    failure::Failure,
    route::Route,
    text::cell,
};
use axum::http::Method;
use serde_json::{Value, json};
use std::{path::PathBuf, time::Duration};
use tempfile::TempDir;

/// The project in which everything happens.
const PROJECT: &str = "tck";

pub(crate) struct Bench {
    /// The shell command that starts a worker.
    pub(crate) command: String,
    /// How long one check may take.
    pub(crate) time_limit: Duration,
    /// What workers present to claim turns.
    pub(crate) token: String,
    pub(crate) proxy: Proxy,
    admin: Client,
    server: Server,
    logs: u32,
    // Last, so that it goes when nobody writes into it any more.
    root: TempDir,
}

impl Bench {
    pub(crate) async fn set_up(command: &str, time_limit: Duration) -> Result<Self, Failure> {
        let root = TempDir::new()
            .map_err(|error| Failure::failed(format!("cannot make a temporary directory: {error}")))?;
        let server = Server::start(root.path()).await?;
        let proxy = Proxy::start(server.url()).await?;
        let admin = server.admin()?;
        admin.post(&Route::new(&["projects"])?, &json!({ "project_id": PROJECT })).await?;
        let wanted = json!({ "project_id": PROJECT, "scopes": ["work"] });
        let made: Value = admin.post(&Route::new(&["tokens"])?, &wanted).await?.parse()?;
        Ok(Self {
            command: command.to_owned(),
            time_limit,
            token: cell(&made["token"]),
            proxy,
            admin,
            server,
            logs: 0,
            root,
        })
    }

    /// A place for one check, with agents and workers of its own.
    pub(crate) async fn stage(&mut self, rule: Rule) -> Result<Stage<'_>, Failure> {
        let name = rule.name();
        let profile = json!({ "worker_target": name, "system_prompt": "Do what the instruction says." });
        let made = self.send(Method::PUT, &["profiles", name], "", Some(profile)).await?;
        Ok(Stage::new(self, name, cell(&made["profile_box_id"])))
    }

    pub(crate) async fn get(&self, segments: &[&str]) -> Result<Value, Failure> {
        self.send(Method::GET, segments, "", None).await
    }

    pub(crate) async fn post(&self, segments: &[&str], verb: &str, body: Value) -> Result<Value, Failure> {
        self.send(Method::POST, segments, verb, Some(body)).await
    }

    /// A request about something in the project, as an admin and past the proxy.
    async fn send(
        &self,
        method: Method,
        segments: &[&str],
        verb: &str,
        body: Option<Value>,
    ) -> Result<Value, Failure> {
        let mut route = Route::in_project(PROJECT, segments)?;
        if !verb.is_empty() {
            route = route.verb(verb);
        }
        self.admin.send(method, &route, body.map(|body| Payload::json(body.to_string()))).await?.parse()
    }

    /// The event log, as far as it is about a turn.
    pub(crate) async fn events(&self, turn: &str) -> Result<Vec<Value>, Failure> {
        let route = Route::in_project(PROJECT, &["events"])?
            .query("after", Some(0))
            .query("follow", Some(false))
            .query("agent_turn_id", Some(turn));
        let text = self.admin.get(&route).await?.text;
        let events = cardwire_llm::sse::Parser::default().push(text.as_bytes())?;
        Ok(events.iter().filter_map(|event| serde_json::from_str(&event.data).ok()).collect())
    }

    /// Runs the watchdog as if it were that moment.
    pub(crate) async fn tick(&self, now: &str) -> Result<(), Failure> {
        let route = Route::new(&["admin", "watchdog"])?.verb("tick");
        self.admin.post(&route, &json!({ "now": now })).await.map(drop)
    }

    pub(crate) fn kill_server(&mut self) {
        self.server.kill();
    }

    /// Another server on the same data.
    pub(crate) async fn start_server(&mut self) -> Result<(), Failure> {
        self.server.start_again().await?;
        self.admin = self.server.admin()?;
        Ok(())
    }

    /// A file for what a worker prints.
    pub(crate) fn next_log(&mut self) -> PathBuf {
        self.logs += 1;
        self.root.path().join(format!("worker-{}.log", self.logs))
    }
}
