//! What every command is given.

use crate::{
    cli::{Globals, InProject},
    data_dir::DataDir,
    failure::Failure,
    output::Output,
};

/// The global options, made use of.
pub(crate) struct Context {
    pub(crate) globals: Globals,
    pub(crate) dir: DataDir,
    pub(crate) output: Output,
}

impl Context {
    pub(crate) fn new(globals: Globals) -> Self {
        let (dir, output) = (DataDir::new(&globals.data_dir), Output::new(globals.json));
        Self { globals, dir, output }
    }
}

impl InProject {
    /// The project, which has no default: a command in the wrong one is worse than none.
    pub(crate) fn name(&self) -> Result<&str, Failure> {
        self.project.as_deref().ok_or_else(|| {
            Failure::usage("no project is given").hint("add `--project PROJECT`, or set `CARDWIRE_PROJECT`")
        })
    }
}
