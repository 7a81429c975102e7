//! `cardwire run`: a team from its file to its deliverable, watched until it ends, waits for a person, or is left alone.

use super::{
    egress,
    front::Front,
    mcp::McpArgs,
    questions::{Question, questions_of},
    run_begin::Begun,
    run_stop::{self, Choice},
    run_team::TeamFile,
    run_view::View,
    unfinished::RunCommands,
    worker,
};
use crate::{
    client::Client,
    context::Context,
    failure::Failure,
    locate,
    output::{Output, say},
    presence::Presence,
    route::Route,
    signals::{Signals, Told},
    telemetry::ExportArgs,
    text,
    waiting::Teller,
};
use clap::Args;
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// Pause between two looks at the run.
const LOOK_EVERY: Duration = Duration::from_millis(50);

#[derive(Debug, Args)]
#[command(after_help = LEAVING)]
pub(crate) struct RunArgs {
    /// The team: a file with YAML or JSON. Not needed with --resume --project, unless it holds `mcp_servers`.
    #[arg(value_name = "TEAM.yaml", required_unless_present = "resume")]
    pub(super) team: Option<PathBuf>,
    /// What the team is asked. Not needed with --resume.
    #[arg(value_name = "QUERY", required_unless_present = "resume")]
    pub(super) query: Option<String>,
    /// The project to work in; made if it is not there. It has the team's name when absent.
    #[arg(long, short = 'p', value_name = "PROJECT", env = "CARDWIRE_PROJECT", hide_env_values = true)]
    project: Option<String>,
    /// The session to go on with; a new one when absent. With --resume: the session whose run it is.
    #[arg(long, value_name = "SESSION")]
    pub(super) session: Option<String>,
    /// Go on with the team's run that has not ended, instead of starting one. If all have, tell how the last one did. A query
    /// that is given as well is that run's.
    #[arg(long)]
    pub(super) resume: bool,
    /// Ask although a run has not ended: that one is finished first, and paid for, and this one comes after it.
    #[arg(long, conflicts_with = "resume")]
    pub(super) queue: bool,
    /// Agree to every tool that asks a person.
    #[arg(long)]
    yes: bool,
    /// Show the run in a browser at once, while it grows. Without a server this command serves the pages itself, until Ctrl-C.
    #[arg(long)]
    pub(super) open: bool,
    #[command(flatten)]
    export: ExportArgs,
    #[command(flatten)]
    mcp: McpArgs,
}

const LEAVING: &str = "\
With a server the run is the server's: Ctrl-C asks whether to stop it, to leave it running or to watch on; without a \
terminal, and at a second Ctrl-C, it is left running. Without a server the run is this command's: Ctrl-C ends it in \
order, what is done is kept, and --resume goes on with it.

Exit codes: 0 it delivered; 1 it failed, waits for a person, or was left (then the error line says how to go on with it); \
2 usage; 3 there is no run to go on with; 4 a run has not ended that this one would have to wait for.";

impl RunArgs {
    pub(crate) const fn export(&self) -> &ExportArgs {
        &self.export
    }
}

