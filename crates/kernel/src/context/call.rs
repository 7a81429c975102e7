//! One model call of a turn: hydrate → collect → compose → fit → lint → render, and the manifest of it in the same commit
//! as the step that makes it (RP-01, OB-01, OB-02, CP-01).

use super::{
    collect::{CollectRequest, Collected},
    pieces::{Material, Placed},
    written::WrittenRequest,
};
use crate::{Caller, Done, Kernel, KernelError, Remember, turns::Running};
use cardwire_context::{
    fit, layers,
    lint::NewRepair,
    manifest,
    process::{self, Process},
    prompt, render,
    tokens::Tokenizer,
    words::{PARENT_POINTER, Words},
};
use cardwire_model::{
    CancelFlag, CanonicalJson, Card, CardId, Invalid, InvalidCode, Layer, Manifest, Placement, ProjectId,
    Provider, Repair, StepId, Timestamp, model_params,
};
use cardwire_protocol::{
    Rejection,
    session::turn as memory,
    turn::{
        Command, Fence,
        step::{NewStep, TakeStep},
    },
};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::Arc};

/// A call to compose. What is absent is taken from the profile's `llm_config`.
#[derive(Debug, Clone)]
pub struct CallRequest {
    /// For which turn, by whom.
    pub fence: Fence,
    /// In whose format.
    pub provider: Option<Provider>,
    /// Which model.
    pub model: Option<String>,
    /// Its parameters.
    pub params: Map<String, Value>,
    /// The provider's list of tools, as JSON text.
    pub tools: Option<Box<str>>,
    /// In which role of which process.
    pub process: Process,
    /// The one switch (CC-08).
    pub share: bool,
    /// Blocks of the caller's own.
    pub contexts: BTreeMap<String, String>,
    /// Layers that are left out of this call, to see what comes of it (RP-06).
    pub without: Vec<Layer>,
    /// How much the model takes.
    pub window: Option<u32>,
    /// What of it is kept free for the answer.
    pub reserve: Option<u32>,
    /// The step that makes the call; a new one when absent.
    pub step_id: Option<StepId>,
    /// What is asked of the model.
    pub purpose: Purpose,
}

/// What a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The turn goes on with the answer.
    Answer,
    /// The answer is a summary of the turn's session (CP-01).
    Summary,
}

/// A request, ready to be sent.
#[derive(Debug, Clone)]
pub struct ComposedCall {
    /// The call's id: that of its manifest's card.
    pub call_id: CardId,
    /// The record.
    pub manifest: Arc<Manifest>,
    /// The exact body to send.
    pub body: String,
    /// The chunks that the knowledge block shows (KN-04).
    pub knowledge_refs: Vec<String>,
    /// Blocks that could not be made.
    pub warnings: Vec<String>,
    /// The session is to be summarised before this is sent, and the caller is who can do it (CP-01).
    pub compaction_due: bool,
}

/// What the profile and the request say together.
pub(super) struct Setup {
    /// The content of the profile that the turn runs with.
    pub(super) profile: Value,
    pub(super) provider: Provider,
    pub(super) model: String,
    pub(super) params: Map<String, Value>,
    pub(super) tokenizer: Tokenizer,
    pub(super) placement: Placement,
    pub(super) window: Option<u32>,
    pub(super) reserve: u32,
    pub(super) prompt: String,
    pub(super) tools: Option<Card>,
}

/// What a request is made of, owned: pieces borrow from it.
pub(super) struct Parts {
    pub(super) system_prompt: Option<Card>,
    /// Blocks by key.
    pub(super) blocks: Vec<(String, Layer, Card)>,
    pub(super) placed: Vec<Placed>,
    /// It is told who gave the work. Whose turn is part of a round of a team was given it by the team.
    pub(super) tells_giver: bool,
}

impl Parts {
    /// How a model is told of the cards.
    pub(super) fn words(&self) -> Words {
        Words::of(self.placed.iter().map(|placed| &*placed.card))
    }

