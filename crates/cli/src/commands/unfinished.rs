//! Runs of teams that have not ended: what they are told by, and the commands that go on with them or give them up.

use crate::{
    client::Client,
    failure::{Code, Failure},
    hint::Asked,
    output::{advise, say},
    route::Route,
    text::{cell, shell_word},
};
use serde_json::Value;

/// Most runs that are named at once.
pub(crate) const NAMED: usize = 20;
/// Where sessions are that are named without a namespace.
const NAMESPACE: &str = "default";

/// A run that has not ended, as the server tells it.
#[derive(Debug, Clone)]
pub(crate) struct Unfinished(Value);

impl Unfinished {
    fn text(&self, name: &str) -> String {
        cell(&self.0[name])
    }

    pub(crate) fn project(&self) -> String {
        self.text("project_id")
    }

    pub(crate) fn turn(&self) -> String {
        self.text("agent_turn_id")
    }

    pub(crate) fn team(&self) -> String {
        self.text("team")
    }

    /// The agent whose turn it is.
    pub(crate) fn controller(&self) -> String {
        self.text("agent_id")
    }

    pub(crate) fn session(&self) -> String {
        self.text("session_id")
    }

    pub(crate) fn since(&self) -> String {
        self.text("created_at")
    }

    pub(crate) fn status(&self) -> String {
        self.text("status")
    }

    /// Whether it belongs to this session.
    pub(crate) fn is_of(&self, session: &str) -> bool {
        let namespace = self.0["namespace"].as_str().unwrap_or(NAMESPACE);
        self.0["session_id"] == session && namespace == NAMESPACE
    }

    /// In one line: what it is, and when it began.
    pub(crate) fn words(&self) -> String {
        format!(
            "run {} of team `{}` (project `{}`, session `{}`) began at {} and has not ended",
            self.turn(),
            self.team(),
            self.project(),
            self.session(),
            self.since()
        )
    }

    /// The commands for it. `team` is the team's file, where one was named.
    pub(crate) fn commands(&self, team: Option<&str>) -> RunCommands {
        RunCommands::new(team, &self.project(), &self.session(), &self.turn())
    }
}

impl Unfinished {
    /// Whether a worker that comes up would go on with it at once. Where every turn waits for a person nothing goes on.
    async fn is_at_work(&self, client: &Client) -> Result<bool, Failure> {
        let turns = |segments: &[&str]| Route::in_project(&self.project(), segments);
        let turn: Value = client.get(&turns(&["turns", &self.turn()])?).await?.parse()?;
        let trace = turn["trace_id"].as_str();
        for status in ["dispatched", "running"] {
            let route = turns(&["turns"])?.query("trace_id", trace).query("status", Some(status));
            let found: Value = client.get(&route.query("limit", Some(1))).await?.parse()?;
            if found["items"].get(0).is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Names the runs that a server would go on with, and pay for, although it was started to look at the store. Whether there are
/// any: then the server leaves them as they are.
pub(super) async fn tell_held(client: &Client) -> Result<bool, Failure> {
    let (runs, has_more) = runs(client, None).await?;
    let mut is_held = has_more;
    if has_more {
        say(&format!("note: more than {NAMED} runs have not ended; they wait, and no agent runs here"));
    }
    for run in &runs {
        if run.is_at_work(client).await? {
            is_held = true;
            let RunCommands { resume, stop } = run.commands(None);
            say(&format!("note: {}; it waits, and no agent runs here", run.words()));
            advise(&format!("after Ctrl-C, `{resume}` goes on with it; `{stop}` gives it up"));
        }
    }
    Ok(is_held)
}

/// Commands for one run, as they can be pasted.
#[derive(Debug, Clone)]
pub(crate) struct RunCommands {
    /// Goes on with it, or watches it where a server does; to its end.
    pub(crate) resume: String,
    /// Gives it up.
    pub(crate) stop: String,
}

impl RunCommands {
    pub(crate) fn new(team: Option<&str>, project: &str, session: &str, turn: &str) -> Self {
        let asked = Asked::here();
        let team = team.map(|team| format!("{} ", shell_word(team))).unwrap_or_default();
        let session = match session {
            "" => String::new(),
            session => format!(" --session {}", shell_word(session)),
        };
        let project = shell_word(project);
        Self {
            resume: asked.whole(&format!("cardwire run {team}--resume{session} --project {project}")),
            stop: asked.whole(&format!("cardwire turn stop {turn} --project {project}")),
        }
    }
}

/// The first [`NAMED`] runs that have not ended, of one project or of all that the token opens; and whether there are more.
pub(crate) async fn runs(client: &Client, project: Option<&str>) -> Result<(Vec<Unfinished>, bool), Failure> {
    let route = Route::new(&["runs"])?.query("project_id", project);
    let (mut found, mut cursor) = (vec![], None::<String>);
    loop {
        let answer = client.get(&route.clone().query("cursor", cursor.as_deref())).await;
        let mut page: Value = match answer {
            Ok(answer) => answer.parse()?,
            // A project that is not there has none.
            Err(failure) if failure.code == Code::NotFound => return Ok((found, false)),
            Err(failure) => return Err(failure),
        };
        if let Value::Array(items) = page["items"].take() {
            found.extend(items.into_iter().map(Unfinished));
        }
        cursor = page["next_cursor"].as_str().map(str::to_owned);
        if found.len() > NAMED || cursor.is_none() {
            let more = found.len() > NAMED || cursor.is_some();
            found.truncate(NAMED);
            return Ok((found, more));
        }
    }
}