pub(crate) async fn run(args: RunArgs, context: &Context) -> Result<(), Failure> {
    let team = args.team.as_deref().map(TeamFile::read).transpose()?;
    let project = args.project.clone().or_else(|| team.as_ref().map(|team| team.name.clone()));
    let project = project.ok_or_else(|| {
        Failure::usage("no project is given").hint("add `--project PROJECT`, or name the team's file")
    })?;
    let mut servers = args.mcp.servers()?;
    if let Some(team) = &team {
        servers = servers.and(team.mcp.clone())?;
    }
    let door = match &team {
        Some(_) => egress::own(&project)?,
        None => egress::kept()?,
    };
    let mut signals = Signals::listen()?;
    let client = locate::connect_working(context).await?;
    match (&client, &team) {
        (Client::Http(_), Some(team)) => {
            args.mcp.refuse_with_server()?;
            if !team.mcp.is_empty() {
                let file = args.team.as_deref().unwrap_or(Path::new("TEAM.yaml"));
                say(&format!(
                    "a server runs the agents of this team, and starts no program that the file names: its own MCP servers serve them. \
                     To have those of the file, put its `mcp_servers` into a file of their own and start the server with \
                     `cardwire up --mcp FILE`; or stop the server, and `cardwire run {}` runs the agents itself",
                    file.display()
                ));
            }
        }
        (Client::Http(_), None) => args.mcp.refuse_with_server()?,
        // What cannot work is told before anything is paid for.
        (Client::Embedded(_), Some(team)) => team.check_models(&door, &project)?,
        (Client::Embedded(_), None) => {}
    }
    let presence = match (&client, args.open) {
        (Client::Embedded(_), true) => Some(Presence::claim(&context.dir).await?),
        (Client::Embedded(_) | Client::Http(_), _) => None,
    };
    let mut front = match (&client, &presence) {
        (Client::Embedded(inside), Some(presence)) => Some(Front::on_this_machine(presence, inside).await?),
        (Client::Embedded(_) | Client::Http(_), _) => None,
    };
    let mut run = Run {
        client,
        context,
        project: &project,
        output: context.output,
        team: team.as_ref(),
        args: &args,
        front: front.as_ref().map(|front| front.url().to_owned()),
        is_left: false,
    };
    let begun = tokio::select! {
        begun = run.begin() => begun,
        () = signals.next() => Err(Failure::failed("interrupted while the run was begun")
            .hint("ask again; `cardwire doctor` names runs that have begun and not ended")),
    };
    let outcome = match begun {
        // Until it is known which run it is about, nobody works, so that nothing else is gone on with and paid for.
        Ok(begun) => {
            let worker = worker::beside(&run.client, &project, door, servers);
            let outcome = match &mut front {
                Some(front) => {
                    let shown = front.during(run.attend_and_show(&begun, &mut signals)).await;
                    shown.unwrap_or_else(Err)
                }
                None => run.attend_and_show(&begun, &mut signals).await,
            };
            drop(worker);
            outcome
        }
        Err(failure) => Err(failure),
    };
    let closed = match front {
        Some(front) => front.close(&mut signals).await,
        None => Ok(()),
    };
    tokio::select! {
        () = run.client.close() => {}
        // Everything that was acknowledged is on disk.
        () = signals.next() => {}
    }
    outcome.and(closed)
}

/// A run that somebody watches.
pub(super) struct Run<'a> {
    pub(super) client: Client,
    pub(super) context: &'a Context,
    pub(super) project: &'a str,
    pub(super) output: Output,
    pub(super) team: Option<&'a TeamFile>,
    pub(super) args: &'a RunArgs,
    /// Where this command serves pages itself.
    pub(super) front: Option<String>,
    /// The person who watched has seen enough.
    pub(super) is_left: bool,
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

/// What happens to somebody who watches.
enum Seen {
    Rest(Result<Rest, Failure>),
    Told(Told),
}

