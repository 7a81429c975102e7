//! `cardwire turn dispatch`: give an agent something to do, and perhaps wait for what comes out.

use crate::{
    client::Client,
    context::Context,
    failure::{Code, Failure},
    follow::{Follower, needs_a_server},
    route::Route,
    text::{cell, content},
    waiting::Teller,
};
use clap::Args;
use serde_json::{Map, Value, json};
use std::ops::ControlFlow;

#[derive(Debug, Args)]
pub(crate) struct DispatchArgs {
    /// Which agent.
    #[arg(long, value_name = "AGENT")]
    agent: String,
    #[command(flatten)]
    task: Task,
    /// What the agent is; its own profile when absent.
    #[arg(long, value_name = "BOX")]
    profile_box: Option<String>,
    /// Where it writes; a new box when absent.
    #[arg(long, value_name = "BOX")]
    output_box: Option<String>,
    /// An id of your own; the same request again under it does nothing.
    #[arg(long, value_name = "TURN")]
    id: Option<String>,
    /// The turn that sends this one.
    #[arg(long, value_name = "TURN")]
    parent: Option<String>,
    /// The channel; `public` when absent.
    #[arg(long)]
    channel: Option<String>,
    /// A name for people.
    #[arg(long, value_name = "NAME")]
    display_name: Option<String>,
    /// The session it belongs to: it sees what the session remembers, and its end is remembered there.
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Whose session; `default` when absent.
    #[arg(long, value_name = "NAMESPACE", requires = "session")]
    namespace: Option<String>,
    /// Settings of this run, for the worker: a JSON object.
    #[arg(long, value_name = "JSON")]
    runtime_config: Option<String>,
    /// Refuse when the agent has something to do already, instead of waiting in its inbox.
    #[arg(long)]
    no_queue: bool,
    /// Wait for the end and print the deliverable.
    #[arg(long)]
    wait: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Task {
    /// What it is given. The box is sealed.
    #[arg(long, value_name = "BOX")]
    context_box: Option<String>,
    /// What it is told: written as a card, in a box of its own.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
}

pub(crate) async fn run(
    args: &DispatchArgs,
    project: &str,
    context: &Context,
    client: &Client,
) -> Result<(), Failure> {
    if args.wait {
        needs_a_server(client)
            .map_err(|failure| failure.hint("start one with `cardwire up`, or leave out `--wait`"))?;
    }
    let settings = args.settings()?;
    let profile_box = match &args.profile_box {
        Some(id) => id.clone(),
        None => {
            let agent = client.get(&Route::in_project(project, &["agents", &args.agent])?).await?;
            cell(&agent.parse::<Value>()?["profile_box_id"])
        }
    };
    let (context_box, written) = match (&args.task.context_box, &args.task.text) {
        (Some(id), _) => (id.clone(), false),
        (None, Some(text)) => match args.told_before(text, project, client).await? {
            Some(context_box) => (context_box, false),
            None => (write(text, project, client).await?, true),
        },
        (None, None) => return Err(Failure::usage("nothing to do is given")),
    };
    let route = Route::in_project(project, &["l0", "turns"])?;
    let answer =
        client.post(&route, &args.body(&profile_box, &context_box, settings)).await.map_err(|failure| {
            // The box stays; whoever repeats the command would write another one.
            match written {
                true => {
                    failure.or_hint(format!("the text is in box {context_box}: give it as `--context-box`"))
                }
                false => failure,
            }
        })?;
    let turn: Value = answer.parse()?;
    let id = cell(&turn["agent_turn_id"]);
    if args.wait {
        return wait(&id, project, context, client).await;
    }
    if context.output.json {
        return context.output.json(&answer.text);
    }
    context.output.line(&id)?;
    if turn["turn_epoch"].is_null() {
        context.output.note("the agent is busy; the turn waits in its inbox");
    }
    Ok(())
}

impl DispatchArgs {
    /// What the run is told besides its boxes, if anything.
    fn settings(&self) -> Result<Option<Value>, Failure> {
        let mut settings: Option<Map<String, Value>> =
            self.runtime_config.as_deref().map(serde_json::from_str).transpose().map_err(|error| {
                Failure::usage(format!("`--runtime-config` does not hold a JSON object: {error}"))
            })?;
        for (name, value) in [("session_id", &self.session), ("namespace", &self.namespace)] {
            if let Some(value) = value {
                settings.get_or_insert_default().insert(name.to_owned(), value.as_str().into());
            }
        }
        Ok(settings.map(Value::Object))
    }

