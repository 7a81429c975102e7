//! What people are asked, and their answers (PR-10).

use crate::{
    client::Client,
    failure::Failure,
    route::Route,
    text::{cell, cut},
};
use serde::Serialize;
use serde_json::{Value, json};

/// How much of a question is shown.
const WORDS: usize = 200;

/// A question that waits for a person, as the server tells it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Question(Value);

impl Question {
    pub(super) fn turn(&self) -> String {
        cell(&self.0["agent_turn_id"])
    }

    /// Whether it is a yes or a no that is asked for.
    pub(super) fn is_approval(&self) -> bool {
        self.0["kind"] == "approval"
    }

    pub(super) fn call(&self) -> &str {
        self.0["tool_call_id"].as_str().unwrap_or_default()
    }

    pub(super) fn words(&self) -> String {
        let agent = cell(&self.0["agent_id"]);
        let words = if self.is_approval() {
            format!("{agent} wants to call {} with {}", cell(&self.0["tool_name"]), self.0["arguments"])
        } else {
            format!("{agent} asks: {}", cell(&self.0["question"]))
        };
        cut(&words, WORDS)
    }

    /// Answers it.
    pub(super) async fn answer(
        &self,
        client: &Client,
        project: &str,
        approved: bool,
        reply: Option<&str>,
    ) -> Result<(), Failure> {
        let mut result = if self.is_approval() { json!({ "approved": approved }) } else { json!({}) };
        if let Some(reply) = reply {
            result["reply"] = reply.into();
        }
        let asked = &self.0;
        let body = json!({
            "agent_id": asked["agent_id"], "agent_turn_id": asked["agent_turn_id"],
            "turn_epoch": asked["turn_epoch"], "tool_call_id": asked["tool_call_id"], "status": "success",
            "result": result, "author_id": "operator",
        });
        client.post(&Route::in_project(project, &["l0", "reports"])?, &body).await.map(drop)
    }
}

/// What a turn and everything below it ask of people.
pub(super) async fn questions_of(
    client: &Client,
    project: &str,
    turn: &str,
) -> Result<Vec<Question>, Failure> {
    let route = Route::in_project(project, &["turns", turn, "questions"])?;
    let mut asked: Value = client.get(&route).await?.parse()?;
    Ok(match asked["items"].take() {
        Value::Array(items) => items.into_iter().map(Question).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => vec![],
    })
}
