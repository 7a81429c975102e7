//! The collector (CC-01..CC-10): blocks from the session and the retrievers. It renders no messages and writes nothing.

use super::{
    knowledge::KnowledgeQuery,
    provider::{ProviderError, ProviderRequest},
};
use crate::{
    Kernel, KernelError,
    sessions::{Pointed, SessionRead},
};
use cardwire_context::{
    blocks::{
        experience::{self, KnowledgeRef},
        framework,
        framework::FrameworkFacts,
        knowledge::{self as block, Chunk, Format, Mode},
        todo,
    },
    compose::ComposeError,
    layers,
    process::{self, Process},
    search::rank::Method,
};
use cardwire_model::{
    AgentId, Checkpoint, ContextSettings, Layer, ProjectId, SessionKey, Speaker, Todo, allows_tool,
};
use cardwire_protocol::{knowledge, session::message};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::Arc};

/// For whom to collect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectRequest {
    /// Of which session, if any.
    pub session: Option<SessionKey>,
    /// For which agent.
    pub agent_id: Option<AgentId>,
    /// In which role of which process.
    pub process: Process,
    /// The one switch (CC-08).
    pub share: bool,
    /// What is asked; what the session is about when absent.
    pub query: Option<String>,
    /// Blocks given by the caller, which stand in the place of collected ones (CC-05).
    pub overrides: BTreeMap<String, String>,
    /// The tools that the model is offered, by name; nothing where that is not known.
    pub offered: Option<Vec<String>>,
}

/// The blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collected {
    /// By key; blank ones are absent (CC-02).
    pub contexts: BTreeMap<String, String>,
    /// The chunks that the knowledge block shows (KN-04).
    pub knowledge_refs: Vec<KnowledgeRef>,
    /// Blocks that could not be made, and why: the call goes on without them (CC-07).
    pub warnings: Vec<String>,
}

/// What blocks are made from.
struct Sources<'a> {
    project: &'a ProjectId,
    request: &'a CollectRequest,
    profile: Option<&'a Value>,
    settings: ContextSettings,
    session: Arc<Pointed>,
    query: Option<String>,
}

impl Kernel {
    /// Collects the blocks that the process and the switch allow.
    pub async fn collect(
        &self,
        project: &ProjectId,
        request: &CollectRequest,
    ) -> Result<Collected, KernelError> {
        let session = match &request.session {
            Some(key) => Some(self.read_session(project, key.clone(), None).await?),
            None => None,
        };
        self.collect_with(project, request, session.as_ref(), None).await
    }

    /// The same from a session that was read already, for an agent that runs with this profile; by default it is the one of
    /// the roster.
    #[tracing::instrument(name = "collect", level = "trace", skip_all, fields(cardwire.project.id = %project))]
    pub(super) async fn collect_with(
        &self,
        project: &ProjectId,
        request: &CollectRequest,
        session: Option<&SessionRead>,
        profile: Option<&Value>,
    ) -> Result<Collected, KernelError> {
        let mut sources = Sources {
            project,
            request,
            profile,
            settings: self.live_project(project).await?.settings.context,
            session: session.map(|read| Arc::clone(&read.pointed)).unwrap_or_default(),
            query: None,
        };
        for key in request.overrides.keys() {
            layers::layer_of(key)
                .map_err(|error| cardwire_model::Invalid::from(ComposeError::from(error)))?;
        }
        let allowed = process::allowed(request.process, request.share);
        let mut collected = Collected::default();
        for layer in [Layer::Framework, Layer::Experience, Layer::Knowledge, Layer::Todo, Layer::Compression]
        {
            let Some(key) = layers::key_of(layer).filter(|_| allowed.shows(layer)) else { continue };
            let given = request.overrides.get(key).cloned();
            let kept = sources.session.fields.get(key).and_then(Value::as_str).map(str::to_owned);
            let text = match given.or(kept) {
                Some(text) => text,
                None => self.block(&mut sources, layer, &mut collected).await?,
            };
            collected.put(key, text);
        }
        if allowed.shows(Layer::Extra) {
            self.extras(&mut sources, &mut collected).await?;
        }
        Ok(collected)
    }

    async fn block(
        &self,
        sources: &mut Sources<'_>,
        layer: Layer,
        collected: &mut Collected,
    ) -> Result<String, KernelError> {
        match layer {
            Layer::Framework => self.framework_block(sources).await,
            Layer::Experience => {
                let made = self.experience_block(sources).await;
                collected.or_warn("experience__context", made)
            }
            Layer::Knowledge => {
                let made = self.knowledge_block(sources, &mut collected.warnings).await;
                let (text, refs) = match made {
                    Ok(made) => made,
                    Err(error) => (collected.or_warn("knowledge__context", Err(error))?, vec![]),
                };
                collected.knowledge_refs = refs;
                Ok(text)
            }
            Layer::Todo => Ok(todo_block(&sources.session.fields, collected)),
            Layer::Compression => Ok(sources.session.summary.clone().unwrap_or_default()),
            Layer::SystemPrompt
            | Layer::Extra
            | Layer::Checkpoint
            | Layer::Query
            | Layer::Turn
            | Layer::Tools => Ok(String::new()),
        }
    }