    /// The box that holds this text for the turn, if the turn is there: the same request again makes no second one.
    async fn told_before(
        &self,
        text: &str,
        project: &str,
        client: &Client,
    ) -> Result<Option<String>, Failure> {
        let Some(id) = &self.id else { return Ok(None) };
        let turn = match client.get(&Route::in_project(project, &["turns", id])?).await {
            Ok(turn) => turn.parse::<Value>()?,
            Err(failure) if failure.code == Code::NotFound => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let context_box = cell(&turn["context_box_id"]);
        let cards = client.get(&Route::in_project(project, &["boxes", &context_box, "cards"])?).await?;
        match cards.parse::<Vec<Value>>()?.as_slice() {
            [card] if card["content"] == *text => Ok(Some(context_box)),
            _ => Err(Failure::conflict(format!("turn {id} is there already, and was told something else"))
                .hint(format!("`cardwire turn view {id} --project {project}` shows what"))),
        }
    }

    fn body(&self, profile_box: &str, context_box: &str, settings: Option<Value>) -> Value {
        let mut body = json!({
            "agent_id": self.agent, "profile_box_id": profile_box, "context_box_id": context_box,
            "queue_if_busy": !self.no_queue,
        });
        let optional = [
            ("output_box_id", &self.output_box),
            ("agent_turn_id", &self.id),
            ("parent_agent_turn_id", &self.parent),
            ("channel_id", &self.channel),
            ("display_name", &self.display_name),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                body[name] = value.clone().into();
            }
        }
        if let Some(settings) = settings {
            body["runtime_config"] = settings;
        }
        body
    }
}

/// Whether a deliverable was made for a turn that left none (WD-06). It tells programs what the error line tells people.
fn is_fallback(content: &Value) -> bool {
    content["kind"] == "fallback_deliverable"
}

/// Writes the text as a card in a box, and gives the box.
async fn write(text: &str, project: &str, client: &Client) -> Result<String, Failure> {
    let card = json!({ "content": text, "metadata": { "type": "task.instruction" } });
    let card = client.post(&Route::in_project(project, &["l0", "cards"])?, &card).await?;
    let ids = json!({ "card_ids": [card.parse::<Value>()?["card_id"]] });
    let made = client.post(&Route::in_project(project, &["l0", "boxes"])?, &ids).await?;
    Ok(cell(&made.parse::<Value>()?["box_id"]))
}

/// Follows the turn's own events to its end. They are in the log from its beginning, so none is missed.
async fn wait(turn: &str, project: &str, context: &Context, client: &Client) -> Result<(), Failure> {
    let route = Route::in_project(project, &["events"])?.query("agent_turn_id", Some(turn));
    let mut log = Follower { context, route, follow: true, position: 0 };
    let end = log.read(client, |data| {
        let event: Value = serde_json::from_str(data).map_err(|error| {
            Failure::failed(format!("the server sent an event that makes no sense: {error}"))
        })?;
        Ok(if event["kind"] == "agent.task" { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    });
    tokio::select! {
        ended = end => ended?,
        never = Teller::new().watch(turn, project, client) => match never {},
    }
    let mut ended: Value = client.get(&Route::in_project(project, &["turns", turn])?).await?.parse()?;
    let card = cell(&ended["deliverable_card_id"]);
    let card: Value = client.get(&Route::in_project(project, &["cards", &card])?).await?.parse()?;
    if context.output.json {
        ended["deliverable"] = card["content"].clone();
        context.output.json(&ended.to_string())?;
    } else if !is_fallback(&card["content"]) {
        context.output.line(content(&card))?;
    }
    if ended["status"] == "success" {
        return Ok(());
    }
    let (status, error) = (cell(&ended["status"]), cell(&ended["error"]));
    let why = if error.is_empty() { String::new() } else { format!(": {error}") };
    Err(Failure::failed(format!("the turn ended with status {status}{why}"))
        .hint(format!("`cardwire turn steps {turn} --project {project}` shows what it did")))
}
