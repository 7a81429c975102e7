//! Turns for tests: agents to give them to, workers to run them, and everything they leave behind.

use super::{Api, Reply};
use cardwire_store::EventFilter;
use serde_json::{Value, json};

const POST: &str = "POST";

/// Who serves the agents of tests.
const TARGET: &str = "w1";

/// A turn that was dispatched in `p1`.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) id: String,
    pub(crate) epoch: Value,
    pub(crate) context: String,
    pub(crate) output: String,
    pub(crate) inbox: String,
}

/// A turn that a worker holds.
#[derive(Debug, Clone)]
pub(crate) struct Leased {
    pub(crate) turn: String,
    pub(crate) agent: String,
    pub(crate) epoch: u64,
    pub(crate) token: String,
    pub(crate) output: String,
    pub(crate) lease: Value,
}

impl Leased {
    fn new(lease: &Value) -> Self {
        let text = |name: &str| lease[name].as_str().unwrap_or_default().to_owned();
        Self {
            turn: text("agent_turn_id"),
            agent: text("agent_id"),
            epoch: lease["turn_epoch"].as_u64().unwrap(),
            token: text("turn_token"),
            output: text("output_box_id"),
            lease: lease.clone(),
        }
    }

    /// The path of one of its verbs: `:start`, `/cards`, …
    pub(crate) fn path(&self, verb: &str) -> String {
        format!("/projects/p1/l0/turns/{}{verb}", self.turn)
    }
}

impl Api {
    /// The profile of every agent here, made once. Gives its box.
    pub(crate) async fn profile(&self, project: &str) -> String {
        let body = json!({ "worker_target": TARGET, "system_prompt": "Help." }).to_string();
        let reply =
            self.with(&self.admin, "PUT", &format!("/projects/{project}/profiles/Helper"), &body).await;
        assert!(reply.status.is_success(), "{}", reply.json());
        reply.json()["profile_box_id"].as_str().unwrap().to_owned()
    }

    /// Adds an agent to `p1`. Gives the box of its profile.
    pub(crate) async fn agent(&self, id: &str) -> String {
        let profile = self.profile("p1").await;
        let body = json!({ "agent_id": id, "profile_name": "Helper" });
        assert!(self.post("/projects/p1/agents", body).await.status.is_success());
        profile
    }

    /// A box of `p1` with one card.
    pub(crate) async fn context(&self, text: &str) -> String {
        let card = self.card("p1", text).await;
        self.make_box("p1", &[card]).await
    }

    /// What a dispatch needs, with more fields or others.
    pub(crate) async fn order(&self, agent: &str, more: Value) -> Value {
        let profile = self.agent(agent).await;
        let mut body = json!({ "agent_id": agent, "profile_box_id": profile });
        if more.get("context_box_id").is_none() {
            body["context_box_id"] = self.context("do it").await.into();
        }
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    }

    /// Sends a dispatch to `p1`.
    pub(crate) async fn send_turn(&self, body: &Value) -> Reply {
        self.post("/projects/p1/l0/turns", body.clone()).await
    }

    /// Dispatches a turn that is accepted.
    pub(crate) async fn dispatch_with(&self, agent: &str, more: Value) -> Turn {
        let body = self.order(agent, more).await;
        let answer = self.send_turn(&body).await.expect(201);
        let text = |name: &str| answer[name].as_str().unwrap().to_owned();
        Turn {
            id: text("agent_turn_id"),
            epoch: answer["turn_epoch"].clone(),
            context: text("context_box_id"),
            output: text("output_box_id"),
            inbox: text("inbox_id"),
        }
    }

    pub(crate) async fn dispatch(&self, agent: &str) -> Turn {
        self.dispatch_with(agent, json!({})).await
    }

    /// Claims with more fields or others.
    pub(crate) async fn claim_with(&self, more: Value) -> Vec<Leased> {
        let mut body = json!({ "worker_target": TARGET, "worker_id": "worker 1", "max_turns": 100 });
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        let answer = self.post("/l0/claim", body).await.expect(200);
        answer["leases"].as_array().unwrap().iter().map(Leased::new).collect()
    }

    pub(crate) async fn claim(&self) -> Vec<Leased> {
        self.claim_with(json!({})).await
    }

    /// A turn of an agent that is claimed and not started.
    pub(crate) async fn leased(&self, agent: &str) -> Leased {
        let turn = self.dispatch(agent).await;
        let leases = self.claim().await;
        leases.into_iter().find(|lease| lease.turn == turn.id).unwrap()
    }

    /// A turn of an agent that runs, with a worker of this name.
    pub(crate) async fn claimed_by(&self, agent: &str, worker: &str) -> Leased {
        let turn = self.dispatch(agent).await;
        let leases = self.claim_with(json!({ "worker_id": worker, "start": true })).await;
        leases.into_iter().find(|lease| lease.turn == turn.id).unwrap()
    }

