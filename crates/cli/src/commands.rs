//! The commands, one file per noun.

pub(crate) mod agent;
pub(crate) mod audit;
pub(crate) mod batch;
pub(crate) mod bench;
pub(crate) mod boxes;
pub(crate) mod card;
mod card_get;
mod card_put;
pub(crate) mod completions;
pub(crate) mod context;
mod context_diff;
mod context_service;
mod context_show;
pub(crate) mod cost;
mod doctor;
mod doctor_waiting;
pub(crate) mod document;
mod egress;
pub(crate) mod event;
pub(crate) mod experience;
mod front;
pub(crate) mod handoff;
mod handoff_check;
mod handoff_load;
mod handoff_new;
mod handoff_send;
pub(crate) mod knowledge;
mod knowledge_add;
mod knowledge_files;
mod mcp;
mod names;
pub(crate) mod open;
mod page;
pub(crate) mod pmo;
mod pmo_service;
mod price;
pub(crate) mod profile;
pub(crate) mod project;
pub(crate) mod question;
mod questions;
pub(crate) mod run;
mod run_begin;
mod run_show;
mod run_stop;
mod run_team;
mod run_view;
mod serving;
pub(crate) mod session;
pub(crate) mod tck;
pub(crate) mod token;
pub(crate) mod turn;
mod turn_answer;
mod turn_call;
mod turn_dispatch;
mod turn_fork;
mod turn_replay;
mod unfinished;
pub(crate) mod up;
mod verify;
mod watchdog;
pub(crate) mod worker;
mod written;

use crate::{
    cli::{Ask, Cli, Command},
    client::Client,
    context::Context,
    failure::Failure,
    locate::{self, Init},
    logging::{self, LogFormat},
};
use document::Kind;

/// Runs one command.
pub(crate) async fn run(cli: Cli) -> Result<(), Failure> {
    let context = Context::new(cli.globals);
    match cli.command {
        Command::Up(args) => up::run(*args, &context).await,
        Command::Run(args) => {
            let _export = logging::start(LogFormat::Text, QUIET, Some(args.export()))?;
            run::run(args, &context).await
        }
        Command::Open(args) => {
            logging::start(LogFormat::Text, QUIET, None)?;
            open::run(args, &context).await
        }
        Command::Worker(args) => worker::run(args, &context).await,
        Command::Completions(args) => completions::run(&args, context.output),
        Command::Tck(args) => tck::run(args, context.output).await,
        Command::Handoff(args) => {
            logging::start(LogFormat::Text, QUIET, None)?;
            handoff::run(args, &context).await
        }
        Command::Doctor => {
            logging::start(LogFormat::Text, QUIET, None)?;
            doctor::run(&context).await
        }
        Command::Bench(args) => {
            logging::start(LogFormat::Text, QUIET, None)?;
            bench::run(&args, context.output).await
        }
        Command::Ask(Ask::Verify) => {
            logging::start(LogFormat::Text, QUIET, None)?;
            verify::run(&context).await
        }
        Command::Ask(command) => {
            logging::start(LogFormat::Text, QUIET, None)?;
            let client = locate::connect(&context, may_init(&command)).await?;
            let outcome = ask(command, &context, &client).await;
            client.close().await;
            outcome
        }
    }
}

/// A router in this process logs as a server does; people want to hear of trouble only.
const QUIET: &str = "warn";

/// Whoever makes a project has reason to start from nothing; for everything else an absent store is a mistake.
fn may_init(command: &Ask) -> Init {
    match command {
        Ask::Project(args) if args.creates() => Init::Allowed,
        Ask::Project(_)
        | Ask::Token(_)
        | Ask::Card(_)
        | Ask::CardBox(_)
        | Ask::Profile(_)
        | Ask::Tool(_)
        | Ask::Recipe(_)
        | Ask::Team(_)
        | Ask::Plan(_)
        | Ask::Pmo(_)
        | Ask::Agent(_)
        | Ask::Turn(_)
        | Ask::Question(_)
        | Ask::Batch(_)
        | Ask::Session(_)
        | Ask::Context(_)
        | Ask::Knowledge(_)
        | Ask::Experience(_)
        | Ask::Cost(_)
        | Ask::Event(_)
        | Ask::Audit(_)
        | Ask::Verify => Init::Never,
    }
}

async fn ask(command: Ask, context: &Context, client: &Client) -> Result<(), Failure> {
    let output = context.output;
    match command {
        Ask::Project(args) => project::run(args, output, client).await,
        Ask::Token(args) => token::run(args, output, client).await,
        Ask::Card(args) => card::run(args, output, client).await,
        Ask::CardBox(args) => boxes::run(args, output, client).await,
        Ask::Profile(args) => profile::run(args, output, client).await,
        Ask::Tool(args) => document::run(Kind::Tool, args, output, client).await,
        Ask::Recipe(args) => document::run(Kind::Recipe, args, output, client).await,
        Ask::Team(args) => document::run(Kind::Team, args, output, client).await,
        Ask::Plan(args) => document::plan(args, output, client).await,
        Ask::Pmo(args) => pmo::run(args, output, client).await,
        Ask::Agent(args) => agent::run(args, output, client).await,
        Ask::Turn(args) => turn::run(args, context, client).await,
        Ask::Question(args) => question::run(args, output, client).await,
        Ask::Batch(args) => batch::run(args, context, client).await,
        Ask::Session(args) => session::run(args, output, client).await,
        Ask::Context(args) => context::run(args, output, client).await,
        Ask::Knowledge(args) => knowledge::run(args, output, client).await,
        Ask::Experience(args) => experience::run(args, output, client).await,
        Ask::Cost(args) => cost::run(&args, output, client).await,
        Ask::Event(args) => event::run(args, context, client).await,
        Ask::Audit(args) => audit::run(args, output, client).await,
        // Verification opens a store that cannot be written by itself, so it is not given a client.
        Ask::Verify => verify::run(context).await,
    }
}