impl Run<'_> {
    pub(super) fn commands(&self, begun: &Begun) -> RunCommands {
        RunCommands::new(self.file().as_deref(), self.project, &begun.session, &begun.turn)
    }

    /// The team's file, as it was named.
    pub(super) fn file(&self) -> Option<String> {
        self.args.team.as_ref().map(|path| path.display().to_string())
    }

    /// Watches the run until it comes to rest, or until the person who watches has seen enough.
    pub(super) async fn attend(&mut self, begun: &Begun, signals: &mut Signals) -> Result<(), Failure> {
        let mut view = View::new(self.output);
        // Who has stopped it waits for its end.
        let mut is_stopped = false;
        loop {
            let seen = tokio::select! {
                rest = self.follow(begun, &mut view) => Seen::Rest(rest),
                told = signals.told() => Seen::Told(told),
            };
            match seen {
                Seen::Rest(Ok(Rest::Ended(ended))) => {
                    view.clear();
                    return self.tell(&ended, &view, begun).await;
                }
                Seen::Rest(Ok(Rest::Waits { turn, asked, failure })) => {
                    view.clear();
                    if self.output.json {
                        self.tell_programs(&turn, &view, begun, &Value::Null, &asked)?;
                    } else {
                        asked.iter().for_each(|question| question.say(self.project));
                        say(&self.page_line(begun));
                    }
                    return Err(failure);
                }
                Seen::Rest(Err(lost)) if lost.is_unreachable => {
                    let commands = self.commands(begun);
                    match run_stop::find_again(
                        self.context,
                        begun,
                        self.project,
                        &lost,
                        &commands,
                        &view,
                        signals,
                    )
                    .await
                    {
                        Ok(client) => self.client = client,
                        Err(gone) => {
                            view.clear();
                            return Err(gone);
                        }
                    }
                }
                Seen::Rest(Err(failure)) => {
                    view.clear();
                    return Err(failure);
                }
                Seen::Told(told) => {
                    view.clear();
                    match self.choice(told, is_stopped, signals).await {
                        Choice::Watch => {}
                        Choice::Stop => {
                            self.stop(begun).await?;
                            is_stopped = true;
                        }
                        Choice::Leave => {
                            self.is_left = true;
                            return self.leave(begun, &view).await;
                        }
                    }
                    view = View::new(self.output);
                }
            }
        }
    }

    /// What is to become of the run, now that somebody wants this command to end.
    async fn choice(&self, told: Told, is_stopped: bool, signals: &mut Signals) -> Choice {
        match &self.client {
            Client::Http(http) if told == Told::Interrupt && !is_stopped => {
                run_stop::ask(http.address(), signals).await
            }
            Client::Http(_) | Client::Embedded(_) => Choice::Leave,
        }
    }

    async fn stop(&self, begun: &Begun) -> Result<(), Failure> {
        let route = Route::in_project(self.project, &["turns", &begun.turn])?.verb("stop");
        let body = json!({ "reason": "stopped by the person who ran it" });
        match self.client.post(&route, &body).await {
            Ok(_) => say("note: stopping the run; Ctrl-C again leaves at once"),
            // It came to its end meanwhile, which is told next.
            Err(failure) if failure.code == crate::failure::Code::Conflict => {}
            Err(failure) => return Err(failure),
        }
        Ok(())
    }

    /// Ends this command before the run has ended, and says what becomes of it.
    async fn leave(&self, begun: &Begun, view: &View) -> Result<(), Failure> {
        if self.output.json {
            // Programs are told how it stands, if somebody answers at once.
            let route = Route::in_project(self.project, &["turns", &begun.turn])?;
            let turn = tokio::time::timeout(Duration::from_secs(2), self.client.get(&route)).await;
            if let Ok(Ok(turn)) = turn {
                self.tell_programs(&turn.parse()?, view, begun, &Value::Null, &[])?;
            }
        }
        let RunCommands { resume, stop } = self.commands(begun);
        let left = match &self.client {
            Client::Http(http) => {
                Failure::failed(format!("interrupted; run {} goes on at {}", begun.turn, http.address()))
                    .hint(format!("`{resume}` watches it to its end, `{stop}` stops it"))
            }
            Client::Embedded(_) => {
                say("note: ending in order; Ctrl-C again leaves at once");
                Failure::failed(format!("stopped in run {}; what is done is kept", begun.turn))
                    .hint(format!("`{resume}` goes on with it, `{stop}` gives it up"))
            }
        };
        if !self.output.json {
            say(&self.page_line(begun));
        }
        Err(left)
    }

    /// Looks at the run until it has ended, or waits for somebody who is not there.
    async fn follow(&self, begun: &Begun, view: &mut View) -> Result<Rest, Failure> {
        let route = Route::in_project(self.project, &["turns", &begun.turn])?;
        let (mut told, mut teller) = (false, Teller::new());
        let mut asked_here = None::<String>;
        loop {
            let seen: Value = self.client.get(&route).await?.parse()?;
            let trace = seen["trace_id"].as_str().unwrap_or_default();
            if seen["ended_at"].is_string() {
                view.look(&self.client, self.project, trace).await?;
                return Ok(Rest::Ended(seen));
            }
            if let Some(waiting) = teller.due(&seen) {
                view.say(&waiting);
            }
            if view.is_due() {
                view.look(&self.client, self.project, trace).await?;
                let ahead = if told { vec![] } else { self.ahead(&seen).await? };
                if let Some(first) = ahead.first() {
                    let failure = self.waits(first, begun, Waiting::Behind);
                    // Nobody else can open the store meanwhile; with a server somebody may answer.
                    if matches!(self.client, Client::Embedded(_)) && self.front.is_none() {
                        return Ok(Rest::Waits { turn: seen, asked: ahead, failure });
                    }
                    view.say(&failure);
                    told = true;
                }
                let asked = self.ask_people(view).await?;
                // A turn that was seen at work has come to wait since; it is looked at again.
                if let Some(first) = asked.first().filter(|_| seen["status"] == "suspended") {
                    if self.front.is_none() {
                        let failure = self.waits(first, begun, Waiting::Itself);
                        return Ok(Rest::Waits { turn: seen, asked, failure });
                    }
                    // A person who has the run's page open may answer there.
                    if asked_here.as_deref() != Some(first.call()) {
                        asked_here = Some(first.call().to_owned());
                        self.tell_asked(first, view);
                    }
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
            Some(live) => questions_of(&self.client, self.project, &text::cell(&live["agent_turn_id"])).await,
            None => Ok(vec![]),
        }
    }

    /// Answers what waits for a person, where somebody can. Gives what nobody can answer.
    async fn ask_people(&self, view: &View) -> Result<Vec<Question>, Failure> {
        let asked = view.questions(&self.client, self.project).await?;
        let (agreed, left): (Vec<_>, Vec<_>) =
            asked.into_iter().partition(|question| self.args.yes && question.is_approval());
        for question in agreed {
            question.answer(&self.client, self.project, true, None).await?;
        }
        // Others still work; there is time to ask when nobody does.
        Ok(if view.is_at_work() { vec![] } else { left })
    }

    fn waits(&self, question: &Question, begun: &Begun, waiting: Waiting) -> Failure {
        let (what, or) = match waiting {
            Waiting::Itself if question.is_approval() => {
                ("the run waits for a person", "; `--yes` agrees to everything")
            }
            Waiting::Itself => ("the run waits for a person", ""),
            Waiting::Behind => ("the run is queued behind one that waits for a person", ""),
        };
        Failure::failed(format!("{what}: {}", question.words())).hint(format!(
            "{}; then `{}` goes on{or}",
            question.answers(self.project),
            self.commands(begun).resume
        ))
    }

    async fn tell(&self, ended: &Value, view: &View, begun: &Begun) -> Result<(), Failure> {
        let mut card = match ended["deliverable_card_id"].as_str() {
            Some(id) => {
                self.client.get(&Route::in_project(self.project, &["cards", id])?).await?.parse::<Value>()?
            }
            None => Value::Null,
        };
        let is_success = ended["status"] == "success";
        if self.output.json {
            let deliverable = if is_success { card["content"].take() } else { Value::Null };
            self.tell_programs(ended, view, begun, &deliverable, &[])?;
        } else {
            view.summary(self.output)?;
            if is_success {
                self.output.line("")?;
                self.output.line(text::words(&card))?;
            }
            view.inspect(self.project, &self.page_line(begun));
        }
        if is_success {
            return Ok(());
        }
        let why = ended["error"].as_str().or(ended["error_code"].as_str()).unwrap_or("no reason was given");
        Err(Failure::failed(format!("the run ended `{}`: {why}", text::cell(&ended["status"])))
            .hint(self.after(ended, begun)))
    }

    /// What can be done about a run that has failed.
    fn after(&self, ended: &Value, begun: &Begun) -> String {
        let turns = format!(
            "`cardwire turn list --trace {} --project {}` shows its turns",
            text::cell(&ended["trace_id"]),
            text::shell_word(self.project)
        );
        let Some(file) = self.file() else { return turns };
        let query = text::shell_word(self.args.query.as_deref().unwrap_or("QUERY"));
        format!(
            "{turns}; `cardwire run {} {query} --session {} --project {}` asks again in its session",
            text::shell_word(&file),
            text::shell_word(&begun.session),
            text::shell_word(self.project)
        )
    }

    /// The run as its turn stands: the same object however it came to rest.
    fn tell_programs(
        &self,
        turn: &Value,
        view: &View,
        begun: &Begun,
        deliverable: &Value,
        asked: &[Question],
    ) -> Result<(), Failure> {
        let told = json!({
            "team": begun.team, "project_id": self.project, "session_id": begun.session,
            "agent_turn_id": turn["agent_turn_id"], "status": turn["status"], "deliverable": deliverable,
            "error": turn["error"], "error_code": turn["error_code"], "trace_id": turn["trace_id"],
            "usage": view.usage(), "turns": view.turns(), "questions": asked,
        });
        self.output.json(&told.to_string())
    }
}
