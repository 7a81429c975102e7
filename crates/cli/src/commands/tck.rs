//! `cardwire tck`: whether somebody's worker keeps the rules.

use crate::{
    failure::Failure,
    output::Output,
    signals::Signals,
    tck::{self, Finding, Rule},
    text::clean,
};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct TckArgs {
    #[command(subcommand)]
    command: TckCommand,
}

#[derive(Debug, Subcommand)]
enum TckCommand {
    /// Start a worker against a server of its own and check every rule, one by one. The worker must obey the words `echo`,
    /// `tool`, `big` and `slow`, see below.
    #[command(after_help = SCRIPT)]
    Worker {
        /// The shell command that starts the worker.
        #[arg(long = "cmd", value_name = "COMMAND")]
        cmd: String,
        /// Only this rule. May be repeated.
        #[arg(long, value_name = "RULE", value_enum)]
        only: Vec<Rule>,
        /// How long one rule may take.
        #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=600))]
        timeout: u64,
    },
}

const SCRIPT: &str = "\
The worker is told where to work by CARDWIRE_URL, CARDWIRE_TOKEN (scope `work`) and CARDWIRE_TARGET. It claims \
turns for that target, takes the last user message of the turn's view as its instruction, and does what the first \
word says:

  echo TEXT     deliver TEXT
  tool NAME     write a `tool.call` card for NAME without arguments, suspend for it, and when resumed deliver the \
`result` of the tool's answer
  big N         write a card with N bytes of text
  slow SECONDS  send a heartbeat every second for so long, then deliver the instruction
  …             deliver the instruction

To deliver X is to write one `agent.thought` card and to finish with status `success` and the deliverable \
`{\"answer\": X}`. See examples/worker.py.

The server is the kit's own, on a store that is thrown away; --server and --data-dir are not used.

Exit codes: 0 every rule is kept, 1 one is not.";

/// Said first, because a worker that only does its own work keeps none of the rules.
const WORDS: &str = "the worker must obey the words `echo TEXT`, `tool NAME`, `big N` and `slow SECONDS`: \
                     `cardwire tck worker --help` says how";

/// How wide the names of rules are.
const NAME_WIDTH: usize = 22;

pub(crate) async fn run(args: TckArgs, output: Output) -> Result<(), Failure> {
    let TckCommand::Worker { cmd, only, timeout } = args.command;
    let rules: Vec<Rule> = Rule::value_variants()
        .iter()
        .copied()
        .filter(|rule| only.is_empty() || only.contains(rule))
        .collect();
    let mut findings = vec![];
    let mut signals = Signals::listen()?;
    if !output.json {
        output.line(WORDS)?;
        output.line(format_args!("{:<NAME_WIDTH$}RESULT  WHY", "RULE"))?;
    }
    let tell = |finding: Finding| {
        if !output.json {
            let result = if finding.passed { "pass" } else { "FAIL" };
            let (rule, why) = (finding.rule, clean(&finding.why));
            output.line(format_args!("{rule:<NAME_WIDTH$}{result:<8}{why}"))?;
        }
        findings.push(finding);
        Ok(())
    };
    tokio::select! {
        done = tck::run(&cmd, &rules, Duration::from_secs(timeout), tell) => done?,
        // What the kit has started ends with it.
        () = signals.next() => return Err(Failure::failed("stopped before every rule was checked")
            .hint("`--only RULE` checks one rule alone")),
    }
    let failed = findings.iter().filter(|finding| !finding.passed).count();
    if output.json {
        output.json(&json!({ "ok": failed == 0, "rules": findings }).to_string())?;
    }
    match failed {
        0 => Ok(()),
        failed => Err(Failure::failed(format!("{failed} of {} rules broken", findings.len()))
            .hint("each says why; `--only RULE` checks one again")),
    }
}