    /// The card that says who gave the work: the last of its kind (PK-14), if that is told.
    pub(super) fn giver(&self, now: Timestamp) -> Option<CardId> {
        let is_giver =
            |placed: &&Placed| placed.card.kind.as_str() == PARENT_POINTER && placed.card.is_visible(now);
        let last = self.placed.iter().rfind(is_giver).filter(|_| self.tells_giver);
        last.map(|placed| placed.card.id)
    }

    /// All cards of the request.
    pub(super) fn cards(&self) -> impl Iterator<Item = &Card> + Send {
        let blocks = self.blocks.iter().map(|(_, _, card)| card);
        self.system_prompt.iter().chain(blocks).chain(self.placed.iter().map(|placed| &*placed.card))
    }
}

impl Kernel {
    /// Composes the next call of a turn and keeps its manifest. What is remembered of it is to name the call, from which
    /// [`Self::composed_again`] makes the same answer: an answer of its own would keep the whole request (NF-12).
    #[tracing::instrument(name = "compose", level = "trace", skip_all, fields(cardwire.project.id = %project))]
    pub async fn compose_call(
        &self,
        project: &ProjectId,
        caller: &Caller,
        request: &CallRequest,
        remember: Option<&Remember<ComposedCall>>,
    ) -> Result<Done<ComposedCall>, KernelError> {
        let composed = match request.purpose {
            Purpose::Answer => self.compose_held(project, caller, request, remember).await,
            Purpose::Summary => self.compose_summary(project, caller, request, remember).await,
        };
        match (composed, remember) {
            // A repeat is known by the commit it fails with. One that does not come so far, because the turn has gone on,
            // is looked up.
            (Err(error), Some(remember)) => match self.answered(project, &remember.key).await? {
                Some(answer) => Ok(Done::Replayed(answer)),
                None => Err(error),
            },
            (composed, _) => composed,
        }
    }

    /// A call as it was answered, rendered again; `knowledge_refs` and `warnings` are in no manifest.
    pub async fn composed_again(
        &self,
        project: &ProjectId,
        call_id: CardId,
        knowledge_refs: Vec<String>,
        warnings: Vec<String>,
    ) -> Result<ComposedCall, KernelError> {
        let rendered = self.render_call(project, call_id).await?;
        let gone = |why: &str| Rejection::Conflict(format!("call {call_id} cannot be rendered again: {why}"));
        let body = match (rendered.body, rendered.hash_ok) {
            (Some(body), true) => body,
            (Some(_), false) => return Err(gone("its cards have changed").into()),
            (None, _) => return Err(gone(&rendered.missing.unwrap_or_default()).into()),
        };
        let manifest = Arc::new(self.call_manifest(project, call_id).await?);
        Ok(ComposedCall { call_id, manifest, body, knowledge_refs, warnings, compaction_due: false })
    }

    async fn compose_held(
        &self,
        project: &ProjectId,
        caller: &Caller,
        request: &CallRequest,
        remember: Option<&Remember<ComposedCall>>,
    ) -> Result<Done<ComposedCall>, KernelError> {
        let running = self.running(project, &request.fence).await?;
        let is_recalled = running.is_recalled;
        let composed = self.compose_on(project, caller, request, running, remember).await;
        if composed.is_err() && is_recalled {
            // Who does not hold the turn any more is told that, and nothing else.
            self.recall.forget(project, request.fence.turn_id);
            self.runs(project, &request.fence).await?;
        }
        composed
    }

