//! Replay (RP-05): a turn that has ended is run again by the same code, with the answers that its model and its tools gave
//! then. Nothing is called and nothing is written; what it would write is compared with what it wrote.

mod record;
mod stage;

use crate::{
    agent::{self, Rest},
    desk::Desk,
    lease::Lease,
    line::Line,
    mcp::{Mcp, McpServers},
    port::Port,
    profile::Profile,
    team_run,
    tools::external::External,
    transcript::{Transcript, kind},
    trouble::Trouble,
};
use cardwire_egress::Door;
use cardwire_llm::{ModelAnswer, ModelError, Recorded, StopReason, ToolCall, Usage};
use futures_util::future::BoxFuture;
use record::Record;
use serde_json::{Value, json};
use stage::Stage;
use std::{fmt, sync::Arc};

/// How many times a turn may be resumed in a replay: more than any turn has calls.
const RESUMES: usize = 1_000;

/// What a replay came to.
#[derive(Debug, Clone)]
pub struct Replay {
    /// The turn wrote the same cards and ended in the same way, and every request was rendered again byte for byte.
    pub same: bool,
    /// The model calls: id, and whether the request could be rendered with the hash it had.
    pub calls: Vec<(String, bool)>,
    /// How many cards were compared.
    pub cards: usize,
    /// What differs, in words.
    pub differences: Vec<String>,
}

/// Why there is nothing to replay.
#[derive(Debug, Clone)]
pub enum CannotReplay {
    /// The turn is none that can be run again: it goes on, or its record does not tell enough.
    Turn(String),
    /// The record could not be read.
    Unread(String),
}

impl fmt::Display for CannotReplay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Turn(why) | Self::Unread(why) => f.write_str(why),
        }
    }
}

impl From<Trouble> for CannotReplay {
    fn from(trouble: Trouble) -> Self {
        Self::Unread(trouble.to_string())
    }
}

/// Runs a turn of a project again.
pub fn replay<'a>(
    port: Arc<dyn Port>,
    project: &'a str,
    turn_id: &'a str,
) -> BoxFuture<'a, Result<Replay, CannotReplay>> {
    Box::pin(run_again(port, project, turn_id))
}

async fn run_again(port: Arc<dyn Port>, project: &str, turn_id: &str) -> Result<Replay, CannotReplay> {
    let line = Line::new(Arc::clone(&port));
    let turn = line.get(format!("/projects/{project}/turns/{turn_id}"), None, None).await?;
    if !turn["ended_at"].is_string() {
        return Err(CannotReplay::Turn(format!("turn {turn_id} has not ended")));
    }
    let lease = lease_of(project, &turn);
    let desk = Desk::new(line.clone(), lease.clone(), 0);
    let record = Record::of(&desk, &turn).await?;
    let is_team = lease.setting("team_card_id").is_some();
    if !is_team && record.has_other_answers() {
        return Err(unrecorded(turn_id));
    }
    let (recorded, steps) = (&record.cards, &record.steps);
    let mut calls = vec![];
    for step in steps {
        let id = step["call_id"].as_str().unwrap_or_default();
        let path = format!("/projects/{project}/calls/{id}/context?render=true");
        calls.push((id.to_owned(), line.get(path, None, None).await?["hash_ok"] == true));
    }
    let deliverable = deliverable(&desk, &turn).await?;
    let answers = answers(recorded, steps, &turn, &deliverable);
    let stage = Arc::new(Stage::new(port, lease.clone(), recorded.clone(), steps));
    let desk = Desk::new(Line::new(Arc::clone(&stage) as Arc<dyn Port>), lease, 0);
    act(&desk, &stage, recorded, answers).await?;
    if record.ends_before(stage.composed()) {
        return Err(unrecorded(turn_id));
    }
    let mut differences = compare(recorded, &stage, &turn, &deliverable);
    for (id, _) in calls.iter().filter(|(_, same)| !same) {
        differences.push(format!("the request of call {id} cannot be rendered as it was"));
    }
    Ok(Replay { same: differences.is_empty(), cards: recorded.len(), calls, differences })
}

/// A turn that would have to be asked what nobody wrote down: it comes neither to the same nor to something else.
fn unrecorded(turn_id: &str) -> CannotReplay {
    CannotReplay::Turn(format!("turn {turn_id} cannot be replayed: what its model answered is not on record"))
}

/// The turn as whoever runs it again holds it. It opens nothing.
fn lease_of(project: &str, turn: &Value) -> Lease {
    let text = |name: &str| turn[name].as_str().unwrap_or_default().to_owned();
    Lease {
        project_id: project.to_owned(),
        agent_id: text("agent_id"),
        agent_turn_id: text("agent_turn_id"),
        turn_epoch: turn["turn_epoch"].as_u64().unwrap_or(0),
        trace_id: text("trace_id"),
        kind: "turn".to_owned(),
        turn_token: String::new(),
        context_box_id: text("context_box_id"),
        output_box_id: text("output_box_id"),
        profile_box_id: text("profile_box_id"),
        channel_id: turn["channel_id"].as_str().map(str::to_owned),
        runtime_config: turn["runtime_config"].clone(),
        result_fields: Value::Null,
        output_len: None,
    }
}

