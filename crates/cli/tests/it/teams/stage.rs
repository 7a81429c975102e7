//! Where teams run in these tests, and what is looked at afterwards: all of it with the command line, which answers the same
//! with a server and without.

use crate::support::{Backend, Home, Run, Server};
use serde_json::{Value, json};
use std::{
    fs::File,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::Arc,
};

/// Runs a check where nobody but `cardwire run` is at work, on SQLite.
pub(super) fn alone(check: impl Fn(&Stage)) {
    alone_with(&[], check);
}

/// The same, with variables in the environment.
pub(super) fn alone_with(variables: &[(&str, &str)], check: impl Fn(&Stage)) {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let variables = variables.iter().map(own).collect();
    check(&Stage { home: Home::new(Backend::Sqlite), server: None, variables, mcp: None });
}

/// The same, with MCP servers.
pub(super) fn alone_with_mcp(servers: &Value, variables: &[(&str, &str)], check: impl Fn(&Stage)) {
    check(&Stage::alone_with_mcp(servers, variables));
}

/// Runs a check alone, and with a server on Postgres. One test of each kind does so: what a run comes to is decided above
/// the stores.
pub(super) fn on_both_stores(check: impl Fn(&Stage)) {
    on_both_stores_with(&[], check);
}

/// The same, with variables in the environment of whoever runs agents.
pub(super) fn on_both_stores_with(variables: &[(&str, &str)], check: impl Fn(&Stage)) {
    alone_with(variables, &check);
    let home = Home::new(Backend::Postgres);
    let server = home.up_with(&[], variables);
    check(&Stage { home, server: Some(server), variables: vec![], mcp: None });
}

/// The same, with MCP servers for whoever runs agents.
pub(super) fn on_both_stores_with_mcp(servers: &Value, variables: &[(&str, &str)], check: impl Fn(&Stage)) {
    alone_with_mcp(servers, variables, &check);
    let home = Home::new(Backend::Postgres);
    home.file(MCP_FILE, json!({ "mcp_servers": servers }).to_string());
    let server = home.up_with(&["--mcp", MCP_FILE], variables);
    check(&Stage { home, server: Some(server), variables: vec![], mcp: None });
}

/// Where MCP servers are named.
pub(super) const MCP_FILE: &str = "mcp.yaml";

/// Runs a check with a server on SQLite.
pub(super) fn on_a_server(check: impl Fn(&Stage, &Server)) {
    on_server(Backend::Sqlite, check);
}

/// Runs a check with a server on each store.
pub(super) fn on_both_servers(check: impl Fn(&Stage, &Server)) {
    on_server(Backend::Sqlite, &check);
    on_server(Backend::Postgres, check);
}

fn on_server(backend: Backend, check: impl Fn(&Stage, &Server)) {
    let home = Home::new(backend);
    let stage = Stage { server: Some(home.up(&[])), home, variables: vec![], mcp: None };
    check(&stage, stage.server.as_ref().unwrap());
}

/// A place where teams run, in project `p1`.
pub(super) struct Stage {
    pub(super) home: Arc<Home>,
    server: Option<Server>,
    variables: Vec<(String, String)>,
    /// A file that runs are given.
    mcp: Option<&'static str>,
}

/// A run of a team that came to rest.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) run: Run,
    /// What it told with `--json`; null if it did not come to that.
    pub(super) told: Value,
}

impl Ran {
    /// What a run that must have ended well delivered.
    #[track_caller]
    pub(super) fn deliverable(&self) -> &str {
        assert_eq!(self.run.code, 0, "{self:?}");
        assert_eq!(self.told["status"], "success", "{self:?}");
        self.told["deliverable"].as_str().unwrap_or_else(|| panic!("no text: {self:?}"))
    }

    /// The run failed, with this code for programs and these words for people.
    #[track_caller]
    pub(super) fn failed(&self, error_code: &str, words: &str) {
        self.run.failed(1, words);
        assert_eq!((&self.told["status"], &self.told["error_code"]), (&"failed".into(), &error_code.into()));
        assert_eq!(self.told["deliverable"], Value::Null, "{self:?}");
    }
}

/// A request as a model was sent it.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) messages: Vec<Value>,
}

impl Sent {
    /// All that messages of this role say.
    pub(super) fn said_by(&self, role: &str) -> Vec<&str> {
        let said = self.messages.iter().filter(|message| message["role"] == role);
        said.filter_map(|message| message["content"].as_str()).collect()
    }

    /// In how many messages a text stands.
    pub(super) fn count(&self, text: &str) -> usize {
        self.messages.iter().filter(|message| message.to_string().contains(text)).count()
    }

    /// The last message, which must be a person's.
    #[track_caller]
    pub(super) fn query(&self) -> &str {
        let last = self.messages.last().unwrap();
        assert_eq!(last["role"], "user", "{self:#?}");
        last["content"].as_str().unwrap()
    }
}

impl Stage {
    /// A place where nobody but `cardwire run` is at work, with MCP servers.
    pub(super) fn alone_with_mcp(servers: &Value, variables: &[(&str, &str)]) -> Self {
        let home = Home::new(Backend::Sqlite);
        home.file(MCP_FILE, json!({ "mcp_servers": servers }).to_string());
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self { home, server: None, variables: variables.iter().map(own).collect(), mcp: Some(MCP_FILE) }
    }

    /// A place with this server.
    pub(super) fn with_server(server: Server) -> Self {
        Self { home: Arc::clone(&server.home), server: Some(server), variables: vec![], mcp: None }
    }