    async fn compose_on(
        &self,
        project: &ProjectId,
        caller: &Caller,
        request: &CallRequest,
        Running { turn, rows: seen, is_recalled }: Running,
        remember: Option<&Remember<ComposedCall>>,
    ) -> Result<Done<ComposedCall>, KernelError> {
        for key in request.contexts.keys() {
            layers::layer_given(key).map_err(|error| {
                Invalid::coded(InvalidCode::ContextKey, format!("contexts/{key}"), error.to_string())
            })?;
        }
        let takes_memory = process::allowed(request.process, request.share).checkpoint;
        let mut material = self.material(project, turn.clone(), takes_memory).await?;
        let setup = self.setup(project, &material, request)?;
        let mut collected = self.collect_for(project, &material, &setup, request).await?;
        let mut parts = self.parts(project, request, &material, &setup, &collected)?;
        self.count_ahead(project, setup.tokenizer, parts.cards().chain(&setup.tools)).await?;
        if self.compact_first(project, caller, request, &material, &setup, &parts).await? {
            material = self.material(project, turn, takes_memory).await?;
            collected = self.collect_for(project, &material, &setup, request).await?;
            parts = self.parts(project, request, &material, &setup, &collected)?;
            self.count_ahead(project, setup.tokenizer, parts.cards()).await?;
        }
        let step_id = self.step_id(request)?;
        let (setup, parts) = (Arc::new(setup), Arc::new(parts));
        let made = self.make(project, &material, (&setup, &parts), &step_id).await?;
        let compaction_due = self.compaction_due(project, request, &material, &made).await?;
        let mut records = made.records;
        let blocks = parts.blocks.iter().map(|(_, _, card)| card);
        records.extend(parts.system_prompt.iter().chain(blocks).chain(&setup.tools).cloned());
        records.retain(|card| !self.records.is_stored(card));
        records.sort_by_key(|card| card.id);
        records.dedup_by_key(|card| card.id);
        let new: Vec<CardId> = records.iter().map(|card| card.id).collect();
        let step = take_step(request, step_id, ("call", made.call_id), records);
        // Nobody else knows the names of a new step and of its manifest; and it counts the cards that the call shows.
        let output = seen.boxes.get(&material.payload.output_box);
        let is_as_seen = output.is_some_and(|head| head.len == material.output_len);
        let Collected { mut knowledge_refs, warnings, .. } = collected;
        if !made.shows_knowledge {
            knowledge_refs.clear();
        }
        let call = ComposedCall {
            call_id: made.call_id,
            manifest: made.manifest,
            body: made.body,
            knowledge_refs: knowledge_refs.iter().map(|shown| shown.chunk_id.clone()).collect(),
            warnings,
            compaction_due,
        };
        let remember = remember.map(|remember| remember.of(&call));
        let done = if request.step_id.is_none() && new == [call.call_id] && is_as_seen {
            self.step_as_seen(project, caller, step, &seen, remember.as_ref()).await?
        } else {
            if is_recalled && !is_as_seen {
                self.recall.forget(project, request.fence.turn_id);
            }
            self.turn_command(project, caller, Command::Step(step), remember.as_ref()).await?
        };
        if let Done::Replayed(answer) = done {
            return Ok(Done::Replayed(answer));
        }
        // The manifest is named only here.
        self.records.stored(new.into_iter().filter(|id| *id != call.call_id));
        self.records.keep(project, call.call_id, Arc::clone(&call.manifest));
        if let Some(session) =
            material.session.filter(|_| !memory::tries_out(&material.payload.runtime_config))
        {
            self.note_knowledge(project, caller, &session.key, &knowledge_refs).await;
        }
        Ok(Done::Fresh(call))
    }

    /// The step that makes a call.
    pub(super) fn step_id(&self, request: &CallRequest) -> Result<StepId, Invalid> {
        match &request.step_id {
            Some(id) => Ok(id.clone()),
            None => format!("step_{}", self.ids.uuid().simple()).parse(),
        }
    }

