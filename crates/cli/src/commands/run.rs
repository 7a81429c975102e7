//! `cardwire run`: a team from its file to its deliverable.

use super::{
    egress,
    mcp::McpArgs,
    questions::{Question, questions_of},
    run_team::TeamFile,
    run_view::View,
    worker,
};
use crate::{
    client::{Client, Payload},
    context::Context,
    failure::Failure,
    locate,
    output::{Output, say},
    route::Route,
    signals::Signals,
    telemetry::ExportArgs,
    text,
};
use axum::http::Method;
use clap::Args;
use serde_json::{Value, json};
use std::{path::PathBuf, time::Duration};

/// How many runs are read at once, when one is looked for.
const PAGE: usize = 100;
/// Where sessions are that are named without a namespace.
const NAMESPACE: &str = "default";

/// Pause between two looks at the run.
const LOOK_EVERY: Duration = Duration::from_millis(50);

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The team: a file with YAML or JSON.
    #[arg(value_name = "TEAM.yaml")]
    team: PathBuf,
    /// What the team is asked. Not needed with --resume.
    #[arg(value_name = "QUERY", required_unless_present = "resume")]
    query: Option<String>,
    /// The project to work in; made if it is not there. It has the team's name when absent.
    #[arg(long, short = 'p', value_name = "PROJECT", env = "CARDWIRE_PROJECT", hide_env_values = true)]
    project: Option<String>,
    /// The session to go on with; a new one when absent. With --resume: the session whose run it is.
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Go on with the team's run that has not ended, instead of starting one. If all have, tell how the last one did. A query
    /// that is given as well is that run's.
    #[arg(long)]
    resume: bool,
    /// Agree to every tool that asks a person.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    export: ExportArgs,
    #[command(flatten)]
    mcp: McpArgs,
}

impl RunArgs {
    pub(crate) const fn export(&self) -> &ExportArgs {
        &self.export
    }
}

pub(crate) async fn run(args: RunArgs, context: &Context) -> Result<(), Failure> {
    let team = TeamFile::read(&args.team)?;
    let servers = args.mcp.servers()?.and(team.mcp.clone())?;
    let project = args.project.as_deref().unwrap_or(&team.name);
    let door = egress::own(project)?;
    let mut signals = Signals::listen()?;
    let client = locate::connect_working(context).await?;
    if let Client::Http(_) = client {
        args.mcp.refuse_with_server()?;
        if !team.mcp.is_empty() {
            say(&format!(
                "a server runs the agents of this team, and starts no program that the file names: its own MCP servers serve them. \
                 To have those of the file, put its `mcp_servers` into a file of their own and start the server with \
                 `cardwire up --mcp FILE`; or stop the server, and `cardwire run {}` runs the agents itself",
                args.team.display()
            ));
        }
    }
    let worker = worker::beside(&client, door, servers);
    let run = Run { client: &client, project, output: context.output, yes: args.yes };
    let outcome = tokio::select! {
        outcome = run.go(&team, &args) => outcome,
        () = signals.next() => Err(Failure::failed("stopped; what is done is kept")
            .hint(format!("`cardwire run {} --resume` goes on with it", args.team.display()))),
    };
    drop(worker);
    client.close().await;
    outcome
}

struct Run<'a> {
    client: &'a Client,
    project: &'a str,
    output: Output,
    yes: bool,
}

/// How a run came to rest.
enum Rest {
    /// Its turn has ended.
    Ended(Value),
    /// Its turn waits for people to answer these, and nobody is there.
    Waits { turn: Value, asked: Vec<Question>, failure: Failure },
}

/// Which run waits for a person.
#[derive(Debug, Clone, Copy)]
enum Waiting {
    Itself,
    /// One that comes before it.
    Behind,
}