    /// A turn of an agent that runs.
    pub(crate) async fn running(&self, agent: &str) -> Leased {
        let leased = self.leased(agent).await;
        self.verb(&leased, ":start", json!({})).await.expect(200);
        leased
    }

    /// Says something about a turn as its holder; `turn_epoch` comes by itself.
    pub(crate) async fn verb(&self, leased: &Leased, verb: &str, mut body: Value) -> Reply {
        if body.get("turn_epoch").is_none() {
            body["turn_epoch"] = leased.epoch.into();
        }
        self.with(&leased.token, POST, &leased.path(verb), &body.to_string()).await
    }

    /// Writes a card of the turn.
    pub(crate) async fn think(&self, leased: &Leased, text: &str) -> String {
        let body = json!({ "content": text, "metadata": { "type": "agent.thought" } });
        let answer = self.verb(leased, "/cards", body).await.expect(200);
        answer["card_ids"][0].as_str().unwrap().to_owned()
    }

    pub(crate) async fn finish(&self, leased: &Leased, status: &str) -> Value {
        self.verb(leased, ":finish", json!({ "status": status, "deliverable": "done" })).await.expect(200)
    }

    /// Answers a tool call as the turn's holder.
    pub(crate) async fn report(&self, leased: &Leased, call: &str, more: Value) -> Reply {
        let body = report_body(leased, call, &more);
        self.with(&leased.token, POST, "/projects/p1/l0/reports", &body.to_string()).await
    }

    /// Runs the watchdog so many seconds from the clock's now. Gives what it did.
    pub(crate) async fn tick(&self, seconds: i64) -> Vec<(String, String)> {
        let now = self.kernel.now().plus_seconds(seconds).to_string();
        let report = self.post("/admin/watchdog:tick", json!({ "now": now })).await.expect(200);
        assert_eq!(report["now"], now);
        let action = |done: &Value| {
            assert!(done.get("error").is_none(), "{done}");
            let subject = done["agent_turn_id"].as_str().or(done["agent_id"].as_str()).unwrap_or_default();
            (done["action"].as_str().unwrap().to_owned(), subject.to_owned())
        };
        report["actions"].as_array().unwrap().iter().map(action).collect()
    }

    pub(crate) async fn head(&self, agent: &str) -> Value {
        self.get(&format!("/projects/p1/state/agents/{agent}")).await.expect(200)
    }

    pub(crate) async fn turn(&self, id: &str) -> Value {
        self.get(&format!("/projects/p1/turns/{id}")).await.expect(200)
    }

    /// The items of a list of `p1`, all pages.
    pub(crate) async fn items(&self, list: &str) -> Vec<Value> {
        let (mut items, mut cursor) = (vec![], String::new());
        loop {
            let glue = if list.contains('?') { '&' } else { '?' };
            let page = self.get(&format!("/projects/p1/{list}{glue}limit=500{cursor}")).await.expect(200);
            items.extend(page["items"].as_array().unwrap().iter().cloned());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return items,
            }
        }
    }

    /// The data of every event of a kind, in order.
    pub(crate) async fn told(&self, kind: &str) -> Vec<Value> {
        self.store.number_events().await.unwrap();
        let p1 = "p1".parse().unwrap();
        let (mut told, mut after) = (vec![], 0);
        loop {
            let page = self.kernel.events(&p1, after, &EventFilter::default()).await.unwrap();
            let Some(last) = page.last() else { return told };
            after = last.position;
            told.extend(
                page.iter()
                    .filter(|event| event.event.kind.as_str() == kind)
                    .map(|event| event.event.data.to_value()),
            );
        }
    }

    /// Everything in `p1` that a turn could have changed.
    pub(crate) async fn everything(&self) -> Value {
        self.store.number_events().await.unwrap();
        let p1 = "p1".parse().unwrap();
        let mut boxes = vec![];
        for head in self.store.scan_boxes(&p1, None, 1_000).await.unwrap() {
            let id = head.box_id.to_string();
            boxes.push(json!({ "box": id, "cards": self.shown("p1", &id).await, "sealed": head.sealed }));
        }
        json!({
            "boxes": boxes,
            "cards": self.store.scan_cards(&p1, None, 1_000).await.unwrap().len(),
            "events": self.store.last_position(&p1).await.unwrap(),
            "heads": self.items("state/agents").await,
            "inbox": self.items("state/inbox").await,
            "steps": self.items("state/steps").await,
            "edges": self.items("state/execution/edges").await,
            "turns": self.items("turns").await,
        })
    }
}

/// A report on a tool call of a turn.
pub(crate) fn report_body(leased: &Leased, call: &str, more: &Value) -> Value {
    let mut body = json!({
        "agent_id": leased.agent, "agent_turn_id": leased.turn, "turn_epoch": leased.epoch,
        "tool_call_id": call, "status": "success",
    });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}