    /// What profile and request say together.
    pub(super) fn setup(
        &self,
        project: &ProjectId,
        material: &Material,
        request: &CallRequest,
    ) -> Result<Setup, KernelError> {
        let content = material.profile.as_ref().map_or(Value::Null, |card| card.content.to_value());
        let config = &content["llm_config"];
        let text = |name: &str| config.get(name).and_then(Value::as_str).map(str::to_owned);
        let number = |name: &str| config.get(name)?.as_u64().and_then(|number| u32::try_from(number).ok());
        let provider = match request.provider {
            Some(provider) => provider,
            None => match text("provider") {
                None => Provider::OpenAiChat,
                Some(name) => Provider::from_name(&name).ok_or_else(|| {
                    let reason = format!("the profile's llm_config names {name}, which is not known");
                    Invalid::field("provider", reason)
                })?,
            },
        };
        let model = request.model.clone().or_else(|| text("model"));
        let model = model.ok_or_else(|| {
            Invalid::field("model", "is required: neither the request nor the profile's llm_config names one")
        })?;
        let mut params = model_params(config);
        params.extend(request.params.clone());
        let fields = material.result_fields.as_ref().map(|card| &card.content);
        let own = content.get("system_prompt").and_then(Value::as_str).unwrap_or_default();
        let window = request.window.or_else(|| number("context_window"));
        Ok(Setup {
            prompt: prompt::system_prompt(own, fields),
            provider,
            tokenizer: Tokenizer::for_model(&model),
            model,
            params,
            placement: self.context.placement(),
            window,
            reserve: request
                .reserve
                .or_else(|| number("reserve"))
                .unwrap_or_else(|| fit::default_reserve(window)),
            tools: match request.tools.as_deref().map(str::trim) {
                // A list without tools says that there are none, and is not sent.
                None | Some("[]") => None,
                Some(tools) => Some(self.tools_card(project, tools)?),
            },
            profile: content,
        })
    }

    async fn collect_for(
        &self,
        project: &ProjectId,
        material: &Material,
        setup: &Setup,
        request: &CallRequest,
    ) -> Result<Collected, KernelError> {
        let asked = material
            .instruction
            .and_then(|id| material.by_id().get(&id).map(|placed| Arc::clone(&placed.card)));
        let request = CollectRequest {
            session: material.session.as_ref().map(|read| read.key.clone()),
            agent_id: Some(material.item.agent_id.clone()),
            process: request.process,
            share: request.share,
            query: asked.and_then(|card| card.content.to_text()),
            overrides: request.contexts.clone(),
            offered: request.tools.as_deref().map(tool_names),
        };
        self.collect_with(project, &request, material.session.as_ref(), Some(&setup.profile)).await
    }

    fn parts(
        &self,
        project: &ProjectId,
        request: &CallRequest,
        material: &Material,
        setup: &Setup,
        collected: &Collected,
    ) -> Result<Parts, KernelError> {
        let block = |(key, text): (&String, &String)| {
            let layer = layers::layer_of(key).map_err(Invalid::from)?;
            Ok((key.clone(), layer, self.block_card(project, text)?))
        };
        let is_in = |layer: Layer| !request.without.contains(&layer);
        let prompt = Some(setup.prompt.as_str())
            .filter(|prompt| is_in(Layer::SystemPrompt) && !prompt.trim().is_empty());
        let mut blocks = collected.contexts.iter().map(block).collect::<Result<Vec<_>, KernelError>>()?;
        blocks.retain(|(_, layer, _)| is_in(*layer));
        Ok(Parts {
            system_prompt: prompt.map(|prompt| self.block_card(project, prompt)).transpose()?,
            blocks,
            placed: material.placed.iter().filter(|placed| is_in(placed.layer)).cloned().collect(),
            tells_giver: !memory::is_in_round(&material.payload.runtime_config),
        })
    }

    async fn make(
        &self,
        project: &ProjectId,
        material: &Material,
        (setup, parts): (&Arc<Setup>, &Arc<Parts>),
        step_id: &StepId,
    ) -> Result<Made, KernelError> {
        let previous = self.previous_of(project, material, setup).await?;
        let previous_call = previous.as_ref().map(|previous| previous.call);
        let (setup_of, parts_of) = (Arc::clone(setup), Arc::clone(parts));
        let (counts, now) = (Arc::clone(&self.counts), self.now());
        let write =
            move |_: &CancelFlag| WrittenRequest::of(&counts, now, (&setup_of, &parts_of), previous.as_ref());
        let bytes = parts.cards().map(|card| card.content.as_bytes().len()).sum();
        let written = self.compute(Some(project), bytes, write).await??;
        let (repairs, mut records) = self.repairs(project, material, &written.repairs)?;
        let manifest = Manifest {
            entries: written.entries,
            omissions: written.omissions,
            repairs,
            total_tokens: written.tokens,
            request_sha256: written.sha256,
            previous_call,
            shared_prefix_tokens: written.shared_prefix_tokens,
            ..self.empty_manifest(material, setup, step_id)
        };
        let card = self.manifest_card(manifest::to_json(&manifest)?)?;
        let call_id = card.id;
        records.push(card);
        Ok(Made {
            call_id,
            manifest: Arc::new(manifest),
            body: written.body,
            records,
            shows_knowledge: written.shows_knowledge,
            wanted: written.wanted,
            leaves_out_memory: written.leaves_out_memory,
        })
    }