impl Run<'_> {
    async fn go(&self, team: &TeamFile, args: &RunArgs) -> Result<(), Failure> {
        self.ensure_project().await?;
        let turn = match args.resume {
            true => self.unfinished(team, args.session.as_deref()).await?,
            false => self.start(team, args).await?,
        };
        let mut view = View::new(self.output);
        let rest = self.follow(&turn, &mut view, args).await;
        view.clear();
        match rest? {
            Rest::Ended(ended) => self.tell(&ended, &view, team).await,
            Rest::Waits { turn, asked, failure } => {
                if self.output.json {
                    self.tell_programs(&turn, &view, team, &Value::Null, &asked)?;
                }
                Err(failure)
            }
        }
    }

    async fn ensure_project(&self) -> Result<(), Failure> {
        let route = Route::new(&["projects", self.project])?;
        if self.client.ask(Method::GET, &route, None).await?.status != 404 {
            return Ok(());
        }
        self.client.post(&Route::new(&["projects"])?, &json!({ "project_id": self.project })).await.map(drop)
    }

    async fn start(&self, team: &TeamFile, args: &RunArgs) -> Result<String, Failure> {
        let route = Route::in_project(self.project, &["teams", &team.name])?;
        self.client.put(&route, Payload::json(team.document.to_string())).await?;
        let mut body = json!({ "query": args.query });
        if let Some(session) = &args.session {
            body["session_id"] = session.clone().into();
        }
        let started: Value = self.client.post(&route.verb("run"), &body).await?.parse()?;
        Ok(text::cell(&started["agent_turn_id"]))
    }

    /// The run of this team, or of this session of it, that has not ended. One that came to its end while nobody looked
    /// is not lost: without a live run it is the last one.
    async fn unfinished(&self, team: &TeamFile, session: Option<&str>) -> Result<String, Failure> {
        let is_wanted = |turn: &Value| session.is_none_or(|session| is_of(turn, session));
        if let Some(live) = self.live(&team.controller).await?.filter(is_wanted) {
            return Ok(text::cell(&live["agent_turn_id"]));
        }
        let route = Route::in_project(self.project, &["turns"])?;
        let route = route.query("agent_id", Some(&team.controller)).query("limit", Some(PAGE));
        let (mut cursor, mut found) = (None::<String>, None);
        // Newest first; of those that are queued, the one that comes next.
        loop {
            let page: Value =
                self.client.get(&route.clone().query("cursor", cursor.as_deref())).await?.parse()?;
            for turn in page["items"].as_array().into_iter().flatten().filter(|turn| is_wanted(turn)) {
                let id = text::cell(&turn["agent_turn_id"]);
                if turn["ended_at"].is_string() {
                    return Ok(found.unwrap_or(id));
                }
                found = Some(id);
            }
            cursor = page["next_cursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        found.ok_or_else(|| {
            let place = session.map(|session| format!(" in session `{session}`")).unwrap_or_default();
            Failure::not_found(format!("the team `{}` has no run{place} to go on with", team.name))
                .hint("start one: `cardwire run TEAM.yaml \"QUERY\"`")
        })
    }

    /// The turn that an agent has now.
    async fn live(&self, agent: &str) -> Result<Option<Value>, Failure> {
        let route = Route::in_project(self.project, &["state", "agents", agent])?;
        let answer = self.client.ask(Method::GET, &route, None).await?;
        let head: Value = if answer.status == 200 { answer.parse()? } else { Value::Null };
        let Some(live) = head["active_agent_turn_id"].as_str() else { return Ok(None) };
        self.client.get(&Route::in_project(self.project, &["turns", live])?).await?.parse().map(Some)
    }

    /// Looks at the run until it has ended, or waits for somebody who is not there.
    async fn follow(&self, turn: &str, view: &mut View, args: &RunArgs) -> Result<Rest, Failure> {
        let route = Route::in_project(self.project, &["turns", turn])?;
        let mut told = false;
        loop {
            let seen: Value = self.client.get(&route).await?.parse()?;
            let trace = seen["trace_id"].as_str().unwrap_or_default();
            if seen["ended_at"].is_string() {
                view.look(self.client, self.project, trace).await?;
                return Ok(Rest::Ended(seen));
            }
            if view.is_due() {
                view.look(self.client, self.project, trace).await?;
                let ahead = if told { vec![] } else { self.ahead(&seen).await? };
                if let Some(first) = ahead.first() {
                    let failure = self.waits(first, args, Waiting::Behind);
                    // Nobody else can open the store meanwhile; with a server somebody may answer.
                    if matches!(self.client, Client::Embedded(_)) {
                        return Ok(Rest::Waits { turn: seen, asked: ahead, failure });
                    }
                    view.say(&failure);
                    told = true;
                }
                let asked = self.ask_people(view).await?;
                // A turn that was seen at work has come to wait since; it is looked at again.
                if let Some(first) = asked.first().filter(|_| seen["status"] == "suspended") {
                    let failure = self.waits(first, args, Waiting::Itself);
                    return Ok(Rest::Waits { turn: seen, asked, failure });
                }
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// What the run ahead of a queued one asks of people.
    async fn ahead(&self, queued: &Value) -> Result<Vec<Question>, Failure> {
        if queued["status"] != "queued" {
            return Ok(vec![]);
        }
        match self.live(&text::cell(&queued["agent_id"])).await?.filter(|live| live["status"] == "suspended")
        {
            Some(live) => questions_of(self.client, self.project, &text::cell(&live["agent_turn_id"])).await,
            None => Ok(vec![]),
        }
    }

    /// Answers what waits for a person, where somebody can. Gives what nobody can answer.
    async fn ask_people(&self, view: &View) -> Result<Vec<Question>, Failure> {
        let asked = view.questions(self.client, self.project).await?;
        let (agreed, left): (Vec<_>, Vec<_>) =
            asked.into_iter().partition(|question| self.yes && question.is_approval());
        for question in agreed {
            question.answer(self.client, self.project, true, None).await?;
        }
        // Others still work; there is time to ask when nobody does.
        Ok(if view.is_at_work() { vec![] } else { left })
    }

    fn waits(&self, question: &Question, args: &RunArgs, waiting: Waiting) -> Failure {
        let (what, or) = match waiting {
            Waiting::Itself => ("the run waits for a person", "; or run it with `--yes`"),
            Waiting::Behind => ("the run is queued behind one that waits for a person", ""),
        };
        let how = if question.is_approval() { "--approve | --deny" } else { "--reply TEXT" };
        let session = args.session.as_ref().map(|name| format!(" --session {name}")).unwrap_or_default();
        Failure::failed(format!("{what}: {}", question.words())).hint(format!(
            "`cardwire turn answer {} --project {} {how}`, then `cardwire run {} --project {} --resume{session}`{or}",
            question.turn(),
            self.project,
            args.team.display(),
            self.project,
        ))
    }

    async fn tell(&self, ended: &Value, view: &View, team: &TeamFile) -> Result<(), Failure> {
        let mut card = match ended["deliverable_card_id"].as_str() {
            Some(id) => {
                self.client.get(&Route::in_project(self.project, &["cards", id])?).await?.parse::<Value>()?
            }
            None => Value::Null,
        };
        let is_success = ended["status"] == "success";
        if self.output.json {
            let deliverable = if is_success { card["content"].take() } else { Value::Null };
            self.tell_programs(ended, view, team, &deliverable, &[])?;
        } else {
            view.summary(self.output)?;
            if is_success {
                self.output.line("")?;
                self.output.line(text::words(&card))?;
            }
            self.inspect(view);
        }
        if is_success {
            return Ok(());
        }
        let why = ended["error"].as_str().or(ended["error_code"].as_str()).unwrap_or("no reason was given");
        let hint = format!(
            "`cardwire turn list --trace {} --project {}` shows its turns",
            text::cell(&ended["trace_id"]),
            self.project
        );
        Err(Failure::failed(format!("the run ended `{}`: {why}", text::cell(&ended["status"]))).hint(hint))
    }

    /// The run as its turn stands: the same object however it came to rest.
    fn tell_programs(
        &self,
        turn: &Value,
        view: &View,
        team: &TeamFile,
        deliverable: &Value,
        asked: &[Question],
    ) -> Result<(), Failure> {
        let told = json!({
            "team": team.name, "project_id": self.project, "agent_turn_id": turn["agent_turn_id"],
            "status": turn["status"], "deliverable": deliverable, "error": turn["error"],
            "error_code": turn["error_code"], "trace_id": turn["trace_id"], "usage": view.usage(),
            "turns": view.turns(), "questions": asked,
        });
        self.output.json(&told.to_string())
    }

    /// How to look at what happened.
    fn inspect(&self, view: &View) {
        let Some(turn) = view.first_agent() else { return };
        say("");
        say(&format!("cardwire turn steps {turn} --project {}   shows its calls", self.project));
        say(&format!(
            "cardwire context show CALL --project {}   shows what a model was sent, and why",
            self.project
        ));
    }
}

/// Whether a turn is of a session.
fn is_of(turn: &Value, session: &str) -> bool {
    let settings = &turn["runtime_config"];
    settings["session_id"] == session && settings["namespace"].as_str().unwrap_or(NAMESPACE) == NAMESPACE
}