    /// Runs a team, with more arguments.
    pub(super) fn run(&self, team: &Value, query: &str, more: &[&str]) -> Ran {
        self.run_with(team, &[&[query], more].concat())
    }

    /// Goes on with the run that has not ended.
    pub(super) fn resume(&self, team: &Value, more: &[&str]) -> Ran {
        self.run_with(team, &[&["--resume"], more].concat())
    }

    fn run_with(&self, team: &Value, more: &[&str]) -> Ran {
        self.home.file("team.yaml", team.to_string());
        let args = ["run", "team.yaml", "--project", "p1", "--json"];
        let mut command = self.home.command(&[&args[..], more].concat());
        command.args(self.mcp.map(|file| ["--mcp", file]).into_iter().flatten());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let run = Run::of(command, "");
        let told = serde_json::from_str(&run.stdout).unwrap_or_default();
        Ran { run, told }
    }

    /// A command in the project, answered with JSON.
    pub(super) fn json(&self, args: &[&str]) -> Value {
        self.home.json(&[args, &["--project", "p1"]].concat())
    }

    /// Every turn, oldest first.
    pub(super) fn turns(&self) -> Vec<Value> {
        oldest_first(&self.json(&["turn", "list", "--limit", "500"]))
    }

    /// Who had a turn, in order, without the controller.
    pub(super) fn order(&self) -> Vec<String> {
        let agents = self.turns().into_iter().map(|turn| text(&turn["agent_id"]).to_owned());
        agents.filter(|agent| !agent.starts_with("team_")).collect()
    }

    /// The turns of an agent, oldest first.
    pub(super) fn turns_of(&self, agent: &str) -> Vec<Value> {
        self.turns().into_iter().filter(|turn| turn["agent_id"] == agent).collect()
    }

    /// Every request of an agent to its model, in order.
    pub(super) fn sent(&self, agent: &str) -> Vec<Sent> {
        self.turns_of(agent).iter().flat_map(|turn| self.sent_in(turn)).collect()
    }

    /// The only request of an agent.
    #[track_caller]
    pub(super) fn only_sent(&self, agent: &str) -> Sent {
        let mut sent = self.sent(agent);
        assert_eq!(sent.len(), 1, "{sent:#?}");
        sent.remove(0)
    }

    fn sent_in(&self, turn: &Value) -> Vec<Sent> {
        let calls = self.steps(text(&turn["agent_turn_id"]));
        let calls = calls.iter().filter_map(|step| step["call_id"].as_str());
        let sent = |call| {
            let mut shown = self.json(&["context", "show", call]);
            assert_eq!(shown["hash_ok"], true, "{shown}");
            Sent { messages: serde_json::from_value(shown["messages"].take()).unwrap() }
        };
        calls.map(sent).collect()
    }

    /// The tools that an agent was offered in its first request.
    pub(super) fn offered(&self, agent: &str) -> Vec<Value> {
        let steps = self.steps(text(&self.turns_of(agent)[0]["agent_turn_id"]));
        let call = steps.iter().find_map(|step| step["call_id"].as_str()).unwrap();
        let shown = self.json(&["context", "show", call]);
        let request: Value = serde_json::from_str(text(&shown["request"])).unwrap();
        request["tools"].as_array().cloned().unwrap_or_default()
    }

    /// The steps of a turn, oldest first.
    pub(super) fn steps(&self, turn: &str) -> Vec<Value> {
        oldest_first(&self.json(&["turn", "steps", turn, "--limit", "500"]))
    }

    /// What a turn wrote.
    pub(super) fn cards(&self, turn: &Value) -> Vec<Value> {
        let cards = self.json(&["box", "show", text(&turn["output_box_id"]), "--cards"]);
        cards.as_array().unwrap_or_else(|| panic!("{cards}")).clone()
    }

    /// The answers of tools in a turn: their content.
    pub(super) fn tool_results(&self, turn: &Value) -> Vec<Value> {
        let cards = self.cards(turn).into_iter().filter(|card| card["type"] == "tool.result");
        cards.map(|mut card| card["content"].take()).collect()
    }

    /// A session as it stands.
    pub(super) fn session(&self, id: &str) -> Value {
        self.json(&["session", "get", id])
    }

    /// The server, if there is one.
    pub(super) fn server(&self) -> Option<&Server> {
        self.server.as_ref()
    }
}

fn oldest_first(list: &Value) -> Vec<Value> {
    assert!(list["next_cursor"].is_null(), "there is more than one page");
    list["items"].as_array().unwrap().iter().rev().cloned().collect()
}

/// A text.
#[track_caller]
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// A process that is ended with its value.
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a command whose output goes to a file beside the data.
    pub(crate) fn start(mut command: Command, home: &Home, log: &str) -> Self {
        let log = home.root().join(log);
        let file = File::options().create(true).append(true).open(&log).unwrap();
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        Self { child: command.spawn().unwrap(), log }
    }

    /// A worker of the server on this data.
    pub(crate) fn worker(home: &Home, name: &str) -> Self {
        Self::start(home.command(&["worker", "--name", name]), home, "worker.log")
    }

    /// Ends it without a warning.
    pub(crate) fn kill(self) {}

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended, by itself or by a signal.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        self.child.try_wait().unwrap().map(|status| status.code().unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let ended = self.child.try_wait();
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            eprintln!("--- {} ({ended:?})\n{log}", self.log.display());
        }
    }
}
