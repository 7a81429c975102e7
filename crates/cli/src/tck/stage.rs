//! One check's agents, turns and worker: what can be done to them, and waiting for what becomes of them.

use super::{
    Broken,
    bench::Bench,
    worker::{Orders, Worker},
};
use crate::{failure::Failure, text::cell};
use cardwire_model::Timestamp;
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::{Instant, sleep};

const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// More refusals for one turn than a worker with a few requests under way can collect: it goes on regardless.
const REFUSALS: u32 = 5;

/// A place for one check. Its worker ends with it.
pub(crate) struct Stage<'a> {
    bench: &'a mut Bench,
    /// The rule: its profile, its agents and the target of its worker are called like it.
    name: &'static str,
    profile_box: String,
    worker: Option<Worker>,
    turns: Vec<String>,
    deadline: Instant,
}

/// A turn that was dispatched.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) id: String,
    pub(crate) agent: String,
    output_box: String,
}

impl<'a> Stage<'a> {
    pub(crate) fn new(bench: &'a mut Bench, name: &'static str, profile_box: String) -> Self {
        let deadline = Instant::now() + bench.time_limit;
        Self { bench, name, profile_box, worker: None, turns: vec![], deadline }
    }

    /// Starts the worker, and waits until it asks for turns.
    pub(crate) async fn start_worker(&mut self) -> Result<(), Broken> {
        let log = self.bench.next_log();
        let claims = self.bench.proxy.record.claims();
        let orders = Orders { url: &self.bench.proxy.url, token: &self.bench.token, target: self.name };
        self.worker = Some(Worker::start(&self.bench.command, &orders, log)?);
        while self.bench.proxy.record.claims() == claims {
            self.look_again("the worker to claim turns").await?;
        }
        Ok(())
    }

    /// `kill -9`
    pub(crate) fn kill_worker(&mut self) {
        self.worker = None;
    }

    /// Kills the server, and starts another one on the same data once the worker has missed the first.
    pub(crate) async fn restart_server(&mut self) -> Result<(), Broken> {
        let lost = self.bench.proxy.record.lost();
        self.bench.kill_server();
        let missed = loop {
            if self.bench.proxy.record.lost() > lost {
                break Ok(());
            }
            if let Err(broken) = self.look_again("the worker to miss the server").await {
                break Err(broken);
            }
        };
        // The other checks need it, whatever became of the worker.
        self.bench.start_server().await?;
        missed
    }

    /// Dispatches a turn to the agent of this check.
    pub(crate) async fn dispatch(&mut self, instruction: &str) -> Result<Turn, Broken> {
        self.dispatch_to(self.name, instruction).await
    }

    /// Dispatches a turn to an agent, which is made if need be.
    pub(crate) async fn dispatch_to(&mut self, agent: &str, instruction: &str) -> Result<Turn, Broken> {
        let bench = &self.bench;
        bench.post(&["agents"], "", json!({ "agent_id": agent, "profile_name": self.name })).await?;
        let card = json!({ "content": instruction, "metadata": { "type": "task.instruction" } });
        let card = bench.post(&["l0", "cards"], "", card).await?;
        let context = bench.post(&["l0", "boxes"], "", json!({ "card_ids": [card["card_id"]] })).await?;
        let wanted = json!({
            "agent_id": agent, "profile_box_id": self.profile_box, "context_box_id": context["box_id"],
        });
        let made = bench.post(&["l0", "turns"], "", wanted).await?;
        let turn = Turn {
            id: cell(&made["agent_turn_id"]),
            agent: agent.to_owned(),
            output_box: cell(&made["output_box_id"]),
        };
        self.turns.push(turn.id.clone());
        Ok(turn)
    }

    /// The turn as its sender sees it.
    pub(crate) async fn turn(&self, turn: &Turn) -> Result<Value, Broken> {
        Ok(self.bench.get(&["turns", &turn.id]).await?)
    }

    /// What its agent is doing.
    pub(crate) async fn head(&self, turn: &Turn) -> Result<Value, Broken> {
        Ok(self.bench.get(&["state", "agents", &turn.agent]).await?)
    }

    /// The cards it has written.
    pub(crate) async fn cards(&self, turn: &Turn) -> Result<Vec<Value>, Broken> {
        let cards = self.bench.get(&["boxes", &turn.output_box, "cards"]).await?;
        Ok(cards.as_array().cloned().unwrap_or_default())
    }

    /// The cards of one type that it has written.
    pub(crate) async fn cards_of(&self, turn: &Turn, kind: &str) -> Result<Vec<Value>, Broken> {
        let cards = self.cards(turn).await?;
        Ok(cards.into_iter().filter(|card| card["type"] == kind).collect())
    }

    /// Waits until the worker has the turn in this state.
    pub(crate) async fn until(&mut self, turn: &Turn, status: &str) -> Result<(), Broken> {
        loop {
            let seen = self.turn(turn).await?;
            if seen["status"] == status {
                return Ok(());
            }
            if !seen["ended_at"].is_null() {
                let how = cell(&seen["status"]);
                return Err(Broken::Rule(format!("the turn should be {status}, and it ended as {how}")));
            }
            self.look_again(&format!("the turn to be {status} (it is {})", cell(&seen["status"]))).await?;
        }
    }

