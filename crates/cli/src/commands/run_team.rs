//! A team's file: its document, with the scripts of models that are files of their own read into it.

use super::{mcp, written::Written};
use crate::failure::Failure;
use cardwire_egress::{Asker, Door};
use cardwire_server::check_team;
use cardwire_team::{Member, Team, WORKER_TARGET};
use cardwire_worker::McpServers;
use serde_json::Value;
use std::path::Path;

/// A team as its file says it.
pub(super) struct TeamFile {
    pub(super) name: String,
    /// The agent whose turns are its runs.
    pub(super) controller: String,
    pub(super) document: Value,
    /// The models of those whom workers of ours run, by who has them.
    models: Vec<(String, Value)>,
    /// MCP servers for those who run it from its file; no part of the document.
    pub(super) mcp: McpServers,
}

impl TeamFile {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let text = Written::read(path)?.into_json()?;
        let mut document: Value = serde_json::from_str(text.get())
            .map_err(|error| Failure::usage(format!("the file does not hold JSON: {error}")))?;
        let beside = path.parent().unwrap_or_else(|| Path::new("."));
        read_script(&mut document, beside)?;
        for agent in document.get_mut("agents").and_then(Value::as_array_mut).into_iter().flatten() {
            read_script(agent, beside)?;
        }
        let named = document.as_object_mut().and_then(|fields| fields.remove(mcp::FIELD));
        let mcp = named.map_or_else(|| Ok(McpServers::default()), |named| mcp::servers(&named))?;
        // What is wrong with it is told before anything is written.
        let team = check_team(&document)?;
        let models = models(&team);
        Ok(Self { controller: team.controller_id(), name: team.name, document, models, mcp })
    }

    /// Whether every model can be asked from here, as far as can be said without asking it: its key is there, and its address
    /// may be called.
    pub(super) fn check_models(&self, door: &Door, project: &str) -> Result<(), Failure> {
        for (agent, config) in &self.models {
            if let Err(error) = cardwire_llm::build(config, door, Asker::Project(project)) {
                return Err(Failure::failed(format!("agent `{agent}` cannot ask its model: {error}"))
                    .hint("nothing was started; put that right and run it again"));
            }
        }
        Ok(())
    }
}

fn models(team: &Team) -> Vec<(String, Value)> {
    let model = |member: &Member| {
        let is_ours = member.profile.get("worker_target").is_none_or(|target| target == WORKER_TARGET);
        let model = team.model_of(member.model.as_ref(), &member.profile);
        (is_ours && !model.is_empty()).then(|| (member.id.clone(), Value::Object(model)))
    };
    team.agents.iter().filter_map(model).collect()
}

/// A script that is a file, relative to the team's.
fn read_script(of: &mut Value, beside: &Path) -> Result<(), Failure> {
    let Some(model) = of.get_mut("model").and_then(Value::as_object_mut) else { return Ok(()) };
    let Some(name) = model.get("script").and_then(Value::as_str) else { return Ok(()) };
    let text = Written::read(&beside.join(name))?.into_json()?;
    let script = serde_json::from_str(text.get())
        .map_err(|error| Failure::usage(format!("the script does not hold JSON: {error}")))?;
    model.insert("script".to_owned(), script);
    Ok(())
}
