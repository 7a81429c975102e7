//! The command line: what is accepted, and the words of `--help`.

use crate::commands::{
    agent, audit, batch, bench, boxes, card, completions, context, cost, document, event, experience,
    handoff, knowledge, open, pmo, profile, project, question, run, session, tck, token, turn, up, worker,
};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// A context kernel for multi-agent LLM systems.
#[derive(Debug, Parser)]
#[command(
    name = "cardwire",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "Commands talk to the server at --server, else to the live server of --data-dir, else they open \
                  the SQLite store in --data-dir themselves.\n\
                  The token is taken from CARDWIRE_TOKEN, else from `admin.token` in the data directory.\n\n\
                  Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 conflict."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The heading of what every command takes: its own options stand together, above.
const GLOBAL: &str = "Options of every command";
/// The place of what all commands of a noun take, behind their own options.
const LAST: usize = 900;

/// Accepted by every command.
#[derive(Debug, Args)]
pub(crate) struct Globals {
    /// The server to talk to, e.g. https://cardwire.example.
    #[arg(
        long,
        global = true,
        help_heading = GLOBAL,
        value_name = "URL",
        env = "CARDWIRE_URL",
        hide_env_values = true
    )]
    pub(crate) server: Option<String>,
    /// Where the store, the admin token and the address of a live server are.
    #[arg(
        long,
        global = true,
        help_heading = GLOBAL,
        value_name = "DIR",
        env = "CARDWIRE_DATA_DIR",
        hide_env_values = true,
        default_value = ".cardwire"
    )]
    pub(crate) data_dir: PathBuf,
    /// The directory or bucket (s3://BUCKET/PREFIX) below which projects have their files; `workspace` in the data
    /// directory when absent. A server has its own.
    #[arg(
        long,
        global = true,
        help_heading = GLOBAL,
        value_name = "ROOT",
        env = "CARDWIRE_WORKSPACE_ROOT",
        hide_env_values = true
    )]
    pub(crate) workspace_root: Option<PathBuf>,
    /// Print the server's JSON instead of a table.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
}

/// The project a command works in.
#[derive(Debug, Args)]
pub(crate) struct InProject {
    /// The project to work in.
    #[arg(
        long,
        short = 'p',
        global = true,
        display_order = LAST,
        value_name = "PROJECT",
        env = "CARDWIRE_PROJECT",
        hide_env_values = true
    )]
    pub(crate) project: Option<String>,
}

/// Whose sessions or documents a command works with.
#[derive(Debug, Args)]
pub(crate) struct InNamespace {
    /// Whose: namespaces share nothing. `default` when absent.
    #[arg(long, global = true, display_order = LAST, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
}

/// Whose entries of a list.
#[derive(Debug, Args)]
pub(crate) struct Of {
    /// Only of this agent.
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Only of this turn.
    #[arg(long, value_name = "TURN")]
    pub(crate) turn: Option<String>,
    /// Only of this trace.
    #[arg(long, value_name = "TRACE")]
    pub(crate) trace: Option<String>,
}

/// When the entries of a list were made.
#[derive(Debug, Args)]
pub(crate) struct Made {
    /// Only made at or after this moment, e.g. 2026-01-31T12:00:00Z.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only made before this moment.
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
}

/// Which page of a list.
#[derive(Debug, Args)]
pub(crate) struct Page {
    /// How many entries at most; the server gives 1 to 500.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[arg(long, value_name = "CURSOR")]
    pub(crate) cursor: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a server and keep it running.
    Up(Box<up::UpArgs>),
    /// Run a team to its end, and print what it delivers.
    Run(run::RunArgs),
    /// Look at runs, calls and cards in a browser.
    Open(open::OpenArgs),
    /// Run agents of a server, from this or another machine.
    Worker(worker::WorkerArgs),
    #[command(flatten)]
    Ask(Ask),
    /// Make, check, send, show and load handoff packages: paths and an index instead of contents.
    Handoff(handoff::HandoffArgs),
    /// Check the data directory, the token, the server and the store.
    Doctor,
    /// Measure how many commits and turns a second this machine gives, on a store that is thrown away.
    Bench(bench::BenchArgs),
    /// Check whether a worker keeps the rules. It must obey a few words for that.
    Tck(tck::TckArgs),
    /// Print a completion script for a shell.
    Completions(completions::CompletionsArgs),
}

/// Commands that are requests.
#[derive(Debug, Subcommand)]
pub(crate) enum Ask {
    /// Make, show, change and delete projects.
    Project(project::ProjectArgs),
    /// Make, list and end access tokens.
    Token(token::TokenArgs),
    /// Read and write cards.
    Card(card::CardArgs),
    /// Read and write boxes: ordered lists of cards.
    #[command(name = "box")]
    CardBox(boxes::BoxArgs),
    /// Write and read profiles: what agents are.
    Profile(profile::ProfileArgs),
    /// Write and read tools: what workers run for agents.
    Tool(document::DocumentArgs),
    /// Write and read recipes: handovers that agents call by name.
    Recipe(document::DocumentArgs),
    /// Write and read teams: agents that work together.
    Team(document::DocumentArgs),
    /// Write and read the plan of the project.
    Plan(document::PlanArgs),
    /// Hand work to agents, and pack what they are given.
    Pmo(pmo::PmoArgs),
    /// Add agents to the roster, and see what they are doing.
    Agent(agent::AgentArgs),
    /// Give agents something to do, and follow it.
    Turn(turn::TurnArgs),
    /// See what turns ask of people, and answer.
    Question(question::QuestionArgs),
    /// Follow forks and their tasks, and call them off.
    Batch(batch::BatchArgs),
    /// Read and change sessions: what a team remembers of a conversation.
    Session(session::SessionArgs),
    /// Compose requests to models, and see what was sent and why.
    Context(context::ContextArgs),
    /// Take documents in, and search them.
    Knowledge(knowledge::KnowledgeArgs),
    /// Gather what came of a session, for later ones.
    Experience(experience::ExperienceArgs),
    /// Sum up what calls of models have cost.
    Cost(cost::CostArgs),
    /// Read the event log.
    Event(event::EventArgs),
    /// Read the audit log.
    Audit(audit::AuditArgs),
    /// Recompute card hashes and audit chains, and say what does not fit.
    Verify,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
