//! The workspace root: where projects have the files that handoff packages refer to.

use crate::{context::Context, failure::Failure, private};
use cardwire_handoff::LocalFiles;
use std::path::PathBuf;

/// The directory that is given, else `workspace` in the data directory.
pub(crate) fn root(context: &Context) -> PathBuf {
    match &context.globals.workspace_root {
        Some(root) => root.clone(),
        None => context.dir.path().join("workspace"),
    }
}

/// Opens the root. The one in the data directory is made; one that is given must be there.
pub(crate) fn open(context: &Context) -> Result<LocalFiles, Failure> {
    let root = root(context);
    if context.globals.workspace_root.is_none() {
        private::create_dir(&root).map_err(|error| Failure::file("make", &root, &error))?;
    }
    LocalFiles::open(&root).map_err(|error| {
        Failure::usage(format!("cannot use the workspace root `{}`: {error}", root.display()))
            .hint("give a directory with `--workspace-root`")
    })
}

/// For commands that look at files without a server or a store: what is given, else the one in the data directory if there
/// is one, else the current directory.
pub(crate) fn open_here(context: &Context) -> Result<LocalFiles, Failure> {
    let own = root(context);
    let root =
        if context.globals.workspace_root.is_some() || own.is_dir() { own } else { PathBuf::from(".") };
    LocalFiles::open(&root).map_err(|error| {
        Failure::usage(format!("cannot use `{}` as workspace root: {error}", root.display()))
    })
}