    /// CC-04. Which tools an agent has is said by its profile; whoever names no agent has all of ours.
    async fn framework_block(&self, sources: &Sources<'_>) -> Result<String, KernelError> {
        let of_agent = match (sources.profile, &sources.request.agent_id) {
            (None, Some(agent)) => self.profile_of(sources.project, agent).await?,
            (Some(_), _) | (None, None) => None,
        };
        let profile = sources.profile.or(of_agent.as_ref()).unwrap_or(&Value::Null);
        // A model is told of what it is offered; where that is not known, of what it may call.
        let has = |name: &str| match &sources.request.offered {
            Some(offered) => offered.iter().any(|tool| tool == name),
            None => allows_tool(profile, name),
        };
        let uses_tools = sources.request.process.uses_tools();
        let facts = FrameworkFacts {
            knowledge_tool: uses_tools && sources.mode()? == Mode::Tool && has("search_knowledge"),
            plan_tool: uses_tools && has(todo::PLAN_TOOL),
            report_tool: uses_tools && has(todo::REPORT_TOOL),
            has_todo: sources.session.fields.get("todo").and_then(Todo::from_value).is_some(),
        };
        Ok(framework::render(&facts))
    }

    async fn experience_block(&self, sources: &mut Sources<'_>) -> Result<String, ProviderError> {
        let settings = sources.settings.experience;
        let shown = settings.shown.map_or(experience::SHOWN, |shown| shown as usize);
        let Some(key) = sources.request.session.as_ref().filter(|_| shown > 0) else {
            return Ok(String::new());
        };
        let prefer_success = settings.prefer_success.unwrap_or(true);
        let Some(query) = self.query(sources).await? else { return Ok(String::new()) };
        let mut similar =
            self.similar(sources.project, &key.namespace, &query, shown + 1, prefer_success).await?;
        // What this session itself has saved is no news to it.
        similar.retain(|record| record.session_id != key.session.as_str());
        similar.truncate(shown);
        Ok(experience::render(&similar))
    }

