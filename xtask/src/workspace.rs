//! Where things are in this workspace, and how to call Cargo from within it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory that holds the workspace's `Cargo.toml`.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Cargo's target directory.
pub(crate) fn target_dir() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    root().join(target)
}

/// Downloaded tools live below Cargo's target directory, so that `cargo clean` removes them too.
pub(crate) fn tools_dir() -> PathBuf {
    target_dir().join("tools")
}

/// A Cargo command at the workspace root.
///
/// `cargo run` describes the xtask package in the environment. Build scripts that watch these variables
/// (ring's does) would run again whenever somebody alternates between `cargo build` and `cargo xtask`.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command.current_dir(root());
    command
}