async fn deliverable(desk: &Desk, turn: &Value) -> Result<Value, Trouble> {
    match turn["deliverable_card_id"].as_str() {
        Some(id) => Ok(desk.get(&format!("/cards/{id}")).await?["content"].take()),
        None => Ok(Value::Null),
    }
}

/// What the model answered, call by call: what it said with its calls is in the cards, what it said last is the deliverable.
fn answers(
    recorded: &[Value],
    steps: &[Value],
    turn: &Value,
    deliverable: &Value,
) -> Vec<Result<ModelAnswer, ModelError>> {
    let mut thoughts = recorded.iter().filter(|card| kind(card) == "agent.thought");
    let answer = |step: &Value| {
        if step["status"] == "failed" {
            let kind = step["metadata"]["error"].as_str().unwrap_or_default();
            let message = turn["error"].as_str().unwrap_or_default().to_owned();
            let malformed = ModelError::Malformed { message: message.clone() };
            return Err(ModelError::named(kind, message).unwrap_or(malformed));
        }
        let card = thoughts.next();
        let text = card.map_or(deliverable, |card| &card["content"]).as_str().unwrap_or_default().to_owned();
        let calls =
            card.and_then(|card| card["tool_calls"].as_array()).map(Vec::as_slice).unwrap_or_default();
        let tool_calls: Vec<_> = calls.iter().map(made).collect();
        let stop = match tool_calls.is_empty() {
            _ if step["metadata"]["stop"] == agent::CUT => StopReason::Length,
            true => StopReason::End,
            false => StopReason::ToolCalls,
        };
        Ok(ModelAnswer {
            text,
            tool_calls,
            stop,
            usage: Usage::default(),
            model: "recorded".to_owned(),
            id: None,
        })
    };
    steps.iter().map(answer).collect()
}

fn made(call: &Value) -> ToolCall {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    ToolCall { id: text(&call["id"]), name: text(&call["tool_name"]), arguments: text(&call["arguments"]) }
}

/// Runs the turn to its end, over every pause it made.
async fn act(
    desk: &Desk,
    stage: &Stage,
    recorded: &[Value],
    answers: Vec<Result<ModelAnswer, ModelError>>,
) -> Result<(), Trouble> {
    let record = Transcript::new(recorded.to_vec(), &desk.lease.agent_turn_id);
    let model = Arc::new(Recorded::new(answers));
    let door = Arc::new(Door::bare());
    let (external, mcp) = (External::new(Arc::clone(&door), None), Mcp::new(McpServers::default(), door));
    let is_team = desk.lease.setting("team_card_id").is_some();
    let profile = Profile::of(&desk.box_cards(&desk.lease.profile_box_id).await?);
    for _ in 0..RESUMES {
        let rest = if is_team {
            team_run::run(desk).await
        } else {
            let model = Arc::clone(&model) as _;
            agent::run_with(desk, &profile, model, &external, &mcp, Some(&record)).await
        };
        match rest {
            Ok(Rest::Waits) if !stage.is_stuck() => {}
            Ok(Rest::Waits | Rest::Ended) | Err(Trouble::Gone) => return Ok(()),
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(())
}

/// What of a card must be the same.
fn essence(card: &Value) -> Value {
    json!({
        "type": kind(card), "content": card["content"], "tool_call_id": card["tool_call_id"],
        "tool_calls": card["tool_calls"],
    })
}

fn compare(recorded: &[Value], stage: &Stage, turn: &Value, deliverable: &Value) -> Vec<String> {
    let written = stage.written();
    // A call that was open when the turn ended was closed by its end.
    let closed = |card: &&Value| kind(card) == "tool.result" && card["content"]["status"] == "canceled";
    let ended_early = |card: &&Value| {
        closed(card)
            && !written
                .iter()
                .any(|own| own["tool_call_id"] == card["tool_call_id"] && kind(own) == "tool.result")
    };
    let expected: Vec<_> = recorded.iter().filter(|card| !ended_early(card)).map(essence).collect();
    let got: Vec<_> = written.iter().map(essence).collect();
    let mut differences = vec![];
    for index in 0..expected.len().max(got.len()) {
        match (expected.get(index), got.get(index)) {
            (Some(then), Some(now)) if then == now => {}
            (Some(then), Some(now)) => {
                differences.push(format!("card {index}: it was {then}, and is {now} now"))
            }
            (Some(then), None) => differences.push(format!("card {index}: {then} is not written any more")),
            (None, Some(now)) => differences.push(format!("card {index}: {now} was not written then")),
            (None, None) => {}
        }
    }
    match stage.ending() {
        None => differences.push(format!("the turn does not end; it ended {} then", turn["status"])),
        Some(ending) => {
            if ending["status"] != turn["status"] || ending["error_code"] != turn["error_code"] {
                differences.push(format!(
                    "it ended {} ({}), and ends {} ({}) now",
                    turn["status"], turn["error_code"], ending["status"], ending["error_code"]
                ));
            }
            let delivered = ending.get("deliverable").filter(|value| !value.is_null());
            if let Some(delivered) = delivered.filter(|delivered| *delivered != deliverable) {
                differences.push(format!("it delivered {deliverable}, and delivers {delivered} now"));
            }
        }
    }
    differences
}