    /// Waits until the turn has ended, and answers it; NF-04: one task event tells of it.
    pub(crate) async fn ended(&mut self, turn: &Turn) -> Result<Value, Broken> {
        let ended = loop {
            let seen = self.turn(turn).await?;
            if !seen["ended_at"].is_null() {
                break seen;
            }
            self.look_again(&format!("the turn to end (it is {})", cell(&seen["status"]))).await?;
        };
        // Events are numbered a moment after they happen.
        while self.task_events(turn).await? == 0 {
            self.look_again("a task event").await?;
        }
        self.one_task_event(turn).await?;
        Ok(ended)
    }

    pub(crate) async fn one_task_event(&self, turn: &Turn) -> Result<(), Broken> {
        match self.task_events(turn).await? {
            1 => Ok(()),
            many => Err(Broken::Rule(format!("the turn has {many} task events"))),
        }
    }

    async fn task_events(&self, turn: &Turn) -> Result<usize, Broken> {
        let events = self.bench.events(&turn.id).await?;
        Ok(events.iter().filter(|event| event["kind"] == "agent.task").count())
    }

    /// Waits until the turn has ended with this answer; WK-06: it is in the output box.
    pub(crate) async fn answered(&mut self, turn: &Turn, answer: &Value) -> Result<(), Broken> {
        let ended = self.ended(turn).await?;
        if ended["status"] != "success" {
            let (status, error) = (cell(&ended["status"]), cell(&ended["error"]));
            return Err(Broken::Rule(format!("the turn ended as {status}: {error}")));
        }
        let delivered = self.cards_of(turn, "task.deliverable").await?;
        let found = delivered.iter().find(|card| card["card_id"] == ended["deliverable_card_id"]);
        match found.map(|card| &card["content"]) {
            None => Err(Broken::Rule("the deliverable is not in the output box".to_owned())),
            Some(content) if content["answer"] == *answer => Ok(()),
            Some(content) => {
                Err(Broken::Rule(format!("delivered {content}, where `answer` should be {answer}")))
            }
        }
    }

    /// Calls a turn off.
    pub(crate) async fn stop(&self, turn: &Turn) -> Result<(), Broken> {
        let reason = json!({ "reason": "the kit says so" });
        let stopped = self.bench.post(&["turns", &turn.id], "stop", reason).await;
        let cannot = |failure: Failure| format!("the turn could not be stopped: {}", failure.message);
        stopped.map(drop).map_err(|failure| Broken::Rule(cannot(failure)))
    }

    /// Answers a tool call. That is refused once the turn is past it.
    pub(crate) async fn report(&self, turn: &Turn, call: &Value, result: &Value) -> Result<Value, Failure> {
        let epoch = self.bench.get(&["turns", &turn.id]).await?["turn_epoch"].clone();
        let report = json!({
            "agent_id": turn.agent, "agent_turn_id": turn.id, "turn_epoch": epoch, "tool_call_id": call,
            "status": "success", "result": result,
        });
        self.bench.post(&["l0", "reports"], "", report).await
    }

    /// Runs the watchdog with its clock so far ahead.
    pub(crate) async fn tick(&self, seconds: i64) -> Result<(), Broken> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX));
        Ok(self.bench.tick(&now.plus_seconds(seconds).to_string()).await?)
    }

    /// How often a turn was given to a worker.
    pub(crate) fn leases(&self, turn: &Turn) -> usize {
        self.bench.proxy.record.leases(&turn.id)
    }

    /// How often a worker was refused for a turn.
    pub(crate) fn refusals(&self, turn: &Turn) -> u32 {
        self.bench.proxy.record.refusals(&turn.id)
    }

    /// How many words workers have said about turns, in all checks, and which of them were wrong.
    pub(crate) fn words_and_faults(&self) -> (u64, Vec<String>) {
        (self.bench.proxy.record.words(), self.bench.proxy.record.faults())
    }

    /// Between two looks at something that is still to come.
    pub(crate) async fn look_again(&mut self, what: &str) -> Result<(), Broken> {
        if let Some(end) = self.worker.as_mut().and_then(Worker::end) {
            self.worker = None;
            return Err(Broken::Rule(format!("the worker ended by itself ({end})")));
        }
        let refusals = |turn: &String| self.bench.proxy.record.refusals(turn);
        if let Some(many) = self.turns.iter().map(refusals).find(|many| *many > REFUSALS) {
            return Err(Broken::Rule(format!(
                "the worker was refused {many} times for one turn, and goes on"
            )));
        }
        if Instant::now() > self.deadline {
            let limit = self.bench.time_limit.as_secs();
            return Err(Broken::Rule(format!("waited in vain for {what}: {limit} s are over")));
        }
        sleep(LOOK_AGAIN).await;
        Ok(())
    }
}
