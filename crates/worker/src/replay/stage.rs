//! The kernel as a replayed turn sees it: reads are answered as they are, writes go to a list, and whoever is waited for says
//! again what is on record.

use crate::{
    lease::Lease,
    port::{Ask, Method, Port, Reply, Unreachable},
    transcript::kind,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a replay has done so far.
#[derive(Debug, Default)]
struct Done {
    written: Vec<Value>,
    composed: usize,
    ending: Option<Value>,
    /// Something was waited for that nobody answered then.
    stuck: bool,
}

/// A stage for one turn.
#[derive(Debug)]
pub(super) struct Stage {
    port: Arc<dyn Port>,
    lease: Lease,
    recorded: Vec<Value>,
    /// Call and step of each model call, in order.
    calls: Vec<(Value, Value)>,
    done: Mutex<Done>,
}

impl Stage {
    pub(super) fn new(port: Arc<dyn Port>, lease: Lease, recorded: Vec<Value>, steps: &[Value]) -> Self {
        let calls = steps.iter().map(|step| (step["call_id"].clone(), step["step_id"].clone())).collect();
        Self { port, lease, recorded, calls, done: Mutex::default() }
    }

    fn done(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cards that the turn would write.
    pub(super) fn written(&self) -> Vec<Value> {
        self.done().written.clone()
    }

    /// How it would end: the body of its `:finish`.
    pub(super) fn ending(&self) -> Option<Value> {
        self.done().ending.clone()
    }

    /// How many requests to its model it would compose.
    pub(super) fn composed(&self) -> usize {
        self.done().composed
    }

    pub(super) fn is_stuck(&self) -> bool {
        self.done().stuck
    }

    /// The answer that a call had.
    fn answer(&self, call: &str) -> Option<&Value> {
        self.recorded.iter().find(|card| kind(card) == "tool.result" && card["tool_call_id"] == call)
    }

    fn verb(&self, verb: &str, body: &Value) -> Value {
        let mut done = self.done();
        match verb {
            "/cards" => done.written.extend(cards(&body["cards"])),
            ":finish" => {
                done.written.extend(cards(&body["cards"]));
                let mut ending = body.clone();
                if ending.get("error_code").is_none() {
                    ending["error_code"] = Value::Null;
                }
                done.ending = Some(ending);
            }
            ":suspend" => {
                for call in body["waiting_tool_call_ids"].as_array().into_iter().flatten() {
                    let id = call.as_str().unwrap_or_default();
                    match self.answer(id) {
                        Some(card) if is_written(&done.written, card) => {}
                        Some(card) => done.written.push(card.clone()),
                        None => done.stuck = true,
                    }
                }
            }
            "/calls" => {
                let (call, step) = self.calls.get(done.composed).cloned().unwrap_or((json!(""), json!("")));
                done.composed += 1;
                return json!({ "call_id": call, "step_id": step, "request": "" });
            }
            _ => {}
        }
        json!({})
    }

    /// A call that the PMO carried out is answered as it was, at once or when it is waited for.
    fn carried_out(&self, tool: &str, body: &Value) -> Value {
        let id = body["tool_call_id"].as_str().unwrap_or_default();
        let mut done = self.done();
        match self.answer(id).filter(|_| tool != "fork_join") {
            Some(card) => {
                if !is_written(&done.written, card) {
                    done.written.push(card.clone());
                }
                json!({ "tool_result_card_id": card["card_id"] })
            }
            None => json!({ "tool_result_card_id": null }),
        }
    }
}

fn is_written(written: &[Value], card: &Value) -> bool {
    written.iter().any(|own| own["card_id"] == card["card_id"] && card["card_id"].is_string())
}

/// Cards as they are written, in the form in which they are read.
fn cards(given: &Value) -> Vec<Value> {
    let card = |card: &Value| {
        let mut read = card.clone();
        read["type"] = card["metadata"]["type"].clone();
        read["author_id"] = card["metadata"]["author_id"].clone();
        read
    };
    given.as_array().into_iter().flatten().map(card).collect()
}

#[async_trait]
impl Port for Stage {
    async fn ask(&self, ask: &Ask<'_>) -> Result<Reply, Unreachable> {
        let ok = |body: Value| Ok(Reply { status: 200, body });
        let project = format!("/projects/{}", self.lease.project_id);
        let rest = ask.path.strip_prefix(&project).unwrap_or(&ask.path);
        if ask.method == Method::Get {
            if rest.starts_with(&format!("/boxes/{}/cards", self.lease.output_box_id)) {
                return ok(Value::Array(self.written()));
            }
            if rest == format!("/l0/turns/{}/view", self.lease.agent_turn_id) {
                // Reading needs no hold of the turn.
                let path = format!("{project}/turns/{}/view", self.lease.agent_turn_id);
                return self.port.ask(&Ask { path, token: None, ..ask.clone() }).await;
            }
            return self.port.ask(&Ask { token: None, ..ask.clone() }).await;
        }
        if rest == "/cards/batch" {
            // Only a way to read.
            return self.port.ask(&Ask { token: None, ..ask.clone() }).await;
        }
        let body =
            ask.body.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null);
        if let Some(verb) = rest.strip_prefix(&format!("/l0/turns/{}", self.lease.agent_turn_id)) {
            return ok(self.verb(verb, &body));
        }
        if let Some(tool) = rest.strip_prefix("/pmo/").and_then(|rest| rest.strip_suffix(":call")) {
            return ok(self.carried_out(tool, &body));
        }
        // Whatever else a turn would do is not done.
        ok(json!({}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        desk::Desk,
        fixtures::{Asked, Request, Said},
        line::Line,
    };

    /// RP-05: what a turn was given is read in a replay too, also where that takes a POST.
    #[tokio::test]
    async fn cards_that_end_some_day_are_read_in_a_replay() {
        let card = json!({ "card_id": "c1", "expires_at": "2100-01-01T00:00:00Z" });
        let kernel = Asked::new(move |request: &Request| {
            let is_batch = request.path.ends_with("/cards/batch");
            Said::Answer(200, if is_batch { json!({ "cards": [card] }) } else { json!([card]) })
        });
        let lease = kernel.desk().lease.clone();
        let stage = Arc::new(Stage::new(kernel, lease.clone(), vec![], &[]));
        let desk = Desk::new(Line::new(stage), lease, 0);
        assert_eq!(desk.all_cards("given").await.unwrap().len(), 1);
    }
}
