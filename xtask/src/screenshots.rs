//! `cargo xtask screenshots`: the pictures of the inspector that the README shows, taken in Chromium of a real run of the research
//! team with its scripted model. Everything but the pictures is gone afterwards.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use anyhow::{Context, bail, ensure};

use crate::services::{self, CHROMIUM, NODE_MODULES};
use crate::{step, test, workspace};

const FOLDER: &str = "docs/pictures";
const TEAM: &str = "examples/teams/research.yaml";
const QUESTION: &str = "Where should our measurements be kept? We may spend 200 euros a month.";

pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let (node_modules, chromium) = (services::node_modules()?, services::chromium()?);
    // What the tests have built is used.
    let mut build = test::linting_cargo();
    build.args(["build", "--workspace", "--tests", "--locked"]);
    let built = step::run(build)?;
    if !built.success() {
        return Ok(step::exit_code(built));
    }
    let folder = workspace::root().join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let home = tempfile::tempdir().context("cannot create a temporary directory")?;
    let server = Server::start(home.path())?;
    let root = server.run_team(home.path())?;
    let token = fs::read_to_string(home.path().join("admin.token")).context("there is no admin token")?;

    let mut pictures = Command::new("node");
    pictures.arg(workspace::root().join("xtask/screenshots.mjs"));
    pictures.env(NODE_MODULES, node_modules).env(CHROMIUM, chromium);
    pictures.env("JOURNEY_SERVER", &server.url).env("JOURNEY_TOKEN", token);
    pictures.env("PICTURES_FOLDER", folder).env("PICTURES_RUN", root);
    Ok(step::exit_code(step::run(pictures)?))
}

/// A server on a store of its own, ended with its value.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(home: &Path) -> anyhow::Result<Self> {
        let mut command = cardwire(home);
        command.args(["up", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn().context("cannot start the server")?;
        let mut server = Self { child, url: String::new() };
        let mut line = String::new();
        let output = server.child.stdout.take().context("the server has no output")?;
        BufReader::new(output).read_line(&mut line)?;
        let Some(url) = line.trim().strip_prefix("listening on ") else {
            bail!("the server did not start: it said {line:?}");
        };
        server.url = url.to_owned();
        Ok(server)
    }

    /// Runs the team to its end. Gives the turn at the top.
    fn run_team(&self, home: &Path) -> anyhow::Result<String> {
        let mut command = cardwire(home);
        command.arg("run").arg(workspace::root().join(TEAM)).args([
            QUESTION,
            "--project",
            "research",
            "--json",
        ]);
        let output = command.output().context("cannot run the team")?;
        ensure!(output.status.success(), "the run failed: {}", String::from_utf8_lossy(&output.stderr));
        let told: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        Ok(told["agent_turn_id"].as_str().context("the run has no turn")?.to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn cardwire(home: &Path) -> Command {
    let mut command = Command::new(workspace::target_dir().join("debug/cardwire"));
    command.env("CARDWIRE_DATA_DIR", home).env_remove("CARDWIRE_STORE").env_remove("CARDWIRE_URL");
    command.stdin(Stdio::null());
    command
}
