//! Where agents find MCP servers: a file beside whoever runs them, never part of a project.

use super::written::Written;
use crate::failure::Failure;
use cardwire_worker::McpServers;
use clap::Args;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The field of a file that names servers.
pub(super) const FIELD: &str = "mcp_servers";

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// MCP servers whose tools agents may call, where their profiles name them: a file with
    /// `mcp_servers: {NAME: {command, args?, env?, cwd?} | {url, key?}}`.
    #[arg(long, value_name = "FILE")]
    mcp: Option<PathBuf>,
}

impl McpArgs {
    /// The servers of the file; none without one.
    pub(super) fn servers(&self) -> Result<McpServers, Failure> {
        match &self.mcp {
            Some(path) => read(path),
            None => Ok(McpServers::default()),
        }
    }

    /// For a command whose agents are run by a server: what is given here would be given to nobody.
    pub(super) fn refuse_with_server(&self) -> Result<(), Failure> {
        if self.mcp.is_none() {
            return Ok(());
        }
        Err(Failure::usage("`--mcp` is for whoever runs agents, and here a server does")
            .hint("give it to `cardwire up` or `cardwire worker`"))
    }
}

fn read(path: &Path) -> Result<McpServers, Failure> {
    let text = Written::read(path)?.into_json()?;
    let document: Value = serde_json::from_str(text.get())
        .map_err(|error| Failure::usage(format!("the file does not hold JSON: {error}")))?;
    let fields = document.as_object().map(|fields| fields.iter().collect::<Vec<_>>());
    match fields.as_deref() {
        Some([(name, named)]) if *name == FIELD => servers(named),
        Some(_) | None => {
            Err(Failure::usage(format!("`--mcp {}` must hold `{FIELD}` and nothing else", path.display())))
        }
    }
}

/// The servers that a document names.
pub(super) fn servers(named: &Value) -> Result<McpServers, Failure> {
    Ok(McpServers::parse(named)?.with_path(std::env::var_os("PATH")))
}
