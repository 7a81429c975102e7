//! Which run `cardwire run` is about: a new one, unless one has not ended that would have to be paid for first; or, with
//! `--resume`, the one that has not ended.

use super::{
    run::Run,
    unfinished::{self, Unfinished},
};
use crate::{
    client::{Client, Payload},
    failure::{Code, Failure},
    output::say,
    route::Route,
    text,
};
use axum::http::Method;
use serde_json::{Value, json};

/// How many runs are read at once, when one is looked for.
const PAGE: usize = 100;
/// Where sessions are that are named without a namespace.
const NAMESPACE: &str = "default";

/// A run that there is.
#[derive(Debug, Clone)]
pub(super) struct Begun {
    pub(super) turn: String,
    pub(super) session: String,
    pub(super) team: String,
}

impl Begun {
    fn of(turn: &Value, team: &str) -> Self {
        let settings = &turn["runtime_config"];
        Self {
            turn: text::cell(&turn["agent_turn_id"]),
            session: text::cell(&settings["session_id"]),
            team: settings["team"].as_str().unwrap_or(team).to_owned(),
        }
    }
}

impl Run<'_> {
    /// Starts the run, or finds it.
    pub(super) async fn begin(&self) -> Result<Begun, Failure> {
        if self.args.resume {
            return self.unfinished().await;
        }
        self.ensure_project().await?;
        if !self.args.queue {
            self.refuse_behind_another().await?;
        }
        self.start().await
    }

    async fn ensure_project(&self) -> Result<(), Failure> {
        let route = Route::new(&["projects", self.project])?;
        if self.client.ask(Method::GET, &route, None).await?.status != 404 {
            return Ok(());
        }
        self.client.post(&Route::new(&["projects"])?, &json!({ "project_id": self.project })).await.map(drop)
    }

    /// A run that has not ended is not finished, and paid for, without a word (F-07). Alone, this process would go on with all
    /// that there is in the project; a server does so anyhow, and only a run of the same session stands in the way.
    async fn refuse_behind_another(&self) -> Result<(), Failure> {
        let (runs, _) = unfinished::runs(&self.client, Some(self.project)).await?;
        let stands_in_the_way = |run: &&Unfinished| match (&self.client, &self.args.session) {
            (Client::Embedded(_), _) => true,
            (Client::Http(_), Some(session)) => run.is_of(session) && self.is_of_team(run),
            (Client::Http(_), None) => false,
        };
        let Some(run) = runs.iter().find(stands_in_the_way) else { return Ok(()) };
        let file = self.file();
        let commands = run.commands(file.as_deref().filter(|_| self.is_of_team(run)));
        let why = match &self.client {
            Client::Embedded(_) => "a new query would finish it first, and pay for it",
            Client::Http(_) => "a new query of its session would wait for it",
        };
        Err(Failure::conflict(format!("{}; {why}", run.words())).hint(format!(
            "`{}` goes on with it, `{}` gives it up; `--queue` asks all the same, behind it",
            commands.resume, commands.stop
        )))
    }

    fn is_of_team(&self, run: &Unfinished) -> bool {
        self.team.is_some_and(|team| team.controller == run.controller())
    }

    async fn start(&self) -> Result<Begun, Failure> {
        let Some(team) = self.team else {
            return Err(
                Failure::usage("no team is given").hint("name its file: `cardwire run TEAM.yaml QUERY`")
            );
        };
        let route = Route::in_project(self.project, &["teams", &team.name])?;
        self.client.put(&route, Payload::json(team.document.to_string())).await?;
        let mut body = json!({ "query": self.args.query });
        if let Some(session) = &self.args.session {
            body["session_id"] = session.clone().into();
        }
        let started: Value = self.client.post(&route.verb("run"), &body).await?.parse()?;
        if started["status"] == "queued"
            && let Some(live) = self.live(&team.controller).await?
        {
            let ahead = Begun::of(&live, &team.name);
            say(&format!(
                "note: runs of a team are done one by one: run {} of session `{}` comes first",
                ahead.turn, ahead.session
            ));
        }
        Ok(Begun {
            turn: text::cell(&started["agent_turn_id"]),
            session: text::cell(&started["session_id"]),
            team: team.name.clone(),
        })
    }

    /// The run of this team, or of this session of it, that has not ended. One that came to its end while nobody looked
    /// is not lost: without a live run it is the last one.
    async fn unfinished(&self) -> Result<Begun, Failure> {
        let Some(team) = self.team else { return self.only_unfinished().await };
        let session = self.args.session.as_deref();
        let is_wanted = |turn: &Value| session.is_none_or(|session| is_of(turn, session));
        if let Some(live) = self.live(&team.controller).await?.filter(is_wanted) {
            return Ok(Begun::of(&live, &team.name));
        }
        let route = Route::in_project(self.project, &["turns"])?;
        let route = route.query("agent_id", Some(&team.controller)).query("limit", Some(PAGE));
        let (mut cursor, mut found) = (None::<String>, None);
        // Newest first; of those that are queued, the one that comes next.
        loop {
            let page = match self.client.get(&route.clone().query("cursor", cursor.as_deref())).await {
                Ok(page) => page.parse::<Value>()?,
                // The project is not there, and so is no run.
                Err(failure) if failure.code == Code::NotFound => break,
                Err(failure) => return Err(failure),
            };
            for turn in page["items"].as_array().into_iter().flatten().filter(|turn| is_wanted(turn)) {
                let this = Begun::of(turn, &team.name);
                if turn["ended_at"].is_string() {
                    return Ok(found.unwrap_or(this));
                }
                found = Some(this);
            }
            cursor = page["next_cursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        found.ok_or_else(|| {
            let place = session.map(|session| format!(" in session `{session}`")).unwrap_or_default();
            Failure::not_found(format!(
                "the team `{}` has no run{place} to go on with in project `{}`",
                team.name, self.project
            ))
            .hint("start one: `cardwire run TEAM.yaml \"QUERY\"`; `cardwire doctor` names all runs that have not ended")
        })
    }

    /// The run of the project, or of this session in it, that has not ended, whatever the team.
    async fn only_unfinished(&self) -> Result<Begun, Failure> {
        let (mut runs, _) = unfinished::runs(&self.client, Some(self.project)).await?;
        if let Some(session) = &self.args.session {
            runs.retain(|run| run.is_of(session));
        }
        match runs.as_slice() {
            [] => Err(Failure::not_found(format!("no run of project `{}` has not ended", self.project)).hint(
                "`cardwire run TEAM.yaml --resume` tells how the last one of a team did; `cardwire doctor` names all that \
                 have not ended",
            )),
            [run] => Ok(Begun { turn: run.turn(), session: run.session(), team: run.team() }),
            [first, second, ..] => {
                let commands = [first, second].map(|run| run.commands(None).resume);
                Err(Failure::usage(format!("{} runs of project `{}` have not ended", runs.len(), self.project))
                    .hint(format!("say which: `{}` or `{}`", commands[0], commands[1])))
            }
        }
    }

    /// The turn that an agent has now.
    pub(super) async fn live(&self, agent: &str) -> Result<Option<Value>, Failure> {
        let route = Route::in_project(self.project, &["state", "agents", agent])?;
        let answer = self.client.ask(Method::GET, &route, None).await?;
        let head: Value = if answer.status == 200 { answer.parse()? } else { Value::Null };
        let Some(live) = head["active_agent_turn_id"].as_str() else { return Ok(None) };
        self.client.get(&Route::in_project(self.project, &["turns", live])?).await?.parse().map(Some)
    }
}

/// Whether a turn is of a session.
fn is_of(turn: &Value, session: &str) -> bool {
    let settings = &turn["runtime_config"];
    settings["session_id"] == session && settings["namespace"].as_str().unwrap_or(NAMESPACE) == NAMESPACE
}