    async fn knowledge_block(
        &self,
        sources: &mut Sources<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<(String, Vec<KnowledgeRef>), ProviderError> {
        let settings = sources.settings.knowledge.clone();
        if sources.mode().map_err(ProviderError::Configuration)? == Mode::Tool {
            return Ok((String::new(), vec![]));
        }
        let format = settings.format.as_deref().map_or(Ok(Format::Markdown), Format::parse);
        let format = format.map_err(ProviderError::Configuration)?;
        let method = settings.method.as_deref().map(Method::parse).transpose();
        let method = method.map_err(ProviderError::Configuration)?;
        if let Some(method) = method {
            method.check(self.context.embedder.is_some()).map_err(ProviderError::Configuration)?;
        }
        let Some(query) = self.query(sources).await? else { return Ok((String::new(), vec![])) };
        let namespace = sources.request.session.as_ref().map(|key| key.namespace.clone()).unwrap_or_default();
        let query = KnowledgeQuery {
            shelf: knowledge::shelf(&namespace),
            text: query,
            method,
            top_k: settings.top_k.map_or(TOP_K, |top_k| top_k as usize),
            score_threshold: None,
        };
        let found = match self.search_sections(sources.project, &query).await {
            Ok(found) => found,
            Err(error) => return Err(ProviderError::Failed(error.to_string())),
        };
        if found.is_cut {
            warnings.push(format!(
                "knowledge__context may lack what fits best: {} passages of the namespace were compared by meaning, and there \
                 are more",
                cardwire_model::limits::VECTOR_SCAN
            ));
        }
        let chunks: Vec<Chunk> = found.sections.iter().map(chunk).collect();
        let default = block::Limits::default();
        let limits = block::Limits {
            max_chunks: settings.max_chunks.map_or(default.max_chunks, |most| most as usize),
            max_tokens: settings.max_tokens.map_or(default.max_tokens, |most| most as usize),
        };
        let rendered = block::render(&chunks, format, &limits);
        let refer = |Chunk { chunk_id, source_id, .. }: &Chunk| KnowledgeRef {
            chunk_id: chunk_id.clone(),
            source_id: source_id.clone(),
        };
        let refs = rendered.used.iter().map(|place| refer(&chunks[*place])).collect();
        Ok((rendered.text, refs))
    }

    /// Blocks of the deployment's own providers, and those that the caller gives.
    async fn extras(&self, sources: &mut Sources<'_>, collected: &mut Collected) -> Result<(), KernelError> {
        let query = self.query(sources).await.ok().flatten();
        let request = ProviderRequest {
            project: sources.project,
            session: sources.request.session.as_ref(),
            fields: &sources.session.fields,
            agent_id: sources.request.agent_id.as_ref(),
            query: query.as_deref(),
        };
        for provider in &self.context.providers {
            let key = provider.key();
            layers::layer_of(key).map_err(cardwire_model::Invalid::from)?;
            let made = provider.collect(&request).await;
            let text = collected.or_warn(key, made)?;
            collected.put(key, text);
        }
        // What the project lets a session keep (ST-08).
        for (key, kept) in &sources.session.fields {
            if let Some(text) = kept.as_str()
                && layers::layer_of(key).is_ok_and(|layer| layer == Layer::Extra)
            {
                collected.put(key, text.to_owned());
            }
        }
        for (key, text) in &sources.request.overrides {
            if layers::layer_of(key).is_ok_and(|layer| layer == Layer::Extra) {
                collected.put(key, text.clone());
            }
        }
        Ok(())
    }

    /// What is asked: by the caller, by whoever assigned a task, by the last person who said something, or by the goal.
    async fn query(&self, sources: &mut Sources<'_>) -> Result<Option<String>, ProviderError> {
        if sources.query.is_none() {
            let field =
                |name: &str| sources.session.fields.get(name).and_then(Value::as_str).map(str::to_owned);
            let text = match sources.request.query.clone().or_else(|| field("assigned_task")) {
                Some(text) => Some(text),
                None => {
                    let last = self.last_human(sources.project, &sources.session.checkpoint).await;
                    last.map_err(|error| ProviderError::Failed(error.to_string()))?.or_else(|| field("goal"))
                }
            };
            sources.query = text.filter(|text| !text.trim().is_empty());
        }
        Ok(sources.query.clone())
    }

    async fn last_human(
        &self,
        project: &ProjectId,
        checkpoint: &Checkpoint,
    ) -> Result<Option<String>, KernelError> {
        let now = self.now();
        let cards = self.reach_cards(project, checkpoint.memory).await?;
        let said = cards.iter().rev().find(|card| {
            card.kind.as_str() == message::KIND
                && Speaker::from(card.role) == Speaker::Human
                && card.is_visible(now)
        });
        Ok(said.and_then(|card| card.content.to_text()))
    }

    /// The profile of an agent, if it is there.
    async fn profile_of(&self, project: &ProjectId, agent: &AgentId) -> Result<Option<Value>, KernelError> {
        let agent = self.agent(project, agent).await?;
        let profile = self.profile(project, &agent.profile_name).await;
        Ok(profile.ok().map(|(_, card)| card.content.to_value()))
    }
}

/// Sections looked for unless the project says otherwise (KN-02).
const TOP_K: usize = 8;

impl Sources<'_> {
    /// How the agent comes to its knowledge (KN-01).
    fn mode(&self) -> Result<Mode, cardwire_model::Invalid> {
        let given = self.settings.knowledge.inject_mode.as_deref();
        Ok(given.map_or(Ok(Mode::System), Mode::parse)?.within(self.request.process))
    }
}

impl Collected {
    fn put(&mut self, key: &str, text: String) {
        let text = text.trim();
        if !text.is_empty() {
            self.contexts.insert(key.to_owned(), text.to_owned());
        }
    }

    fn left_out(&mut self, key: &str, error: &str) -> String {
        tracing::warn!(key, error, "a block is left out");
        self.warnings.push(format!("{key} is left out: {error}"));
        String::new()
    }

    /// A block that could not be made is absent; one that is set up wrongly is an error (CC-07).
    fn or_warn(&mut self, key: &str, made: Result<String, ProviderError>) -> Result<String, KernelError> {
        match made {
            Ok(text) => Ok(text),
            Err(ProviderError::Configuration(invalid)) => Err(invalid.into()),
            Err(ProviderError::Failed(error)) => Ok(self.left_out(key, &error)),
            Err(ProviderError::Store(error)) => Ok(self.left_out(key, &error.to_string())),
        }
    }
}

/// CC-05
fn todo_block(fields: &Map<String, Value>, collected: &mut Collected) -> String {
    if let Some(value) = fields.get("todo") {
        match Todo::from_value(value) {
            Some(list) => {
                let text = todo::render(&list);
                if !text.is_empty() {
                    return text;
                }
            }
            None => collected.warnings.push("todo__context is left out: the todo cannot be read".to_owned()),
        }
    }
    fields.get("assigned_task").and_then(Value::as_str).map_or_else(String::new, todo::assigned)
}

fn chunk(found: &super::FoundSection) -> Chunk {
    let content = found.card.content.to_value();
    let text = |name: &str| content.get(name).and_then(Value::as_str).map(str::to_owned);
    Chunk {
        source_id: found.source_id.clone(),
        title: text("title"),
        content: text("text").unwrap_or_default(),
        chunk_id: found.card.id.to_string(),
    }
}