    /// The record of a call that shows nothing yet.
    pub(super) fn empty_manifest(&self, material: &Material, setup: &Setup, step_id: &StepId) -> Manifest {
        Manifest {
            template: render::TEMPLATE.to_owned(),
            provider: setup.provider,
            model: setup.model.clone(),
            params: setup.params.clone(),
            tools: setup.tools.as_ref().map(|card| card.id),
            tool_set_hash: setup.tools.as_ref().map(|card| card.content_hash.to_string()),
            tokenizer: setup.tokenizer.name().to_owned(),
            placement: setup.placement,
            window: setup.window,
            reserve: setup.reserve,
            agent_id: material.item.agent_id.clone(),
            turn_id: material.item.turn_id,
            step_id: step_id.clone(),
            session: material.session.as_ref().map(|read| read.seen),
            entries: vec![],
            omissions: vec![],
            repairs: vec![],
            total_tokens: 0,
            request_sha256: String::new(),
            previous_call: None,
            shared_prefix_tokens: 0,
            at: self.now(),
        }
    }

    fn repairs(
        &self,
        project: &ProjectId,
        material: &Material,
        new: &[NewRepair],
    ) -> Result<(Vec<Repair>, Vec<Card>), KernelError> {
        let (mut repairs, mut cards) = (vec![], vec![]);
        for repair in new {
            let card = self.repair_card(project, material.item.turn_id, repair)?;
            repairs.push(Repair {
                rule: repair.rule.as_str().to_owned(),
                card_id: repair.card_id,
                added: card.id,
            });
            cards.push(card);
        }
        Ok((repairs, cards))
    }
}

/// The names of the tools in a provider's list.
fn tool_names(list: &str) -> Vec<String> {
    // Whether it is a list is asked where it is kept.
    let listed: Vec<Value> = serde_json::from_str(list).unwrap_or_default();
    let name = |tool: &Value| {
        let name = tool.pointer("/function/name").or_else(|| tool.get("name"))?;
        name.as_str().map(str::to_owned)
    };
    listed.iter().filter_map(name).collect()
}

/// The step of a call, with the cards that its manifest names.
pub(super) fn take_step(
    request: &CallRequest,
    id: StepId,
    (phase, call): (&str, CardId),
    records: Vec<Card>,
) -> TakeStep {
    let step = NewStep {
        id: Some(id),
        phase: phase.to_owned(),
        status: None,
        call_id: Some(call.to_string()),
        request_box: None,
        metadata: CanonicalJson::empty_object(),
    };
    TakeStep { fence: request.fence.clone(), step, records }
}

/// A body as text.
pub(super) fn text_of(body: Vec<u8>) -> Result<String, KernelError> {
    String::from_utf8(body)
        .map_err(|_| cardwire_store::StoreError::Internal("a request is not UTF-8".to_owned()).into())
}

pub(super) struct Made {
    call_id: CardId,
    manifest: Arc<Manifest>,
    body: String,
    records: Vec<Card>,
    /// Neither the caller nor the budget left the block out.
    shows_knowledge: bool,
    /// What all of it would have cost, had there been room.
    pub(super) wanted: u32,
    /// Some of what the session remembers found no room.
    pub(super) leaves_out_memory: bool,
}
