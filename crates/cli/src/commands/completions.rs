//! `cardwire completions`.

use crate::{cli::Cli, failure::Failure, output::Output};
use clap::{Args, CommandFactory};
use clap_complete::Shell;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell to write for.
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs, output: Output) -> Result<(), Failure> {
    // Written to memory first: the generator panics when its reader leaves.
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut Cli::command(), "cardwire", &mut script);
    output.raw(&script)
}
